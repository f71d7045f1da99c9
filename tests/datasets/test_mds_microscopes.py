"""MDS-Bench's second group, first half: what was taken under a microscope."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.people import people
from tests.datasets.built import CATALOG, make
from tests.datasets.mds import check

DATASETS = [
    "mds_bach",
    "mds_bach_icar",
    "mds_cervical_cancer",
    "mds_colorectal_mnist",
    "mds_expansion_microscopy",
    "mds_hpa_cells",
    "mds_leukemia_cnmc",
    "mds_multiplex_tissue",
    "mds_slimfast4c",
]


@pytest.mark.parametrize("slug", DATASETS)
def test_a_dataset_is_found_told_and_built_as_made(slug: str, tmp_path: Path) -> None:
    check(slug, tmp_path)


def test_the_two_copies_of_bach_name_a_picture_alike_and_their_classes_in_another_order() -> None:
    one, other = CATALOG["mds_bach"], CATALOG["mds_bach_icar"]
    assert one.people_pool == other.people_pool == "bach"
    assert one.classes is not None
    assert other.classes is not None
    assert (one.classes.names.index("Benign"), other.classes.names.index("Benign")) == (1, 0)
    assert set(one.classes.names) == set(other.classes.names)


def test_a_patient_of_c_nmc_is_one_in_both_sets_that_hold_it(tmp_path: Path) -> None:
    again = make("mds_leukemia_cnmc", tmp_path)
    assert CATALOG["mds_c_nmc"].people_pool == again.spec.people_pool
    who = people(again.spec, again.raw_root, list(again.made))
    assert {"1", "12", "H10"} <= set(who.values())


def test_what_is_computed_of_a_specimen_stays_with_it(tmp_path: Path) -> None:
    made = make("mds_expansion_microscopy", tmp_path)
    who = people(made.spec, made.raw_root, list(made.made))
    assert who == {"example1": "example1", "seg-example1": "example1", "example2": "example2", "seg-example2": "example2"}
