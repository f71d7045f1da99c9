"""What one DICOM file is and to which series it belongs, by the little of its header that says so."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from resources.findings import BadInputError, Code
from resources.readers.dicom.door import SUFFIXES, sniff
from resources.readers.dicom.elements import Elements, quiet
from resources.readers.dicom.files import identified
from resources.readers.dicom.headers import read_header
from resources.readers.dicom.kinds import Identity
from resources.readers.dicom.tags import said
from resources.readers.source import examine

_TELLING = (
    "SpecificCharacterSet", "SOPClassUID", "SOPInstanceUID", "StudyInstanceUID", "SeriesInstanceUID", "FrameOfReferenceUID",
    "Modality", "SeriesNumber", "SeriesDescription", "Rows", "Columns", "BitsAllocated", "ReferencedSeriesSequence",
    "ReferencedFrameOfReferenceSequence", "DirectoryRecordSequence",
)  # fmt: skip


def identify(path: Path, name: str, keywords: Iterable[str] = ()) -> Identity | None:
    """What a file is, without its pixels and planes; `None` when it is no DICOM file and does not claim to be.

    Args:
        path: The file.
        name: How findings call it.
        keywords: Further elements whose values are wanted.

    Raises:
        ValueError: There is no such keyword.
    """
    wanted = tuple(keywords)
    try:
        source = examine(path, name)
        if not sniff(source.head) and not _claims_to_be(name):
            return None
        with quiet():
            header = read_header(source, {*_TELLING, *wanted})
            file, elements = identified(header), header.elements
            return Identity(
                file.kind,
                file.key,
                file.description,
                file.frame_of_reference,
                (*segmentation_series(elements), *structure_set_series(elements)) if file.kind != "image" else (),
                said(elements, wanted),
            )
    except BadInputError as error:
        if error.finding.code is Code.WRONG_MAGIC or may_be_dicom(name):
            return Identity("unreadable", problem=error.finding)
        return None


def may_be_dicom(name: str) -> bool:
    """Whether a file without content is missed as a DICOM file: by its ending, or because it has none but a part of a UID."""
    ending = PurePosixPath(name).suffix.lower()
    return ending in SUFFIXES or ending[1:].isdigit()


def _claims_to_be(name: str) -> bool:
    """Whether the ending alone says that a file is DICOM."""
    return PurePosixPath(name).suffix.lower() in SUFFIXES - {""}


def segmentation_series(elements: Elements) -> tuple[str, ...]:
    """UIDs of the series of images that a segmentation was drawn on."""
    return tuple(uid for item in elements.items("ReferencedSeriesSequence") if (uid := item.text("SeriesInstanceUID")))


def structure_set_series(elements: Elements) -> tuple[str, ...]:
    """UIDs of the series of images that a structure set was drawn on."""
    return tuple(
        series.text("SeriesInstanceUID")
        for frame in elements.items("ReferencedFrameOfReferenceSequence")
        for study in frame.items("RTReferencedStudySequence")
        for series in study.items("RTReferencedSeriesSequence")
    )
