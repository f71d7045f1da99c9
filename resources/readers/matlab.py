"""Reads arrays out of MAT files of version 5; version 7.3 is HDF5 and is in `hdf5`.

The key of an array in a structure is its path, such as `cjdata/image`, in either version. Format after "MAT-File Format",
MathWorks, chapter 1. scipy reads it too, but one changed byte makes it crash, or take gigabytes and minutes; it loads a
structure as a whole to look into it, and leaves out the imaginary part of numbers without a word. So it is only asked in tests.
"""

from __future__ import annotations

import io
import math
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from resources.findings import Code
from resources.readers.arrays import ArrayInfo, StoredArray, array_image, check_promise, declared_axes, listed, value_type
from resources.readers.bytestream import PIECE
from resources.readers.content import content_size, opened
from resources.readers.flat import FlatArray
from resources.readers.image import RawImage
from resources.readers.layout import Layout
from resources.readers.plane import check_plane
from resources.readers.source import RawFile, ReadOptions

_HEADER_BYTES = 128
_HEAD = 40
"""Bytes of an element up to the end of two extents: four tags or flags of 8, and the extents."""
_MOST_INFLATED = (1 << 32) + 8
"""An element states its size in 32 bits."""
_MATRIX, _COMPRESSED = 14, 15
_STRUCT_CLASS, _TEXT_CLASS = 2, 4
_MOST_DEPTH = 32
_MOST_FIELDS = 1 << 16
_COMPLEX = 0x0800
_NUMBERS = {
    1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8",
}  # fmt: skip
"""Data type of an element -> numpy type."""
_CLASSES = {
    6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8",
}  # fmt: skip
"""Class of an array -> numpy type; its numbers may be stored as a narrower one."""


@dataclass(frozen=True, slots=True)
class _Element:
    """A top-level element: where its data are in the file, how many bytes, and whether they are compressed."""

    start: int
    size: int
    compressed: bool


@dataclass(frozen=True, slots=True)
class _Variable:
    """An array of numbers.

    Attributes:
        element: The top-level element it is in.
        shape: As MATLAB indexes it, the first axis fastest.
        dtype: Type of its class.
        stored: Type of its numbers in the file.
        start: Where they begin in the (inflated) element's content.
    """

    element: _Element
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    stored: np.dtype[Any]
    start: int


def open_mat(file: RawFile, options: ReadOptions) -> RawImage:
    """Open the array that `options.key` names, or the only one; raises `BadInputError` as every reader does."""
    variables = _variables(file, options)
    name = _chosen(variables, file, options.key)
    variable = variables[name]
    value_type(variable.dtype, file)
    check_promise(file, math.prod(variable.shape) * variable.dtype.itemsize, options, expansion=None)
    axes = declared_axes(options.axes, variable.shape, name, file)
    Layout.of(axes, variable.shape, file)
    layout = Layout.of(axes[::-1], variable.shape[::-1], file)

    @contextmanager
    def array() -> Iterator[FlatArray]:
        with opened(file, options) as raw:
            content = _content(variable.element, raw, file, options)
            yield FlatArray(file, content, variable.start, layout.extents, variable.stored)

    return array_image(StoredArray(file, variable.dtype, layout, array), "MATLAB 5")


def list_mat(file: RawFile) -> tuple[ArrayInfo, ...]:
    """The arrays of a file, those in structures among them; raises `BadInputError`."""
    variables = _variables(file, ReadOptions())
    return tuple(ArrayInfo(name, variable.shape, str(variable.dtype)) for name, variable in variables.items())


def list_mat_texts(file: RawFile) -> tuple[str, ...]:
    """Names of the texts of a file, those in structures among them; raises `BadInputError`."""
    texts: list[str] = []
    _variables(file, ReadOptions(), texts)
    return tuple(texts)


def _variables(file: RawFile, options: ReadOptions, texts: list[str] | None = None) -> dict[str, _Variable]:
    """All arrays of numbers, by path, after every element has been proven to be there and to inflate; notes names of texts."""
    found: dict[str, _Variable] = {}
    words = texts if texts is not None else []
    with opened(file, options) as raw:
        for element in _elements(raw, file, options):
            content = _content(element, raw, file, options)
            packed = element.compressed
            start, stop = (0, content_size(content)) if packed else (element.start - 8, element.start + element.size)
            _Walk(content, file, _order(file), element, found, words).matrix(start, stop, "")
    return found


def _order(file: RawFile) -> str:
    return "<" if file.head[126:128] == b"IM" else ">"


def _elements(raw: BinaryIO, file: RawFile, options: ReadOptions) -> Iterator[_Element]:
    size, at = content_size(raw), _HEADER_BYTES
    while at < size:
        raw.seek(at)
        tag = raw.read(8)
        if len(tag) < 8:
            raise file.bad(Code.TRUNCATED, f"truncated: {len(tag)} bytes stand where an element begins; download it again")
        kind, length = struct.unpack(f"{_order(file)}II", tag)
        if kind not in {_MATRIX, _COMPRESSED}:
            raise file.bad(Code.BAD_HEADER, f"an element of the unknown type {kind} is at byte {at} of the MAT file")
        if at + 8 + length > size:
            raise file.bad(Code.TRUNCATED, f"truncated: an element ends at byte {at + 8 + length} of {size}; download it again")
        if length > options.max_bytes:
            raise file.bad(Code.TOO_LARGE, f"an element of {length} bytes is promised; at most {options.max_bytes} are taken")
        yield _Element(at + 8, int(length), kind == _COMPRESSED)
        at += 8 + int(length)


def _content(element: _Element, raw: BinaryIO, file: RawFile, options: ReadOptions) -> BinaryIO:
    """The file itself, or the inflated element in memory; raises TRUNCATED, CHECKSUM_MISMATCH or TOO_LARGE."""
    if not element.compressed:
        return raw
    _check_head(element, raw, file)
    raw.seek(element.start)
    inflater, content, left = zlib.decompressobj(), bytearray(), element.size
    limit = min(options.max_bytes, _MOST_INFLATED)
    try:
        while left and not inflater.eof:
            piece = raw.read(min(left, PIECE))
            left -= len(piece)
            while piece and not inflater.eof:
                content += inflater.decompress(piece, PIECE)
                piece = inflater.unconsumed_tail
                if len(content) > limit:
                    raise file.bad(Code.TOO_LARGE, f"an element inflates to more than the {limit} bytes taken")
    except zlib.error as error:
        raise file.bad(
            Code.CHECKSUM_MISMATCH, f"damaged compressed element: {error} (checksum or structure); download it again"
        ) from error
    if not inflater.eof:
        raise file.bad(Code.TRUNCATED, f"truncated: a compressed element breaks off after {len(content)} bytes")
    return io.BytesIO(content)


def _check_head(element: _Element, raw: BinaryIO, file: RawFile) -> None:
    """Refuse a compressed array of two axes that is too large, before it is inflated; raises TOO_LARGE."""
    raw.seek(element.start)
    try:
        head = zlib.decompressobj().decompress(raw.read(min(element.size, PIECE)), _HEAD)
    except zlib.error:
        return  # it is told where the element is inflated
    if len(head) < _HEAD:
        return
    kind, _, flags_kind, flags_size, flags, _, shape_kind, shape_size = struct.unpack_from(f"{_order(file)}8I", head)
    if kind == _MATRIX and (flags_kind, flags_size) == (6, 8) and (shape_kind, shape_size) == (5, 8):
        stored = _CLASSES.get(flags & 0xFF)
        if stored is not None:
            shape = struct.unpack_from(f"{_order(file)}2i", head, 32)
            check_plane(shape, np.dtype(stored).itemsize, 1, file.name)


@dataclass(frozen=True, slots=True)
class _Walk:
    """Goes through the arrays of one element and notes those of numbers, and names of texts."""

    content: BinaryIO
    file: RawFile
    order: str
    element: _Element
    found: dict[str, _Variable]
    texts: list[str]

    def matrix(self, at: int, end: int, path: str, depth: int = 0) -> int:
        """Note the array at a place, whose name is `path` where it is a field; gives the place behind it."""
        kind, start, size, after = self._tag(at, end)
        if kind != _MATRIX or depth > _MOST_DEPTH:
            raise self._bad(f"an array is due at byte {at}, an element of type {kind} is there (depth {depth})")
        if not size:
            return after
        stop = start + size
        flags, at = self._numbers(start, stop)
        shape, at = self._numbers(at, stop)
        name, at = self._bytes(at, stop)
        path = path or name.decode("latin-1")
        if len(flags) < 1 or len(shape) < 2 or min(shape) < 0:
            raise self._bad(f"the array {path!r} has the shape {shape} and {len(flags)} words of flags")
        array_class = flags[0] & 0xFF
        if array_class in _CLASSES and path:
            self._note(path, tuple(shape), np.dtype(_CLASSES[array_class]), at, stop, is_complex=bool(flags[0] & _COMPLEX))
        elif array_class == _TEXT_CLASS and path:
            self.texts.append(path)
        elif array_class == _STRUCT_CLASS and math.prod(shape) == 1:
            self._fields(at, stop, path, depth)
        return after

    def _note(self, path: str, shape: tuple[int, ...], dtype: np.dtype[Any], at: int, end: int, *, is_complex: bool) -> None:
        kind, start, size, _ = self._tag(at, end)
        if kind not in _NUMBERS:
            raise self._bad(f"the numbers of {path!r} are of the unknown type {kind}")
        stored = np.dtype(f"{self.order}{_NUMBERS[kind]}")
        if math.prod(shape) * stored.itemsize != size:
            raise self._bad(f"the array {path!r} has the shape {shape}, but {size} bytes of {stored.itemsize} each")
        self.found[path] = _Variable(self.element, shape, np.dtype(np.complex128) if is_complex else dtype, stored, start)

    def _fields(self, at: int, end: int, path: str, depth: int) -> None:
        length, at = self._numbers(at, end)
        names, at = self._bytes(at, end)
        if len(length) != 1 or not 0 < length[0] <= len(names) or len(names) > _MOST_FIELDS * length[0]:
            if not names:
                return
            raise self._bad(f"the names of the fields of {path!r} have {length} of {len(names)} bytes each")
        step = length[0]
        for begin in range(0, len(names) // step * step, step):
            field = names[begin : begin + step].split(b"\0")[0].decode("latin-1")
            at = self.matrix(at, end, f"{path}/{field}", depth + 1)

    def _tag(self, at: int, end: int) -> tuple[int, int, int, int]:
        """Type, first byte, number of bytes and end, with what fills it up, of the element at a place."""
        self.content.seek(at)
        tag = self.content.read(8)
        if at + 8 > end or len(tag) < 8:
            raise self._bad(f"an element is due at byte {at}, where its container ends")
        first, size = struct.unpack(f"{self.order}II", tag)
        if first >> 16:
            kind, start, size, after = first & 0xFFFF, at + 4, first >> 16, at + 8
            fits = size <= 4
        else:
            kind, start, after = first, at + 8, at + 8 + (size + 7) // 8 * 8
            fits = at + 8 + size <= end
        if not fits:
            raise self._bad(f"the element at byte {at} has {size} bytes and goes on beyond its container, which ends at {end}")
        return kind, start, size, after

    def _bytes(self, at: int, end: int) -> tuple[bytes, int]:
        _, start, size, after = self._tag(at, end)
        self.content.seek(start)
        return self.content.read(size), after

    def _numbers(self, at: int, end: int) -> tuple[list[int], int]:
        """Words of 32 bits, of flags, shapes and lengths."""
        data, after = self._bytes(at, end)
        return np.frombuffer(data[: len(data) // 4 * 4], f"{self.order}i4").tolist(), after

    def _bad(self, what: str) -> Exception:
        return self.file.bad(Code.BAD_HEADER, f"the MAT file cannot be read: {what}")


def _chosen(variables: dict[str, _Variable], file: RawFile, key: str | None) -> str:
    if key is not None:
        name = key.strip("/")
        if name not in variables:
            raise file.bad(Code.NO_SUCH_ARRAY, f"there is no array {name!r} in the file; it holds {listed(list(variables))}")
        return name
    fit = [name for name, variable in variables.items() if sum(n > 1 for n in variable.shape) >= 2]
    if len(fit) != 1:
        raise file.bad(Code.NO_SUCH_ARRAY, f"the MAT file holds {len(fit)} arrays ({listed(fit)}); name one in the spec (`key`)")
    return fit[0]
