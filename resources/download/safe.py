"""Makes many small files safe at once: one call for the whole file system where there is one, else one for each file."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path

from resources import durable

_FEW = 8


def make_safe(files: Sequence[Path], root: Path) -> None:
    """Force files below `root`, and the folders they lie in, to the disk.

    Raises:
        OSError: The disk does not take them.
    """
    if len(files) > _FEW and _sync_file_system(root):
        return
    folders = {folder for file in files for folder in file.parents if folder.is_relative_to(root)}
    for path in (*files, *sorted(folders, reverse=True)):
        durable.sync(path)


def _sync_file_system(folder: Path) -> bool:
    """Whether the system could do it; `syncfs` is Linux's, and has no name in Python."""
    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:
        return False
    durable.observe("sync", folder)
    handle = os.open(folder, os.O_RDONLY)
    try:
        if syncfs(handle):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(folder))
    finally:
        os.close(handle)
    return True
