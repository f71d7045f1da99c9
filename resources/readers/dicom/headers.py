"""Reads the header of one DICOM file, up to its pixels, whatever its name, size and condition.

Only the elements named in `WANTED` are taken: no name, no date of birth, no comment of a person ever enters the product.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import BinaryIO, TypeVar, cast

from pydicom.datadict import tag_for_keyword
from pydicom.dataset import Dataset
from pydicom.filereader import read_dataset
from pydicom.tag import BaseTag
from pydicom.uid import UID, DeflatedExplicitVRLittleEndian, ExplicitVRBigEndian, ExplicitVRLittleEndian, ImplicitVRLittleEndian

from resources.findings import Code
from resources.readers.dicom.bounded import BoundedFile, Budget, InflatedFile
from resources.readers.dicom.door import MAGIC, MAGIC_AT, is_vr, sniff
from resources.readers.dicom.elements import PARSER_ERRORS, UNDEFINED, Elements, quiet
from resources.readers.source import RawFile, open_regular

T = TypeVar("T")

PIXEL_TAGS = {0x7FE00010: "PixelData", 0x7FE00008: "FloatPixelData", 0x7FE00009: "DoubleFloatPixelData"}
PLAIN_SYNTAXES = frozenset({ImplicitVRLittleEndian, ExplicitVRLittleEndian, ExplicitVRBigEndian, DeflatedExplicitVRLittleEndian})
MAX_DEFLATED_HEADER = 32 << 20
"""Bytes a deflated data set may inflate to before its pixels are met."""

_IDENTITY = """
    SpecificCharacterSet SOPClassUID SOPInstanceUID StudyInstanceUID SeriesInstanceUID FrameOfReferenceUID Modality Manufacturer
    SeriesNumber SeriesDescription InstanceNumber AcquisitionNumber ImageType BurnedInAnnotation PatientID BodyPartExamined
"""
_PIXELS = """
    SamplesPerPixel PhotometricInterpretation PlanarConfiguration Rows Columns NumberOfFrames BitsAllocated BitsStored HighBit
    PixelRepresentation PixelPaddingValue PixelPaddingRangeLimit LossyImageCompression RescaleSlope RescaleIntercept RescaleType
    ModalityLUTSequence RedPaletteColorLookupTableDescriptor GreenPaletteColorLookupTableDescriptor
    BluePaletteColorLookupTableDescriptor RedPaletteColorLookupTableData GreenPaletteColorLookupTableData
    BluePaletteColorLookupTableData SegmentedRedPaletteColorLookupTableData DoseGridScaling ExtendedOffsetTable
    ExtendedOffsetTableLengths PixelPresentation
"""
_PLACE = """
    ImagePositionPatient ImageOrientationPatient PixelSpacing ImagerPixelSpacing NominalScannedPixelSpacing
    EstimatedRadiographicMagnificationFactor PixelSpacingCalibrationType SliceThickness SpacingBetweenSlices SliceLocation
    GridFrameOffsetVector DetectorInformationSequence SliceVector TimeSlotVector FrameIncrementPointer FrameTime FrameTimeVector
    SequenceOfUltrasoundRegions SharedFunctionalGroupsSequence PerFrameFunctionalGroupsSequence DimensionIndexSequence
    TotalPixelMatrixColumns TotalPixelMatrixRows TotalPixelMatrixOriginSequence DimensionOrganizationType
"""
_VOLUMES = """
    TemporalPositionIdentifier NumberOfTemporalPositions TriggerTime FrameReferenceTime EchoTime EchoNumbers InversionTime
    DiffusionBValue DiffusionGradientOrientation ComplexImageComponent
"""
_ANNOTATIONS = """
    SegmentationType SegmentationFractionalType MaximumFractionalValue SegmentSequence SegmentsOverlap ReferencedSeriesSequence
    SourceImageSequence StructureSetROISequence ROIContourSequence RTROIObservationsSequence
    ReferencedFrameOfReferenceSequence StructureSetLabel ContentSequence ConceptNameCodeSequence ContentTemplateSequence
    CompletionFlag VerificationFlag CurrentRequestedProcedureEvidenceSequence ValueType ContinuityOfContent
    DirectoryRecordSequence FileSetID
"""
WANTED = tuple((_IDENTITY + _PIXELS + _PLACE + _VOLUMES + _ANNOTATIONS).split())
"""Keywords of the elements that are read at the top of a data set."""

_SIEMENS = [group << 16 | block for group in (0x0019, 0x0021, 0x0029) for block in range(0x10, 0x20)]
_SIEMENS += [
    group << 16 | block << 8 | offset for group, offset in ((0x0019, 0x0A), (0x0029, 0x10)) for block in range(0x10, 0x20)
]
_OVERLAYS = [0x60000000 | repeat << 16 | element for repeat in range(0, 32, 2) for element in (0x0100, 0x0102)]
_WANTED_TAGS: list[BaseTag | int] = [cast("int", tag_for_keyword(keyword)) for keyword in WANTED] + _SIEMENS + _OVERLAYS


@dataclass(frozen=True, slots=True)
class PixelData:
    """Where the pixels of a file are.

    Attributes:
        keyword: Name of their element.
        offset: (Inflated) bytes of the file before their value.
        length: Bytes of their value; `None` when they are encapsulated in fragments.
        words: Whether they are stored as 16-bit words (VR OW), which matters for the bytes of big-endian files.
    """

    keyword: str
    offset: int
    length: int | None
    words: bool


@dataclass(frozen=True, slots=True)
class Header:
    """The header of one file.

    Attributes:
        file: The file.
        syntax: UID of its transfer syntax; guessed from the first element where the file does not say.
        little_endian: Byte order of its numbers.
        start: Where its data set begins.
        elements: Its data set, `WANTED` elements only.
        pixels: Where its pixels are, if it has any.
    """

    file: RawFile
    syntax: UID
    little_endian: bool
    start: int
    elements: Elements
    pixels: PixelData | None

    @property
    def compressed(self) -> bool:
        """Whether its frames are compressed one by one."""
        return self.syntax not in PLAIN_SYNTAXES

    @property
    def deflated(self) -> bool:
        """Whether the data set, pixels and all, is deflated."""
        return self.syntax == DeflatedExplicitVRLittleEndian


def read_header(file: RawFile, keywords: Iterable[str] | None = None) -> Header:
    """Read the header of a DICOM file.

    Args:
        file: The file.
        keywords: The elements to take; `WANTED` when not given.

    Raises:
        BadInputError: WRONGMAGIC when it is no DICOM, TRUNCATED, BAD_HEADER, TOO_LARGE, UNSUPPORTED_DATA for gzip, or what
            opening it finds.
        ValueError: There is no such keyword.
    """
    tags = _WANTED_TAGS if keywords is None else _tags(keywords)
    return _opened(file, lambda raw, budget: _parsed(file, raw, budget, tags))


def read_elements(file: RawFile, keywords: Iterable[str]) -> Elements:
    """Read a few elements, and nothing of the file behind the last of them; raises as `read_header`."""
    tags = _tags(keywords)
    last = max(int(tag) for tag in tags)

    def read(raw: BinaryIO, budget: Budget) -> Elements:
        bounded, syntax, _ = _at_data_set(file, raw, budget)
        dataset = read_dataset(
            cast("BinaryIO", bounded),
            is_implicit_VR=syntax == ImplicitVRLittleEndian,
            is_little_endian=syntax != ExplicitVRBigEndian,
            stop_when=lambda tag, _vr, _length: int(tag) > last or int(tag) in PIXEL_TAGS,
            specific_tags=tags,
        )
        elements = Elements(dataset, budget, file.name)
        _refuse_cut(elements)
        return elements

    return _opened(file, read)


def _tags(keywords: Iterable[str]) -> list[BaseTag | int]:
    tags = {keyword: tag_for_keyword(keyword) for keyword in keywords}
    unknown = sorted(keyword for keyword, tag in tags.items() if tag is None)
    if unknown:
        raise ValueError(f"DICOM has no keyword {', '.join(unknown)}")
    return [tag for tag in tags.values() if tag is not None]


def _opened(file: RawFile, read: Callable[[BinaryIO, Budget], T]) -> T:
    """What `read` makes of the file; what the parser raises becomes a finding."""
    if file.compressed:
        raise file.bad(Code.UNSUPPORTED_DATA, "a DICOM file packed in gzip; unpack it")
    if not sniff(file.head):
        raise file.bad(Code.WRONG_MAGIC, f"not DICOM: no 'DICM' at byte 128, and it begins with {file.head[:8]!r}")
    raw, mark = open_regular(file.path, file.name)
    budget = Budget()
    with io.BufferedReader(cast("io.RawIOBase", raw)) as buffered, quiet():
        file.check_mark(mark)
        try:
            return read(cast("BinaryIO", buffered), budget)
        except PARSER_ERRORS as error:
            raise Elements(Dataset(), budget, file.name).parse_error("the DICOM header cannot be parsed", error) from error


def open_inflated(raw: BinaryIO, start: int, limit: int, budget: Budget) -> InflatedFile:
    """A deflated file as if it were plain.

    Args:
        raw: The file.
        start: Where its data set begins, up to which it is plain.
        limit: Bytes it may inflate to.
        budget: Told when it inflates to more.
    """
    raw.seek(0)
    return InflatedFile(raw, raw.read(start), limit, budget)


def _at_data_set(file: RawFile, raw: BinaryIO, budget: Budget) -> tuple[BoundedFile, str, int]:
    """The file at the beginning of its data set, as if it were not deflated; the UID of its transfer syntax; that beginning."""
    bounded = BoundedFile(raw, budget, file.mark.size)
    syntax = _read_meta(bounded, file)
    if syntax == "":
        syntax = _guessed_syntax(bounded)
    start = bounded.tell()
    if syntax == DeflatedExplicitVRLittleEndian:
        bounded = BoundedFile(open_inflated(raw, start, MAX_DEFLATED_HEADER, budget), budget, 1 << 62)
    return bounded, syntax, start


def _parsed(file: RawFile, raw: BinaryIO, budget: Budget, tags: list[BaseTag | int]) -> Header:
    bounded, syntax, start = _at_data_set(file, raw, budget)
    implicit = syntax == ImplicitVRLittleEndian
    little = syntax != ExplicitVRBigEndian
    dataset, pixels = _read_elements(bounded, implicit=implicit, little=little, tags=tags)
    elements = Elements(dataset, budget, file.name)
    _check_whole(elements, pixels, None if syntax == DeflatedExplicitVRLittleEndian else file.mark.size, bounded.read_to)
    return Header(file, UID(syntax), little, start, elements, pixels)


def _read_meta(bounded: BoundedFile, file: RawFile) -> str:
    """Read up to the data set; the UID of the transfer syntax, empty where the file does not say."""
    bounded.seek(MAGIC_AT + 4 if file.head[MAGIC_AT : MAGIC_AT + 4] == MAGIC else 0)
    meta = read_dataset(
        cast("BinaryIO", bounded),
        is_implicit_VR=False,
        is_little_endian=True,
        stop_when=lambda tag, _vr, _length: tag >> 16 != 2,
    )
    return str(meta.get("TransferSyntaxUID", "") or "")


def _guessed_syntax(bounded: BoundedFile) -> str:
    start = bounded.tell()
    head = bounded.read(6)
    bounded.seek(start)
    if len(head) < 6 or not is_vr(head[4:6]):
        return ImplicitVRLittleEndian
    return ExplicitVRBigEndian if head[0] == 0 and head[1] != 0 else ExplicitVRLittleEndian


def _read_elements(
    bounded: BoundedFile, *, implicit: bool, little: bool, tags: list[BaseTag | int]
) -> tuple[Dataset, PixelData | None]:
    met: list[PixelData] = []

    def at_pixels(tag: int, vr: str | None, length: int) -> bool:
        if tag not in PIXEL_TAGS:
            return False
        met.append(PixelData(PIXEL_TAGS[tag], bounded.tell(), None if length == UNDEFINED else length, vr in {None, "OW"}))
        return True

    dataset = read_dataset(
        cast("BinaryIO", bounded),
        is_implicit_VR=implicit,
        is_little_endian=little,
        stop_when=at_pixels,
        specific_tags=tags,
    )
    return dataset, met[-1] if met else None


def _check_whole(elements: Elements, pixels: PixelData | None, size: int | None, read_to: int) -> None:
    """Refuse a header that ends before its last element does."""
    _refuse_cut(elements)
    if size is not None and read_to > size:
        raise elements.bad(
            f"truncated: the header goes on to byte {read_to}, the file ends at {size}; download it again", Code.TRUNCATED
        )
    if pixels is None and elements.whole("Rows") and elements.whole("Columns") and elements.whole("BitsAllocated"):
        raise elements.bad(
            "truncated: the header describes pixels, and the file ends before them; download it again", Code.TRUNCATED
        )


def _refuse_cut(elements: Elements) -> None:
    cut = elements.cut_short()
    if cut:
        raise elements.bad(f"truncated: {cut}; download it again", Code.TRUNCATED)
