from __future__ import annotations

import ctypes
import os
from pathlib import Path

import pytest

from resources.download import safe


@pytest.fixture(autouse=True)
def unsynced() -> None:
    """Here syncing is what is tested."""


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    found: list[Path] = []
    monkeypatch.setattr("resources.durable.observe", lambda _, path: found.append(path))
    return found


def some(root: Path, count: int) -> list[Path]:
    files = [root / "a" / str(n) / "x" for n in range(count)]
    for file in files:
        file.parent.mkdir(parents=True)
        file.write_bytes(b"1")
    return files


def test_few_files_are_synced_with_every_folder_up_to_the_root(tmp_path: Path, synced: list[Path]) -> None:
    files = some(tmp_path / "root", 2)
    safe.make_safe(files, tmp_path / "root")
    folders = {tmp_path / "root", tmp_path / "root/a", tmp_path / "root/a/0", tmp_path / "root/a/1"}
    assert set(synced) == {*files, *folders}
    assert synced.index(tmp_path / "root/a/0") < synced.index(tmp_path / "root/a") < synced.index(tmp_path / "root")


def test_many_files_take_one_call_where_the_system_has_it(tmp_path: Path, synced: list[Path]) -> None:
    safe.make_safe(some(tmp_path, 40), tmp_path)
    assert synced == [tmp_path] or len(synced) == 82


def test_many_files_are_synced_one_by_one_where_it_has_not(
    tmp_path: Path, synced: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())
    safe.make_safe(some(tmp_path, 40), tmp_path)
    assert len(synced) == 40 + 42


def test_a_disk_that_fails_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Library:
        @staticmethod
        def syncfs(_handle: int) -> int:
            return -1

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: Library)
    monkeypatch.setattr(ctypes, "get_errno", lambda: 5)
    with pytest.raises(OSError, match=os.strerror(5)):
        safe.make_safe(some(tmp_path, 9), tmp_path)
