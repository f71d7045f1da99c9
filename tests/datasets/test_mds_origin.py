"""MDS-Bench's group `origin_dataset`."""

from __future__ import annotations

from pathlib import Path

import nibabel as nib
import numpy as np
import pytest

from assets.classes import classes_table
from assets.people import people
from resources.readers.dicom.tags import read_tag
from tests.datasets.built import CATALOG, build, check_built, make
from tests.datasets.mds import check, check_layout

PICTURES = ["mds_elastography", "mds_huang_liver", "mds_organoid_mri", "mds_placenta_hsi", "mds_retinal_avm"]


@pytest.mark.parametrize("slug", PICTURES)
def test_a_dataset_of_pictures_is_found_told_and_built_as_made(slug: str, tmp_path: Path) -> None:
    check(slug, tmp_path)


@pytest.mark.parametrize("slug", ["mds_microus_prostate", "mds_bonbid_hie"])
def test_a_dataset_of_volumes_is_found_and_built_as_made(slug: str, tmp_path: Path) -> None:
    miniature = make(slug, tmp_path)
    check_layout(miniature)
    check_built(build(miniature.spec, tmp_path), miniature.made)


def test_the_first_volume_of_diffusion_is_stored_however_many_there_are(tmp_path: Path) -> None:
    miniature = make("mds_pbc_brain", tmp_path)
    check_layout(miniature)
    built = build(miniature.spec, tmp_path)
    for name, made in miniature.made.items():
        for series, path in made.only_scan.series.items():
            ras = nib.as_closest_canonical(nib.load(path))
            voxels = np.asarray(ras.dataobj)
            np.testing.assert_array_equal(
                built.voxels(name, "image", "0", series), voxels if voxels.ndim == 3 else voxels[..., 0]
            )


def test_controls_and_patients_are_told_by_their_names(tmp_path: Path) -> None:
    miniature = make("mds_pbc_brain", tmp_path)
    table, findings = classes_table(miniature.spec, miniature.tree(), set(miniature.made), read_tag)
    assert findings == []
    told = set(table.select("subject", "class").iter_rows())
    assert told == {("k01", "Control"), ("k17", "Control"), ("p01", "Patient (PBC)"), ("p14", "Patient (PBC)")}


def test_a_mouse_is_one_however_its_section_is_stained(tmp_path: Path) -> None:
    who = people(CATALOG["mds_huang_liver"], tmp_path, ["41M", "76", "76F", "75-1"])
    assert who == {"41M": "41", "76": "76", "76F": "76", "75-1": "75"}


def test_all_pictures_of_the_case_study_are_of_one_patient(tmp_path: Path) -> None:
    miniature = make("mds_retinal_avm", tmp_path)
    assert len(set(people(miniature.spec, miniature.raw_root, list(miniature.made)).values())) == 1


def test_the_masks_of_one_file_come_from_that_file_alone(tmp_path: Path) -> None:
    built = build(make("mds_placenta_hsi", tmp_path).spec, tmp_path)
    (row,) = built.rows("volumes", "P001").filter(kind="labels").to_dicts()
    assert row["source_paths"] == ["data/Placenta P001 - P006 no dye/P001, masks.tif"]
    (said,) = [f for f in built.manifests["P001"].findings if f.code == "overlapping-masks"]
    assert said.file == row["source_paths"][0]
