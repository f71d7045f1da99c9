"""An array whose elements lie one after another in a file, read by ranges of its slowest axis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from resources.findings import Code
from resources.readers.bytestream import PIECE
from resources.readers.source import RawFile, unreadable


@dataclass(frozen=True, slots=True)
class FlatArray:
    """Elements with the last axis fastest; a memory map would do the same until the file is cut, and then end the process.

    Attributes:
        file: The file that complaints are about.
        content: The open file.
        start: Bytes before the first element.
        extents: Shape.
        stored: Type of an element, with its byte order.
    """

    file: RawFile
    content: BinaryIO
    start: int
    extents: tuple[int, ...]
    stored: np.dtype[Any]

    def __getitem__(self, index: tuple[int | slice, ...], /) -> npt.NDArray[Any]:
        """The elements of an index with at least one slice, without steps; raises `BadInputError`."""
        fixed = [part for part in takewhile(lambda part: isinstance(part, int), index) if isinstance(part, int)]
        first = len(fixed)
        ranged = cast("slice", index[first])
        begin, stop, _ = ranged.indices(self.extents[first])
        inner = self.extents[first + 1 :]
        row = math.prod(inner) * self.stored.itemsize
        skipped = 0
        for number, extent in zip((*fixed, begin), self.extents, strict=False):
            skipped = skipped * extent + number
        block = np.empty((stop - begin, *inner), self.stored)
        fill(block.reshape(-1).view(np.uint8).data, self.content, self.file, self.start + skipped * row)
        return block[(slice(None), *index[first + 1 :])]


def fill(target: memoryview, content: BinaryIO, file: RawFile, start: int | None = None) -> None:
    """Fill `target` with the bytes of a content, from `start` or from where it stands.

    Raises:
        BadInputError: TRUNCATED, when it ends before; UNREADABLE.
    """
    done = 0
    try:
        if start is not None:
            content.seek(start)
        while done < len(target):
            count = content.readinto(target[done : done + PIECE])  # type: ignore[attr-defined]  # all contents here have it
            if not count:
                raise file.bad(Code.TRUNCATED, f"truncated: {done} of {len(target)} promised bytes are there; download it again")
            done += count
    except OSError as error:
        raise unreadable(file.name, error) from error
