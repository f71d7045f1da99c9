"""Analytic phantoms: ellipsoids with known sizes, drawn on a grid and written as NIfTI in any of the 48 orientations.

Positions are RAS+ world millimetres; arrays are `[i, j, k]` on a grid whose affine maps voxel indices to voxel centres. An
ellipsoid with centre c, semi-axes a and rotation R is {x : |diag(1/a) R^T (x - c)| <= 1}; every number it gives follows from
that formula and from no voxel.
"""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import numpy.typing as npt

from resources.geometry import FloatArray, Reorientation, as_affine

Vector = tuple[float, float, float]
Matrix = tuple[Vector, Vector, Vector]
Shape = tuple[int, int, int]

UPRIGHT: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
"""The rotation of an ellipsoid whose axes are those of the world."""

PLANE_NORMALS: dict[str, Vector] = {"sagittal": (1.0, 0.0, 0.0), "coronal": (0.0, 1.0, 0.0), "axial": (0.0, 0.0, 1.0)}
"""World direction that each plane is cut across to."""

_WORLD_LETTERS = ("RL", "AP", "SI")


def rotation(axis: int, degrees: float) -> Matrix:
    """Right-handed turn about a world axis (0 right, 1 anterior, 2 superior), as rows of a 3x3 matrix."""
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    turn = np.eye(3)
    first, second = (axis + 1) % 3, (axis + 2) % 3
    turn[first, first] = turn[second, second] = cosine
    turn[second, first], turn[first, second] = sine, -sine
    return as_matrix(turn)


def as_matrix(values: npt.NDArray[np.float64]) -> Matrix:
    """A 3x3 array as nested tuples, so that it can be part of a frozen value."""
    rows = [(float(row[0]), float(row[1]), float(row[2])) for row in values]
    return rows[0], rows[1], rows[2]


@dataclass(frozen=True, slots=True)
class Ellipsoid:
    """One structure of a phantom.

    Attributes:
        centre_ras_mm: Its centre in world coordinates.
        semi_axes_mm: Half its length along each of its own axes; all positive.
        value: Intensity drawn into an image; None leaves the image as it is.
        label: Id drawn into a label map; None leaves the label map as it is.
        rotation: Rows of the orthogonal matrix whose columns are the directions of its own axes in world coordinates.
    """

    centre_ras_mm: Vector
    semi_axes_mm: Vector
    value: float | None = None
    label: int | None = None
    rotation: Matrix = UPRIGHT

    def __post_init__(self) -> None:
        if not all(math.isfinite(a) and a > 0 for a in self.semi_axes_mm):
            raise ValueError(f"the semi-axes of an ellipsoid are positive lengths in mm, not {self.semi_axes_mm}")
        turn = np.array(self.rotation)
        if not np.allclose(turn @ turn.T, np.eye(3), atol=1e-9):
            raise ValueError(f"a rotation is an orthogonal matrix, not {self.rotation}")

    def shape_matrix(self) -> FloatArray:
        """(3, 3) symmetric matrix Q in 1/mm² with x^T Q x = 1 on the surface, x measured from the centre."""
        turn = np.array(self.rotation)
        return np.asarray(turn @ np.diag(1 / np.square(self.semi_axes_mm)) @ turn.T)

    def volume_mm3(self) -> float:
        """4/3 pi a b c."""
        return 4 / 3 * math.pi * math.prod(self.semi_axes_mm)

    def half_extent_mm(self, normal: Vector) -> float:
        """How far it reaches from its centre along a unit world direction."""
        direction = np.array(normal) @ np.array(self.rotation)
        return float(np.linalg.norm(direction * self.semi_axes_mm))

    def section_axes_mm(self, normal: Vector, offset_mm: float = 0.0) -> tuple[float, float] | None:
        """Full major and minor axis of the ellipse in which a plane cuts it.

        All parallel sections of an ellipsoid are similar; the one through the centre is the largest.

        Args:
            normal: Unit world direction across to the plane, such as one of `PLANE_NORMALS`.
            offset_mm: Distance of the plane from the centre along `normal`.

        Returns:
            (major, minor) in mm, or None where the plane misses the ellipsoid.
        """
        height = offset_mm / self.half_extent_mm(normal)
        if abs(height) >= 1:
            return None
        in_plane = np.linalg.svd(np.array([normal]))[2][1:]
        curvature = np.linalg.eigvalsh(in_plane @ self.shape_matrix() @ in_plane.T)
        minor, major = sorted(2 * math.sqrt((1 - height * height) / float(c)) for c in curvature)
        return major, minor


@dataclass(frozen=True, eq=False)
class Grid:
    """Where the voxels of an array lie.

    Attributes:
        shape: Number of voxels along i, j, k.
        affine: (4, 4) voxel index -> RAS+ mm of the voxel's centre.
    """

    shape: Shape
    affine: FloatArray

    @classmethod
    def centred(cls, shape: Shape, spacing_mm: Vector, centre_ras_mm: Vector = (0, 0, 0), turn: Matrix = UPRIGHT) -> Grid:
        """A grid around a world position, its axes those of the world or turned by `turn`."""
        affine = np.eye(4)
        affine[:3, :3] = np.array(turn) * spacing_mm
        affine[:3, 3] = centre_ras_mm - affine[:3, :3] @ ((np.array(shape) - 1) / 2)
        return cls(shape, as_affine(affine))

    def centre_ras_mm(self) -> Vector:
        """World position of the middle of the grid."""
        x, y, z = self.affine[:3, :3] @ ((np.array(self.shape) - 1) / 2) + self.affine[:3, 3]
        return float(x), float(y), float(z)

    def voxel_mm3(self) -> float:
        """Volume of one voxel."""
        return abs(float(np.linalg.det(self.affine[:3, :3])))


def draw_labels(shapes: Iterable[Ellipsoid], grid: Grid) -> npt.NDArray[np.uint8]:
    """Label map of the grid's shape: a voxel gets the label of the last shape that holds its centre, else 0."""
    labels = np.zeros(grid.shape, np.uint8)
    for shape in shapes:
        if shape.label is not None:
            _paint(labels, shape, shape.label, grid)
    return labels


def draw_values(shapes: Iterable[Ellipsoid], grid: Grid, background: float) -> npt.NDArray[np.float32]:
    """Image of the grid's shape without noise: a voxel gets the value of the last shape that holds its centre."""
    image = np.full(grid.shape, background, np.float32)
    for shape in shapes:
        if shape.value is not None:
            _paint(image, shape, shape.value, grid)
    return image


def draw_ct(shapes: Iterable[Ellipsoid], grid: Grid, noise_hu: float, random: np.random.Generator) -> npt.NDArray[np.int16]:
    """CT-like image in Hounsfield units: air around the shapes, edges soft by a pixel, noise that is correlated in the plane.

    Args:
        shapes: What to draw, in order.
        grid: Where.
        noise_hu: Standard deviation of the noise.
        random: Source of the noise.
    """
    clean: npt.NDArray[Any] = draw_values(shapes, grid, background=-1000)
    noise: npt.NDArray[Any] = random.standard_normal(grid.shape, np.float32)
    for axis in (0, 1):
        clean = (np.roll(clean, 1, axis) + 2 * clean + np.roll(clean, -1, axis)) / 4
        noise = (noise + np.roll(noise, 1, axis)) / np.float32(math.sqrt(2))
    return np.clip(np.rint(clean + noise_hu * noise), -1024, 3071).astype(np.int16)


def _paint(canvas: npt.NDArray[Any], shape: Ellipsoid, value: float, grid: Grid) -> None:
    """Set the voxels whose centres lie in the ellipsoid, looking only at the box around it."""
    to_world = grid.affine[:3, :3]
    centre = np.linalg.solve(to_world, np.array(shape.centre_ras_mm) - grid.affine[:3, 3])
    form = to_world.T @ shape.shape_matrix() @ to_world
    reach = np.sqrt(np.diag(np.linalg.inv(form)))
    low = np.maximum(np.floor(centre - reach), 0).astype(int)
    high = np.minimum(np.ceil(centre + reach) + 1, grid.shape).astype(int)
    if (low >= high).any():
        return
    i, j, k = np.ogrid[tuple(slice(a, b) for a, b in zip(low, high, strict=True))]
    i, j, k = i - centre[0], j - centre[1], k - centre[2]
    distance = form[0, 0] * i * i + form[1, 1] * j * j + 2 * form[0, 1] * i * j
    distance = distance + form[2, 2] * k * k + 2 * k * (form[0, 2] * i + form[1, 2] * j)
    box = canvas[low[0] : high[0], low[1] : high[1], low[2] : high[2]]
    box[distance <= 1] = value


def stored_as(orientation: str) -> Reorientation:
    """The reorientation that brings an array stored as e.g. `IPL` (each index grows that way) to RAS+.

    Raises:
        ValueError: The code does not name each of R/L, A/P and S/I once.
    """
    places = [[n for n, letter in enumerate(orientation) if letter in pair] for pair in _WORLD_LETTERS]
    if len(orientation) != 3 or any(len(found) != 1 for found in places):
        raise ValueError(f"an orientation names each of R/L, A/P and S/I once, e.g. IPL, not {orientation!r}")
    right, front, up = (found[0] for found in places)
    flips = (orientation[right] == "L", orientation[front] == "P", orientation[up] == "I")
    return Reorientation((right, front, up), flips)


def to_stored(ras_array: npt.NDArray[Any], ras_affine: FloatArray, orientation: str) -> tuple[npt.NDArray[Any], FloatArray]:
    """Undo a reorientation: the array and affine of the same voxels at the same places, stored as `orientation`.

    Args:
        ras_array: (i, j, k) in RAS+ order.
        ras_affine: Its affine.
        orientation: Direction in which each stored index is to grow, e.g. `IPL`.
    """
    reorientation = stored_as(orientation)
    steps = tuple(slice(None, None, -1) if flip else slice(None) for flip in reorientation.flips)
    stored = ras_array[steps].transpose(np.argsort(reorientation.axes))
    ras_to_stored = reorientation.affine(np.eye(4), (stored.shape[0], stored.shape[1], stored.shape[2]))
    turn = ras_to_stored[:3, :3]
    stored_to_ras = np.eye(4)
    stored_to_ras[:3, :3] = turn.T
    stored_to_ras[:3, 3] = -turn.T @ ras_to_stored[:3, 3]
    return stored, ras_affine @ stored_to_ras


def write_nifti(
    path: Path,
    ras_array: npt.NDArray[Any],
    ras_affine: FloatArray,
    stored_orientation: str = "IPL",
    *,
    slope: float = 1.0,
    intercept: float = 0.0,
) -> None:
    """Write a volume as NIfTI-1 with its axes permuted and flipped, every voxel at its place in the world.

    The same call writes the same bytes. sform and qform both hold the affine (codes 1), lengths are in mm, and `descrip` says
    that the volume is a phantom.

    Args:
        path: Ends in `.nii` or `.nii.gz`; its folder is made.
        ras_array: (i, j, k) in RAS+ order; the numbers that are stored, in their own dtype.
        ras_affine: Affine of `ras_array`.
        stored_orientation: Direction in which each stored index grows.
        slope: A reader's value is slope * stored + intercept.
        intercept: See `slope`.

    Raises:
        ValueError: The name has another ending, the array is not 3-D, or the orientation is none.
    """
    if not path.name.endswith((".nii", ".nii.gz")):
        raise ValueError(f"a NIfTI file ends in .nii or .nii.gz, not {path.name!r}")
    if ras_array.ndim != 3:
        raise ValueError(f"a volume has 3 axes, not {ras_array.ndim}")
    stored, affine = to_stored(ras_array, ras_affine, stored_orientation)
    image = nib.Nifti1Image(np.asarray(stored), affine, dtype=ras_array.dtype)
    image.set_sform(affine, code=1)
    image.set_qform(affine, code=1)
    image.header.set_xyzt_units("mm")
    image.header["descrip"] = b"MedFoundry phantom, not a patient"
    image.header.set_slope_inter(slope, intercept)
    content: bytes = image.to_bytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content, 6, mtime=0) if path.name.endswith(".gz") else content)
