"""Reads the portable bitmaps PBM, PGM and PPM, as bytes or as text, with up to 16 bits a number.

The numbers are taken as they stand, whatever the largest one is: MIAS has 255, others 4095; libraries stretch those.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from resources.findings import Code
from resources.readers.arrays import check_promise
from resources.readers.content import content_size
from resources.readers.picture import Bitmap, coloured
from resources.readers.source import RawFile, ReadOptions

_TOKEN = re.compile(rb"(?:\s|#[^\n\r]*[\n\r])*([0-9]+)")
_HEADER_BYTES = 1 << 16
_COMMENT = re.compile(rb"#[^\n\r]*")


@dataclass(frozen=True, slots=True)
class _Header:
    name: str
    text: bool
    width: int
    height: int
    channels: int
    most: int
    start: int

    @property
    def row_bytes(self) -> int:
        """Bytes of a row that is stored as bytes."""
        if self.most == 1 and self.name == "PBM":
            return (self.width + 7) // 8
        return self.width * self.channels * (2 if self.most > 255 else 1)


def read_header(content: BinaryIO, file: RawFile, options: ReadOptions) -> Bitmap:
    """The picture at the beginning of a content.

    Raises:
        BadInputError: BAD_HEADER, TRUNCATED or TOO_LARGE.
    """
    header = _parse(content.read(_HEADER_BYTES), file)
    size = content_size(content)
    dtype = np.dtype(np.uint16 if header.most > 255 else np.uint8)
    numbers = header.width * header.height * header.channels
    check_promise(file, numbers * dtype.itemsize, options, expansion=8)
    end = size if header.text else header.start + header.row_bytes * header.height
    least = header.start + (numbers if header.text else header.row_bytes * header.height)
    if least > size:
        raise file.bad(
            Code.TRUNCATED, f"truncated: the {header.name} header promises at least {least} bytes, the file holds {size}"
        )

    def decode(source: BinaryIO) -> npt.NDArray[Any]:
        source.seek(header.start)
        return _from_text(source.read(), header, file) if header.text else _from_bytes(source.read(end - header.start), header)

    return coloured(header.name, (header.height, header.width), header.channels, dtype, end, decode)


def _parse(head: bytes, file: RawFile) -> _Header:
    kind = int(head[1:2])
    name, channels = (("PBM", 1), ("PGM", 1), ("PPM", 3))[(kind - 1) % 3]
    numbers, at = [], 2
    for _ in range(2 if name == "PBM" else 3):
        found = _TOKEN.match(head, at)
        if found is None or len(found[1]) > 9:
            raise file.bad(Code.BAD_HEADER, f"the {name} header begins with {head[:32]!r} and lacks a size or largest number")
        numbers.append(int(found[1]))
        at = found.end()
    width, height, most = [*numbers, 1][:3]
    if not (width and height and 0 < most < 1 << 16):
        raise file.bad(Code.BAD_HEADER, f"the {name} header says {width} x {height} pixels up to {most}")
    return _Header(name, kind <= 3, width, height, channels, most, at + 1)


def _from_bytes(data: bytes, header: _Header) -> npt.NDArray[Any]:
    if header.name == "PBM":
        rows = np.unpackbits(np.frombuffer(data, np.uint8).reshape(header.height, -1), axis=1)
        return rows[:, : header.width]
    shape = (header.height, header.width, header.channels)[: 2 if header.channels == 1 else 3]
    return np.frombuffer(data, ">u2" if header.most > 255 else np.uint8).reshape(shape)


def _from_text(data: bytes, header: _Header, file: RawFile) -> npt.NDArray[Any]:
    words = _COMMENT.sub(b" ", data).split()
    if header.name == "PBM":
        words = [bytes([digit]) for digit in b"".join(words)]
    wanted = header.width * header.height * header.channels
    if len(words) < wanted:
        raise file.bad(Code.TRUNCATED, f"truncated: the {header.name} header promises {wanted} numbers, {len(words)} are there")
    try:
        values = np.array(words[:wanted], dtype="S8").astype(np.int64)
    except ValueError as error:
        raise file.bad(Code.BAD_HEADER, f"the {header.name} file holds something else than numbers: {error}") from error
    if values.min() < 0 or values.max() > header.most:
        raise file.bad(Code.BAD_HEADER, f"the {header.name} file holds {values.max()}, its largest number is {header.most}")
    shape = (header.height, header.width, header.channels)[: 2 if header.channels == 1 else 3]
    return values.astype(np.uint16 if header.most > 255 else np.uint8).reshape(shape)
