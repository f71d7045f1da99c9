"""Label maps as they are read: whole numbers, known ids, the labelled part cut out in RAS+ order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from assets.measure.labels import NO_OFFENDERS, Offenders, compact_labels, id_counts, tight_box
from assets.measure.reorient import copy_strided
from assets.spec import DatasetSpec
from assets.spec_layout import LabelsSource
from resources.findings import BadInputError, Code
from resources.geometry import closest_ras
from resources.ome_zarr import HASH_BLOCK, ContentHash
from resources.readers.image import RawImage

SLAB_PLANES = 64


@dataclass(frozen=True)
class RasLabels:
    """A label map in RAS+ order, reduced to its labelled part.

    Attributes:
        crop: `[i, j, k]`, uint8 or uint16; the tight box around all labels.
        offset_ijk: Index of the crop's first voxel in the volume.
        shape_ijk: Shape of the volume.
        counts: Label id -> voxels, in order of the ids, background left out.
    """

    crop: npt.NDArray[Any]
    offset_ijk: tuple[int, int, int]
    shape_ijk: tuple[int, int, int]
    counts: dict[int, int]

    @cached_property
    def crop_kji(self) -> npt.NDArray[Any]:
        """The crop in the order in which it is stored and hashed, `[k, j, i]`, contiguous."""
        turned = np.empty(self.crop.shape[::-1], self.crop.dtype)
        copy_strided(self.crop.transpose(2, 1, 0), turned)
        return turned


def read_labels(spec: DatasetSpec, source: LabelsSource, image: RawImage, file: str) -> RasLabels:
    """Read a map of label ids to its end.

    Raises:
        BadInputError: The file is not whole, holds values other than whole numbers of 0 to 65535, or unknown ids.
    """
    (labels,) = read_channels(image, file)
    if source.nonzero_is is not None or source.values:
        labels = _translated(source, labels)
    _refuse_unknown(spec, labels.counts, file)
    return labels


def _translated(source: LabelsSource, labels: RasLabels) -> RasLabels:
    """The map with the label ids that its values stand for."""
    ids = np.arange(max(labels.counts, default=0) + 1, dtype=np.uint16)
    if source.nonzero_is is not None:
        ids[1:] = source.nonzero_is
    for value, label_id in source.values.items():
        if 0 < value < len(ids):
            ids[value] = label_id
    crop = ids[labels.crop]
    counts = {int(n): count for n, count in sorted(id_counts(crop).items()) if n}
    smallest = np.uint8 if max(counts, default=0) < 256 else np.uint16
    return replace(labels, crop=crop.astype(smallest), counts=counts)


def read_channels(image: RawImage, file: str) -> list[RasLabels]:
    """Read every channel of a file of whole numbers to its end, whatever the numbers mean.

    Raises:
        BadInputError: The file is not whole, or holds values other than whole numbers of 0 to 65535.
    """
    return [_put_together(image, parts) for parts in _read_parts(image, file)]


@dataclass(frozen=True)
class _Part:
    """What is labelled in one slab: where it begins in stored order, and its voxels."""

    start: tuple[int, ...]
    voxels: npt.NDArray[Any]

    @property
    def stop(self) -> tuple[int, ...]:
        return tuple(a + n for a, n in zip(self.start, self.voxels.shape, strict=True))


def _put_together(image: RawImage, parts: Sequence[_Part]) -> RasLabels:
    """The labelled part of a channel, in RAS+ order."""
    reorientation = closest_ras(image.affine_ras_mm)
    shape = reorientation.shape(image.shape)
    if not parts:
        return RasLabels(np.zeros((0, 0, 0), np.uint8), (0, 0, 0), shape, {})
    low = np.min([part.start for part in parts], 0)
    high = np.max([part.stop for part in parts], 0)
    stored = np.zeros(high - low, np.result_type(*(part.voxels for part in parts)), order="F")
    for part in parts:
        stored[tuple(slice(a, b) for a, b in zip(part.start - low, part.stop - low, strict=True))] = part.voxels
    offset = [
        image.shape[axis] - int(high[axis]) if flip else int(low[axis])
        for axis, flip in zip(reorientation.axes, reorientation.flips, strict=True)
    ]
    counts = {number: count for number, count in sorted(id_counts(stored).items()) if number}
    view = reorientation.view(stored)
    crop = np.empty(view.shape, view.dtype)
    copy_strided(view, crop)
    return RasLabels(crop, (offset[0], offset[1], offset[2]), shape, counts)


def _read_parts(image: RawImage, file: str) -> list[list[_Part]]:
    """What is labelled in every channel, slab by slab, in the smallest unsigned type that holds it."""
    extent = image.shape[image.slab_axis]
    bounds = [(start, min(start + SLAB_PLANES, extent)) for start in range(0, extent, SLAB_PLANES)]
    channels: list[list[_Part]] = [[] for _ in range(image.n_channels)]
    offenders = NO_OFFENDERS
    for slab in image.slabs(bounds):
        labels, offenders = compact_labels(slab.voxels, offenders)
        box = tight_box(labels)
        if box is not None:
            start = [first for first, _ in box]
            start[image.slab_axis] += slab.start
            inside = labels[tuple(slice(*side) for side in box)]
            channels[slab.channel].append(_Part(tuple(start), inside.copy(order="K")))
    if offenders:
        _refuse_values(offenders, file)
    return channels


def _refuse_values(offenders: Offenders, file: str) -> None:
    shown = ", ".join(f"{value:g} ({count} voxels)" for value, count in offenders.examples)
    if offenders.n_not_whole == 0:
        detail = f"label ids are 0 to 65535, but {offenders.n_out_of_range} voxels hold unexpected values such as {shown}"
        raise BadInputError(Code.UNKNOWN_LABEL, detail, file=file)
    detail = (
        f"{offenders.n_not_whole} voxels hold non-integer values such as {shown}: "
        "a label map that was interpolated cannot be rounded without inventing a border"
    )
    raise BadInputError(Code.NOT_WHOLE_LABELS, detail, file=file)


def _refuse_unknown(spec: DatasetSpec, counts: dict[int, int], file: str) -> None:
    unknown = {number: count for number, count in counts.items() if number not in spec.labels}
    if unknown:
        shown = ", ".join(f"{number} ({count} voxels)" for number, count in list(unknown.items())[:5])
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        known = ", ".join(f"{number} {label.name}" for number, label in spec.labels.items())
        raise BadInputError(Code.UNKNOWN_LABEL, f"unexpected label ids {shown}{more}; the spec knows {known}", file=file)


def hash_labels(labels: RasLabels) -> str:
    """Content hash of the whole label map, zeros included, in the type it is stored in."""
    content = ContentHash(labels.shape_ijk, labels.crop.dtype)
    shape = np.array(labels.shape_ijk[::-1])
    low = np.array(labels.offset_ijk[::-1])
    crop = labels.crop_kji
    high = low + crop.shape
    touched = (range(a // HASH_BLOCK * HASH_BLOCK, b, HASH_BLOCK) for a, b in zip(low.tolist(), high.tolist(), strict=True))
    for k, j, i in product(*touched):
        start = np.array((k, j, i))
        stop = np.minimum(start + HASH_BLOCK, shape)
        first, last = np.maximum(start, low), np.minimum(stop, high)
        inside = crop[_box(first - low, last - low)]
        if inside.any():
            block = np.zeros(stop - start, crop.dtype)
            block[_box(first - start, last - start)] = inside
            content.add((k, j, i), block)
    content.add_zeros()
    return content.hexdigest()


def _box(start: npt.NDArray[Any], stop: npt.NDArray[Any]) -> tuple[slice, ...]:
    return tuple(slice(int(a), int(b)) for a, b in zip(start, stop, strict=True))
