"""Tables that come with a dataset, every cell as text: CSV with any separator, or a workbook's first sheet."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import polars as pl
from fastexcel import FastExcelError

_WORKBOOKS = {".xlsx", ".xls", ".xlsb", ".ods"}


class TableUnreadableError(Exception):
    """A table that is needed is missing, damaged or lacks a column; the message says which."""


def read_text_table(path: Path, columns: list[str], separator: str = ",", names: Sequence[str] = ()) -> pl.DataFrame:
    """The named columns, blanks around cells removed, empty cells null.

    Args:
        path: The table.
        columns: Which columns.
        separator: Between columns.
        names: Names for the columns of a text table that has none; a line may have fewer cells, or more, which are left.

    Raises:
        TableUnreadableError: The file is missing or no table, or has no such column.
    """
    try:
        if path.suffix.lower() in _WORKBOOKS:
            table = pl.read_excel(path, infer_schema_length=0)
        elif names:
            table = _without_header(path, names, separator)
        else:
            table = pl.read_csv(path, separator=separator, infer_schema=False, encoding="utf8-lossy", truncate_ragged_lines=True)
    except (OSError, pl.exceptions.PolarsError, csv.Error, ValueError, FastExcelError) as error:
        raise TableUnreadableError(f"{path.name} cannot be read as a table: {error}") from error
    table = table.rename({c: c.strip() for c in table.columns if c != c.strip()})
    absent = [c for c in columns if c not in table.columns]
    if absent:
        raise TableUnreadableError(f"{path.name} has no column {absent}; it has {table.columns}")
    text = pl.col(pl.String).str.strip_chars()
    cells = table.select(pl.col(columns).cast(pl.String)).with_columns(text)
    return cells.with_columns(pl.when(text.str.len_chars() > 0).then(text).name.keep())


def _without_header(path: Path, names: Sequence[str], separator: str) -> pl.DataFrame:
    """Prose before the table is so many lines like the others, which no key finds."""
    lines = path.read_bytes().decode("utf-8-sig", "replace").splitlines()
    rows = [[*cells, *[None] * len(names)][: len(names)] for cells in csv.reader(lines, delimiter=separator) if cells]
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
