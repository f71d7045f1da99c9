"""Writes that survive a crash: every file is synced before it gets its name, every folder after."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

observe: Callable[[str, Path], None] = lambda _operation, _path: None  # noqa: E731
"""Called before every step that changes the disk; tests replace it to fail or to kill the process there."""


def sync_file(path: Path) -> None:
    """Force a file's bytes to the disk."""
    observe("sync", path)
    _sync(path)


def sync_folder(path: Path) -> None:
    """Force a folder's entries to the disk."""
    observe("sync", path)
    _sync(path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(root: Path) -> None:
    """Force everything below a folder, and the folder itself, to the disk."""
    for folder, _, names in os.walk(root):
        for name in names:
            sync_file(Path(folder) / name)
        sync_folder(Path(folder))


def rename(source: Path, target: Path) -> None:
    """Move within one file system, replacing a file or an empty folder."""
    target.parent.mkdir(parents=True, exist_ok=True)
    observe("rename", target)
    source.replace(target)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file so that its name shows either the old content or all of the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    observe("write", path)
    try:
        temporary.write_bytes(content)
        sync_file(temporary)
        rename(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
