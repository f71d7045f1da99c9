from __future__ import annotations

import json
import shutil
from pathlib import Path

import nibabel as nib
import numpy as np
import polars as pl
import pytest

from assets.raw import discover
from expectations import volumes
from expectations.engine import run_suite
from resources.findings import Code
from tests.data_makers.autopet_iii import TOP
from tests.datasets.built import CATALOG, build, check_built, check_found, check_label, check_lesion_axes, make

IGNORED = {
    f"{TOP}/dataset.json": "nnU-Net",
    f"{TOP}/dataset_fingerprint.json": "nnU-Net",
    f"{TOP}/splits_final.json": "list of subjects",
    f"{TOP}/psma_metadata.csv": "clinical records",
    f"{TOP}/fdg_metadata.csv": "clinical records",
}


def test_the_dataset_is_found_as_made(tmp_path: Path) -> None:
    miniature = make("autopet_iii", tmp_path)
    check_found(miniature, IGNORED)
    scans = {scan.scan for raw in miniature.tree().subjects.values() for scan in raw.scans}
    assert "06-03-2005-NA-PET-CT Ganzkoerper  primaer mit KM-94697" in scans


def test_it_is_built_as_drawn(tmp_path: Path) -> None:
    miniature = make("autopet_iii", tmp_path)
    built = build(miniature.spec, tmp_path)
    check_built(built, miniature.made)
    for subject, made in miniature.made.items():
        check_label(built, subject, made.scans[0], 1)
        check_lesion_axes(built, subject, made.scans[0], 1)


def test_a_study_without_tumours_is_published_with_a_remark_and_without_rows(tmp_path: Path) -> None:
    built = build(CATALOG["autopet_iii"], make("autopet_iii", tmp_path).root)
    subject, study = "psma_95b833d46f153cd2", "2018-04-16"
    assert Code.EMPTY_MASK in built.codes(subject)
    assert study in set(built.rows("volumes", subject)["scan"])
    assert set(built.rows("lesion_sizes", subject)["scan"]) == {"2017-11-18"}


def test_a_ct_in_the_place_of_a_pet_is_refused(tmp_path: Path) -> None:
    miniature = make("autopet_iii", tmp_path)
    subject, (scan, *_) = next((name, made.scans) for name, made in miniature.made.items())
    shutil.copyfile(scan.series["ct"], scan.series["pet"])
    built = build(miniature.spec, tmp_path)
    tables = [built.rows("volumes", name) for name in miniature.made]
    found = run_suite(volumes.suite(miniature.spec), volumes.view(pl.concat(tables))).findings_by_subject()
    ((name, (said,)),) = found.items()
    assert name == subject
    assert "no pet image value is below -100" in said.detail


def test_a_listed_patient_that_is_not_there_is_told(tmp_path: Path) -> None:
    miniature = make("autopet_iii", tmp_path)
    for path in miniature.raw_root.rglob("fdg_01140d52d8_*"):
        path.unlink()
    (told,) = miniature.tree().findings
    assert told.code is Code.LISTED_BUT_ABSENT
    assert "1 of 3" in told.detail
    assert "fdg_01140d52d8" in told.detail


def test_the_real_names_are_read(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "layouts" / "autoPET-III" / "splits_final.json"
    raw = tmp_path / TOP
    (raw / "imagesTr").mkdir(parents=True)
    shutil.copyfile(source, raw / source.name)
    cases = {case for fold in json.loads(source.read_text()) for case in fold["val"]}
    for case in cases:
        for channel in ("0000", "0001"):
            (raw / "imagesTr" / f"{case}_{channel}.nii.gz").write_bytes(b"x")
    tree = discover(CATALOG["autopet_iii"], tmp_path)
    assert tree.findings == ()
    found = {f"{subject}_{scan.scan}" for subject, raw_subject in tree.subjects.items() for scan in raw_subject.scans}
    assert found == cases
    assert len(tree.subjects) == len({"_".join(case.split("_")[:2]) for case in cases})


@pytest.mark.slow
def test_a_real_label_map_is_built_beside_made_images(shared_data: Path, tmp_path: Path) -> None:
    (source,) = (shared_data / "layouts" / "autoPET-III" / "labelsTr").iterdir()
    raw = tmp_path / "raw" / "autopet_iii" / TOP
    (raw / "labelsTr").mkdir(parents=True)
    (raw / "imagesTr").mkdir()
    shutil.copyfile(source, raw / "labelsTr" / source.name)
    labels = nib.load(source)
    voxels = np.asarray(labels.dataobj)
    for channel, scale in enumerate((100, 0.5)):
        image = (voxels * scale + np.arange(voxels.shape[2]) / 100).astype(np.float32)
        name = source.name.replace(".nii.gz", f"_{channel:04d}.nii.gz")
        nib.save(nib.Nifti1Image(image, labels.affine), raw / "imagesTr" / name)
    built = build(CATALOG["autopet_iii"], tmp_path)
    subject, scan = "psma_95b833d46f153cd2", "2018-04-16"
    assert built.manifests[subject].state == "published"
    canonical = np.asarray(nib.as_closest_canonical(labels).dataobj)
    np.testing.assert_array_equal(built.voxels(subject, "labels", scan, "ct"), canonical)
    (row,) = built.rows("volumes", subject).filter(kind="labels").to_dicts()
    assert row["label_voxels"] == [int(voxels.sum())]
