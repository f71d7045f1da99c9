"""Which voxels an ellipsoid holds, from its formula: counts and boxes of a grid whose axes are those of the ellipsoid."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from resources.phantoms import Ellipsoid, Grid

Box = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True)
class InVoxels:
    """An ellipsoid measured in voxels: sum of ((index - centre) / semi_axes)² <= 1."""

    centre: npt.NDArray[np.float64]
    semi_axes: npt.NDArray[np.float64]

    @classmethod
    def of(cls, shape: Ellipsoid, grid: Grid) -> InVoxels:
        spacing = np.linalg.norm(grid.affine[:3, :3], axis=0)
        np.testing.assert_allclose(grid.affine[:3, :3] / spacing, shape.rotation, atol=1e-9)
        centre = np.linalg.solve(grid.affine[:3, :3], np.array(shape.centre_ras_mm) - grid.affine[:3, 3])
        return cls(np.asarray(centre, np.float64), np.asarray(shape.semi_axes_mm / spacing, np.float64))

    def count(self) -> int:
        """Voxels whose centres it holds: row by row, the whole numbers between two roots."""
        (ci, cj, ck), (ai, aj, ak) = self.centre, self.semi_axes
        total = 0
        for k in range(math.floor(ck - ak), math.ceil(ck + ak) + 1):
            for j in range(math.floor(cj - aj), math.ceil(cj + aj) + 1):
                left = 1 - ((k - ck) / ak) ** 2 - ((j - cj) / aj) ** 2
                if left >= 0:
                    total += math.floor(ci + ai * math.sqrt(left)) - math.ceil(ci - ai * math.sqrt(left)) + 1
        return total

    def box(self, axis: int, index: int) -> Box | None:
        """First and last pixel of its section by the slice `index` across `axis`; None where there is none."""
        u, v = (n for n in range(3) if n != axis)
        left = 1 - ((index - self.centre[axis]) / self.semi_axes[axis]) ** 2
        ends = [self._ends(a, left - self._nearest(b) ** 2) for a, b in ((u, v), (v, u))]
        if any(end is None or end[0] > end[1] for end in ends):
            return None
        first, last = zip(*(end for end in ends if end), strict=True)
        return (first[0], first[1]), (last[0], last[1])

    def _nearest(self, axis: int) -> float:
        """How far the nearest row is from the middle, in semi-axes."""
        return abs(float((np.rint(self.centre[axis]) - self.centre[axis]) / self.semi_axes[axis]))

    def _ends(self, axis: int, left: float) -> tuple[int, int] | None:
        if left < 0:
            return None
        reach = self.semi_axes[axis] * math.sqrt(left)
        return math.ceil(self.centre[axis] - reach), math.floor(self.centre[axis] + reach)
