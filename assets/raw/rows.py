"""Rows of a table as files: the picture in a row of a Parquet table has the path `<table>/<column>/<row>/<name>`.

The name is the one the table has for it, as the Hugging Face libraries write it, or missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_ROW = re.compile(r"(.+?\.parquet)/([^/]+)/(\d+)(?:/[^/]+)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Row:
    """A place in a table.

    Attributes:
        table: The table, relative to the raw folder.
        column: The column.
        number: The row, counted from 0.
    """

    table: str
    column: str
    number: int

    @property
    def key(self) -> str:
        """What the reader of the table calls it."""
        return f"{self.column}/{self.number}"


def row_of(path: str) -> Row | None:
    """The place that a path stands for; None for the path of a file."""
    found = _ROW.fullmatch(path)
    return Row(found[1], found[2], int(found[3])) if found else None


def on_disk(path: str) -> str:
    """The file that a path stands for, or that holds what it stands for."""
    row = row_of(path)
    return row.table if row else path


def rows_in(root: Path, table: str, columns: Sequence[str]) -> Iterator[tuple[str, int]]:
    """The path and the number of bytes of every picture in some columns of a table; rows without one are left out.

    Raises:
        BadInputError: The table cannot be read, or does not have the columns.
    """
    from resources.readers.registry import picture_rows  # noqa: PLC0415 - loads every reader, which takes seconds

    for column in columns:
        for number, (name, n_bytes) in enumerate(picture_rows(root / table, column, name=table)):
            if n_bytes:
                ending = f"/{PurePosixPath(name).name}" if PurePosixPath(name).name else ""
                yield f"{table}/{column}/{number}{ending}", n_bytes
