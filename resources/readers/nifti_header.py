"""What a NIfTI-1, NIfTI-2 or Analyze 7.5 header promises, checked before voxels are read or a buffer allocated.

nibabel parses the fields; what they may hold is checked here after the NIfTI-1 and NIfTI-2 definitions (nifti1.h,
nifti2.h) and the Mayo Analyze 7.5 description. Orientation is in `nifti_affine`, rescaling in `scaling`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from nibabel.nifti1 import Nifti1Header
from nibabel.nifti2 import Nifti2Header

from resources.findings import Code
from resources.readers.bytestream import EXPANSION
from resources.readers.image import FourthAxis
from resources.readers.source import RawFile, ReadOptions

Flavour = Literal["NIfTI-1", "NIfTI-2", "Analyze 7.5"]

VOXEL_TYPES: dict[int, np.dtype[Any]] = {
    2: np.dtype(np.uint8),
    4: np.dtype(np.int16),
    8: np.dtype(np.int32),
    16: np.dtype(np.float32),
    64: np.dtype(np.float64),
    256: np.dtype(np.int8),
    512: np.dtype(np.uint16),
    768: np.dtype(np.uint32),
    1024: np.dtype(np.int64),
    1280: np.dtype(np.uint64),
}
"""NIfTI datatype code -> numpy type, for the codes that hold one plain number a voxel."""

OTHER_TYPES = {
    0: "unknown",
    1: "binary (1 bit)",
    32: "complex64",
    128: "RGB24 colour",
    1536: "float128",
    1792: "complex128",
    2048: "complex256",
    2304: "RGBA32 colour",
}
"""Datatype codes that are known and refused, by name."""

_SINGLE = {348: b"n+1\0", 540: b"n+2\0"}
_PAIR = {348: b"ni1\0", 540: b"ni2\0"}
_MAGIC_AT = {348: 344, 540: 4}
_VECTOR_INTENTS = (1004, 1005, 1006, 1007, 1010, 2003, 2004)
"""Matrices, displacements, vectors, quaternions and colours."""

_TIME_UNITS = (8, 16, 24)
_FILLER = 1.0


@dataclass(frozen=True, slots=True)
class NiftiHeader:
    """A checked header.

    Attributes:
        flavour: Which of the three formats.
        fields: nibabel's header, for orientation and scaling.
        two_files: Whether the voxels lie in an `.img` of their own.
        shape: Voxel counts along the three stored axes.
        n_spatial: How many axes the file itself has, 2 or 3.
        n_channels: Extent of the fourth axis.
        fourth_axis: What that is, as far as the header tells.
        stored: Type of the stored numbers, with their byte order.
        offset: Where the voxels begin in the (inflated) file that holds them.
    """

    flavour: Flavour
    fields: Nifti1Header
    two_files: bool
    shape: tuple[int, int, int]
    n_spatial: int
    n_channels: int
    fourth_axis: FourthAxis
    stored: np.dtype[Any]
    offset: int

    @property
    def n_bytes(self) -> int:
        """(Inflated) bytes up to the end of the voxels."""
        return self.offset + math.prod(self.shape) * self.n_channels * self.stored.itemsize


def header_size(head: bytes) -> tuple[int, Literal["<", ">"]] | None:
    """Size of the header that `head` begins with, 348 or 540, and its byte order; `None` if it begins with neither."""
    for order in ("<", ">"):
        size = int(np.frombuffer(head[:4].ljust(4, b"\0"), f"{order}i4")[0])
        if size in _SINGLE:
            return size, order
    return None


def has_magic(head: bytes) -> bool:
    """Whether the NIfTI magic stands where it belongs, whatever the header's size field says."""
    return any(head[at : at + 4] in (_SINGLE[size], _PAIR[size]) for size, at in _MAGIC_AT.items())


def parse_header(file: RawFile) -> NiftiHeader:
    """Parse and check the header at the beginning of a file.

    Raises:
        BadInputError: WRONG_MAGIC, TRUNCATED, BAD_HEADER, UNEXPECTED_DIMENSIONS, UNSUPPORTED_DATA.
    """
    known = header_size(file.head)
    if known is None:
        size = int(np.frombuffer(file.head[:4], "<i4")[0])
        raise file.bad(Code.BAD_HEADER, f"the header gives its own size as {size}; it is 348 (NIfTI-1) or 540 (NIfTI-2)")
    size, order = known
    if len(file.head) < size:
        raise file.bad(Code.TRUNCATED, f"truncated: a header has {size} bytes, {len(file.head)} are there")
    flavour, two_files = _flavour(file, size)
    kind = Nifti1Header if size == 348 else Nifti2Header
    fields = kind(file.head[:size], endianness=order, check=False)
    shape, n_spatial, n_channels = _dimensions(file, fields)
    stored = _voxel_type(file, fields).newbyteorder(order)
    offset = _offset(file, fields, 0 if two_files else size + 4)
    axis = _fourth_axis(fields, n_channels, flavour)
    return NiftiHeader(flavour, fields, two_files, shape, n_spatial, n_channels, axis, stored, offset)


def check_promise(header: NiftiHeader, holder: RawFile, options: ReadOptions) -> None:
    """Compare what the header promises with the file that holds the voxels, before anything is allocated.

    Raises:
        BadInputError: TOO_LARGE or TRUNCATED.
    """
    size = holder.mark.size
    if header.n_bytes > options.max_bytes:
        counts = " x ".join(str(n) for n in (*header.shape, header.n_channels))
        raise holder.bad(
            Code.TOO_LARGE,
            f"the header promises {header.n_bytes} bytes ({counts} voxels of {header.stored.itemsize}) in a file of "
            f"{size}; {options.max_bytes} at most are taken",
        )
    if holder.compressed and header.n_bytes > EXPANSION * size:
        raise holder.bad(
            Code.TOO_LARGE,
            f"the header promises {header.n_bytes} bytes, more than {size} of gzip can inflate to: truncated, or false",
        )
    if not holder.compressed and header.n_bytes > size:
        raise holder.bad(
            Code.TRUNCATED,
            f"truncated: the header promises {header.n_bytes} bytes, the file holds {size}; download it again",
        )


def _flavour(file: RawFile, size: int) -> tuple[Flavour, bool]:
    magic = file.head[_MAGIC_AT[size] : _MAGIC_AT[size] + 4]
    flavour: Flavour = "NIfTI-1" if size == 348 else "NIfTI-2"
    if magic == _SINGLE[size]:
        return flavour, False
    if magic == _PAIR[size]:
        return flavour, True
    if size == 348 and file.path.name.lower().removesuffix(".gz").endswith(".hdr"):
        return "Analyze 7.5", True
    raise file.bad(Code.WRONG_MAGIC, f"the magic of a {flavour} file is {_SINGLE[size]!r}, here stands {magic!r}")


def _dimensions(file: RawFile, fields: Nifti1Header) -> tuple[tuple[int, int, int], int, int]:
    """Three spatial counts, how many of them the file has, and the extent of the fourth axis."""
    rank = int(fields["dim"][0])
    if not 1 <= rank <= 7:
        raise file.bad(Code.BAD_HEADER, f"dim[0], the number of dimensions, is {rank}; it is 1 to 7")
    counts = [int(n) for n in fields["dim"][1 : rank + 1]]
    if min(counts) < 1:
        raise file.bad(Code.BAD_HEADER, f"dim holds {counts}: every dimension is at least 1")
    while len(counts) > 3 and counts[-1] == 1:
        counts.pop()
    if len(counts) < 2:
        raise file.bad(Code.UNEXPECTED_DIMENSIONS, f"dim holds {counts}: an image has at least two dimensions")
    if len(counts) > 4:
        raise file.bad(Code.UNEXPECTED_DIMENSIONS, f"dim holds {counts}: dimensions beyond the fourth are not taken")
    n_spatial = min(len(counts), 3)
    nx, ny, nz, n_channels = [*counts, 1, 1][:4]
    return (nx, ny, nz), n_spatial, n_channels


def _voxel_type(file: RawFile, fields: Nifti1Header) -> np.dtype[Any]:
    code, bits = int(fields["datatype"]), int(fields["bitpix"])
    if code not in VOXEL_TYPES:
        name = OTHER_TYPES.get(code, "which no standard names")
        raise file.bad(Code.UNSUPPORTED_DATA, f"the datatype is {code}, {name}; a voxel must hold one real number")
    stored = VOXEL_TYPES[code]
    if bits != stored.itemsize * 8:
        raise file.bad(
            Code.BAD_HEADER,
            f"bitpix is {bits}, but datatype {code} ({stored.name}) has {stored.itemsize * 8} bits",
        )
    return stored


def _offset(file: RawFile, fields: Nifti1Header, least: int) -> int:
    offset = float(fields["vox_offset"])
    if not math.isfinite(offset) or offset != int(offset) or offset < least:
        raise file.bad(Code.BAD_HEADER, f"vox_offset is {offset:g}; it is a whole number of at least {least}")
    return int(offset)


def _fourth_axis(fields: Nifti1Header, n_channels: int, flavour: Flavour) -> FourthAxis:
    """Best knowledge only; the dataset's spec decides.

    Writers fill in seconds and a step of exactly 1 for anything, so these say nothing; another step, slice timing or a
    time offset does, and so does an intent that speaks of vectors or of time.
    """
    if n_channels == 1:
        return "none"
    intent = int(fields["intent_code"])
    if flavour == "Analyze 7.5" or intent in _VECTOR_INTENTS:
        return "channel"
    step = float(fields["pixdim"][4])
    timed = int(fields["xyzt_units"]) & 0x38 in _TIME_UNITS and math.isfinite(step) and step > 0
    says_time = step != _FILLER or int(fields["slice_code"]) > 0 or float(fields["toffset"]) != 0 or intent == 2001
    return "time" if timed and says_time else "channel"
