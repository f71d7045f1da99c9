"""MDS-Bench's second group, first half: what was taken of people, or of what stands for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assets.classes import classes_table
from assets.mds.listing import read_listing
from assets.mds.targets import targets_of
from assets.people import people
from resources.findings import Code
from resources.readers.dicom.tags import read_tag
from tests.data_makers import MadePicture
from tests.datasets.built import CATALOG, build, check_built, check_label, make
from tests.datasets.mds import check, check_layout

PICTURES = [
    "mds_aoslo_granger",
    "mds_brain_mri_lgg",
    "mds_brain_tumor",
    "mds_breast_microwave",
    "mds_capsule_kauhc",
    "mds_chest_xray_unidata",
    "mds_ct_scoliosis",
    "mds_edd2020",
    "mds_fazekas_mri",
    "mds_fundus_chasedb1",
    "mds_gi_bleeding",
    "mds_isic_npz",
    "mds_zenodo_6355622",
]


@pytest.mark.parametrize("slug", PICTURES)
def test_a_dataset_of_pictures_is_found_told_and_built_as_made(slug: str, tmp_path: Path) -> None:
    check(slug, tmp_path)


@pytest.mark.parametrize("slug", ["mds_lung_nodule_unicorn", "mds_poag_oct", "mds_fomo_mri"])
def test_volumes_without_labels_are_found_and_published(slug: str, tmp_path: Path) -> None:
    miniature = make(slug, tmp_path)
    check_layout(miniature)
    built = build(miniature.spec, tmp_path)
    assert {manifest.state for manifest in built.manifests.values()} == {"published"}
    for name, made in miniature.made.items():
        for scan in made.scans:
            (row,) = built.rows("volumes", name).filter(scan=scan.scan).to_dicts()
            assert row["shape_ijk"] == list(scan.grid.shape)
            np.testing.assert_allclose(np.reshape(row["affine_ras_mm"], (4, 4)), scan.grid.affine, atol=1e-5)


def test_kidneys_and_their_tumours_are_built_as_drawn(tmp_path: Path) -> None:
    miniature = make("mds_kits23_cancer", tmp_path)
    check_layout(miniature)
    built = build(miniature.spec, tmp_path)
    check_built(built, miniature.made)
    scan = miniature.made["case_00007"].only_scan
    check_label(built, "case_00007", scan, 2)
    check_label(built, "case_00007", scan, 1, holes=[2, 3])
    assert miniature.spec.people_pool == CATALOG["kits23"].people_pool == "kits23"


@pytest.mark.parametrize(
    ("slug", "classes"),
    [
        ("mds_poag_oct", {"POAG_0000": "Normal", "POAG_0001": "POAG", "POAG_0019": "Normal"}),
        ("mds_lung_nodule_unicorn", {"100655": "benign", "102608": "malignant", "116266": "benign"}),
        ("mds_breast_microwave", {}),
    ],
)
def test_classes_of_volumes_come_from_a_list_or_files_or_are_untold(slug: str, classes: dict[str, str], tmp_path: Path) -> None:
    miniature = make(slug, tmp_path)
    table, findings = classes_table(miniature.spec, miniature.tree(), set(miniature.made), read_tag)
    assert dict(table.select("subject", "class").iter_rows()) == classes
    assert findings == []


def test_a_risk_between_nought_and_one_makes_no_class_of_a_nodule(tmp_path: Path) -> None:
    miniature = make("mds_lung_nodule_unicorn", tmp_path)
    answers = miniature.raw_root / "data/Task02_classifying_lung_nodule_malignancy_in_ct/shots-public-labels"
    for name, text in {"100655": "0.0", "102608": "0.83", "116266": "1.0"}.items():
        (answers / name / "lung-nodule-malignancy-risk.json").write_text(text)
    table, findings = classes_table(miniature.spec, miniature.tree(), set(miniature.made), read_tag)
    assert dict(table.select("subject", "class").iter_rows()) == {"100655": "benign", "116266": "malignant"}
    assert [(f.code, Path(f.file).name) for f in findings] == [(Code.CLASS_UNKNOWN, "102608.mha")]
    assert "the class is '0.83'" in findings[0].detail


def test_the_contrast_of_a_scan_is_told_by_its_name(tmp_path: Path) -> None:
    miniature = make("mds_fomo_mri", tmp_path)
    table, findings = classes_table(miniature.spec, miniature.tree(), set(miniature.made), read_tag)
    assert findings == []
    told = {scan.rpartition("/")[2]: of_class for scan, of_class in table.select("scan", "class").iter_rows()}
    assert told == {
        "t1": "T1", "t1_2": "T1", "dwi": "DWI", "dwi_2": "DWI", "flair": "FLAIR", "t2": "T2", "pd": "PD", "swi": "SWI",
        "scan_3": "Unknown_sequence",
    }  # fmt: skip


def test_a_finding_within_another_keeps_its_pixels(tmp_path: Path) -> None:
    built = check("mds_edd2020", tmp_path)
    rows = built.rows("volumes", "EDD2020_ACB0001").filter(pl.col("kind") == "labels")
    counts = {row["labels_name"]: (row["label_ids"], row["label_voxels"]) for row in rows.to_dicts()}
    inner, outer = (sum((r - 9.2) ** 2 + (c - 10.1) ** 2 <= n**2 for r in range(20) for c in range(24)) for n in (3, 7))
    assert counts == {"be": ([1], [outer]), "hgd": ([2], [inner])}
    (box,) = built.rows("boxes", "EDD2020_ACB0001").filter(label_id=2).to_dicts()
    assert (box["min_px"], box["max_px"]) == ([8, 7], [13, 12])


def test_left_and_right_eyes_are_of_one_child(tmp_path: Path) -> None:
    miniature = make("mds_fundus_chasedb1", tmp_path)
    who = people(miniature.spec, miniature.raw_root, list(miniature.made))
    assert who == {"01": "1", "02": "1", "03": "2", "04": "2", "05": "3", "06": "3"}


def test_three_pictures_differ_in_their_ending_alone(tmp_path: Path) -> None:
    miniature = make("mds_brain_tumor", tmp_path)
    stems = [Path(name).stem for name in miniature.made]
    assert stems.count("Cancer (1)") == 3
    assert all(isinstance(scan, MadePicture) for made in miniature.made.values() for scan in made.scans)


def test_targets_of_the_tissue_array_stand_for_the_files_beside_them(tmp_path: Path) -> None:
    miniature = make("mds_multiplex_tissue", tmp_path)
    spec = miniature.spec
    assert spec.mds is not None
    listed = read_listing(spec.mds, miniature.raw_root)
    found = targets_of(spec, spec.mds, miniature.tree(), listed, {})
    assert [str(f) for f in found.findings] == []
    first = found.usable[0]
    folder = "data/CP_output_tiff/20181207BioMax_s1_p2_r10_a10_ac_H7"
    assert (first.path, first.source) == (f"{folder}/127I_I127.tiff", f"{folder}/._127I_I127.tiff")
