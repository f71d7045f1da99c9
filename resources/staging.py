"""The folder in which products are made before they are committed."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from resources.files import NOTHING_KNOWN, Digest, seal
from resources.manifest import FileRecord


@dataclass(frozen=True)
class Staging:
    """A folder in which products are made; its paths mirror those of the products folder."""

    folder: Path

    def write_table(self, path: str, table: pl.DataFrame) -> None:
        """Write a table into the staging folder."""
        self.write_bytes(path, parquet_bytes(table))

    def write_bytes(self, path: str, content: bytes) -> None:
        """Write a file into the staging folder."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)

    def seal(self, paths: Sequence[str], known: Mapping[Path, Digest] = NOTHING_KNOWN) -> tuple[FileRecord, ...]:
        """Sync the files and folders at `paths` and record what they hold; nothing may change after this.

        Args:
            paths: Relative to the staging folder.
            known: Files that were hashed as they were written.

        Raises:
            OSError: The disk failed or is full.
        """
        return seal(self.folder, paths, known)


def parquet_bytes(table: pl.DataFrame) -> bytes:
    """A table as Parquet; the same table is always the same bytes."""
    buffer = io.BytesIO()
    table.rechunk().write_parquet(buffer, compression="zstd", compression_level=3, statistics=True)
    return buffer.getvalue()
