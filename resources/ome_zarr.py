"""One volume on disk: a Zarr v3 array in an OME-Zarr 0.5 group, axes z, y, x, written and read through tensorstore.

Only this module knows that arrays are stored `[k, j, i]`; everywhere else they are `[i, j, k]` in RAS+ order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorstore as ts

Shape = tuple[int, int, int]
Array = npt.NDArray[Any]

ARRAY = "0"
SLAB = 64
"""Planes of one slab: a shard is this thick along the axis in which a volume is streamed."""

HASH_BLOCK = 64
"""Side of the blocks that the content hash is made of."""

_ORIENTATION = {"z": "inferior-to-superior", "y": "posterior-to-anterior", "x": "left-to-right"}


class StoreDamagedError(Exception):
    """A stored volume is not what was written; it must be rebuilt."""


def slab_bounds(extent: int, *, flipped: bool) -> list[tuple[int, int]]:
    """Ranges in stored order that are whole shards in RAS+ order.

    Where the stored axis runs against the RAS+ axis the first range takes the remainder, so that every range still is one shard.
    """
    first = extent % SLAB or SLAB if flipped else SLAB
    edges = [0, *range(min(first, extent), extent, SLAB), extent]
    return list(zip(edges[:-1], edges[1:], strict=True))


def _rounded(extent: int, chunk: int) -> int:
    return -(-extent // chunk) * chunk


def _codecs(chunk: Sequence[int], level: int) -> list[dict[str, Any]]:
    inner = [
        {"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "blosc", "configuration": {"cname": "zstd", "clevel": level, "shuffle": "shuffle"}},
        {"name": "crc32c"},
    ]
    index = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
    configuration = {"chunk_shape": list(chunk), "codecs": inner, "index_codecs": index, "index_location": "end"}
    return [{"name": "sharding_indexed", "configuration": configuration}]


def _create(path: Path, shape_kji: Shape, dtype: str, shard: Sequence[int], chunk: Sequence[int], level: int) -> Any:
    """A new array; shards are written whole, so that the file of a shard is complete or absent."""
    metadata = {
        "shape": list(shape_kji),
        "data_type": dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(shard)}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": 0,
        "codecs": _codecs(chunk, level),
        "dimension_names": ["z", "y", "x"],
    }
    spec = {
        "driver": "zarr3",
        "kvstore": {"driver": "file", "path": f"{path}/", "file_io_sync": False},
        "metadata": metadata,
        "create": True,
        "store_data_equal_to_fill_value": level == _IMAGE_LEVEL,
    }
    return ts.open(spec).result()


_IMAGE_LEVEL = 1
_LABEL_LEVEL = 3


class ImageWriter:
    """Writes an image slab by slab, each slab one row of shards.

    Args:
        group: Folder of the volume; must not exist yet.
        shape_ijk: Shape in RAS+ order.
        dtype: Type of the voxels; kept as it is.
        slab_axis: RAS+ axis (0, 1 or 2) along which slabs follow one another.
    """

    def __init__(self, group: Path, shape_ijk: Shape, dtype: np.dtype[Any], slab_axis: int) -> None:
        self._group = group
        self._shape = shape_ijk
        self._axis = 2 - slab_axis
        thin = 16 if min(shape_ijk) < 128 else 32
        thinnest = int(np.argmin(shape_ijk[::-1]))
        chunk = [min(thin if n == thinnest else 32, _rounded(e, 8)) for n, e in enumerate(shape_ijk[::-1])]
        shard = [_rounded(e, c) for e, c in zip(shape_ijk[::-1], chunk, strict=True)]
        shard[self._axis] = min(SLAB, shard[self._axis]) if SLAB % chunk[self._axis] == 0 else shard[self._axis]
        group.mkdir(parents=True)
        self._array = _create(group / ARRAY, shape_ijk[::-1], dtype.name, shard, chunk, _IMAGE_LEVEL)

    def write(self, start: int, block_kji: Array) -> Any:
        """Begin to write the slab that starts at RAS+ plane `start`.

        Returns:
            A future; the block must stay as it is until its `result()` has been taken, which raises `OSError` on a full disk.
        """
        where: list[slice] = [slice(None)] * 3
        where[self._axis] = slice(start, start + block_kji.shape[self._axis])
        return self._array[tuple(where)].write(block_kji)

    def close(self, spacing_mm: Sequence[float], origin_mm: Sequence[float], attributes: Mapping[str, Any]) -> None:
        """Write the group's metadata; the volume is complete after this."""
        _write_group(self._group, _multiscale(self._group.name, spacing_mm, origin_mm), attributes)


def write_labels(
    group: Path,
    shape_ijk: Shape,
    crop: Array,
    offset_ijk: Shape,
    spacing_mm: Sequence[float],
    origin_mm: Sequence[float],
    attributes: Mapping[str, Any],
) -> None:
    """Write a label map of which only `crop` (`[i, j, k]`, at `offset_ijk`) is not zero; empty chunks are not stored."""
    group.mkdir(parents=True)
    chunk = [min(64, _rounded(e, 8)) for e in shape_ijk[::-1]]
    shard = [_rounded(e, c) for e, c in zip(shape_ijk[::-1], chunk, strict=True)]
    array = _create(group / ARRAY, shape_ijk[::-1], crop.dtype.name, shard, chunk, _LABEL_LEVEL)
    if crop.size:
        where = tuple(slice(o, o + n) for o, n in zip(offset_ijk[::-1], crop.shape[::-1], strict=True))
        array[where].write(np.ascontiguousarray(crop.transpose(2, 1, 0))).result()
    ome = _multiscale(group.name, spacing_mm, origin_mm) | {"image-label": {"source": {"image": "../../"}}}
    _write_group(group, ome, attributes)
    _write_group(group.parent, {"labels": sorted(p.name for p in group.parent.iterdir() if p.is_dir())}, {})


def write_hierarchy(group: Path, series: Sequence[str], attributes: Mapping[str, Any]) -> None:
    """Write the group that holds a scan's series."""
    _write_group(group, {}, {"series": list(series), **attributes})


def _multiscale(name: str, spacing_mm: Sequence[float], origin_mm: Sequence[float]) -> dict[str, Any]:
    axes = [
        {"name": n, "type": "space", "unit": "millimeter", "orientation": {"type": "anatomical", "value": value}}
        for n, value in _ORIENTATION.items()
    ]
    steps = [
        {"type": "scale", "scale": [float(v) for v in spacing_mm[::-1]]},
        {"type": "translation", "translation": [float(v) for v in origin_mm[::-1]]},
    ]
    scales = [{"name": name, "axes": axes, "datasets": [{"path": ARRAY, "coordinateTransformations": steps}]}]
    return {"multiscales": scales}


def _write_group(group: Path, ome: Mapping[str, Any], attributes: Mapping[str, Any]) -> None:
    content: dict[str, Any] = {"ome": {"version": "0.5", **ome}} if ome else {}
    if attributes:
        content["medfoundry"] = dict(attributes)
    document = {"zarr_format": 3, "node_type": "group", "attributes": content}
    text = json.dumps(document, indent=1, sort_keys=True)
    (group / "zarr.json").write_text(text + "\n", encoding="utf-8")


@dataclass(frozen=True)
class StoredVolume:
    """A volume on disk, read on demand.

    Attributes:
        group: Its folder.
        attributes: The `medfoundry` attributes.
    """

    group: Path
    attributes: Mapping[str, Any]

    @cached_property
    def _array(self) -> Any:
        store = {"driver": "file", "path": f"{self.group / ARRAY}/"}
        return _checked(lambda: ts.open({"driver": "zarr3", "kvstore": store, "open": True}).result(), self.group)

    @property
    def shape_ijk(self) -> Shape:
        """Shape in RAS+ order."""
        k, j, i = self._array.shape
        return i, j, k

    @property
    def affine_ras_mm(self) -> npt.NDArray[np.float64]:
        """(4, 4), voxel index (i, j, k, 1) -> RAS+ mm."""
        return np.array(self.attributes["affine_ras_mm"], np.float64)

    def slice(self, axis: int, index: int) -> Array:
        """The 2-D slice `index` along `axis` (0, 1, 2 = i, j, k); its axes are the two that remain, in order."""
        where: list[Any] = [slice(None)] * 3
        where[2 - axis] = index
        return self._read(tuple(where)).T

    def voxels(self) -> Array:
        """The whole volume, `[i, j, k]`."""
        return self._read((slice(None),) * 3).transpose(2, 1, 0)

    def crop(self, start_ijk: Shape, stop_ijk: Shape) -> Array:
        """The box from `start_ijk` up to, not including, `stop_ijk`, `[i, j, k]`."""
        where = tuple(slice(a, b) for a, b in zip(start_ijk[::-1], stop_ijk[::-1], strict=True))
        return self._read(where).transpose(2, 1, 0)

    def _read(self, where: tuple[Any, ...]) -> Array:
        return np.asarray(_checked(lambda: self._array[where].read().result(), self.group))


def _checked(read: Any, group: Path) -> Any:
    try:
        return read()
    except ValueError as error:
        raise StoreDamagedError(f"{group} is damaged and must be rebuilt: {error}") from error


def open_volume(group: Path) -> StoredVolume:
    """Open a stored volume.

    Raises:
        StoreDamagedError: The metadata are missing or unreadable.
    """
    try:
        document = json.loads((group / "zarr.json").read_text(encoding="utf-8"))
        attributes = document["attributes"]["medfoundry"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreDamagedError(f"{group} has no readable metadata and must be rebuilt: {error!r}") from error
    return StoredVolume(group, attributes)


class ContentHash:
    """SHA-256 of RAS+ voxels, whatever the layout they are stored in.

    The hash of the type's name, the shape, and the SHA-256 of every block of 64 x 64 x 64 voxels; blocks follow one another and are
    laid out inside with i fastest, then j, then k. Blocks may be added in any order.
    """

    def __init__(self, shape_ijk: Shape, dtype: np.dtype[Any]) -> None:
        self._head = f"{dtype.name} {shape_ijk}".encode()
        self._counts = [-(-e // HASH_BLOCK) for e in shape_ijk[::-1]]
        self._blocks: dict[tuple[int, int, int], bytes] = {}

    def add(self, start_kji: Shape, block_kji: Array) -> None:
        """Add a part of the volume that starts at a multiple of 64 and holds whole blocks."""
        for k in range(0, block_kji.shape[0], HASH_BLOCK):
            for j in range(0, block_kji.shape[1], HASH_BLOCK):
                for i in range(0, block_kji.shape[2], HASH_BLOCK):
                    part = block_kji[k : k + HASH_BLOCK, j : j + HASH_BLOCK, i : i + HASH_BLOCK]
                    at = tuple((s + o) // HASH_BLOCK for s, o in zip(start_kji, (k, j, i), strict=True))
                    self._blocks[at[0], at[1], at[2]] = sha256(np.ascontiguousarray(part).data).digest()

    def hexdigest(self) -> str:
        """The hash, once every block has been added.

        Raises:
            ValueError: Blocks are missing.
        """
        if len(self._blocks) != int(np.prod(self._counts)):
            raise ValueError(f"{len(self._blocks)} of {int(np.prod(self._counts))} blocks have been added")
        return sha256(self._head + b"".join(self._blocks[at] for at in sorted(self._blocks))).hexdigest()
