"""Pictures in the rows of Parquet tables, as if they were files."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from assets.raw.rows import rows_in
from resources.findings import BadInputError
from resources.readers.registry import list_arrays

_MOST_TABLES, _MOST_ROWS, _MOST_COLUMNS = 6, 400, 6


def with_rows(root: Path, paths: Iterable[str]) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """The paths with the first rows of Parquet tables instead of the tables, where these hold several columns of pictures.

    Returns:
        The paths in order, and table -> its columns of pictures.
    """
    found: list[str] = []
    columns: dict[str, tuple[str, ...]] = {}
    for path in paths:
        asked = path.lower().endswith(".parquet") and len(columns) < _MOST_TABLES
        named = _columns(root, path) if asked else ()
        rows = [row for column in named for row in _rows(root, path, column)]
        if len(named) > 1 and rows:
            columns[path] = named
            found += rows
        else:
            found.append(path)
    return tuple(sorted(found)), columns


def _columns(root: Path, path: str) -> tuple[str, ...]:
    try:
        arrays = list_arrays(root / path, name=path)
    except BadInputError:
        return ()
    return tuple(array.name for array in arrays if "Binary" in str(array.dtype))[:_MOST_COLUMNS]


def _rows(root: Path, path: str, column: str) -> list[str]:
    try:
        return [row for row, _ in islice(rows_in(root, path, (column,)), _MOST_ROWS)]
    except BadInputError:
        return []
