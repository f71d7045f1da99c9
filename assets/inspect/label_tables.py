"""Files that name label ids: JSON, tables with a column of ids and one of names, and lists as viewers write them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from assets.inspect.labels import read_descriptions
from assets.inspect.lexicon import MASK, words_of
from assets.inspect.roles import Part
from assets.inspect.tables import MOST_TABLES, Table, read_tables
from assets.inspect.tokens import words
from assets.templates import stem

_CALLED = MASK | words_of("""
    class classes category categories structure structures segment segments lut colors colours colortable colormap legend lookup
    names atlas region regions tissue tissues organ organs lookuptable
    """)
"""What a file may be called that says what numbers of label maps mean."""

_ID_COLUMNS = ("index", "id", "ids", "value", "label", "class", "number", "intensity", "idx", "code")
_NAME_COLUMNS = (
    "name",
    "names",
    "structure",
    "class",
    "label",
    "region",
    "tissue",
    "organ",
    "category",
    "segment",
    "description",
)
_ENDINGS = frozenset((".txt", ".lut", ".ctbl", ".label", ".labels", ".lbl"))
_FEWEST, _GREATEST, _MOST_LETTERS, _MOST_BYTES = 2, 65535, 80, 1 << 20

_OF_VIEWERS = (
    re.compile(r'(?P<id>\d+)(?:\s+\d+){3}\s+[\d.]+\s+[01]\s+[01]\s+"(?P<name>[^"]*)"'),
    re.compile(r"(?P<id>\d+)\s+(?P<name>\S+)(?:\s+\d+){3,4}"),
)
"""A line of ITK-SNAP's label descriptions, and of a table of colours as FreeSurfer and Slicer write it."""

_PLAIN = (re.compile(r"(?P<id>\d+)\s*[:=,;\t]\s*(?P<name>[^,;\t]+)"), re.compile(r"(?P<id>\d+)\s+(?P<name>[^,;\t]+)"))
_FILE = re.compile(r".*[/\\].*|.*\.[A-Za-z]\w{1,4}")
"""A name that is one of a file, or a path."""


@dataclass(frozen=True, slots=True)
class NamedIds:
    """What a file calls the numbers of label maps.

    Attributes:
        path: The file.
        names: Number -> name, 0 too where it has one.
        sure: Whether its form says that these are label ids, as `labels` in JSON does.
        called: Whether it is called like something that names label ids.
    """

    path: str
    names: Mapping[int, str]
    sure: bool = False
    called: bool = True

    @property
    def above(self) -> dict[int, str]:
        """The names of numbers above 0."""
        return {number: name for number, name in sorted(self.names.items()) if number > 0}


def named_ids(root: Path, parts: Sequence[Part]) -> Iterator[NamedIds]:
    """Every file that names numbers, those first whose form says that these are label ids, then those that are called so.

    Args:
        root: The folder.
        parts: Its groups of files; of a group with many, the first, the middle and the last are read.
    """
    texts = [path for part in parts if part.role == "text" for path in _spread(part.group.paths)]
    jsons = [path for part in parts if part.role == "text" for path in part.group.paths if path.endswith(".json")]
    tables = [path for part in parts if part.role == "table" for path in _spread(part.group.paths)]
    lists = [path for part in parts if part.group.family == "other" for path in _spread(part.group.paths)]
    yield from _in_json(root, jsons)
    for table in read_tables(root, _called_first(tables)):
        yield from (NamedIds(table.path, names, called=_is_called(table.path)) for names in _in_table(table))
    asked = [path for path in (*texts, *lists, *tables) if Path(path).suffix.lower() in _ENDINGS | {".csv", ".tsv"}]
    for path in _called_first(asked)[:MOST_TABLES]:
        names, sure = _in_lines(root / path)
        if names:
            yield NamedIds(path, names, sure=sure, called=_is_called(path))


def _spread(paths: Sequence[str]) -> list[str]:
    return list(dict.fromkeys((paths[0], paths[len(paths) // 2], paths[-1])))


def _called_first(paths: Iterable[str]) -> list[str]:
    return sorted(paths, key=lambda path: not _is_called(path))


def _is_called(path: str) -> bool:
    name = path.rpartition("/")[2]
    said = {word for run in re.findall("[A-Za-z]+", stem(name)) for word in words(run)}
    return bool(said & _CALLED) or Path(name).suffix.lower() in _ENDINGS - {".txt"}


def _in_json(root: Path, paths: Iterable[str]) -> Iterator[NamedIds]:
    """`labels` of a description, and files called like labels that are nothing but numbers and names."""
    plain = []
    for path, content in read_descriptions(root, paths):
        if not isinstance(content, dict):
            continue
        if names := _numbered(content.get("labels")):
            yield NamedIds(path, names, sure=True)
        elif _is_called(path) and len(names := _numbered(content)) == len(content) and _are_names(list(names.values())):
            plain.append(NamedIds(path, names))
    yield from plain


def _numbered(content: Any) -> dict[int, str]:
    """Number -> name, of `{number: name}` or `{name: number}`; entries of another form are left."""
    pairs: dict[int, str] = {}
    for one, two in content.items() if isinstance(content, dict) else ():
        number, name = (one, two) if str(one).strip().lstrip("-").isdigit() else (two, one)
        if str(number).isdecimal() and isinstance(name, str):
            pairs[int(str(number))] = name.strip()
    return pairs


def _in_table(table: Table) -> Iterator[dict[int, str]]:
    """Number -> name, for each pair of columns that are called like these and hold them; those called most plainly first."""
    if table.headless or table.each:
        return
    numbered, named = _ranked(table, _ID_COLUMNS), _ranked(table, _NAME_COLUMNS)
    for (_, numbers), (_, names) in sorted(product(numbered, named)):
        if numbers == names:
            continue
        rows = [row for row in zip(table.columns[numbers], table.columns[names], strict=True) if any(row)]
        if found := _pairs(rows):
            yield found


def _ranked(table: Table, among: Sequence[str]) -> list[tuple[int, str]]:
    return [(rank, name) for name in table.columns if (rank := _rank(name, among)) is not None]


def _rank(column: str, among: Sequence[str]) -> int | None:
    said = [word for run in re.findall("[A-Za-z]+", column) for word in words(run)]
    return next((n for n, word in enumerate(among) if word in said), None)


def _pairs(rows: Sequence[tuple[str, str]]) -> dict[int, str]:
    """Number -> name; nothing where a number is none or comes twice, or names are none."""
    numbers = [number.removesuffix(".0") for number, _ in rows]
    whole = all(number.isdecimal() and number.isascii() and int(number) <= _GREATEST for number in numbers)
    if not rows or not whole or len({int(n) for n in numbers}) < len(rows) or not _are_names([name for _, name in rows]):
        return {}
    return {int(number): name for number, (_, name) in zip(numbers, rows, strict=True)}


def _are_names(names: Sequence[str]) -> bool:
    """Whether these are words, each another one, and no files."""
    distinct = len({name.lower() for name in names}) == len(names)
    spoken = all(len(name) <= _MOST_LETTERS and any(letter.isalpha() for letter in name) for name in names)
    return distinct and spoken and not any(_FILE.fullmatch(name) for name in names)


def _in_lines(path: Path) -> tuple[dict[int, str], bool]:
    """Number -> name, of a text whose lines all are of one form, comments apart; and whether it is that of a viewer."""
    try:
        text = path.read_text(encoding="utf-8-sig") if path.stat().st_size <= _MOST_BYTES else ""
    except (OSError, ValueError):
        return {}, False
    lines = [line.strip() for line in text.splitlines() if line.strip() and line.strip()[0] not in "#%"]
    for form in (*_OF_VIEWERS, *_PLAIN):
        found = [form.fullmatch(line) for line in lines]
        if len(lines) >= _FEWEST and all(found):
            return _pairs([(one["id"], one["name"].strip()) for one in found if one]), form in _OF_VIEWERS
    return {}, False
