"""What a spec takes of a file: one plane of many, or the voxels above a threshold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from resources.findings import BadInputError, Code
from resources.readers.image import RawImage, Slab


def one_plane(image: RawImage, plane: int, file: str) -> RawImage:
    """The plane at one index of an image's third axis, as a picture of its own; the file is still read to its end.

    Raises:
        BadInputError: UNEXPECTED_DIMENSIONS, when there is no such plane.
    """
    if plane >= image.shape[2]:
        detail = f"plane {plane} is asked for, but the file has {image.shape[2]}, counted from 0"
        raise BadInputError(Code.UNEXPECTED_DIMENSIONS, detail, file=file)
    affine = image.affine_ras_mm.copy()
    affine[:3, 3] += plane * affine[:3, 2]
    columns, rows, _ = image.shape
    voxels = _OnePlane(image, plane)
    return replace(image, shape=(columns, rows, 1), slab_axis=2, affine_ras_mm=affine, third_axis="space", stream=voxels)


@dataclass(frozen=True, slots=True)
class _OnePlane:
    """The slabs of one plane; serves as a `SlabStream`. They come once everything is read, as only then the file is proven."""

    image: RawImage
    plane: int

    def __call__(self, bounds: Sequence[tuple[int, int]]) -> Iterator[Slab]:
        image, axis = self.image, self.image.slab_axis
        kept = [np.empty((*image.shape[:2], 1), image.dtype, order="F") for _ in range(image.n_channels)]
        for slab in image.stream([(start, start + 1) for start in range(image.shape[axis])]):
            if axis != 2:
                where: list[slice] = [slice(None)] * 3
                where[axis] = slice(slab.start, slab.start + 1)
                kept[slab.channel][tuple(where)] = slab.voxels[:, :, self.plane : self.plane + 1]
            elif slab.start == self.plane:
                kept[slab.channel][...] = slab.voxels
        for channel, voxels in enumerate(kept):
            for start, _ in bounds:
                yield Slab(channel, start, voxels)


def at_least(image: RawImage, threshold: float, file: str) -> RawImage:
    """1 where an image reaches a threshold, 0 elsewhere: a map of probabilities as a mask.

    Its stream raises `BadInputError` where a value is no number: it is on neither side.
    """
    return replace(image, dtype=np.dtype(np.uint8), stream=_AtLeast(image, threshold, file))


@dataclass(frozen=True, slots=True)
class _AtLeast:
    """The slabs of a mask; serves as a `SlabStream`."""

    image: RawImage
    threshold: float
    file: str

    def __call__(self, bounds: Sequence[tuple[int, int]]) -> Iterator[Slab]:
        for slab in self.image.stream(bounds):
            values: npt.NDArray[Any] = slab.voxels
            odd = int(np.isnan(values).sum()) if values.dtype.kind == "f" else 0
            if odd:
                detail = f"{odd} voxels are no number, which is neither below nor above the threshold of {self.threshold:g}"
                raise BadInputError(Code.NONFINITE_VOXELS, detail, file=self.file)
            yield replace(slab, voxels=np.asfortranarray(values >= self.threshold).astype(np.uint8))
