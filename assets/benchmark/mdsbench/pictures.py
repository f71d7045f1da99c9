"""Strict score: are the rendered pixels those of the reference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from assets.benchmark.mdsbench.files import PICTURE_ERRORS, open_picture

Pixels = npt.NDArray[np.uint8]

LEVEL_TOLERANCE = 2
"""Grey levels of 255 within which two pixels agree: room for rounding, none for lossy compression."""

MAX_COMPARED_PIXELS = 2**25
"""Pictures with more pixels are not decoded."""


def picture_size(path: Path) -> tuple[int, int] | None:
    """Width and height in pixels, from the header; None when it does not open."""
    try:
        with open_picture(path) as picture:
            return picture.size
    except PICTURE_ERRORS:
        return None


def picture_agreement(reference: Path, met: Path) -> tuple[float | None, str]:
    """Share of pixels that agree, and a sentence.

    Of the pixels where either picture differs from the reference's most frequent colour, those count as agreeing whose
    channels differ by at most `LEVEL_TOLERANCE`; the background thus earns nothing. Pictures of different size agree in nothing.

    Returns:
        None when the reference cannot be read or is too large to compare.
    """
    size, met_size = picture_size(reference), picture_size(met)
    if size is None or size[0] * size[1] > MAX_COMPARED_PIXELS:
        return None, f"the reference picture is not compared: size {size}"
    if met_size != size:
        return 0.0, f"the picture has size {met_size}, the reference {size} (width, height)"
    expected, found = _read(reference), _read(met)
    if expected is None:
        return None, "the reference picture does not decode"
    if found is None:
        return 0.0, "the picture does not decode"
    return _agreement(expected, found)


def _read(path: Path) -> Pixels | None:
    try:
        with open_picture(path) as picture:
            return _levels(picture)
    except PICTURE_ERRORS:
        return None


def _levels(picture: Image.Image) -> Pixels:
    """(height, width, 3) levels in 0..255; 16-bit grey is brought to 8 bits."""
    if picture.mode.startswith("I"):
        grey = np.clip(np.rint(np.asarray(picture, dtype=np.float64) / 257), 0, 255).astype(np.uint8)
        return np.repeat(grey[:, :, None], 3, axis=2)
    return np.asarray(picture.convert("RGB"), dtype=np.uint8)


def _agreement(expected: Pixels, found: Pixels) -> tuple[float, str]:
    background = _most_frequent(expected)
    drawn = (expected != background).any(axis=2) | (found != background).any(axis=2)
    apart = np.abs(expected.astype(np.int16) - found.astype(np.int16)).max(axis=2)
    considered, agreeing = int(drawn.sum()), int((drawn & (apart <= LEVEL_TOLERANCE)).sum())
    score = agreeing / considered if considered else 1.0
    return (
        score,
        f"{agreeing} of {considered} pixels that are not background agree; the greatest difference is {int(apart.max())}",
    )


def _most_frequent(pixels: Pixels) -> Pixels:
    packed = pixels.astype(np.uint32) @ np.array([65536, 256, 1], dtype=np.uint32)
    value = int(np.bincount(packed.ravel()).argmax())
    return np.array([value >> 16, (value >> 8) & 255, value & 255], dtype=np.uint8)
