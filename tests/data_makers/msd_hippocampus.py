"""A miniature of the Medical Segmentation Decathlon's hippocampus task in its true raw layout."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from resources.phantoms import Ellipsoid, Grid, Vector, draw_values, rotation, write_nifti
from tests.data_makers.made import MadeScan, MadeSubject, by_name
from tests.data_makers.msd import write_listing, write_test_images

ANTERIOR, POSTERIOR = 1, 2


def msd_hippocampus(raw_root: Path, n: int = 3, *, first: int = 1) -> dict[str, MadeSubject]:
    """Write subjects `hippocampus_<first>` and on, 1 mm voxels, each an anterior and a posterior ellipsoid that do not meet.

    Like the real files, some images are float32 and some uint8, all are stored as RAS, and no two grids need be alike.

    Args:
        raw_root: The dataset's raw folder; `Task04_Hippocampus` is made in it.
        n: How many.
        first: Number of the first.

    Returns:
        The subjects by name.
    """
    task = raw_root / "Task04_Hippocampus"
    made = [_write(task, number) for number in range(first, first + n)]
    write_test_images(task, ["imagesTs/hippocampus_002.nii.gz"])
    listing = {"name": "Hippocampus", "modality": {"0": "MRI"}, "labels": {"0": "background", "1": "Anterior", "2": "Posterior"}}
    write_listing(task, listing, ["./imagesTs/hippocampus_002.nii.gz"])
    return by_name(made)


def _write(task: Path, number: int) -> MadeSubject:
    shape = (35 - number % 3, 51 + number % 2, 35 + number % 4)
    affine = np.eye(4)
    affine[:3, 3] = 1
    grid = Grid(shape, affine)
    centre = grid.centre_ras_mm()
    name = f"hippocampus_{number:03d}"
    shapes = _shapes(centre, number)
    image, labels = task / "imagesTr" / f"{name}.nii.gz", task / "labelsTr" / f"{name}.nii.gz"
    scan = MadeScan(grid, shapes, {"t1w": image}, {"hippocampus": (labels,)}, "RAS")
    t1w = draw_values(shapes, grid, background=30)
    t1w += np.random.default_rng(number).integers(-8, 9, shape, np.int8)
    write_nifti(image, t1w if number % 2 else t1w.astype(np.uint8), affine, "RAS")
    write_nifti(labels, scan.label_map(), affine, "RAS")
    return MadeSubject(name, (scan,))


def _shapes(centre: Vector, number: int) -> tuple[Ellipsoid, ...]:
    x, y, z = centre
    size = 1 + 0.03 * (number % 4)
    return (
        Ellipsoid((x + 1.2, y + 9.3, z + 0.4), (7.5 * size, 8 * size, 6.4 * size), 120, ANTERIOR),
        Ellipsoid((x - 1.5, y - 9.6, z + 1.1), (5.2 * size, 9 * size, 5.6 * size), 110, POSTERIOR, rotation(2, 12)),
    )
