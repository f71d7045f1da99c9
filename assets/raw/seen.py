"""When raw files last changed, kept beside the products: it tells files apart that are alike in size and modification time.

Renaming a file, writing to it and setting its modification time all change its change time, which no program can set. It differs
from one copy of a dataset to the next, and so is no part of any product.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from assets.raw.tree import FileEntry
from resources import durable

CACHE_NAME = "raw-files-seen.arrow"
"""File in a dataset's products folder; without it files are compared by size and modification time alone."""

_FORMAT = 1
_SCHEMA = {
    "format": pl.Int64,
    "path": pl.String,
    "size": pl.Int64,
    "mtime_ns": pl.Int64,
    "ctime_ns": pl.Int64,
    "sha256": pl.String,
}

_Sight = tuple[int, int, int, str | None]
"""Size, modification time, change time, and the content where it was in doubt."""


@dataclass
class Seen:
    """The raw files as they were when their products were made, or when their content was last compared with that.

    Attributes:
        cache: The file that keeps them; None keeps nothing.
    """

    cache: Path | None = None
    _known: dict[str, _Sight] = field(init=False, repr=False)
    _kept: dict[str, _Sight] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._kept = _load(self.cache)
        self._known = dict(self._kept)

    def doubts(self, entry: FileEntry) -> bool:
        """Whether something was done to the file since; a file that was never seen is trusted."""
        sight = self._known.get(entry.path)
        return sight is not None and entry.ctime_ns != 0 and sight[:3] != _stamp(entry)

    def content_of(self, entry: FileEntry) -> str | None:
        """SHA-256 of the file as it is now, if it was taken because of a doubt; None where it was not."""
        sight = self._known.get(entry.path)
        return sight[3] if sight is not None and sight[:3] == _stamp(entry) else None

    def learn(self, entry: FileEntry, content: str) -> None:
        """Remember the content of a file that was in doubt, which thereby is in doubt no longer."""
        self._known[entry.path] = (*_stamp(entry), content)

    def keep(self, files: Iterable[FileEntry], recorded: Collection[str], read: Collection[str] = ()) -> None:
        """Write down how the files are, if anything is new.

        A file that is in doubt stays so until its content was compared, or its products are made anew.

        Args:
            files: The files that are used, as they are now.
            recorded: The paths of which products are recorded; others are in no doubt, and are forgotten when they are gone.
            read: The paths whose products were made anew since.

        Raises:
            OSError: The disk failed or is full.
        """
        kept = {path: sight for path, sight in self._known.items() if path in recorded}
        for entry in files:
            sight = self._known.get(entry.path)
            now = _stamp(entry)
            if sight is not None and sight[:3] == now:
                kept[entry.path] = sight
            elif entry.ctime_ns and (sight is None or entry.path in read or entry.path not in recorded):
                kept[entry.path] = (*now, None)
        self._known = kept
        if self.cache is None or kept == self._kept:
            return
        rows = [(_FORMAT, path, *sight) for path, sight in sorted(kept.items())]
        content = io.BytesIO()
        pl.DataFrame(rows, schema=_SCHEMA, orient="row").write_ipc(content, compression="zstd")
        durable.write_bytes(self.cache, content.getvalue())
        self._kept = dict(kept)


def _stamp(entry: FileEntry) -> tuple[int, int, int]:
    return entry.size, entry.mtime_ns, entry.ctime_ns


def _load(cache: Path | None) -> dict[str, _Sight]:
    """What is kept; nothing where the file is gone or damaged."""
    if cache is None or not cache.is_file():
        return {}
    try:
        table = pl.read_ipc(cache.read_bytes(), use_pyarrow=False)
        table = table.filter(format=_FORMAT) if dict(table.schema) == _SCHEMA else table.clear()
    except (OSError, pl.exceptions.PolarsError):
        return {}
    if table.is_empty():
        return {}
    columns = ("path", "size", "mtime_ns", "ctime_ns", "sha256")
    return {path: (size, mtime, ctime, content) for path, size, mtime, ctime, content in table.select(columns).iter_rows()}
