"""Makes one image of the files of a series: checks that they belong together, stacks their planes, says what was odd."""

from __future__ import annotations

import filecmp
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from resources.findings import BadInputError, Code, Finding, Severity, finding
from resources.geometry import FloatArray
from resources.readers.dicom.files import DicomFile
from resources.readers.dicom.layout import PixelLayout, check_promise
from resources.readers.dicom.picture import UNKNOWN
from resources.readers.dicom.planes import Plane
from resources.readers.dicom.rescale import value_type
from resources.readers.dicom.stacking import stack
from resources.readers.grid import grid_findings
from resources.readers.image import FourthAxis, Space, ThirdAxis
from resources.readers.source import RawFile, ReadOptions, unreadable

_NEEDS_RESCALE = frozenset({"CT", "PT"})


@dataclass(frozen=True, slots=True)
class Assembly:
    """An image, before a voxel is read.

    Attributes:
        files: The files that make it up.
        planes: For each volume its planes, in the order of the third axis.
        colours: 3 where the fourth axis is red, green and blue; 1 otherwise.
        layout: What one plane looks like.
        dtype: Type of the values.
        affine: (4, 4) column, row and slice index -> RAS+ mm; of a picture the spacing alone.
        space: Whether the affine places the voxels in a patient.
        third_axis: What the third axis is.
        fourth_axis: What the fourth axis is.
        spacing_known: For every axis, whether its spacing is a stated length.
        findings: What was odd.
    """

    files: tuple[DicomFile, ...]
    planes: tuple[tuple[Plane, ...], ...]
    colours: int
    layout: PixelLayout
    dtype: np.dtype[Any]
    affine: FloatArray
    space: Space
    third_axis: ThirdAxis
    fourth_axis: FourthAxis
    spacing_known: tuple[bool, bool, bool]
    findings: tuple[Finding, ...]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Voxel counts: columns, rows, slices."""
        return self.layout.columns, self.layout.rows, len(self.planes[0])

    @property
    def n_channels(self) -> int:
        """Extent of the fourth axis."""
        return self.colours if self.colours > 1 else len(self.planes)


def assemble(files: Sequence[DicomFile], name: str, options: ReadOptions) -> Assembly:
    """Make one image of the files of a series.

    Args:
        files: All of them, in any order.
        name: How findings call the series.
        options: What the dataset's spec says.

    Raises:
        BadInputError: They are no image, or not one: the finding says why.
    """
    files, notes = _without_copies(files)
    layout = _common_layout(files, name)
    _check_tables(files, name)
    _check_size(files, layout, name, options)
    planes = [plane for file in files for plane in file.planes]
    placed = [plane for plane in planes if plane.placement is not None]
    notes += _value_findings(files, planes, name)
    if not placed:
        return _pictures(files, planes, layout, name, notes)
    if len(placed) < len(planes):
        lost = next(plane.file for plane in planes if plane.placement is None)
        raise BadInputError(
            Code.MIXED_SERIES,
            f"{len(planes) - len(placed)} of {len(planes)} images have no position, {lost} is one of them",
            file=name,
        )
    return _volume(files, placed, layout, name, notes)


def _volume(
    files: tuple[DicomFile, ...], planes: Sequence[Plane], layout: PixelLayout, name: str, notes: list[Finding]
) -> Assembly:
    stacked = stack(planes, name)
    if layout.colours > 1 and len(stacked.volumes) > 1:
        raise BadInputError(
            Code.UNEXPECTED_DIMENSIONS,
            f"{len(stacked.volumes)} volumes of colours are five dimensions; four are taken (they are told apart by "
            f"{stacked.axis.told_by})",
            file=name,
        )
    return Assembly(
        files=files,
        planes=stacked.volumes,
        colours=layout.colours,
        layout=layout,
        dtype=_dtype(files, planes),
        affine=stacked.affine,
        space="patient",
        third_axis="space",
        fourth_axis="channel" if layout.colours > 1 else stacked.axis.kind,
        spacing_known=(True, True, stacked.spacing_known),
        findings=(*notes, *stacked.findings, *grid_findings(stacked.affine, name)),
    )


def _pictures(
    files: tuple[DicomFile, ...], planes: list[Plane], layout: PixelLayout, name: str, notes: list[Finding]
) -> Assembly:
    """One picture, film or stack of pages without a place in a patient."""
    if len(files) > 1:
        kind = files[0].key.modality or "unknown"
        raise BadInputError(
            Code.NOT_A_VOLUME,
            f"{len(files)} pictures ({kind}) without ImagePositionPatient: nothing says how they lie to one another; open them "
            "one by one",
            file=name,
        )
    pitch = files[0].pitch or UNKNOWN
    columns, rows, known = pitch.columns, pitch.rows, pitch.known
    notes += pitch.findings(name)
    film = len(planes) > 1 and files[0].film
    return Assembly(
        files=files,
        planes=(tuple(planes),),
        colours=layout.colours,
        layout=layout,
        dtype=_dtype(files, planes),
        affine=np.diag([columns, rows, 1.0, 1.0]),
        space="picture",
        third_axis="time" if film else "page",
        fourth_axis="channel" if layout.colours > 1 else "none",
        spacing_known=(known, known, False),
        findings=tuple(notes),
    )


def _without_copies(files: Sequence[DicomFile]) -> tuple[tuple[DicomFile, ...], list[Finding]]:
    """Files whose object is there once already, byte for byte, are left out.

    Raises:
        BadInputError: DUPLICATE_SLICE for two files of one object that differ; the problem of a file that has one.
    """
    kept: dict[str, DicomFile] = {}
    notes: list[Finding] = []
    for file in sorted(files, key=lambda file: file.source.name):
        if file.problem is not None:
            raise BadInputError(file.problem.code, file.problem.detail, file=file.problem.file)
        uid = file.sop_uid or file.source.name
        first = kept.setdefault(uid, file)
        if first is file:
            continue
        if not _same_bytes(first.source, file.source):
            raise BadInputError(
                Code.DUPLICATE_SLICE,
                f"{first.source.name} and {file.source.name} claim to be one object (SOPInstanceUID {uid}) and differ; keep the "
                "right one",
                file=file.source.name,
            )
        detail = f"a copy of {first.source.name}, byte for byte; left out"
        notes.append(finding(Code.DUPLICATE_SLICE, detail, file=file.source.name, severity=Severity.WARNING))
    return tuple(kept.values()), notes


def _same_bytes(first: RawFile, second: RawFile) -> bool:
    try:
        return filecmp.cmp(first.path, second.path, shallow=False)
    except OSError as error:
        raise unreadable(second.name, error) from error


def _common_layout(files: Sequence[DicomFile], name: str) -> PixelLayout:
    """The layout of one plane, which all files must share as far as one array asks for it."""
    layouts = [(file, file.layout) for file in files if file.layout is not None]
    if not layouts or len(layouts) < len(files):
        raise BadInputError(Code.NOT_A_VOLUME, "the series holds no pixels", file=name)
    first, layout = layouts[0]
    odd = [(file, other) for file, other in layouts if not layout.alike(other)]
    if odd:
        counts = Counter(f"{other.columns} x {other.rows} {other.photometric}" for _, other in layouts)
        listing = ", ".join(f"{count} of {kind}" for kind, count in counts.most_common(4))
        raise BadInputError(
            Code.MIXED_SERIES,
            f"images of several kinds in one series ({listing}; {first.source.name} and {odd[0][0].source.name} differ)",
            file=name,
        )
    return layout


def _check_tables(files: Sequence[DicomFile], name: str) -> None:
    if len({file.table for file in files}) > 1:
        raise BadInputError(
            Code.UNSUPPORTED_DATA,
            "the images of the series have different modality look-up tables: their values do not compare",
            file=name,
        )


def _check_size(files: Sequence[DicomFile], layout: PixelLayout, name: str, options: ReadOptions) -> None:
    for file in files:
        check_promise(file.whole or layout, file.source.name, options, compressed=file.compressed)
    total = layout.frame_bytes * sum(len(file.planes) for file in files)
    if total > options.max_bytes:
        detail = f"{len(files)} files hold {total} bytes of voxels; at most {options.max_bytes} are taken"
        raise BadInputError(Code.TOO_LARGE, detail, file=name)


def _dtype(files: Sequence[DicomFile], planes: Sequence[Plane]) -> np.dtype[Any]:
    first = files[0]
    if first.palette is not None:
        return np.dtype(np.uint8)
    if first.table is not None:
        return np.dtype(np.uint16)
    layouts = {file.source.name: file.layout for file in files}
    pairs = {(layout, plane.rescale) for plane in planes if (layout := layouts[plane.file]) is not None}
    return value_type(sorted(pairs, key=repr))


def _value_findings(files: Sequence[DicomFile], planes: Sequence[Plane], name: str) -> list[Finding]:
    """What is to be known about the values."""
    first = files[0]
    found: list[Finding] = []
    if first.layout is not None and first.layout.photometric == "MONOCHROME1":
        detail = "MONOCHROME1: low values are shown white; the values are kept as the modality gives them, not inverted"
        found.append(finding(Code.MONOCHROME1, detail, file=name))
    if first.key.modality in _NEEDS_RESCALE and first.table is None and not all(plane.rescale.stated for plane in planes):
        unit = "HU" if first.key.modality == "CT" else "activity"
        detail = (
            f"RescaleSlope and RescaleIntercept are missing: the stored numbers are taken as the values, {unit} is not assured"
        )
        found.append(finding(Code.RESCALE_MISSING, detail, file=name))
    if first.padding is not None:
        detail = f"PixelPaddingValue is {first.padding:g} (before rescaling): such voxels are padding, not patient"
        found.append(finding(Code.PADDING_VALUE, detail, file=name))
    found += [
        finding(Code.TRAILING_BYTES, f"{file.surplus} bytes follow the pixels the header promises", file=file.source.name)
        for file in files
        if file.surplus > 0
    ]
    if any(file.lossy for file in files):
        found.append(finding(Code.LOSSY_COMPRESSION, "the pixels were once compressed with loss", file=name))
    if any(file.burned_in for file in files):
        detail = "text may be burned into the pixels (BurnedInAnnotation is not NO): look for names before publishing pictures"
        found.append(finding(Code.BURNED_IN_TEXT, detail, file=name))
    return found
