from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from assets.measure import Plane
from assets.measure.components import Components, label_components
from assets.measure.ellipse import Axes, axes_mm, fill_holes
from tests.measure.reference import as_table

Image = npt.NDArray[np.uint8]

SPACINGS = [(0.8, 0.8), (0.8, 2.0), (2.0, 0.8), (0.7, 5.0), (5.0, 0.7)]
lengths = st.floats(12, 60)
tilts = st.floats(0, 180, exclude_max=True)
shifts = st.tuples(*[st.floats(-0.5, 0.5)] * 2)


def ellipse(
    axes: tuple[float, float], tilt_deg: float, spacing: tuple[float, float], shift: tuple[float, float] = (0, 0)
) -> tuple[Image, tuple[float, float]]:
    """Pixels whose centres lie inside an ellipse, and its centre in pixels."""
    half = [math.ceil((max(axes) / 2) / step) + 2 for step in spacing]
    centre = (half[0] + shift[0], half[1] + shift[1])
    grid = np.indices((2 * half[0] + 1, 2 * half[1] + 1)).astype(float)
    r, c = ((index - middle) * step for index, middle, step in zip(grid, centre, spacing, strict=True))
    turn = math.radians(tilt_deg)
    along, across = r * math.cos(turn) + c * math.sin(turn), c * math.cos(turn) - r * math.sin(turn)
    inside = (2 * along / axes[0]) ** 2 + (2 * across / axes[1]) ** 2 <= 1
    return inside.astype(np.uint8), centre


def found(image: Image) -> Components:
    return label_components(image[:, :, None], Plane.AXIAL)


def measured(image: Image, spacing: tuple[float, float] = (1, 1)) -> Axes:
    components = found(image)
    return axes_mm(fill_holes(components, image[:, :, None], Plane.AXIAL), spacing)


def points(*pixels: tuple[int, int]) -> Image:
    image = np.zeros((12, 12), np.uint8)
    image[tuple(np.transpose(pixels))] = 1
    return image


@given(lengths, lengths, tilts, st.sampled_from(SPACINGS), shifts)
def test_an_ellipse_of_any_tilt_and_spacing_has_its_own_axes(
    one: float, other: float, tilt: float, spacing: tuple[float, float], shift: tuple[float, float]
) -> None:
    major, minor = max(one, other), min(one, other)
    image, centre = ellipse((major, minor), tilt, spacing, shift)
    axes = measured(image, spacing)
    coarse = max(spacing)  # at worst: pixels drawn by their centres lengthen the tips of a narrow ellipse along the grid
    assert abs(axes.major_mm[0] - major) <= max(0.01 * major, 1.5 * coarse)
    assert abs(axes.minor_mm[0] - minor) <= max(0.01 * minor, coarse)
    assert np.abs((axes.centre_px[0] - centre) * spacing).max() <= coarse / 2
    assert axes.reliable[0]


@pytest.mark.parametrize("spacing", SPACINGS)
def test_nearly_all_axes_are_right_within_one_percent_or_half_the_coarser_pixel(spacing: tuple[float, float]) -> None:
    truth, read = many_ellipses(spacing)
    assert (np.abs(read - truth) <= np.maximum(0.01 * truth, max(spacing) / 2)).mean() >= 0.99


@pytest.mark.parametrize(("spacing", "bias", "rmse_px"), [((0.8, 0.8), 0.003, 0.2), ((0.8, 2), 0.005, 0.2)])
def test_over_many_ellipses_the_error_has_no_bias(spacing: tuple[float, float], bias: float, rmse_px: float) -> None:
    truth, read = many_ellipses(spacing)
    assert abs(((read - truth) / truth).mean()) <= bias
    assert math.sqrt(((read - truth) ** 2).mean()) / max(spacing) <= rmse_px


def many_ellipses(spacing: tuple[float, float]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """(n, 2) true and measured axes of ellipses of any size from 12 to 60 mm, tilt and place."""
    rng = np.random.default_rng(5)
    truth, read = [], []
    for _ in range(300):
        minor, major = sorted(rng.uniform(12, 60, 2))
        shift = rng.uniform(-0.5, 0.5, 2)
        image, _ = ellipse((major, minor), rng.uniform(0, 180), spacing, (shift[0], shift[1]))
        axes = measured(image, spacing)
        truth.append((major, minor))
        read.append((axes.major_mm[0], axes.minor_mm[0]))
    return np.array(truth), np.array(read)


@given(tilts, st.sampled_from(SPACINGS))
def test_the_angle_turns_from_rows_to_columns_in_mm(tilt: float, spacing: tuple[float, float]) -> None:
    image, _ = ellipse((60, 25), tilt, spacing)
    angle = measured(image, spacing).angle_deg[0]
    assert 0 <= angle < 180
    assert abs((angle - tilt + 90) % 180 - 90) < 1 + 1.2 * max(spacing)


@given(tilts, st.sampled_from(SPACINGS), shifts)
def test_end_points_span_the_axes_through_the_centre(
    tilt: float, spacing: tuple[float, float], shift: tuple[float, float]
) -> None:
    image, _ = ellipse((50, 20), tilt, spacing, shift)
    axes = measured(image, spacing)
    spans = []
    for ends, length in ((axes.major_px[0], axes.major_mm[0]), (axes.minor_px[0], axes.minor_mm[0])):
        span = (ends[0] - ends[1]) * spacing
        assert np.allclose(ends.mean(axis=0), axes.centre_px[0])
        assert math.hypot(*span) == pytest.approx(length)
        assert tuple(ends[0].round(6)) > tuple(ends[1].round(6))
        spans.append(span)
    assert abs(spans[0] @ spans[1]) < 1e-6 * 50 * 20
    assert math.degrees(math.atan2(spans[0][1], spans[0][0])) % 180 == pytest.approx(axes.angle_deg[0])


def test_a_rectangle_counts_from_edge_to_edge() -> None:
    axes = measured(np.ones((41, 17), np.uint8))
    assert axes.major_mm[0] == pytest.approx(4 * 41 / math.sqrt(12))
    assert axes.minor_mm[0] == pytest.approx(4 * 17 / math.sqrt(12))
    assert round(axes.major_mm[0], 2) == 47.34
    assert round(axes.minor_mm[0], 2) == 19.63
    assert axes.angle_deg[0] == 0
    assert axes.major_px[0].tolist() == [[20 + axes.major_mm[0] / 2, 8], [20 - axes.major_mm[0] / 2, 8]]
    assert np.allclose(axes.minor_px[0], [[20, 8 + axes.minor_mm[0] / 2], [20, 8 - axes.minor_mm[0] / 2]])


def test_the_longer_side_in_mm_is_the_major_axis() -> None:
    axes = measured(np.ones((10, 30), np.uint8), (5, 1))
    assert axes.major_mm[0] == pytest.approx(4 * 50 / math.sqrt(12))
    assert axes.angle_deg[0] == 0


def test_axes_lie_where_the_volume_has_the_component() -> None:
    volume = np.zeros((9, 60, 70), np.uint8)
    volume[4, 20:41, 30:61] = 1
    crop, offset = volume[3:6, 15:50, 25:65], (3, 15, 25)
    axes = axes_mm(label_components(crop, Plane.SAGITTAL, offset), (1, 1))
    assert axes.centre_px[0].tolist() == [30, 45]


def test_a_ring_has_the_size_of_its_outline() -> None:
    outer, _ = ellipse((30, 30), 0, (0.8, 0.8))
    inner, _ = ellipse((16, 16), 0, (0.8, 0.8))
    pad = (len(outer) - len(inner)) // 2
    ring = outer - np.pad(inner, pad)
    components = found(ring)
    assert components.n_holes.tolist() == [1]
    assert axes_mm(components, (0.8, 0.8)).major_mm[0] == pytest.approx(34, abs=0.3)
    filled = fill_holes(components, ring[:, :, None], Plane.AXIAL)
    assert axes_mm(filled, (0.8, 0.8)).major_mm[0] == pytest.approx(30, abs=0.3)
    assert axes_mm(filled, (0.8, 0.8)).reliable[0]
    assert filled.pixel_count[0] == outer.sum()
    assert filled.n_holes.tolist() == [1]


def test_a_speck_inside_a_ring_is_a_component_of_its_own_and_part_of_the_filled_ring() -> None:
    ring = np.zeros((24, 24), np.uint8)
    ring[2:22, 2:22] = 1
    ring[5:19, 5:19] = 0
    with_speck = ring.copy()
    with_speck[10:13, 10:13] = 1
    components = found(with_speck)
    assert components.pixel_count.tolist() == [ring.sum(), 9]
    filled = fill_holes(components, with_speck[:, :, None], Plane.AXIAL)
    assert filled.pixel_count.tolist() == [400, 9]
    assert (
        as_table(filled)[0, 8:14].tolist()
        == as_table(found((ring + 1) // 2 | np.pad(np.ones((20, 20), np.uint8), 2)))[0, 8:14].tolist()
    )


def test_a_speck_beside_a_lesion_changes_nothing_but_the_count() -> None:
    image, _ = ellipse((30, 18), 40, (1, 1))
    alone = measured(np.pad(image, 4))
    beside = np.pad(image, 4)
    beside[0, 0] = 1
    both = measured(beside)
    assert both.major_mm[1] == alone.major_mm[0]
    assert np.isnan(both.major_mm[0])
    assert found(beside).n_components.tolist() == [2, 2]


@pytest.mark.parametrize("image", [points((3, 4)), points((3, 4), (3, 5), (3, 6)), points((3, 4), (4, 4), (5, 4))])
def test_a_pixel_or_a_line_of_pixels_has_a_centre_but_no_axes(image: Image) -> None:
    axes = measured(image)
    assert np.isnan([axes.major_mm[0], axes.minor_mm[0], axes.angle_deg[0]]).all()
    assert np.isnan(axes.major_px).all()
    assert np.isnan(axes.minor_px).all()
    assert axes.centre_px[0].tolist() == np.argwhere(image).mean(axis=0).tolist()
    assert not axes.reliable[0]


@pytest.mark.parametrize(
    ("image", "spacing", "reliable"),
    [
        (np.ones((4, 4), np.uint8), (1, 1), True),
        (np.ones((2, 2), np.uint8), (0.4, 0.4), False),  # under 2 mm
        (np.ones((2, 2), np.uint8), (1, 3), True),
        (points((0, 1), *[(n, 0) for n in range(8)]), (0.5, 3), False),  # under two pixels of the coarser spacing
        (points(*[(n, 5) for n in range(12)], *[(6, n) for n in range(12)]), (1, 1), False),  # a cross is no ellipse
    ],
)
def test_axes_that_do_not_describe_the_component_are_marked(image: Image, spacing: tuple[float, float], reliable: bool) -> None:
    assert measured(image, spacing).reliable[0] == reliable


@pytest.mark.parametrize("spacing", [(0, 1), (1, -1), (float("nan"), 1), (float("inf"), 1)])
def test_spacings_that_are_no_lengths_are_refused(spacing: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="positive numbers of mm"):
        axes_mm(found(np.ones((3, 3), np.uint8)), spacing)


def test_no_components_have_no_axes() -> None:
    axes = measured(np.zeros((3, 3), np.uint8))
    assert axes.major_px.shape == (0, 2, 2)
    assert len(axes.reliable) == 0


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.5, 0.6, 0.75]), st.sampled_from(Plane))
def test_filled_components_of_noise_are_scipys(seed: int, density: float, plane: Plane) -> None:
    rng = np.random.default_rng(seed)
    label_map = np.where(rng.random((2, 13, 14)) < density, rng.integers(1, 3, (2, 13, 14)), 0).astype(np.uint8)
    label_map = label_map.transpose(rng.permutation(3))
    offset = (3, 1, 2)
    components = label_components(label_map, plane, offset)
    filled = fill_holes(components, label_map, plane, offset)
    assert as_table(filled)[components.n_holes == 0].tolist() == as_table(components)[components.n_holes == 0].tolist()
    assert as_table(filled)[:, 8:14].tolist() == [filled_sums(label_map, plane, row) for row in as_table(components)]


def filled_sums(label_map: npt.NDArray[Any], plane: Plane, row: npt.NDArray[np.int64]) -> list[int]:
    image = np.moveaxis(label_map, plane.axis, 0)[row[0] - (3, 1, 2)[plane.axis]]
    component = ndimage.label(image == row[1])[0] == row[2]
    r, c = np.nonzero(ndimage.binary_fill_holes(component, np.ones((3, 3), np.bool_)))
    r, c = r - r.min(), c - c.min()
    return [r.size, r.sum(), c.sum(), (r * r).sum(), (c * c).sum(), (r * c).sum()]


def test_holes_are_not_filled_from_another_label_map() -> None:
    ring = points(*[(r, c) for r in range(3) for c in range(3) if (r, c) != (1, 1)])[:, :, None]
    components = label_components(ring, Plane.AXIAL)
    with pytest.raises(ValueError, match="component 1 of label 1 in axial slice 0"):
        fill_holes(components, np.zeros_like(ring), Plane.AXIAL)
