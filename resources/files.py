"""Files of a folder: which there are, what they hold, and whether they still hold it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from hashlib import file_digest
from pathlib import Path

from resources import durable
from resources.manifest import FileRecord


def files_below(path: Path) -> Iterator[Path]:
    """The file `path`, or all files below that folder in order of their names."""
    if path.is_file():
        yield path
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            yield Path(folder) / name


def record_of(root: Path, file: Path) -> FileRecord:
    """What a file below `root` holds; reads all of it."""
    with file.open("rb") as content:
        digest = file_digest(content, "sha256").hexdigest()
        size = os.fstat(content.fileno()).st_size
    return FileRecord(path=file.relative_to(root).as_posix(), size=size, sha256=digest)


def has_size(path: Path, size: int) -> bool:
    """Whether a file is there with this size."""
    try:
        return path.stat().st_size == size
    except FileNotFoundError:
        return False


def seal(root: Path, paths: Sequence[str]) -> tuple[FileRecord, ...]:
    """Force the files and folders at `paths` below `root` to the disk and record the files."""
    records = []
    for path in paths:
        for file in files_below(root / path):
            records.append(record_of(root, file))
            durable.sync(file)
        for folder, _, _ in os.walk(root / path, topdown=False):
            durable.sync(Path(folder))
    return tuple(records)
