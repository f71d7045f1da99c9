from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources.findings import Code
from resources.readers.nifti_header import VOXEL_TYPES
from resources.readers.registry import open_image
from resources.readers.scaling import Scaling
from tests.readers.makers import codes, read_all, voxels, write_nifti


@pytest.mark.parametrize(
    ("stored", "slope", "intercept", "held"),
    [
        ("uint8", 2, 0, "int16"),
        ("uint8", -1, 0, "int16"),
        ("int8", 1, -1024, "int16"),
        ("int16", 1, -1024, "int32"),
        ("uint16", 1, -1024, "int32"),
        ("uint8", 200, 0, "int32"),
        ("int32", 4, 0, "int64"),
        ("uint32", 1, 1, "int64"),
        ("int64", 2, 0, "float64"),
        ("uint64", 1, 1, "float64"),
        ("int16", 1e30, 0, "float64"),
        ("int16", 0.5, 0, "float32"),
        ("uint8", 1, 0.5, "float32"),
        ("int32", 0.5, 0, "float64"),
        ("int64", 0.5, 0, "float64"),
        ("float32", 2, 0, "float64"),
        ("float64", 2, 0, "float64"),
        ("int16", 1.5e38, 0, "float64"),
        ("int16", 1e-40, 0, "float64"),
    ],
)
def test_result_type(stored: str, slope: float, intercept: float, held: str) -> None:
    scaling = Scaling.of(np.dtype(stored), slope, intercept)
    assert scaling is not None
    assert scaling.dtype == np.dtype(held)


def test_nothing_to_do_is_no_scaling() -> None:
    assert Scaling.of(np.dtype(np.int16), 1, 0) is None


@given(
    stored=st.sampled_from([dtype for dtype in VOXEL_TYPES.values() if dtype.kind in "iu" and dtype.itemsize <= 4]),
    slope=st.one_of(st.integers(-70000, 70000).filter(bool), st.floats(-1e4, 1e4).filter(lambda x: abs(x) > 1e-6)),
    intercept=st.one_of(st.integers(-(2**20), 2**20), st.floats(-1e6, 1e6)),
    swapped=st.booleans(),
)
def test_no_value_wraps_and_the_nearest_is_kept(
    stored: np.dtype[np.generic], slope: float, intercept: float, swapped: bool
) -> None:
    scaling = Scaling.of(stored, float(slope), float(intercept))
    if scaling is None:
        return
    limits = np.iinfo(stored)  # type: ignore[type-var]
    whole = [int(limits.min), int(limits.min) + 1, 0, 1, int(limits.max) - 1, int(limits.max)]
    target: npt.NDArray[np.generic] = np.empty(len(whole), scaling.dtype)
    scaling.apply(np.array(whole, stored.newbyteorder("S") if swapped else stored), target)
    if scaling.dtype.kind == "i":
        assert target.tolist() == [int(slope) * value + int(intercept) for value in whole]
    else:
        exact = [float(slope) * float(value) + float(intercept) for value in whole]
        np.testing.assert_array_equal(target, np.array(exact).astype(scaling.dtype))


@pytest.mark.parametrize(
    ("slope", "intercept", "said"),
    [
        (0, 0, set()),
        (float("nan"), float("nan"), set()),
        (float("nan"), 0, set()),
        (0, float("nan"), set()),
        (1, 0, set()),
        (0, 100, {Code.SLOPE_IGNORED}),
        (float("nan"), -1024, {Code.SLOPE_IGNORED}),
        (float("inf"), 0, {Code.SLOPE_IGNORED}),
    ],
)
def test_slopes_that_mean_no_scaling(tmp_path: Path, slope: float, intercept: float, said: set[Code]) -> None:
    image = open_image(write_nifti(tmp_path / "a.nii", voxels(), scl_slope=slope, scl_inter=intercept))
    assert image.dtype == np.int16
    np.testing.assert_array_equal(read_all(image), voxels())
    assert codes(image) == said


def test_scaled_voxels_cross_piece_borders(tmp_path: Path) -> None:
    array = np.random.default_rng(3).integers(-30000, 30000, (128, 128, 90)).astype(np.int16)
    image = open_image(write_nifti(tmp_path / "a.nii", array, order=">", scl_slope=3, scl_inter=7))
    np.testing.assert_array_equal(read_all(image, 77), array.astype(np.int32) * 3 + 7)
