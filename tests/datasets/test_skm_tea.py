from __future__ import annotations

import json
import shutil
from pathlib import Path

import h5py
import nibabel as nib
import numpy as np
import pytest

from assets.official_split import official_split
from assets.raw.claims import Claims
from resources.findings import Code
from tests.data_makers.skm_tea import MIRRORED
from tests.datasets.built import CATALOG, Miniature, build, check_built, check_found, check_label, make

SPEC = CATALOG["skm_tea"]
TURNED = f"MTR_{MIRRORED:03d}"


def ignored(miniature: Miniature) -> dict[str, str]:
    top = miniature.raw_root / "v1-release"
    reasons = {"v1-release/all_metadata.csv": "acquisition"}
    for folder, why in (
        ("files_recon_calib-24", "k-space"), ("dicoms", "scanner"), ("annotations", "official split"),
        ("segmentation_masks/raw-data-track", "another"),
    ):  # fmt: skip
        reasons |= {miniature.path(p): why for p in (top / folder).rglob("*") if p.is_file()}
    return reasons


def test_the_dataset_is_found_as_made(tmp_path: Path) -> None:
    miniature = make("skm_tea", tmp_path)
    expected = ignored(miniature)
    assert len(expected) == 1 + 3 + 4 * 3
    check_found(miniature, expected)


def test_it_is_built_as_drawn(tmp_path: Path) -> None:
    miniature = make("skm_tea", tmp_path)
    built = build(SPEC, tmp_path)
    check_built(built, miniature.made)
    for subject, made in miniature.made.items():
        for label in SPEC.labels:
            check_label(built, subject, made.only_scan, label)


def test_arrays_without_geometry_lie_where_their_masks_do(tmp_path: Path) -> None:
    miniature = make("skm_tea", tmp_path, n=1)
    built = build(SPEC, tmp_path)
    subject, made = next(iter(miniature.made.items()))
    (mask,) = made.only_scan.labels["tissues"]
    for echo, path in made.only_scan.series.items():
        with h5py.File(path) as file:
            array, one_hot = file[echo][()], file["seg"][()]
        placed = nib.Nifti1Image(array.transpose(1, 0, 2), nib.load(mask).affine)
        np.testing.assert_array_equal(
            built.voxels(subject, "image", "0", echo), np.asarray(nib.as_closest_canonical(placed).dataobj)
        )
    # The container's own masks are those of the NIfTI file, so that both stand on the grid of the images.
    labels = (one_hot * np.arange(1, 7, dtype=np.uint8)).sum(-1)
    np.testing.assert_array_equal(labels.transpose(1, 0, 2), np.asarray(nib.load(mask).dataobj))


def test_an_array_of_another_shape_is_refused(tmp_path: Path) -> None:
    miniature = make("skm_tea", tmp_path, n=1)
    subject, made = next(iter(miniature.made.items()))
    path = made.only_scan.series["echo1"]
    with h5py.File(path, "a") as file:
        array = file["echo1"][()]
        del file["echo1"]
        file["echo1"] = array[:, :, 1:]
    built = build(SPEC, tmp_path)
    assert built.manifests[subject].state == "quarantined"
    assert Code.GRID_MISMATCH in built.codes(subject)


def test_the_official_split_is_read(tmp_path: Path) -> None:
    miniature = make("skm_tea", tmp_path)
    files = {name: [f.path for f in raw.files] for name, raw in miniature.tree().subjects.items()}
    assert official_split(SPEC, miniature.raw_root, files) == {
        "MTR_001": "train", "MTR_013": "val", "MTR_005": "test", TURNED: "train",
    }  # fmt: skip


def test_a_scan_stored_from_right_to_left_is_laid_the_way_it_lies_and_it_is_told(tmp_path: Path) -> None:
    miniature = make("skm_tea", tmp_path, n=1)
    made = miniature.made[TURNED].only_scan
    with h5py.File(made.series["echo1"]) as file:
        stored = file["echo1"][()]
    (mask,) = made.labels["tissues"]
    turned = nib.Nifti1Image(stored.transpose(1, 0, 2)[:, :, ::-1], nib.load(mask).affine)
    built = build(SPEC, tmp_path)
    image = np.asarray(nib.as_closest_canonical(turned).dataobj)
    np.testing.assert_array_equal(built.voxels(TURNED, "image", "0", "echo1"), image)
    said = {s: [r.finding() for r in m.findings if r.finding().code == Code.REPAIRED] for s, m in built.manifests.items()}
    assert {s: len(found) for s, found in said.items()} == {"MTR_001": 0, TURNED: 2}
    assert all("along z, as seg tells" in f.detail and f.file.endswith(f"image_files/{TURNED}.h5") for f in said[TURNED])


def test_masks_that_agree_with_nothing_tell_no_way_to_lie(tmp_path: Path) -> None:
    miniature = make("skm_tea", tmp_path, n=1)
    made = miniature.made["MTR_001"].only_scan
    for shift, whole in ((3, False), (0, True)):
        with h5py.File(made.series["echo1"], "a") as file:
            masks = file["seg"][()]
            file["seg"][()] = masks[..., [2, 3, 4, 5, 0, 1]] if shift else np.zeros_like(masks)
        built = build(SPEC, tmp_path)
        assert built.manifests["MTR_001"].state == "quarantined"
        assert Code.ORIENTATION_UNKNOWN in built.codes("MTR_001"), whole


def test_the_real_list_tells_that_some_scans_are_stored_from_right_to_left(shared_data: Path) -> None:
    content = json.loads((shared_data / "layouts/SKM-TEA/annotations/v1.0.0/train.json").read_text())
    sides = {image["scan_id"]: image["orientation"] for image in content["images"]}
    assert len(sides) == 86
    assert sides[TURNED] == ["SI", "AP", "RL"]
    assert sum(orientation == ["SI", "AP", "RL"] for orientation in sides.values()) == 10
    assert sum(orientation == ["SI", "AP", "LR"] for orientation in sides.values()) == 76
    claims = Claims(SPEC)
    assert all(any(claims.of(f"v1-release/image_files/{name}.h5")) for name in sides)


@pytest.mark.parametrize("n", [86])
def test_the_real_list_names_its_subjects(shared_data: Path, tmp_path: Path, n: int) -> None:
    miniature = make("skm_tea", tmp_path)
    source = shared_data / "layouts/SKM-TEA/annotations/v1.0.0/train.json"
    shutil.copyfile(source, miniature.raw_root / "v1-release/annotations/v1.0.0/train.json")
    scans = [image["scan_id"] for image in json.loads(source.read_text())["images"]]
    assert len(scans) == n
    files: dict[str, list[str]] = {scan: [] for scan in scans}
    assert set(official_split(SPEC, miniature.raw_root, files).values()) == {"train"}
