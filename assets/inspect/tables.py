"""Tables that come with a dataset, as far as is needed to know what they speak of: CSV, workbooks, lists in JSON, and text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import fastexcel
import polars as pl

from assets.inspect.person_columns import is_person_column

MOST_TABLES, MOST_ROWS, MOST_BYTES, MOST_COLUMNS = 12, 5000, 50 << 20, 60
_MOST_TEXT = 1 << 22
_ENOUGH = 0.6
_TRIED, _SPREAD, _NEARLY_ALL = 5, 60, 0.8
"""First cells of a column that are held against the names of images, cells all over it, and the share of these that must fit."""

_CORNERS = (
    ("xmin", "ymin", "xmax", "ymax"),
    ("x1", "y1", "x2", "y2"),
    ("x0", "y0", "x1", "y1"),
    ("left", "top", "right", "bottom"),
)
_SIZES = (("x", "y", "width", "height"), ("x", "y", "w", "h"), ("x0", "y0", "w", "h"), ("xmin", "ymin", "width", "height"))
_CENTRES = (("coordx", "coordy", "coordz"),)
_MEASURES = frozenset(name for names in (*_CORNERS, *_SIZES, *_CENTRES) for name in names)


@dataclass(frozen=True, slots=True)
class Places:
    """The columns of a table that give places.

    Attributes:
        how: `corners`, `origin_size` or `centre_lps_mm`.
        columns: The coordinates.
        diameter: The diameter, where there is one.
    """

    how: str
    columns: tuple[str, ...]
    diameter: str


@dataclass(frozen=True, slots=True)
class Naming:
    """How a column names images.

    Attributes:
        column: The column.
        before: What stands in every cell before what the image's path says.
        behind: What stands behind it.
    """

    column: str
    before: str = ""
    behind: str = ""


@dataclass(frozen=True)
class Table:
    """The first rows of a table.

    Attributes:
        path: The file.
        columns: Name -> cells as text.
        separator: Between columns.
        each: Where the rows stand in a JSON file; empty for other files.
        headless: Whether the columns have no names, so that these are numbers.
    """

    path: str
    columns: dict[str, tuple[str, ...]]
    separator: str
    each: str = ""
    headless: bool = False

    @cached_property
    def places(self) -> Places | None:
        """The columns that give places; None where there are none."""
        plain = {_plain(name): name for name in self.columns}
        for how, sets in (("corners", _CORNERS), ("origin_size", _SIZES), ("centre_lps_mm", _CENTRES)):
            for names in sets:
                if all(name in plain for name in names):
                    diameter = next((own for name, own in plain.items() if "diameter" in name), "")
                    if (how == "centre_lps_mm" and not diameter) or (how == "corners" and not self._opposite(plain, names)):
                        continue
                    return Places(how, tuple(plain[name] for name in names), diameter)
        return None

    def _opposite(self, plain: Mapping[str, str], names: Sequence[str]) -> bool:
        """Whether the second corner never lies before the first: the ends of lines drawn in images do."""
        rows = zip(*(self.columns[plain[name]] for name in names), strict=True)
        corners = [numbers for row in rows if (numbers := _numbers(row))]
        return all(left <= right and top <= bottom for left, top, right, bottom in corners)

    @cached_property
    def _namers(self) -> dict[str, tuple[str, ...]]:
        """The columns that may name images: none with a coordinate or a size, and those that are called like people last."""
        places = self.places
        measures = (
            {name for name in self.columns if _plain(name) in _MEASURES} | {places.diameter} if places is not None else set()
        )
        left = [name for name in self.columns if name not in measures]
        return {name: self.columns[name] for name in sorted(left, key=is_person_column)}

    def column_equal_to(self, values: Iterable[str]) -> str | None:
        """The column that holds most of the values, if there is one; one with many values before one with few."""
        wanted = set(values)
        if len(wanted) < 2:
            return None
        for column, cells in self._namers.items():
            if len(wanted & set(cells)) >= _ENOUGH * min(len(wanted), len(set(cells))) and len(wanted & set(cells)) > 1:
                return column
        return None

    def namings(self, columns: Sequence[Sequence[str]]) -> list[tuple[int, Naming]]:
        """Ways in which a column names images, with the number of what it is equal to; plain ones first.

        With text before and behind, whole names, which stand last, come before their parts. Columns that are called like people
        come last: their numbers may be those of images by chance.

        Args:
            columns: What may name an image.
        """
        plain = [(number, Naming(key)) for number, values in enumerate(columns) if (key := self.column_equal_to(values))]
        known = {number for number, naming in plain if not is_person_column(naming.column)}
        ways = [
            *plain,
            *(way for number in reversed(range(len(columns))) if number not in known for way in self._inside(number, columns)),
        ]
        return sorted(ways, key=lambda way: is_person_column(way[1].column))

    def _inside(self, number: int, columns: Sequence[Sequence[str]]) -> Iterator[tuple[int, Naming]]:
        """Ways in which cells hold a name and have the same text around it."""
        wanted = set(columns[number])
        if len(wanted) > 1:
            for column, cells in self._namers.items():
                if (found := _around(column, cells, wanted)) is not None and (self.each or _is_text(found)):
                    yield number, found

    def of(self, naming: Naming, values: Iterable[str], column: str) -> list[str]:
        """What a column says in the rows that name one of the values."""
        keys = {naming.before + value + naming.behind for value in values}
        rows = zip(self.columns[naming.column], self.columns[column], strict=True)
        return [cell for key, cell in rows if key in keys]

    def told(self, naming: Naming, column: str) -> dict[str, str]:
        """What names an image -> what a column says of it."""
        start, end = len(naming.before), len(naming.behind)
        rows = zip(self.columns[naming.column], self.columns[column], strict=True)
        return {key[start : len(key) - end]: cell for key, cell in rows}

    def telling(self, naming: Naming, values: Iterable[str], column: str) -> set[str]:
        """The values for which a column says something."""
        said = {key for key, cell in zip(self.columns[naming.column], self.columns[column], strict=True) if cell}
        return {value for value in values if naming.before + value + naming.behind in said}


def _is_data(frame: pl.DataFrame) -> bool:
    """Whether the names of columns are the first row of a table without a header: numbers, one of which its column says again."""
    names = [name.strip() for name in frame.columns]
    again = any(name in frame[column].cast(pl.String).to_list() for name, column in zip(names, frame.columns, strict=True))
    return again and len(names) > 1 and all(_numbers([name]) for name in names)


def _numbers(cells: Sequence[str]) -> tuple[float, ...]:
    """The numbers in cells; none where one holds anything else."""
    try:
        return tuple(float(cell) for cell in cells)
    except ValueError:
        return ()


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace(" ", "")


def _is_text(naming: Naming) -> bool:
    """Whether what stands around a name is more than further digits of a number."""
    return any(letter.isalpha() for letter in naming.before + naming.behind)


def _around(column: str, cells: Sequence[str], wanted: set[str]) -> Naming | None:
    """Naming with the same text around each name; the first cells are tried, as they may name images that are not there.

    None where names have other text around them too, as in a table with several rows of each image, `1_left` and `1_right`.
    """
    known = set(cells)
    for cell in list(dict.fromkeys(cell for cell in cells if cell))[:_TRIED]:
        inside = max((value for value in wanted if value in cell), key=len, default="")
        before, _, behind = cell.rpartition(inside) if inside else ("", "", "")
        fitting = {before + value + behind for value in wanted} & known
        if inside and len(fitting) >= max(2, _ENOUGH * min(len(wanted), len(known))):
            return Naming(column, before, behind) if _are_named_so(cells, wanted, before, behind) else None
    return None


def _are_named_so(cells: Sequence[str], wanted: set[str], before: str, behind: str) -> bool:
    """Whether nearly all cells that hold a name have this text around it; some all over the table are looked at."""
    chosen = [cell for cell in cells[:: max(1, len(cells) // _SPREAD)] if any(value in cell for value in wanted)]
    so = sum(cell.startswith(before) and cell.endswith(behind) for cell in chosen)
    return so >= _NEARLY_ALL * len(chosen)


def read_tables(root: Path, paths: Iterable[str]) -> Iterator[Table]:
    """The first rows of the first tables; those that are none are left out."""
    for number, path in enumerate(paths):
        if number == MOST_TABLES:
            return
        table = _read(root, path)
        if table is not None and len(table.columns) > 1:
            yield table


def read_lists(root: Path, paths: Iterable[str]) -> Iterator[Table]:
    """Lists of alike entries in the first JSON files, and lines of alike cells in the first texts."""
    for path in list(paths)[:MOST_TABLES]:
        try:
            if (root / path).stat().st_size > _MOST_TEXT:
                continue
            text = (root / path).read_text(encoding="utf-8-sig", errors="replace")
            content = json.loads(text) if path.lower().endswith(".json") else None
        except (OSError, ValueError, RecursionError):
            continue
        yield from _lists(path, content) if content is not None else _lines(path, text)


def _lists(path: str, content: Any) -> Iterator[Table]:
    found = {"[]": content} if isinstance(content, list) else {}
    if isinstance(content, dict):
        found = {f"{name}[]": value for name, value in content.items() if isinstance(value, list) and name.isidentifier()}
    for each, entries in found.items():
        rows = [entry for entry in entries[:MOST_ROWS] if isinstance(entry, dict)]
        names = [name for name in (rows[0] if rows else ()) if all(_is_cell(row.get(name)) for row in rows)]
        if len(names) > 1 and len(rows) == len(entries[:MOST_ROWS]):
            yield Table(path, {name: tuple(_cell(row.get(name)) for row in rows) for name in names}, ",", each)


def _is_cell(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float))


def _cell(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _lines(path: str, text: str) -> Iterator[Table]:
    """The lines of a text as a table without names of columns, where most of them have several cells."""
    lines = [line.strip() for line in text.splitlines()[:MOST_ROWS] if line.strip()]
    for separator in ("\t", ";", ",", " "):
        rows = [line.split(separator) for line in lines if separator in line]
        if rows and len(rows) >= 0.5 * len(lines):
            width = min(MOST_COLUMNS, max(Counter(map(len, rows)).items(), key=lambda entry: (entry[1], entry[0]))[0])
            cells = [[*row, *[""] * width][:width] for row in rows]
            columns = {f"column {n + 1}": tuple(row[n].strip() for row in cells) for n in range(width)}
            yield Table(path, columns, separator, headless=True)
            return


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
    if _is_data(frame):
        rows = [frame.columns, *frame.rows()]
        numbered = {str(n): tuple((row[n] or "").strip() for row in rows[:MOST_ROWS]) for n in range(len(frame.columns))}
        return Table(path, numbered, separator, headless=True)
    cells = {  # without blanks around names and cells, as the pipeline reads them
        name.strip(): tuple((cell or "").strip() for cell in frame[name].cast(pl.String).to_list()[:MOST_ROWS])
        for name in frame.columns
    }
    return Table(path, cells, separator)
