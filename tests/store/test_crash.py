"""A run that is cut off anywhere leaves the old products, the new ones or none, and the next run makes good what is missing."""

from __future__ import annotations

import errno
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import numpy as np
import pytest

from resources import durable
from resources.ome_zarr import ImageWriter
from tests.store.products import publish, store_at, tree, versions_of
from tests.store.scenario import check, first_run, second_run

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("first")
    first_run(store_at(root))
    return root


@pytest.fixture(scope="module")
def undisturbed(template: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("second") / "root"
    shutil.copytree(template, root)
    second_run(store_at(root))
    check(store_at(root))
    return tree(root)


@pytest.fixture
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """What only the loss of power would show is not tested by hundreds of real syncs."""
    monkeypatch.setattr(os, "fsync", lambda _handle: None)


def settle(root: Path, undisturbed: dict[str, str], seen: set[str]) -> None:
    """Check what was left, run again, and compare with a run that nothing disturbed; once for every state of the disk."""
    state = re.sub(r"\.staging/tmp\w+|\.\d+\.tmp", "", str(tree(root)))
    if state in seen:
        return
    seen.add(state)
    store = store_at(root)
    check(store)
    second_run(store)
    store.clean()
    assert tree(root) == undisturbed


@pytest.mark.slow
@pytest.mark.usefixtures("unsynced")
@pytest.mark.parametrize("when", ["calls", "moments"])
def test_kill_9_anywhere_leaves_old_or_new_or_nothing_and_a_rerun_the_same_bytes(
    template: Path, undisturbed: dict[str, str], tmp_path: Path, when: str
) -> None:
    command = [sys.executable, "-m", "tests.store.scenario", str(template), str(tmp_path), when]
    subprocess.run(command, cwd=REPOSITORY, check=True, timeout=300)
    roots = sorted(tmp_path.iterdir())
    assert len(roots) > (100 if when == "calls" else 20)
    left = [tree(root) for root in roots]
    assert any(".tmp" in path for paths in left for path in paths) or when == "moments"
    assert any("/.staging/" in path for paths in left for path in paths)
    seen: set[str] = set()
    for root in roots:
        settle(root, undisturbed, seen)
    assert len(seen) > (50 if when == "calls" else 5)


@pytest.mark.slow
@pytest.mark.usefixtures("unsynced")
def test_an_error_at_any_call_leaves_old_or_new_or_nothing_and_no_temporary_files(
    template: Path, undisturbed: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: set[str] = set()
    call = 0
    while True:
        root = tmp_path / str(call)
        shutil.copytree(template, root)
        with monkeypatch.context() as patch:
            patch.setattr(durable, "observe", failing_at(call))
            try:
                second_run(store_at(root))
                break
            except OSError as error:
                assert error.errno == errno.ENOSPC  # noqa: PT017
        left = tree(root)
        assert not [path for path in left if path.endswith(".tmp") or "/.staging/" in path]
        settle(root, undisturbed, seen)
        shutil.rmtree(root)
        call += 1
    assert call > 100


def failing_at(call: int) -> Callable[[str, Path], None]:
    calls = iter(range(10**6))

    def watch(_operation: str, path: Path) -> None:
        if next(calls) == call:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    return watch


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    mount = tmp_path / "disk"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(mount)]
    done = subprocess.run(command, capture_output=True, text=True, check=False) if shutil.which("mount") else None
    if done is None or done.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip() if done else 'no mount command'}")
    yield mount
    subprocess.run(["umount", str(mount)], check=True)


def test_a_full_disk_is_named_and_the_old_product_stays(small_disk: Path) -> None:
    store = store_at(small_disk)
    publish(store, "s", 1)
    before = tree(small_disk)
    (small_disk / "ballast").write_bytes(b"x" * (os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize - 40_000))
    noise = np.random.default_rng(6).integers(-1000, 1000, (64, 64, 64)).astype(np.int16)
    with pytest.raises(OSError, match="No space left on device") as raised, store.staging() as staging:
        ImageWriter(staging.folder / "v", (64, 64, 64), noise.dtype, 0).write(0, noise).result()
    assert raised.value.errno == errno.ENOSPC
    for version in range(2, 40):
        try:
            publish(store, f"more {version}", version % 20)
        except OSError as error:
            assert error.errno == errno.ENOSPC  # noqa: PT017
            break
    else:
        raise AssertionError("the disk never was full")
    (small_disk / "ballast").unlink()
    store.clean()
    assert list(store.verify()) == []
    assert {path: digest for path, digest in tree(small_disk).items() if path in before} == before
    assert versions_of(store, "s") == {"volumes": 1, "boxes": 1}


def test_a_file_that_may_not_grow_is_an_error_with_its_number_and_nothing_is_published(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    publish(store, "s", 1)
    before = tree(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large") as raised:
            publish(store, "s", 2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert raised.value.errno == errno.EFBIG
    assert tree(tmp_path) == before
    assert versions_of(store, "s") == {"volumes": 1, "boxes": 1}


def test_everything_is_synced_before_it_gets_its_name_and_folders_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_at(tmp_path)
    events: list[tuple[str, str]] = []

    def note(operation: str, path: Path) -> None:
        parts = path.relative_to(store.root).parts
        staged = parts[:1] == (".staging",)
        events.append((f"{operation} staged" if staged else operation, "/".join(parts[2:] if staged else parts)))

    publish(store, "other", 1)
    monkeypatch.setattr(durable, "observe", note)
    publish(store, "s", 1)
    recorded = [file.path for file in store.recorded_files() if "other" not in file.path]
    volume = "volumes/s/0.ome.zarr"
    first_rename, manifest = events.index(("rename", volume)), events.index(("rename", "manifest/s.json"))
    inside = {folder.as_posix() for path in recorded for folder in PurePosixPath(path).parents} - {
        ".",
        "boxes",
        "volumes",
        "volumes/s",
    }
    assert {path for operation, path in events[:first_rename] if operation == "sync staged"} >= {*recorded, *inside}
    after = events[first_rename:manifest]
    assert {("sync", "volumes"), ("sync", "volumes/s"), ("sync", "boxes")} <= set(events[first_rename - 3 : manifest])
    assert after.index(("rename", "boxes/s.parquet")) < after.index(("sync", "boxes"))
    assert after.index(("rename", volume)) < after.index(("sync", "volumes/s"))
    assert ("sync", "manifest/.s.json.tmp") in [(o, re.sub(r"\d+\.", "", p)) for o, p in after]
    assert ("sync", "manifest") in events[manifest:]
