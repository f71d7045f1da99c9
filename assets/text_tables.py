"""Tables that come with a dataset, every cell as text: CSV with any separator, or a workbook's first sheet."""

from __future__ import annotations

from pathlib import Path

import polars as pl

_WORKBOOKS = {".xlsx", ".xls", ".xlsb", ".ods"}


class TableUnreadableError(Exception):
    """A table that is needed is missing, damaged or lacks a column; the message says which."""


def read_text_table(path: Path, columns: list[str], separator: str = ",") -> pl.DataFrame:
    """The named columns, blanks around cells removed, empty cells null.

    Raises:
        TableUnreadableError: The file is missing or no table, or has no such column.
    """
    try:
        if path.suffix.lower() in _WORKBOOKS:
            table = pl.read_excel(path, infer_schema_length=0)
        else:
            table = pl.read_csv(path, separator=separator, infer_schema=False, encoding="utf8-lossy", truncate_ragged_lines=True)
    except (OSError, pl.exceptions.PolarsError, ValueError) as error:
        raise TableUnreadableError(f"{path.name} cannot be read as a table: {error}") from error
    table = table.rename({c: c.strip() for c in table.columns if c != c.strip()})
    absent = [c for c in columns if c not in table.columns]
    if absent:
        raise TableUnreadableError(f"{path.name} has no column {absent}; it has {table.columns}")
    text = pl.col(pl.String).str.strip_chars()
    cells = table.select(pl.col(columns).cast(pl.String)).with_columns(text)
    return cells.with_columns(pl.when(text.str.len_chars() > 0).then(text).name.keep())
