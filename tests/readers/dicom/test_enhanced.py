"""Multi-frame files with functional groups, and mosaics."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydicom.dataset import Dataset
from pydicom.uid import EnhancedMRImageStorage, VLWholeSlideMicroscopyImageStorage

from resources.findings import BadInputError, Code
from resources.readers.registry import open_image
from tests.readers.dicom.makers import AXIAL, SPACING, in_ras, only, opened, ramp, slice_of, write
from tests.readers.makers import read_all


def group(**elements: Any) -> list[Dataset]:
    item = Dataset()
    for keyword, value in elements.items():
        setattr(item, keyword, value)
    return [item]


Frame = dict[str, Any]


def enhanced(frames: list[Frame], *, share: bool = True, number: int = 1) -> Dataset:
    """An enhanced MR file; a frame has `k` and perhaps `time`, `echo`, `slope`, `intercept`, `value`."""
    pixels = np.stack([ramp(frame["k"]) + np.uint16(frame.get("value", 0)) for frame in frames])
    ds = slice_of(pixels.reshape(-1, pixels.shape[2]), None, number=number, Modality="MR")
    del ds.RescaleSlope, ds.RescaleIntercept, ds.PixelSpacing
    ds.SOPClassUID, ds.Rows, ds.NumberOfFrames = EnhancedMRImageStorage, pixels.shape[1], len(frames)
    common = Dataset()
    for item in [common] if share else []:
        item.PixelMeasuresSequence = group(PixelSpacing=list(SPACING), SliceThickness=2, SpacingBetweenSlices=2)
        item.PlaneOrientationSequence = group(ImageOrientationPatient=list(AXIAL))
    ds.SharedFunctionalGroupsSequence = [common]
    items = []
    for frame in frames:
        item = Dataset()
        if not share:
            item.PixelMeasuresSequence = group(PixelSpacing=list(SPACING), SliceThickness=2, SpacingBetweenSlices=2)
            item.PlaneOrientationSequence = group(ImageOrientationPatient=list(AXIAL))
        item.PlanePositionSequence = group(ImagePositionPatient=[1.0, 2.0, 2.0 * frame["k"]])
        item.FrameContentSequence = group(StackID="1", InStackPositionNumber=99 - frame["k"])
        if "time" in frame:
            item.FrameContentSequence[0].TemporalPositionIndex = frame["time"]
        if "echo" in frame:
            item.MREchoSequence = group(EffectiveEchoTime=frame["echo"])
        if "slope" in frame:
            item.PixelValueTransformationSequence = group(RescaleSlope=frame["slope"], RescaleIntercept=frame.get("intercept", 0))
        items.append(item)
    ds.PerFrameFunctionalGroupsSequence = items
    return ds


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("undefined", [True, False])
def test_frames_in_any_order_lie_by_their_positions(tmp_path: Path, share: bool, undefined: bool) -> None:
    ds = enhanced([{"k": k} for k in (3, 0, 4, 2, 1)], share=share)
    for name in ("PerFrameFunctionalGroupsSequence", "SharedFunctionalGroupsSequence"):
        ds[name].is_undefined_length = undefined
    image = open_image(write(tmp_path / "e", ds))
    assert (image.shape, image.n_channels) == ((5, 4, 5), 1)
    assert image.affine_ras_mm.tolist() == [[-0.5, 0, 0, -1], [0, -0.75, 0, -2], [0, 0, 2, 0], [0, 0, 0, 1]]
    assert read_all(image)[0, 0].tolist() == [0, 256, 512, 768, 1024]


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32 - 1), key=st.sampled_from(["time", "echo"]))
def test_volumes_in_one_file_are_told_apart(tmp_path: Path, seed: int, key: str) -> None:
    frames = [{"k": k, key: volume + 1, "value": 5000 * volume} for volume in range(3) for k in range(4)]
    if key == "time":
        frames = [frames[place] for place in np.random.default_rng(seed).permutation(12)]
    image = open_image(write(tmp_path / f"e{seed}", enhanced(frames)))
    assert (image.n_channels, image.fourth_axis) == (3, "time" if key == "time" else "channel")
    assert read_all(image)[0, 0].tolist() == [[256 * k + 5000 * volume for volume in range(3)] for k in range(4)]


def test_each_frame_has_its_own_scaling(tmp_path: Path) -> None:
    frames = [{"k": k, "slope": 0.5 * (k + 1), "intercept": -10.0 * k} for k in range(4)]
    image = open_image(write(tmp_path / "e", enhanced(frames)))
    assert image.dtype == np.float32
    values, _ = in_ras(image)
    i, j, k = np.mgrid[:5, :4, :4]
    np.testing.assert_allclose(values, (4 - i + 16 * (3 - j) + 256 * k) * 0.5 * (k + 1) - 10 * k)


def test_a_series_of_multi_frame_files_is_a_time_series(tmp_path: Path) -> None:
    for time in range(3):
        frames = [{"k": k, "time": time + 1, "value": 5000 * time} for k in range(4)]
        write(tmp_path / f"{9 - time}", enhanced(frames, number=time + 1))
    image = opened(tmp_path)
    assert (image.shape, image.n_channels, image.fourth_axis) == ((5, 4, 4), 3, "time")
    assert read_all(image)[0, 0, 1].tolist() == [256, 5256, 10256]
    assert len(image.sources) == 3


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda ds: ds.PerFrameFunctionalGroupsSequence.pop(), Code.BAD_HEADER),
        (
            lambda ds: ds.PerFrameFunctionalGroupsSequence.__delitem__(slice(1, 2)) or setattr(ds, "NumberOfFrames", 4),
            Code.MISSING_SLICE,
        ),
        (lambda ds: delattr(ds.PerFrameFunctionalGroupsSequence[2], "PlanePositionSequence"), Code.MIXED_SERIES),
        (lambda ds: delattr(ds, "SharedFunctionalGroupsSequence"), None),
    ],
)
def test_groups_that_do_not_fit_are_refused(tmp_path: Path, change: Callable[[Dataset], Any], code: Code | None) -> None:
    ds = enhanced([{"k": k} for k in range(5)])
    change(ds)
    path = write(tmp_path / "e", ds)
    if code is None:  # without orientation and spacing it is a stack of pages
        assert open_image(path).space == "picture"
        return
    with pytest.raises(BadInputError) as caught:
        open_image(path)
    assert caught.value.finding.code == code


def test_whole_slides_are_refused(tmp_path: Path) -> None:
    ds = enhanced([{"k": k} for k in range(4)])
    ds.SOPClassUID, ds.TotalPixelMatrixColumns, ds.TotalPixelMatrixRows = VLWholeSlideMicroscopyImageStorage, 10, 8
    with pytest.raises(BadInputError) as caught:
        open_image(write(tmp_path / "e", ds))
    assert caught.value.finding.code == Code.UNSUPPORTED_DATA


def test_a_mosaic_that_lost_its_private_header_is_refused(tmp_path: Path, shared_data: Path) -> None:
    ds = pydicom.dcmread(shared_data / "dicom/dcm_qa_ts/In/1.dcm")
    ds.remove_private_tags()
    ds.save_as(tmp_path / "m")
    finding = only(tmp_path).refusal
    assert finding is not None
    assert finding.code == Code.UNSUPPORTED_DATA
    assert "(0029,1010)" in finding.detail


def test_a_mosaic_alone_is_a_volume(shared_data: Path) -> None:
    image = open_image(shared_data / "dicom/dcm_qa_ts/In/1.dcm")
    assert (image.shape, image.n_channels) == ((64, 64, 35), 1)


def test_threads_read_side_by_side(shared_data: Path) -> None:
    paths = sorted((shared_data / "dicom/dicom2nifti/generic").glob("compressed*/001/*.dcm"))
    assert len(paths) == 12
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda path: read_all(open_image(path)), paths * 2))
    for path, values in zip(paths * 2, found, strict=True):
        np.testing.assert_array_equal(values[..., 0].T, pydicom.dcmread(path).pixel_array)
