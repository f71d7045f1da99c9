"""What the pixels of one file look like, and whether the file can hold them: decided before anything is allocated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from resources.findings import BadInputError, Code
from resources.readers.dicom.elements import Elements
from resources.readers.dicom.headers import Header
from resources.readers.plane import check_plane
from resources.readers.source import ReadOptions

MAX_FRAME_BYTES = 512 << 20
"""Largest decoded frame of a compressed file; the largest mammograms take 60 MiB."""

GRAY = frozenset({"MONOCHROME1", "MONOCHROME2"})
COLOUR = frozenset({"RGB", "YBR_FULL", "YBR_FULL_422", "YBR_ICT", "YBR_RCT"})
PALETTE = "PALETTE COLOR"


@dataclass(frozen=True, slots=True)
class PixelLayout:
    """The pixels of one file (PS3.3 C.7.6.3).

    Attributes:
        rows: Pixels down.
        columns: Pixels across.
        frames: How many such pictures.
        samples: Numbers per pixel as stored: 1, or 3 for colour.
        photometric: What they mean, e.g. `MONOCHROME2`.
        planar: Whether the colours of a frame lie one after another instead of pixel by pixel.
        allocated: Bits one number takes.
        stored: Bits that count, the lowest of them at bit `shift`.
        shift: Bits below the ones that count.
        signed: Whether the topmost bit that counts is a sign.
        floating: Whether the numbers are floating-point (allocated 32 or 64).
        overlay_bits: Whether the header says that bits above the ones that count hold an overlay.
    """

    rows: int
    columns: int
    frames: int
    samples: int
    photometric: str
    planar: bool
    allocated: int
    stored: int
    shift: int
    signed: bool
    floating: bool
    overlay_bits: bool

    @property
    def container(self) -> np.dtype[Any]:
        """Type of the numbers in memory, native byte order; single bits become bytes."""
        if self.floating:
            return np.dtype(f"f{self.allocated // 8}")
        return np.dtype(f"{'i' if self.signed else 'u'}{max(self.allocated // 8, 1)}")

    @property
    def colours(self) -> int:
        """Channels a reader gets: 3 where the pixels are colours."""
        return 3 if self.samples == 3 or self.photometric == PALETTE else 1

    @property
    def frame_bits(self) -> int:
        """Bits one frame takes in a file that is not compressed."""
        samples = 2 if self.photometric == "YBR_FULL_422" else self.samples
        return self.rows * self.columns * samples * self.allocated

    @property
    def frame_bytes(self) -> int:
        """Bytes one frame takes in memory."""
        return self.rows * self.columns * max(self.samples, self.colours) * self.container.itemsize

    def alike(self, other: PixelLayout) -> bool:
        """Whether frames of both can lie in one array."""
        return (self.rows, self.columns, self.colours, self.floating) == (
            other.rows,
            other.columns,
            other.colours,
            other.floating,
        )


def read_layout(header: Header) -> PixelLayout:
    """The layout that a header with pixels describes.

    Raises:
        BadInputError: BAD_HEADER where it makes no sense, UNSUPPORTED_DATA where it is beyond this reader, TRUNCATED where the
            file cannot hold it.
    """
    elements = header.elements
    rows, columns = (_required(elements, keyword, 1, 65535) for keyword in ("Rows", "Columns"))
    samples = elements.whole("SamplesPerPixel") or 1
    floating = header.pixels is not None and header.pixels.keyword != "PixelData"
    allocated = _allocated(elements, floating=floating)
    stored, shift = _bits(elements, allocated)
    layout = PixelLayout(
        rows=rows,
        columns=columns,
        frames=_frames(elements),
        samples=samples,
        photometric=_photometric(elements, samples),
        planar=bool(elements.whole("PlanarConfiguration")) and samples > 1,
        allocated=allocated,
        stored=allocated if floating else stored,
        shift=0 if floating else shift,
        signed=bool(elements.whole("PixelRepresentation")) and not floating,
        floating=floating,
        overlay_bits=_has_overlay_bits(elements),
    )
    _check_length(header, layout)
    return layout


def surplus_bytes(header: Header, layout: PixelLayout) -> int:
    """Bytes behind the last pixel of a plain file, the one that makes its length even aside."""
    if header.pixels is None or header.pixels.length is None:
        return 0
    promised = math.ceil(layout.frame_bits * layout.frames / 8)
    return header.pixels.length - promised - promised % 2


def check_promise(layout: PixelLayout, file: str, options: ReadOptions, *, compressed: bool) -> None:
    """Refuse pixels that would take more memory than is granted.

    Raises:
        BadInputError: TOO_LARGE.
    """
    total = layout.frame_bytes * layout.frames
    if total > options.max_bytes:
        raise BadInputError(
            Code.TOO_LARGE,
            f"{layout.frames} frames of {layout.columns} x {layout.rows} pixels take {total} bytes; at most {options.max_bytes} "
            "are taken",
            file=file,
        )
    check_plane((layout.columns, layout.rows), layout.container.itemsize, max(layout.samples, layout.colours), file)
    if compressed and layout.frame_bytes > MAX_FRAME_BYTES:
        raise BadInputError(
            Code.TOO_LARGE,
            f"a compressed frame is to inflate to {layout.frame_bytes} bytes; at most {MAX_FRAME_BYTES} are taken",
            file=file,
        )


def _required(elements: Elements, keyword: str, low: int, high: int) -> int:
    found = elements.whole(keyword)
    if found is None:
        raise elements.bad(f"{keyword} is missing, and without it the pixels cannot be told apart")
    if not low <= found <= high:
        raise elements.bad(f"{keyword} is {found}; {low} to {high} makes sense")
    return found


def _frames(elements: Elements) -> int:
    found = elements.whole("NumberOfFrames")
    if found is None:
        return 1
    if not 1 <= found < 1 << 31:
        raise elements.bad(f"NumberOfFrames is {found}")
    return found


def _allocated(elements: Elements, *, floating: bool) -> int:
    allocated = _required(elements, "BitsAllocated", 1, 64)
    if allocated not in ({32, 64} if floating else {1, 8, 16, 32, 64}):
        raise elements.bad(f"BitsAllocated is {allocated}; 1, 8, 16, 32 and 64 are taken", Code.UNSUPPORTED_DATA)
    return allocated


def _bits(elements: Elements, allocated: int) -> tuple[int, int]:
    """Bits that count, and bits below them."""
    stored = elements.whole("BitsStored") or allocated
    high = elements.whole("HighBit")
    high = stored - 1 if high is None else high
    if not 1 <= stored <= allocated or not stored - 1 <= high < allocated:
        raise elements.bad(f"BitsStored {stored} and HighBit {high} do not fit BitsAllocated {allocated}")
    return stored, high + 1 - stored


def _photometric(elements: Elements, samples: int) -> str:
    found = elements.text("PhotometricInterpretation") or ("MONOCHROME2" if samples == 1 else "RGB")
    wanted = 3 if found in COLOUR else 1
    if found not in GRAY | COLOUR | {PALETTE}:
        raise elements.bad(f"PhotometricInterpretation is {found!r}, which is not supported", Code.UNSUPPORTED_DATA)
    if samples != wanted:
        raise elements.bad(f"SamplesPerPixel is {samples}, and {found} has {wanted}")
    return found


def _has_overlay_bits(elements: Elements) -> bool:
    """Whether an overlay lies in the unused bits of the pixels (retired in 2004, still met)."""
    positions = (elements.dataset.get(0x60000102 + (repeat << 16)) for repeat in range(0, 32, 2))
    return any(bool(getattr(position, "value", None)) for position in positions)


def _check_length(header: Header, layout: PixelLayout) -> None:
    """Refuse a plain file that is shorter than its header promises."""
    pixels = header.pixels
    if pixels is None:
        return
    compressed = header.compressed
    if compressed != (pixels.length is None):
        how = "compressed" if compressed else "plain"
        found = "in one plain piece" if compressed else "in fragments"
        raise header.elements.bad(f"the transfer syntax {header.syntax.name} is {how}, and the pixels are stored {found}")
    if pixels.length is None:
        return
    promised = math.ceil(layout.frame_bits * layout.frames / 8)
    there = pixels.length if header.deflated else min(pixels.length, header.file.mark.size - pixels.offset)
    if there < promised:
        raise header.elements.bad(
            f"truncated pixel data: the header promises {promised} bytes of pixels, the file holds {there} of the length it "
            f"states ({pixels.length}); download it again",
            Code.TRUNCATED,
        )
