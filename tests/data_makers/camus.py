"""A miniature CAMUS in its true raw layout: films stored as volumes."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import numpy.typing as npt

from resources.phantoms import Ellipsoid, Grid, draw_values
from tests.data_makers.made import MadeScan, MadeSubject, by_name
from tests.data_makers.nifti_sets import write_unread

CAVITY, MUSCLE, ATRIUM = 1, 2, 3
VIEWS = ("2CH", "4CH")
QUALITY = {"2CH": "Good", "4CH": "Poor"}
_SPLITS = {1: "training", 6: "validation", 10: "testing", 11: "training"}
_PIXEL_MM = (0.31, 0.15)


def camus(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Patients of the first real numbers, one of each official split, both views of each."""
    top = raw_root / "CAMUS_public"
    numbers = list(_SPLITS)[:n]
    made = []
    for number in numbers:
        name = f"patient{number:04d}"
        made.append(MadeSubject(name, tuple(_film(top / "database_nifti" / name, name, view, number) for view in VIEWS)))
    for split in ("training", "validation", "testing"):
        path = top / "database_split" / f"subgroup_{split}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"patient{number:04d}\n" for number in numbers if _SPLITS[number] == split), encoding="utf-8")
    return by_name(made)


def _film(folder: Path, name: str, view: str, number: int) -> MadeScan:
    """Columns, rows and frames; the heart shrinks from frame to frame, as the sections of a long ellipsoid do."""
    shape = (36 + number % 3, 44 + VIEWS.index(view), 9)
    grid = Grid(shape, np.diag([*_PIXEL_MM, 1.0, 1.0]))
    across, down = (extent * pixel for extent, pixel in zip(shape, _PIXEL_MM, strict=False))
    heart, atrium = (0.52 * across, 0.35 * down, 0.4), (0.49 * across, 0.82 * down, 0.4)
    shapes = (
        Ellipsoid(heart, (0.36 * across, 0.28 * down, 16), 150, MUSCLE),
        Ellipsoid(heart, (0.25 * across, 0.19 * down, 13), 20, CAVITY),
        Ellipsoid(atrium, (0.2 * across, 0.13 * down, 15), 40, ATRIUM),
    )
    film, labels = (folder / f"{name}_{view}_half_sequence{end}.nii.gz" for end in ("", "_gt"))
    scan = MadeScan(grid, shapes, {"us": film}, {"heart": (labels,)}, "", view)
    voxels = draw_values(shapes, grid, 70) + np.random.default_rng(number).integers(0, 9, shape)
    for path, array in ((film, voxels.astype(np.uint8)), (labels, scan.label_map())):
        _write(path, array)
        for still, frame in (("ED", 0), ("ES", -1)):
            _write(folder / path.name.replace("half_sequence", still), array[:, :, frame])
    info = f"ED: 1\nES: 9\nNbFrame: 9\nSex: F\nImageQuality: {QUALITY[view]}\n"
    write_unread(folder / f"Info_{view}.cfg", content=info.encode())
    return scan


def _write(path: Path, array: npt.NDArray[Any]) -> None:
    """As the release has them: columns and rows to the left and to the back, which means nothing for an ultrasound film."""
    image = nib.Nifti1Image(array, np.diag([-_PIXEL_MM[0], -_PIXEL_MM[1], 1.0, 1.0]))
    image.header.set_xyzt_units("mm")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(image.to_bytes(), 6, mtime=0))
