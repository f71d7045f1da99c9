"""What a data maker hands back: the files it wrote and the closed forms they were drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from resources.phantoms import Ellipsoid, Grid, draw_labels


@dataclass(frozen=True, slots=True)
class MadeSubject:
    """One subject of a miniature dataset.

    Attributes:
        subject: Its name.
        grid: RAS+ grid of its image and label map.
        shapes: What was drawn, in order; a later one covers an earlier one.
        image: The file written.
        labels: The file written.
        orientation: Direction in which each stored index grows.
    """

    subject: str
    grid: Grid
    shapes: tuple[Ellipsoid, ...]
    image: Path
    labels: Path
    orientation: str

    def of_label(self, label: int) -> tuple[Ellipsoid, ...]:
        """The ellipsoids drawn with a label."""
        return tuple(shape for shape in self.shapes if shape.label == label)

    def label_map(self) -> npt.NDArray[np.uint8]:
        """(i, j, k) label map in RAS+ order."""
        return draw_labels(self.shapes, self.grid)


def by_name(subjects: list[MadeSubject]) -> dict[str, MadeSubject]:
    """Subjects by their names, in order."""
    return {made.subject: made for made in subjects}
