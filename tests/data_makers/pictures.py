"""What the makers of pictures share: ellipses on a canvas, in grey and in colour, and the formats pictures come in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tifffile
from PIL import Image

from resources.phantoms import Ellipsoid, Grid, draw_labels, draw_values
from tests.data_makers.made import MadeScan

Pixels = npt.NDArray[Any]

SIZE = (24, 18)
"""Columns and rows."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """One picture, on a grid of pixels: no millimetres, and no patient.

    Attributes:
        grid: Of (columns, rows, 1) pixels.
        shapes: What was drawn: an ellipse per label, apart from one another.
        grey: [row, column] 8 bit.
    """

    grid: Grid
    shapes: tuple[Ellipsoid, ...]
    grey: Pixels

    @property
    def colour(self) -> Pixels:
        """[row, column, 3] 8 bit; the three colours differ everywhere."""
        return np.stack([self.grey, self.grey // 2, 255 - self.grey], axis=-1)

    @property
    def ids(self) -> Pixels:
        """[row, column] 8 bit label ids."""
        return np.ascontiguousarray(draw_labels(self.shapes, self.grid)[:, :, 0].T).astype(np.uint8)

    def mask(self, *labels: int) -> Pixels:
        """[row, column] 8 bit, 255 where one of the labels is, or any of them where none is named."""
        return np.where(np.isin(self.ids, labels) if labels else self.ids > 0, 255, 0).astype(np.uint8)

    def scan(
        self,
        series: Mapping[str, tuple[Path, Pixels]],
        labels: Mapping[str, tuple[Path, ...]] | None = None,
        *,
        scan: str = "0",
        class_name: str = "",
    ) -> MadeScan:
        """The picture as a scan.

        Args:
            series: Series name -> its file and what it holds, with axes as in a file: rows, columns and perhaps colours.
            labels: Label map name -> its files.
            scan: Its name.
            class_name: Its class.
        """
        files = {name: path for name, (path, _) in series.items()}
        pixels = {name: as_stored(held) for name, (_, held) in series.items()}
        return MadeScan(self.grid, self.shapes, files, labels or {}, "", scan, pixels=pixels, class_name=class_name)


def drawn(number: int, labels: Sequence[int] = (1,), *, size: tuple[int, int] = SIZE) -> Drawn:
    """A picture with an ellipse per label, side by side; no two numbers give the same."""
    columns, rows = size
    width = columns / len(labels)
    shapes = tuple(
        Ellipsoid(
            ((place + 0.5) * width - 0.37, rows / 2 - 0.71 + number % 3, 0.0),
            (0.4 * width, (0.22 + 0.02 * (number % 4)) * rows, 0.5),
            120 + 15 * place,
            label,
        )
        for place, label in enumerate(labels)
    )
    grid = Grid((columns, rows, 1), np.eye(4))
    noise = np.random.default_rng(number).integers(0, 9, grid.shape)
    values = draw_values(shapes, grid, 20 + number % 11) + noise
    return Drawn(grid, shapes, np.ascontiguousarray(values[:, :, 0].T).astype(np.uint8))


def as_stored(held: Pixels) -> Pixels:
    """[row, column] or [row, column, colour] as products have them: [column, row, 1 or colour]."""
    return held.T[:, :, None] if held.ndim == 2 else held.transpose(1, 0, 2)


def write_picture(path: Path, pixels: Pixels) -> Path:
    """Write [row, column] or [row, column, colour] in the format that the name asks for: BMP, PNG, JPEG, GIF, PNM or TIFF."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix.lower() in {".tif", ".tiff"}:
        tifffile.imwrite(path, pixels, photometric="rgb" if pixels.ndim == 3 else "minisblack", metadata=None)
    else:
        Image.fromarray(pixels).save(path)
    return path
