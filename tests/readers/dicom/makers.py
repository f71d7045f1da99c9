"""Small DICOM files written by pydicom, whose right reading is a closed form."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.filewriter import dcmwrite
from pydicom.uid import UID, CTImageStorage, ExplicitVRLittleEndian, RLELossless, SecondaryCaptureImageStorage

from resources.findings import BadInputError, Finding
from resources.geometry import closest_ras
from resources.readers.dicom.series import DicomSeries, open_series, scan_folder
from resources.readers.image import RawImage
from resources.readers.source import ReadOptions
from tests.readers.makers import read_all

ROOT = "1.2.826.0.1.3680043.8.498.77"
AXIAL = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
COLUMNS, ROWS = 5, 4
SPACING = (0.75, 0.5)
"""Row distance (y), column distance (x)."""


def uid(*parts: int) -> UID:
    return UID(".".join([ROOT, *map(str, parts)]))


def ramp(k: int = 0, columns: int = COLUMNS, rows: int = ROWS) -> npt.NDArray[np.uint16]:
    """Rows x columns: column + 16 * row + 256 * k."""
    row, column = np.mgrid[:rows, :columns]
    return np.asarray(column + 16 * row + 256 * k, np.uint16)


def slice_of(
    pixels: npt.NDArray[Any],
    position: Sequence[float] | None = (0, 0, 0),
    *,
    number: int = 1,
    series: int = 1,
    sop: int | None = None,
    **elements: Any,
) -> Dataset:
    """One CT slice; `elements` overwrite what it says, `None` removes an element."""
    ds = Dataset()
    ds.SOPClassUID = CTImageStorage
    ds.SOPInstanceUID = uid(series, 1, number if sop is None else sop)
    ds.StudyInstanceUID = uid(9)
    ds.SeriesInstanceUID = uid(series)
    ds.FrameOfReferenceUID = uid(8)
    ds.PatientName, ds.PatientID, ds.PatientBirthDate = "Secret^Person", "P-17", "19500203"
    ds.StudyDate = "20200304"
    ds.Modality = "CT"
    ds.SeriesNumber, ds.InstanceNumber = series, number
    ds.SeriesDescription = f"series {series}"
    ds.Rows, ds.Columns = pixels.shape[:2]
    ds.SamplesPerPixel = 1 if pixels.ndim == 2 else 3
    ds.PhotometricInterpretation = "MONOCHROME2" if pixels.ndim == 2 else "RGB"
    if pixels.ndim == 3:
        ds.PlanarConfiguration = 0
    bits = pixels.dtype.itemsize * 8
    ds.BitsAllocated, ds.BitsStored, ds.HighBit = bits, bits, bits - 1
    ds.PixelRepresentation = int(pixels.dtype.kind == "i")
    if position is not None:
        ds.ImagePositionPatient = [float(number) for number in position]
        ds.ImageOrientationPatient = list(AXIAL)
    ds.PixelSpacing = list(SPACING)
    ds.RescaleSlope, ds.RescaleIntercept = 1, 0
    content = np.ascontiguousarray(pixels).tobytes()
    ds.PixelData = content + b"\0" * (len(content) % 2)
    ds["PixelData"].VR = "OB" if bits == 8 else "OW"
    for keyword, value in elements.items():
        if value is None:
            del ds[keyword]
        else:
            setattr(ds, keyword, value)
    return ds


def file_bytes(ds: Dataset, syntax: UID = ExplicitVRLittleEndian, *, preamble: bool = True) -> bytes:
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = ds.get("SOPClassUID", SecondaryCaptureImageStorage)
    meta.MediaStorageSOPInstanceUID = ds.get("SOPInstanceUID", uid(7))
    meta.TransferSyntaxUID = syntax
    buffer = io.BytesIO()
    if preamble:
        ds.file_meta = meta
        dcmwrite(buffer, ds, enforce_file_format=True)
    else:
        dcmwrite(buffer, ds, enforce_file_format=False, implicit_vr=syntax.is_implicit_VR, little_endian=syntax.is_little_endian)
    return buffer.getvalue()


def packed(ds: Dataset, syntax: UID = RLELossless) -> Dataset:
    """The same slice with compressed pixels."""
    if "file_meta" not in ds.__dict__:
        ds.file_meta = FileMetaDataset()
    ds.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    ds.compress(syntax, generate_instance_uid=False)
    return ds


def write(path: Path, ds: Dataset, syntax: UID = ExplicitVRLittleEndian, *, preamble: bool = True) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(file_bytes(ds, syntax, preamble=preamble))
    return path


def write_stack(folder: Path, heights: Iterable[float], *, series: int = 1, prefix: str = "s", **elements: Any) -> Path:
    """A series of axial slices at these heights; slice k holds `ramp(k)`."""
    for k, height in enumerate(heights):
        write(folder / f"{prefix}{k:03}.dcm", slice_of(ramp(k), (1, 2, height), number=k + 1, series=series, **elements))
    return folder


def scan(folder: Path) -> list[DicomSeries]:
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    return scan_folder(folder, names)


def only(folder: Path) -> DicomSeries:
    (series,) = scan(folder)
    return series


def opened(folder: Path, **options: Any) -> RawImage:
    return open_series(only(folder), options=ReadOptions(**options))


def series_refusal(folder: Path) -> Finding:
    """Why the one series of a folder is refused, at the latest when its last voxel was read."""
    series = only(folder)
    with pytest.raises(BadInputError) as caught:
        read_all(open_series(series))
    assert series.refusal in {None, caught.value.finding}
    return caught.value.finding


def in_ras(image: RawImage) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
    """[i, j, k] or [i, j, k, channel] and affine, turned to RAS+."""
    turn = closest_ras(image.affine_ras_mm)
    stored = read_all(image)
    if stored.ndim == 3:
        return turn.view(stored), turn.affine(image.affine_ras_mm, image.shape)
    channels = [turn.view(stored[..., channel]) for channel in range(stored.shape[3])]
    return np.stack(channels, axis=-1), turn.affine(image.affine_ras_mm, image.shape)
