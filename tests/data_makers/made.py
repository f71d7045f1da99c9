"""What a data maker hands back: the files it wrote and the closed forms they were drawn from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from resources.phantoms import Ellipsoid, Grid, Vector, draw_labels


@dataclass(frozen=True, slots=True)
class MadeScan:
    """One scan of a subject.

    Attributes:
        grid: RAS+ grid of its images and label map.
        shapes: What was drawn, in order; a later one covers an earlier one.
        series: Series name -> file; series of one 4-D file share it.
        labels: Label map name -> its files: the map of ids, or one mask per label.
        orientation: Direction in which each stored index grows.
        scan: Its name in the products.
        landmarks: Landmark -> its place in the space of the series: RAS+ mm, or pixels (column, row, 0) of a picture.
    """

    grid: Grid
    shapes: tuple[Ellipsoid, ...]
    series: Mapping[str, Path]
    labels: Mapping[str, tuple[Path, ...]]
    orientation: str
    scan: str = "0"
    landmarks: Mapping[str, Vector] = field(default_factory=dict)

    def of_label(self, label: int) -> tuple[Ellipsoid, ...]:
        """The ellipsoids drawn with a label."""
        return tuple(shape for shape in self.shapes if shape.label == label)

    def label_map(self) -> npt.NDArray[np.uint8]:
        """(i, j, k) label map in RAS+ order."""
        return draw_labels(self.shapes, self.grid)


@dataclass(frozen=True, slots=True)
class MadePicture:
    """One scan whose images lie in no patient, or whose place there does not matter, given by what it must become.

    Attributes:
        series: Series name -> file.
        pixels: Series name -> `[i, j, k]`: columns, rows, and colours, pages or slices.
        labels: Label map name -> its files.
        mask: `[i, j, k]` label ids; None where there is no label map.
        classes: Series name -> class.
        objects: (label, x_min, y_min, x_max, y_max) of every marked object.
        scan: Its name in the products.
        landmarks: None, as in a scan without any.
    """

    series: Mapping[str, Path]
    pixels: Mapping[str, npt.NDArray[np.generic]] = field(default_factory=dict)
    labels: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    mask: npt.NDArray[np.uint8] | None = None
    classes: Mapping[str, str] = field(default_factory=dict)
    objects: tuple[tuple[str, float, float, float, float], ...] = ()
    scan: str = "0"
    landmarks: Mapping[str, Vector] = field(default_factory=dict)

    def label_map(self) -> npt.NDArray[np.uint8] | None:
        """`[i, j, k]` label map."""
        return self.mask


@dataclass(frozen=True, slots=True)
class MadeSubject:
    """One subject of a miniature dataset."""

    subject: str
    scans: tuple[MadeScan | MadePicture, ...]

    @property
    def only_scan(self) -> MadeScan | MadePicture:
        """The scan of a subject that has just one."""
        (scan,) = self.scans
        return scan


def by_name(subjects: Iterable[MadeSubject]) -> dict[str, MadeSubject]:
    """Subjects by their names, in order."""
    return {made.subject: made for made in subjects}
