"""A made patient: a CT, a segmentation and a structure set drawn on it, whose volumes are closed forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import highdicom
import numpy as np
import numpy.typing as npt
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.sr.codedict import codes
from pydicom.uid import ExplicitVRLittleEndian, MediaStorageDirectoryStorage, RTStructureSetStorage

from tests.readers.dicom.makers import SPACING, ramp, slice_of, uid, write

COLUMNS, ROWS, SLICES = 24, 20, 10
STEP = 2.0
ORIGIN = (1.0, 2.0, -4.0)
"""Of the first voxel, left, posterior, superior, in mm."""

FRAME = uid(8)
BOXES = {"Liver": ((4, 9), (5, 11), (2, 6)), "Tumour": ((14, 16), (5, 7), (3, 4))}
"""Columns, rows, slices of the cuboids of the segmentation, first and last."""

RADIUS, CENTRE = 4.0, (7.0, 9.5)
"""Of the circle of the structure set, in mm; its centre is in mm from the first pixel."""

DRAWN = range(3, 8)
"""Slices the circle is drawn in."""


def ct(*, series: int = 1, **elements: Any) -> list[Dataset]:
    """The slices; slice k holds `ramp(k)`."""
    found = []
    for k in range(SLICES):
        position = (ORIGIN[0], ORIGIN[1], ORIGIN[2] + STEP * k)
        ds = slice_of(ramp(k, COLUMNS, ROWS), position, number=k + 1, series=series, **elements)
        ds.file_meta = FileMetaDataset()
        ds.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
        ds.AccessionNumber = ds.StudyID = ds.PatientSex = ds.ReferringPhysicianName = ds.StudyTime = ""
        ds.PositionReferenceIndicator = ""
        ds.SliceThickness = STEP
        found.append(ds)
    return found


def cuboids(boxes: Mapping[str, Sequence[tuple[int, int]]]) -> npt.NDArray[np.uint8]:
    """The masks, [slice, row, column, segment]."""
    masks = np.zeros((SLICES, ROWS, COLUMNS, len(boxes)), np.uint8)
    for number, (i, j, k) in enumerate(boxes.values()):
        masks[k[0] : k[1] + 1, j[0] : j[1] + 1, i[0] : i[1] + 1, number] = 1
    return masks


def segmentation(
    images: Sequence[Dataset], boxes: Mapping[str, Sequence[tuple[int, int]]] = BOXES, *, series: int = 3, share: float = 1.0
) -> Dataset:
    """A segmentation with one cuboid a segment; with a share below 1 a fractional one."""
    described = [
        highdicom.seg.SegmentDescription(
            number, label, codes.SCT.Organ, codes.SCT.Liver, highdicom.seg.SegmentAlgorithmTypeValues.MANUAL
        )
        for number, label in enumerate(boxes, 1)
    ]
    masks = cuboids(boxes)
    return highdicom.seg.Segmentation(
        images,
        masks if share == 1 else masks * np.float32(share),
        "BINARY" if share == 1 else "FRACTIONAL",
        described,
        uid(series),
        series,
        uid(series, 1),
        1,
        "us",
        "model",
        "1",
        "serial",
        series_description="cuboids",
    )


def circle(k: float, *, shift: float = 0.0, n: int = 720) -> list[float]:
    """The points of a circle in a slice, left, posterior, superior, in mm."""
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    x = ORIGIN[0] + CENTRE[0] + RADIUS * np.cos(angle)
    y = ORIGIN[1] + CENTRE[1] + RADIUS * np.sin(angle)
    z = np.full(n, ORIGIN[2] + STEP * k + shift)
    return [round(float(value), 4) for value in np.column_stack([x, y, z]).ravel()]


def structure_set(*names: str, of: int = 1, frame: str = FRAME, shift: float = 0.0) -> Dataset:
    """A structure set in which every structure is the same cylinder."""
    ds = Dataset()
    ds.SOPClassUID, ds.SOPInstanceUID = RTStructureSetStorage, uid(4, 1)
    ds.StudyInstanceUID, ds.SeriesInstanceUID, ds.FrameOfReferenceUID = uid(9), uid(4), frame
    ds.Modality, ds.SeriesNumber, ds.SeriesDescription, ds.StructureSetLabel = "RTSTRUCT", 4, "contours", "made"
    referred, study, series = Dataset(), Dataset(), Dataset()
    series.SeriesInstanceUID = uid(of)
    study.RTReferencedSeriesSequence = [series]
    referred.FrameOfReferenceUID, referred.RTReferencedStudySequence = frame, [study]
    ds.ReferencedFrameOfReferenceSequence = [referred]
    ds.StructureSetROISequence, ds.ROIContourSequence, ds.RTROIObservationsSequence = [], [], []
    for number, name in enumerate(names, 1):
        roi, drawn = Dataset(), Dataset()
        roi.ROINumber, roi.ROIName, roi.ReferencedFrameOfReferenceUID = number, name, frame
        drawn.ReferencedROINumber, drawn.ContourSequence = number, []
        for k in DRAWN:
            contour = Dataset()
            contour.ContourGeometricType, contour.ContourData = "CLOSED_PLANAR", circle(k, shift=shift)
            drawn.ContourSequence.append(contour)
        ds.StructureSetROISequence.append(roi)
        ds.ROIContourSequence.append(drawn)
    return ds


def dicomdir() -> Dataset:
    """A directory that lists nothing."""
    ds = Dataset()
    ds.SOPClassUID, ds.SOPInstanceUID = MediaStorageDirectoryStorage, uid(6)
    ds.FileSetID = "MADE"
    ds.DirectoryRecordSequence = [Dataset()]
    ds.DirectoryRecordSequence[0].DirectoryRecordType = "PATIENT"
    return ds


def write_patient(folder: Path, *annotations: Dataset, images: Sequence[Dataset] | None = None) -> Path:
    """Write a CT and what was drawn on it; the names tell nothing."""
    for k, ds in enumerate(ct() if images is None else images):
        write(folder / f"disc/{k * 7 % 11:02}", ds)
    for number, ds in enumerate(annotations):
        write(folder / f"disc/x{number}", ds)
    return folder


def area() -> float:
    """Of the circle, in pixels."""
    return float(np.pi * RADIUS**2 / (SPACING[0] * SPACING[1]))
