"""Pictures in colour: their channels become one axis of one array; a label map in grey that is stored as colours becomes one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from resources.findings import BadInputError, Code
from resources.readers.image import RawImage, Slab

Array = npt.NDArray[Any]


def is_coloured(image: RawImage) -> bool:
    """Whether the image is a picture with several channels."""
    return image.space == "picture" and image.fourth_axis == "channel" and image.n_channels > 1


def as_colours(image: RawImage, file: str) -> RawImage:
    """The picture with its channels as third axis.

    Raises:
        BadInputError: It is a film or has pages, so that a fourth axis would be needed.
    """
    if image.shape[2] != 1:
        detail = f"{image.shape[2]} frames or pages of {image.n_channels} colours; a picture has colours or frames, not both"
        raise BadInputError(Code.UNSUPPORTED_DATA, detail, file=file)
    width, height, _ = image.shape
    whole = _Whole(image, file)
    return replace(
        image, shape=(width, height, image.n_channels), slab_axis=2, n_channels=1, fourth_axis="none", third_axis="colour",
        spacing_known=(*image.spacing_known[:2], False), stream=whole.colours,
    )  # fmt: skip


def as_grey(image: RawImage, file: str) -> RawImage:
    """The picture with one channel, where its colours are all the same.

    Its stream raises `BadInputError` where a pixel is not grey: such colours are no label ids.
    """
    return replace(image, n_channels=1, fourth_axis="none", stream=_Whole(image, file).grey)


@dataclass(frozen=True)
class _Whole:
    """Streams of a picture that is read whole first: colours lie beside one another, or far apart, as the format likes."""

    image: RawImage
    file: str

    def colours(self, bounds: Sequence[tuple[int, int]]) -> Iterator[Slab]:
        whole = self._read()[:, :, 0, :]
        for start, stop in bounds:
            yield Slab(0, start, whole[:, :, start:stop])

    def grey(self, bounds: Sequence[tuple[int, int]]) -> Iterator[Slab]:
        whole = self._read()
        opaque = whole[..., :3]
        odd = (opaque != opaque[..., :1]).any(axis=-1)
        if odd.any():
            where = [int(n) for n in np.argwhere(odd)[0]]
            met = opaque[tuple(where)].tolist()
            detail = f"{int(odd.sum())} pixels of the label map are coloured, such as {met} at {where}; label ids are grey values"
            raise BadInputError(Code.UNKNOWN_LABEL, detail, file=self.file)
        axis = self.image.slab_axis
        for start, stop in bounds:
            where_: list[slice] = [slice(None)] * 3
            where_[axis] = slice(start, stop)
            yield Slab(0, start, opaque[..., 0][tuple(where_)])

    def _read(self) -> Array:
        """`[i, j, k, channel]`."""
        image = self.image
        whole = np.empty((*image.shape, image.n_channels), image.dtype)
        extent = image.shape[image.slab_axis]
        for slab in image.stream([(0, extent)]):
            whole[..., slab.channel] = slab.voxels
        return whole
