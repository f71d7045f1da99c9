"""The classes that one file tells for all images: a table, a list in JSON, or an object in JSON whose keys name the images."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from assets.raw.json_values import parsed, text_of, value_at
from assets.raw.lines import bounded_text
from assets.raw.listing import pick
from assets.spec_mds import ClassTable
from assets.text_tables import TableUnreadableError, read_text_table

MOST_BYTES = 1 << 28
"""Of a JSON file with the classes of all images."""

_SET = ("1", "1.0", "true", "yes")
"""What a column of flags says in small letters of the class that an image has."""


@dataclass(frozen=True)
class TableSays:
    """What a file says of all images.

    Attributes:
        classes: What names an image -> its class.
        faults: What names an image -> why what stands there is no class.
    """

    classes: Mapping[str, str] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)


def told_in_table(source: ClassTable | None, root: Path) -> TableSays:
    """The class of each image; of two rows for one image the first counts when they agree, and neither when they do not.

    Args:
        source: The file; None says nothing.
        root: The raw folder.

    Raises:
        TableUnreadableError: The file is missing or damaged, or has nothing where the spec says.
    """
    if source is None:
        return TableSays()
    path = root / source.file
    if source.names_by_keys:
        return _keyed(source, path)
    return TableSays(_agreeing(_listed(source, path) if source.each else _tabled(source, path)))


def _agreeing(rows: Iterable[tuple[str, str]]) -> dict[str, str]:
    told: dict[str, str] = {}
    contradicted = set()
    for key, value in rows:
        if told.setdefault(key, value) != value:
            contradicted.add(key)
    return {key: value for key, value in told.items() if key not in contradicted}


def _tabled(source: ClassTable, path: Path) -> Iterator[tuple[str, str]]:
    if source.flags:
        yield from _flagged(source, path)
        return
    table = read_text_table(path, [source.key, source.value], source.separator, source.columns).drop_nulls()
    yield from table.select(source.key, source.value).iter_rows()


def _flagged(source: ClassTable, path: Path) -> Iterator[tuple[str, str]]:
    """Key and class of every row in which one column is set."""
    table = read_text_table(path, [source.key, *source.flags], source.separator, source.columns)
    for key, *cells in table.drop_nulls(source.key).select(source.key, *source.flags).iter_rows():
        told = [name for name, cell in zip(source.flags, cells, strict=True) if (cell or "").lower() in _SET]
        if len(told) == 1:
            yield key, told[0]


def _listed(source: ClassTable, path: Path) -> Iterator[tuple[str, str]]:
    """Key and class of every entry of a list in a JSON file."""
    try:
        rows = list(pick(json.loads(bounded_text(path, MOST_BYTES)), source.each))
        yield from ((str(row[source.key]), str(row[source.value])) for row in rows if row[source.value] is not None)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise TableUnreadableError(f"{path.name} has no classes at {source.each}: {error!r}") from error


def _keyed(source: ClassTable, path: Path) -> TableSays:
    """What stands under each key of an object in a JSON file."""
    try:
        found = list(pick(parsed(bounded_text(path, MOST_BYTES)), source.each[:-2]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TableUnreadableError(f"{path.name} has no classes at {source.each}: {error!r}") from error
    if not all(isinstance(one, dict) for one in found):
        raise TableUnreadableError(f"{path.name} has no classes at {source.each}: there is no object")
    rows: list[tuple[str, str]] = []
    faults: dict[str, str] = {}
    for name, entry in (item for one in found for item in one.items()):
        try:
            text = value_at(entry, source.value) if source.value and entry is not None else text_of(entry)
        except ValueError as error:
            faults[name] = str(error)
        else:
            rows += [(name, text)] if text else []
    return TableSays(_agreeing(rows), faults)
