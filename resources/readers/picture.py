"""A picture whose header is known and whose pixels can be had: what all bitmap formats come down to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from resources.findings import Finding

INDEX = "index"
"""The key that asks for the indices of a palette picture."""

Decode = Callable[[BinaryIO], npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Bitmap:
    """A picture, or several of one size, in a content.

    Attributes:
        format: Name of the format.
        axes: A letter for each axis of the pixels.
        extents: Their shape.
        dtype: Their type.
        end: Bytes of the content that belong to it.
        decode: Gives the pixels out of the content.
        findings: What is odd about it.
    """

    format: str
    axes: str
    extents: tuple[int, ...]
    dtype: np.dtype[Any]
    end: int
    decode: Decode
    findings: tuple[Finding, ...] = ()

    def saying(self, *more: Finding) -> Bitmap:
        """The same with more findings."""
        return replace(self, findings=(*self.findings, *more))


def coloured(name: str, shape: tuple[int, int], channels: int, dtype: np.dtype[Any], end: int, decode: Decode) -> Bitmap:
    """A picture of `shape` rows and columns with its colours in the last axis, or none where it is grey."""
    extents = shape if channels == 1 else (*shape, channels)
    return Bitmap(name, "yxc"[: len(extents)], extents, dtype, end, decode)


def with_palette(
    name: str, shape: tuple[int, int], table: npt.NDArray[np.uint8], end: int, indices: Decode, *, index: bool
) -> Bitmap:
    """A picture of indices into a table of colours.

    Args:
        name: Name of the format.
        shape: Rows and columns.
        table: (256, 3) red, green, blue.
        end: Bytes that belong to it.
        indices: Gives the indices out of the content.
        index: Whether the indices are the pixels; else their colours are, or the grey values when all colours are grey.
    """
    if index:
        return coloured(name, shape, 1, np.dtype(np.uint8), end, indices)
    grey = bool((table == table[:, :1]).all())
    colours = table[:, 0] if grey else table
    return coloured(name, shape, 1 if grey else 3, np.dtype(np.uint8), end, lambda content: colours[indices(content)])
