"""Palette colour: pictures whose numbers are entries of a table of red, green and blue (PS3.3 C.7.6.3.1.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from resources.findings import Code
from resources.readers.dicom.elements import Elements
from resources.readers.dicom.layout import PALETTE, PixelLayout


@dataclass(frozen=True, slots=True)
class Palette:
    """A table of colours.

    Attributes:
        first: The stored number of the first entry; numbers below it take that entry, numbers beyond the last one the last.
        colours: Red, green and blue of every entry, 0 to 255.
    """

    first: int
    colours: tuple[bytes, bytes, bytes]

    def apply(self, stored: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
        """The colours of `stored`, in a new last axis."""
        place = np.clip(stored.astype(np.int64) - self.first, 0, len(self.colours[0]) - 1)
        return np.stack([np.frombuffer(colour, np.uint8)[place] for colour in self.colours], axis=-1)


def read_palette(elements: Elements, layout: PixelLayout) -> Palette | None:
    """The palette of a picture that has one.

    Raises:
        BadInputError: BAD_HEADER when it is missing or short, UNSUPPORTED_DATA when it is stored in segments.
    """
    if layout.photometric != PALETTE:
        return None
    if elements.has("SegmentedRedPaletteColorLookupTableData"):
        raise elements.bad("the palette is stored in segments, which is not supported", Code.UNSUPPORTED_DATA)
    tables = [_table(elements, name, layout) for name in ("Red", "Green", "Blue")]
    if len({(first, len(colour)) for first, colour in tables}) != 1:
        raise elements.bad("the tables of red, green and blue are not of one length")
    return Palette(tables[0][0], (tables[0][1], tables[1][1], tables[2][1]))


def _table(elements: Elements, name: str, layout: PixelLayout) -> tuple[int, bytes]:
    descriptor = elements.numbers(f"{name}PaletteColorLookupTableDescriptor", 3)
    if descriptor is None:
        raise elements.bad(f"PALETTE COLOR, and no {name}PaletteColorLookupTableDescriptor")
    count, first, bits = (int(number) for number in descriptor)
    count = count or 1 << 16
    if layout.signed and first >= 1 << 15:
        first -= 1 << 16
    keyword = f"{name}PaletteColorLookupTableData"
    words = elements.words(keyword)
    if bits == 8 and len(words) < count:  # two entries share a word
        return first, elements.raw(keyword)[:count].ljust(count, b"\0")
    if bits not in {8, 16} or len(words) < count:
        raise elements.bad(f"{keyword} holds {len(words)} entries of {bits} bits where {count} are stated")
    wide = bits == 16 and max(words[:count], default=0) > 255
    return first, bytes((word >> 8 if wide else word & 255) for word in words[:count])
