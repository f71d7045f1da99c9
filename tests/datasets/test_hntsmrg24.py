from __future__ import annotations

import shutil
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest

from resources.findings import Code
from tests.datasets.built import CATALOG, build, check_built, check_found, check_label, check_lesion_axes, make

REAL = ("2", "77", "94")
"""Of the real patients: one with both scans; one that never had nodes; one whose primary tumour is gone."""


def test_the_dataset_is_found_as_made(tmp_path: Path) -> None:
    miniature = make("hntsmrg24", tmp_path)
    warped = [
        f"HNTSMRG24_train/{subject}/midRT/{subject}_preRT_{what}_registered.nii.gz"
        for subject in miniature.made
        for what in ("T2", "mask")
    ]
    check_found(miniature, dict.fromkeys(warped, "no third scan"))
    assert list(miniature.made) == ["2", "8", "77"]


def test_it_is_built_as_drawn(tmp_path: Path) -> None:
    miniature = make("hntsmrg24", tmp_path)
    built = build(miniature.spec, tmp_path)
    check_built(built, miniature.made)
    for subject, made in miniature.made.items():
        mid, pre = made.scans
        for label in (1, 2):
            check_label(built, subject, pre, label)
            check_lesion_axes(built, subject, pre, label)
        assert not mid.of_label(1)


def test_a_tumour_that_is_gone_leaves_an_empty_map_and_a_remark(tmp_path: Path) -> None:
    built = build(CATALOG["hntsmrg24"], make("hntsmrg24", tmp_path).root)
    assert Code.EMPTY_MASK in built.codes("77")
    assert set(built.rows("boxes", "77")["scan"]) == {"preRT"}
    assert set(built.rows("volumes", "77")["scan"]) == {"preRT", "midRT"}


@pytest.mark.slow
def test_real_masks_are_found_and_built_beside_made_images(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "layouts" / "HNTSMRG24" / "HNTSMRG24_train"
    raw = tmp_path / "raw" / "hntsmrg24" / "HNTSMRG24_train"
    for subject in REAL:
        shutil.copytree(source / subject, raw / subject)
    for mask in raw.rglob("*RT_mask.nii.gz"):
        labels = nib.load(mask)
        made = (np.asarray(labels.dataobj) * 100 + np.arange(labels.shape[2])).astype(np.int16)
        nib.save(nib.Nifti1Image(made, labels.affine), mask.with_name(mask.name.replace("mask", "T2")))
    built = build(CATALOG["hntsmrg24"], tmp_path)
    assert built.survey.tree.findings == ()
    reasons = {f.path: f.reason for f in built.survey.tree.files if f.state != "used"}
    assert set(reasons) == {f"HNTSMRG24_train/{s}/midRT/{s}_preRT_mask_registered.nii.gz" for s in ("77", "94")}
    for subject in ("2", "77", "94"):
        scans = [scan.scan for scan in built.survey.tree.subjects[subject].scans]
        assert scans == (["midRT", "preRT"] if subject == "2" else ["midRT"])
        assert built.manifests[subject].state == "published"
        for scan in scans:
            mask = nib.as_closest_canonical(nib.load(raw / subject / scan / f"{subject}_{scan}_mask.nii.gz"))
            np.testing.assert_array_equal(built.voxels(subject, "labels", scan, "t2"), np.asarray(mask.dataobj))
    (row,) = built.rows("volumes", "94").filter(kind="labels").to_dicts()
    assert row["label_ids"] == [2]
