"""Moves what is whole into the raw folder: a rename where the disk allows it, never a half-written file under its final name."""

from __future__ import annotations

import errno
import hashlib
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path

from resources import durable
from resources.download.errors import DownloadError
from resources.download.members import Unpacked
from resources.download.part import disk_error


class InTheWayError(DownloadError):
    """A file of the same name lies in the raw folder, and it is another one."""


def sha256_of(path: Path) -> str:
    """SHA-256 of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def put_file(source: Path, target: Path) -> None:
    """Move a file to its place, replacing what is there.

    Raises:
        DiskError: The disk does not take it.
    """
    try:
        _move(source, target)
        durable.sync(target.parent)
    except OSError as error:
        raise disk_error(target, error) from None


def put_tree(
    source: Path, target: Path, files: Mapping[str, Unpacked], *, replace: bool, keep: Collection[str] = frozenset()
) -> None:
    """Move what an archive was unpacked to into place; folders that are not there yet move as a whole.

    Run again after a crash it finishes: what is gone from `source` is in place already.

    Args:
        source: Folder that holds the files, or what is left of them.
        target: Folder they go to; others may lie there.
        files: Every file by its path below both.
        replace: Whether they take the place of others that differ.
        keep: Paths below `target` that stay as they are.

    Raises:
        InTheWayError: A file that differs is in the way; nothing is moved then.
        DiskError: The disk does not take it.
    """
    for path in keep:
        if path in files and (target / path).is_file():
            durable.remove_file(source / path)
    try:
        if not replace:
            _refuse_conflicts(source, target, files)
        durable.make_folder(target)
        if source.is_dir():
            _merge(source, target)
            durable.remove_tree(source)
    except OSError as error:
        raise disk_error(target, error) from None


def _refuse_conflicts(source: Path, target: Path, files: Mapping[str, Unpacked]) -> None:
    for path, file in files.items():
        there = target / path
        if not (source / path).is_file() or not there.exists():
            continue
        if not there.is_file() or there.stat().st_size != file.size or sha256_of(there) != file.sha256:
            raise InTheWayError(
                f"{there} lies where {file.size:,} bytes of this archive belong, and differs from them; move it away and run "
                "again, or give the archive a folder of its own (`into`) or `replace: true` in the spec"
            )


def _merge(source: Path, target: Path) -> None:
    for entry in sorted(source.iterdir()):
        there = target / entry.name
        if entry.is_dir() and there.is_dir():
            _merge(entry, there)
        else:
            _move(entry, there)
    durable.sync(target)


def _move(source: Path, target: Path) -> None:
    try:
        durable.rename(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy(source, target)


def _copy(source: Path, target: Path) -> None:
    """Across disks, where renaming cannot: each file is copied under a name that marks it as partial, then renamed."""
    if source.is_dir():
        durable.make_folder(target)
        for entry in sorted(source.iterdir()):
            _copy(entry, target / entry.name)
        durable.sync(target)
        durable.remove_tree(source)
        return
    durable.make_folder(target.parent)
    partial = target.with_name(f".{target.name}.part")
    durable.observe("copy", partial)
    shutil.copyfile(source, partial)
    durable.sync(partial)
    durable.rename(partial, target)
    durable.sync(target.parent)
    durable.remove_file(source)
