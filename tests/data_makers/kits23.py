"""A miniature KiTS23 in its true raw layout."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from resources.phantoms import Ellipsoid, Grid, Shape, Vector, draw_ct, write_nifti
from tests.data_makers.made import MadeScan, MadeSubject, by_name

KIDNEY, TUMOUR, CYST = 1, 2, 3
_CENTRE: Vector = (3.5, -40.25, 112.0)


def kits23(
    raw_root: Path,
    n: int = 3,
    *,
    first: int = 0,
    shape: Shape = (32, 36, 28),
    spacing_mm: Vector = (1.5, 1.5, 2.5),
    orientations: tuple[str, ...] = ("IPL",),
    synthetic: bool = False,
) -> dict[str, MadeSubject]:
    """Write subjects `case_<first>` and on; the list of subjects names all that the folder then holds.

    Every subject has two kidneys, a tumour on the right one and a cyst on the left one, upright and inside the default
    grid. Tumour and cyst are drawn last and do not meet, so the label map holds them whole.

    Args:
        raw_root: The dataset's raw folder.
        n: How many.
        first: Number of the first.
        shape: Voxels along i, j, k.
        spacing_mm: Along i, j, k.
        orientations: Stored orientations, taken in turn.
        synthetic: Whether the folder says that its data are made up.

    Returns:
        The subjects by name.
    """
    made = []
    for number in range(first, first + n):
        grid = Grid.centred(shape, spacing_mm, _CENTRE)
        folder = raw_root / "dataset" / f"case_{number:05d}"
        orientation = orientations[number % len(orientations)]
        shapes = _shapes(1 + 0.04 * (number % 4))
        image, labels = folder / "imaging.nii.gz", folder / "segmentation.nii.gz"
        scan = MadeScan(grid, shapes, {"ct": image}, {"masses": (labels,)}, orientation)
        ct = draw_ct(shapes, grid, noise_hu=10, random=np.random.default_rng(number))
        write_nifti(image, ct, grid.affine, orientation)
        write_nifti(labels, scan.label_map(), grid.affine, orientation)
        made.append(MadeSubject(folder.name, (scan,)))
    cases = sorted(folder.name for folder in (raw_root / "dataset").glob("case_*"))
    listing = raw_root / "dataset" / "kits23.json"
    listing.write_text(json.dumps([{"case_id": case} for case in cases]), encoding="utf-8")
    if synthetic:
        (raw_root / "SYNTHETIC.json").write_text('{"synthetic": true}', encoding="utf-8")
    return by_name(made)


def _shapes(size: float) -> tuple[Ellipsoid, ...]:
    def at(x: float, y: float, z: float) -> Vector:
        return _CENTRE[0] + x, _CENTRE[1] + y, _CENTRE[2] + z

    return (
        Ellipsoid(at(0, 0, 0), (23, 26, 400), 40),
        Ellipsoid(at(11, 0, 0), (10, 11, 22), 190, KIDNEY),
        Ellipsoid(at(-11.2, 0.4, 1), (9.5, 10.5, 23), 190, KIDNEY),
        Ellipsoid(at(12.1, -8.3, 6.2), (8.2 * size, 7.4 * size, 13.5 * size), 95, TUMOUR),
        Ellipsoid(at(-12.3, 7.9, -8.1), (6.1 * size, 5.7 * size, 7.3 * size), 8, CYST),
    )
