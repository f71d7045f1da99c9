"""Which slice of a volume, or which frame of a film, the picture shows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from assets.measure import Plane

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LabelledPart:
    """The labelled part of one label map on the grid of the image.

    Attributes:
        crop: `[i, j, k]` label ids; nothing is labelled outside of it.
        offset_ijk: Where its first voxel lies.
    """

    crop: npt.NDArray[Any]
    offset_ijk: tuple[int, int, int]

    def pixels(self, axis: int, n_slices: int, ids: Collection[int] | None = None) -> Counts:
        """Labelled pixels of every slice along `axis`: of the labels `ids`, or of any."""
        marked = self.crop > 0 if ids is None else np.isin(self.crop, sorted(ids))
        counts = np.zeros(n_slices, np.int64)
        start = self.offset_ijk[axis]
        counts[start : start + marked.shape[axis]] = marked.sum(axis=tuple(n for n in range(3) if n != axis))
        return counts

    def slice(self, axis: int, index: int, shape: tuple[int, int]) -> npt.NDArray[Any]:
        """The whole slice `index` along `axis`, of this shape."""
        whole = np.zeros(shape, self.crop.dtype)
        inside = index - self.offset_ijk[axis]
        if 0 <= inside < self.crop.shape[axis]:
            cut = self.crop.take(inside, axis)
            first, second = (self.offset_ijk[n] for n in range(3) if n != axis)
            whole[first : first + cut.shape[0], second : second + cut.shape[1]] = cut
        return whole


@dataclass(frozen=True, slots=True)
class Marked:
    """An object that a table marks: its centre in stored voxels, and a number that grows with its size."""

    centre_ijk: tuple[float, float, float]
    size: float


@dataclass(frozen=True, slots=True)
class Choice:
    """A slice.

    Attributes:
        axis: The axis that counts the slices.
        index: The slice.
        reason: Why this one.
    """

    axis: int
    index: int
    reason: str


def plane_axis(shape_ijk: tuple[int, int, int], declared: str) -> int:
    """The axis that counts the slices of the plane that is drawn: the declared one, else axial, or what plane there is."""
    if declared:
        return Plane(declared).axis
    order = (Plane.AXIAL, Plane.CORONAL, Plane.SAGITTAL)
    found = next((p for p in order if min(shape_ijk[n] for n in p.in_plane) > 1), Plane.AXIAL)
    return found.axis


def choose_slice(
    axis: int, n_slices: int, parts: Sequence[LabelledPart], lesions: Collection[int], marked: Sequence[Marked]
) -> Choice:
    """The slice through the largest marked object; else the one with most pixels of lesions, of any label; else the middle.

    Of slices that are equally good the first is taken.
    """
    inside = [m for m in marked if 0 <= round(m.centre_ijk[axis]) < n_slices]
    if inside:
        largest = max(inside, key=lambda m: m.size)
        return Choice(axis, round(largest.centre_ijk[axis]), "through the centre of the largest marked object")
    for ids, what in ((lesions, "lesion"), (None, "labelled")):
        counts = _counted(axis, n_slices, parts, ids)
        if counts.any():
            return Choice(axis, int(np.argmax(counts)), f"most {what} pixels")
    return Choice(axis, n_slices // 2, "the middle")


def choose_frame(n_frames: int, parts: Sequence[LabelledPart], lesions: Collection[int]) -> Choice:
    """The middle frame of a film; where lesions, or labels, are drawn in some frames alone, the one of those nearest to it."""
    middle = n_frames // 2
    for ids, what in ((lesions, "lesions"), (None, "labels")):
        drawn = np.flatnonzero(_counted(2, n_frames, parts, ids))
        if drawn.size:
            index = int(drawn[np.argmin(np.abs(drawn - middle))])
            return Choice(2, index, "the middle" if index == middle else f"of the frames with {what} the nearest to the middle")
    return Choice(2, middle, "the middle")


def _counted(axis: int, n_slices: int, parts: Sequence[LabelledPart], ids: Collection[int] | None) -> Counts:
    return sum((part.pixels(axis, n_slices, ids) for part in parts), np.zeros(n_slices, np.int64))
