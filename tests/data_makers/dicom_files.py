"""DICOM files of miniatures, written by pydicom and highdicom."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import highdicom
import numpy as np
import numpy.typing as npt
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.filewriter import dcmwrite
from pydicom.sr.codedict import codes
from pydicom.uid import (
    UID,
    CTImageStorage,
    DigitalXRayImageStorageForPresentation,
    ExplicitVRLittleEndian,
    MRImageStorage,
    PositronEmissionTomographyImageStorage,
    RTStructureSetStorage,
    SecondaryCaptureImageStorage,
)

from resources.geometry import FloatArray
from resources.phantoms import to_stored

_CLASSES = {
    "CT": CTImageStorage,
    "MR": MRImageStorage,
    "PT": PositronEmissionTomographyImageStorage,
    "DX": DigitalXRayImageStorageForPresentation,
    "CR": DigitalXRayImageStorageForPresentation,
    "OT": SecondaryCaptureImageStorage,
    "RTSTRUCT": RTStructureSetStorage,
}
COMPREHENSIVE_SR = UID("1.2.840.10008.5.1.4.1.1.88.33")


def uid_of(*names: object) -> UID:
    """The same UID for the same names, as of another program: `2.25.` and a number of 16 bytes."""
    digest = blake2b("/".join(map(str, names)).encode(), digest_size=15).digest()
    return UID(f"2.25.{int.from_bytes(digest, 'big')}")


@dataclass(frozen=True)
class Instance:
    """What a made file says of its place among others.

    Attributes:
        patient: PatientID.
        study: Name its study UID is made of.
        series: Name its series UID is made of.
        number: Instance number.
        modality: E.g. `CT`.
        description: Of the series.
    """

    patient: str
    study: str
    series: str
    number: int = 1
    modality: str = "CT"
    description: str = "made up"


def _common(instance: Instance) -> Dataset:
    ds = Dataset()
    ds.SOPClassUID = _CLASSES.get(instance.modality, COMPREHENSIVE_SR)
    ds.SOPInstanceUID = uid_of(instance.patient, instance.study, instance.series, instance.number)
    ds.StudyInstanceUID = uid_of(instance.patient, instance.study)
    ds.SeriesInstanceUID = uid_of(instance.patient, instance.study, instance.series)
    ds.FrameOfReferenceUID = uid_of(instance.patient, instance.study, "frame")
    ds.PatientID, ds.PatientName, ds.PatientBirthDate, ds.PatientSex = instance.patient, "", "", ""
    ds.StudyDate, ds.StudyTime, ds.StudyID, ds.AccessionNumber = "20000101", "000000", "", ""
    ds.ReferringPhysicianName = ""
    ds.Modality = instance.modality
    ds.SeriesDescription = instance.description
    ds.SeriesNumber, ds.InstanceNumber = 1, instance.number
    return ds


def slice_of(
    instance: Instance,
    rows: npt.NDArray[Any],
    *,
    spacing_mm: tuple[float, float] | None = (0.75, 0.5),
    position_lps_mm: Sequence[float] | None = (0.0, 0.0, 0.0),
    offset: int = 0,
    **elements: Any,
) -> Dataset:
    """One instance with pixels.

    Args:
        instance: What it is.
        rows: [row, column] the true values; stored as unsigned 16 bit after `offset` is taken off.
        spacing_mm: Between rows, between columns; None leaves it out.
        position_lps_mm: Of the first pixel of an axial slice; None for a picture that has no place in a patient.
        offset: Rescale intercept.
        elements: Further elements by keyword.
    """
    ds = _common(instance)
    ds.Rows, ds.Columns = rows.shape
    ds.SamplesPerPixel, ds.PhotometricInterpretation = 1, "MONOCHROME2"
    ds.BitsAllocated, ds.BitsStored, ds.HighBit, ds.PixelRepresentation = 16, 16, 15, 0
    if position_lps_mm is not None:
        ds.ImagePositionPatient = [float(x) for x in position_lps_mm]
        ds.ImageOrientationPatient = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
        ds.SliceThickness = 2.0
    if spacing_mm is not None:
        ds.PixelSpacing = list(spacing_mm)
    if instance.modality in {"CT", "PT"}:
        ds.RescaleSlope, ds.RescaleIntercept = 1, offset
    ds.PixelData = (rows - offset).astype("<u2").tobytes()
    ds["PixelData"].VR = "OW"
    for keyword, value in elements.items():
        setattr(ds, keyword, value)
    return ds


def structure_set(instance: Instance, names: Sequence[str]) -> Dataset:
    """Structures that are named, with a triangle each."""
    ds = _common(instance)
    ds.StructureSetLabel, ds.StructureSetDate, ds.StructureSetTime = "made up", "20000101", "000000"
    ds.StructureSetROISequence, ds.ROIContourSequence, ds.RTROIObservationsSequence = [], [], []
    for number, name in enumerate(names, 1):
        roi, drawn, contour = Dataset(), Dataset(), Dataset()
        roi.ROINumber, roi.ROIName, roi.ROIGenerationAlgorithm = number, name, "MANUAL"
        roi.ReferencedFrameOfReferenceUID = ds.FrameOfReferenceUID
        contour.ContourGeometricType, contour.NumberOfContourPoints = "CLOSED_PLANAR", 3
        contour.ContourData = [1.0, 1.0, 0.0, 4.0, 1.0, 0.0, 1.0, 4.0, 0.0]
        drawn.ReferencedROINumber, drawn.ContourSequence = number, [contour]
        ds.StructureSetROISequence.append(roi)
        ds.ROIContourSequence.append(drawn)
    return ds


def report(instance: Instance) -> Dataset:
    """A structured report without content."""
    ds = _common(instance)
    ds.ValueType, ds.ContinuityOfContent = "CONTAINER", "SEPARATE"
    ds.CompletionFlag, ds.VerificationFlag = "COMPLETE", "UNVERIFIED"
    return ds


def segmentation(instance: Instance, images: Sequence[Dataset], masks: npt.NDArray[np.bool_], labels: Sequence[str]) -> Dataset:
    """A binary segmentation of a series.

    Args:
        instance: What it is.
        images: The slices it was drawn on.
        masks: [slice, row, column, segment]
        labels: Of the segments.
    """
    algorithm = highdicom.AlgorithmIdentificationSequence("none", codes.DCM.ArtificialIntelligence, "1")
    described = [
        highdicom.seg.SegmentDescription(
            number, label, codes.SCT.MorphologicallyAbnormalStructure, codes.SCT.Nodule, "SEMIAUTOMATIC", algorithm,
            tracking_uid=uid_of(instance.series, number), tracking_id=label,
        )
        for number, label in enumerate(labels, 1)
    ]  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = highdicom.seg.Segmentation(
            source_images=list(images),
            pixel_array=masks.astype(np.uint8),
            segmentation_type="BINARY",
            segment_descriptions=described,
            series_instance_uid=uid_of(instance.patient, instance.study, instance.series),
            series_number=1000,
            sop_instance_uid=uid_of(instance.patient, instance.study, instance.series, instance.number),
            instance_number=instance.number,
            manufacturer="none",
            manufacturer_model_name="none",
            software_versions="1",
            device_serial_number="1",
            series_description=instance.description,
        )
    for keyword in ("ContentDate", "InstanceCreationDate", "SeriesDate"):
        if keyword in made:
            setattr(made, keyword, "20000101")
    for keyword in ("ContentTime", "InstanceCreationTime", "SeriesTime"):
        if keyword in made:
            setattr(made, keyword, "000000")
    return made


def write_dicom(path: Path, ds: Dataset) -> Path:
    """Write a data set as a DICOM file."""
    ds.file_meta = FileMetaDataset()
    ds.file_meta.MediaStorageSOPClassUID = ds.SOPClassUID
    ds.file_meta.MediaStorageSOPInstanceUID = ds.SOPInstanceUID
    ds.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    path.parent.mkdir(parents=True, exist_ok=True)
    dcmwrite(path, ds, enforce_file_format=True)
    return path


def write_axial(
    path: Path, instance: Instance, ras_array: npt.NDArray[Any], ras_affine: FloatArray, *, offset: int = 0, **elements: Any
) -> Dataset:
    """Write one axial slice, [i, j, 1] in RAS+ order, as scanners store it: columns to the left, rows to the back."""
    stored, affine = to_stored(ras_array, ras_affine, "LPS")
    x, y, z = (float(part) for part in affine[:3, 3])
    columns, rows, thickness = np.linalg.norm(affine[:3, :3], axis=0).tolist()
    ds = slice_of(
        instance, stored[:, :, 0].T, spacing_mm=(rows, columns), position_lps_mm=(-x, -y, z), offset=offset,
        SliceThickness=thickness, **elements,
    )  # fmt: skip
    write_dicom(path, ds)
    return ds
