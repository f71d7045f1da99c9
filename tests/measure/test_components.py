from __future__ import annotations

from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.measure import Plane
from assets.measure.components import label_components
from tests.measure.reference import as_table, scipy_components

KITS_CASES = [f"case_{n:05d}" for n in (2, 4, 6, 7, 9, 30, 34, 35, 38, 41, 44, 48)]


def drawn(*rows: str) -> npt.NDArray[np.uint8]:
    """One axial slice `[row, col, 0]` from digits; a dot is background."""
    return np.array([[int(pixel) if pixel != "." else 0 for pixel in row] for row in rows], np.uint8)[:, :, None]


@st.composite
def label_maps(draw: st.DrawFn) -> npt.NDArray[Any]:
    """Dense noise of few or many labels, in any memory order, whole or as a view with steps."""
    shape = draw(st.tuples(st.integers(0, 6), st.integers(0, 11), st.integers(0, 21)).flatmap(st.permutations))
    dtype = draw(st.sampled_from([np.bool_, np.uint8, np.uint16]))
    n_labels = draw(st.sampled_from([1, 2, 3, 200])) if dtype != np.uint16 else draw(st.sampled_from([1, 3, 65535]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    step = draw(st.sampled_from([1, 1, 2, -1, -2]))
    stored = tuple(extent * abs(step) for extent in shape)
    labels = rng.integers(0 if n_labels == 65535 else 1, n_labels, stored, endpoint=True)
    volume: npt.NDArray[Any] = np.where(rng.random(stored) < draw(st.sampled_from([0.1, 0.5, 0.65, 0.9, 1])), labels, 0).astype(
        dtype
    )
    volume = np.asarray(volume, order=draw(st.sampled_from(["C", "F"])))
    return volume[::step, ::step, ::step].transpose(draw(st.permutations(range(3))))


@given(label_maps(), st.sampled_from(Plane))
def test_every_component_of_noise_is_scipys(label_map: npt.NDArray[Any], plane: Plane) -> None:
    assert np.array_equal(as_table(label_components(label_map, plane)), scipy_components(label_map, plane))


@given(label_maps(), st.sampled_from(Plane), st.tuples(*[st.integers(0, 3)] * 3))
def test_a_crop_with_its_offset_equals_the_volume(
    label_map: npt.NDArray[Any], plane: Plane, offset: tuple[int, int, int]
) -> None:
    whole = np.pad(label_map, [(before, 2) for before in offset])
    assert np.array_equal(as_table(label_components(label_map, plane, offset)), scipy_components(whole, plane))


@pytest.mark.parametrize("plane", Plane)
def test_planes_slice_along_their_own_axis(plane: Plane) -> None:
    volume = np.zeros((5, 6, 7), np.uint8)
    volume[1, 2, 3] = 9
    found = label_components(volume, plane)
    expected = {"sagittal": (1, 2, 3), "coronal": (2, 1, 3), "axial": (3, 1, 2)}[plane.value]
    assert (found.slice_index[0], found.row_min[0], found.col_min[0]) == expected
    assert plane.slices(volume)[expected] == 9


def test_pixels_that_share_only_a_corner_are_apart() -> None:
    found = label_components(drawn("1.1", ".1.", "1.1"), Plane.AXIAL)
    assert found.component.tolist() == [1, 2, 3, 4, 5]
    assert found.n_components.tolist() == [5] * 5


def test_numbers_follow_the_first_pixel_met_even_when_arms_meet_late() -> None:
    found = label_components(drawn("..1.1", "1.1.1", "1.111", "1...."), Plane.AXIAL)
    assert found.col_min.tolist() == [2, 0]
    assert found.pixel_count.tolist() == [7, 3]


def test_labels_are_numbered_each_on_its_own() -> None:
    found = label_components(drawn("21.2", "211."), Plane.AXIAL)
    assert found.label_id.tolist() == [1, 2, 2]
    assert found.component.tolist() == [1, 1, 2]
    assert found.n_components.tolist() == [1, 2, 2]


@pytest.mark.parametrize(
    ("rows", "holes"),
    [
        (("111", "1.1", "111"), 1),
        (("11111", "1.1.1", "11111"), 2),
        (("1111", "1.11", "11.1", "1111"), 1),  # background regions that share a corner are one
        (("111", "1.1", "11."), 0),  # a way out over a corner
        (("11111", "12221", "12.21", "12221", "11111"), 1),  # another label and what it encloses
        (("11111", "1...1", "1.1.1", "1...1", "11111"), 1),  # a speck of the same label inside
    ],
)
def test_holes_are_counted_against_background_joined_over_corners(rows: tuple[str, ...], holes: int) -> None:
    found = label_components(drawn(*rows), Plane.AXIAL)
    assert found.label_id[0] == found.component[0] == 1
    assert found.n_holes[0] == holes


def test_a_spiral_is_one_component() -> None:
    spiral = np.zeros((41, 41), np.uint8)
    r, c, dr, dc = 0, 0, 0, 1
    spiral[r, c] = 1
    for _ in range(2000):
        ahead = (r + 2 * dr, c + 2 * dc)
        inside = 0 <= r + dr < 41 and 0 <= c + dc < 41
        free = not (0 <= ahead[0] < 41 and 0 <= ahead[1] < 41) or spiral[ahead] == 0
        if inside and free and spiral[r + dr, c + dc] == 0:
            r, c = r + dr, c + dc
            spiral[r, c] = 1
        else:
            dr, dc = dc, -dr
    found = label_components(spiral[:, :, None], Plane.AXIAL)
    assert len(found) == 1
    assert found.pixel_count[0] == np.count_nonzero(spiral)


def test_a_checkerboard_of_single_pixels_is_taken_apart() -> None:
    board = (np.indices((20, 200, 201)).sum(axis=0) % 2).astype(np.uint8)
    for plane in Plane:
        found = label_components(board, plane)
        assert len(found) == board.sum()
        assert (found.pixel_count == 1).all()


def test_every_voxel_may_be_a_label_of_its_own() -> None:
    noise = np.arange(1, 65536, dtype=np.uint16).reshape(15, 17, 257)
    for plane in Plane:
        found = label_components(noise, plane)
        assert len(found) == noise.size
        assert (found.n_components == 1).all()


def test_nothing_is_found_in_nothing() -> None:
    for shape in ((4, 5, 6), (0, 5, 6), (4, 5, 0)):
        assert len(label_components(np.zeros(shape, np.uint8), Plane.CORONAL)) == 0


def test_selecting_keeps_all_columns_together() -> None:
    found = label_components(drawn("11.2", "...2", "3333"), Plane.AXIAL)
    picked = found.select(found.label_id == 2)
    assert as_table(picked).tolist() == [as_table(found)[1].tolist()]


@pytest.mark.parametrize("dtype", ["i2", "u4", "f4", ">u2"])
def test_other_types_are_refused_by_name(dtype: str) -> None:
    with pytest.raises(TypeError, match=str(np.dtype(dtype))):
        label_components(np.zeros((2, 2, 2), dtype), Plane.AXIAL)


def test_other_than_three_axes_are_refused() -> None:
    with pytest.raises(ValueError, match="three axes"):
        label_components(np.zeros((2, 2), np.uint8), Plane.AXIAL)


def test_slices_whose_sums_would_overflow_are_refused() -> None:
    vast = np.broadcast_to(np.uint8(1), (60_000, 60_000, 1))
    with pytest.raises(ValueError, match="60000 x 60000"):
        label_components(vast, Plane.AXIAL)


def ras(path: Path) -> npt.NDArray[Any]:
    """The voxels of a label map in RAS+ order, cropped to its labels."""
    volume = np.asarray(nibabel.as_closest_canonical(nibabel.load(path)).dataobj)
    return volume[tuple(slice(where.min(), where.max() + 1) for where in np.nonzero(volume))]


@pytest.mark.parametrize("case", KITS_CASES)
def test_every_component_of_a_kits_case_is_scipys(shared_data: Path, case: str) -> None:
    label_map = ras(shared_data / "layouts/KiTS23/dataset" / case / "segmentation.nii.gz")
    for plane in Plane:
        expected = scipy_components(label_map, plane)
        assert len(expected)
        assert np.array_equal(as_table(label_components(label_map, plane)), expected)


def test_every_component_of_hippocampi_is_scipys(shared_data: Path) -> None:
    paths = sorted((shared_data / "layouts/MSD/Task04_Hippocampus/labelsTr").glob("hippocampus_*.nii.gz"))
    assert paths
    for path in paths[::6]:
        label_map = ras(path)
        for plane in Plane:
            assert np.array_equal(as_table(label_components(label_map, plane)), scipy_components(label_map, plane))
