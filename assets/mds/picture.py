"""Draws the slice that a target is shown by, as RGB."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from assets.mds.choice import Choice, LabelledPart
from assets.mds.palette import colour_of, coloured
from assets.mds.view import View, view_of
from assets.mds.window import Window, window_of
from resources.ome_zarr import StoredVolume

Array = npt.NDArray[Any]

_COMPRESSION = 6
_THUMBNAIL_PX = 256


@dataclass(frozen=True)
class Picture:
    """A picture and what it shows.

    Attributes:
        view: Which slice, and where it lies.
        reason: Why this slice.
        pixels: (height, width, 3) red, green, blue.
        window: How values became levels; None for a label map.
        palette: Label id -> colour, of a label map that is drawn by itself; else empty.
        channels: Which of the stored colours are red, green and blue; empty for a grey image.
    """

    view: View
    reason: str
    pixels: npt.NDArray[np.uint8]
    window: Window | None = None
    palette: dict[int, tuple[int, int, int]] | None = None
    channels: tuple[int, ...] = ()

    def png(self) -> bytes:
        """PNG; the same pixels are always the same bytes, with the same version of Pillow."""
        return png_bytes(self.pixels)


def png_bytes(pixels: npt.NDArray[np.uint8]) -> bytes:
    """(height, width, 3) as PNG without anything that is not a pixel."""
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(buffer, "PNG", compress_level=_COMPRESSION, optimize=False)
    return buffer.getvalue()


def thumbnail(png: bytes) -> bytes:
    """A picture of no more than 256 pixels a side and 128 colours: event logs keep it."""
    with Image.open(io.BytesIO(png)) as picture:
        small = picture.convert("RGB")
    small.thumbnail((_THUMBNAIL_PX, _THUMBNAIL_PX), Image.Resampling.BILINEAR)
    buffer = io.BytesIO()
    small.quantize(128, Image.Quantize.FASTOCTREE).save(buffer, "PNG")
    return buffer.getvalue()


@dataclass(frozen=True)
class Grid:
    """The grid of a stored volume, as far as it matters to a picture.

    Attributes:
        shape_ijk: Its shape.
        spacing_mm: Along i, j, k; None where the source states no length.
        in_patient: Whether its axes are directions in a patient.
        third_axis: What k counts.
    """

    shape_ijk: tuple[int, int, int]
    spacing_mm: tuple[float | None, float | None, float | None]
    in_patient: bool
    third_axis: str

    @classmethod
    def of(cls, volume: StoredVolume) -> Grid:
        """The grid of a volume."""
        said = volume.attributes
        first, second, third = said["spacing_mm"]
        return cls(volume.shape_ijk, (first, second, third), said["space"] == "patient", said["third_axis"])

    def view(self, choice: Choice) -> View:
        """How a slice of it is seen."""
        return view_of(self.shape_ijk, self.spacing_mm, choice.axis, choice.index, in_patient=self.in_patient)


@dataclass(frozen=True)
class Style:
    """What decides about the levels of a dataset's pictures.

    Attributes:
        modality: Of the dataset.
        anatomy: What is looked at, in words.
        window: What the spec declares.
    """

    modality: str
    anatomy: Sequence[str]
    window: tuple[float, float] | None

    def window_of(self, values: Array, least: float | None, *, in_patient: bool) -> Window:
        """The window of these values."""
        return window_of(self.modality, self.anatomy, self.window, values, least, in_patient=in_patient)


def draw_image(volume: StoredVolume, choice: Choice, style: Style, least: float | None) -> Picture:
    """Draw a slice of an image, or all colours of a picture.

    Args:
        volume: The image.
        choice: The slice.
        style: How values become levels.
        least: Least value of the whole image.
    """
    grid = Grid.of(volume)
    view = grid.view(choice)
    channels: tuple[int, ...] = ()
    if grid.third_axis == "colour":
        channels = colours_shown(volume.shape_ijk[2])
        values = _chosen_colours(volume.voxels(), channels)
    else:
        values = volume.slice(choice.axis, choice.index)
    window = style.window_of(values, least, in_patient=grid.in_patient)
    if view.thinned or not view.resampled:
        shown = view.labels(values)
        levels = shown if window.as_stored else window.levels(shown)
    else:
        levels = window.levels(view.grey(values.astype(np.float64)))
    if levels.ndim == 2:
        levels = np.repeat(levels[:, :, None], 3, axis=2)
    return Picture(view, choice.reason, levels, window, None, channels)


def draw_labels(part: LabelledPart, grid: Grid, choice: Choice) -> Picture:
    """Draw a slice of a label map by itself, each label in its colour."""
    view = grid.view(choice)
    ids = labels_on(view, part)
    palette = {int(label_id): colour_of(int(label_id)) for label_id in np.unique(part.crop) if label_id}
    return Picture(view, choice.reason, coloured(ids), None, palette)


def labels_on(view: View, part: LabelledPart) -> Array:
    """(height, width) label ids on the pixels of a picture; each pixel has the id of the nearest stored pixel."""
    shape = (view.across.n_stored, view.down.n_stored)
    return view.labels(part.slice(view.axis, view.index, shape))


def colours_shown(n: int) -> tuple[int, ...]:
    """Which of `n` stored colours are red, green and blue.

    Of three or four the first three (the fourth is opacity); of two the first, as the second is opacity; of more, those in
    the middle of the last, second and first third, as spectra are stored with rising wavelength.
    """
    if n <= 2:
        return (0, 0, 0)
    return (0, 1, 2) if n <= 4 else (5 * n // 6, n // 2, n // 6)


def _chosen_colours(voxels: Array, channels: tuple[int, ...]) -> Array:
    return voxels[:, :, list(channels)]
