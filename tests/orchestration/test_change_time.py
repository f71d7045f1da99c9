"""Raw files that are alike in size and modification time, and are not the ones that they were."""

from __future__ import annotations

import gzip
import hashlib
import os
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest

from assets.dataset import survey
from assets.raw.seen import CACHE_NAME
from resources.findings import Code
from tests.orchestration.world import World, computed, copied, reasons

STEPS = ("volumes", "boxes", "mask_sizes", "lesion_sizes")
CASES = [f"case_0000{n}" for n in range(4)]
IMAGE = "imaging.nii.gz"


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The raw files of which a survey has taken a hash."""
    names: list[str] = []
    digest = hashlib.file_digest

    def note(file: Any, kind: str) -> Any:
        names.append("/".join(Path(file.name).parts[-2:]))
        return digest(file, kind)

    monkeypatch.setattr(hashlib, "file_digest", note)
    return names


@pytest.fixture
def settled(world: World) -> World:
    """A dataset whose raw files were seen where they are now: the copy has other change times than what it was copied from."""
    assert world.run().success
    return world


@pytest.fixture
def stored(fresh: World) -> World:
    """A dataset made of images that are stored without compression, so that all have one size, and have one modification time."""
    for case in CASES:
        image = fresh.subjects / case / IMAGE
        image.write_bytes(gzip.compress(gzip.decompress(image.read_bytes()), 0, mtime=0))
        os.utime(image, ns=(1, 1_600_000_000_000_000_000))
    assert len({(fresh.subjects / case / IMAGE).stat().st_size for case in CASES}) == 1
    assert fresh.run().success
    return fresh


def swap(world: World, one: str, other: str) -> None:
    """As `mv` does it."""
    first, second, aside = world.subjects / one / IMAGE, world.subjects / other / IMAGE, world.root / "aside"
    first.rename(aside)
    second.rename(first)
    aside.rename(second)


def flip(path: Path) -> None:
    """Change one byte in the middle and put the modification time back."""
    status, content = path.stat(), bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)


def raw_voxels(world: World, case: str) -> list[int]:
    return sorted(np.asarray(nib.load(world.subjects / case / IMAGE).dataobj).ravel().tolist())


def product_voxels(world: World, case: str) -> list[int]:
    store = world.dataset.store
    (path,) = store.read_subject_table("volumes", case).filter(kind="image")["path"]
    return sorted(store.open_volume(case, path).voxels().ravel().tolist())


def stale(world: World) -> dict[str, str]:
    return {plan.subject: plan.stale["volumes"] for plan in survey(world.dataset).stale}


def sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def test_swapped_files_of_one_size_and_time_are_told_and_their_products_follow(stored: World, hashed: list[str]) -> None:
    first, second = (stored.subjects / case / IMAGE for case in CASES[:2])
    old = [sha(first), sha(second)]
    assert stale(stored) == {}
    swap(stored, *CASES[:2])
    assert stale(stored) == {
        CASES[0]: f"dataset/{CASES[0]}/{IMAGE} changed: content {old[0]} -> {old[1]}",
        CASES[1]: f"dataset/{CASES[1]}/{IMAGE} changed: content {old[1]} -> {old[0]}",
    }
    assert computed(stored.run()) == dict.fromkeys(STEPS, 2)
    for case in CASES:
        assert product_voxels(stored, case) == raw_voxels(stored, case)
    assert raw_voxels(stored, CASES[0]) != raw_voxels(stored, CASES[1])
    hashed.clear()
    assert stale(stored) == {}
    assert hashed == []


def test_a_swap_is_still_told_after_a_run_that_was_cut_off_before_it_built_anything(
    stored: World, hashed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(*_args: object) -> Any:
        raise RuntimeError("cut off")

    swap(stored, *CASES[:2])
    told = stale(stored)
    assert set(told) == set(CASES[:2])
    with monkeypatch.context() as patch:
        patch.setattr("assets.build.build_subjects", cut_off)
        assert "cut off" in reasons(stored.run())
    hashed.clear()
    assert stale(stored) == told
    assert hashed == []
    assert computed(stored.run()) == dict.fromkeys(STEPS, 2)
    assert product_voxels(stored, CASES[1]) == raw_voxels(stored, CASES[1])
    assert stale(stored) == {}


def test_a_flipped_byte_whose_time_was_put_back_quarantines_its_subject_once(stored: World) -> None:
    image = stored.subjects / CASES[1] / IMAGE
    sound = image.read_bytes(), image.stat()
    flip(image)
    assert list(stale(stored)) == [CASES[1]]
    result = stored.run()
    assert result.success, reasons(result)
    assert stored.states() == dict.fromkeys(CASES, "used") | {CASES[1]: "quarantined"}
    manifest = stored.dataset.store.manifest(CASES[1])
    assert manifest is not None
    assert [(f.code, f.file) for f in manifest.findings] == [(Code.CHECKSUM_MISMATCH, f"dataset/{CASES[1]}/{IMAGE}")]
    assert computed(stored.run()) == dict.fromkeys(STEPS, 0)
    image.write_bytes(sound[0])
    os.utime(image, ns=(sound[1].st_atime_ns, sound[1].st_mtime_ns))
    assert list(stale(stored)) == [CASES[1]]
    assert computed(stored.run()) == dict.fromkeys(STEPS, 1)
    assert stored.states() == dict.fromkeys(CASES, "used")
    assert stale(stored) == {}


def test_other_permissions_alone_are_hashed_once_and_recompute_nothing(settled: World, hashed: list[str]) -> None:
    before = settled.files()
    (settled.subjects / CASES[2] / IMAGE).chmod(0o640)
    assert stale(settled) == {}
    assert hashed == [f"{CASES[2]}/{IMAGE}"]
    assert computed(settled.run()) == dict.fromkeys(STEPS, 0)
    assert settled.files() == before
    hashed.clear()
    assert stale(settled) == {}
    assert hashed == []


@pytest.mark.parametrize("content", [None, b"damaged" * 100])
def test_without_the_cache_size_and_time_decide_and_it_is_made_again(settled: World, content: bytes | None) -> None:
    before, cache = settled.files(), settled.dataset.store.root / CACHE_NAME
    cache.unlink()
    if content is not None:
        cache.write_bytes(content)
    flip(settled.subjects / CASES[1] / IMAGE)
    assert stale(settled) == {}
    assert computed(settled.run()) == dict.fromkeys(STEPS, 0)
    assert settled.files() == before
    flip(settled.subjects / CASES[2] / "segmentation.nii.gz")
    assert list(stale(settled)) == [CASES[2]]


def test_a_file_that_was_touched_and_then_got_other_content_is_told(settled: World) -> None:
    image = settled.subjects / CASES[1] / IMAGE
    os.utime(image, ns=(1, 1_600_000_000_000_000_000))
    assert computed(settled.run()) == dict.fromkeys(STEPS, 0)
    flip(image)
    assert list(stale(settled)) == [CASES[1]]
    assert settled.run().success
    (content,) = settled.dataset.store.read_table("raw").filter(path=f"dataset/{CASES[1]}/{IMAGE}")["sha256"]
    assert content == hashlib.sha256(image.read_bytes()).hexdigest()


def test_clean_and_verify_leave_the_cache_alone(settled: World) -> None:
    store = settled.dataset.store
    assert store.clean() == []
    assert list(store.verify()) == []
    assert (store.root / CACHE_NAME).is_file()


def test_two_roots_with_the_same_raw_bytes_have_the_same_products(built_four: World, settled: World, tmp_path: Path) -> None:
    with copied(World(settled.root, settled.spec, settled.instance), tmp_path / "other") as other:
        for path in sorted((other.root / "raw").rglob("*")):
            path.chmod(0o750)
        assert computed(other.run()) == dict.fromkeys(STEPS, 0)
        assert other.files() == settled.files()
    made, first = settled.files(), built_four.files()
    assert {p: content for p, (_, content) in made.items()} == {p: content for p, (_, content) in first.items()}


def test_a_file_in_doubt_that_cannot_be_read_concerns_its_subject_alone(settled: World, monkeypatch: pytest.MonkeyPatch) -> None:
    image = settled.subjects / CASES[1] / IMAGE
    image.chmod(0o600)

    def refuse(file: Any, _kind: str) -> Any:
        raise PermissionError(13, "Permission denied", file.name)

    monkeypatch.setattr(hashlib, "file_digest", refuse)
    stale = {plan.subject: set(plan.stale.values()) for plan in survey(settled.dataset).stale}
    assert set(stale) == {CASES[1]}
    assert all(IMAGE in reason and "Permission denied" in reason for reason in stale[CASES[1]])


def test_a_process_that_looks_again_takes_the_hash_of_a_touched_file_once(settled: World, hashed: list[str]) -> None:
    for case in CASES[:2]:
        (settled.subjects / case / IMAGE).chmod(0o640)
    for _ in range(3):
        assert survey(settled.dataset).stale == []
    assert sorted(hashed) == [f"{case}/{IMAGE}" for case in CASES[:2]]
