"""Reads NumPy's `.npy` files and the arrays in its `.npz` archives; pickled objects are never loaded.

Header after the description in numpy.lib.format. The archive's CRC of an array is compared.
"""

from __future__ import annotations

import ast
import lzma
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from resources.findings import Code
from resources.readers.arrays import ArrayInfo, StoredArray, array_image, check_promise, declared_axes, listed, value_type
from resources.readers.bytestream import EXPANSION
from resources.readers.content import content_size, opened
from resources.readers.flat import FlatArray, fill
from resources.readers.image import RawImage
from resources.readers.layout import Layout
from resources.readers.source import RawFile, ReadOptions

_MAGIC = b"\x93NUMPY"
_MOST_HEADER = 1 << 16
_PYTHON_2_LONG = re.compile(r"(\d)L\b")
_ENDING = ".npy"
_ZIP_FAULTS = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError, ValueError, OSError, struct.error
)  # fmt: skip
_DAMAGED = ("CRC", "Error -3", "decompress", "Corrupt", "Invalid data")


@dataclass(frozen=True, slots=True)
class _Header:
    """What a header says: the shape, whether the first axis is fastest, the type, and the bytes before the elements."""

    shape: tuple[int, ...]
    fortran: bool
    stored: np.dtype[Any]
    size: int

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * self.stored.itemsize

    def layout(self, name: str, file: RawFile, options: ReadOptions) -> Layout:
        """The layout of the elements as they lie, with the last axis fastest."""
        axes = declared_axes(options.axes, self.shape, name, file)
        layout = Layout.of(axes, self.shape, file)
        return Layout.of(axes[::-1], self.shape[::-1], file) if self.fortran else layout


def open_npy(file: RawFile, options: ReadOptions) -> RawImage:
    """Open the array of a `.npy` file; raises `BadInputError` as every reader does."""
    if options.key is not None:
        raise file.bad(Code.NO_SUCH_ARRAY, f"an NPY file holds one array without a name, not {options.key!r}")
    with opened(file, options) as content:
        header = _header(content, file)
        value_type(header.stored, file)
        check_promise(file, header.n_bytes, options, size=content_size(content) - header.size)
    layout = header.layout(file.path.name, file, options)

    @contextmanager
    def array() -> Iterator[FlatArray]:
        with opened(file, options) as again:
            yield FlatArray(file, again, header.size, layout.extents, header.stored)

    return array_image(StoredArray(file, header.stored, layout, array), "NPY")


def open_npz(file: RawFile, options: ReadOptions) -> RawImage:
    """Open the array that `options.key` names, or the only one; raises `BadInputError` as every reader does."""
    with opened(file, options) as content, _archive(content, file) as archive:
        name = _chosen(archive, file, options.key)
        member = archive.getinfo(name + _ENDING)
        with archive.open(member) as packed:
            header = _header(packed, file)
        value_type(header.stored, file)
        deflated = member.compress_type in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
        check_promise(file, header.n_bytes, options, size=member.compress_size, expansion=EXPANSION if deflated else None)
        if header.size + header.n_bytes != member.file_size:
            raise file.bad(
                Code.BAD_HEADER, f"the array {name!r} promises {header.n_bytes} bytes, its place in the archive has others"
            )
    layout = header.layout(name, file, options)

    @contextmanager
    def array() -> Iterator[npt.NDArray[Any]]:
        with opened(file, options) as again, _archive(again, file) as archive, archive.open(name + _ENDING) as packed:
            _header(packed, file)
            elements = np.empty(layout.extents, header.stored)
            fill(elements.reshape(-1).view(np.uint8).data, cast("BinaryIO", packed), file)
            packed.read(1)  # the CRC is compared where the member ends
            yield elements

    return array_image(StoredArray(file, header.stored, layout, array), "NPZ")


def list_npy(file: RawFile) -> tuple[ArrayInfo, ...]:
    """The array of a `.npy` file; raises `BadInputError`."""
    with opened(file, ReadOptions()) as content:
        header = _header(content, file)
    return (ArrayInfo("", header.shape, str(header.stored)),)


def list_npz(file: RawFile) -> tuple[ArrayInfo, ...]:
    """The arrays of an archive; raises `BadInputError`."""
    with opened(file, ReadOptions()) as content, _archive(content, file) as archive:
        return tuple(ArrayInfo(name, header.shape, str(header.stored)) for name, header in _headers(archive, file).items())


def _header(content: BinaryIO | IO[bytes], file: RawFile) -> _Header:
    """The header at the place where a content stands; the elements follow."""
    start = content.read(12)
    wide = start[6:7] != b"\1"
    length = int.from_bytes(start[8:12] if wide else start[8:10], "little")
    before = 12 if wide else 10
    if not start.startswith(_MAGIC) or length > _MOST_HEADER:
        raise file.bad(Code.BAD_HEADER, f"the array begins with {start!r}, which is no NPY header")
    text = (start[before:] + content.read(max(length + before - 12, 0)))[:length]
    if len(text) != length:
        raise file.bad(Code.TRUNCATED, f"truncated: the NPY header has {length} bytes, {len(text)} are there; download it again")
    try:
        fields = ast.literal_eval(_PYTHON_2_LONG.sub(r"\1", text.decode("latin-1")).strip())
        shape = tuple(int(n) for n in fields["shape"])
        stored, fortran = np.dtype(fields["descr"]), bool(fields["fortran_order"])
    except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError, OverflowError) as error:
        raise file.bad(Code.BAD_HEADER, f"the NPY header cannot be read: {error}") from error
    if any(n < 0 for n in shape):
        raise file.bad(Code.BAD_HEADER, f"the NPY header gives the shape {shape}")
    return _Header(shape, fortran, stored, before + length)


@contextmanager
def _archive(content: BinaryIO, file: RawFile) -> Iterator[zipfile.ZipFile]:
    """The open archive; what is wrong with it comes as `BadInputError`."""
    try:
        with zipfile.ZipFile(content) as archive:
            yield archive
    except _ZIP_FAULTS as error:
        said = str(error) or type(error).__name__
        if "not a zip file" in said:
            raise file.bad(Code.TRUNCATED, "truncated: the archive has no directory at its end; download it again") from error
        code = Code.CHECKSUM_MISMATCH if any(word in said for word in _DAMAGED) else Code.BAD_HEADER
        raise file.bad(code, f"the archive cannot be read: {said}; download it again") from error


def _headers(archive: zipfile.ZipFile, file: RawFile) -> dict[str, _Header]:
    headers = {}
    for name in archive.namelist():
        if name.endswith(_ENDING):
            with archive.open(name) as packed:
                headers[name.removesuffix(_ENDING)] = _header(packed, file)
    return headers


def _chosen(archive: zipfile.ZipFile, file: RawFile, key: str | None) -> str:
    names = [name.removesuffix(_ENDING) for name in archive.namelist() if name.endswith(_ENDING)]
    if key is not None:
        if key not in names:
            raise file.bad(Code.NO_SUCH_ARRAY, f"there is no array {key!r} in the archive; it holds {listed(names)}")
        return key
    headers = _headers(archive, file)
    fit = [name for name, it in headers.items() if it.stored.kind in "biuf" and sum(n > 1 for n in it.shape) >= 2]
    if len(fit) != 1:
        raise file.bad(Code.NO_SUCH_ARRAY, f"the NPZ file holds {len(fit)} arrays ({listed(fit)}); name one in the spec (`key`)")
    return fit[0]
