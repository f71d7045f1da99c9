"""How a volume is cut into shards and chunks, and how these are packed. `docs/adr/001-store.md` argues for the figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, Final

import numpy as np

SLAB: Final = 64
"""Planes of one slab: a shard is this thick along the axis in which a volume is streamed."""

_CHUNK: Final = 32
_THIN_CHUNK: Final = 16
_THIN_BELOW: Final = 128
"""The shortest axis is cut thin if it has fewer planes than this: slices across it are what a gzip stream gives fastest."""
_LONG_CHUNK: Final = 64
_LONG_FROM: Final = 256
"""Where every axis has this many planes, chunks are long along i, whose voxels lie side by side: they are packed faster."""
_FLAT_FROM: Final = 1 << 24
"""A single plane of more pixels than this is cut into flat chunks: of small ones there would be a million."""
_FLAT_CHUNK: Final = 64
_LABEL_CHUNK: Final = 64
_SHARD_BYTES: Final = 128 << 20
"""A shard holds no more voxels than this many bytes, so that planes of any size can be compressed."""


def slab_bounds(extent: int, *, flipped: bool) -> list[tuple[int, int]]:
    """Ranges in stored order that are whole shards in RAS+ order.

    Where the stored axis runs against the RAS+ axis the first range takes the remainder, so that every range still is one shard.
    """
    first = extent % SLAB or SLAB if flipped else SLAB
    edges = [0, *range(min(first, extent), extent, SLAB), extent]
    return list(pairwise(edges))


def rounded(extent: int, chunk: int) -> int:
    """The smallest multiple of `chunk` that holds `extent`."""
    return -(-extent // chunk) * chunk


@dataclass(frozen=True, slots=True)
class Packing:
    """How blosc packs a chunk.

    Attributes:
        compressor: `lz4` or `zstd`.
        level: Of the compressor.
        shuffle: `noshuffle`; `shuffle` or `bitshuffle`, which bring bytes or bits of one significance together.
    """

    compressor: str
    level: int
    shuffle: str


@dataclass(frozen=True, slots=True)
class Grid:
    """How an array is cut and packed; everything in stored order, `[k, j, i]`.

    Attributes:
        shape: Of the volume.
        dtype: Of its voxels.
        shard: Shape of a shard: voxels of one file.
        chunk: Shape of a chunk: voxels that are compressed together.
        packing: How chunks are packed.
    """

    shape: tuple[int, int, int]
    dtype: np.dtype[Any]
    shard: tuple[int, int, int]
    chunk: tuple[int, int, int]
    packing: Packing

    def shards(self, start: Sequence[int], extent: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """The places, in the grid of shards, of those that make up a part of the volume."""
        first = [n // side for n, side in zip(start, self.shard, strict=True)]
        counts = [-(-n // side) for n, side in zip(extent, self.shard, strict=True)]
        return (tuple(f + n for f, n in zip(first, at, strict=True)) for at in np.ndindex(*counts))

    def metadata(self, names: Sequence[str]) -> dict[str, Any]:
        """What Zarr's metadata say of the array; `names` are those of its axes."""
        little: dict[str, Any] = {"name": "bytes", "configuration": {"endian": "little"}}
        checksum = {"name": "crc32c"}
        packing = {"cname": self.packing.compressor, "clevel": self.packing.level, "shuffle": self.packing.shuffle}
        sharding = {
            "chunk_shape": list(self.chunk),
            "codecs": [little, {"name": "blosc", "configuration": packing}, checksum],
            "index_codecs": [little, checksum],
            "index_location": "end",
        }
        return {
            "shape": list(self.shape),
            "data_type": self.dtype.name,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(self.shard)}},
            "chunk_key_encoding": {"name": "default"},
            "fill_value": 0,
            "codecs": [{"name": "sharding_indexed", "configuration": sharding}],
            "dimension_names": list(names),
        }


def image_grid(shape: Sequence[int], dtype: np.dtype[Any], slab_axis: int) -> Grid:
    """Cut an image that streams in along `slab_axis`; shape and axis in stored order."""
    sides = [_CHUNK, _CHUNK, _LONG_CHUNK if min(shape) >= _LONG_FROM else _CHUNK]
    shortest = int(np.argmin(shape))
    if shape[shortest] < _THIN_BELOW:
        sides[shortest] = _THIN_CHUNK
    chunk = [min(side, rounded(extent, 8)) for side, extent in zip(sides, shape, strict=True)]
    if shape[shortest] == 1 and prod(shape) > _FLAT_FROM:
        chunk = [min(_FLAT_CHUNK, extent if extent == 1 else rounded(extent, 8)) for extent in shape]
    shard = [rounded(extent, side) for extent, side in zip(shape, chunk, strict=True)]
    shard[slab_axis] = min(SLAB, shard[slab_axis])
    while prod(shard) * dtype.itemsize > _SHARD_BYTES:
        widest = max((n for n in range(3) if n != slab_axis), key=lambda n: shard[n])
        shard[widest] = rounded(shard[widest] // 2, SLAB)
    return Grid(_triple(shape), np.dtype(dtype), _triple(shard), _triple(chunk), image_packing(dtype))


def image_packing(dtype: np.dtype[Any]) -> Packing:
    """What suits the voxels of scanners: integers of few bits that are used, in types of more."""
    if dtype.itemsize == 1:
        return Packing("zstd", 1, "noshuffle")
    return Packing("zstd", 1, "shuffle") if dtype.kind == "f" else Packing("lz4", 5, "bitshuffle")


def label_grid(shape: Sequence[int], dtype: np.dtype[Any]) -> Grid:
    """Cut a label map; shape in stored order. One shard, of which only the chunks that hold labels are stored."""
    chunk = [min(_LABEL_CHUNK, rounded(extent, 8)) for extent in shape]
    shard = [rounded(extent, side) for extent, side in zip(shape, chunk, strict=True)]
    return Grid(_triple(shape), np.dtype(dtype), _triple(shard), _triple(chunk), Packing("zstd", 3, "shuffle"))


def _triple(values: Sequence[int]) -> tuple[int, int, int]:
    return int(values[0]), int(values[1]), int(values[2])
