"""What the makers of NIfTI datasets share: phantoms for many labels, images of a kind, label maps and masks."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import nibabel as nib
import numpy as np
import numpy.typing as npt

from resources.phantoms import (
    Ellipsoid,
    Grid,
    Matrix,
    Shape,
    Vector,
    as_matrix,
    draw_ct,
    draw_labels,
    draw_values,
    to_stored,
    write_nifti,
)
from tests.data_makers.made import MadeScan

Contrast = Literal["ct", "mr"]

APPLE_DOUBLE = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        "
"""How the `._` twin of a file begins that macOS leaves in archives."""

_LARGEST_SHARE = (0.43, 0.38, 0.34)
_OFF_CENTRE = (0.13, -0.21, 0.27)


def lattice(grid: Grid, labels: Sequence[int], *, size: float = 1.0) -> tuple[Ellipsoid, ...]:
    """One ellipsoid per label, alone in its cell of a cubic lattice over the grid; its axes are those of the grid.

    No two are of one shape, none touches the border of its cell, and no centre is that of a voxel.

    Args:
        grid: Where.
        labels: Their labels, in order of the cells: the last index runs fastest.
        size: Scales all of them; at most 1.
    """
    per_side = next(n for n in itertools.count(1) if n**3 >= len(labels))
    spacing = np.linalg.norm(grid.affine[:3, :3], axis=0)
    turn = as_matrix(grid.affine[:3, :3] / spacing)
    cell = np.array(grid.shape) / per_side
    shapes = []
    for label, place in zip(labels, np.ndindex(per_side, per_side, per_side), strict=False):
        centre = (np.array(place) + 0.5) * cell - 0.5 + _OFF_CENTRE
        share = np.roll(_LARGEST_SHARE, label) * (1 - 0.03 * (label % 5)) * size
        shapes.append(_in_voxels(grid, centre, share * cell * spacing, turn, label))
    return tuple(shapes)


def nested(grid: Grid, outer: int, inner: Sequence[int], *, size: float = 1.0) -> tuple[Ellipsoid, ...]:
    """An organ that fills most of the grid, and the lesions in it, one per label of `inner`, apart from one another."""
    spacing = np.linalg.norm(grid.affine[:3, :3], axis=0)
    turn, extent = as_matrix(grid.affine[:3, :3] / spacing), np.array(grid.shape)
    middle = (extent - 1) / 2 + _OFF_CENTRE
    shapes = [_in_voxels(grid, middle, 0.42 * extent * spacing, turn, outer)]
    for n, label in enumerate(inner):
        share = np.roll((0.11, 0.13, 0.09), n) * size
        along = (n + 0.5) / len(inner) - 0.5
        centre = middle + extent * (0.4 * along, 0.05, -0.03)
        shapes.append(_in_voxels(grid, centre, share * extent * spacing, turn, label))
    return tuple(shapes)


def _in_voxels(grid: Grid, centre: npt.NDArray[Any], semi_axes_mm: npt.NDArray[Any], turn: Matrix, label: int) -> Ellipsoid:
    return Ellipsoid(
        _vector(grid.affine[:3, :3] @ centre + grid.affine[:3, 3]), _vector(semi_axes_mm), 60 + 7 * (label % 20), label, turn
    )


def _vector(values: npt.NDArray[Any]) -> Vector:
    return float(values[0]), float(values[1]), float(values[2])


def small_grid(number: int, spacing_mm: Vector, *, shape: Shape = (32, 30, 28), turn: Matrix | None = None) -> Grid:
    """A grid somewhere in the body; no two subjects' are alike."""
    shape = (shape[0] + number % 3, shape[1] + number % 2, shape[2])
    centre = (-3.5 + number % 7, 12.25, -40.0)
    return Grid.centred(shape, spacing_mm, centre) if turn is None else Grid.centred(shape, spacing_mm, centre, turn)


def write_images(
    files: Mapping[str, Path],
    shapes: Sequence[Ellipsoid],
    grid: Grid,
    orientation: str,
    *,
    seed: int,
    contrast: Contrast = "ct",
    dtype: type[np.generic] = np.int16,
) -> None:
    """Write the series of a scan; series that name one file become its fourth axis, in their order."""
    for path in dict.fromkeys(files.values()):
        names = [name for name, file in files.items() if file == path]
        images = [_draw(shapes, grid, seed + 1000 * n, contrast).astype(dtype) for n in range(len(names))]
        if len(images) == 1:
            write_nifti(path, images[0], grid.affine, orientation)
        else:
            write_channels(path, images, grid, orientation)


def _draw(shapes: Sequence[Ellipsoid], grid: Grid, seed: int, contrast: Contrast) -> npt.NDArray[Any]:
    random = np.random.default_rng(seed)
    if contrast == "ct":
        return draw_ct(shapes, grid, noise_hu=10, random=random)
    image = draw_values(shapes, grid, background=40 + seed // 1000)
    return np.asarray(image + random.integers(0, 17, grid.shape))


def write_channels(path: Path, images: Sequence[npt.NDArray[Any]], grid: Grid, orientation: str) -> None:
    """Write 3-D images of one grid as one 4-D NIfTI-1 file, in order along its fourth axis; as ever the same bytes."""
    stored = [to_stored(image, grid.affine, orientation) for image in images]
    affine = stored[0][1]
    image = nib.Nifti1Image(np.stack([voxels for voxels, _ in stored], axis=-1), affine, dtype=images[0].dtype)
    image.set_sform(affine, code=1)
    image.set_qform(affine, code=1)
    image.header.set_xyzt_units("mm")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(image.to_bytes(), 6, mtime=0))


def write_scan(
    grid: Grid,
    shapes: tuple[Ellipsoid, ...],
    series: Mapping[str, Path],
    labels: tuple[str, Path],
    orientation: str,
    *,
    seed: int,
    contrast: Contrast = "ct",
    dtype: type[np.generic] = np.int16,
    label_dtype: type[np.generic] = np.uint8,
) -> MadeScan:
    """Write the images of a scan and the label map of its shapes."""
    name, path = labels
    write_images(series, shapes, grid, orientation, seed=seed, contrast=contrast, dtype=dtype)
    scan = MadeScan(grid, shapes, series, {name: (path,)}, orientation)
    write_nifti(path, scan.label_map().astype(label_dtype), grid.affine, orientation)
    return scan


def write_masked_scan(
    grid: Grid,
    shapes: tuple[Ellipsoid, ...],
    series: Mapping[str, Path],
    labels: str,
    masks: Mapping[int, Path],
    orientation: str,
    *,
    seed: int,
    contrast: Contrast = "ct",
) -> MadeScan:
    """Write the images of a scan and a binary mask per label; where shapes meet, so do their masks.

    Args:
        grid: Where.
        shapes: What is drawn; for the label map of the result, the highest label first where the lowest wins.
        series: Series name -> file.
        labels: Name of the label map.
        masks: Label -> file of its mask; one without a shape is written empty.
        orientation: Direction in which each stored index grows.
        seed: Of the noise.
        contrast: What the images look like.
    """
    write_images(series, shapes, grid, orientation, seed=seed, contrast=contrast)
    for label, path in masks.items():
        drawn = draw_labels([shape for shape in shapes if shape.label == label], grid)
        write_nifti(path, (drawn > 0).astype(np.uint8), grid.affine, orientation)
    return MadeScan(grid, shapes, series, {labels: tuple(masks[n] for n in sorted(masks))}, orientation)


def write_unread(*paths: Path, content: bytes = b"not read by anyone") -> None:
    """Write files that a dataset has and nobody reads."""
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
