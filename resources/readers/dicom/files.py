"""What one DICOM file is: which series it belongs to, what kind of object, and the planes it brings along."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from resources.findings import BadInputError, Code, Finding
from resources.readers.dicom.elements import Elements, quiet
from resources.readers.dicom.enhanced import enhanced_planes, has_groups
from resources.readers.dicom.frames import is_film, plain_planes
from resources.readers.dicom.headers import Header, PixelData, read_header
from resources.readers.dicom.kinds import Kind, SeriesKey
from resources.readers.dicom.layout import PixelLayout, read_layout, surplus_bytes
from resources.readers.dicom.mosaic import is_mosaic, mosaic_planes
from resources.readers.dicom.palette import Palette, read_palette
from resources.readers.dicom.picture import Pitch, read_pitch
from resources.readers.dicom.planes import Plane
from resources.readers.dicom.rescale import Table, read_table
from resources.readers.source import RawFile

_DIRECTORY = "1.2.840.10008.1.3.10"
_STORAGE = "1.2.840.10008.5.1.4.1.1."
_SEGMENTATIONS = frozenset({_STORAGE + "66.4", _STORAGE + "66.7"})
_STRUCTURE_SET = _STORAGE + "481.3"
_REPORTS = _STORAGE + "88."
_KEY_OBJECTS = _STORAGE + "88.59"
_FILMED_TEXT = frozenset({"US", "IVUS", "SC", "OT", "XC", "ES", "XA", "RF"})
"""Modalities whose pictures often have text in their pixels; others say so."""


@dataclass(frozen=True, slots=True)
class DicomFile:
    """One file, its header read.

    Attributes:
        source: The file.
        kind: What it is.
        key: Its series.
        sop_uid: UID of the object.
        description: Series description, for people to recognise it by.
        patient_id: Identifier of the patient; the subject key where a dataset has no other.
        frame_of_reference: UID of the coordinate system of its positions.
        syntax: UID of the transfer syntax.
        little_endian: Byte order of its numbers.
        compressed: Whether its frames are compressed.
        deflated_from: Where its data set begins, when that is deflated as a whole.
        pixels: Where its pixels are.
        layout: What one plane looks like; of a mosaic, one tile.
        whole: What one stored frame looks like; differs from `layout` in a mosaic.
        planes: Its planes.
        table: Modality look-up table.
        palette: Colours its numbers stand for.
        padding: Stored number that marks pixels without content.
        surplus: Bytes behind its last pixel.
        extended_offsets: Extended offset table, as stored.
        pitch: Pixel spacing of a picture that has no place in a patient.
        film: Whether its frames follow one another in time.
        lossy: Whether its pixels were ever compressed with loss.
        burned_in: Whether names may be written in its pixels.
        problem: Why its planes cannot be used, where they cannot.
    """

    source: RawFile
    kind: Kind
    key: SeriesKey
    sop_uid: str = ""
    description: str = ""
    patient_id: str = ""
    frame_of_reference: str = ""
    syntax: str = ""
    little_endian: bool = True
    compressed: bool = False
    deflated_from: int | None = None
    pixels: PixelData | None = None
    layout: PixelLayout | None = None
    whole: PixelLayout | None = None
    planes: tuple[Plane, ...] = field(default=(), repr=False)
    table: Table | None = None
    palette: Palette | None = None
    padding: float | None = None
    surplus: int = 0
    extended_offsets: bytes = b""
    pitch: Pitch | None = None
    film: bool = False
    lossy: bool = False
    burned_in: bool = False
    problem: Finding | None = None


def read_file(source: RawFile) -> DicomFile:
    """Read the header of a DICOM file and say what it is.

    Raises:
        BadInputError: Its header cannot be read. What is wrong with its pixels or geometry alone stands in `problem`.
    """
    with quiet():
        header = read_header(source)
        file = identified(header)
        if file.kind != "image" or header.pixels is None:
            return file
        try:
            return _with_planes(file, header)
        except BadInputError as error:
            return replace(file, problem=error.finding)


def identified(header: Header) -> DicomFile:
    """What a file is and to which series it belongs, its planes aside."""
    elements = header.elements
    key = SeriesKey(
        elements.text("StudyInstanceUID"),
        elements.text("SeriesInstanceUID"),
        elements.text("SeriesNumber"),
        elements.text("Modality"),
        elements.text("SOPClassUID"),
    )
    return DicomFile(
        source=replace(header.file, head=b""),
        kind=_kind(key.sop_class, header),
        key=key,
        sop_uid=elements.text("SOPInstanceUID"),
        description=elements.text("SeriesDescription"),
        patient_id=elements.text("PatientID"),
        frame_of_reference=elements.text("FrameOfReferenceUID"),
        syntax=str(header.syntax),
        little_endian=header.little_endian,
        compressed=header.compressed,
        deflated_from=header.start if header.deflated else None,
        pixels=header.pixels,
        extended_offsets=elements.raw("ExtendedOffsetTable"),
        film=is_film(elements),
        lossy=elements.text("LossyImageCompression") == "01",
        burned_in=_burned_in(elements, key.modality),
    )


def _kind(sop_class: str, header: Header) -> Kind:
    if sop_class in _SEGMENTATIONS:
        return "segmentation"
    if sop_class == _STRUCTURE_SET:
        return "structure set"
    if sop_class.startswith(_REPORTS) and sop_class != _KEY_OBJECTS:
        return "report"
    if sop_class == _DIRECTORY or header.elements.has("DirectoryRecordSequence"):
        return "directory"
    return "image" if header.pixels is not None else "other"


def _with_planes(file: DicomFile, header: Header) -> DicomFile:
    elements = header.elements
    whole = read_layout(header)
    layout = whole
    if elements.has("TotalPixelMatrixColumns"):
        raise elements.bad(
            "a whole-slide picture in tiles, which is not supported; only its segmentations are", Code.UNSUPPORTED_DATA
        )
    if has_groups(elements):
        planes = enhanced_planes(elements, whole.frames)
    elif is_mosaic(elements):
        layout, planes = mosaic_planes(elements, whole)
    else:
        planes = plain_planes(elements, whole.frames)
    return replace(
        file,
        whole=whole,
        layout=layout,
        planes=tuple(planes),
        table=read_table(elements, whole),
        palette=read_palette(elements, whole),
        surplus=surplus_bytes(header, whole),
        padding=elements.number("PixelPaddingValue"),
        pitch=read_pitch(elements),
    )


def _burned_in(elements: Elements, modality: str) -> bool:
    stated = elements.text("BurnedInAnnotation").upper()
    return stated == "YES" or (stated != "NO" and modality in _FILMED_TEXT)
