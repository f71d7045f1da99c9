"""A miniature FeTA 2024 in its true raw layout: tissues, and pairs of points in a space of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from resources.geometry import FloatArray
from resources.phantoms import Grid, Vector, rotation, write_nifti
from tests.data_makers.made import MadeScan, MadeSubject, by_name
from tests.data_makers.nifti_sets import lattice, small_grid, write_scan, write_unread

SPACING_MM = 0.8
PAIRS: dict[int, tuple[tuple[str, Vector], tuple[str, Vector]]] = {
    1: (("anterior end of corpus callosum", (16, 22, 15)), ("posterior end of corpus callosum", (16, 8, 15))),
    2: (("superior end of vermis", (15, 10, 14)), ("inferior end of vermis", (15, 10, 5))),
    3: (("right parietal eminence", (25, 14, 17)), ("left parietal eminence", (6, 15, 17))),
    4: (("right skull parietal eminence", (28, 14, 17)), ("left skull parietal eminence", (3, 16, 17))),
    5: (
        ("most right point of cerebellar hemisphere", (21, 9, 8)),
        ("most left point of cerebellar hemisphere", (10, 9, 9)),
    ),
}  # fmt: skip
"""Value -> the two points, in voxels of the RAS+ grid of the measurements."""

_SUBJECTS = {1: (1, 2, 3, 4, 5), 2: (1, 2, 3, 4), 41: (1, 2, 3, 4, 5)}
WITHOUT, EXCLUDED = "sub-004", "sub-005"
_TO_LPS = np.diag([-1.0, -1.0, 1.0])


def feta24(raw_root: Path, n: int = 3, *, poor: bool = False) -> dict[str, MadeSubject]:
    """Fetuses of either reconstruction; one lacks a length. The space of the points is turned and shifted for each.

    Args:
        raw_root: The dataset's raw folder.
        n: How many.
        poor: Whether `sub-004` without points and `sub-005` with wrong ones are there too.
    """
    top = raw_root / "feta_2.4"
    subjects = dict(list(_SUBJECTS.items())[:n]) | ({4: (), 5: (1, 2)} if poor else {})
    made = [_subject(top, number, values) for number, values in sorted(subjects.items())]
    write_unread(top / "participants.tsv", top / "dataset_description.json", top / "derivatives/biometry/biometry.tsv")
    return by_name(made)


def _subject(top: Path, number: int, values: tuple[int, ...]) -> MadeSubject:
    name, method = f"sub-{number:03d}", "mial" if number <= 40 else "irtk"
    stem = f"{name}_rec-{method}"
    folder, biometry = top / name / "anat", top / "derivatives/biometry" / name / "anat"
    grid = small_grid(number, (SPACING_MM,) * 3)
    scan = write_scan(
        grid, lattice(grid, range(1, 8)), {"t2w": folder / f"{stem}_T2w.nii.gz"},
        ("tissues", folder / f"{stem}_dseg.nii.gz"), "RAS", seed=number, contrast="mr",
    )  # fmt: skip
    write_unread(folder / f"{stem}_T2w.json", folder / f"{stem}_dseg.json")
    landmarks = _write_biometry(biometry / stem, grid, number, values) if values else {}
    if name == EXCLUDED:
        landmarks = {}
    return MadeSubject(name, (MadeScan(scan.grid, scan.shapes, scan.series, scan.labels, scan.orientation, landmarks=landmarks),))


def _write_biometry(stem: Path, grid: Grid, number: int, values: tuple[int, ...]) -> dict[str, Vector]:
    """Two voxels a value, and the transform that takes points of their space to that of the image."""
    to_image = _turn(grid, number)
    voxels = np.zeros(grid.shape, np.uint8)
    places: dict[str, Vector] = {}
    for value in values:
        for point, ijk in PAIRS[value]:
            voxels[tuple(int(n) for n in ijk)] = value
            x, y, z = (to_image @ grid.affine @ [*ijk, 1])[:3]
            places[point] = (float(x), float(y), float(z))
    write_nifti(stem.with_name(f"{stem.name}_meas.nii.gz"), voxels, grid.affine, "RAS")
    _write_transform(stem.with_name(f"{stem.name}_trf.txt"), to_image)
    return places


def _turn(grid: Grid, number: int) -> FloatArray:
    """(4, 4) rigid motion in RAS+ mm about the middle of the grid."""
    turn = np.array(rotation(2, 4 + number % 5)) @ np.array(rotation(0, -3))
    centre = np.array(grid.centre_ras_mm())
    motion = np.eye(4)
    motion[:3, :3] = turn
    motion[:3, 3] = centre - turn @ centre + [0.5, -0.25, 0.75]
    return motion


def _write_transform(path: Path, ras: FloatArray) -> None:
    """As ITK-SNAP writes it: y = M (x - c) + c + t, in LPS."""
    matrix = _TO_LPS @ ras[:3, :3] @ _TO_LPS
    centre = np.array([3.0, -2.0, 1.0])
    shift = _TO_LPS @ ras[:3, 3] - centre + matrix @ centre
    numbers = " ".join(f"{value:.17g}" for value in (*matrix.ravel(), *shift))
    fixed = " ".join(f"{value:g}" for value in centre)
    text = (
        "#Insight Transform File V1.0\n#Transform 0\nTransform: MatrixOffsetTransformBase_double_3_3\n"
        f"Parameters: {numbers}\nFixedParameters: {fixed}\n"
    )
    write_unread(path, content=text.encode())
