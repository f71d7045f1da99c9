"""Which way an array without geometry lies, told by a copy of the label map that lies beside it in its container.

An array takes its geometry from the file of a label map whose axes are in the same order. Whether an axis of the array runs
against that of the label map neither file says; but where the container holds the same structures once more, the two must
agree when one is laid on the other, and only one way of laying it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np

from assets.label_maps import RasLabels, read_channels
from assets.raw.rows import on_disk
from resources.findings import BadInputError, Code
from resources.geometry import FloatArray
from resources.readers.registry import open_image
from resources.readers.source import ReadOptions

Flips = tuple[bool, bool, bool]

LEAST_AGREEMENT = 0.95
"""Dice of all labels together: corrected copies differ in a few slices."""

MOST_OF_OTHERS = 0.8
"""Dice of any other way. A structure may be nearly its own mirror image, but left and right ones have labels of their own."""

_AS_STORED = ReadOptions(assume_orientation="RAS", spacing_mm=(1.0, 1.0, 1.0))


def flips_of(raw_root: Path, container: str, key: str, axes: str, label_map: str) -> Flips:
    """The axes along which a container's arrays run against a label map.

    Args:
        raw_root: The raw folder.
        container: The container, relative to it.
        key: Its array with a binary mask per label along the last axis, in order of the label ids from 1.
        axes: Order in which its first three axes are stored.
        label_map: File of the label map.

    Returns:
        For each of the three axes x, y, z, whether it is reversed.

    Raises:
        BadInputError: A file cannot be used, or it cannot be told.
    """
    stamps = tuple((raw_root / on_disk(path)).stat().st_mtime_ns for path in (container, label_map))
    return _told(raw_root, container, key, axes, label_map, stamps)


@lru_cache(maxsize=8)
def _told(raw_root: Path, container: str, key: str, axes: str, label_map: str, _stamps: tuple[int, ...]) -> Flips:
    """The series of one container ask one after another."""
    copy = open_image(raw_root / container, name=container, options=replace(_AS_STORED, key=key, axes=f"{axes}c"))
    image = open_image(raw_root / on_disk(label_map), name=label_map)
    if copy.shape != image.shape:
        detail = f"{key} is {copy.shape}, but {label_map}, with which it should agree, is {image.shape} as stored"
        raise BadInputError(Code.GRID_MISMATCH, detail, file=container)
    (labels,) = read_channels(replace(image, affine_ras_mm=np.eye(4)), label_map)
    agreements = _agreements(read_channels(copy, container), labels)
    (best, flips), *others = sorted(((dice, way) for way, dice in agreements.items()), reverse=True)
    if best < LEAST_AGREEMENT or any(dice > MOST_OF_OTHERS for dice, _ in others):
        detail = (
            f"it cannot be told which way its arrays lie: laid on {label_map}, {key} agrees in {best:.0%} of the labelled voxels "
            f"at best (at least {LEAST_AGREEMENT:.0%} is asked), in {others[0][0]:.0%} another way (at most {MOST_OF_OTHERS:.0%})"
        )
        raise BadInputError(Code.ORIENTATION_UNKNOWN, detail, file=container)
    return flips


def _agreements(parts: Sequence[RasLabels], label_map: RasLabels) -> dict[Flips, float]:
    """Way of laying -> Dice of all labels together."""
    shape = np.array(label_map.shape_ijk)
    labels = np.zeros(shape, label_map.crop.dtype)
    labels[tuple(slice(o, o + n) for o, n in zip(label_map.offset_ijk, label_map.crop.shape, strict=True))] = label_map.crop
    places = [np.argwhere(part.crop) + part.offset_ijk for part in parts]
    ids = np.repeat(np.arange(1, len(parts) + 1), [len(place) for place in places])
    voxels = np.concatenate(places)
    whole = len(voxels) + int(np.count_nonzero(labels))
    found: dict[Flips, float] = {}
    for x, y, z in product((False, True), repeat=3):
        i, j, k = np.where((x, y, z), shape - 1 - voxels, voxels).T
        found[x, y, z] = 2 * float(np.count_nonzero(labels[i, j, k] == ids)) / whole if whole else 1.0
    return found


def flipped(affine_ras_mm: FloatArray, shape: Sequence[int], flips: Flips) -> FloatArray:
    """The affine of an array some of whose axes run against those of the array that has the given one."""
    turn = np.eye(4)
    for axis, flip in enumerate(flips):
        if flip:
            turn[axis, axis], turn[axis, 3] = -1, shape[axis] - 1
    return affine_ras_mm @ turn
