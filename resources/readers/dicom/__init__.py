"""DICOM: series of a folder, multi-frame files, segmentations, structure sets, reports."""

from __future__ import annotations

from resources.readers.dicom.headers import SUFFIXES, sniff
from resources.readers.dicom.series import DicomSeries, open_series, scan_folder
from resources.readers.dicom.volume import open_dicom

__all__ = ["SUFFIXES", "DicomSeries", "open_dicom", "open_series", "scan_folder", "sniff"]
