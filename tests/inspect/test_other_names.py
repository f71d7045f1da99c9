"""What is found must not hang on how classes, places and datasets are called, nor on the width of numbers."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from assets.inspect import Inspection, inspect_folder
from assets.inspect.draft import as_spec
from assets.raw import SYNTHETIC_MARKER, discover
from tests import data_makers
from tests.inspect.folders import images, pairs
from tests.inspect.renaming import Renamed, with_other_numbers, with_other_words

LAYOUTS = (
    "mds_bach",
    "mds_brats2020_nii",
    "mds_breast_cancer_cells",
    "mds_c_nmc",
    "mds_capsule_kauhc",
    "mds_chaos",
    "mds_chest_xray_unidata",
    "mds_edd2020",
    "mds_mias",
    "mds_monusac_cells",
    "mds_poag_oct",
    "mds_rsna_heart",
    "mds_siim",
    "mds_tumorsimulations",
    "totalsegmentator_ct",
)


@dataclass(frozen=True)
class Verdict:
    """The four, of a folder."""

    images: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    task: str
    classes: frozenset[str]


def verdict(root: Path) -> Verdict:
    found: Inspection = inspect_folder(root)
    spec = as_spec(found, "draft")
    tree = discover(spec, root)
    names = spec.classes.names if spec.classes is not None else tuple(str(n) for n in sorted(spec.labels))
    return Verdict(frozenset(images(tree)), frozenset(pairs(spec, tree)), found.said("task"), frozenset(names))


def moved(one: Verdict, by: Renamed) -> Verdict:
    """What should be found under other names."""
    return Verdict(
        frozenset(by.paths[path] for path in one.images),
        frozenset((by.paths[image], by.paths[mask]) for image, mask in one.pairs),
        one.task,
        frozenset(by.text(name) for name in one.classes),
    )


@pytest.mark.parametrize("how", [with_other_words, with_other_numbers])
@pytest.mark.parametrize("slug", LAYOUTS)
def test_other_names_the_same_verdict(slug: str, how: object, tmp_path: Path) -> None:
    getattr(data_makers, slug)(tmp_path / "made/group/set")
    root = tmp_path / "raw"
    kept = ("random.txt", "VLM", SYNTHETIC_MARKER)
    shutil.copytree(tmp_path / "made/group/set", root, ignore=lambda _, names: {name for name in names if name in kept})
    by = how(root, tmp_path / "renamed")  # type: ignore[operator]
    assert by.paths != {path: path for path in by.paths} or how is with_other_numbers
    assert verdict(tmp_path / "renamed") == moved(verdict(root), by)


def test_words_that_mean_something_to_anybody_stay(tmp_path: Path) -> None:
    for path in ("store/imagesTr/patient_01_ct_liver.txt", "store/labelsTr/patient_01_liver.txt"):
        (tmp_path / "a" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "a" / path).write_text("liver of patient 01")
    by = with_other_words(tmp_path / "a", tmp_path / "b")
    made = by.text("liver")
    assert made not in ("liver", "")
    assert f"imagesTr/patient_01_ct_{made}" in by.paths["store/imagesTr/patient_01_ct_liver.txt"]
    assert (tmp_path / "b" / by.paths["store/imagesTr/patient_01_ct_liver.txt"]).read_text() == f"{made} of patient 01"


def test_numbers_of_a_fixed_width_become_wider(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/p_007_x_12.txt").write_text("p_007_x_12 lies at 12")
    by = with_other_numbers(tmp_path / "a", tmp_path / "b")
    assert by.paths == {"p_007_x_12.txt": "p-0007-x-12.txt"}
    assert (tmp_path / "b/p-0007-x-12.txt").read_text() == "p-0007-x-12 lies at 12"
