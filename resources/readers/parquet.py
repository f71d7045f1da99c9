"""Reads pictures that lie as bytes in a column of a Parquet table, through polars.

The key is the column, or the column and a row: `image` is all rows as pages, `image/3` the fourth. A column of structures with
a field `bytes`, as the Hugging Face libraries write, counts as the column of these bytes.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import polars as pl

from resources.findings import BadInputError, Code, Finding
from resources.readers import magic
from resources.readers.arrays import ArrayInfo, StoredArray, array_image, check_promise, listed
from resources.readers.bitmap import bitmap_in, pixels_of
from resources.readers.content import content_size, opened
from resources.readers.image import RawImage
from resources.readers.layout import Layout
from resources.readers.picture import INDEX, Bitmap
from resources.readers.source import RawFile, ReadOptions

_MAGIC = b"PAR1"
_BYTES, _PATH = "bytes", "path"
_BITMAPS = (magic.is_png, magic.is_jpeg, magic.is_gif, magic.is_bmp, magic.is_pnm)
_FAULTS = (pl.exceptions.PolarsError, OSError, ValueError, TypeError, IndexError, RuntimeError, OverflowError, MemoryError)


def open_parquet(file: RawFile, options: ReadOptions) -> RawImage:
    """Open the pictures of a column, or one of them; raises `BadInputError` as every reader does."""
    with _session(file, options) as table:
        column, row, inner = _chosen(table, file, options)
        cells = _cells(table, column, row, file)
        bitmaps = [bitmap_in(io.BytesIO(cell), file, inner) for cell in cells]
        check_promise(file, sum(_bytes_of(bitmap) for bitmap in bitmaps), options, expansion=None)
    first = bitmaps[0]
    for number, bitmap in enumerate(bitmaps):
        if (bitmap.axes, bitmap.extents, bitmap.dtype) != (first.axes, first.extents, first.dtype):
            raise file.bad(
                Code.UNEXPECTED_DIMENSIONS,
                f"the picture of row {number} of {column!r} is {bitmap.extents} {bitmap.dtype}, that of row 0 {first.extents} "
                f"{first.dtype}; read one row (`key`: {column}/{number})",
            )
    single = row is not None
    extents = first.extents if single else (len(bitmaps), *first.extents)
    layout = Layout.of(options.axes or (first.axes if single else "p" + first.axes), extents, file)

    @contextmanager
    def array() -> Iterator[npt.NDArray[Any]]:
        with _session(file, options) as again:
            decoded = [
                pixels_of(bitmap, io.BytesIO(cell), file)
                for bitmap, cell in zip(bitmaps, _cells(again, column, row, file), strict=True)
            ]
        yield decoded[0] if single else np.stack(decoded)

    findings: dict[Code, Finding] = {finding.code: finding for bitmap in reversed(bitmaps) for finding in bitmap.findings}
    return array_image(StoredArray(file, first.dtype, layout, array), f"Parquet, {first.format}", findings=[*findings.values()])


def list_parquet(file: RawFile) -> tuple[ArrayInfo, ...]:
    """The columns of a table; raises `BadInputError`."""
    with _session(file, ReadOptions()) as table:
        rows = int(table.select(pl.len()).collect().item())
        return tuple(ArrayInfo(name, (rows,), str(kind)) for name, kind in table.collect_schema().items())


def list_rows(file: RawFile, column: str) -> tuple[tuple[str, int], ...]:
    """The name of the picture in every row of a column, empty where the table has none, and its bytes, 0 for an empty row.

    Raises:
        BadInputError: The table cannot be read, or the column is none of pictures.
    """
    with _session(file, ReadOptions()) as table:
        name, _, _ = _chosen(table, file, ReadOptions(key=column))
        kind = table.collect_schema()[name]
        named = isinstance(kind, pl.Struct) and any(inner.name == _PATH and inner.dtype == pl.String for inner in kind.fields)
        content = pl.col(name).struct.field(_BYTES) if isinstance(kind, pl.Struct) else pl.col(name)
        path = pl.col(name).struct.field(_PATH) if named else pl.lit("")
        rows = table.select(path.fill_null("").alias(_PATH), content.bin.size().fill_null(0).alias(_BYTES)).collect()
        return tuple(rows.iter_rows())


@contextmanager
def _session(file: RawFile, options: ReadOptions) -> Iterator[pl.LazyFrame]:
    """The table; what polars says is wrong comes as `BadInputError`."""
    with opened(file, options) as content:
        _check_ends(content, file)
        try:
            yield pl.scan_parquet(content)
        except _FAULTS as error:
            said = " ".join(str(error).split())[:300] or type(error).__name__
            raise file.bad(Code.BAD_HEADER, f"polars cannot read the Parquet file: {said}") from error


def _check_ends(content: BinaryIO, file: RawFile) -> None:
    size = content_size(content)
    content.seek(max(size - 8, 0))
    footer = content.read(8)
    content.seek(0)
    if size < 12 or footer[4:] != _MAGIC or int.from_bytes(footer[:4], "little") > size - 12:
        raise file.bad(Code.TRUNCATED, f"truncated: a Parquet file ends with {_MAGIC!r}, this one with {footer[4:]!r}")


def _chosen(table: pl.LazyFrame, file: RawFile, options: ReadOptions) -> tuple[str, int | None, ReadOptions]:
    """The column, the row if one is asked for, and the options for its pictures."""
    columns = [name for name, kind in table.collect_schema().items() if _holds_bytes(kind)]
    column, row, key = options.key or "", None, None
    if column.endswith(f"/{INDEX}"):
        column, key = column.removesuffix(f"/{INDEX}"), INDEX
    name, _, number = column.rpartition("/")
    if name and number.isdecimal() and column not in columns:
        column, row = name, int(number)
    if not column and len(columns) == 1:
        column = columns[0]
    if column not in columns:
        raise file.bad(
            Code.NO_SUCH_ARRAY, f"the table has {len(columns)} columns of bytes ({listed(columns)}); name one in the spec (`key`)"
        )
    return column, row, ReadOptions(max_bytes=options.max_bytes, key=key)


def _holds_bytes(kind: pl.DataType) -> bool:
    if isinstance(kind, pl.Struct):
        return any(inner.name == _BYTES and inner.dtype == pl.Binary for inner in kind.fields)
    return kind == pl.Binary


def _cells(table: pl.LazyFrame, column: str, row: int | None, file: RawFile) -> list[bytes]:
    """The bytes of the pictures of a column, or of one row of it."""
    kind = table.collect_schema()[column]
    source = pl.col(column).struct.field(_BYTES) if isinstance(kind, pl.Struct) else pl.col(column)
    chosen = table.select(source.alias(_BYTES))
    values = (chosen if row is None else chosen.slice(row, 1)).collect()[_BYTES].to_list()
    if not values:
        raise file.bad(Code.NO_SUCH_ARRAY, f"the column {column!r} has no row {row}")
    for number, value in enumerate(values, start=row or 0):
        if not value or not any(known(value[:4096]) for known in _BITMAPS):
            raise _no_picture(file, column, number, value)
    return values


def _no_picture(file: RawFile, column: str, row: int, value: bytes | None) -> BadInputError:
    met = "empty" if not value else f"begins with {value[:8]!r}"
    return file.bad(Code.UNSUPPORTED_DATA, f"row {row} of {column!r} is {met}; PNG, JPEG, GIF, BMP and PNM are taken there")


def _bytes_of(bitmap: Bitmap) -> int:
    return int(np.prod(bitmap.extents, dtype=np.int64)) * bitmap.dtype.itemsize
