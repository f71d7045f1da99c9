"""DICOM segmentations (SEG): which segments there are, on which grid, and their voxels as one label map or as layers.

A SEG stores only the planes in which a segment has voxels, so the planes that are missing between and around them are empty,
not lost. Its own grid reaches from the first stored plane to the last; `onto` places it on the grid of its image instead.
Segments may overlap. A label map cannot hold that, so reading one is refused when two segments share a voxel; layers, one
mask a segment, always work.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from resources.findings import Code, Finding
from resources.geometry import FloatArray
from resources.readers.dicom.concepts import Concept, read_concept
from resources.readers.dicom.elements import Elements, quiet
from resources.readers.dicom.files import DicomFile, identified
from resources.readers.dicom.guard import DEFAULT
from resources.readers.dicom.headers import Header, read_header
from resources.readers.dicom.identity import segmentation_series
from resources.readers.dicom.layout import check_promise, read_layout
from resources.readers.dicom.seg_grid import Canvas, Grid, place_segments
from resources.readers.dicom.seg_voxels import SegVoxels
from resources.readers.image import RawImage, SourceFile
from resources.readers.process import Limits
from resources.readers.source import ReadOptions, examine

Storage = Literal["binary", "fractional", "labelmap"]
Overlap = Literal["no", "possible"]

_LABELMAP = "1.2.840.10008.5.1.4.1.1.66.7"
_PLAIN = ReadOptions()


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment.

    Attributes:
        number: Its id in a label map.
        label: What its author called it.
        category: What sort of thing it is, e.g. tissue.
        type: What it is, e.g. liver.
        algorithm: How it was made: MANUAL, SEMIAUTOMATIC, AUTOMATIC.
        tracking_uid: Identifies the same thing in other objects, such as measurements; empty when there is none.
    """

    number: int
    label: str
    category: Concept | None
    type: Concept | None
    algorithm: str
    tracking_uid: str


@dataclass(frozen=True)
class Segmentation:
    """A segmentation, before a voxel is read.

    Attributes:
        file: The file.
        storage: How the voxels are stored; fractional ones are shares of 1.
        segments: Its segments, by rising number.
        overlap: `no` when the file cannot or says it does not hold two segments in one voxel.
        canvas: Its grid and where the stored frames lie on it.
        series_uid: Series of the images it was drawn on.
        image_uids: The images it was drawn on, where it lists them.
        findings: What was odd.
    """

    file: DicomFile
    storage: Storage
    segments: tuple[Segment, ...]
    overlap: Overlap
    canvas: Canvas
    series_uid: str
    image_uids: tuple[str, ...]
    findings: tuple[Finding, ...]
    fraction_of: int = 1
    limits: Limits = DEFAULT

    @property
    def shape(self) -> tuple[int, int, int]:
        """Voxel counts: columns, rows, slices."""
        return self.canvas.shape

    @property
    def affine_ras_mm(self) -> FloatArray:
        """(4, 4) column, row and slice index -> RAS+ mm."""
        return self.canvas.affine

    def label_map(self) -> RawImage:
        """One channel that holds the number of the segment of each voxel, 0 for none.

        The stream raises `BadInputError`: SEGMENTS_OVERLAP when two segments share a voxel, NOT_WHOLE_LABELS for shares that are
        neither 0 nor 1.
        """
        highest = max((segment.number for segment in self.segments), default=0)
        return self._image(np.dtype(np.uint8 if highest < 256 else np.uint16), layered=False)

    def layers(self) -> RawImage:
        """One channel a segment, in the order of `segments`: masks of 0 and 1, or shares as float32."""
        return self._image(np.dtype(np.float32 if self.storage == "fractional" else np.uint8), layered=True)

    def _image(self, dtype: np.dtype[np.generic], *, layered: bool) -> RawImage:
        sources: list[SourceFile] = []
        numbers = tuple(segment.number for segment in self.segments)
        voxels = SegVoxels(self.file, self.canvas, numbers, dtype, self.storage, self.fraction_of, layered, self.limits, sources)
        return RawImage(
            path=self.file.source.path,
            format="DICOM SEG",
            shape=self.canvas.shape,
            dtype=dtype,
            affine_ras_mm=self.canvas.affine,
            slab_axis=2,
            n_channels=len(numbers) if layered else 1,
            fourth_axis="channel" if layered and len(numbers) > 1 else "none",
            orientation_known=self.canvas.space == "patient",
            findings=self.findings,
            stream=voxels,
            sources=sources,
            space=self.canvas.space,
            third_axis="space" if self.canvas.space == "patient" else "page",
            spacing_known=self.canvas.spacing_known,
        )


def open_seg(
    path: Path, *, name: str | None = None, options: ReadOptions = _PLAIN, onto: Grid | None = None, limits: Limits = DEFAULT
) -> Segmentation:
    """Open a DICOM segmentation.

    Args:
        path: The file.
        name: How findings call it; the bare file name when not given.
        options: What the dataset's spec says.
        onto: Grid of the image it belongs to; its own grid when not given.
        limits: What the decompression of a frame may cost.

    Raises:
        BadInputError: It is no segmentation or cannot be used; GRID_MISMATCH when it does not fit `onto`.
    """
    source = examine(path, name or path.name)
    with quiet():
        header = read_header(source)
        file = identified(header)
        if file.kind != "segmentation" or header.pixels is None:
            raise source.bad(Code.NOT_A_VOLUME, f"a DICOM {file.kind} ({file.key.modality or 'no modality'}), no segmentation")
        return _described(header, file, options, onto, limits)


def _described(header: Header, file: DicomFile, options: ReadOptions, onto: Grid | None, limits: Limits) -> Segmentation:
    elements = header.elements
    layout = read_layout(header)
    check_promise(layout, elements.file, options, compressed=file.compressed)
    file = replace(file, whole=layout, layout=layout)
    storage = _storage(header, file)
    segments = _segments(elements)
    canvas = place_segments(elements, layout, storage == "labelmap", options, onto)
    _check_numbers(header, segments, canvas, storage)
    alone = storage == "labelmap" or elements.text("SegmentsOverlap") == "NO" or len(segments) < 2
    return Segmentation(
        file=file,
        storage=storage,
        segments=segments,
        overlap="no" if alone else "possible",
        canvas=canvas,
        series_uid=next(iter(segmentation_series(elements)), ""),
        image_uids=_image_uids(elements),
        findings=canvas.findings,
        fraction_of=elements.whole("MaximumFractionalValue") or 1,
        limits=limits,
    )


def _storage(header: Header, file: DicomFile) -> Storage:
    stated = header.elements.text("SegmentationType")
    if file.key.sop_class == _LABELMAP or stated == "LABELMAP":
        return "labelmap"
    if stated in {"BINARY", "FRACTIONAL"}:
        return "binary" if stated == "BINARY" else "fractional"
    raise header.elements.bad(f"SegmentationType is {stated!r}; BINARY, FRACTIONAL and LABELMAP are known")


def _segments(elements: Elements) -> tuple[Segment, ...]:
    found = []
    for item in elements.items("SegmentSequence"):
        number = item.whole("SegmentNumber")
        if number is None or not 0 <= number <= 65535:
            raise elements.bad(f"SegmentNumber is {number}")
        found.append(
            Segment(
                number,
                item.text("SegmentLabel"),
                read_concept(item, "SegmentedPropertyCategoryCodeSequence"),
                read_concept(item, "SegmentedPropertyTypeCodeSequence"),
                item.text("SegmentAlgorithmType"),
                item.text("TrackingUID"),
            )
        )
    numbers = [segment.number for segment in found]
    if not found or len(set(numbers)) < len(numbers):
        raise elements.bad(f"the segments are numbered {numbers}: every segment needs a number of its own")
    return tuple(sorted((segment for segment in found if segment.number > 0), key=lambda segment: segment.number))


def _check_numbers(header: Header, segments: tuple[Segment, ...], canvas: Canvas, storage: Storage) -> None:
    if storage == "labelmap":
        return
    unknown = {spot.segment for spot in canvas.spots} - {segment.number for segment in segments}
    if unknown:
        raise header.elements.bad(f"frames belong to segments {sorted(unknown)}, which the file does not describe")


def _image_uids(elements: Elements) -> tuple[str, ...]:
    item = elements.item("ReferencedSeriesSequence")
    instances = item.items("ReferencedInstanceSequence") if item else elements.items("SourceImageSequence")
    return tuple(instance.text("ReferencedSOPInstanceUID") for instance in instances)
