"""Stored volumes damaged as a crash would leave them: never served, and rebuilt to the same bytes by the next run."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import nibabel
import numpy as np
import pytest

from resources.layout import labels_path, series_path
from resources.ome_metadata import ARRAY
from resources.ome_zarr import StoreDamagedError, open_volume
from tests.chain.groups import Cases
from tests.chain.product import ONLY_SCAN, Product, grid, run_chain, spec_of

SHAPE = (8, 8, 8)
SPACING = (0.8, 1.5, 3.0)
BOX = (slice(1, 4), slice(3, 7), slice(5, 8))
DAMAGED = "damaged"
GROUPS = (series_path(DAMAGED, ONLY_SCAN, "img"), labels_path(DAMAGED, ONLY_SCAN, "img", "seg"))


def _shards(group: Path) -> list[Path]:
    return sorted(path for path in (group / ARRAY / "c").rglob("*") if path.is_file())


def _lose_chunk(group: Path) -> None:
    _shards(group)[-1].unlink()


def _cut_chunk(group: Path) -> None:
    shard = _shards(group)[-1]
    content = shard.read_bytes()
    shard.write_bytes(content[: len(content) * 100 // 256])


def _lose_all_chunks(group: Path) -> None:
    shutil.rmtree(group / ARRAY / "c")


def _lose_metadata(group: Path) -> None:
    (group / ARRAY / "zarr.json").unlink()


def _lose_group_metadata(group: Path) -> None:
    (group / "zarr.json").unlink()


def _empty_metadata(group: Path) -> None:
    (group / ARRAY / "zarr.json").write_bytes(b"")


def _empty_group_metadata(group: Path) -> None:
    (group / "zarr.json").write_bytes(b"")


def _flip_bit(group: Path) -> None:
    shard = _shards(group)[-1]
    content = bytearray(shard.read_bytes())
    content[len(content) // 4] ^= 1
    shard.write_bytes(content)


DAMAGES: Mapping[str, Callable[[Path], None]] = {
    "missing_chunk": _lose_chunk,
    "short_chunk": _cut_chunk,
    "metadata_only": _lose_all_chunks,
    "chunks_only": _lose_metadata,
    "chunks_only, group": _lose_group_metadata,
    "empty_metadata": _empty_metadata,
    "empty_metadata, group": _empty_group_metadata,
}


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Product:
    """Two subjects whose images hold no zero, so that a zero that is read is a voxel that was lost."""
    root = tmp_path_factory.mktemp("half_written")
    i, j, k = grid(SHAPE)
    labels = np.zeros(SHAPE, np.uint8)
    labels[BOX] = 1
    affine = np.diag([*SPACING, 1.0])
    for subject in (DAMAGED, "sibling"):
        folder = root / "raw" / "half_written" / subject
        folder.mkdir(parents=True)
        nibabel.Nifti1Image((i + 16 * j + 256 * k + 1).astype(np.int32), affine).to_filename(folder / "img.nii.gz")
        nibabel.Nifti1Image(labels, affine).to_filename(folder / "seg.nii.gz")
    layout = {"subject": "[a-z]+", "series": {"img": "{subject}/img.nii.gz"}, "labels": {"seg": "{subject}/seg.nii.gz"}}
    return run_chain(spec_of("half_written", layout, {1: "organ"}, lesions=[1]), root)


def _again(product: Product) -> Product:
    return run_chain(product.dataset.spec, product.dataset.layout.root)


def test_every_damage_of_the_shared_cases_is_done(cases: Cases) -> None:
    done = {name.split(",")[0] for name in DAMAGES}
    others = {"complete", "kill_test", "disk_full"}
    assert set(cases.kinds["zarr_half_written"]) == done | others


def test_complete_product_holds_no_zero(product: Product, cases: Cases) -> None:
    facts = cases.kinds["zarr_half_written"]["complete"]["expect"]
    voxels = product.image(DAMAGED).voxels()
    assert list(voxels.shape) == facts["shape"]
    i, j, k = grid(SHAPE)
    assert facts["formula"] == "value[i,j,k] == i + 16*j + 256*k + 1"
    np.testing.assert_array_equal(voxels, i + 16 * j + 256 * k + 1)
    assert np.count_nonzero(voxels == 0) == facts["zeros"]


@pytest.mark.parametrize("group", GROUPS, ids=["image", "labels"])
@pytest.mark.parametrize("damage", [*DAMAGES.values(), _flip_bit], ids=[*DAMAGES, "flipped_bit"])
def test_damaged_volume_is_never_served(product: Product, tmp_path: Path, group: str, damage: Callable[[Path], None]) -> None:
    hierarchy = product.dataset.store.root / "volumes"
    shutil.copytree(hierarchy, tmp_path / "volumes")
    assert open_volume(tmp_path / group).voxels().any()
    damage(tmp_path / group)
    with pytest.raises(StoreDamagedError, match="rebuilt"):
        open_volume(tmp_path / group).voxels()


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_next_run_rebuilds_the_same_bytes(product: Product, damage: Callable[[Path], None]) -> None:
    before = product.files()
    store = product.dataset.store
    untouched = {p: p.stat().st_mtime_ns for p in (store.root / "volumes" / "sibling").rglob("*")}
    for group in GROUPS:
        damage(store.root / group)
        with pytest.raises(StoreDamagedError, match="rebuilt"):
            store.open_volume(DAMAGED, group).voxels()
    assert product.files() != before
    after = _again(product).files()
    assert sorted(after) == sorted(before)
    assert after == before
    assert {p: p.stat().st_mtime_ns for p in (store.root / "volumes" / "sibling").rglob("*")} == untouched


def test_run_over_a_whole_product_changes_no_file(product: Product) -> None:
    root = product.dataset.store.root
    before = {p: p.stat().st_mtime_ns for p in root.rglob("*") if p.suffix in (".parquet", ".json", ".png") or "c" in p.parts}
    _again(product)
    assert {p: p.stat().st_mtime_ns for p in before} == before
