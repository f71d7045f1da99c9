"""The DICOM files of a folder, grouped into series: what each is, and why it cannot be a volume where it cannot.

A series is what its headers say, whatever the names and folders of its files: files that agree in study, series UID, series
number, modality and kind of object. Nothing is chosen in silence: every DICOM file of the folder is in exactly one series.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from resources.findings import BadInputError, Finding
from resources.readers import declared
from resources.readers.dicom.assembly import assemble
from resources.readers.dicom.door import sniff
from resources.readers.dicom.files import DicomFile, read_file
from resources.readers.dicom.guard import DEFAULT
from resources.readers.dicom.identity import may_be_dicom
from resources.readers.dicom.kinds import Kind, SeriesKey
from resources.readers.dicom.volume import open_files
from resources.readers.image import FourthAxis, RawImage, Space
from resources.readers.plane import checked
from resources.readers.process import Limits
from resources.readers.source import ReadOptions, examine

PLAIN = ReadOptions()


@dataclass(frozen=True)
class DicomSeries:
    """One series of a folder, or one file of it that cannot be read.

    Attributes:
        uid: SeriesInstanceUID; empty for a file that cannot be read.
        kind: What its objects are.
        modality: E.g. `CT`.
        description: Series description, for people to recognise it by.
        number: Series number, as text.
        study_uid: UID of the study.
        patient_id: The identifier of the patient; empty unless it was asked for.
        frame_of_reference: UID of the coordinate system of its positions: series that share it lie in one space.
        files: Names of its files under the folder, with forward slashes, in rising order.
        shape: Columns, rows and slices of the image it makes; `None` where it makes none.
        n_channels: Extent of the fourth axis.
        fourth_axis: What that axis is.
        space: Whether the image has a place in a patient.
        refusal: Why it makes no image; `None` where it makes one, and for kinds that are none.
        folder: The folder that was looked at.
        parts: The headers of its files.
    """

    uid: str
    kind: Kind
    modality: str
    description: str
    number: str
    study_uid: str
    patient_id: str
    frame_of_reference: str
    files: tuple[str, ...]
    shape: tuple[int, int, int] | None
    n_channels: int
    fourth_axis: FourthAxis
    space: Space
    refusal: Finding | None
    folder: Path
    parts: tuple[DicomFile, ...] = field(default=(), repr=False, compare=False)


def scan_folder(folder: Path, names: Iterable[str], *, with_patient_id: bool = False) -> list[DicomSeries]:
    """Group the DICOM files of a folder into series, by content.

    Args:
        folder: The folder.
        names: Files under it to look at, with forward slashes, of any name and kind. Those that are no DICOM are in no
            series of the result; those that claim to be and cannot be read are each one of kind `unreadable`.
        with_patient_id: Whether `DicomSeries.patient_id` is wanted.

    Returns:
        The series, in the order of their first files.
    """
    groups: dict[SeriesKey, list[DicomFile]] = defaultdict(list)
    unreadable: list[DicomSeries] = []
    for name in sorted(names):
        try:
            file = _read(folder, name)
        except BadInputError as error:
            unreadable.append(_unreadable(folder, name, error.finding))
            continue
        if file is not None:
            groups[file.key].append(file if with_patient_id else replace(file, patient_id=""))
    series = [_series(folder, tuple(files)) for files in groups.values()]
    return sorted([*series, *unreadable], key=lambda found: found.files)


def open_series(series: DicomSeries, *, name: str = "", options: ReadOptions = PLAIN, limits: Limits = DEFAULT) -> RawImage:
    """Open the image a series makes.

    Args:
        series: As `scan_folder` found it.
        name: How findings call it; the folder of its files when not given.
        options: What the dataset's spec says.
        limits: What the decompression of a frame may cost.

    Raises:
        BadInputError: It makes none; the finding says why.
    """
    if series.refusal is not None and not series.parts:
        raise BadInputError(series.refusal.code, series.refusal.detail, file=series.refusal.file)
    declared.check(options)
    named = name or _name(series.files)
    image = checked(open_files(series.parts, series.folder, named, options, limits), named)
    return declared.placed(image, series.parts[0].source, options)


def _read(folder: Path, name: str) -> DicomFile | None:
    """The header of a file; `None` when it is no DICOM."""
    try:
        source = examine(folder / name, name)
    except BadInputError:
        if may_be_dicom(name):
            raise
        return None
    return read_file(source) if sniff(source.head) else None


def _series(folder: Path, files: tuple[DicomFile, ...]) -> DicomSeries:
    first = files[0]
    assembly, refusal = None, None
    if first.kind == "image":
        try:
            assembly = assemble(files, _name([file.source.name for file in files]), PLAIN)
        except BadInputError as error:
            refusal = error.finding
    return DicomSeries(
        uid=first.key.series_uid,
        kind=first.kind,
        modality=first.key.modality,
        description=first.description,
        number=first.key.number,
        study_uid=first.key.study_uid,
        patient_id=first.patient_id,
        frame_of_reference=first.frame_of_reference,
        files=tuple(file.source.name for file in files),
        shape=assembly.shape if assembly else None,
        n_channels=assembly.n_channels if assembly else 1,
        fourth_axis=assembly.fourth_axis if assembly else "none",
        space=assembly.space if assembly else "patient",
        refusal=refusal,
        folder=folder,
        parts=files,
    )


def _unreadable(folder: Path, name: str, why: Finding) -> DicomSeries:
    return DicomSeries("", "unreadable", "", "", "", "", "", "", (name,), None, 1, "none", "patient", why, folder)


def _name(files: Iterable[str]) -> str:
    """The folder that the files of a series have in common; the file itself when it is one."""
    names = list(files)
    if len(names) == 1:
        return names[0]
    parents = [Path(name).parent.parts for name in names]
    common = []
    for parts in zip(*parents, strict=False):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    return "/".join(common)
