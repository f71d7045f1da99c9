"""Tables that come with a dataset, as far as is needed to know what they speak of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import fastexcel
import polars as pl

MOST_TABLES, MOST_ROWS, MOST_BYTES = 12, 5000, 50 << 20
_ENOUGH = 0.6


@dataclass(frozen=True)
class Table:
    """The first rows of a table.

    Attributes:
        path: The file.
        columns: Name -> cells as text.
        separator: Between columns.
    """

    path: str
    columns: dict[str, tuple[str, ...]]
    separator: str

    def column_equal_to(self, values: Iterable[str]) -> str | None:
        """The column that holds most of the values, if there is one; one with many values before one with few."""
        wanted = set(values)
        if len(wanted) < 2:
            return None
        for column, cells in self.columns.items():
            if len(wanted & set(cells)) >= _ENOUGH * min(len(wanted), len(set(cells))) and len(wanted & set(cells)) > 1:
                return column
        return None


def read_tables(root: Path, paths: Iterable[str]) -> Iterator[Table]:
    """The first rows of the first tables; those that are none are left out."""
    for number, path in enumerate(paths):
        if number == MOST_TABLES:
            return
        table = _read(root, path)
        if table is not None and len(table.columns) > 1:
            yield table


def _read(root: Path, path: str) -> Table | None:
    file = root / path
    try:
        if file.stat().st_size > MOST_BYTES:
            return None
        if file.suffix.lower() in (".xlsx", ".xls"):
            frame, separator = pl.read_excel(file, infer_schema_length=0), ","
        else:
            with file.open(encoding="utf-8", errors="replace") as lines:
                head = lines.readline(1 << 16)
            separator = max(",;\t", key=head.count)
            frame = pl.read_csv(
                file, separator=separator, infer_schema=False, encoding="utf8-lossy", truncate_ragged_lines=True, n_rows=MOST_ROWS
            )
    except (OSError, pl.exceptions.PolarsError, fastexcel.FastExcelError, ValueError):
        return None
    cells = {
        name: tuple((cell or "").strip() for cell in frame[name].cast(pl.String).to_list()[:MOST_ROWS]) for name in frame.columns
    }
    return Table(path, cells, separator)
