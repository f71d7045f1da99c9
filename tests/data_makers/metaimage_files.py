"""Volumes as MetaImage files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import SimpleITK as sitk  # noqa: N813  # its usual name

from resources.geometry import FloatArray
from resources.phantoms import to_stored

_TO_LPS = np.diag([-1.0, -1.0, 1.0])


def write_metaimage(path: Path, ras_array: npt.NDArray[Any], ras_affine: FloatArray, orientation: str) -> None:
    """Write a volume as compressed MetaImage, its axes stored as `orientation`, every voxel at its place in the world."""
    path.parent.mkdir(parents=True, exist_ok=True)
    sitk.WriteImage(itk_image(ras_array, ras_affine, orientation), str(path), useCompression=True)


def itk_image(ras_array: npt.NDArray[Any], ras_affine: FloatArray, orientation: str) -> sitk.Image:
    """The volume as ITK has it, its axes stored as `orientation`."""
    stored, affine = to_stored(ras_array, ras_affine, orientation)
    image = sitk.GetImageFromArray(np.ascontiguousarray(stored.transpose(2, 1, 0)))
    spacing = np.linalg.norm(affine[:3, :3], axis=0)
    image.SetSpacing(spacing.tolist())
    image.SetOrigin((_TO_LPS @ affine[:3, 3]).tolist())
    image.SetDirection((_TO_LPS @ (affine[:3, :3] / spacing)).ravel().tolist())
    return image
