"""A miniature SKM-TEA in its true raw layout: images in HDF5 without geometry, masks in NIfTI with it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from resources.phantoms import Grid, draw_values, to_stored, write_nifti
from tests.data_makers.made import MadeScan, MadeSubject, by_name
from tests.data_makers.nifti_sets import lattice, small_grid, write_unread

_NUMBERS = (1, 13, 5, 8)
_SPLITS = {1: "train", 13: "val", 5: "test", 8: "train", 43: "train"}
MIRRORED = 43
"""A real scan that is stored from right to left."""

_ORIENTATION = "PIR"
_LABELS = range(1, 7)


def skm_tea(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Patients of the first real numbers, one of each official split, and one scan stored from right to left."""
    top = raw_root / "v1-release"
    made = [_subject(top, number) for number in sorted((*_NUMBERS[:n], MIRRORED))]
    names = {f"MTR_{number:03d}": _SPLITS[number] for number in (*_NUMBERS[:n], MIRRORED)}
    for split in ("train", "val", "test"):
        path = top / "annotations/v1.0.0" / f"{split}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        images = [_entry(name) for name, where in names.items() if where == split]
        path.write_text(json.dumps({"info": {"version": "v1.0.0"}, "images": images, "annotations": []}), encoding="utf-8")
    for name in names:
        write_unread(
            top / "files_recon_calib-24" / f"{name}.h5",
            top / "segmentation_masks/raw-data-track" / f"{name}.nii.gz",
            top / "dicoms" / name / "001.dcm",
        )
    write_unread(top / "all_metadata.csv")
    return by_name(made)


def _entry(name: str) -> Mapping[str, Any]:
    side = "RL" if name.endswith(f"{MIRRORED:03d}") else "LR"
    return {"file_name": f"{name}.h5", "scan_id": name, "subject_id": int(name[-3:]) + 100, "orientation": ["SI", "AP", side]}


def _subject(top: Path, number: int) -> MadeSubject:
    name = f"MTR_{number:03d}"
    grid = small_grid(number, (0.8, 0.3125, 0.3125), shape=(26, 32, 34))
    images, mask = top / "image_files" / f"{name}.h5", top / "segmentation_masks/dicom-track" / f"{name}.nii.gz"
    shapes = lattice(grid, _LABELS)
    scan = MadeScan(grid, shapes, {"echo1": images, "echo2": images}, {"tissues": (mask,)}, _ORIENTATION)
    write_nifti(mask, scan.label_map(), grid.affine, _ORIENTATION)
    noise = np.random.default_rng(number).integers(0, 9, grid.shape)
    echoes = [draw_values(shapes, grid, 30 + 10 * echo) + noise for echo in (1, 2)]
    _write_images(images, grid, echoes, scan.label_map(), mirrored=number == MIRRORED)
    return MadeSubject(name, (scan,))


def _write_images(
    path: Path, grid: Grid, echoes: Sequence[npt.NDArray[Any]], labels: npt.NDArray[np.uint8], *, mirrored: bool
) -> None:
    """Rows (to inferior), columns (to posterior), slices (to the right, or to the left where mirrored)."""

    def relaid(ras: npt.NDArray[Any]) -> npt.NDArray[Any]:
        stored = to_stored(ras, grid.affine, _ORIENTATION)[0].transpose(1, 0, 2)
        return stored[:, :, ::-1] if mirrored else stored

    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        for n, echo in enumerate(echoes, 1):
            file.create_dataset(f"echo{n}", data=relaid(echo).astype(np.int16), compression="gzip")
            file.create_dataset(f"stats/echo{n}/mean", data=float(echo.mean()))
        one_hot = np.stack([relaid(labels == label) for label in _LABELS], axis=-1)
        file.create_dataset("seg", data=one_hot.astype(np.uint8), compression="gzip")
