"""Objects that a dataset's tables mark: where they lie in a picture, and in the patient."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from assets.mds.choice import Marked
from assets.mds.view import View
from resources.ome_zarr import StoredVolume

FloatArray = npt.NDArray[np.float64]
Json = dict[str, Any]
Row = Mapping[str, Any]
"""A row of the `objects` table."""

_CORNER = 0.5
"""From the edge of a pixel to its centre."""


@dataclass(frozen=True)
class Frame:
    """What takes positions of a table to the stored array.

    Attributes:
        from_world: (4, 4) RAS+ mm -> stored voxel.
        from_file: (4, 4) voxel as the file has it -> stored voxel.
        spacing_mm: Along i, j, k.
    """

    from_world: FloatArray
    from_file: FloatArray
    spacing_mm: tuple[float, float, float]

    @classmethod
    def of(cls, volume: StoredVolume) -> Frame:
        """The frame of a volume."""
        from_world: FloatArray = np.asarray(np.linalg.inv(volume.affine_ras_mm), np.float64)
        source = np.array(volume.attributes["source_affine_ras_mm"], np.float64)
        return cls(from_world, from_world @ source, volume.spacing_mm)

    def centre_ijk(self, row: Row) -> tuple[float, float, float]:
        """Centre of a sphere in stored voxels."""
        i, j, k, _ = (self.from_world @ [*row["centre_ras_mm"], 1.0]).tolist()
        return i, j, k


def spheres(rows: Iterable[Row], frame: Frame) -> list[Marked]:
    """The centres of the marked objects that have one; what decides about the slice."""
    return [Marked(frame.centre_ijk(row), row["diameter_mm"] or 0.0) for row in rows if row["centre_ras_mm"] is not None]


def box_on_picture(row: Row, frame: Frame, view: View) -> list[float] | None:
    """[x_min, y_min, x_max, y_max] of an object, edges, within the picture; None where it does not reach into it.

    A box in pixels is taken to count from the outer edge of the upper left pixel of the file's first slice; a box that sticks
    out is cut off at the picture's edge. Of a sphere it is the box around the circle in which the slice cuts it.
    """
    if row["min_px"] is None:
        circle = _circle(row, frame, view)
        return None if circle is None else _within(view, circle + _CORNER)
    ends = np.array([[*row["min_px"], _CORNER, 1 + _CORNER], [*row["max_px"], _CORNER, 1 + _CORNER]]) - _CORNER
    return _within(view, (ends @ frame.from_file.T)[:, :3] + _CORNER)


def _circle(row: Row, frame: Frame, view: View) -> FloatArray | None:
    """Corners, in stored voxels, of the box around the circle in which the slice cuts a sphere."""
    centre, radius = np.array(frame.centre_ijk(row)), (row["diameter_mm"] or 0.0) / 2
    away = (view.index - centre[view.axis]) * frame.spacing_mm[view.axis]
    if abs(away) >= radius:
        return None
    reach = np.sqrt(radius**2 - away**2) / np.array(frame.spacing_mm)
    return np.stack([centre - reach, centre + reach])


def _within(view: View, edges: FloatArray) -> list[float] | None:
    """Two opposite corners, edges in stored voxels, as a box of the picture."""
    low, high = [], []
    for side in (view.across, view.down):
        ends = sorted(side.shown_edge(float(edge)) for edge in edges[:, side.axis])
        low.append(max(ends[0], 0.0))
        high.append(min(ends[1], float(side.n_shown)))
    if low[0] >= high[0] or low[1] >= high[1]:
        return None
    return [round(value, 6) for value in (*low, *high)]


def box3d(row: Row) -> Json:
    """An object in the patient, RAS+ mm; without a diameter it is a point."""
    return {
        "center_world_mm": [float(v) for v in row["centre_ras_mm"]],
        "size_mm": [float(row["diameter_mm"] or 0.0)] * 3,
        "world": "RAS+",
    }
