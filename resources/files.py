"""Files of a folder: which there are, what they hold, and whether they still hold it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from xxhash import xxh3_128, xxh3_128_hexdigest

from resources import durable
from resources.manifest import FileRecord

_PIECE: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class Digest:
    """What a file holds: its size in bytes and their XXH128, hexadecimal."""

    size: int
    xxh128: str


NOTHING_KNOWN: Mapping[Path, Digest] = {}


def files_below(path: Path) -> Iterator[Path]:
    """The file `path`, or all files below that folder in order of their names."""
    if path.is_file():
        yield path
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            yield Path(folder) / name


def digest_of(file: Path, *, sync: bool = False) -> Digest:
    """What a file holds; reads all of it.

    Args:
        file: The file.
        sync: Whether to see it onto the disk too; that is no promise yet, its folder is not synced.
    """
    digest, piece = xxh3_128(), memoryview(bytearray(_PIECE))
    with file.open("rb", buffering=0) as content:
        while count := content.readinto(piece):
            digest.update(piece[:count])
        if sync:
            os.fsync(content.fileno())
        return Digest(os.fstat(content.fileno()).st_size, digest.hexdigest())


def xxh128_of(content: bytes) -> str:
    """XXH128 of bytes at hand, as `digest_of` gives it of a file."""
    return xxh3_128_hexdigest(content)


def record_of(root: Path, file: Path) -> FileRecord:
    """What a file below `root` holds; reads all of it."""
    return _record(root, file, digest_of(file))


def _record(root: Path, file: Path, digest: Digest) -> FileRecord:
    return FileRecord(path=file.relative_to(root).as_posix(), size=digest.size, xxh128=digest.xxh128)


def has_size(path: Path, size: int) -> bool:
    """Whether a file is there with this size."""
    try:
        return path.stat().st_size == size
    except FileNotFoundError:
        return False


def _known(root: Path, file: Path, digest: Digest) -> FileRecord:
    if not has_size(file, digest.size):
        raise OSError(errno.EIO, f"{digest.size} bytes were written, and now there are {file.stat().st_size}", str(file))
    return _record(root, file, digest)


def seal(root: Path, paths: Sequence[str], known: Mapping[Path, Digest] = NOTHING_KNOWN) -> tuple[FileRecord, ...]:
    """Force the files and folders at `paths` below `root` to the disk and record the files.

    Args:
        root: The folder.
        paths: What to seal.
        known: Files that were hashed as soon as they were written: they are not read again.

    Raises:
        OSError: The disk failed; or a known file has another size than was written.
    """
    records = []
    for path in paths:
        for file in files_below(root / path):
            records.append(_known(root, file, known[file]) if file in known else record_of(root, file))
            durable.sync(file)
        for folder, _, _ in os.walk(root / path, topdown=False):
            durable.sync(Path(folder))
    return tuple(records)
