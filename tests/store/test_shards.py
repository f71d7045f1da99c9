"""Shards: how they are cut and packed, and what is known of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash
import zarr

from resources import grid
from resources.files import Digest, digest_of, seal
from resources.ome_zarr import SLAB, ImageWriter, open_volume
from tests.store.products import write_image
from tests.store.test_volumes import bits, naive_content_hash, noise


def write(group: Path, voxels: Any, axis: int) -> ImageWriter:
    """A writer whose slabs are all on the disk."""
    writer = ImageWriter(group, voxels.shape, voxels.dtype, axis)
    for start in range(0, voxels.shape[axis], SLAB):
        part = voxels.take(range(start, min(start + SLAB, voxels.shape[axis])), axis)
        writer.write(start, np.ascontiguousarray(part.transpose(2, 1, 0))).result()
    return writer


def digests(writer: ImageWriter) -> dict[Path, Digest]:
    return {shard: digest for settled in writer.settled for shard, digest in settled.result().items()}


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_large_planes_are_read_back_from_several_shards(tmp_path: Path, axis: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "_SHARD_BYTES", 64 * 64 * 64 * 2)
    voxels = noise((150, 131, 140), "int16")
    digest = write_image(tmp_path / "v", voxels, axis)
    assert sum(1 for path in (tmp_path / "v/0/c").rglob("*") if path.is_file()) == 3 * 3 * 3
    array: Any = zarr.open_array(tmp_path / "v" / "0", mode="r")
    assert bits(np.asarray(array[:])) == bits(voxels.transpose(2, 1, 0))
    volume = open_volume(tmp_path / "v")
    assert bits(volume.voxels()) == bits(voxels)
    assert volume.content_xxh128() == digest == naive_content_hash(voxels)


def test_the_writer_hashes_what_it_is_given_and_what_it_writes(tmp_path: Path) -> None:
    voxels = noise((70, 65, 130), "float32")
    writer = write(tmp_path / "v", voxels, 2)
    assert writer.content.hexdigest() == naive_content_hash(voxels)
    assert set(digests(writer)) == {path for path in (tmp_path / "v/0/c").rglob("*") if path.is_file()}
    for path, digest in digests(writer).items():
        content = path.read_bytes()
        assert digest == Digest(len(content), xxhash.xxh3_128_hexdigest(content))


def test_an_empty_file_has_the_hash_that_xxhash_publishes(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert digest_of(tmp_path / "empty") == Digest(0, "99aa06d3014798d86001c324468d497f")


def test_files_that_were_hashed_as_they_were_written_are_sealed_like_others(tmp_path: Path) -> None:
    known = digests(write(tmp_path / "v", noise((130, 20, 30), "int16"), 0))
    assert seal(tmp_path, ["v"], known) == seal(tmp_path, ["v"])
    path, digest = next(iter(known.items()))
    with pytest.raises(OSError, match=f"{digest.size + 1} bytes were written, and now there are {digest.size}"):
        seal(tmp_path, ["v"], {path: Digest(digest.size + 1, digest.xxh128)})


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("int8", ("zstd", "noshuffle", 1)),
        ("uint8", ("zstd", "noshuffle", 1)),
        ("int16", ("lz4", "bitshuffle", 2)),
        ("uint16", ("lz4", "bitshuffle", 2)),
        ("int32", ("lz4", "bitshuffle", 4)),
        ("uint64", ("lz4", "bitshuffle", 8)),
        ("float32", ("zstd", "shuffle", 4)),
        ("float64", ("zstd", "shuffle", 8)),
    ],
)
def test_every_type_has_its_packing(tmp_path: Path, dtype: str, expected: tuple[str, str, int]) -> None:
    ImageWriter(tmp_path / "v", (10, 10, 10), np.dtype(dtype), 0)
    (sharding,) = json.loads((tmp_path / "v/0/zarr.json").read_text())["codecs"]
    packing = sharding["configuration"]["codecs"][1]["configuration"]
    assert (packing["cname"], packing["shuffle"], packing.get("typesize", 1)) == expected


def test_numbers_of_twelve_bits_in_sixteen_take_little_more_than_twelve(tmp_path: Path) -> None:
    """Uniform noise cannot be packed any better; the checksums and the index come on top."""
    voxels = np.random.default_rng(0).integers(0, 4096, (64, 128, 128)).astype(np.int16)
    size = sum(digest.size for digest in digests(write(tmp_path / "v", voxels, 0)).values())
    assert voxels.size * 12 / 8 < size < voxels.size * 12 / 8 * 1.02


def test_a_writer_that_fails_says_so_and_leaves_the_memory_alone(tmp_path: Path) -> None:
    writer = ImageWriter(tmp_path / "v", (64, 8, 8), np.dtype(np.int16), 0)
    (tmp_path / "v/0/c").write_bytes(b"no folder")
    pending = writer.write(0, np.zeros((8, 8, 64), np.int16))
    pending.wait()
    with pytest.raises(OSError, match="Not a directory"):
        pending.result()
    assert writer.settled[0].exception() is not None
