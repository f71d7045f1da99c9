"""Numeric kernels on plain arrays: components, ellipses, label ids, reorientation. Nothing of ours is imported here.

`Plane` lives here so that naming a plane does not load numba, which takes about a second.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy.typing as npt


class Plane(StrEnum):
    """One of the three ways to slice a RAS+ array `[i, j, k]`."""

    SAGITTAL = "sagittal"
    CORONAL = "coronal"
    AXIAL = "axial"

    @property
    def axis(self) -> int:
        """The axis that numbers the slices: sagittal 0, coronal 1, axial 2."""
        return list(Plane).index(self)

    @property
    def in_plane(self) -> tuple[int, int]:
        """The two remaining axes in array order: rows run along the first, columns along the second."""
        rows, cols = (axis for axis in range(3) if axis != self.axis)
        return rows, cols

    def slices(self, volume: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """View of `[i, j, k]` as `[slice, row, col]`."""
        return volume.transpose(self.axis, *self.in_plane)
