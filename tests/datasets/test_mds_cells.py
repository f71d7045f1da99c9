"""MDS-Bench datasets of cells and tissue, second and third group."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tifffile

from assets.people import people
from resources.findings import Code
from tests.datasets.built import CATALOG, make
from tests.datasets.mds import check, pictures
from tests.mds.made import decoded, publish

SLUGS = [
    "mds_microscopy_demo", "mds_npz_histopathology", "mds_brain_organoids", "mds_breast_cancer_cells", "mds_sipakmed",
    "mds_electron_microscopy", "mds_fluorescence_denoising", "mds_fuse_my_cells_01", "mds_fuse_my_cells_02", "mds_kidney_nori",
    "mds_c_nmc", "mds_malignant_lymphoma",
]  # fmt: skip


@pytest.mark.parametrize("slug", SLUGS)
def test_everything_is_found_told_and_built_as_made(slug: str, tmp_path: Path) -> None:
    check(slug, tmp_path)


def test_a_case_in_two_folders_is_one_person(tmp_path: Path) -> None:
    spec = CATALOG["mds_malignant_lymphoma"]
    names = ["FL/sj-05-588", "MCL/sj-05-588", "CLL/sj-03-476"]
    assert list(people(spec, tmp_path, names).values()) == ["sj-05-588", "sj-05-588", "sj-03-476"]


def test_the_first_patch_is_taken_and_no_other(tmp_path: Path) -> None:
    built = check("mds_npz_histopathology", tmp_path)
    miniature = make("mds_npz_histopathology", tmp_path / "again")
    for name, made in miniature.made.items():
        for scan in made.scans:
            patches = np.load(miniature.raw_root / miniature.path(scan.series["patch"]))["patches"]
            assert len(patches) > 1
            stored = built.voxels(name, "image", scan.scan, "patch")
            np.testing.assert_array_equal(stored.swapaxes(0, 1), patches[0])


def test_what_a_mask_shows_is_said_by_the_name_of_its_image(tmp_path: Path) -> None:
    built = check("mds_breast_cancer_cells", tmp_path)
    for scan, label in {"benign1": 1, "malignant1": 2}.items():
        (row,) = built.rows("volumes", "ytma10_010704").filter(kind="labels", scan=scan).to_dicts()
        mask = tifffile.imread(tmp_path / "raw" / CATALOG["mds_breast_cancer_cells"].raw_name / row["source_paths"][0])
        assert dict(zip(row["label_ids"], row["label_voxels"], strict=True)) == {label: int((mask == 255).sum())}


def test_files_that_no_pattern_knows_are_told(tmp_path: Path) -> None:
    miniature = make("mds_brain_organoids", tmp_path)
    beside = miniature.raw_root / "data" / "Segmentation" / "Segmentation" / "BO-WAugmentation" / "border" / "A2.tif"
    beside.parent.mkdir()
    beside.write_bytes(b"the outlines, perhaps")
    (found,) = miniature.tree().findings
    assert (found.code, found.file) == (Code.UNCLAIMED_FILE, miniature.path(beside))


def test_images_before_augmentation_are_left_with_a_reason(tmp_path: Path) -> None:
    miniature = make("mds_brain_organoids", tmp_path)
    left = {file.path: file for file in miniature.tree().files if "/BO-WoAugmentation/" in file.path}
    assert {path.split("/")[4] for path in left} == {"img", "seg"}
    assert {(file.state, "by augmentation" in file.reason) for file in left.values()} == {("ignored", True)}


@pytest.mark.parametrize("slug", ["mds_kidney_nori", "mds_brain_organoids"])
def test_records_have_masks_where_these_are_and_no_file_of_them_is_named(slug: str, tmp_path: Path) -> None:
    miniature = make(slug, tmp_path)
    records = publish(miniature.spec, tmp_path)
    scans = {miniature.path(next(iter(scan.series.values()))): scan for _, scan in pictures(miniature.made)}
    for index, source in enumerate(sorted(scans, key=lambda path: path.split("/"))):
        record = records.record(index)
        extra, block = record["context"]["sample"]["extra"], record["tasks"]["segmentation"]
        assert extra["source_file"] == source
        assert not {"label_file", "mask_file", "seg_file"} & extra.keys()
        assert block["classes"] == {"0": "segmentation"}
        drawn = [decoded(annotation) for annotation in block.get("coco_2d", {}).get("annotations", [])]
        mask = scans[source].mask
        assert len(drawn) == (mask is not None)
        if mask is not None:
            np.testing.assert_array_equal(drawn[0], mask[:, :, 0].T == 1)
    assert len(scans) == len(list((records.folder / "standardized_annotations").glob("*.json"))) == 6
    assert sum(scan.mask is None for scan in scans.values()) == 1


def test_tubules_are_those_of_the_first_page_and_the_image_is_lipid(tmp_path: Path) -> None:
    built = check("mds_kidney_nori", tmp_path)
    root = tmp_path / "raw" / CATALOG["mds_kidney_nori"].raw_name / "data"
    for specimen in ("S1", "S2", "S10"):
        for scan in ("1", "2"):
            channels = tifffile.imread(root / f"Fused_{specimen}_{scan}.tif")
            np.testing.assert_array_equal(built.voxels(specimen, "image", scan, "nori")[:, :, 0].T, channels[2])
            rows = built.rows("volumes", specimen).filter(kind="labels", scan=scan).to_dicts()
            mask = root / f"Fused_{specimen}_{scan}_Mask.tif"
            drawn = (tifffile.imread(mask).reshape(-1, 18, 22)[0] > 0).sum() if mask.exists() else 0
            assert [row["label_voxels"] for row in rows] == ([[drawn]] if drawn else [])
    assert not (root / "Fused_S10_2_Mask.tif").exists()
