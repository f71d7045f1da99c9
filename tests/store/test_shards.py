"""Shards: the bytes that the Zarr specification asks for, how they are cut and packed, what is known of them."""

from __future__ import annotations

import hashlib
import itertools
import json
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
import pytest
import zarr

from resources import shards
from resources.files import Digest, seal
from resources.ome_zarr import ImageWriter, open_volume
from resources.shards import SLAB
from tests.store.products import write_image
from tests.store.test_volumes import bits, naive_content_hash, noise


def written(group: Path, voxels: Any, axis: int) -> ImageWriter:
    """A writer whose slabs are all on the disk."""
    writer = ImageWriter(group, voxels.shape, voxels.dtype, axis)
    for start in range(0, voxels.shape[axis], SLAB):
        part = voxels.take(range(start, min(start + SLAB, voxels.shape[axis])), axis)
        writer.write(start, np.ascontiguousarray(part.transpose(2, 1, 0))).result()
    return writer


def test_a_shard_is_chunks_with_checksums_and_an_index_with_one(tmp_path: Path) -> None:
    """After the specification of sharding-indexed: offsets and lengths in C order, all bits set for a chunk that is absent."""
    written(tmp_path / "v", noise((70, 40, 33), "int16"), 0)
    content = (tmp_path / "v/0/c/0/0/1").read_bytes()
    document = json.loads((tmp_path / "v/0/zarr.json").read_text())
    (sharding,) = document["codecs"]
    shard, chunk = document["chunk_grid"]["configuration"]["chunk_shape"], sharding["configuration"]["chunk_shape"]
    assert (shard, chunk) == ([48, 64, 64], [16, 32, 32])
    table, checksum = content[-12 * 16 - 4 : -4], content[-4:]
    assert int.from_bytes(checksum, "little") == google_crc32c.value(table)
    index = np.frombuffer(table, "<u8").reshape(3, 2, 2, 2)
    assert (index[:, :, 1] == 2**64 - 1).all()
    there = sorted((int(offset), int(length)) for offset, length in index[:, :, 0].reshape(-1, 2))
    assert [offset for offset, _ in there] == [0, *itertools.accumulate(length for _, length in there)][:-1]
    assert sum(length for _, length in there) == len(content) - len(table) - 4
    for offset, length in there:
        stored = content[offset : offset + length]
        assert int.from_bytes(stored[-4:], "little") == google_crc32c.value(stored[:-4])


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_large_planes_are_read_back_from_several_shards(tmp_path: Path, axis: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "_SHARD_BYTES", 64 * 64 * 64 * 2)
    voxels = noise((150, 131, 140), "int16")
    digest = write_image(tmp_path / "v", voxels, axis)
    assert sum(1 for path in (tmp_path / "v/0/c").rglob("*") if path.is_file()) == 3 * 3 * 3
    array: Any = zarr.open_array(tmp_path / "v" / "0", mode="r")
    assert bits(np.asarray(array[:])) == bits(voxels.transpose(2, 1, 0))
    volume = open_volume(tmp_path / "v")
    assert bits(volume.voxels()) == bits(voxels)
    assert volume.content_sha256() == digest == naive_content_hash(voxels)


def test_the_writer_hashes_what_it_writes(tmp_path: Path) -> None:
    voxels = noise((70, 65, 130), "float32")
    writer = written(tmp_path / "v", voxels, 2)
    assert writer.content.hexdigest() == naive_content_hash(voxels)
    files = {path for path in (tmp_path / "v/0/c").rglob("*") if path.is_file()}
    assert set(writer.written) == files
    for path, digest in writer.written.items():
        content = path.read_bytes()
        assert digest == Digest(len(content), hashlib.sha256(content).hexdigest())


def test_files_that_were_hashed_as_they_were_written_are_sealed_like_others(tmp_path: Path) -> None:
    writer = written(tmp_path / "v", noise((130, 20, 30), "int16"), 0)
    assert seal(tmp_path, ["v"], writer.written) == seal(tmp_path, ["v"])
    path, digest = next(iter(writer.written.items()))
    with pytest.raises(OSError, match=f"{digest.size + 1} bytes were written, and now there are {digest.size}"):
        seal(tmp_path, ["v"], {path: Digest(digest.size + 1, digest.sha256)})


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
    assert (packing["cname"], packing["shuffle"], packing["typesize"]) == expected


def test_numbers_of_twelve_bits_in_sixteen_take_little_more_than_twelve(tmp_path: Path) -> None:
    """Uniform noise cannot be packed any better; the checksums and the index come on top."""
    voxels = np.random.default_rng(0).integers(0, 4096, (64, 128, 128)).astype(np.int16)
    writer = written(tmp_path / "v", voxels, 0)
    size = sum(digest.size for digest in writer.written.values())
    assert voxels.size * 12 / 8 < size < voxels.size * 12 / 8 * 1.02


def test_a_writer_that_fails_says_so_and_leaves_the_memory_alone(tmp_path: Path) -> None:
    writer = ImageWriter(tmp_path / "v", (64, 8, 8), np.dtype(np.int16), 0)
    (tmp_path / "v/0/c").write_bytes(b"no folder")
    pending = writer.write(0, np.zeros((8, 8, 64), np.int16))
    pending.wait()
    with pytest.raises(OSError, match="c/0"):
        pending.result()
    assert writer.written == {}
