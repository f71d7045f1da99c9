"""AMOS22, BCV15, FLARE22, AbdomenCT-1K, AbdomenAtlas 1.0 Mini and KiPA22."""

from __future__ import annotations

from pathlib import Path

import nibabel as nib
import numpy as np
import pytest

from resources.findings import Code
from tests.datasets.built import CATALOG, build, check_built, check_found, check_label, check_lesion_axes, make

AMOS_ELSEWHERE = {
    "amos22/dataset.json": "list of subjects",
    "amos22/readme.md": "text for readers",
    "amos22/imagesTs/amos_0002.nii.gz": "labels are not published",
    "labeled_data_meta_0000_0599.csv": "scanner",
    "__MACOSX/amos22/._dataset.json": "macOS",
}
ATLAS_ORGANS = ["aorta", "gall_bladder", "kidney_left", "kidney_right", "liver", "pancreas", "postcava", "spleen", "stomach"]
SUBJECTS = {
    "amos22_ct": ["amos_0001", "amos_0004", "amos_0500"],
    "amos22_mr": ["amos_0507", "amos_0540", "amos_0600"],
    "bcv15_abdomen": ["0001", "0010", "0021"],
    "bcv15_cervix": ["0507688", "0566968", "0706542"],
    "flare22": ["FLARE22_Tr_0001", "FLARE22_Tr_0002", "FLARE22_Tr_0050"],
    "abdomenct_1k": ["Case_00001", "Case_00362", "Case_01062"],
    "abdomenatlas10mini": ["BDMAP_00000001", "BDMAP_00000002", "BDMAP_00005195"],
    "kipa22": ["0", "2", "10"],
}
IGNORED = {
    "amos22_ct": AMOS_ELSEWHERE
    | {"amos22/imagesTr/amos_0507.nii.gz": "amos22_mr", "amos22/labelsTr/amos_0507.nii.gz": "amos22_mr"},
    "amos22_mr": AMOS_ELSEWHERE
    | {"amos22/imagesTr/amos_0006.nii.gz": "amos22_ct", "amos22/labelsTr/amos_0006.nii.gz": "amos22_ct"},
    "bcv15_abdomen": {"RawData/Testing/img/img0061.nii.gz": "labels are not published"},
    "bcv15_cervix": {"RawData/Testing/img/1258230-Image.nii.gz": "labels are not published"},
    "flare22": {
        "Training/FLARE22_UnlabeledCase1-1000/Case_00001_0000.nii.gz": "no labels",
        "Training/FLARE22_UnlabeledCase1001-2000/Case_01001_0000.nii.gz": "no labels",
        "Tuning/images/FLARETs_0001_0000.nii.gz": "tuning",
        "Tuning/labels/FLARETs_0001.nii.gz": "tuning",
        "Validation/FLARETs_0002_0000.nii.gz": "tuning",
        "Testing/FLARETs_0001_0000.nii.gz": "labels are not published",
    },
    "abdomenct_1k": {"AbdomenCT-1K-ImagePart3/Case_01063_0000.nii.gz": "no label map was published"},
    "abdomenatlas10mini": {
        f"{subject}/segmentations/{organ}.nii.gz": "combined_labels.nii.gz holds them all"
        for subject in SUBJECTS["abdomenatlas10mini"]
        for organ in ATLAS_ORGANS
    },
    "kipa22": {"test/image/70.nii.gz": "labels are not published"},
}


@pytest.mark.parametrize("slug", SUBJECTS)
def test_a_dataset_is_found_as_made(slug: str, tmp_path: Path) -> None:
    miniature = make(slug, tmp_path)
    assert list(miniature.made) == SUBJECTS[slug]
    check_found(miniature, IGNORED[slug])


@pytest.mark.parametrize("slug", SUBJECTS)
def test_a_dataset_is_built_as_drawn(slug: str, tmp_path: Path) -> None:
    miniature = make(slug, tmp_path)
    built = build(miniature.spec, tmp_path)
    check_built(built, miniature.made)
    subject = list(miniature.made)[1]
    scan = miniature.made[subject].only_scan
    covered = {("kipa22", 2)}
    for label in miniature.spec.labels:
        if (slug, label) not in covered:
            check_label(built, subject, scan, label)


def test_every_scan_of_amos22_is_of_one_modality() -> None:
    ct, mr = CATALOG["amos22_ct"], CATALOG["amos22_mr"]
    assert ct.raw_name == mr.raw_name == "amos22"
    assert ct.people_pool == mr.people_pool == "amos22"
    assert [label.name for label in ct.labels.values()] == [label.name for label in mr.labels.values()]


def test_a_scan_of_amos22_that_neither_takes_is_told(tmp_path: Path) -> None:
    miniature = make("amos22_ct", tmp_path)
    stray = miniature.raw_root / "amos22" / "imagesTr" / "amos_0503.nii.gz"
    stray.write_bytes(b"")
    (told,) = miniature.tree().findings
    assert (told.code, told.file) == (Code.UNCLAIMED_FILE, "amos22/imagesTr/amos_0503.nii.gz")


def test_labels_of_abdomenatlas_take_the_geometry_of_their_scan(tmp_path: Path) -> None:
    miniature = make("abdomenatlas10mini", tmp_path)
    built = build(miniature.spec, tmp_path)
    apart = {}
    for subject, made in miniature.made.items():
        ((labels,),) = made.only_scan.labels.values()
        (image,) = made.only_scan.series.values()
        apart[subject] = not np.allclose(nib.load(labels).affine, nib.load(image).affine, atol=1e-3)
    assert list(apart.values()) == [False, True, False]
    for subject, elsewhere in apart.items():
        told = [r.finding() for r in built.manifests[subject].findings if r.finding().code is Code.REPAIRED]
        assert [f.file for f in told] == ([f"{subject}/combined_labels.nii.gz"] if elsewhere else [])
        (volume,) = built.rows("volumes", subject).filter(kind="labels").to_dicts()
        np.testing.assert_allclose(
            np.reshape(volume["affine_ras_mm"], (4, 4)), miniature.made[subject].only_scan.grid.affine, atol=1e-4
        )


def test_without_the_repair_such_labels_are_refused(tmp_path: Path) -> None:
    miniature = make("abdomenatlas10mini", tmp_path)
    spec = CATALOG["abdomenatlas10mini"].model_copy(update={"repairs": ()})
    built = build(spec, tmp_path)
    assert [manifest.state for manifest in built.manifests.values()].count("quarantined") == 1
    assert Code.GRID_MISMATCH in built.codes(list(miniature.made)[1])


def test_a_tumour_of_kipa22_is_measured(tmp_path: Path) -> None:
    miniature = make("kipa22", tmp_path)
    built = build(miniature.spec, tmp_path)
    for subject, made in miniature.made.items():
        check_lesion_axes(built, subject, made.only_scan, 4)
        assert set(built.rows("lesion_sizes", subject)["label"]) == {"kidney tumor"}
