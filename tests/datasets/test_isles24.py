from __future__ import annotations

import shutil
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest

from resources.findings import Code
from tests.datasets.built import CATALOG, Miniature, build, check_built, check_found, check_label, check_lesion_axes, make


def ignored(miniature: Miniature) -> dict[str, str]:
    """Everything in the folders that are not used, by walking them."""
    top = miniature.raw_root / "train"
    reasons = {
        f"{top.name}/clinical_data-description.xlsx": "description of the clinical records",
        f"{top.name}/derivatives/.DS_Store": "macOS",
        f"{top.name}/derivatives/sub-stroke0142/ses-02/sub-stroke0142_ses-02_lesion-msk.nii": "without gzip",
    }
    for folder, why in (("raw*", "as acquired"), ("derivatives/*/ses-01", "CT of the first day"), ("phenotype", "clinical")):
        reasons |= {miniature.path(p): why for part in top.glob(folder) for p in part.rglob("*") if p.is_file()}
    return reasons


@pytest.mark.parametrize(("raw", "registered"), [("raw_data", "space-ncct_"), ("rawdata", "")])
def test_the_dataset_is_found_as_made_in_either_spelling(raw: str, registered: str, tmp_path: Path) -> None:
    miniature = make("isles24", tmp_path, raw=raw, registered=registered)
    expected = ignored(miniature)
    assert len(expected) == 3 + 3 * (5 + 8 + 2)
    check_found(miniature, expected)


def test_it_is_built_as_drawn(tmp_path: Path) -> None:
    miniature = make("isles24", tmp_path)
    built = build(miniature.spec, tmp_path)
    check_built(built, miniature.made)
    for subject, made in miniature.made.items():
        check_label(built, subject, made.only_scan, 1)
        check_lesion_axes(built, subject, made.only_scan, 1)
        (tilt,) = set(built.rows("volumes", subject).filter(kind="image")["obliquity_deg"].round(3))
        assert tilt == 11


def test_a_mask_of_either_release_beside_the_other_is_no_silent_choice(tmp_path: Path) -> None:
    miniature = make("isles24", tmp_path)
    (mask,) = miniature.made["sub-stroke0001"].only_scan.labels["infarct"]
    shutil.copyfile(mask, mask.with_name(mask.name.replace("space-ncct_", "")))
    (found,) = miniature.tree().subjects["sub-stroke0001"].findings
    assert found.code is Code.AMBIGUOUS_FILE


def test_a_mask_stored_as_a_65535th_is_repaired_and_said_and_the_others_are_not(tmp_path: Path) -> None:
    miniature = make("isles24", tmp_path)
    (path,) = miniature.made["sub-stroke0001"].only_scan.labels["infarct"]
    mask = nib.load(path)
    voxels = np.asarray(mask.dataobj)
    nib.save(nib.Nifti1Image((voxels / 65535).astype(np.float32), mask.affine), path)
    built = build(miniature.spec, tmp_path)
    check_built(built, miniature.made)
    check_label(built, "sub-stroke0001", miniature.made["sub-stroke0001"].only_scan, 1)
    repaired = [(f.file, f.detail) for m in built.manifests.values() for f in m.findings if f.code is Code.REPAIRED]
    assert [file for file, _ in repaired] == [miniature.path(path)]
    assert f"{np.count_nonzero(voxels)} voxels that are no whole numbers were multiplied by 65535" in repaired[0][1]


@pytest.mark.slow
def test_a_real_mask_is_found_and_built_beside_made_images(shared_data: Path, tmp_path: Path) -> None:
    shutil.copytree(shared_data / "layouts" / "ISLES24", tmp_path / "raw" / "isles24")
    (path,) = (tmp_path / "raw" / "isles24").rglob("*lesion-msk.nii.gz")
    mask = nib.load(path)
    voxels = np.asarray(mask.dataobj)
    for name in ("dwi", "adc"):
        image = (voxels * 1000 + np.arange(voxels.shape[2])).astype(np.int16)
        nib.save(nib.Nifti1Image(image, mask.affine), path.with_name(path.name.replace("lesion-msk", f"space-ncct_{name}")))
    built = build(CATALOG["isles24"], tmp_path)
    assert {f.state for f in built.survey.tree.files} == {"used"}
    assert built.manifests["sub-stroke0014"].state == "published"
    canonical = np.asarray(nib.as_closest_canonical(mask).dataobj)
    np.testing.assert_array_equal(built.voxels("sub-stroke0014", "labels", "0", "dwi"), canonical)
    (row,) = built.rows("volumes", "sub-stroke0014").filter(kind="labels").to_dicts()
    assert (row["label_ids"], row["label_voxels"]) == ([1], [int(voxels.sum())])
