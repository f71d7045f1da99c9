"""Pictures in colour: their channels become one axis of one array; a label map that is stored as colours becomes one of ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from resources.findings import BadInputError, Code
from resources.readers.image import RawImage, Slab

Array = npt.NDArray[Any]
Colour = tuple[int, int, int]

_BLACK = (0, 0, 0)


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


def as_ids(image: RawImage, colours: Mapping[int, Colour], file: str) -> RawImage:
    """A label map with one channel: the ids that its colours stand for, or its grey values where no colours are given.

    Its stream raises `BadInputError` where a pixel has a colour that stands for nothing, or is not grey.

    Args:
        image: The label map, of one channel or more.
        colours: Label id -> red, green, blue. Black is 0 unless 0 has a colour.
        file: What errors call it.
    """
    if not colours:
        return replace(image, n_channels=1, fourth_axis="none", stream=_Whole(image, file).grey) if is_coloured(image) else image
    dtype = np.dtype(np.uint8 if max(colours) < 256 else np.uint16)
    return replace(image, n_channels=1, fourth_axis="none", dtype=dtype, stream=_Ids(image, {0: _BLACK, **colours}, file))


@dataclass(frozen=True)
class _Whole:
    """Streams of a picture that is read whole first: colours lie beside one another, or far apart, as the format likes."""

    image: RawImage
    file: str

    def colours(self, bounds: Sequence[tuple[int, int]]) -> Iterator[Slab]:
        whole = read_whole(self.image)[:, :, 0, :]
        for start, stop in bounds:
            yield Slab(0, start, whole[:, :, start:stop])

    def grey(self, bounds: Sequence[tuple[int, int]]) -> Iterator[Slab]:
        whole = read_whole(self.image)
        opaque = whole[..., :3]
        odd = (opaque != opaque[..., :1]).any(axis=-1)
        if odd.any():
            where = [int(n) for n in np.argwhere(odd)[0]]
            met = opaque[tuple(where)].tolist()
            detail = (
                f"{int(odd.sum())} pixels of the label map are coloured, such as {met} at {where}; label ids are grey values, "
                "unless `colours` says which label each colour stands for"
            )
            raise BadInputError(Code.UNKNOWN_LABEL, detail, file=self.file)
        axis = self.image.slab_axis
        for start, stop in bounds:
            where_: list[slice] = [slice(None)] * 3
            where_[axis] = slice(start, stop)
            yield Slab(0, start, opaque[..., 0][tuple(where_)])


@dataclass(frozen=True)
class _Ids:
    """The ids that colours stand for; serves as a `SlabStream`."""

    image: RawImage
    colours: Mapping[int, Colour]
    file: str

    def __call__(self, bounds: Sequence[tuple[int, int]]) -> Iterator[Slab]:
        whole = read_whole(self.image)
        opaque = whole[..., :3] if whole.shape[-1] > 2 else np.repeat(whole[..., :1], 3, axis=-1)
        ids = np.zeros(opaque.shape[:-1], np.uint8 if max(self.colours) < 256 else np.uint16)
        known = np.zeros(ids.shape, np.bool_)
        for label_id, colour in self.colours.items():
            meant = (opaque == np.array(colour)).all(axis=-1)
            ids[meant] = label_id
            known |= meant
        if not known.all():
            where = [int(n) for n in np.argwhere(~known)[0]]
            met = opaque[tuple(where)].tolist()
            said = ", ".join(f"{label_id} {list(colour)}" for label_id, colour in self.colours.items())
            detail = (
                f"{int((~known).sum())} pixels have a colour that stands for no label, such as {met} at {where}; known are {said}"
            )
            raise BadInputError(Code.UNKNOWN_LABEL, detail, file=self.file)
        axis = self.image.slab_axis
        for start, stop in bounds:
            at: list[slice] = [slice(None)] * 3
            at[axis] = slice(start, stop)
            yield Slab(0, start, ids[tuple(at)])


def read_whole(image: RawImage) -> Array:
    """All voxels, `[i, j, k, channel]`."""
    whole = np.empty((*image.shape, image.n_channels), image.dtype)
    extent = image.shape[image.slab_axis]
    for slab in image.stream([(0, extent)]):
        whole[..., slab.channel] = slab.voxels
    return whole
