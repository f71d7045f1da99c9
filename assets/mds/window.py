"""From stored values to the 256 grey levels of a picture."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float64]

PERCENTILES = (0.5, 99.5)
"""What a slice's values are stretched between where no unit gives them a meaning."""

_AT_ONCE = 1 << 20
"""Values that are made levels at a time: each takes some 40 bytes meanwhile."""

_MOST_COUNTED = 1 << 24
"""Pixels of which percentiles are taken; of larger slices every second along both sides, or every third, and so on."""

_CT_WINDOWS: tuple[tuple[str, str, tuple[float, float]], ...] = (
    ("lung", r"lungs?|pulmon\w*|airways?|bronch\w*|trachea|chest", (-1350, 150)),
    ("bone", r"bones?|spine|spinal|vertebra\w*|skull|jaw|mandible|teeth|tooth|ribs?|fractures?", (-500, 1300)),
    ("vessels", r"vessels?|arter\w*|aort\w*|aneurysms?|coronar\w*", (-100, 500)),
    ("brain", r"brain|stroke|intracranial|cerebr\w*|h(?:a)?emorrhage", (0, 80)),
)
"""Name, words of the anatomy, least and greatest Hounsfield value; the first whose words occur is taken.

In widths and levels: lung 1500 at -600, bone 1800 at 400, vessels with contrast 600 at 200, brain 80 at 40.
"""

_SOFT_TISSUE = ("soft tissue", (-160.0, 240.0))
"""Width 400 at 40."""


@dataclass(frozen=True, slots=True)
class Window:
    """What is black and what is white.

    Attributes:
        kind: `as stored` where the values are the levels of the picture, else which rule gave the ends.
        low: Value at and below which a pixel is black.
        high: Value at and above which it is white.
    """

    kind: str
    low: float
    high: float

    @property
    def as_stored(self) -> bool:
        """Whether values are levels already."""
        return self.kind == AS_STORED.kind

    def levels(self, values: Array) -> npt.NDArray[np.uint8]:
        """Values -> 0 to 255, rounded; NaN is black, infinities are at the ends."""
        levels = np.empty(values.shape, np.uint8)
        rows = max(_AT_ONCE * len(values) // max(values.size, 1), 1)
        for start in range(0, len(values), rows):
            levels[start : start + rows] = self._levels(values[start : start + rows].astype(np.float64))
        return levels

    def _levels(self, values: FloatArray) -> npt.NDArray[np.uint8]:
        width = self.high - self.low
        finite = np.nan_to_num(values, nan=self.low, posinf=self.high, neginf=self.low)
        scaled = np.zeros_like(finite) if width <= 0 else (finite - self.low) / width * 255
        return np.asarray(np.rint(np.clip(scaled, 0, 255)), np.uint8)


AS_STORED = Window("as stored", 0.0, 255.0)


def window_of(
    modality: str,
    anatomy: Sequence[str],
    declared: tuple[float, float] | None,
    values: Array,
    least: float | None,
    *,
    in_patient: bool,
) -> Window:
    """The window of a slice.

    Args:
        modality: Of the dataset, as its spec has it.
        anatomy: What is looked at, in words.
        declared: What the spec says of the window.
        values: The stored slice.
        least: Least value of the whole image.
        in_patient: Whether it is an image in a patient; pictures of 8 bits elsewhere are shown as they are.
    """
    if declared is not None:
        return Window("declared", *declared)
    if not in_patient and values.dtype == np.uint8:
        return AS_STORED
    if in_patient and _is_hounsfield(modality, least):
        name, ends = ct_window(anatomy)
        return Window(f"CT {name}", float(ends[0]), float(ends[1]))
    return _stretched(values)


def ct_window(anatomy: Sequence[str]) -> tuple[str, tuple[float, float]]:
    """Name and Hounsfield values of the window that suits an anatomy; that of soft tissue where none other does."""
    text = " ".join(anatomy).lower()
    found = ((name, ends) for name, words, ends in _CT_WINDOWS if re.search(rf"\b(?:{words})\b", text))
    return next(found, _SOFT_TISSUE)


def _is_hounsfield(modality: str, least: float | None) -> bool:
    """Whether values are Hounsfield units: the modality is CT, and there are negative ones, as PET and counts have none."""
    return "CT" in re.findall(r"[A-Z]+", modality.upper()) and least is not None and least < 0


def _stretched(values: Array) -> Window:
    every = math.isqrt((math.prod(values.shape[:2]) - 1) // _MOST_COUNTED) + 1
    counted = values[::every, ::every]
    finite = np.asarray(counted[np.isfinite(counted)] if counted.dtype.kind == "f" else counted, np.float64).ravel()
    said = f" of one pixel in {every**2}" if every > 1 else ""
    if not finite.size:
        return Window(f"percentiles{said}", 0.0, 0.0)
    low, high = (float(v) for v in np.percentile(finite, PERCENTILES))
    if low < high:
        return Window(f"percentiles{said}", low, high)
    return Window(f"least to greatest{said}", float(finite.min()), float(finite.max()))
