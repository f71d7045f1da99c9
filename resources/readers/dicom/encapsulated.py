"""Where the frames of a compressed file lie: its fragments (PS3.5 A.4), without reading them."""

from __future__ import annotations

import struct
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from resources.findings import BadInputError, Code
from resources.readers.dicom.bounded import Seekable

MAX_FRAGMENTS = 1_000_000
_ITEM = 0xFFFEE000
_DELIMITER = 0xFFFEE0DD
_STARTS = (b"\xff\xd8", b"\xff\x4f\xff\x51", b"\x00\x00\x00\x0cjP")
"""How a JPEG, JPEG-LS or JPEG 2000 stream begins."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """One piece of compressed data.

    Attributes:
        offset: Where its bytes begin in the file.
        length: How many they are.
        item: Where its item begins, counted from the end of the offset table, as offset tables do.
    """

    offset: int
    length: int
    item: int


Frame = tuple[Fragment, ...]


def find_frames(stream: Seekable, start: int, size: int, n_frames: int, extended: bytes, name: str) -> list[Frame]:
    """The fragments of every frame.

    Args:
        stream: The file.
        start: Where the value of the pixel data element begins.
        size: Bytes of the file.
        n_frames: Frames the header promises.
        extended: The extended offset table of the header, empty where there is none.
        name: How findings call the file.

    Raises:
        BadInputError: TRUNCATED or BAD_HEADER.
    """
    table, fragments = _fragments(stream, start, size, name)
    if not fragments:
        raise BadInputError(Code.TRUNCATED, "truncated: the file holds no compressed pixels at all; download it again", file=name)
    if n_frames == 1:
        return [tuple(fragments)]
    if len(fragments) == n_frames:
        return [(fragment,) for fragment in fragments]
    offsets = np.frombuffer(extended, "<u8").tolist() if extended else list(table)
    if len(offsets) != n_frames:
        offsets = _starts(stream, fragments)
    if len(offsets) != n_frames or offsets != sorted(set(offsets)) or offsets[0] != 0:
        raise BadInputError(
            Code.BAD_HEADER,
            f"the header promises {n_frames} frames, and {len(fragments)} fragments with {len(table)} offsets do not tell which "
            "belong to which",
            file=name,
        )
    groups: list[list[Fragment]] = [[] for _ in offsets]
    for fragment in fragments:
        groups[bisect_right(offsets, fragment.item) - 1].append(fragment)
    return [tuple(group) for group in groups]


def _fragments(stream: Seekable, start: int, size: int, name: str) -> tuple[tuple[int, ...], list[Fragment]]:
    """The basic offset table and the fragments behind it."""
    table: tuple[int, ...] = ()
    found: list[Fragment] = []
    place, first = start, -1
    while True:
        stream.seek(place)
        head = stream.read(8)
        if len(head) < 8:
            raise _cut(name, place, size)
        group, element, length = struct.unpack("<HHI", head)
        tag = group << 16 | element
        if tag == _DELIMITER:
            return table, found
        if tag != _ITEM or length == 0xFFFFFFFF:
            raise BadInputError(Code.BAD_HEADER, f"byte {place} is to begin a fragment of pixels, and holds {head!r}", file=name)
        if place + 8 + length > size:
            raise _cut(name, place + 8 + length, size)
        if first < 0:
            content = stream.read(length - length % 4)
            table = tuple(struct.unpack(f"<{len(content) // 4}I", content))
            first = place + 8 + length
        else:
            found.append(Fragment(place + 8, length, place - first))
        if len(found) > MAX_FRAGMENTS:
            raise BadInputError(Code.TOO_LARGE, f"the pixels are in more than {MAX_FRAGMENTS} fragments", file=name)
        place += 8 + length


def _cut(name: str, place: int, size: int) -> BadInputError:
    detail = f"truncated pixel data: the compressed pixels go on to byte {place}, the file ends at {size}; download it again"
    return BadInputError(Code.TRUNCATED, detail, file=name)


def _starts(stream: Seekable, fragments: list[Fragment]) -> list[int]:
    """Offsets of the fragments that begin like a compressed picture of their own."""
    offsets = []
    for fragment in fragments:
        stream.seek(fragment.offset)
        if stream.read(6).startswith(_STARTS):
            offsets.append(fragment.item)
    return offsets
