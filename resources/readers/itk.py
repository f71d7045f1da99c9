"""Reads MetaImage, NRRD and GIPL through SimpleITK, after the stored bytes have been proven whole.

SimpleITK parses the header and decodes the voxels, the whole array at once. Its world is LPS; ours is RAS+.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from resources.findings import Code, Finding, finding
from resources.geometry import FloatArray, spacing_mm
from resources.readers import metaimage, nrrd
from resources.readers.body import Body
from resources.readers.bytestream import fingerprint
from resources.readers.grid import assumed_affine, grid_findings, orientation_unknown, sane_affine
from resources.readers.image import RawImage, Slab, SourceFile
from resources.readers.slabs import check_bounds
from resources.readers.source import RawFile, ReadOptions

if TYPE_CHECKING:
    import SimpleITK

GIPL_SUFFIXES = frozenset({".gipl"})
_GIPL_HEADER = 256
_GIPL_MAGICS = (b"\xef\xff\xe9\xb0", b"\x2a\xe3\x89\xb8")
_LPS_TO_RAS = np.diag([-1.0, -1.0, 1.0, 1.0])
_MM_PER_UNIT = {"um": 1e-3, "µm": 1e-3, "micron": 1e-3, "m": 1e3, "cm": 10.0}


def sniff_gipl(head: bytes) -> bool:
    """Whether a file begins with a GIPL header (its magic is at byte 252)."""
    return head[252:256] in _GIPL_MAGICS


def open_meta(file: RawFile, options: ReadOptions) -> RawImage:
    """Open a MetaImage; raises `BadInputError` as every reader does."""
    body, fields = metaimage.locate(file)
    facts = _Facts("MetaImage", "MetaImageIO", body, metaimage.knows_orientation(fields), metaimage.knows_spacing(fields))
    return _open(facts, options)


def open_nrrd(file: RawFile, options: ReadOptions) -> RawImage:
    """Open a NRRD; raises `BadInputError` as every reader does."""
    body, fields = nrrd.locate(file)
    facts = _Facts("NRRD", "NrrdImageIO", body, nrrd.knows_orientation(fields), nrrd.knows_spacing(fields), nrrd.unit(fields))
    return _open(facts, options)


def open_gipl(file: RawFile, options: ReadOptions) -> RawImage:
    """Open a GIPL file, plain or gzip; raises `BadInputError` as every reader does."""
    body = Body(file, file, 0, "gzip" if file.compressed else "plain")
    return _open(_Facts("GIPL", "GiplImageIO", body, knows_orientation=False, knows_spacing=True, extra=_GIPL_HEADER), options)


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is known of a file beside SimpleITK's reading of its header."""

    format: str
    reader: str
    body: Body
    knows_orientation: bool
    knows_spacing: bool
    unit: str = ""
    extra: int = 0


@dataclass(frozen=True, slots=True)
class ItkVoxels:
    """The voxels of a file that SimpleITK reads; serves as a `SlabStream`.

    Attributes:
        body: The stored bytes.
        n_bytes: How many (inflated) bytes they are.
        read: Reads the file; gives the image.
        n_planes: Extent of the last spatial axis.
        sources: Filled in the pass.
        findings: Filled in the pass.
    """

    body: Body
    n_bytes: int
    read: Callable[[], SimpleITK.Image]
    n_planes: int
    sources: list[SourceFile]
    findings: list[Finding]

    def __call__(self, bounds: Sequence[tuple[int, int]]) -> Iterator[Slab]:
        """Yield the slabs; see `SlabStream`."""
        check_bounds(bounds, self.n_planes)
        self.sources.clear()
        self.findings.clear()
        ending = self.body.prove(self.n_bytes)
        image = self.read()
        channels = _channels(image)
        for file in (self.body.header, self.body.holder):
            file.check_unchanged()
        headers = () if self.body.header is self.body.holder else (fingerprint(self.body.header),)
        self.sources.extend((*headers, ending.source))
        self.findings.extend(ending.findings)
        for channel, array in enumerate(channels):
            for start, stop in bounds:
                yield Slab(channel, start, np.asfortranarray(array.T[:, :, start:stop]))


def _open(facts: _Facts, options: ReadOptions) -> RawImage:
    file = facts.body.header
    information = _reader(facts)
    shape, n_channels, dtype = _layout(information, file)
    n_bytes = facts.extra + math.prod(shape) * n_channels * dtype.itemsize
    facts.body.check_promise(n_bytes, options)
    affine, notes = _affine(information, facts, options.assume_orientation)
    sources: list[SourceFile] = []
    later: list[Finding] = []
    voxels = ItkVoxels(facts.body, n_bytes, lambda: _decoded(facts), shape[2], sources, later)
    return RawImage(
        path=file.path,
        format=facts.format,
        shape=shape,
        dtype=dtype,
        affine_ras_mm=affine,
        slab_axis=2,
        n_channels=n_channels,
        fourth_axis="none" if n_channels == 1 else "channel",
        orientation_known=facts.knows_orientation,
        findings=(*notes, *grid_findings(affine, file.name)),
        stream=voxels,
        sources=sources,
        stream_findings=later,
    )


def _simpleitk() -> Any:  # a module without types
    """SimpleITK, imported when the first file needs it: it takes most of a second that no NIfTI dataset should pay."""
    import SimpleITK as module  # noqa: N813, PLC0415

    return module


def _reader(facts: _Facts) -> SimpleITK.ImageFileReader:
    """SimpleITK's reader, with the header read. The format is dictated, or SimpleITK would go by the file's name."""
    reader = _simpleitk().ImageFileReader()
    reader.SetImageIO(facts.reader)
    reader.SetFileName(str(facts.body.header.path))
    try:
        reader.ReadImageInformation()
    except RuntimeError as error:
        raise facts.body.header.bad(
            Code.BAD_HEADER, f"SimpleITK cannot read the {facts.format} header: {_last_line(error)}"
        ) from error
    return reader


def _decoded(facts: _Facts) -> SimpleITK.Image:
    try:
        return _reader(facts).Execute()
    except RuntimeError as error:
        raise facts.body.holder.bad(
            Code.BAD_HEADER, f"SimpleITK cannot decode the voxels, whose bytes are all there: {_last_line(error)}"
        ) from error


def _last_line(error: RuntimeError) -> str:
    return str(error).strip().splitlines()[-1].strip()


def _layout(information: SimpleITK.ImageFileReader, file: RawFile) -> tuple[tuple[int, int, int], int, np.dtype[Any]]:
    """Voxel counts along three axes, number of channels and voxel type."""
    names = ("UInt8", "Int8", "UInt16", "Int16", "UInt32", "Int32", "UInt64", "Int64", "Float32", "Float64")
    itk = _simpleitk()
    types = {getattr(itk, f"sitk{prefix}{name}"): np.dtype(name.lower()) for name in names for prefix in ("", "Vector")}
    if information.GetPixelID() not in types:
        name = itk.GetPixelIDValueAsString(information.GetPixelID())
        raise file.bad(Code.UNSUPPORTED_DATA, f"the datatype is {name}; a voxel must hold real numbers")
    size, components = [int(n) for n in information.GetSize()], int(information.GetNumberOfComponents())
    while len(size) > 3 and size[-1] == 1:
        size.pop()
    if not 2 <= len(size) <= 4 or (len(size) == 4 and components > 1):
        raise file.bad(
            Code.UNEXPECTED_DIMENSIONS,
            f"the dimensions are {size} with {components} components; four at most are taken",
        )
    nx, ny, nz, n_volumes = [*size, 1, 1][:4]
    return (nx, ny, nz), n_volumes * components, types[information.GetPixelID()]


def _affine(information: SimpleITK.ImageFileReader, facts: _Facts, assumed: str | None) -> tuple[FloatArray, list[Finding]]:
    name = facts.body.header.name
    rank = int(information.GetDimension())
    used = min(rank, 3)
    affine = np.eye(4)
    affine[:used, :used] = np.reshape(information.GetDirection(), (rank, rank))[:used, :used] * information.GetSpacing()[:used]
    affine[:used, 3] = information.GetOrigin()[:used]
    if not facts.knows_spacing:
        raise facts.body.header.bad(Code.BAD_AFFINE, f"the {facts.format} header holds no spacing")
    try:
        affine = sane_affine(_LPS_TO_RAS @ affine) + 0.0
    except ValueError as error:
        raise facts.body.header.bad(Code.BAD_AFFINE, str(error)) from error
    notes: list[Finding] = []
    if not facts.knows_orientation:
        notes.append(orientation_unknown(f"the {facts.format} file does not state how its axes lie", assumed, name))
        affine = assumed_affine(assumed or "", spacing_mm(affine))
    scale = _MM_PER_UNIT.get(facts.unit, 1.0)
    if scale != 1:
        notes.append(finding(Code.UNITS_CONVERTED, f"lengths in {facts.unit} are multiplied by {scale:g} to give mm", file=name))
    elif facts.unit not in {"", "mm"}:
        notes.append(finding(Code.UNITS_UNKNOWN, f"the header's unit is {facts.unit!r}; taken as mm", file=name))
    affine[:3] *= scale
    return affine, notes


def _channels(image: SimpleITK.Image) -> npt.NDArray[Any]:
    """The voxels as (channel, z, y, x), whatever the image's dimensions."""
    array = np.asarray(_simpleitk().GetArrayViewFromImage(image))
    rank = image.GetDimension()
    if image.GetNumberOfComponentsPerPixel() > 1:
        array = np.moveaxis(array, -1, 0)
    elif rank < 4:
        array = array[None]
    else:
        array = array.reshape(-1, *array.shape[-3:])
    return array[:, None] if rank == 2 else array
