"""Writes that survive a crash: every file is synced before it gets its name, every folder after.

Everything that commits or withdraws a product changes the disk through this module, and calls `observe` before each change.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path


def _nothing(_operation: str, _path: Path) -> None:
    """Nobody is watching."""


observe: Callable[[str, Path], None] = _nothing
"""Called before every step that changes the disk; tests replace it to fail or to kill the process there."""


def sync(path: Path) -> None:
    """Force a file's bytes, or a folder's entries, to the disk."""
    observe("sync", path)
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(path: Path) -> None:
    """Create a folder and its parents so that they survive a crash."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    if not missing:
        return
    observe("make", path)
    path.mkdir(parents=True, exist_ok=True)
    for folder in reversed(missing):
        sync(folder.parent)


def rename(source: Path, target: Path) -> None:
    """Move within one file system, replacing a file or an empty folder; the folders' entries are the caller's to sync."""
    make_folder(target.parent)
    observe("rename", target)
    source.replace(target)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file so that its name shows either the old content or all of the new."""
    make_folder(path.parent)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    observe("write", path)
    try:
        temporary.write_bytes(content)
        sync(temporary)
        rename(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    sync(path.parent)


def remove_file(path: Path) -> None:
    """Remove a file, if it is there; the folder's entries are the caller's to sync."""
    observe("remove", path)
    path.unlink(missing_ok=True)


def remove_tree(path: Path) -> None:
    """Remove a folder and everything below it."""
    observe("remove", path)
    shutil.rmtree(path)


def prune(folder: Path, root: Path) -> None:
    """Remove a folder and its parents below `root` while they are empty."""
    while folder != root and folder.is_dir() and next(folder.iterdir(), None) is None:
        observe("prune", folder)
        folder.rmdir()
        folder = folder.parent
