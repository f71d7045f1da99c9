"""Whatever happens to the files of a product, wrong voxels are never served."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import google_crc32c
import numpy as np
import pytest

from resources.layout import labels_path, series_path, subject_table_path
from resources.manifest import StepRecord, sealed
from resources.ome_zarr import ImageWriter, StoreDamagedError, open_volume, write_labels
from resources.store import DatasetRecord, DatasetStore, NotPublishedError
from tests.store.products import AFFINE, image, manifest_of, publish, store_at, table, write_image

IMAGE = series_path("s", "0", "ct")
LABELS = labels_path("s", "0", "ct", "masses")


@pytest.fixture
def store(tmp_path: Path) -> DatasetStore:
    made = store_at(tmp_path)
    publish(made, "s", 1)
    return made


def read_all(group: Path) -> tuple[bytes, object]:
    volume = open_volume(group)
    return volume.voxels().tobytes(), volume.attributes


@pytest.mark.parametrize("kind", ["image", "labels"])
def test_of_300_flipped_bits_none_changes_a_voxel_unnoticed(tmp_path: Path, kind: str) -> None:
    group = tmp_path / "v"
    if kind == "image":
        write_image(group, np.random.default_rng(2).normal(40, 300, (130, 33, 40)).astype(np.int16))
    else:
        organ = np.random.default_rng(3).integers(0, 4, (50, 60, 55)).astype(np.uint8)
        write_labels(group, (70, 80, 90), organ, (3, 4, 5), (1, 1, 1), (0, 0, 0), {"affine_ras_mm": AFFINE})
    whole = read_all(group)
    shards = sorted(path for path in group.rglob("*") if path.is_file() and path.name != "zarr.json")
    sizes = np.array([path.stat().st_size for path in shards])
    rng = np.random.default_rng(4)
    for path in rng.choice(np.array(shards, object), 300, p=sizes / sizes.sum()):
        content = path.read_bytes()
        damaged = bytearray(content)
        damaged[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(StoreDamagedError, match="must be rebuilt"):
            read_all(group)
        path.write_bytes(content)
    assert read_all(group) == whole


def test_a_flipped_bit_in_the_metadata_is_noticed_or_means_nothing(tmp_path: Path) -> None:
    group = tmp_path / "v"
    write_image(group, image(1))
    whole = read_all(group)
    noticed = 0
    for path in (group / "zarr.json", group / "0" / "zarr.json"):
        content = path.read_bytes()
        for position in range(0, len(content), 3):
            damaged = bytearray(content)
            damaged[position] ^= 1 << (position % 8)
            path.write_bytes(damaged)
            try:
                assert read_all(group) == whole
            except StoreDamagedError:
                noticed += 1
        path.write_bytes(content)
    assert noticed > 300


def shard(store: DatasetStore, group: str = IMAGE) -> Path:
    return next(path for path in sorted((store.root / group / "0" / "c").rglob("*")) if path.is_file())


HALF_WRITTEN: dict[str, Callable[[DatasetStore], object]] = {
    "a shard is missing": lambda s: shard(s).unlink(),
    "a shard is short": lambda s: shard(s).write_bytes(shard(s).read_bytes()[:100]),
    "a shard is empty": lambda s: shard(s).write_bytes(b""),
    "a shard is too long": lambda s: shard(s).write_bytes(shard(s).read_bytes() + b"\0" * 64),
    "metadata without voxels": lambda s: shutil.rmtree(s.root / IMAGE / "0" / "c"),
    "voxels without metadata": lambda s: (s.root / IMAGE / "zarr.json").unlink(),
    "voxels without array metadata": lambda s: (s.root / IMAGE / "0" / "zarr.json").unlink(),
    "empty metadata": lambda s: (s.root / IMAGE / "zarr.json").write_bytes(b""),
    "empty array metadata": lambda s: (s.root / IMAGE / "0" / "zarr.json").write_bytes(b""),
    "metadata of another kind": lambda s: (s.root / IMAGE / "zarr.json").write_text('{"attributes": []}'),
    "the shard of a label map is missing": lambda s: shard(s, LABELS).unlink(),
}


@pytest.mark.parametrize("damage", HALF_WRITTEN)
def test_leftovers_of_our_own_are_detected_rebuilt_and_never_served(store: DatasetStore, damage: str) -> None:
    group = LABELS if "label map" in damage else IMAGE
    HALF_WRITTEN[damage](store)
    manifest = store.manifest("s")
    assert manifest is not None
    assert not store.is_intact(manifest, "volumes")
    assert store.is_intact(manifest, "boxes")
    with pytest.raises(StoreDamagedError, match="rebuilt"):
        store.open_volume("s", group)
    if damage != "a shard is too long":
        with pytest.raises(StoreDamagedError, match="rebuilt"):
            read_all(store.root / group)
    assert any(problem.path.startswith(group) for problem in store.verify())
    publish(store, "s", 1, ("volumes", "boxes"))
    assert list(store.verify()) == []
    np.testing.assert_array_equal(store.open_volume("s", IMAGE).voxels(), image(1))


def test_a_chunk_that_a_valid_index_calls_missing_is_not_read_as_zeros(tmp_path: Path) -> None:
    write_image(tmp_path / "v", image(1))
    path = next(path for path in sorted((tmp_path / "v/0/c").rglob("*")) if path.is_file())
    content = path.read_bytes()
    entries = 2
    index = bytearray(content[-(16 * entries + 4) : -4])
    assert google_crc32c.value(bytes(index)) == struct.unpack("<I", content[-4:])[0]
    index[:16] = b"\xff" * 16
    path.write_bytes(content[: -(16 * entries + 4)] + index + struct.pack("<I", google_crc32c.value(bytes(index))))
    with pytest.raises(StoreDamagedError, match="missing"):
        open_volume(tmp_path / "v").voxels()


def test_a_shard_lost_after_opening_is_noticed(store: DatasetStore) -> None:
    volume = store.open_volume("s", LABELS)
    volume.voxels()
    shard(store, LABELS).unlink()
    with pytest.raises(StoreDamagedError, match="must be rebuilt"):
        volume.voxels()


def test_a_reader_overtaken_by_a_new_product_gets_no_mixture(store: DatasetStore) -> None:
    volume = store.open_volume("s", IMAGE)
    publish(store, "s", 2)
    with pytest.raises(StoreDamagedError, match="replaced while it was read"):
        volume.slice(0, 0)
    np.testing.assert_array_equal(store.open_volume("s", IMAGE).voxels(), image(2))


def test_a_damaged_table_is_never_read(store: DatasetStore) -> None:
    path = store.root / subject_table_path("boxes", "s")
    content = bytearray(path.read_bytes())
    for position in range(0, len(content), 7):
        damaged = content.copy()
        damaged[position] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(StoreDamagedError, match="must be rebuilt"):
            store.read_subject_table("boxes", "s")
    path.unlink()
    with pytest.raises(StoreDamagedError, match="is missing"):
        store.read_subject_table("boxes", "s")
    store.write_tables("index", "k", {"boxes": table(1)}, {"gate": "passed"})
    (store.root / "boxes.parquet").write_bytes(b"PAR1")
    with pytest.raises(StoreDamagedError, match="must be rebuilt"):
        store.read_table("boxes")


def test_a_damaged_record_counts_as_none_and_is_reported(store: DatasetStore) -> None:
    store.write_tables("index", "k", {"boxes": table(1)}, {"gate": "passed"})
    for path in (store.root / "manifest" / "s.json", store.root / "dataset.json"):
        content = path.read_bytes()
        for position in range(0, len(content), 3):
            damaged = bytearray(content)
            damaged[position] ^= 1 << (position % 8)
            path.write_bytes(damaged)
            if path.name == "s.json":
                assert store.manifest("s") is None
                assert store.manifests() == {}
            else:
                assert not store.tables_current("index", "k", ["boxes"])
                assert store.dataset_record().facts == {}
        problems = [str(problem) for problem in store.verify()]
        assert any(problem.startswith(f"{path.relative_to(store.root)} cannot be read") for problem in problems)
        path.write_bytes(content)
    assert list(store.verify()) == []


def test_what_is_not_recorded_is_not_read(store: DatasetStore) -> None:
    for read in (
        lambda: store.read_subject_table("lesion_sizes", "s"),
        lambda: store.read_subject_table("boxes", "nobody"),
        lambda: store.open_volume("s", series_path("s", "0", "mr")),
        lambda: store.read_table("ledger"),
    ):
        with pytest.raises(NotPublishedError, match="materialize"):
            read()


def test_verify_tells_how_far_it_is(store: DatasetStore) -> None:
    seen: list[tuple[int, int]] = []
    assert list(store.verify(lambda done, total: seen.append((done, total)))) == []
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1] == sum(file.size for file in store.recorded_files())


def test_verify_finds_voxels_that_are_not_those_that_were_hashed(tmp_path: Path) -> None:
    """All files match their records, but the content hash is of other voxels: damage before the commit, in memory say."""
    store = store_at(tmp_path)
    with store.staging() as staging:
        writer = ImageWriter(staging.folder / IMAGE, (4, 4, 4), np.dtype(np.int16), 0)
        writer.write(0, np.ones((4, 4, 4), np.int16))
        writer.close((1, 1, 1), (0, 0, 0), {"content_xxh128": "0" * 32})
        step = StepRecord(key="k", code_version=1, parameters={}, files=staging.seal([IMAGE]))
        store.publish(staging, manifest_of("s", {"volumes": step}), ["volumes"], [IMAGE])
    assert [problem.path for problem in store.verify()] == [IMAGE]


OLDER = {"path": "records/0.png", "size": 8, "sha256": "0" * 64}


@pytest.mark.parametrize("named", [{"tables": {"boxes": OLDER}}, {"folders": {"records": [OLDER]}}])
def test_a_record_that_names_files_as_an_older_version_did_counts_as_none(store: DatasetStore, named: dict[str, object]) -> None:
    (store.root / "dataset.json").write_bytes(sealed({"tables": {}, "keys": {"index": "k"}, "facts": {}} | named))
    assert store.dataset_record() == DatasetRecord()
    assert [str(problem) for problem in store.verify()] == ["dataset.json cannot be read: damaged, or written by another version"]
