"""Where the voxels of a stored series lie, as its `volumes` row says: between stored pixels, RAS+ indices and millimetres."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from assets.measure import Plane
from assets.spec_layout import SeriesSource
from resources.findings import BadInputError, Code
from resources.geometry import FloatArray, Reorientation, as_affine, spacing_mm

Calibration = Literal["header", "declared by the spec"]

_SAME_SPACING = 1e-3
_LETTERS = (("R", "L"), ("A", "P"), ("S", "I"))


@dataclass(frozen=True)
class SeriesGrid:
    """The grid of one stored series.

    Attributes:
        series: Its name.
        shape_ijk: Voxels along i, j, k.
        affine_ras_mm: (4, 4) of the RAS+ array.
        reorientation: Brings the raw file's axes to RAS+.
        calibration: Where its millimetres come from.
    """

    series: str
    shape_ijk: tuple[int, int, int]
    affine_ras_mm: FloatArray
    reorientation: Reorientation
    calibration: Calibration

    @classmethod
    def of(cls, row: Mapping[str, Any], source: SeriesSource) -> SeriesGrid:
        """The grid that a `volumes` row of an image describes.

        Raises:
            BadInputError: The series is a picture that nothing places in a patient, or without a scale in mm.
        """
        file = str(row["source_paths"][0])
        if row["affine_ras_mm"] is None:
            detail = (
                f"landmarks are set on {row['series']}, a picture that nothing places in the patient; "
                "state `assume_orientation` and `spacing_mm` in the spec"
            )
            raise BadInputError(Code.ORIENTATION_UNKNOWN, detail, file=file)
        if any(step is None and n > 1 for step, n in zip(row["spacing_mm"], row["shape_ijk"], strict=True)):
            detail = f"landmarks are set on {row['series']}, whose spacing is not known; state `spacing_mm` in the spec"
            raise BadInputError(Code.BAD_AFFINE, detail, file=file)
        i, j, k = row["shape_ijk"]
        affine = as_affine(np.reshape(row["affine_ras_mm"], (4, 4)))
        reorientation = _reorientation(str(row["source_orientation"]))
        declared = _is_declared(source.spacing_mm, affine, reorientation)
        calibration: Calibration = "declared by the spec" if declared else "header"
        return cls(str(row["series"]), (i, j, k), affine, reorientation, calibration)

    @property
    def stored_shape(self) -> tuple[int, int, int]:
        """Extents of the raw file's axes."""
        stored = [0, 0, 0]
        for axis, extent in zip(self.reorientation.axes, self.shape_ijk, strict=True):
            stored[axis] = extent
        return stored[0], stored[1], stored[2]

    def ijk_of_stored(self, stored: FloatArray) -> FloatArray:
        """(n, 3) RAS+ indices of (n, 3) indices along the raw file's axes; fractions are kept."""
        picked = stored[:, list(self.reorientation.axes)]
        last = np.array(self.shape_ijk) - 1
        return np.where(self.reorientation.flips, last - picked, picked)

    def ras_of_ijk(self, ijk: FloatArray) -> FloatArray:
        """(n, 3) RAS+ mm of (n, 3) RAS+ indices."""
        return np.asarray(ijk @ self.affine_ras_mm[:3, :3].T + self.affine_ras_mm[:3, 3])

    def ijk_of_ras(self, ras: FloatArray) -> FloatArray:
        """(n, 3) RAS+ indices of (n, 3) RAS+ mm."""
        return np.asarray(np.linalg.solve(self.affine_ras_mm[:3, :3], (ras - self.affine_ras_mm[:3, 3]).T).T)

    def holds(self, ijk: FloatArray) -> npt.NDArray[np.bool_]:
        """(n,) bool: whether a point lies in some voxel, its faces included."""
        return np.asarray(((ijk >= -0.5) & (ijk <= np.array(self.shape_ijk) - 0.5)).all(axis=1))

    def common_slice(self, ijk: FloatArray) -> tuple[Plane, int] | None:
        """The plane in one slice of which all of the (n, 3) points lie, and that slice.

        A point lies in the slice whose centre is nearest. Only planes whose slices are pictures count (both sides longer than
        one voxel); where several hold the points, the first of sagittal, coronal and axial.
        """
        nearest = np.floor(ijk + 0.5).astype(np.int64)
        for plane in Plane:
            rows, columns = plane.in_plane
            index = nearest[:, plane.axis]
            if min(self.shape_ijk[rows], self.shape_ijk[columns]) > 1 and (index == index[0]).all():
                return plane, min(max(int(index[0]), 0), self.shape_ijk[plane.axis] - 1)
        return None


def _reorientation(code: str) -> Reorientation:
    """The reorientation of a file whose stored indices grow in these directions, e.g. `LPS`."""
    axes, flips = [], []
    for positive, negative in _LETTERS:
        axes.append(next(n for n, letter in enumerate(code) if letter in {positive, negative}))
        flips.append(code[axes[-1]] == negative)
    return Reorientation((axes[0], axes[1], axes[2]), (flips[0], flips[1], flips[2]))


def _is_declared(declared: tuple[float, ...] | None, affine: FloatArray, reorientation: Reorientation) -> bool:
    """Whether the spacing is the one that the spec declares, along x, y and perhaps z of the file."""
    if declared is None:
        return False
    along = spacing_mm(affine)
    stored = {axis: along[ras] for ras, axis in enumerate(reorientation.axes)}
    return all(abs(stored[axis] - step) <= _SAME_SPACING * step for axis, step in enumerate(declared))
