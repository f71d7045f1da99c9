"""A miniature Ceph-Bio-400 in its true raw layout: pictures, and points in text files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from resources.phantoms import Ellipsoid, Grid, draw_values
from tests.data_makers.made import MadeScan, MadeSubject, by_name
from tests.data_makers.nifti_sets import write_unread

PIXEL_MM = 0.1
SIZE = (194, 240)
"""Columns and rows: a tenth of the real ones."""

POINTS = {
    "sella": (83, 90),
    "nasion": (143, 90),
    "orbitale": (132, 105),
    "porion": (72, 105),
    "subspinale": (136, 138),
    "supramentale": (131, 186),
    "pogonion": (133, 206),
    "menton": (123, 214),
    "gnathion": (129, 213),
    "gonion": (75, 174),
    "incision inferius": (140, 160),
    "incision superius": (144, 161),
    "upper lip": (157, 150),
    "lower lip": (154, 170),
    "subnasale": (152, 130),
    "soft tissue pogonion": (142, 206),
    "posterior nasal spine": (94, 132),
    "anterior nasal spine": (142, 132),
    "articulare": (70, 135),
}
"""Of a made-up face that looks to the right, its cranial base and its Frankfurt line level."""

_FOLDERS = {1: "TrainingData", 2: "TrainingData", 151: "Test1Data", 301: "Test2Data"}


def ceph_bio_400(raw_root: Path, n: int = 4) -> dict[str, MadeSubject]:
    """Patients of real numbers, at least one in each official part; each face is a few pixels further down and to the left."""
    return by_name(_subject(raw_root, number, place) for place, number in enumerate(list(_FOLDERS)[:n]))


def _subject(raw_root: Path, number: int, place: int) -> MadeSubject:
    name = f"{number:03d}"
    picture = raw_root / "RawImage" / _FOLDERS[number] / f"{name}.bmp"
    points = {point: (x - 3 * place, y + 2 * place) for point, (x, y) in POINTS.items()}
    grid = Grid((*SIZE, 1), np.diag([PIXEL_MM, PIXEL_MM, 1.0, 1.0]))
    shapes = (Ellipsoid((11.0, 12.0, 0.0), (7, 9.5, 1), 120), Ellipsoid((13.0, 12.5, 0.0), (2, 4, 1), 180))
    drawn = draw_values(shapes, grid, 15) + np.random.default_rng(number).integers(0, 20, grid.shape)
    for x, y in points.values():
        drawn[x, y, 0] = 255
    grey = drawn[:, :, 0].T.astype(np.uint8)
    picture.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.stack([grey] * 3, axis=-1)).save(picture)
    lines = [f"{x},{y}" for x, y in points.values()]
    senior = raw_root / "AnnotationsByMD/400_senior" / f"{name}.txt"
    write_unread(senior, content="\n".join([*lines, *"12311231", ""]).encode())
    moved = [f"{x + 1},{y - 1}" for x, y in points.values()]
    write_unread(raw_root / "AnnotationsByMD/400_junior" / f"{name}.txt", content="\n".join(moved).encode())
    places = {point: (float(x), float(y), 0.0) for point, (x, y) in points.items()}
    return MadeSubject(name, (MadeScan(grid, shapes, {"ceph": picture}, {}, "AIR", landmarks=places),))
