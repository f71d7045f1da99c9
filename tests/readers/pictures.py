"""Whole arrays out of images of any slab axis, and damage of any kind, for the tests of the array and picture readers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from resources.findings import BadInputError
from resources.readers.image import RawImage
from resources.readers.registry import open_image
from resources.readers.source import ReadOptions
from tests.readers.makers import bounds

Array = npt.NDArray[Any]


def opened(path: Path, **options: Any) -> RawImage:
    """The image at a path, with these reading options."""
    return open_image(path, options=ReadOptions(**options))


def collect(image: RawImage, step: int = 3) -> Array:
    """`[i, j, k, channel]` through the slabs, which come channel by channel in rising order."""
    whole = np.empty((*image.shape, image.n_channels), image.dtype)
    axis = image.slab_axis
    met = []
    for slab in image.slabs(bounds(image.shape[axis], step)):
        assert slab.voxels.dtype == image.dtype
        np.moveaxis(whole, axis, 0)[slab.start : slab.start + slab.voxels.shape[axis], ..., slab.channel] = np.moveaxis(
            slab.voxels, axis, 0
        )
        met.append((slab.channel, slab.start))
    assert met == [(channel, start) for channel in range(image.n_channels) for start, _ in bounds(image.shape[axis], step)]
    assert image.sources
    assert image.sources[0].size == image.path.stat().st_size
    return whole


def rows_columns(image: RawImage) -> Array:
    """`[row, column]`, with the channels last where there are several: a picture as image libraries give it."""
    assert image.shape[2] == 1
    values = collect(image)[:, :, 0].swapaxes(0, 1)
    return values[..., 0] if image.n_channels == 1 else values


def refusal(path: Path, **options: Any) -> BadInputError | None:
    """The error with which a file is refused; `None` when it is read."""
    try:
        image = opened(path, **options)
        collect(image, 64)
    except BadInputError as error:
        return error
    assert np.isfinite(image.affine_ras_mm).all()
    return None


def refused(path: Path, **options: Any) -> BadInputError:
    """The error with which a file is refused, at the latest when its last byte was read."""
    error = refusal(path, **options)
    assert error is not None, f"{path} was accepted"
    assert error.finding.file == path.name
    return error


def damaged(content: bytes, count: int, seed: int = 1) -> Iterator[bytes]:
    """Copies with one to eight bytes changed, and every tenth cut."""
    dice = random.Random(seed)
    for number in range(count):
        changed = bytearray(content)
        for _ in range(dice.choice([1, 1, 2, 4, 8])):
            changed[dice.randrange(len(changed))] = dice.choice([0, 1, 128, 255, dice.randrange(256)])
        yield bytes(changed[: dice.randrange(1, len(changed))] if number % 10 == 9 else changed)


def read_or_refuse(path: Path, content: bytes, **options: Any) -> bool:
    """Whether such a file is read; nothing but a `BadInputError` may come otherwise."""
    path.write_bytes(content)
    error = refusal(path, **{"max_bytes": 1 << 22, **options})
    assert error is None or error.finding.file == path.name
    return error is None
