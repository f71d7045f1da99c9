"""What the values of an image look like: few whole numbers, numbered objects, or a mask that was packed as a photograph."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Colour = tuple[int, int, int]
"""Red, green, blue."""

MOST_VALUES = 64

COLOURS = (3, 4)
"""Numbers of channels that are colours, perhaps with an opacity."""

_MOST_COLOURS, _SHIFT = 32, 16
"""Colours of a label map that is drawn in colours; and the bits that one channel of a colour has."""

_SCATTERED = 0.5
"""Of what is labelled: the share of the borders between unlike neighbours that a random scattering would have, below which it
lies in blobs."""

_MIDDLE = 128
"""What parts black from white."""

_MOST_SLABS = 8
"""Slabs in which numbered objects are looked for."""

_PATCHED, _LARGEST = 0.5, 0.3
"""Of numbered objects: the least share of neighbours, one of them not 0, that are equal, which is far less in photographs; and
the greatest share of one object, which is less than that of white in a mask that was packed as a photograph."""

_NEAR_ENDS, _ENDS, _FEWEST_GREYS = 0.97, (64, 192), 8
"""Of a blurred mask: the least share of pixels that are below the first or from the second on, and how many values it has."""

ROUNDING = 8
"""Films are stored as brightness and two differences of colours, which are rounded: grey comes back as three colours that differ
by less than so many of 255."""


@dataclass
class Values:
    """The values of an image, slab by slab.

    Attributes:
        in_picture: Whether it lies in no patient.
        n_channels: Its channels.
        found: Its values, while they are few.
        few: Whether they are.
        low: The least.
        high: The greatest.
        one_grey: Whether all channels are equal but for rounding.
        patches: Of the first slabs that hold anything, whether their numbers lie in patches.
        near: How many values are near black or white.
        count: How many there are.
        corners: What stands at the corners of its first two axes, while that is one value.
        borders: How often something lies beside nothing, along the first axis, and how often that would be in a random order.
        lit_borders: The same of light beside dark.
    """

    in_picture: bool
    n_channels: int
    found: set[float] = field(default_factory=set)
    few: bool = True
    low: float = math.inf
    high: float = -math.inf
    one_grey: bool = True
    patches: list[bool] = field(default_factory=list)
    near: int = 0
    count: int = 0
    corners: set[float] = field(default_factory=set)
    borders: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(2))
    lit_borders: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(2))
    _first: npt.NDArray[np.int64] | None = None
    _packed: npt.NDArray[np.int64] | None = None

    def add(self, voxels: npt.NDArray[Any], channel: int = 0) -> None:
        """One slab of one channel."""
        self.low, self.high = min(self.low, float(voxels.min())), max(self.high, float(voxels.max()))
        if self.few:
            self.found |= set(np.unique(voxels).tolist())
            self.few = len(self.found) <= MOST_VALUES
        if len(self.corners) < 2:
            self.corners |= set(np.ravel(voxels[[0, 0, -1, -1], [0, -1, 0, -1]]).tolist())
        if self.few:
            self.borders += _borders(voxels != 0)
        if not self.in_picture:
            return
        self._add_to_picture(voxels, channel)

    def _add_to_picture(self, voxels: npt.NDArray[Any], channel: int) -> None:
        self.lit_borders += _borders(voxels >= _MIDDLE)
        if self.few and self.n_channels in COLOURS and channel < COLOURS[0]:
            packed = voxels.astype(np.int64) << (_SHIFT * channel)
            self._packed = packed if self._packed is None else self._packed + packed
        if not self.few and self.n_channels not in COLOURS and len(self.patches) < _MOST_SLABS and voxels.any():
            self.patches.append(_in_patches(voxels))
        self.near += int(np.count_nonzero((voxels < _ENDS[0]) | (voxels >= _ENDS[1])))
        self.count += voxels.size
        if self.n_channels > 1 and self.one_grey:
            self._first = voxels.astype(np.int64) if self._first is None else self._first
            self.one_grey = bool(np.abs(voxels - self._first).max() < ROUNDING)

    @property
    def whole(self) -> tuple[int, ...] | None:
        """The values, where they are few whole numbers from 0."""
        if not self.few or not all(float(value).is_integer() and value >= 0 for value in self.found):
            return None
        return tuple(sorted(int(value) for value in self.found))

    @property
    def around(self) -> float | None:
        """What stands at all corners; None where that is not one value."""
        return next(iter(self.corners)) if len(self.corners) == 1 else None

    @property
    def are_blobs(self) -> bool:
        """Whether what is not 0, or what is light where there are many values, lies together as label maps do."""
        borders, scattered = self.borders if self.few else self.lit_borders
        return bool(0 < borders < _SCATTERED * scattered)

    @property
    def colours(self) -> tuple[Colour, ...]:
        """The colours, where they are few and not all grey."""
        if self.whole is None or self.one_grey or self._packed is None:
            return ()
        packed = np.unique(self._packed)
        if len(packed) > _MOST_COLOURS:
            return ()
        low = (1 << _SHIFT) - 1
        return tuple((n & low, (n >> _SHIFT) & low, n >> 2 * _SHIFT) for n in packed.tolist())

    @property
    def are_patches(self) -> bool:
        """Whether there are many numbers from 0, in patches of one each wherever it was looked."""
        return bool(self.patches) and self.low == 0 and all(self.patches)

    @property
    def are_near_ends(self) -> bool:
        """Whether bytes are near black and near white, and several of them, in one grey."""
        two_ends = self.low < _ENDS[0] and self.high >= _ENDS[1] and self.near >= _NEAR_ENDS * self.count > 0
        return two_ends and self.one_grey and (not self.few or len(self.found) > _FEWEST_GREYS)


def _borders(marked: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """How often what is marked lies beside what is not, along the first axis, and how often it would in a random order."""
    share = float(marked.mean())
    pairs = (marked.shape[0] - 1) * (marked.size // max(1, marked.shape[0]))
    return np.array([np.count_nonzero(marked[1:] != marked[:-1]), 2 * share * (1 - share) * pairs])


def _in_patches(voxels: npt.NDArray[Any]) -> bool:
    """Whether numbers other than 0 lie in patches of one number each, none of which is much of the whole."""
    one, following = voxels[:-1], voxels[1:]
    apart = (one != 0) | (following != 0)
    _, counts = np.unique(voxels[voxels != 0], return_counts=True)
    patched = np.count_nonzero(apart & (one == following)) >= _PATCHED * np.count_nonzero(apart)
    return bool(patched and counts.max() <= _LARGEST * counts.sum())
