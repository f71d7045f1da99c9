"""Images as Zarr shards: how a volume is cut, how its chunks are packed, how a shard is written.

tensorstore reads what is written here. It could write it as well, with twice the processor time, and without the hashes that are
taken here while a chunk is in the processor's cache. `docs/adr/001-store.md` argues for the figures.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain, pairwise, product
from math import prod
from pathlib import Path
from threading import Lock
from typing import Any, Final

import google_crc32c
import numpy as np
import numpy.typing as npt
from numcodecs import blosc

from resources.files import Digest

blosc.use_threads = False  # it would ask for every chunk whether it is in the main thread

Array = npt.NDArray[Any]
Packed = tuple[int, bytes]
"""A compressed chunk and its number in its shard."""

SLAB: Final = 64
"""Planes of one slab: a shard is this thick along the axis in which a volume is streamed."""

_CHUNK: Final = 32
_THIN_CHUNK: Final = 16
_THIN_BELOW: Final = 128
"""The shortest axis is cut thin if it has fewer planes than this: slices across it are what a gzip stream gives fastest."""
_LABEL_CHUNK: Final = 64
_SHARD_BYTES: Final = 128 << 20
"""A shard holds no more voxels than this many bytes, so that planes of any size can be compressed."""
_ABSENT: Final = 2**64 - 1
"""What the index says of a chunk that lies beyond the end of the volume."""
_BUFFER_BYTES: Final = 1 << 20
_SHUFFLES: Final = {"noshuffle": blosc.NOSHUFFLE, "shuffle": blosc.SHUFFLE, "bitshuffle": blosc.BITSHUFFLE}


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

    def codec(self, itemsize: int) -> dict[str, Any]:
        """As Zarr's metadata have it."""
        packing = {"cname": self.compressor, "clevel": self.level, "shuffle": self.shuffle}
        return {"name": "blosc", "configuration": {**packing, "typesize": itemsize, "blocksize": 0}}

    def pack(self, chunk: Array) -> bytes:
        """Compress one contiguous chunk."""
        return bytes(blosc.compress(chunk, self.compressor.encode(), self.level, _SHUFFLES[self.shuffle]))


@dataclass(frozen=True, slots=True)
class Grid:
    """How an image is cut; everything in stored order, `[k, j, i]`.

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

    def blocks(self, start: Sequence[int], extent: Sequence[int]) -> dict[tuple[int, ...], list[tuple[int, int, int]]]:
        """Where in the volume a slab's blocks of 64 x 64 x 64 voxels begin, by the place of their shard in the grid of shards."""
        found: dict[tuple[int, ...], list[tuple[int, int, int]]] = {}
        for k, j, i in product(*(range(first, first + n, SLAB) for first, n in zip(start, extent, strict=True))):
            at = tuple(corner // side for corner, side in zip((k, j, i), self.shard, strict=True))
            found.setdefault(at, []).append((k, j, i))
        return found

    def document(self, names: Sequence[str]) -> dict[str, Any]:
        """The `zarr.json` of the array; `names` are those of its axes."""
        little = {"name": "bytes", "configuration": {"endian": "little"}}
        checksum = {"name": "crc32c"}
        sharding = {
            "chunk_shape": list(self.chunk),
            "codecs": [little, self.packing.codec(self.dtype.itemsize), checksum],
            "index_codecs": [little, checksum],
            "index_location": "end",
        }
        return {
            "zarr_format": 3,
            "node_type": "array",
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
    shortest = int(np.argmin(shape))
    thin = shortest if shape[shortest] < _THIN_BELOW else None
    sides = [_THIN_CHUNK if n == thin else _CHUNK for n in range(3)]
    chunk = [min(side, rounded(extent, 8)) for side, extent in zip(sides, shape, strict=True)]
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


def pack_chunks(grid: Grid, voxels: Array, start: Sequence[int]) -> list[Packed]:
    """Compress the chunks of a shard that some voxels touch, filled up with zeros.

    Args:
        grid: Of the volume.
        voxels: `[k, j, i]`.
        start: Where in the shard they begin.
    """
    memory = np.zeros(grid.chunk, grid.dtype.newbyteorder("<"))
    counts = [width // side for width, side in zip(grid.shard, grid.chunk, strict=True)]
    sides = [list(_cuts(first, first + n, side)) for first, n, side in zip(start, voxels.shape, grid.chunk, strict=True)]
    packed = []
    for (k, from_k, to_k), (j, from_j, to_j), (i, from_i, to_i) in product(*sides):
        part = voxels[from_k, from_j, from_i]
        if part.shape != grid.chunk:
            memory[...] = 0
        memory[to_k, to_j, to_i] = part
        packed.append(((k * counts[1] + j) * counts[2] + i, grid.packing.pack(memory)))
    return packed


def _cuts(start: int, stop: int, side: int) -> Iterator[tuple[int, slice, slice]]:
    """The chunks that a range touches along one axis: their number, the part of the range, and where in the chunk it lies."""
    for number in range(start // side, -(-stop // side)):
        low, high = max(start, number * side), min(stop, (number + 1) * side)
        yield number, slice(low - start, high - start), slice(low - number * side, high - number * side)


def write_shard(path: Path, grid: Grid, packed: Iterable[Packed]) -> Digest:
    """Write one shard and see it onto the disk.

    The sync is no promise, but it makes that of the store short, which comes when there is nothing left to do meanwhile.

    Args:
        path: Its file; folders are made.
        grid: Of the volume.
        packed: Its chunks; those that are not among them count as absent.

    Returns:
        What was written.

    Raises:
        OSError: The disk failed or is full.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    index = np.full((prod(grid.shard) // prod(grid.chunk), 2), _ABSENT, "<u8")
    end, digest = 0, sha256()
    with path.open("wb", buffering=_BUFFER_BYTES) as file:
        for number, chunk in packed:
            checksum = _checksum(chunk)
            for content in (chunk, checksum):
                digest.update(content)
                file.write(content)
            index[number] = end, len(chunk) + len(checksum)
            end += len(chunk) + len(checksum)
        table = index.tobytes()
        table += _checksum(table)
        digest.update(table)
        file.write(table)
        file.flush()
        os.fsync(file.fileno())
    return Digest(end + len(table), digest.hexdigest())


class SharedShard:
    """A shard that several threads pack; the one that is done last writes it.

    Args:
        path: Its file.
        grid: Of the volume.
        n_parts: How many calls of `add` make it whole.

    Attributes:
        path: Its file.
        digest: What was written, once it is.
    """

    def __init__(self, path: Path, grid: Grid, n_parts: int) -> None:
        self.path = path
        self.digest: Digest | None = None
        self._grid = grid
        self._parts: list[list[Packed] | None] = [None] * n_parts
        self._lock = Lock()

    def add(self, number: int, packed: list[Packed]) -> None:
        """Take one of the parts; raises as `write_shard` does."""
        with self._lock:
            self._parts[number] = packed
            parts = [part for part in self._parts if part is not None]
            whole = len(parts) == len(self._parts)
        if whole:
            self.digest = write_shard(self.path, self._grid, chain.from_iterable(parts))


def _checksum(content: bytes) -> bytes:
    return int(google_crc32c.value(content)).to_bytes(4, "little")
