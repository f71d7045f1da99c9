"""Volumes as NRRD files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy.typing as npt
import SimpleITK as sitk  # noqa: N813  # its usual name

from resources.geometry import FloatArray
from tests.data_makers.metaimage_files import itk_image


def write_nrrd(path: Path, ras_array: npt.NDArray[Any], ras_affine: FloatArray, orientation: str) -> None:
    """Write a volume as compressed NRRD, its axes stored as `orientation`, every voxel at its place in the world."""
    path.parent.mkdir(parents=True, exist_ok=True)
    sitk.WriteImage(itk_image(ras_array, ras_affine, orientation), str(path), useCompression=True)
