"""What each axis of an array is, and how the planes of an image are cut from it.

Axes are named by one letter each, in the order in which the array is indexed: `x` columns, `y` rows, `z` the third axis of
space, `t` time, `c` channel. Readers that know a file of many pictures call its axis `p`; no spec can say that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from resources.findings import Code
from resources.readers.image import FourthAxis, ThirdAxis
from resources.readers.source import RawFile

LETTERS = "xyztc"
PAGE = "p"

Order = Literal["C", "F"]

_STACKS: dict[str, ThirdAxis] = {"z": "space", "t": "time", PAGE: "page"}
_FOURTH: dict[str, FourthAxis] = {"t": "time", "c": "channel"}


class Sliceable(Protocol):
    """An array, in memory or not, that is read by basic slices with one index for each axis."""

    def __getitem__(self, index: tuple[int | slice, ...], /) -> npt.NDArray[Any]: ...


def are_axes(text: str) -> bool:
    """Whether a text can name the axes of an image: letters that are known, each once, x and y among them."""
    return set(text) <= set(LETTERS) and len(set(text)) == len(text) and {"x", "y"} <= set(text)


def check_letters(axes: str) -> str:
    """The same text, when it can name the axes of an image.

    Raises:
        ValueError: It holds another letter, one twice, or lacks x or y.
    """
    if not are_axes(axes):
        raise ValueError(f"axes are named by {', '.join(LETTERS)}, each at most once and x and y always; not {axes!r}")
    return axes


@dataclass(frozen=True, slots=True)
class Layout:
    """Which axes of an array become i, j, k and the channel of an image; all others have one element.

    Attributes:
        extents: Shape of the array.
        x: Position of the axis that becomes i.
        y: Position of the axis that becomes j.
        third: Position of the axis that becomes k, if there is one.
        channel: Position of the axis that becomes the fourth one, if there is one.
        third_axis: What k is.
        fourth_axis: What the fourth axis is.
    """

    extents: tuple[int, ...]
    x: int
    y: int
    third: int | None
    channel: int | None
    third_axis: ThirdAxis
    fourth_axis: FourthAxis

    @classmethod
    def of(cls, axes: str, extents: Sequence[int], file: RawFile) -> Layout:
        """The layout of an array.

        Args:
            axes: A letter for each axis.
            extents: Its shape.
            file: The file that complaints are about.

        Raises:
            BadInputError: UNEXPECTED_DIMENSIONS, when the letters are not as many as the axes, or the axes more than an
                image has.
        """
        if len(axes) != len(extents):
            raise file.bad(
                Code.UNEXPECTED_DIMENSIONS,
                f"axes are declared as {axes!r}, but the array has {len(extents)} of them: {tuple(extents)}",
            )
        if not {"x", "y"} <= set(axes):
            raise file.bad(Code.UNEXPECTED_DIMENSIONS, f"the axes of the array are {axes!r}; a picture has x and y")
        if min(extents) < 1:
            raise file.bad(Code.UNEXPECTED_DIMENSIONS, f"the array is empty: its shape is {tuple(extents)}")
        count = dict(zip(axes, extents, strict=True))
        stacks = [letter for letter in _STACKS if letter in count]
        third = next((letter for letter in stacks if letter == "z" or count[letter] > 1), stacks[0] if stacks else None)
        rest = [letter for letter in (*stacks, "c") if letter != third and count.get(letter, 1) > 1]
        if len(rest) > 1 or PAGE in rest:
            sizes = ", ".join(f"{letter} {count[letter]}" for letter in (third, *rest) if letter)
            raise file.bad(
                Code.UNEXPECTED_DIMENSIONS,
                f"besides x and y the array has more axes than an image can: {sizes}; two at most, one of them a channel or time",
            )
        return cls(
            extents=tuple(int(n) for n in extents),
            x=axes.index("x"),
            y=axes.index("y"),
            third=axes.index(third) if third else None,
            channel=axes.index(rest[0]) if rest else None,
            third_axis=_STACKS[third] if third else "space",
            fourth_axis=_FOURTH[rest[0]] if rest else "none",
        )

    @property
    def shape(self) -> tuple[int, int, int]:
        """Voxel counts along i, j, k."""
        return (self.extents[self.x], self.extents[self.y], 1 if self.third is None else self.extents[self.third])

    @property
    def n_channels(self) -> int:
        """Extent of the fourth axis."""
        return 1 if self.channel is None else self.extents[self.channel]

    def slab_axis(self, order: Order) -> int:
        """Which of i, j, k varies slowest in an array that is stored in this order."""
        places = [self.x, self.y] if self.third is None else [self.x, self.y, self.third]
        return places.index(min(places) if order == "C" else max(places))

    def cut(self, array: Sliceable, channel: int, slab_axis: int, bounds: tuple[int, int]) -> npt.NDArray[Any]:
        """Some planes of one channel, `[i, j, k]`."""
        places = [self.x, self.y] if self.third is None else [self.x, self.y, self.third]
        index: list[int | slice] = [0] * len(self.extents)
        for place in places:
            index[place] = slice(None)
        index[places[slab_axis]] = slice(*bounds)
        if self.channel is not None:
            index[self.channel] = channel
        part = np.asarray(array[tuple(index)])
        kept = sorted(places)
        part = part.transpose([kept.index(place) for place in places])
        return part[:, :, None] if self.third is None else part
