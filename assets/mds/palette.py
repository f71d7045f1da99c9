"""Colours of label maps that are drawn by themselves."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np
import numpy.typing as npt

_FIRST = (
    (230, 75, 53), (77, 187, 213), (0, 160, 135), (60, 84, 136), (243, 155, 127), (132, 145, 180), (145, 209, 194), (220, 160, 0),
)  # fmt: skip
_GOLDEN = 0.618033988749895
"""Hues this far apart on the circle stay apart, however many there are."""


def colour_of(label_id: int) -> tuple[int, int, int]:
    """Red, green, blue of a label id; the background, 0, is black."""
    if label_id == 0:
        return (0, 0, 0)
    if label_id <= len(_FIRST):
        return _FIRST[label_id - 1]
    value = (1.0, 0.8, 0.6)[label_id % 3]
    red, green, blue = colorsys.hsv_to_rgb(label_id * _GOLDEN % 1.0, 0.75, value)
    return round(red * 255), round(green * 255), round(blue * 255)


def coloured(ids: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Ids -> colours in a last axis of three."""
    present, places = np.unique(ids, return_inverse=True)
    table = np.array([colour_of(int(label_id)) for label_id in present], np.uint8).reshape(-1, 3)
    return np.asarray(table[places.reshape(ids.shape)])
