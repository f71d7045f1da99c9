"""How others do the same work: the published way, a lean one, and the least that any way must do.

`published` follows the description of MedVision's build (arXiv 2511.18676): masks rewritten as uint16, reorientation through
float64, lesions measured by two calls (one for training cases, one for test cases, each over all masks), and three planners that
each load image and mask anew. 3-D boxes, which we do not make, are left out of it. `lean` does the same work with integers, one
load, and scipy on every label of every slice; `careful` also cuts each label out first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import nibabel as nib
import numpy as np
import numpy.typing as npt
from isal import igzip
from scipy import ndimage

Array = npt.NDArray[Any]
Measure = Callable[[Array, tuple[int, ...], tuple[float, ...]], int]

PIECE = 1 << 20
LEAST_PIXELS = 200
"""Smaller components get no ellipse in the published way."""
LEAST_CONTOUR = 5


class Component(NamedTuple):
    """One component as scipy finds it; rows and columns inclusive."""

    axis: int
    slice: int
    label: int
    number: int
    row_min: int
    row_max: int
    col_min: int
    col_max: int
    pixels: int


def slices(volume: Array) -> Iterator[tuple[int, int, Array]]:
    """Every slice of the three planes."""
    for axis in range(3):
        for index in range(volume.shape[axis]):
            yield axis, index, volume[(slice(None),) * axis + (index,)]


def published_boxes(labels: Array) -> list[Component]:
    """The detection planner: per slice the ids, per id scipy's components, per component a mask."""
    found = []
    for axis, index, pixels in slices(labels):
        for label in np.unique(pixels):
            if label == 0:
                continue
            marked, _ = ndimage.label(pixels == label)
            for number, (rows, cols) in enumerate(ndimage.find_objects(marked), 1):
                mask = marked == number
                count = int(mask.sum())
                edges = (rows.start, rows.stop - 1, cols.start, cols.stop - 1)
                found.append(Component(axis, index, int(label), number, *edges, count))
    return found


def published_areas(labels: Array) -> list[tuple[int, int, int, int]]:
    """The segmentation planner: pixels of every id in every slice."""
    return [
        (axis, index, int(label), int((pixels == label).sum()))
        for axis, index, pixels in slices(labels)
        for label in np.unique(pixels)
        if label != 0
    ]


def published_sizes(labels: Array, lesions: tuple[int, ...], zooms: tuple[float, ...]) -> list[Any]:
    """What the biometry planner reads: an ellipse through the outline of every large component of a lesion label."""
    found = []
    for (axis, _, pixels), lesion in product(slices(labels), lesions):
        binary = pixels == lesion
        if not binary.any():
            continue
        marked, count = ndimage.label(binary)
        spacing = np.array([z for n, z in enumerate(zooms) if n != axis])
        for number in range(1, count + 1):
            mask = marked == number
            if mask.sum() >= LEAST_PIXELS:
                found.append(_ellipse(mask, spacing))
    return found


def _ellipse(mask: Array, spacing: Array) -> Any:
    contours, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    points = contours[0][:, 0, ::-1] * spacing
    return cv2.fitEllipse(points.astype(np.float32)) if len(points) >= LEAST_CONTOUR else None


def published(image: Path, labels: Path, out: Path, lesions: tuple[int, ...], calls: int = 2) -> None:
    """The whole subject in the published way; leaves `imaging.nii.gz` and `segmentation.nii.gz` in `out`.

    Args:
        image: Raw image.
        labels: Raw label map.
        out: Where the files go.
        lesions: Labels that are measured.
        calls: How often all lesions are measured; 2 as published.
    """
    new_image, new_labels = out / "imaging.nii.gz", out / "segmentation.nii.gz"
    _rewrite_mask(labels, new_labels)
    _reorient_in_float(image, new_image)
    _reorient_in_float(new_labels, new_labels)
    zooms = nib.load(new_labels).header.get_zooms()
    for _ in range(calls):
        published_sizes(_in_float(new_labels), lesions, zooms)
    for planner in (published_areas, published_boxes, _nothing_more):
        _in_float(new_image)
        planner(_in_float(new_labels))


def _in_float(path: Path) -> Array:
    loaded: Any = nib.load(path)
    return np.asarray(loaded.get_fdata())


def _nothing_more(_labels: Array) -> None:
    """The biometry planner takes its ellipses from a file."""


def _rewrite_mask(source: Path, target: Path) -> None:
    mask: Any = nib.load(source)
    header = mask.header.copy()
    header.set_data_dtype(np.uint16)
    header.set_slope_inter(1, 0)
    nib.save(nib.Nifti1Image(mask.get_fdata().astype(np.uint16), mask.affine, header), target)


def _reorient_in_float(source: Path, target: Path) -> None:
    canonical: Any = nib.as_closest_canonical(nib.load(source))
    values = canonical.get_fdata()
    header = canonical.header.copy()
    header.set_data_dtype(values.dtype)
    nib.save(nib.Nifti1Image(values, canonical.affine, header), target)


def lean(image: Path, labels: Path, out: Path, lesions: tuple[int, ...], measure: Measure | None = None) -> None:
    """The whole subject with integers kept, one load, and scipy per slice on bytes; files as `published` leaves them.

    Args:
        image: Raw image.
        labels: Raw label map.
        out: Where the files go.
        lesions: Labels that are measured.
        measure: How components are found; `lean_components` when not given.
    """
    _reorient(image, out / "imaging.nii.gz")
    mask = _reorient(labels, out / "segmentation.nii.gz")
    values = np.asarray(mask.dataobj)
    (measure or lean_components)(values.astype(np.uint8, copy=False), lesions, mask.header.get_zooms())


def _reorient(source: Path, target: Path) -> Any:
    loaded: Any = nib.load(source)
    header = loaded.header.copy()
    plain = nib.Nifti1Image(np.asarray(loaded.dataobj), loaded.affine, header)
    canonical: Any = nib.as_closest_canonical(plain)
    nib.save(canonical, target)
    return canonical


def lean_components(labels: Array, lesions: tuple[int, ...], zooms: tuple[float, ...]) -> int:
    """Components, boxes, pixel counts, and ellipses of lesion components, slice by slice; how many components there are."""
    return sum(
        _lean_components(pixels == label, _in_plane(zooms, axis), is_lesion=label in lesions)
        for axis, _, pixels in slices(labels)
        for label in np.unique(pixels)
        if label != 0
    )


def careful_components(labels: Array, lesions: tuple[int, ...], zooms: tuple[float, ...]) -> int:
    """The same with each label cut out of the volume first, so that only slices of its box are looked at."""
    return sum(
        _lean_components(mask, _in_plane(zooms, axis), is_lesion=label in lesions)
        for label, box in _boxes(labels)
        for axis, _, mask in slices(labels[box] == label)
        if mask.any()
    )


def _boxes(labels: Array) -> Iterator[tuple[int, tuple[slice, ...]]]:
    """The labels that occur, each with its box."""
    found: list[tuple[slice, ...] | None] = list(ndimage.find_objects(labels))
    return ((label, box) for label, box in enumerate(found, 1) if box is not None)


def _in_plane(zooms: tuple[float, ...], axis: int) -> Array:
    return np.array([z for n, z in enumerate(zooms) if n != axis])


def _lean_components(mask: Array, spacing: Array, *, is_lesion: bool) -> int:
    marked, count = ndimage.label(mask)
    for number, box in enumerate(ndimage.find_objects(marked), 1):
        inside = marked[box] == number
        if np.count_nonzero(inside) >= LEAST_PIXELS and is_lesion:
            _ellipse(inside, spacing)
    return int(count)


class Floor:
    """Inflate image and label map and copy them once, one thread, into memory that is there already."""

    def __init__(self, files: tuple[Path, ...]) -> None:
        self._files = files
        size = max(self._inflated(path) for path in files)
        self._first, self._second = np.zeros(size, np.uint8), np.zeros(size, np.uint8)

    @staticmethod
    def _inflated(path: Path) -> int:
        header: Any = nib.Nifti1Header.from_fileobj(igzip.open(path), check=False)
        return int(np.prod(header.get_data_shape())) * int(header.get_data_dtype().itemsize) + 4096

    def run(self) -> None:
        memory = self._first.data
        for path in self._files:
            done = 0
            with igzip.open(path) as stream:
                while count := stream.readinto(memory[done : done + PIECE]):
                    done += count
            np.copyto(self._second[:done], self._first[:done])
