"""Lesion size: the axes of the ellipse that has the second moments of a component, in mm, at every tilt and spacing.

Each pixel counts as a rectangle of its own spacing, which adds spacing^2 / 12 to the variance along each axis; a solid
ellipse with variances v along its axes has the full axes 4 * sqrt(v).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from assets.measure import Plane
from assets.measure.components import Components

FloatArray = npt.NDArray[np.float64]

LEAST_MAJOR_MM: Final = 2.0
"""A shorter major axis is not reliable; nor is one under two pixels of the coarser spacing."""

LEAST_MINOR_PIXELS: Final = 1.0
"""A minor axis that spans fewer pixels (counted along itself, in pixel coordinates) is not reliable."""

AREA_TOLERANCE: Final = 0.25
"""The ellipse is no likeness when its area differs from that of the component by more than this share of the latter."""

_ANGLE_DECIMALS: Final = 9
"""Angles are rounded to so many decimals: the noise of summation must not decide which end of a level axis comes first."""

_EDGES_AND_CORNERS: Final = np.ones((3, 3), np.bool_)


@dataclass(frozen=True, slots=True)
class Axes:
    """Axes of n components; NaN (but for the centre) for a component of one pixel or one straight line of pixels.

    Points are (row, col) in pixels of the full volume's slice, pixel centres at whole numbers. Of the two end points of an
    axis the one with the larger row comes first; where rows are equal, the one with the larger column.

    Attributes:
        major_mm: (n,) full length of the longer axis.
        minor_mm: (n,) full length of the shorter axis.
        angle_deg: (n,) direction of the major axis in mm space, from the row direction (the first in-plane axis) towards
            the column direction, in [0, 180).
        centre_px: (n, 2) centre of gravity.
        major_px: (n, 2, 2) end points of the major axis: [component, end, (row, col)].
        minor_px: (n, 2, 2) end points of the minor axis.
        reliable: (n,) whether the axes describe the component: long enough, resolved, and of about its area.
    """

    major_mm: FloatArray
    minor_mm: FloatArray
    angle_deg: FloatArray
    centre_px: FloatArray
    major_px: FloatArray
    minor_px: FloatArray
    reliable: npt.NDArray[np.bool_]


def axes_mm(components: Components, spacing_mm: tuple[float, float]) -> Axes:
    """Moment axes of components; fill their holes first where the outer outline is meant.

    Args:
        components: What to measure.
        spacing_mm: Distance in mm between neighbouring rows and between neighbouring columns.

    Raises:
        ValueError: A spacing is not a positive number.
    """
    if not all(0 < step < float("inf") for step in spacing_mm):
        raise ValueError(f"spacing must be two positive numbers of mm, not {spacing_mm}")
    row_mm, col_mm = spacing_mm
    n = components.pixel_count.astype(np.float64)
    mean_r, mean_c = components.sum_r / n, components.sum_c / n
    along_rows = (components.sum_rr / n - mean_r**2 + 1 / 12) * row_mm**2
    along_cols = (components.sum_cc / n - mean_c**2 + 1 / 12) * col_mm**2
    across = (components.sum_rc / n - mean_r * mean_c) * row_mm * col_mm
    larger = (along_rows + along_cols) / 2 + np.hypot((along_rows - along_cols) / 2, across)
    # Of a square or a disc both are equal, and rounding must not turn them round.
    smaller = np.minimum((along_rows * along_cols - across**2) / larger, larger)
    line = (components.row_min == components.row_max) | (components.col_min == components.col_max)
    major, minor = (np.where(line, np.nan, 4 * np.sqrt(variance)) for variance in (larger, smaller))
    turn = np.degrees(np.arctan2(2 * across, along_rows - along_cols)) / 2
    angle = np.where(line, np.nan, np.round(turn, _ANGLE_DECIMALS) % 180)
    centre = np.stack([components.row_min + mean_r, components.col_min + mean_c], axis=1)
    minor_half = _half_axis_px(minor, (angle + 90) % 180, spacing_mm)
    area = n * row_mm * col_mm
    reliable = (
        (major >= max(LEAST_MAJOR_MM, 2 * row_mm, 2 * col_mm))
        & (2 * np.linalg.norm(minor_half, axis=1) >= LEAST_MINOR_PIXELS)
        & (np.abs(np.pi / 4 * major * minor - area) <= AREA_TOLERANCE * area)
    )
    return Axes(
        major,
        minor,
        angle,
        centre,
        _ends(centre, _half_axis_px(major, angle, spacing_mm)),
        _ends(centre, minor_half),
        reliable,
    )


def fill_holes(
    components: Components, label_map: npt.NDArray[Any], plane: Plane, offset: Sequence[int] = (0, 0, 0)
) -> Components:
    """The same components with pixel counts and moments taken over their holes too, and whatever lies in them.

    A hole is a region of other pixels, joined over edges and corners, that the component encloses. `n_holes` and
    `n_components` keep what was found before.

    Args:
        components: Components of this label map and plane, any selection of them.
        label_map: The `[i, j, k]` crop they were found in.
        plane: How it was sliced.
        offset: (i, j, k) of the crop's first voxel in the full volume.

    Raises:
        ValueError: A component is not in the label map.
    """
    slices = plane.slices(label_map)
    row_axis, col_axis = plane.in_plane
    first_slice, first_row, first_col = offset[plane.axis], offset[row_axis], offset[col_axis]
    sums = np.stack([getattr(components, name) for name in _SUMS])
    for n in np.flatnonzero(components.n_holes > 0):
        box = slices[
            components.slice_index[n] - first_slice,
            components.row_min[n] - first_row : components.row_max[n] - first_row + 1,
            components.col_min[n] - first_col : components.col_max[n] - first_col + 1,
        ]
        component = _spanning(box == components.label_id[n])
        if component is None or np.count_nonzero(component) != components.pixel_count[n]:
            where = f"label {components.label_id[n]} in {plane} slice {components.slice_index[n]}"
            raise ValueError(f"component {components.component[n]} of {where} is not in this label map and offset")
        sums[:, n] = _moments(_filled(component))
    return replace(components, **dict(zip(_SUMS, sums, strict=True)))


_SUMS: Final = ("pixel_count", "sum_r", "sum_c", "sum_rr", "sum_cc", "sum_rc")


def _spanning(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_] | None:
    """The 4-connected component that touches all four sides. There is one at most: two such would have to cross."""
    labels, n_labels = ndimage.label(mask)
    if n_labels == 1:
        return mask
    for label, box in enumerate(ndimage.find_objects(labels), start=1):
        if all(span == slice(0, extent) for span, extent in zip(box, mask.shape, strict=True)):
            return np.asarray(labels == label)
    return None


def _filled(component: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    around, _ = ndimage.label(~np.pad(component, 1), _EDGES_AND_CORNERS)
    return np.asarray(around != around[0, 0])[1:-1, 1:-1]


def _moments(mask: npt.NDArray[np.bool_]) -> tuple[Any, ...]:
    """Pixel count and the sums of r, c, r*r, c*c and r*c, from the corner of the mask."""
    r, c = (np.arange(extent, dtype=np.int64) for extent in mask.shape)
    in_rows, in_cols = mask.sum(axis=1, dtype=np.int64), mask.sum(axis=0, dtype=np.int64)
    return in_rows.sum(), in_rows @ r, in_cols @ c, in_rows @ (r * r), in_cols @ (c * c), r @ (mask @ c)


def _half_axis_px(length_mm: FloatArray, angle_deg: FloatArray, spacing_mm: tuple[float, float]) -> FloatArray:
    """(n, 2) vector in pixels from the centre to the end of larger row (or, on a tie, larger column) of an axis."""
    turn = np.radians(np.where(angle_deg > 90, angle_deg - 180, angle_deg))
    direction = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return np.asarray(direction * (length_mm / 2)[:, None] / np.asarray(spacing_mm))


def _ends(centre_px: FloatArray, half_px: FloatArray) -> FloatArray:
    return np.stack([centre_px + half_px, centre_px - half_px], axis=1)
