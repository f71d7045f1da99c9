"""Reads TIFF and BigTIFF through tifffile: pages, tiles, planes, palettes, floats, OME, ImageJ and LSM stacks.

A file of several pictures of one kind is one array; one with several kinds needs a key, the number or name of the series.
`index` behind it (or alone) asks for the indices of a palette picture. `pages/` before it groups the pages by their kind
alone, where the file says that each is a picture of its own. What is declared min-is-white is not inverted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from tifffile import COMPRESSION, PHOTOMETRIC, TiffFile, TiffPage, TiffPageSeries

from resources.findings import BadInputError, Code, Finding, finding
from resources.readers.arrays import IN_MEMORY, StoredArray, array_image, check_promise, listed, value_type
from resources.readers.content import content_size, opened
from resources.readers.image import RawImage
from resources.readers.layout import PAGE, Layout
from resources.readers.picture import INDEX
from resources.readers.source import RawFile, ReadOptions
from resources.readers.tiff_scale import scale_of
from resources.readers.tiff_structure import TaggedPage, count_pages

MOST_EXPANSION = 1 << 16
"""zstd, which expands most, spends at least 4 bytes on a block of 128 KiB."""

PAGES = "pages/"
"""Before the number of a series in a key: pages are grouped by their kind, not as the file tells."""

_LETTERS = {"X": "x", "Y": "y", "Z": "z", "T": "t", "C": "c", "S": "c"}
_TAKEN = frozenset({
    PHOTOMETRIC.MINISWHITE, PHOTOMETRIC.MINISBLACK, PHOTOMETRIC.RGB, PHOTOMETRIC.PALETTE, PHOTOMETRIC.MASK, PHOTOMETRIC.CFA,
})  # fmt: skip
_JPEGS = frozenset({
    COMPRESSION.JPEG, COMPRESSION.OJPEG, COMPRESSION.APERIO_JP2000_YCBC, COMPRESSION.JPEG2000, COMPRESSION.APERIO_JP2000_RGB,
})  # fmt: skip
_FAULTS = (
    OSError, ValueError, TypeError, IndexError, KeyError, AttributeError, RuntimeError, NotImplementedError, ArithmeticError,
    AssertionError, NameError, EOFError, MemoryError, UserWarning,
)  # fmt: skip
"""What tifffile and imagecodecs raise for damaged files; the last where warnings are made errors."""


def open_tiff(file: RawFile, options: ReadOptions) -> RawImage:
    """Open a series of a TIFF file; raises `BadInputError` as every reader does."""
    key, _, tail = (options.key or "").rpartition("/")
    index = tail == INDEX
    key = key if index else options.key or ""
    as_told, key = not key.startswith(PAGES), key.removeprefix(PAGES)
    with opened(file, options) as content, _session(content, file, as_told=as_told) as tif:
        number = _chosen(tif, file, key)
        series = _Series.of(tif, number, content_size(content), file, options, index=index)
        findings = series.findings
        scale = scale_of(tif, number)

    @contextmanager
    def array() -> Iterator[_Pixels]:
        with opened(file, options) as again, _session(again, file, as_told=as_told) as tif:
            yield _Pixels(_Decoder(tif.series[number], file), series.table)

    layout = Layout.of(_of_pages(options.axes, series) or series.axes, series.extents, file)
    spacing = (scale[0], scale[1], scale[2] if layout.third_axis == "space" and layout.third is not None else None)
    return array_image(StoredArray(file, series.stored, layout, array), "TIFF", findings=findings, spacing=spacing)


def tagged_pages(file: RawFile, tag: int) -> tuple[TaggedPage, ...]:
    """The pages of a TIFF file that have a tag, in their order.

    Args:
        file: The file.
        tag: Number of the tag.

    Raises:
        BadInputError: The file cannot be decoded.
    """
    found = []
    with opened(file, ReadOptions()) as content, _session(content, file, as_told=False) as tif:
        for number, series in enumerate(tif.series):
            for place, page in enumerate(series.pages):
                value = None if page is None else tif.pages.get(page.index, validate=False).aspage().tags.valueof(tag)
                if value is not None:
                    found.append(TaggedPage(f"{PAGES}{number}", place, _text(value)))
    return tuple(found)


def _text(value: object) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return text.strip("\0 \t\r\n")


@dataclass(frozen=True, slots=True)
class _Series:
    """What is known of a series before its pixels are decoded.

    Attributes:
        axes: A letter for each axis.
        extents: Its shape, without an opaque alpha.
        stored: Type of its elements.
        table: Colours or grey values of the palette, when they are asked for.
        findings: What is odd about it.
    """

    axes: str
    extents: tuple[int, ...]
    stored: np.dtype[Any]
    table: npt.NDArray[np.uint8] | None
    findings: tuple[Finding, ...]

    @classmethod
    def of(cls, tif: TiffFile, number: int, size: int, file: RawFile, options: ReadOptions, *, index: bool) -> _Series:
        series = tif.series[number]
        page = series.keyframe
        _check_kind(page, file)
        stored = np.dtype(series.dtype)
        value_type(stored, file)
        findings = _check_segments(series, size, file)
        extents, axes = tuple(int(n) for n in series.shape), _axes(series.axes)
        packed = page.compression != COMPRESSION.NONE
        n_bytes = math.prod(extents) * stored.itemsize
        check_promise(file, n_bytes, options, size=size, expansion=MOST_EXPANSION if packed else 8)
        if page.photometric == PHOTOMETRIC.MINISWHITE:
            detail = "the file declares that 0 is white; the numbers are taken as they are, so it looks like a negative"
            findings.append(finding(Code.MIN_IS_WHITE, detail, file=file.name))
        table = None
        if page.photometric == PHOTOMETRIC.PALETTE and page.colormap is not None and not index:
            table = _palette(page.colormap)
            stored = np.dtype(np.uint8)
            if table.ndim == 2:
                extents, axes = (*extents, 3), axes + "c"
        if page.extrasamples and "S" in series.axes and page.extrasamples[-1] in {1, 2}:
            extents, said = _without_alpha(series, extents, stored, file)
            findings += said
        return cls(axes, extents, stored, table, tuple(findings))


def _of_pages(declared: str | None, series: _Series) -> str | None:
    """The declared axes, without a first one of pages where the file has one page, of which tifffile counts none."""
    one_page = declared is not None and series.axes == "yx" and len(declared) == 3 and declared[0] in "ztc"
    return declared[1:] if declared is not None and one_page else declared


@dataclass(frozen=True, slots=True)
class _Pixels:
    """The pixels of a series, or what a palette makes of them."""

    decoder: _Decoder
    table: npt.NDArray[np.uint8] | None

    def __getitem__(self, index: tuple[int | slice, ...], /) -> npt.NDArray[Any]:
        if self.table is None:
            return self.decoder[index]
        if self.table.ndim == 1:
            return np.asarray(self.table[self.decoder[index]])
        return np.asarray(self.table[self.decoder[index[:-1]]][..., index[-1]])


@dataclass(slots=True)
class _Decoder:
    """Decodes a series as a whole or, when it is large, by parts."""

    series: TiffPageSeries
    file: RawFile
    decoded: npt.NDArray[Any] | None = None

    def __getitem__(self, index: tuple[int | slice, ...], /) -> npt.NDArray[Any]:
        try:
            if self.decoded is None and self.series.nbytes > IN_MEMORY:
                return _lazily(self.series, index)
            if self.decoded is None:
                self.decoded = np.asarray(self.series.asarray())
        except _FAULTS as error:
            raise _explained(error, self.file) from error
        return self.decoded[index]


def _lazily(series: TiffPageSeries, index: tuple[int | slice, ...]) -> npt.NDArray[Any]:
    import zarr  # noqa: PLC0415  # loaded for very large files alone

    with series.aszarr(level=0) as store:
        return np.asarray(zarr.open_array(store, mode="r")[index])


@contextmanager
def _session(content: BinaryIO, file: RawFile, *, as_told: bool = True) -> Iterator[TiffFile]:
    """The open file, with all the pages it promises; what tifffile raises meanwhile comes as `BadInputError`.

    Its series are those that tifffile's own notes in the file tell of, or simply the pages of one kind.
    """
    pages = count_pages(content, file)
    content.seek(0)
    try:
        with TiffFile(content, _multifile=False, is_shaped=None if as_told else False) as tif:
            if len(tif.pages) != pages and not tif.is_stk:
                raise file.bad(Code.BAD_HEADER, f"the TIFF file has {pages} directories, {len(tif.pages)} of them can be read")
            yield tif
    except _FAULTS as error:
        raise _explained(error, file) from error


def _explained(error: Exception, file: RawFile) -> BadInputError:
    said = " ".join(str(error).split()) or type(error).__name__
    if type(error).__module__.startswith("imagecodecs"):
        return file.bad(Code.CHECKSUM_MISMATCH, f"damaged compressed data: {said} (checksum or structure); download it again")
    code = Code.TRUNCATED if "failed to read" in said else Code.BAD_HEADER
    return file.bad(code, f"the TIFF file cannot be decoded: {said}; download it again")


def _chosen(tif: TiffFile, file: RawFile, key: str) -> int:
    """The number of the series that a key names, or of the only one that is no smaller copy."""
    names = [str(series.name or "") for series in tif.series]
    if key:
        if key in names:
            return names.index(key)
        if key.isdecimal() and int(key) < len(names):
            return int(key)
        there = [f"{number} {name}".strip() for number, name in enumerate(names)]
        raise file.bad(Code.NO_SUCH_ARRAY, f"there is no series {key!r} in the TIFF file; it holds {listed(there)}")
    full = [number for number, series in enumerate(tif.series) if not series.keyframe.is_reduced]
    if len(full) != 1:
        there = [f"{number} {names[number]} {tif.series[number].shape}" for number in full]
        raise file.bad(
            Code.NO_SUCH_ARRAY, f"the TIFF file holds {len(full)} series ({listed(there)}); name one in the spec (`key`)"
        )
    return full[0]


def _axes(names: str) -> str:
    """Tifffile's axes in our letters; what is none of them is a row of pages."""
    return "".join(_LETTERS.get(name, PAGE) for name in names)


def _check_kind(page: TiffPage, file: RawFile) -> None:
    if page.photometric == PHOTOMETRIC.YCBCR and page.compression in _JPEGS:
        return
    if page.photometric not in _TAKEN:
        name = getattr(page.photometric, "name", page.photometric)
        raise file.bad(Code.UNSUPPORTED_DATA, f"the colours of the TIFF file are {name}; grey, RGB and palettes are taken")


def _check_segments(series: TiffPageSeries, size: int, file: RawFile) -> list[Finding]:
    """Whether every strip and tile of a series lies in the file; a warning when some were left out.

    Raises:
        BadInputError: TRUNCATED; UNSUPPORTED_DATA when pages lie in other files.
    """
    absent = 0
    for page in series.pages:
        if page is None:
            raise file.bad(Code.UNSUPPORTED_DATA, "some pages of the series lie in other files, or nowhere")
        expected = math.prod(series.keyframe.chunked)
        ends = [(offset + count) if count else 0 for offset, count in zip(page.dataoffsets, page.databytecounts, strict=False)]
        if max(ends, default=0) > size:
            raise file.bad(
                Code.TRUNCATED, f"truncated: pixels would lie up to byte {max(ends)} of a file of {size}; download it again"
            )
        whole = len(ends) == 1 and series.keyframe.is_contiguous
        absent += 0 if whole else max(expected - len(ends), 0) + ends.count(0)
    if series.dataoffset is not None and series.dataoffset + series.nbytes > size:
        raise file.bad(
            Code.TRUNCATED, f"truncated: pixels would lie up to byte {series.dataoffset + series.nbytes} of a file of {size}"
        )
    if not absent:
        return []
    return [finding(Code.UNWRITTEN_CHUNKS, f"{absent} strips or tiles were never written; they read as 0", file=file.name)]


def _palette(colormap: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """(n,) grey values or (n, 3) colours of 8 bits; TIFF stores 16, some writers 8 of them."""
    table = colormap.T
    table = (table >> 8 if table.max() > 255 else table).astype(np.uint8)
    return table[:, 0] if (table == table[:, :1]).all() else table


def _without_alpha(
    series: TiffPageSeries, extents: tuple[int, ...], stored: np.dtype[Any], file: RawFile
) -> tuple[tuple[int, ...], list[Finding]]:
    """The shape without the last sample, when that is opaque everywhere; with a finding otherwise."""
    opaque: Any = np.iinfo(stored).max if stored.kind in "iu" else 1
    if math.prod(extents) * stored.itemsize > IN_MEMORY:
        detail = "the last channel says how opaque the pixels are; the picture is too large to look whether all are"
        return extents, [finding(Code.TRANSPARENCY, detail, file=file.name)]
    place = series.axes.index("S")
    clear = int(np.count_nonzero(np.take(np.asarray(series.asarray()), -1, axis=place) != opaque))
    if not clear:
        return (*extents[:place], extents[place] - 1, *extents[place + 1 :]), []
    detail = f"{clear} pixels are transparent to some degree; the last channel says how much they are not"
    return extents, [finding(Code.TRANSPARENCY, detail, file=file.name)]
