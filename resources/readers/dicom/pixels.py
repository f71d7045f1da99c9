"""The frames of one file as arrays: read, decompressed, bits put right, colours turned to red, green and blue."""

from __future__ import annotations

import io
import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt
from pydicom.pixels.processing import convert_color_space
from pydicom.pixels.utils import expand_ybr422

from resources.findings import Code
from resources.readers.bytestream import ByteStream, fingerprint
from resources.readers.dicom.bounded import Budget, BudgetExceededError, Seekable
from resources.readers.dicom.encapsulated import Frame, find_frames
from resources.readers.dicom.files import DicomFile
from resources.readers.dicom.guard import DEFAULT, DecoderError, decompress
from resources.readers.dicom.headers import open_inflated
from resources.readers.dicom.layout import PixelLayout
from resources.readers.image import SourceFile
from resources.readers.process import Limits
from resources.readers.source import open_regular

IN_MEMORY = 64 << 20
"""Files up to this size are read once, into memory; of larger ones a frame at a time is read, after a pass that hashes all."""

Pixels = npt.NDArray[Any]


@dataclass(slots=True)
class FrameReader:
    """The frames of one open file; see `open_frames`.

    Attributes:
        file: The file.
        source: Its fingerprint: it has been read to its end.
    """

    file: DicomFile
    source: SourceFile
    _stream: Seekable
    _size: int
    _limits: Limits
    _frames: list[Frame] = field(default_factory=list)

    def frame(self, index: int) -> Pixels:
        """One stored frame.

        Returns:
            Rows x columns of `PixelLayout.container`, or rows x columns x 3 of unsigned integers for colour.

        Raises:
            BadInputError: TRUNCATED, BAD_HEADER or DECODER_FAILED; UNREADABLE when somebody ended the decoder.
        """
        layout, pixels = self.file.whole, self.file.pixels
        if layout is None or pixels is None:
            raise self.file.source.bad(Code.UNSUPPORTED_DATA, "the file holds no pixels")
        array = self._decompressed(index, layout) if self.file.compressed else self._plain(index, layout)
        if layout.samples == 1 and not layout.floating:
            array = true_bits(array, layout, self.file)
        return self.file.palette.apply(array) if self.file.palette else array

    def _decompressed(self, index: int, layout: PixelLayout) -> Pixels:
        source, pixels = self.file.source, self.file.pixels
        if not self._frames and pixels is not None:
            self._frames = find_frames(
                self._stream, pixels.offset, self._size, layout.frames, self.file.extended_offsets, source.name
            )
        pieces = []
        for fragment in self._frames[index]:
            self._stream.seek(fragment.offset)
            pieces.append(self._stream.read(fragment.length))
        try:
            array = decompress(b"".join(pieces), self.file.syntax, _options(layout), layout.frame_bytes, self._limits)
        except DecoderError as error:
            code, advice = (Code.UNREADABLE, "run again") if error.passing else (Code.DECODER_FAILED, "download the file again")
            raise source.bad(code, f"frame {index} cannot be decompressed ({self.file.syntax}): {error}; {advice}") from error
        shape = (layout.rows, layout.columns, *((3,) if layout.samples == 3 else ()))
        if array.shape != shape or array.dtype.itemsize > 8:
            raise source.bad(
                Code.DECODER_FAILED, f"frame {index} decompresses to {array.shape} where the header promises {shape}"
            )
        return array

    def _plain(self, index: int, layout: PixelLayout) -> Pixels:
        pixels = self.file.pixels
        start_bit = index * layout.frame_bits
        first, last = start_bit // 8, math.ceil((start_bit + layout.frame_bits) / 8)
        swapped = not self.file.little_endian and layout.allocated <= 8 and pixels is not None and pixels.words
        if swapped:
            first, last = first // 2 * 2, (last + 1) // 2 * 2
        self._stream.seek((pixels.offset if pixels else 0) + first)
        content = self._stream.read(last - first)
        if swapped:
            content = np.frombuffer(content[: len(content) // 2 * 2], ">u2").astype("<u2").tobytes()
        skip = start_bit - first * 8
        if (len(content) * 8) - skip < layout.frame_bits:
            raise self.file.source.bad(
                Code.TRUNCATED, f"truncated: frame {index} ends before its last pixel; download the file again"
            )
        if layout.allocated == 1:
            bits = np.unpackbits(np.frombuffer(content, np.uint8), bitorder="little")
            return bits[skip : skip + layout.frame_bits].reshape(layout.rows, layout.columns)
        dtype = layout.container.newbyteorder("<" if self.file.little_endian else ">")
        numbers = np.frombuffer(content[skip // 8 : skip // 8 + layout.frame_bits // 8], dtype).astype(layout.container)
        return _arranged(numbers, layout)


@contextmanager
def open_frames(file: DicomFile, limits: Limits = DEFAULT) -> Iterator[FrameReader]:
    """Open the frames of a file, after it has been read (and hashed) to its end.

    Raises:
        BadInputError: UNREADABLE, FILE_CHANGED, or TOO_LARGE, TRUNCATED or CHECKSUM_MISMATCH for a deflated file.
    """
    source = file.source
    if source.mark.size <= IN_MEMORY:
        content = bytearray(source.mark.size)
        with ByteStream(source, len(content), inflate=False) as stream:
            stream.fill(memoryview(content))
            ending = stream.finish()
        raw: BinaryIO = io.BytesIO(content)
        yield _reader(file, ending.source, raw, limits)
        return
    found = fingerprint(source)
    opened, mark = open_regular(source.path, source.name)
    with io.BufferedReader(cast("io.RawIOBase", opened)) as buffered:
        source.check_mark(mark)
        yield _reader(file, found, cast("BinaryIO", buffered), limits)
    source.check_unchanged()


def _reader(file: DicomFile, found: SourceFile, raw: BinaryIO, limits: Limits) -> FrameReader:
    if file.deflated_from is not None:
        raw = io.BytesIO(_inflated(file, raw, file.deflated_from))
    return FrameReader(file, found, raw, file.source.mark.size, limits)


def _inflated(file: DicomFile, raw: BinaryIO, start: int) -> bytes:
    """A deflated file whole, in memory; never more than its header promises."""
    source, budget = file.source, Budget()
    if file.pixels is None or file.pixels.length is None or file.whole is None:
        return b""
    end = file.pixels.offset + file.pixels.length
    promised = math.ceil(file.whole.frame_bits * file.whole.frames / 8)
    if file.pixels.length > promised + 1 + (64 << 10):
        raise source.bad(
            Code.TOO_LARGE, f"the deflated pixels take {file.pixels.length} bytes where the header promises {promised}: a bomb?"
        )
    inflated = open_inflated(raw, start, end + (1 << 20), budget)
    inflated.seek(0)
    try:
        content = inflated.read(end)
    except BudgetExceededError as error:
        raise source.bad(Code.TOO_LARGE, str(error)) from error
    except zlib.error as error:
        raise source.bad(Code.CHECKSUM_MISMATCH, f"damaged deflated data: {error}; download it again") from error
    if len(content) < end:
        raise source.bad(Code.TRUNCATED, f"truncated: the data set inflates to {len(content)} of {end} bytes; download it again")
    return content


def true_bits(array: Pixels, layout: PixelLayout, file: DicomFile) -> Pixels:
    """Stored numbers from their containers: shifted, the sign taken from the topmost bit that counts.

    Raises:
        BadInputError: BAD_HEADER when bits beyond the ones that count are in use: then the header is wrong about them.
    """
    if layout.shift == 0 and layout.stored == layout.allocated:
        return array if array.dtype == layout.container else _refit(array, layout, file)
    unsigned = _refit(array, layout, file).view(f"u{layout.container.itemsize}")
    bits = unsigned >> layout.shift
    mask = (1 << layout.stored) - 1
    above = bits >> layout.stored
    if not layout.signed:
        if not layout.overlay_bits and above.any():
            raise _too_wide(file, layout)
        return bits & mask
    sign = bits >> (layout.stored - 1) & 1
    full = (1 << layout.allocated - layout.stored - layout.shift) - 1
    if not layout.overlay_bits and not (((above == 0) | ((above == full) & (sign == 1))).all()):
        raise _too_wide(file, layout)
    free = layout.allocated - layout.stored
    return (bits << free).view(layout.container) >> free


def _too_wide(file: DicomFile, layout: PixelLayout) -> Exception:
    return file.source.bad(
        Code.BAD_HEADER,
        f"the header says that {layout.stored} of {layout.allocated} bits count, and pixels use more: their "
        "values cannot be told",
    )


def _refit(array: Pixels, layout: PixelLayout, file: DicomFile) -> Pixels:
    """The same numbers in the container the header names; decoders choose their own."""
    if array.dtype == layout.container:
        return array
    fitted = array.astype(layout.container)
    if array.dtype.kind in "iu" and (array.dtype.itemsize > fitted.dtype.itemsize) and not np.array_equal(fitted, array):
        raise _too_wide(file, layout)
    return fitted


def _arranged(numbers: Pixels, layout: PixelLayout) -> Pixels:
    """Rows x columns (x colours) from numbers in stored order."""
    if layout.samples == 1:
        return numbers.reshape(layout.rows, layout.columns)
    if layout.photometric == "YBR_FULL_422":
        numbers = np.frombuffer(expand_ybr422(numbers.tobytes(), layout.allocated), layout.container)
    if layout.planar and layout.photometric != "YBR_FULL_422":
        colours = np.moveaxis(numbers.reshape(3, layout.rows, layout.columns), 0, -1)
    else:
        colours = numbers.reshape(layout.rows, layout.columns, 3)
    return convert_color_space(colours, layout.photometric, "RGB") if layout.photometric.startswith("YBR") else colours


def _options(layout: PixelLayout) -> dict[str, Any]:
    """What a decoder is told about a frame."""
    return {
        "rows": layout.rows,
        "columns": layout.columns,
        "number_of_frames": 1,
        "samples_per_pixel": layout.samples,
        "photometric_interpretation": "MONOCHROME2" if layout.photometric == "PALETTE COLOR" else layout.photometric,
        "planar_configuration": int(layout.planar) if layout.samples > 1 else None,
        "bits_allocated": layout.allocated,
        "bits_stored": layout.stored,
        "pixel_representation": int(layout.signed),
        "pixel_keyword": "PixelData",
    }
