"""Small raw folders whose answer is known, and ground truths of them written by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
from PIL import Image

Json = dict[str, Any]


def write_volume(path: Path, *, mask: bool = False, ids: tuple[int, ...] = (1, 2), seed: int = 7) -> None:
    """Noise from -900 to 900, or a label map with one plane of each id, as NIfTI."""
    path.parent.mkdir(parents=True, exist_ok=True)
    voxels = np.random.default_rng(seed).integers(-900, 900, (9, 8, 5)).astype(np.int16)
    if mask:
        voxels = np.zeros((9, 8, 5), np.int16)
        for number, value in enumerate(ids):
            voxels[number + 1] = value
    image = nib.Nifti1Image(voxels, np.diag([1.0, 1.0, 2.0, 1.0]))
    image.header.set_xyzt_units("mm")
    nib.save(image, path)


def write_picture(path: Path, seed: int = 3) -> None:
    """Noise as a grey picture."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.random.default_rng(seed).integers(0, 255, (12, 10)).astype(np.uint8)).save(path)


def volumes(root: Path) -> Path:
    """Four CT volumes with label maps of two structures."""
    for number in ("001", "002", "003", "004"):
        write_volume(root / f"imagesTr/ct_{number}.nii.gz")
        write_volume(root / f"labelsTr/ct_{number}.nii.gz", mask=True)
    return root


def class_folders(root: Path) -> Path:
    """Six fundus pictures in two folders of classes."""
    for name in ("benign", "malignant"):
        for number in range(3):
            write_picture(root / f"fundus/{name}/{name[0]}_{number:03d}.png", number)
    return root


def boxes(root: Path) -> Path:
    """Four X-ray pictures, and one table of boxes of two classes."""
    lines = ["image_id,x_min,y_min,x_max,y_max,class"]
    for number in range(4):
        write_picture(root / f"xray/pic_{number:03d}.png", number)
        lines.append(f"pic_{number:03d},1,2,6,9,{('nodule', 'mass')[number % 2]}")
    (root / "boxes.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return root
