"""Streams a raw image into the store: while one slab is inflated and turned into RAS+ order, the one before it is compressed.

A slab is a row of shards, so that a volume of any size needs a few slabs of memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from assets.measure.reorient import NO_VOXELS, SlabStatistics, gather_ras
from resources import memory
from resources.geometry import Reorientation
from resources.ome_metadata import PATIENT, StoredAxes
from resources.ome_zarr import SLAB, ImageWriter, PendingWrite, slab_bounds
from resources.readers.image import RawImage, Slab

Array = npt.NDArray[Any]

_BUFFERS = 3
"""Slabs in RAS+ order: one is filled while others are hashed and compressed."""


@dataclass
class StoredImage:
    """An image whose voxels are stored; its metadata are written by `writer.close`.

    Attributes:
        writer: Still open.
        statistics: Of the finite voxels.
    """

    writer: ImageWriter
    statistics: SlabStatistics = NO_VOXELS

    @property
    def content_xxh128(self) -> str:
        """Hash of the RAS+ voxels."""
        return self.writer.content.hexdigest()


@dataclass
class _Buffer:
    """Memory for one slab in RAS+ order, and the writing that still reads it."""

    memory: npt.NDArray[np.uint8]
    written: PendingWrite | None = None

    def reuse(self) -> None:
        """Return once the buffer may be overwritten; raises what the writing raised."""
        written, self.written = self.written, None
        if written is not None:
            written.result()

    def wait(self) -> None:
        """Return once nothing reads the buffer, come what may."""
        if self.written is not None:
            self.written.wait()


def store_image(
    image: RawImage, reorientation: Reorientation, groups: Mapping[int, Path], axes: StoredAxes = PATIENT
) -> dict[int, StoredImage]:
    """Read an image to its end and store the channels that are asked for.

    Args:
        image: The opened raw image.
        reorientation: Brings its stored axes to RAS+.
        groups: Channel -> folder of its volume; other channels are read, checked and left.
        axes: What the stored axes are.

    Raises:
        BadInputError: The file is not whole.
        OSError: The store cannot be written.
    """
    shape = reorientation.shape(image.shape)
    axis = reorientation.axes.index(image.slab_axis)
    bounds = slab_bounds(image.shape[image.slab_axis], flipped=reorientation.flips[axis])
    stored = {channel: StoredImage(ImageWriter(group, shape, image.dtype, axis, axes)) for channel, group in groups.items()}
    plane = int(np.prod(shape)) // shape[axis]
    size = min(SLAB, shape[axis]) * plane * image.dtype.itemsize
    with memory.slabs.lend(_BUFFERS, size) as lent:
        buffers = [_Buffer(stretch) for stretch in lent]
        try:
            for slab in image.slabs(bounds):
                if slab.channel in stored:
                    _store_slab(slab, reorientation, shape, axis, stored[slab.channel], buffers[0])
                    buffers.append(buffers.pop(0))
            for buffer in buffers:
                buffer.reuse()
        finally:
            for buffer in buffers:
                buffer.wait()
    return stored


def _store_slab(
    slab: Slab,
    reorientation: Reorientation,
    shape: tuple[int, int, int],
    axis: int,
    target: StoredImage,
    buffer: _Buffer,
) -> None:
    thickness = slab.voxels.shape[reorientation.axes[axis]]
    start = shape[axis] - slab.start - thickness if reorientation.flips[axis] else slab.start
    extent = list(shape[::-1])
    extent[2 - axis] = thickness
    buffer.reuse()
    n_bytes = int(np.prod(extent)) * slab.voxels.dtype.itemsize
    block: Array = buffer.memory[:n_bytes].view(slab.voxels.dtype).reshape(extent)
    target.statistics += gather_ras(slab.voxels, reorientation.axes, reorientation.flips, block)
    buffer.written = target.writer.write(start, block)
