"""What the axes of arrays in containers are, and whether the channels of a label map are structures: by extents and values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from assets.inspect.arrays import in_file
from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.layout import Plan, Source
from assets.inspect.peek import MOST_VOXELS, Opener
from assets.raw.rows import row_of
from resources.findings import BadInputError
from resources.readers.arrays import ArrayInfo
from resources.readers.registry import open_image
from resources.readers.source import ReadOptions

_MOST_CHANNELS, _LOOKED_AT = 16, 3
_NEARLY, _THIRD = 0.95, 1 / 3

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Axes:
    """What is said of the axes of one array.

    Attributes:
        said: A letter for each; empty where nothing says it.
        confidence: In it.
        why: What it rests on, or what is missing.
        guess: Whether a person must look.
        structures: How many masks of structures the channels are; 0 where they are none.
    """

    said: str
    confidence: float
    why: str
    guess: bool = False
    structures: int = 0


@dataclass(frozen=True, slots=True)
class _Seen:
    """How often the channels of label maps are set.

    Attributes:
        one: Share of the positions where exactly one channel is.
        some: Share of the channels that are set somewhere.
    """

    one: float
    some: float


def with_axes(planned: Plan | None, opener: Opener) -> Plan | None:
    """The plan with the axes of its arrays as far as something tells them, and with what must be said of them."""
    if planned is None:
        return None
    image, mask = (next((source for source in sources if source.key), None) for sources in (planned.series, planned.labels))
    if image is None or mask is None:
        return replace(planned, unknown=(*planned.unknown, *_unsaid(planned)))
    shapes = [_shape(source) for source in (image, mask)]
    seen = _seen(mask, shapes[1], opener) if _may_be_channels(shapes[1]) and shapes[1][2] > 1 else None
    label = _of_label(shapes[0], shapes[1], seen)
    told = {image.name: _of_image(shapes[0], shapes[1], label), mask.name: label}
    evidence, unknown = _answers((image, mask), told)
    return replace(
        planned,
        series=tuple(_axed(source, told) for source in planned.series),
        labels=tuple(_axed(source, told) for source in planned.labels),
        evidence=(*planned.evidence, *evidence),
        unknown=(*planned.unknown, *unknown),
    )


def _axed(source: Source, told: Mapping[str, _Axes]) -> Source:
    axes = told.get(source.name)
    return source if axes is None else replace(source, axes=axes.said, channels=axes.structures)


def _answers(sources: Sequence[Source], told: Mapping[str, _Axes]) -> tuple[list[Evidence], list[Unknown]]:
    evidence, unknown = [], []
    for source in sources:
        axes, what = told[source.name], f"{source.key!r} of {source.part.group.paths[0]}, {_shape(source)}"
        if axes.said:
            evidence.append(Evidence("axes", f"{source.name} {axes.said}", axes.confidence, f"{what}: {axes.why}"))
        if axes.structures:
            evidence.append(Evidence("axes", f"{source.name} one_hot", axes.confidence, axes.why))
        if axes.guess:
            unknown.append(Unknown("axes", f"{what}: {'a guess: ' if axes.said else ''}{axes.why}"))
    return evidence, unknown


def _shape(source: Source) -> Shape:
    arrays: Sequence[ArrayInfo] = source.part.peeks[0].arrays
    key = in_file(source.key, source.part.group.paths[0])
    return next(array.shape for array in arrays if array.name == key)


def _may_be_channels(shape: Shape) -> bool:
    return len(shape) == 3 and shape[2] <= _MOST_CHANNELS


def _of_label(image: Shape, mask: Shape, seen: _Seen | None) -> _Axes:
    """The axes of a label map; its last axis is that of channels where the values, or the image's extents, say so."""
    if not _may_be_channels(mask):
        return _plain(mask)
    if mask[2] == 1:
        return _Axes("yxc", 0.9, "the last axis has one element")
    apart = len(image) == 2 or (_may_be_channels(image) and image[2] != mask[2])
    if seen is not None and seen.one >= _NEARLY:
        why = f"exactly one of {mask[2]} channels is set at {seen.one:.0%} of the positions"
        return _Axes("yxc", 0.9, why, structures=mask[2])
    if seen is not None and apart and seen.some >= _THIRD:
        why = f"the image has {_extents(image)}, so that the last axis is no space, and {seen.some:.0%} of its elements are set"
        return _Axes("yxc", 0.7, why, structures=mask[2])
    return _Axes("", 0, f"whether the last axis, of {mask[2]}, is one of space or of structures is not told", guess=True)


def _of_image(image: Shape, mask: Shape, label: _Axes) -> _Axes:
    if len(image) == 3 and len(mask) == 2:
        return _Axes("yxc", 0.85, f"its label map has {_extents(mask)}, so that the last axis is no space")
    if not _may_be_channels(image):
        return _plain(image)
    if image[2] == 1:
        return _Axes("yxc", 0.9, "the last axis has one element")
    if len(mask) == 3 and image[2] != mask[2]:
        return _Axes("yxc", 0.8, f"its label map has {_extents(mask)}, so that the last axis is no space")
    if label.structures:
        return _Axes("yxc", 0.7, "that of its label map, of equal extents, is one of channels")
    return _Axes("", 0, f"whether the last axis, of {image[2]}, is one of space or of channels is not told", guess=True)


def _plain(shape: Shape) -> _Axes:
    """The usual order of the axes of a picture, a volume, or of volumes in time."""
    if len(shape) == 2:
        return _Axes("yx", 0.8, "two axes, of which rows are usually the first")
    if len(shape) == 3:
        return _Axes("zyx", 0.4, "three long axes, of which slices are often the first", guess=True)
    return _Axes("tzyx", 0.2, f"{len(shape)} axes, and nothing says which is which", guess=True)


def _extents(shape: Shape) -> str:
    return "two axes" if len(shape) == 2 else f"a last axis of {shape[2]}"


def _unsaid(planned: Plan) -> Iterator[Unknown]:
    """Arrays that stand alone in their files and have more than two axes, of which the draft says nothing."""
    told: set[str] = set()
    for source in (*planned.series, *planned.labels):
        peek = next((peek for peek in source.part.peeks if len(peek.arrays) == 1 and len(peek.arrays[0].shape) > 2), None)
        path = source.part.group.paths[0]
        if peek is not None and path not in told and row_of(path) is None:
            told.add(path)
            yield Unknown("axes", f"{path} is an array {peek.arrays[0].shape}; unless the file says them, `axes` must be stated")


def _seen(mask: Source, shape: Shape, opener: Opener) -> _Seen | None:
    """What the first, the middle and the last label map hold, if nothing but 0 and one other number; else None."""
    paths = mask.part.group.paths
    one, some, positions = 0, np.zeros(shape[2], bool), 0
    for path in dict.fromkeys(paths[at * (len(paths) - 1) // (_LOOKED_AT - 1)] for at in range(_LOOKED_AT)):
        voxels = _channels(opener, path, mask.key)
        if voxels is None or voxels.shape[-1] != shape[2] or len(np.unique(voxels[voxels != 0])) > 1:
            return None
        number = (voxels != 0).sum(axis=-1)
        one += int((number == 1).sum())
        positions += number.size
        some |= (voxels != 0).any(axis=tuple(range(voxels.ndim - 1)))
    return _Seen(one / positions, float(some.mean()))


def _channels(opener: Opener, path: str, key: str) -> npt.NDArray[np.generic] | None:
    """An array with the last axis as channels; None where it cannot be read, is large, or too many have been opened."""
    if opener.left == 0:
        return None
    opener.left -= 1
    try:
        image = open_image(opener.root / path, name=path, options=ReadOptions(key=in_file(key, path), axes="yxc"))
        if image.n_channels * np.prod(image.shape) > MOST_VOXELS:
            return None
        whole = [(0, image.shape[image.slab_axis])]
        return np.stack([np.asarray(slab.voxels) for slab in image.slabs(whole)], axis=-1)
    except (BadInputError, ValueError):
        return None
