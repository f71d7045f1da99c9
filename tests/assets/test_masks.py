"""Binary masks laid over one another, and what a spec may repair in a label map."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import nibabel as nib
import numpy as np
import pytest
from PIL import Image

from assets.label_maps import RasLabels, read_labels
from assets.masks import as_mask, merged
from assets.opened import Opened, open_source, require_same_grid
from assets.repairs import repaired
from assets.spec import DatasetSpec
from assets.spec_layout import LabelsSource
from resources.findings import BadInputError, Code

SHAPE = (9, 8, 7)
AFFINE = np.diag([1.0, 1.5, 2.0, 1.0])


def spec(**parts: Any) -> DatasetSpec:
    layout = {"subject": "s1", "series": {"ct": "{subject}/ct.nii.gz"}, "labels": {"all": "{subject}/seg.nii.gz"}}
    content = {
        "slug": "toy", "name": "Toy", "version": "1", "licence": "CC0-1.0", "access": "open", "modality": "CT",
        "anatomy": "none", "description": "made up", "sources": [], "layout": layout,
        "labels": {1: "spleen", 2: "liver", 300: "rib"},
    }  # fmt: skip
    return DatasetSpec.model_validate(content | parts)


def mask(label_id: int, *corners: int, value: int = 1) -> RasLabels:
    crop = np.full([b - a for a, b in zip(corners[::2], corners[1::2], strict=True)], value, np.uint8)
    offset = (corners[0], corners[2], corners[4])
    return as_mask(RasLabels(crop, offset, SHAPE, {value: crop.size}), label_id, f"{label_id}.nii.gz")


def whole(labels: RasLabels) -> np.ndarray[Any, Any]:
    out = np.zeros(labels.shape_ijk, int)
    out[tuple(slice(o, o + n) for o, n in zip(labels.offset_ijk, labels.crop.shape, strict=True))] = labels.crop
    return out


@pytest.mark.parametrize(("overlap", "winner"), [("lower id wins", 1), ("higher id wins", 300)])
def test_where_masks_meet_the_declared_label_wins(overlap: Any, winner: int) -> None:
    masks = [mask(300, 2, 6, 2, 6, 2, 6), mask(1, 4, 8, 4, 8, 4, 7, value=255), mask(2, 0, 1, 0, 1, 0, 1)]
    labels, (said,) = merged(spec(), masks, overlap, "s1")
    expected = np.zeros(SHAPE, int)
    expected[2:6, 2:6, 2:6], expected[0, 0, 0] = 300, 2
    shared = expected[4:6, 4:6, 4:6].size
    expected[4:8, 4:8, 4:7] = np.where((expected[4:8, 4:8, 4:7] > 0) & (winner == 300), 300, 1)
    assert np.array_equal(whole(labels), expected)
    assert labels.counts == {n: int((expected == n).sum()) for n in (1, 2, 300)}
    assert said.detail.startswith(f"{shared} voxels")


def test_masks_that_meet_are_refused_where_nothing_is_declared() -> None:
    with pytest.raises(BadInputError, match="8 voxels"):
        merged(spec(), [mask(1, 0, 2, 0, 2, 0, 2), mask(2, 0, 3, 0, 3, 0, 3)], "error", "s1")


def test_masks_without_a_voxel_make_an_empty_map() -> None:
    empty = RasLabels(np.zeros((0, 0, 0), np.uint8), (0, 0, 0), SHAPE, {})
    labels, said = merged(spec(), [as_mask(empty, 1, "a"), as_mask(empty, 2, "b")], "error", "s1")
    assert (labels.counts, labels.shape_ijk, said) == ({}, SHAPE, [])


def test_a_mask_of_two_values_is_refused() -> None:
    with pytest.raises(BadInputError) as met:
        as_mask(RasLabels(np.ones((1, 1, 1), np.uint8), (0, 0, 0), SHAPE, {1: 5, 7: 1}), 1, "odd.nii.gz")
    assert (met.value.finding.code, met.value.finding.file) == (Code.UNKNOWN_LABEL, "odd.nii.gz")


def labels_file(tmp_path: Path, values: np.ndarray[Any, Any], affine: np.ndarray[Any, Any] = AFFINE) -> Opened:
    nib.save(nib.Nifti1Image(values, affine), tmp_path / "seg.nii.gz")
    return Opened.of("seg.nii.gz", open_source(tmp_path, "seg.nii.gz", LabelsSource(path=("x",))))


def test_scaled_labels_become_their_ids_and_the_finding_counts_them(tmp_path: Path) -> None:
    values = np.zeros(SHAPE, np.float32)
    values[2:5, 2:5, 2:5] = 1 / 65535
    values[7, 7, 6] = 2
    declared = spec(repairs=[{"kind": "scale_labels", "labels": "all", "factor": 65535, "reason": "stored as 1/65535"}])
    opened = repaired(declared, "all", labels_file(tmp_path, values), {})
    labels = read_labels(declared, LabelsSource(path=("x",)), opened.image, "seg.nii.gz")
    assert labels.counts == {1: 27, 2: 1}
    (said,) = opened.image.stream_findings
    assert (said.code, said.detail.split(" voxels")[0]) == (Code.REPAIRED, "27")


def test_labels_are_rounded_only_within_the_declared_tolerance(tmp_path: Path) -> None:
    values = np.zeros(SHAPE, np.float32)
    values[1, 1, 1], values[2, 2, 2] = 1.004, 1.9999
    declared = spec(repairs=[{"kind": "round_labels", "labels": "all", "tolerance": 0.005, "reason": "resampled"}])
    opened = repaired(declared, "all", labels_file(tmp_path, values), {})
    assert read_labels(declared, LabelsSource(path=("x",)), opened.image, "seg.nii.gz").counts == {1: 1, 2: 1}
    values[3, 3, 3] = 1.5
    opened = repaired(declared, "all", labels_file(tmp_path, values), {})
    with pytest.raises(BadInputError, match=r"1 voxels hold non-integer values such as 1\.5"):
        read_labels(declared, LabelsSource(path=("x",)), opened.image, "seg.nii.gz")


def test_a_copied_header_is_told_and_only_where_it_differs(tmp_path: Path) -> None:
    declared = spec(repairs=[{"kind": "copy_header", "labels": "all", "series": "ct", "reason": "masks lost theirs"}])
    shifted = AFFINE.copy()
    shifted[:3, 3] = 40
    nib.save(nib.Nifti1Image(np.zeros(SHAPE, np.int16), AFFINE), tmp_path / "ct.nii.gz")
    image = Opened.of("ct.nii.gz", open_source(tmp_path, "ct.nii.gz", LabelsSource(path=("x",))))
    for affine, codes in ((shifted, [Code.REPAIRED]), (AFFINE, [])):
        opened = repaired(declared, "all", labels_file(tmp_path, np.ones(SHAPE, np.uint8), affine), {"ct": image})
        assert np.allclose(opened.affine_ras_mm, AFFINE)
        assert [f.code for f in opened.image.findings if f.code is Code.REPAIRED] == codes


def test_a_picture_drawn_over_a_slice_takes_its_place_in_the_patient(tmp_path: Path) -> None:
    declared = spec(repairs=[{"kind": "copy_header", "labels": "all", "series": "ct", "reason": "a PNG has none"}])
    nib.save(nib.Nifti1Image(np.zeros((9, 8, 1), np.int16), AFFINE), tmp_path / "ct.nii.gz")
    Image.fromarray(np.eye(8, 9, dtype=np.uint8)).save(tmp_path / "seg.png")
    source = LabelsSource(path=("x",))
    image = Opened.of("ct.nii.gz", open_source(tmp_path, "ct.nii.gz", source))
    drawn = Opened.of("seg.png", open_source(tmp_path, "seg.png", source))
    with pytest.raises(BadInputError, match="picture space"):
        require_same_grid(image, drawn)
    mended = repaired(declared, "all", drawn, {"ct": image})
    require_same_grid(image, mended)
    (said,) = [f for f in mended.image.findings if f.code is Code.REPAIRED]
    assert said.detail == "its geometry in picture space was replaced by that of ct.nii.gz: a PNG has none"
    assert (mended.axes.space, mended.spacing_mm) == ("patient", (1.0, 1.5, 2.0))


def test_an_array_may_be_called_after_its_file(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "case_07.h5", "w") as file:
        file["case_07/image"] = np.full((6, 5), 3, np.uint8)
        file["case_07/mask"] = np.full((4, 5), 1, np.uint8)
    source = LabelsSource(path=("x",), key="{stem}/image", axes="yx")
    assert open_source(tmp_path, "case_07.h5", source).shape == (5, 6, 1)


@pytest.mark.parametrize(
    ("source", "counts"), [({"nonzero_is": 2}, {2: 3}), ({"values": {255: 300}}, {1: 1, 2: 1, 300: 1}), ({}, None)]
)
def test_values_stand_for_the_ids_the_spec_says(tmp_path: Path, source: dict[str, Any], counts: dict[int, int] | None) -> None:
    values = np.zeros(SHAPE, np.uint8)
    values[0, 0, 0], values[1, 1, 1], values[2, 2, 2] = 1, 2, 255
    opened = labels_file(tmp_path, values)
    declared = LabelsSource.model_validate({"path": "x", **source})
    if counts is None:
        with pytest.raises(BadInputError, match="255"):
            read_labels(spec(), declared, opened.image, "seg.nii.gz")
    else:
        assert read_labels(spec(), declared, opened.image, "seg.nii.gz").counts == counts
