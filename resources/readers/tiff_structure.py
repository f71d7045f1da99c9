"""Walks through the directories of a TIFF file: how many there are, and that all they point at is there.

tifffile stops at a directory or value that lies behind the end of the file and goes on with what it has: a cut stack loses its
last pages without a word. Structure after TIFF 6.0, section 2, and the BigTIFF design.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from resources.findings import BadInputError, Code
from resources.readers.content import content_size
from resources.readers.source import RawFile

MOST_PAGES = 1 << 20

_TYPE_BYTES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}
_CLASSIC_REACH = 1 << 32


@dataclass(frozen=True, slots=True)
class TaggedPage:
    """A page of a TIFF file that has a certain tag.

    Attributes:
        series: Key of the series it is in.
        place: Which one of the series it is, counted from 0.
        text: What the tag says.
    """

    series: str
    place: int
    text: str


@dataclass(frozen=True, slots=True)
class _Format:
    """Byte order, and the layout of numbers, entries and offsets in classic TIFF or BigTIFF."""

    order: str
    big: bool

    @property
    def count(self) -> struct.Struct:
        """How many entries a directory has."""
        return struct.Struct(self.order + ("Q" if self.big else "H"))

    @property
    def entry(self) -> struct.Struct:
        """Tag, type, number of values, and the offset of the values."""
        return struct.Struct(self.order + ("HHQQ" if self.big else "HHII"))

    @property
    def offset(self) -> struct.Struct:
        """Where something lies."""
        return struct.Struct(self.order + ("Q" if self.big else "I"))


def count_pages(content: BinaryIO, file: RawFile) -> int:
    """The number of directories in the main chain of a file, all of whose values lie in the file.

    Raises:
        BadInputError: TRUNCATED, when something lies behind the end; BAD_HEADER, when the chain goes round in a circle.
    """
    size = content_size(content)
    head = content.read(16)
    form = _Format("<" if head.startswith(b"II") else ">", big=b"+" in head[2:4])
    at = form.offset.unpack_from(head.ljust(16, b"\0"), 8 if form.big else 4)[0]
    seen: set[int] = set()
    while at:
        if at in seen or len(seen) >= MOST_PAGES:
            raise file.bad(Code.BAD_HEADER, f"the directories of the TIFF file go round in a circle after {len(seen)}")
        seen.add(at)
        at = _walk(content, at, size, form, file)
    if not seen:
        raise file.bad(Code.BAD_HEADER, "the TIFF file has no directory")
    return len(seen)


def _walk(content: BinaryIO, at: int, size: int, form: _Format, file: RawFile) -> int:
    """Check the directory at a place; gives the place of the next."""
    content.seek(at)
    start = content.read(form.count.size)
    entries = form.count.unpack(start)[0] if len(start) == form.count.size else 0
    length = entries * form.entry.size + form.offset.size
    if len(start) < form.count.size or at + form.count.size + length > size:
        raise _cut(file, size, f"a directory of {entries} entries at byte {at}")
    body = content.read(length)
    for tag, end in _values(body, form):
        if end > size and size < _CLASSIC_REACH:
            raise _cut(file, size, f"the values of tag {tag} of the directory at byte {at}")
    return int(form.offset.unpack_from(body, entries * form.entry.size)[0])


def _values(body: bytes, form: _Format) -> Iterator[tuple[int, int]]:
    """Every tag whose values do not fit into its entry, and where they end."""
    for start in range(0, len(body) - form.offset.size, form.entry.size):
        tag, kind, count, offset = form.entry.unpack_from(body, start)
        n_bytes = _TYPE_BYTES.get(kind, 0) * count
        if n_bytes > form.offset.size:
            yield tag, offset + n_bytes


def _cut(file: RawFile, size: int, what: str) -> BadInputError:
    return file.bad(Code.TRUNCATED, f"truncated: {what} would lie behind the {size} bytes of the file; download it again")
