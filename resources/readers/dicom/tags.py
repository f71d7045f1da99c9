"""One value of a DICOM header, as text."""

from __future__ import annotations

from pathlib import Path

import pydicom
from pydicom.errors import InvalidDicomError


def read_tag(path: Path, keyword: str) -> str | None:
    """The value of a data element; None where the file is no DICOM file or does not have it.

    Args:
        path: The file.
        keyword: DICOM's keyword of the element, e.g. `Modality`.
    """
    try:
        header = pydicom.dcmread(path, stop_before_pixels=True, specific_tags=[keyword])
    except (OSError, InvalidDicomError, ValueError, EOFError):
        return None
    value = header.get(keyword)
    return str(value).strip() or None if value is not None else None
