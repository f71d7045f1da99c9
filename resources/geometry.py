"""Affines, orientation and lossless reorientation to RAS+. Pure numpy; nothing of ours is imported here.

An affine is a (4, 4) float64 matrix that maps a voxel index (i, j, k, 1) to the millimetre position (x, y, z, 1) of that
voxel's centre in RAS+ world coordinates (x to the patient's right, y to the front, z to the head).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

GRID_TOLERANCE_VOXELS = 1e-3
"""Two grids are the same when no corner voxel lies further apart than this fraction of a voxel."""

_POSITIVE = "RAS"
_NEGATIVE = "LPI"


def as_affine(matrix: npt.ArrayLike) -> FloatArray:
    """A checked float64 copy of a 4x4 affine.

    Raises:
        ValueError: The matrix has another shape, is not finite, is singular, or its last row is not 0 0 0 1.
    """
    affine = np.array(matrix, np.float64)
    if affine.shape != (4, 4):
        raise ValueError(f"an affine is 4x4, not {affine.shape}")
    if not np.isfinite(affine).all():
        raise ValueError(f"the affine holds values that are not finite: {affine.tolist()}")
    if not np.array_equal(affine[3], [0, 0, 0, 1]):
        raise ValueError(f"the last row of an affine is 0 0 0 1, not {affine[3].tolist()}")
    columns = np.linalg.norm(affine[:3, :3], axis=0)
    if (columns == 0).any() or abs(np.linalg.det(affine[:3, :3] / columns)) < 1e-6:
        raise ValueError(f"the affine is singular: {affine[:3, :3].tolist()}")
    return affine


def spacing_mm(affine: FloatArray) -> FloatArray:
    """(3,) distance in mm between neighbouring voxel centres along each voxel axis."""
    return np.asarray(np.linalg.norm(affine[:3, :3], axis=0))


def directions(affine: FloatArray) -> FloatArray:
    """(3, 3) unit direction of each voxel axis, as columns in world coordinates."""
    return np.asarray(affine[:3, :3] / spacing_mm(affine))


def shear_deg(affine: FloatArray) -> float:
    """How far the voxel axes are from being at right angles: the largest deviation of a pair from 90 degrees."""
    unit = directions(affine)
    cosines = [abs(float(unit[:, a] @ unit[:, b])) for a, b in ((0, 1), (0, 2), (1, 2))]
    return float(np.degrees(np.arcsin(min(1.0, max(cosines)))))


@dataclass(frozen=True, slots=True)
class Reorientation:
    """Axis permutation and flips that bring a stored array closest to RAS+; never a resampling.

    Attributes:
        axes: For each RAS+ axis (right, anterior, superior), the stored axis it is taken from.
        flips: For each RAS+ axis, whether the stored axis runs the other way.
    """

    axes: tuple[int, int, int]
    flips: tuple[bool, bool, bool]

    def shape(self, stored: tuple[int, int, int]) -> tuple[int, int, int]:
        """Shape in RAS+ order of an array of shape `stored`."""
        a, b, c = self.axes
        return stored[a], stored[b], stored[c]

    def view(self, stored: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The stored array `[...]` as `[i, j, k]` in RAS+ order, without copying."""
        steps = tuple(slice(None, None, -1) if flip else slice(None) for flip in self.flips)
        return np.asarray(stored.transpose(self.axes)[steps])

    def affine(self, stored_affine: FloatArray, stored_shape: tuple[int, int, int]) -> FloatArray:
        """Affine of the RAS+ array: the same voxel keeps the same world position."""
        to_stored = np.zeros((4, 4))
        to_stored[3, 3] = 1
        for ras, (axis, flip) in enumerate(zip(self.axes, self.flips, strict=True)):
            to_stored[axis, ras] = -1 if flip else 1
            to_stored[axis, 3] = stored_shape[axis] - 1 if flip else 0
        return stored_affine @ to_stored

    def code(self) -> str:
        """Orientation of the stored axes in nibabel's sense, e.g. `LPS`: the direction in which each stored index grows."""
        letters = ["", "", ""]
        for ras, (axis, flip) in enumerate(zip(self.axes, self.flips, strict=True)):
            letters[axis] = (_NEGATIVE if flip else _POSITIVE)[ras]
        return "".join(letters)


def closest_ras(affine: FloatArray) -> Reorientation:
    """The reorientation whose axes lie closest to right, anterior, superior.

    Of the six ways to pair voxel axes with world axes the one with the largest sum of absolute direction cosines is taken; the
    first in lexicographic order where several are equally close (an exact 45 degree turn).
    """
    unit = directions(affine)
    size = np.abs(unit).round(9)
    best = max(itertools.permutations(range(3)), key=lambda axes: sum(size[world, axes[world]] for world in range(3)))
    a, b, c = best
    flips = (bool(unit[0, a] < 0), bool(unit[1, b] < 0), bool(unit[2, c] < 0))
    return Reorientation((a, b, c), flips)


def obliquity_deg(affine: FloatArray) -> float:
    """Largest angle between a voxel axis and the world axis it was paired with; 0 for an axis-aligned grid."""
    axes = closest_ras(affine).axes
    unit = np.abs(directions(affine))
    cosine = min(float(unit[world, axes[world]]) for world in range(3))
    return float(np.degrees(np.arccos(min(1.0, cosine))))


def corners(shape: tuple[int, int, int]) -> FloatArray:
    """(8, 4) homogeneous indices of the corner voxels of a grid."""
    ends = [(0, n - 1) for n in shape]
    return np.array([(*corner, 1) for corner in itertools.product(*ends)], np.float64)


def grid_distance_voxels(first: FloatArray, second: FloatArray, shape: tuple[int, int, int]) -> float:
    """How far two grids of one shape lie apart: the largest corner displacement, in voxels of `first` along any axis."""
    displacement = corners(shape) @ np.linalg.solve(first, second).T - corners(shape)
    return float(np.abs(displacement[:, :3]).max())
