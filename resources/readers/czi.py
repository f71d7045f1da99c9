"""Reads CZI, the format of Zeiss microscopes: scenes, mosaics, stacks, films and channels.

czifile parses the directory and the metadata; the tiles are decoded and put together here, because czifile leaves out what it
cannot decode without a word, and knows no Zstandard. The key chooses along an axis by its letter in the file: `S=1` is the
second scene, `S=0,T=2` the third time of the first. Format after "ZISRAW (CZI) File Format", Zeiss, 2016, and libCZI.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO
from xml.etree.ElementTree import ParseError

import imagecodecs
import numpy as np
import numpy.typing as npt
from czifile import CziFile, SegmentNotFoundError
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from resources.findings import BadInputError, Code, Finding, finding
from resources.readers.arrays import StoredArray, array_image, check_promise, value_type
from resources.readers.content import content_size, opened
from resources.readers.image import RawImage
from resources.readers.layout import Layout
from resources.readers.source import RawFile, ReadOptions

MOST_EXPANSION = 1 << 16
"""As zstd, which spends at least 4 bytes on a block of 128 KiB."""

_HEADER_BYTES = 544
_STACK = "TZC"
_NONE, _JPEG, _LZW, _JPEGXR, _ZSTD0, _ZSTD1 = 0, 1, 2, 4, 5, 6
_MOST_MASK = 1 << 28
_FAULTS = (
    OSError, ValueError, TypeError, IndexError, KeyError, AttributeError, RuntimeError, NotImplementedError, ArithmeticError,
    AssertionError, NameError, EOFError, MemoryError, UserWarning, struct.error, SegmentNotFoundError,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Tile:
    """A rectangle of one plane.

    Attributes:
        entry: czifile's entry of the directory.
        place: Start along every axis by its letter.
        box: First and last + 1 of rows, then of columns, in the coordinates of the file.
    """

    entry: Any
    place: dict[str, int]
    box: tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class _Mosaic:
    """The tiles that were chosen, as one array of the axes T, Z, C, Y, X and, where there are colours, these.

    Attributes:
        tiles: In the order in which they cover one another.
        steps: The starts along T, Z and C that occur.
        origin: First row and column.
        extents: Shape.
        samples: Colours of a pixel.
        stored: Type of a sample.
    """

    tiles: tuple[_Tile, ...]
    steps: tuple[tuple[int, ...], ...]
    origin: tuple[int, int]
    extents: tuple[int, ...]
    samples: int
    stored: np.dtype[Any]

    @classmethod
    def of(cls, tiles: Sequence[_Tile], file: RawFile) -> _Mosaic:
        steps = tuple(tuple(sorted({tile.place.get(axis, 0) for tile in tiles})) for axis in _STACK)
        top, left = min(tile.box[0] for tile in tiles), min(tile.box[2] for tile in tiles)
        rows, columns = max(tile.box[1] for tile in tiles) - top, max(tile.box[3] for tile in tiles) - left
        kinds = {np.dtype(tile.entry.dtype) for tile in tiles}
        samples = {kind.shape[0] if kind.shape else 1 for kind in kinds}
        if len(samples) > 1:
            raise file.bad(Code.UNSUPPORTED_DATA, f"some tiles of the CZI file are grey and some coloured: {kinds}")
        count = samples.pop()
        stored = np.result_type(*(kind.base for kind in kinds))
        shape = (*(len(step) for step in steps), rows, columns)
        return cls(tuple(tiles), steps, (top, left), shape if count == 1 else (*shape, count), count, stored)

    def plane(self, tile: _Tile) -> tuple[int, ...]:
        """The indices of a tile along T, Z and C."""
        return tuple(step.index(tile.place.get(axis, 0)) for axis, step in zip(_STACK, self.steps, strict=True))

    def holes(self) -> int:
        """How many pixels, over all planes, lie in no tile; as far as can be told without much memory."""
        rows, columns = self.extents[3:5]
        planes: dict[tuple[int, ...], list[_Tile]] = {}
        for tile in self.tiles:
            planes.setdefault(self.plane(tile), []).append(tile)
        missing = (math.prod(self.extents[:3]) - len(planes)) * rows * columns
        return missing + sum(self._holes_of(tiles) for tiles in planes.values())

    def _holes_of(self, tiles: Sequence[_Tile]) -> int:
        rows, columns = self.extents[3:5]
        areas = [(tile.box[1] - tile.box[0]) * (tile.box[3] - tile.box[2]) for tile in tiles]
        if max(areas) == rows * columns:
            return 0
        if rows * columns > _MOST_MASK:
            return max(rows * columns - sum(areas), 0)
        covered = np.zeros((rows, columns), bool)
        top, left = self.origin
        for tile in tiles:
            first, last, begin, end = tile.box
            covered[first - top : last - top, begin - left : end - left] = True
        return int(covered.size - np.count_nonzero(covered))


def open_czi(file: RawFile, options: ReadOptions) -> RawImage:
    """Open what the key leaves of a CZI file; raises `BadInputError` as every reader does."""
    with opened(file, options) as content, _session(content, file) as czi:
        size = content_size(content)
        mosaic = _mosaic(czi, size, file, options)
        scale = _scale(czi)
    value_type(mosaic.stored, file)
    n_bytes = math.prod(mosaic.extents) * mosaic.stored.itemsize
    packed = any(tile.entry.compression for tile in mosaic.tiles)
    check_promise(file, n_bytes, options, size=size, expansion=MOST_EXPANSION if packed else None)
    if mosaic.samples > 1 and mosaic.extents[2] > 1:
        raise file.bad(
            Code.UNEXPECTED_DIMENSIONS, f"the CZI file has {mosaic.extents[2]} channels in colour; choose one (`key: C=0`)"
        )

    @contextmanager
    def array() -> Iterator[_Pixels]:
        with opened(file, options) as again, _session(again, file) as czi:
            yield _Pixels(_mosaic(czi, size, file, options), file)

    layout = _layout(mosaic, file, options)
    spacing = (scale["X"], scale["Y"], scale["Z"] if layout.third_axis == "space" and layout.third is not None else None)
    stored = StoredArray(file, mosaic.stored, layout, array)
    return array_image(stored, "CZI", findings=_findings(mosaic, file), spacing=spacing)


@dataclass(frozen=True, slots=True)
class _Pixels:
    """The pixels of a mosaic, decoded where they are asked for."""

    mosaic: _Mosaic
    file: RawFile

    def __getitem__(self, index: tuple[int | slice, ...], /) -> npt.NDArray[Any]:
        mosaic = self.mosaic
        asked = [
            range(part, part + 1) if isinstance(part, int) else range(*part.indices(extent))
            for part, extent in zip(index, mosaic.extents, strict=True)
        ]
        pixels = np.zeros([len(part) for part in (*asked[:5], range(mosaic.samples))], mosaic.stored)
        for tile in mosaic.tiles:
            plane = mosaic.plane(tile)
            if all(at in part for at, part in zip(plane, asked, strict=False)):
                target = pixels[tuple(at - part.start for at, part in zip(plane, asked, strict=False))]
                self._paste(tile, target, asked[3], asked[4])
        pixels = pixels[..., asked[5].start : asked[5].stop] if len(asked) > 5 else pixels[..., 0]
        return pixels[tuple(0 if isinstance(part, int) else slice(None) for part in index)]

    def _paste(self, tile: _Tile, target: npt.NDArray[Any], rows: range, columns: range) -> None:
        top, bottom, left, right = (
            edge - origin for edge, origin in zip(tile.box, np.repeat(self.mosaic.origin, 2).tolist(), strict=True)
        )
        first, last = max(top, rows.start), min(bottom, rows.stop)
        begin, end = max(left, columns.start), min(right, columns.stop)
        if first >= last or begin >= end:
            return
        decoded = _decoded(tile, self.file)
        target[first - rows.start : last - rows.start, begin - columns.start : end - columns.start] = decoded[
            first - top : last - top, begin - left : end - left
        ]


@contextmanager
def _session(content: BinaryIO, file: RawFile) -> Iterator[Any]:
    """The open file; what czifile raises meanwhile comes as `BadInputError`."""
    size = content_size(content)
    if size < _HEADER_BYTES:
        raise file.bad(Code.TRUNCATED, f"truncated: a CZI file begins with {_HEADER_BYTES} bytes, {size} are there")
    try:
        with CziFile(content, multifile=False) as czi:
            ends = (czi.header.directory_position, czi.header.metadata_position)
            if max(ends) + 32 > size or min(ends[0], size) <= 0:
                raise file.bad(
                    Code.TRUNCATED, f"truncated: the directory of the CZI file is at byte {ends[0]} of {size}; download it again"
                )
            yield czi
    except _FAULTS as error:
        raise _explained(error, file) from error


def _explained(error: Exception, file: RawFile) -> BadInputError:
    said = " ".join(str(error).split()) or type(error).__name__
    return file.bad(Code.BAD_HEADER, f"the CZI file cannot be read: {said}; download it again")


def _mosaic(czi: Any, size: int, file: RawFile, options: ReadOptions) -> _Mosaic:
    """The tiles that the key leaves, all of which lie in the file."""
    tiles = [_tile(entry) for entry in czi.subblock_directory if not entry.pyramid_type and entry.stored_shape == entry.shape]
    wanted = _wanted(options.key, file)
    chosen = [tile for tile in tiles if all(tile.place.get(axis, 0) == at for axis, at in wanted.items())]
    places = {axis: sorted({tile.place[axis] for tile in tiles if axis in tile.place}) for tile in tiles for axis in tile.place}
    if not chosen:
        raise file.bad(Code.NO_SUCH_ARRAY, f"the CZI file holds no tile for {options.key!r}; it has {_told(places)}")
    several = {
        axis: met
        for axis in places
        if axis not in {*_STACK, "X", "Y", "M"} and len(met := sorted({tile.place.get(axis, 0) for tile in chosen})) > 1
    }
    if several:
        raise file.bad(
            Code.NO_SUCH_ARRAY, f"the CZI file has {_told(several)}; choose in the spec (`key`, such as {next(iter(several))}=0)"
        )
    for tile in chosen:
        _check_tile(tile, size, file)
    return _Mosaic.of(sorted(chosen, key=lambda tile: tile.place.get("M", 0)), file)


def _tile(entry: Any) -> _Tile:
    place = {dimension.dimension: int(dimension.start) for dimension in entry.dimension_entries}
    sizes = {dimension.dimension: int(dimension.size) for dimension in entry.dimension_entries}
    box = (place["Y"], place["Y"] + sizes["Y"], place["X"], place["X"] + sizes["X"])
    return _Tile(entry, place, box)


def _wanted(key: str | None, file: RawFile) -> dict[str, int]:
    wanted = {}
    for part in (key or "").replace(" ", "").split(","):
        letter, equals, number = part.partition("=")
        if equals and len(letter) == 1 and number.isdecimal():
            wanted[letter.upper()] = int(number)
        elif part:
            raise file.bad(Code.NO_SUCH_ARRAY, f"the key {key!r} is not understood for CZI; it is like S=0 or S=0,T=2")
    return wanted


def _told(places: dict[str, list[int]]) -> str:
    return ", ".join(f"{axis} {met[0]} to {met[-1]}" for axis, met in places.items() if axis not in {"X", "Y"})


def _check_tile(tile: _Tile, size: int, file: RawFile) -> None:
    """Refuse a tile that is of another kind than is taken, or does not lie in the file."""
    entry = tile.entry
    thick = [
        dimension.dimension for dimension in entry.dimension_entries if dimension.dimension not in "XYM" and dimension.size > 1
    ]
    if thick or entry.file_part or min(tile.box[1] - tile.box[0], tile.box[3] - tile.box[2]) < 1:
        raise file.bad(
            Code.UNSUPPORTED_DATA, f"a tile of the CZI file goes over {thick}, lies in part {entry.file_part}, or is {tile.box}"
        )
    grey_jpeg = entry.compression == _JPEG and np.dtype(entry.dtype) == np.uint8
    if entry.compression not in {_NONE, _LZW, _JPEGXR, _ZSTD0, _ZSTD1} and not grey_jpeg:
        raise file.bad(Code.UNSUPPORTED_DATA, f"tiles of the CZI file are compressed by method {entry.compression}")
    segment = entry.data_segment() if 0 <= entry.file_position < size - 32 else None
    if segment is None or segment.data_offset + segment.data_size > size:
        raise file.bad(Code.TRUNCATED, f"truncated: a tile of the CZI file lies behind its end at {size}; download it again")


def _decoded(tile: _Tile, file: RawFile) -> npt.NDArray[Any]:
    """Rows, columns and colours of a tile."""
    entry = tile.entry
    kind = np.dtype(entry.dtype)
    shape = (tile.box[1] - tile.box[0], tile.box[3] - tile.box[2], kind.shape[0] if kind.shape else 1)
    try:
        data = entry.data_segment().data(raw=True)
        pixels = _unpacked(data, entry.compression, kind.base).reshape(shape)
    except _FAULTS as error:
        said = " ".join(str(error).split()) or type(error).__name__
        code = Code.CHECKSUM_MISMATCH if entry.compression else Code.BAD_HEADER
        raise file.bad(code, f"damaged tile of the CZI file: {said}; download it again") from error
    swapped = shape[2] in {3, 4} and entry.compression not in {_JPEG, _JPEGXR}
    return pixels[..., [2, 1, 0, 3][: shape[2]]] if swapped else pixels


def _unpacked(data: bytes, method: int, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    if method == _NONE:
        return np.frombuffer(data, kind)
    if method in {_JPEG, _JPEGXR}:
        decode = imagecodecs.jpeg_decode if method == _JPEG else imagecodecs.jpegxr_decode
        return np.asarray(decode(data))
    if method == _LZW:
        return np.frombuffer(imagecodecs.lzw_decode(data), kind)
    if method == _ZSTD0:
        return np.frombuffer(imagecodecs.zstd_decode(data), kind)
    # The first byte is the length of the header; the third says whether low and high bytes are apart.
    split = data[0] == 3 and data[1] == 1 and bool(data[2] & 1)
    plain = np.frombuffer(imagecodecs.zstd_decode(data[data[0] :]), np.uint8)
    return (np.ascontiguousarray(plain.reshape(kind.itemsize, -1).T) if split else plain).reshape(-1).view(kind)


def _scale(czi: Any) -> dict[str, float | None]:
    """Mm of a step along X, Y and Z; the file states metres."""
    scale: dict[str, float | None] = dict.fromkeys("XYZ")
    if not czi.header.metadata_position:
        return scale
    try:
        root = fromstring(czi.metadata())
    except (ParseError, DefusedXmlException, ValueError, TypeError):
        return scale
    for distance in root.iterfind(".//Scaling/Items/Distance"):
        text, axis = distance.findtext("Value") or "", distance.get("Id", "")
        try:
            metres = float(text)
        except ValueError:
            continue
        if axis in scale and math.isfinite(metres) and metres > 0:
            scale[axis] = metres * 1000
    return scale


def _findings(mosaic: _Mosaic, file: RawFile) -> list[Finding]:
    found = []
    holes = mosaic.holes()
    if holes:
        detail = f"{holes} of {math.prod(mosaic.extents[:5])} pixels lie in no tile; they read as 0"
        found.append(finding(Code.UNWRITTEN_CHUNKS, detail, file=file.name))
    if mosaic.samples == 4:
        found.append(finding(Code.TRANSPARENCY, "the last channel says how opaque the pixels are", file=file.name))
    return found


def _layout(mosaic: _Mosaic, file: RawFile, options: ReadOptions) -> Layout:
    """The layout of the whole array; axes of one element are neither named nor declared."""
    axes, extents = "tz_yxc" if mosaic.samples > 1 else "tzcyx", mosaic.extents
    kept = [place for place, extent in enumerate(extents) if extent > 1 or axes[place] in "yx"]
    short = Layout.of(options.axes or "".join(axes[place] for place in kept), [extents[place] for place in kept], file)
    return Layout(
        extents=extents,
        x=kept[short.x],
        y=kept[short.y],
        third=None if short.third is None else kept[short.third],
        channel=None if short.channel is None else kept[short.channel],
        third_axis=short.third_axis,
        fourth_axis=short.fourth_axis,
    )
