"""A label map in RAS+ order, and its components in every plane it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from assets.measure import Plane
from assets.spec import DatasetSpec
from resources.readers.image import Space

if TYPE_CHECKING:
    from assets.measure.components import Components

PICTURE = "picture"
"""The one plane of what is no volume: its slices run along k."""


@dataclass(frozen=True)
class LabelMap:
    """The labelled part of one label map, where it stands, and how large a voxel is.

    Attributes:
        dataset: Slug.
        subject: Subject.
        scan: Scan.
        series: Series under which the label map is stored and on whose grid it lies.
        name: Name of the label map.
        file: The raw file it came from, relative to the raw folder.
        crop: `[i, j, k]` RAS+, unsigned; the tight box around all labels (zero-sized when there are none).
        offset_ijk: Index of the crop's first voxel in the whole volume.
        shape_ijk: Shape of the whole volume.
        spacing_mm: Spacing along i, j, k; None where the source does not state a length.
        synthetic: Whether the data are made up.
        space: In `picture` space there is one plane, `picture`: slices are the frames or pages along k.
    """

    dataset: str
    subject: str
    scan: str
    series: str
    name: str
    file: str
    crop: npt.NDArray[Any]
    offset_ijk: tuple[int, int, int]
    shape_ijk: tuple[int, int, int]
    spacing_mm: tuple[float | None, float | None, float | None]
    synthetic: bool
    space: Space = "patient"

    @cached_property
    def components(self) -> Mapping[Plane, Components]:
        """2-D components of every plane whose slices are pictures: both in-plane sides longer than one voxel."""
        from assets.measure.components import label_components  # noqa: PLC0415 - loads numba, which takes a second

        planes = [p for p in Plane if min(in_plane(p, self.shape_ijk)) > 1] if self.space == "patient" else [Plane.AXIAL]
        return {plane: label_components(self.crop, plane, self.offset_ijk) for plane in planes}

    def identity(self, spec: DatasetSpec, plane: Plane, found: Components) -> dict[str, Any]:
        """The columns that say where each row belongs."""
        names = {number: label.name for number, label in spec.labels.items()}
        return {
            "dataset": self.dataset,
            "subject": self.subject,
            "scan": self.scan,
            "series": self.series,
            "plane": plane.value if self.space == "patient" else PICTURE,
            "slice": found.slice_index,
            "label_id": found.label_id,
            "label": [names[int(number)] for number in found.label_id],
        }

    def touches_border(self, plane: Plane, found: Components) -> npt.NDArray[np.bool_]:
        """Whether a component reaches the edge of its slice."""
        rows, columns = in_plane(plane, self.shape_ijk)
        at_start = (found.row_min == 0) | (found.col_min == 0)
        at_end = (found.row_max == rows - 1) | (found.col_max == columns - 1)
        return np.asarray(at_start | at_end)

    def pixel_mm(self, plane: Plane) -> tuple[float, float] | None:
        """Sides of a pixel in mm, in array order; None where the source does not state both lengths."""
        first, second = in_plane(plane, self.spacing_mm)
        return None if first is None or second is None else (first, second)


def in_plane(plane: Plane, triple: tuple[Any, Any, Any]) -> tuple[Any, Any]:
    """The two entries of an (i, j, k) triple that stay within a slice of `plane`, in array order."""
    first, second = plane.in_plane
    return triple[first], triple[second]
