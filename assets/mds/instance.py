"""Which slice of a stored volume one DICOM file of its series is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from assets.mds.choice import Choice

_KEYWORDS = ("ImagePositionPatient", "ImageOrientationPatient")
_LPS_TO_RAS = np.array([-1.0, -1.0, 1.0])
_REASON = "the file that is the target"


def slice_of_file(path: Path, affine_ras_mm: npt.NDArray[np.float64], shape_ijk: tuple[int, int, int]) -> Choice | None:
    """The slice that a file holds; None where its header does not say where it lies, or it lies outside of the volume.

    Args:
        path: The file.
        affine_ras_mm: (4, 4), stored voxel -> RAS+ mm.
        shape_ijk: Shape of the stored volume.
    """
    from resources.readers.dicom.tags import read_tags  # noqa: PLC0415  # pydicom is loaded for DICOM datasets alone

    said = read_tags(path, _KEYWORDS) or {}
    position, orientation = (_numbers(said.get(keyword, "")) for keyword in _KEYWORDS)
    if len(position) != 3 or len(orientation) != 6:
        return None
    to_voxels = np.linalg.inv(affine_ras_mm)
    along = [to_voxels[:3, :3] @ (_LPS_TO_RAS * orientation[n : n + 3]) for n in (0, 3)]
    axis = int(np.argmin(np.abs(along).max(axis=0)))
    index = round(float((to_voxels @ [*(_LPS_TO_RAS * position), 1.0])[axis]))
    return Choice(axis, index, _REASON) if 0 <= index < shape_ijk[axis] else None


def _numbers(text: str) -> npt.NDArray[np.float64]:
    try:
        return np.array([float(part) for part in text.split("\\")])
    except ValueError:
        return np.empty(0)
