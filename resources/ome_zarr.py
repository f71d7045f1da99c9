"""One volume on disk: a Zarr v3 array in an OME-Zarr 0.5 group, axes z, y, x, written and read through tensorstore.

Only this module knows that arrays are stored `[k, j, i]`; everywhere else they are `[i, j, k]` in RAS+ order. What is read is
proven: every chunk and every shard index carries a CRC-32C, the metadata a SHA-256, and a shard that is missing is an error.
Layout and codecs are argued for in `docs/adr/001-store.md`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import tensorstore as ts

from resources.content_hash import HASH_BLOCK, ContentHash
from resources.files import Digest, digest_of
from resources.grid import SLAB, Grid, image_grid, label_grid, slab_bounds
from resources.ome_metadata import ARRAY, CHECKSUM, DOCUMENT, PATIENT, StoredAxes, group_document, metadata_checksum, multiscale
from resources.workers import Workers

__all__ = [
    "HASH_BLOCK",
    "SLAB",
    "ContentHash",
    "ImageWriter",
    "PendingWrite",
    "StoreDamagedError",
    "StoredVolume",
    "open_volume",
    "slab_bounds",
    "write_hierarchy",
    "write_labels",
]

Shape = tuple[int, int, int]
Array = npt.NDArray[Any]
T = TypeVar("T")

_writing = ts.Context({"file_io_sync": False})
"""The store syncs whole products before it commits them."""
_hashing = Workers("content-hash")
_settling = Workers("settle")
_reading = ts.Context({"cache_pool": {"total_bytes_limit": 64 << 20}})
"""Neighbouring slices share their chunks; a cached chunk is used only while its file is unchanged."""


class StoreDamagedError(Exception):
    """A stored product is not what was written; it must be rebuilt."""


def _create(path: Path, grid: Grid, names: Sequence[str]) -> Any:
    """A new array; every chunk that is written is stored, one of zeros too."""
    spec = {
        "driver": "zarr3",
        "kvstore": {"driver": "file", "path": f"{path}/"},
        "metadata": grid.metadata(names),
        "create": True,
        "store_data_equal_to_fill_value": True,
    }
    return _written(lambda: ts.open(spec, context=_writing).result(), path)


def _written(write: Callable[[], T], path: Path) -> T:
    """Run a write; tensorstore reports what the operating system said as a ValueError."""
    try:
        return write()
    except ValueError as error:
        code = re.search(r"os_error_code='(\d+)'", str(error))
        if code is None:
            raise
        raise OSError(int(code[1]), f"{str(error).split(' [')[0]}", str(path)) from error


def _shard_path(array: Path, at: Sequence[int]) -> Path:
    return array.joinpath("c", *map(str, at))


@dataclass(frozen=True)
class PendingWrite:
    """A slab on its way to the disk; its memory must stay as it is until `result` has returned."""

    path: Path
    stored: Any
    hashed: Future[None]

    def result(self) -> None:
        """Wait for the end.

        Raises:
            OSError: It could not be written; on a full disk with `errno.ENOSPC`.
        """
        self.wait()
        _written(self.stored.result, self.path)
        self.hashed.result()

    def wait(self) -> None:
        """Return when nothing is read from its memory any more, whether it could be written or not."""
        self.stored.exception()
        self.hashed.exception()


class ImageWriter:
    """Writes an image slab by slab, each slab one row of shards.

    Args:
        group: Folder of the volume; must not exist yet.
        shape_ijk: Shape in RAS+ order.
        dtype: Type of the voxels; kept as it is.
        slab_axis: RAS+ axis (0, 1 or 2) along which slabs follow one another.
        axes: What the axes are.

    Attributes:
        content: Hash of what has been written.
        settled: What the shards of each slab hold, once they are on the disk.

    Raises:
        ValueError: An axis has no voxels.
        OSError: The folder cannot be written.
    """

    def __init__(self, group: Path, shape_ijk: Shape, dtype: np.dtype[Any], slab_axis: int, axes: StoredAxes = PATIENT) -> None:
        if min(shape_ijk) < 1:
            raise ValueError(f"an image has at least one voxel along every axis, not {shape_ijk}")
        self._group = group
        self._axes = axes
        self._axis = 2 - slab_axis
        i, j, k = (int(n) for n in shape_ijk)
        self._grid = image_grid((k, j, i), np.dtype(dtype), self._axis)
        self.content = ContentHash((i, j, k), np.dtype(dtype))
        self.settled: list[Future[dict[Path, Digest]]] = []
        self._starts = set(range(0, self._grid.shape[self._axis], SLAB))
        self._pending: list[PendingWrite] = []
        group.mkdir(parents=True, exist_ok=True)
        self._array = _create(group / ARRAY, self._grid, axes.names)

    def write(self, start: int, block_kji: Array) -> PendingWrite:
        """Begin to write the slab that starts at RAS+ plane `start`; returns at once.

        Args:
            start: A multiple of 64 that has not been written yet.
            block_kji: `[k, j, i]`, all planes up to the next multiple of 64 or the end; must not change before the
                returned write's `result()` has been taken.

        Raises:
            ValueError: The block is not one slab of this image.
        """
        grid = self._grid
        expected = list(grid.shape)
        expected[self._axis] = min(SLAB, grid.shape[self._axis] - start)
        if start not in self._starts or list(block_kji.shape) != expected or block_kji.dtype != grid.dtype:
            met = f"{block_kji.dtype} {block_kji.shape} at plane {start}"
            raise ValueError(f"{met} is no missing slab of {self._group}, a {grid.dtype} [k, j, i] of {grid.shape}")
        self._starts.remove(start)
        origin = [0, 0, 0]
        origin[self._axis] = start
        where = tuple(slice(a, a + n) for a, n in zip(origin, expected, strict=True))
        stored = self._array[where].write(block_kji, can_reference_source_data_indefinitely=True)
        hashed = _hashing.submit(self.content.add, (origin[0], origin[1], origin[2]), block_kji)
        shards = [_shard_path(self._group / ARRAY, at) for at in grid.shards(origin, expected)]
        self._pending.append(PendingWrite(self._group, stored, hashed))
        self.settled.append(_settling.submit(_settle, stored, shards))
        return self._pending[-1]

    def close(self, spacing_mm: Sequence[float], origin_mm: Sequence[float], attributes: Mapping[str, Any]) -> None:
        """Wait for all slabs, then write the group's metadata; the volume is complete after this.

        Args:
            spacing_mm: Along i, j, k.
            origin_mm: World position of the first voxel: x, y, z.
            attributes: What JSON can say; the `medfoundry` attributes.

        Raises:
            ValueError: A slab is missing.
            OSError: The disk is full, for example.
        """
        for write in self._pending:
            write.result()
        if self._starts:
            raise ValueError(f"the slabs of {self._group} that start at planes {sorted(self._starts)} were not written")
        _write_volume(self._group, multiscale(self._group.name, spacing_mm, origin_mm, self._axes), attributes)


def _settle(stored: Any, shards: Sequence[Path]) -> dict[Path, Digest]:
    """Hash shards as soon as they are written, and see them onto the disk, while there is other work."""
    stored.result()
    return {shard: digest_of(shard, sync=True) for shard in shards}


def write_labels(
    group: Path,
    shape_ijk: Shape,
    crop: Array,
    offset_ijk: Shape,
    spacing_mm: Sequence[float],
    origin_mm: Sequence[float],
    attributes: Mapping[str, Any],
    axes: StoredAxes = PATIENT,
) -> None:
    """Write a label map of which only `crop` (`[i, j, k]`, at `offset_ijk`) is not zero.

    Only the chunks that the crop touches are stored, in one shard; of an empty label map one chunk of zeros, so that the
    shard of every label map exists and a lost one is not taken for an empty one.

    Raises:
        ValueError: The crop does not lie inside the volume.
        OSError: The disk is full, for example.
    """
    where = tuple(slice(o, o + n) for o, n in zip(offset_ijk[::-1], crop.shape[::-1], strict=True))
    if any(s.start < 0 or s.stop > n for s, n in zip(where, shape_ijk[::-1], strict=True)):
        raise ValueError(f"a crop of {crop.shape} at {offset_ijk} does not lie inside {shape_ijk}")
    group.mkdir(parents=True)
    array = _create(group / ARRAY, label_grid(shape_ijk[::-1], crop.dtype), axes.names)
    if crop.size:
        values = np.ascontiguousarray(crop.transpose(2, 1, 0))
    else:
        where, values = (slice(0, 1),) * 3, np.zeros((1, 1, 1), crop.dtype)
    _written(array[where].write(values).result, group)
    ome = multiscale(group.name, spacing_mm, origin_mm, axes) | {"image-label": {"source": {"image": "../../"}}}
    _write_volume(group, ome, attributes)
    _write_group(group.parent, {"labels": sorted(p.name for p in group.parent.iterdir() if p.is_dir())}, None)


def write_hierarchy(group: Path, series: Sequence[str], attributes: Mapping[str, Any]) -> None:
    """Write the group that holds a scan's series."""
    _write_group(group, {}, {"series": list(series), **attributes})


def _write_volume(group: Path, ome: Mapping[str, Any], attributes: Mapping[str, Any]) -> None:
    """The group of a volume, with a checksum of its own and the array's metadata."""
    array = json.loads((group / ARRAY / DOCUMENT).read_bytes())
    as_read = json.loads(json.dumps(group_document(ome, attributes)))
    _write_group(group, ome, {**attributes, CHECKSUM: metadata_checksum(as_read, array)})


def _write_group(group: Path, ome: Mapping[str, Any], attributes: Mapping[str, Any] | None) -> None:
    text = json.dumps(group_document(ome, attributes), indent=1, sort_keys=True, allow_nan=False)
    (group / DOCUMENT).write_text(text + "\n", encoding="utf-8")


@dataclass(frozen=True)
class StoredVolume:
    """A volume on disk, read on demand. Whatever cannot be proven whole raises `StoreDamagedError`.

    Attributes:
        group: Its folder.
        attributes: The `medfoundry` attributes.
        shape_ijk: Shape in RAS+ order.
        dtype: Type of the voxels.
        spacing_mm: Along i, j, k.
    """

    group: Path
    attributes: Mapping[str, Any]
    shape_ijk: Shape
    dtype: np.dtype[Any]
    spacing_mm: tuple[float, float, float]
    _array: Any
    _shards: tuple[Path, ...]
    _identity: tuple[int, int, int]

    @property
    def affine_ras_mm(self) -> npt.NDArray[np.float64]:
        """(4, 4), voxel index (i, j, k, 1) -> RAS+ mm."""
        return np.array(self.attributes["affine_ras_mm"], np.float64)

    def slice(self, axis: int, index: int, step: int = 1) -> Array:
        """The 2-D slice `index` along `axis` (0, 1, 2 = i, j, k); its axes are the two that remain, in order.

        Along both only every `step`-th voxel is read, from the first on.

        Raises:
            IndexError: There is no such slice.
        """
        if not 0 <= index < self.shape_ijk[axis]:
            raise IndexError(f"axis {axis} has slices 0 to {self.shape_ijk[axis] - 1}, not {index}")
        where: list[Any] = [slice(None, None, step)] * 3
        where[2 - axis] = index
        return self._read(tuple(where)).T

    def voxels(self, step: int = 1) -> Array:
        """The whole volume, `[i, j, k]`; of i and j only every `step`-th, from the first on."""
        return self._read((slice(None), slice(None, None, step), slice(None, None, step))).transpose(2, 1, 0)

    def crop(self, start_ijk: Shape, stop_ijk: Shape) -> Array:
        """The box from `start_ijk` up to, not including, `stop_ijk`, `[i, j, k]`.

        Raises:
            IndexError: The box does not lie inside the volume.
        """
        if any(not 0 <= a <= b <= n for a, b, n in zip(start_ijk, stop_ijk, self.shape_ijk, strict=True)):
            raise IndexError(f"the box {start_ijk} to {stop_ijk} does not lie inside {self.shape_ijk}")
        where = tuple(slice(a, b) for a, b in zip(start_ijk[::-1], stop_ijk[::-1], strict=True))
        return self._read(where).transpose(2, 1, 0)

    def content_xxh128(self) -> str:
        """Hash of the voxels as they are on disk now; decodes every chunk, 64 planes at a time."""
        content = ContentHash(self.shape_ijk, self.dtype)
        for k in range(0, self.shape_ijk[2], HASH_BLOCK):
            content.add((k, 0, 0), self._read((slice(k, min(k + HASH_BLOCK, self.shape_ijk[2])),)))
        return content.hexdigest()

    def _read(self, where: tuple[Any, ...]) -> Array:
        values = np.asarray(_proven(lambda: self._array[where].read().result(), self.group))
        _proven(lambda: _require_unchanged(self), self.group)
        return values


def _require_unchanged(volume: StoredVolume) -> None:
    """A reader that was overtaken by a new product, or lost a shard, must not mix what it got."""
    if _identity(volume.group) != volume._identity:
        raise ValueError("it was replaced while it was read; open it again")
    for shard in volume._shards:
        shard.stat()


def _identity(group: Path) -> tuple[int, int, int]:
    status = (group / DOCUMENT).stat()
    return status.st_ino, status.st_mtime_ns, status.st_size


def _proven(read: Callable[[], T], group: Path) -> T:
    try:
        return read()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreDamagedError(f"{group} is damaged and must be rebuilt: {error}") from error


def open_volume(group: Path) -> StoredVolume:
    """Open a stored volume.

    Raises:
        StoreDamagedError: The metadata are missing, unreadable or not as they were written, or a shard is missing.
    """
    return _proven(lambda: _open(group), group)


def _open(group: Path) -> StoredVolume:
    identity = _identity(group)
    document, array = (json.loads((p / DOCUMENT).read_bytes()) for p in (group, group / ARRAY))
    attributes = document["attributes"]["medfoundry"]
    checksum = attributes.pop(CHECKSUM)
    if checksum != metadata_checksum(document, array):
        raise ValueError("its metadata are not what was written (SHA-256 differs)")
    scale = document["attributes"]["ome"]["multiscales"][0]["datasets"][0]["coordinateTransformations"][0]["scale"]
    k, j, i = array["shape"]
    counts = [-(-n // s) for n, s in zip(array["shape"], array["chunk_grid"]["configuration"]["chunk_shape"], strict=True)]
    spec = {
        "driver": "zarr3",
        "kvstore": {"driver": "file", "path": f"{group / ARRAY}/"},
        "fill_missing_data_reads": "image-label" in document["attributes"]["ome"],
    }
    volume = StoredVolume(
        group,
        attributes,
        (i, j, k),
        np.dtype(array["data_type"]),
        (scale[2], scale[1], scale[0]),
        ts.open(spec, context=_reading, open=True).result(),
        tuple(_shard_path(group / ARRAY, at) for at in np.ndindex(*counts)),
        identity,
    )
    _require_unchanged(volume)
    return volume
