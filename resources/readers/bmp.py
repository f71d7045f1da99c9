"""Reads uncompressed Windows bitmaps, and the header of all; for the others Pillow is asked.

Pillow takes 8 bits for one where the palette has two entries, black and white, as masks have; so the plain ones are read here.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from resources.findings import Code
from resources.readers.content import content_size
from resources.readers.magic import BMP_HEADER_SIZES
from resources.readers.picture import INDEX, Bitmap, coloured, with_palette
from resources.readers.source import RawFile, ReadOptions

_PLAIN_BITS = frozenset({1, 4, 8, 24, 32})
_MOST_SIDE = 1 << 20


@dataclass(frozen=True, slots=True)
class BmpHeader:
    """What a header says.

    Attributes:
        width: Columns.
        height: Rows.
        upward: Whether the first row stored is the lowest.
        bits: Of a pixel.
        plain: Whether the pixels are uncompressed and of a plain kind.
        start: Bytes before the pixels.
        palette: Bytes of the palette, three or four an entry, blue first.
        entry: How many an entry.
    """

    width: int
    height: int
    upward: bool
    bits: int
    plain: bool
    start: int
    palette: bytes
    entry: int

    @property
    def row_bytes(self) -> int:
        """Bytes of a stored row, which is filled up to a multiple of four."""
        return (self.width * self.bits + 31) // 32 * 4


def parse(content: BinaryIO, file: RawFile) -> BmpHeader:
    """The header of a bitmap, compared with the length of the content.

    Raises:
        BadInputError: BAD_HEADER or TRUNCATED.
    """
    size = content_size(content)
    head = content.read(54)
    kind = int.from_bytes(head[14:18], "little")
    if kind not in BMP_HEADER_SIZES or len(head) < 26:
        raise file.bad(Code.BAD_HEADER, f"the BMP header gives its own size as {kind}; known are {sorted(BMP_HEADER_SIZES)}")
    start = int.from_bytes(head[10:14], "little")
    if kind == 12:
        width, height, _, bits = struct.unpack("<HHHH", head[18:26])
        compression = used = 0
    else:
        width, height, _, bits, compression, _, _, _, used = struct.unpack("<iiHHIIiiI", head[18:50].ljust(32, b"\0"))
    if not 0 < width <= _MOST_SIDE or not 0 < abs(height) <= _MOST_SIDE or bits not in {1, 4, 8, 16, 24, 32}:
        raise file.bad(Code.BAD_HEADER, f"the BMP header says {width} x {height} pixels of {bits} bits")
    entry = 3 if kind == 12 else 4
    content.seek(14 + kind)
    room = max(start - 14 - kind, 0)
    palette = content.read(min(room, entry * min(used or 1 << bits, 256))) if bits <= 8 else b""
    plain = compression == 0 and bits in _PLAIN_BITS
    header = BmpHeader(width, abs(height), height > 0, bits, plain, start, palette, entry)
    if plain and start + header.row_bytes * header.height > size:
        promised = start + header.row_bytes * header.height
        raise file.bad(
            Code.TRUNCATED, f"truncated: the header promises {promised} bytes, the file holds {size}; download it again"
        )
    return header


def plain(header: BmpHeader, options: ReadOptions) -> Bitmap:
    """The picture of an uncompressed bitmap."""
    shape = (header.height, header.width)
    end = header.start + header.row_bytes * header.height
    if header.bits > 8:
        return coloured("BMP", shape, 3, np.dtype(np.uint8), end, lambda content: _colours(header, content))
    table = np.zeros((256, 3), np.uint8)
    entries = np.frombuffer(header.palette, np.uint8)
    entries = entries[: len(entries) // header.entry * header.entry].reshape(-1, header.entry)
    table[: len(entries)] = entries[:, 2::-1]
    return with_palette("BMP", shape, table, end, lambda content: _indices(header, content), index=options.key == INDEX)


def _rows(header: BmpHeader, content: BinaryIO) -> npt.NDArray[np.uint8]:
    content.seek(header.start)
    stored = np.frombuffer(content.read(header.row_bytes * header.height), np.uint8).reshape(header.height, header.row_bytes)
    return stored[::-1] if header.upward else stored


def _colours(header: BmpHeader, content: BinaryIO) -> npt.NDArray[Any]:
    samples = header.bits // 8
    pixels = _rows(header, content)[:, : header.width * samples].reshape(header.height, header.width, samples)
    return pixels[:, :, 2::-1]


def _indices(header: BmpHeader, content: BinaryIO) -> npt.NDArray[Any]:
    rows = _rows(header, content)
    if header.bits == 1:
        rows = np.unpackbits(rows, axis=1)
    elif header.bits == 4:
        rows = np.stack([rows >> 4, rows & 15], axis=2).reshape(header.height, -1)
    return rows[:, : header.width]
