"""A stored volume is what was given, for us and for other readers, and is the same bytes each time."""

from __future__ import annotations

import itertools
import json
import tempfile
from pathlib import Path
from typing import Any

import ngff_zarr
import numpy as np
import numpy.typing as npt
import pytest
import xxhash
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from nibabel.affines import apply_affine

from resources.ome_zarr import SLAB, ContentHash, ImageWriter, open_volume, slab_bounds, write_hierarchy, write_labels
from tests.store.products import AFFINE, tree, write_image

DTYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]
SPACING, ORIGIN = (2.0, 3.0, 4.0), (-5.0, 7.0, 11.0)


def noise(shape: tuple[int, ...], dtype: str, seed: int = 0) -> npt.NDArray[Any]:
    """Every bit pattern of the type, NaN and infinities too."""
    raw = np.random.default_rng(seed).bytes(int(np.prod(shape)) * np.dtype(dtype).itemsize)
    return np.frombuffer(raw, dtype).reshape(shape)


def bits(voxels: npt.NDArray[Any]) -> bytes:
    return np.ascontiguousarray(voxels).tobytes()


@settings(max_examples=40)
@given(
    shape=st.tuples(*[st.sampled_from([1, 2, 7, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129])] * 3).filter(
        lambda s: np.prod(s) < 150_000
    ),
    dtype=st.sampled_from(DTYPES),
    axis=st.integers(0, 2),
    flipped=st.booleans(),
    data=st.data(),
)
def test_whatever_is_written_in_slabs_is_read_back_bit_for_bit(
    shape: tuple[int, int, int], dtype: str, axis: int, flipped: bool, data: st.DataObject
) -> None:
    voxels = noise(shape, dtype)
    with tempfile.TemporaryDirectory() as folder:
        group = Path(folder) / "v"
        writer = ImageWriter(group, shape, voxels.dtype, axis)
        for start, stop in slab_bounds(shape[axis], flipped=flipped):
            first = shape[axis] - stop if flipped else start
            part = voxels.take(range(first, first + stop - start), axis)
            writer.write(first, np.ascontiguousarray(part.transpose(2, 1, 0)))
        writer.close(SPACING, ORIGIN, {"affine_ras_mm": AFFINE})
        volume = open_volume(group)
        assert (volume.shape_ijk, volume.dtype, volume.spacing_mm) == (shape, voxels.dtype, SPACING)
        assert bits(volume.voxels()) == bits(voxels)
        plane = data.draw(st.integers(0, 2))
        index = data.draw(st.integers(0, shape[plane] - 1))
        assert bits(volume.slice(plane, index)) == bits(voxels.take(index, plane))
        low = [data.draw(st.integers(0, n)) for n in shape]
        high = [data.draw(st.integers(a, n)) for a, n in zip(low, shape, strict=True)]
        box = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
        assert bits(volume.crop((low[0], low[1], low[2]), (high[0], high[1], high[2]))) == bits(voxels[box])


@given(st.integers(1, 1000), st.booleans())
def test_slabs_cover_the_axis_and_are_whole_shards_in_ras_order(extent: int, flipped: bool) -> None:
    bounds = slab_bounds(extent, flipped=flipped)
    assert [n for a, b in bounds for n in range(a, b)] == list(range(extent))
    ras = sorted((extent - b, extent - a) for a, b in bounds) if flipped else bounds
    assert all(a % SLAB == 0 and (b - a == SLAB or b == extent) for a, b in ras)


@pytest.mark.parametrize(("dtype", "axis"), [*itertools.product(["int16", "float32"], range(3)), ("uint8", 0), ("int64", 2)])
def test_zarr_python_reads_the_same_bits(tmp_path: Path, dtype: str, axis: int) -> None:
    voxels = noise((40, 70, 130), dtype)
    write_image(tmp_path / "v", voxels, axis)
    array: Any = zarr.open_array(tmp_path / "v" / "0", mode="r")
    assert bits(np.asarray(array[:])) == bits(voxels.transpose(2, 1, 0))
    assert array.metadata.dimension_names == ("z", "y", "x")


def test_ngff_zarr_opens_image_and_labels_with_spacing_position_and_orientation(tmp_path: Path) -> None:
    voxels = noise((20, 30, 70), "int16")
    scan = tmp_path / "0.ome.zarr"
    write_image(scan / "ct", voxels)
    crop = np.full((3, 4, 5), 7, np.uint8)
    write_labels(scan / "ct" / "labels" / "organ", voxels.shape, crop, (2, 3, 60), SPACING, ORIGIN, {})
    write_hierarchy(scan, ["ct"], {"subject": "s"})
    expected = np.zeros(voxels.shape, np.uint8)
    expected[2:5, 3:7, 60:65] = 7
    for path, values in (("ct", voxels), ("ct/labels/organ", expected)):
        multiscales = ngff_zarr.from_ngff_zarr(scan / path, version="0.5", validate=True)
        read = multiscales.images[0]
        assert bits(np.asarray(read.data)) == bits(values.transpose(2, 1, 0))
        assert read.dims == ("z", "y", "x")
        assert read.scale == {"z": 4.0, "y": 3.0, "x": 2.0}
        assert read.translation == {"z": 11.0, "y": 7.0, "x": -5.0}
        assert set(read.axes_units.values()) == {"millimeter"}
        assert {axis: orientation.value for axis, orientation in read.axes_orientations.items()} == {
            "z": "inferior-to-superior",
            "y": "posterior-to-anterior",
            "x": "left-to-right",
        }
    listed: Any = zarr.open_group(scan / "ct" / "labels", mode="r").attrs["ome"]
    assert listed["labels"] == ["organ"]


@pytest.mark.parametrize("size", [(0, 0, 0), (1, 1, 1), (70, 5, 66), (71, 40, 67)])
def test_a_label_map_is_its_crop_in_a_volume_of_zeros(tmp_path: Path, size: tuple[int, int, int]) -> None:
    shape = (71, 40, 67)
    crop = np.random.default_rng(1).integers(1, 300, size).astype(np.uint16)
    offset = tuple(min(1, n - c) for n, c in zip(shape, size, strict=True))
    write_labels(tmp_path / "v", shape, crop, (offset[0], offset[1], offset[2]), SPACING, ORIGIN, {})
    expected = np.zeros(shape, np.uint16)
    expected[tuple(slice(o, o + n) for o, n in zip(offset, size, strict=True))] = crop
    volume = open_volume(tmp_path / "v")
    np.testing.assert_array_equal(volume.voxels(), expected)
    assert volume.dtype == np.uint16


def test_two_label_maps_of_a_series_are_both_listed(tmp_path: Path) -> None:
    for name in ("b", "a"):
        write_labels(tmp_path / "labels" / name, (4, 4, 4), np.ones((1, 1, 1), np.uint8), (0, 0, 0), SPACING, ORIGIN, {})
    document = json.loads((tmp_path / "labels" / "zarr.json").read_text())
    assert document["attributes"]["ome"] == {"version": "0.5", "labels": ["a", "b"]}


def test_a_marker_keeps_its_world_position(tmp_path: Path) -> None:
    voxels = np.zeros((5, 6, 70), np.int16)
    voxels[1, 4, 66] = 9
    write_image(tmp_path / "v", voxels, 2)
    volume = open_volume(tmp_path / "v")
    where = np.argwhere(volume.voxels() == 9)[0]
    np.testing.assert_allclose(apply_affine(volume.affine_ras_mm, where), [-5 + 2, 7 + 12, 11 + 264])


def test_the_same_image_is_the_same_bytes_however_the_writes_are_timed(tmp_path: Path) -> None:
    voxels = noise((200, 150, 90), "int16")
    slabs = {start: np.ascontiguousarray(voxels[start : start + SLAB].transpose(2, 1, 0)) for start in range(0, 200, SLAB)}
    trees = []
    for n, order in enumerate([[0, 64, 128, 192], [192, 128, 64, 0], [64, 192, 0, 128]]):
        for waiting in (False, True):
            group = tmp_path / f"{n}{waiting}" / "v"
            writer = ImageWriter(group, (200, 150, 90), voxels.dtype, 0)
            memory = np.empty_like(slabs[0])
            for start in order:
                block = slabs[start]
                if waiting:
                    block = memory.ravel()[: block.size].reshape(block.shape)
                    block[:] = slabs[start]
                pending = writer.write(start, block)
                if waiting:
                    pending.result()
            memory[:] = -1
            writer.close(SPACING, ORIGIN, {})
            trees.append(tree(group))
    assert all(t == trees[0] for t in trees)
    assert len(trees[0]) == 4 + 2


def test_large_planes_are_cut_into_shards_of_bounded_size(tmp_path: Path) -> None:
    shape = (3000, 2500, 3)
    ImageWriter(tmp_path / "v", shape, np.dtype(np.float64), 2)
    grid = json.loads((tmp_path / "v/0/zarr.json").read_text())["chunk_grid"]["configuration"]["chunk_shape"]
    ImageWriter(tmp_path / "w", (1000, 3000, 2500), np.dtype(np.float64), 0)
    wide = json.loads((tmp_path / "w/0/zarr.json").read_text())["chunk_grid"]["configuration"]["chunk_shape"]
    assert np.prod(grid) * 8 <= 128 << 20
    assert np.prod(wide) * 8 <= 128 << 20
    assert wide[2] == SLAB
    assert all(n % 16 == 0 for n in wide)


def test_what_is_no_slab_of_the_image_is_refused(tmp_path: Path) -> None:
    writer = ImageWriter(tmp_path / "v", (130, 4, 5), np.dtype(np.int16), 0)
    whole = np.zeros((5, 4, 64), np.int16)
    for start, block in ((1, whole), (64, whole.astype(np.int32)), (128, whole), (0, whole[:, :, :63]), (192, whole)):
        with pytest.raises(ValueError, match="no missing slab"):
            writer.write(start, block)
    writer.write(0, whole)
    with pytest.raises(ValueError, match="no missing slab"):
        writer.write(0, whole)
    with pytest.raises(ValueError, match=r"\[64, 128\] were not written"):
        writer.close(SPACING, ORIGIN, {})
    with pytest.raises(ValueError, match="at least one voxel"):
        ImageWriter(tmp_path / "w", (0, 4, 5), np.dtype(np.int16), 0)
    with pytest.raises(ValueError, match="does not lie inside"):
        write_labels(tmp_path / "x", (4, 4, 4), np.ones((2, 2, 2), np.uint8), (3, 0, 0), SPACING, ORIGIN, {})


def test_what_lies_outside_is_an_index_error(tmp_path: Path) -> None:
    write_image(tmp_path / "v", noise((4, 5, 6), "uint8"))
    volume = open_volume(tmp_path / "v")
    for axis, index in ((0, 4), (1, -1), (2, 6)):
        with pytest.raises(IndexError, match="has slices 0 to"):
            volume.slice(axis, index)
    for start, stop in (((0, 0, 0), (5, 1, 1)), ((-1, 0, 0), (1, 1, 1)), ((2, 0, 0), (1, 1, 1))):
        with pytest.raises(IndexError, match="does not lie inside"):
            volume.crop(start, stop)


def naive_content_hash(voxels: npt.NDArray[Any]) -> str:
    """The definition, word by word."""
    i, j, k = voxels.shape
    total = xxhash.xxh3_128(f"{voxels.dtype.name} {i} {j} {k}".encode())
    for z, y, x in itertools.product(range(0, k, 64), range(0, j, 64), range(0, i, 64)):
        block = voxels[x : x + 64, y : y + 64, z : z + 64].transpose(2, 1, 0)
        total.update(xxhash.xxh3_128(block.tobytes("C")).digest())
    return total.hexdigest()


@pytest.mark.parametrize(
    ("shape", "axis", "chunk", "shard"),
    [
        ((512, 512, 270), 0, [32, 32, 64], [288, 512, 64]),
        ((512, 512, 270), 2, [32, 32, 64], [64, 512, 512]),
        ((512, 512, 157), 0, [32, 32, 32], [160, 512, 64]),
        ((512, 512, 64), 0, [16, 32, 32], [64, 512, 64]),
        ((155, 240, 240), 1, [32, 32, 32], [256, 64, 160]),
        ((35, 51, 20), 0, [16, 32, 32], [32, 64, 64]),
        ((5, 6, 7), 2, [8, 8, 8], [8, 8, 8]),
    ],
)
def test_chunks_are_thin_where_slices_are_few_long_where_they_are_many_and_shards_are_slabs(
    tmp_path: Path, shape: tuple[int, int, int], axis: int, chunk: list[int], shard: list[int]
) -> None:
    ImageWriter(tmp_path / "v", shape, np.dtype(np.int16), axis)
    metadata = json.loads((tmp_path / "v/0/zarr.json").read_text())
    assert metadata["chunk_grid"]["configuration"]["chunk_shape"] == shard
    (sharding,) = metadata["codecs"]
    assert sharding["configuration"]["chunk_shape"] == chunk
    assert [codec["name"] for codec in sharding["configuration"]["codecs"]] == ["bytes", "blosc", "crc32c"]


def test_a_block_of_zeros_hashes_like_one_that_was_read() -> None:
    shape = (70, 64, 65)
    read, known = ContentHash(shape, np.dtype(np.uint16)), ContentHash(shape, np.dtype(np.uint16))
    for k, i in itertools.product((0, 64), (0, 64)):
        block = np.zeros((min(64, 65 - k), 64, min(64, 70 - i)), np.uint16)
        read.add((k, 0, i), block)
    known.add_zeros()
    assert read.hexdigest() == known.hexdigest() == naive_content_hash(np.zeros(shape, np.uint16))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["int16", "float64"])
def test_the_content_hash_is_the_same_along_every_axis_in_any_order_and_on_disk(tmp_path: Path, axis: int, dtype: str) -> None:
    voxels = noise((70, 65, 130), dtype)
    content = ContentHash((70, 65, 130), voxels.dtype)
    starts = list(range(0, voxels.shape[axis], SLAB))
    for start in reversed(starts):
        at = [0, 0, 0]
        at[2 - axis] = start
        part = voxels.take(range(start, min(start + SLAB, voxels.shape[axis])), axis)
        content.add((at[0], at[1], at[2]), part.transpose(2, 1, 0))
    assert content.hexdigest() == naive_content_hash(voxels)
    assert write_image(tmp_path / "v", voxels, axis) == content.hexdigest()
    assert open_volume(tmp_path / "v").content_xxh128() == content.hexdigest()


def test_the_content_hash_tells_type_shape_and_byte_order_apart_from_content() -> None:
    def of(voxels: npt.NDArray[Any]) -> str:
        content = ContentHash((voxels.shape[2], voxels.shape[1], voxels.shape[0]), voxels.dtype)
        content.add((0, 0, 0), voxels)
        return content.hexdigest()

    voxels = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    assert of(voxels) == of(voxels.astype(">i2"))
    assert len({of(voxels), of(voxels.view(np.uint16)), of(voxels.reshape(4, 3, 2)), of(voxels + np.int16(1))}) == 4


def test_the_content_hash_refuses_parts_of_blocks_and_missing_blocks() -> None:
    content = ContentHash((70, 10, 10), np.dtype(np.uint8))
    for start, thickness in ((1, 10), (0, 63), (64, 7), (128, 1)):
        with pytest.raises(ValueError, match="no whole blocks"):
            content.add((0, 0, start), np.zeros((10, 10, thickness), np.uint8))
    content.add((0, 0, 0), np.zeros((10, 10, 64), np.uint8))
    with pytest.raises(ValueError, match="only 1 of 2 blocks"):
        content.hexdigest()
