"""Who the subjects are: the person behind each, so that nobody is in two splits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from assets.raw import RawTree, discover
from assets.spec import DatasetSpec
from assets.spec_people import PeopleTable
from assets.text_tables import TableUnreadableError, read_text_table


class PeopleUnknownError(Exception):
    """Who a subject is cannot be told, so that it must not be split; the message says why."""


def people(
    spec: DatasetSpec, raw_root: Path, subjects: Sequence[str], discovered: Callable[[], RawTree] | None = None
) -> dict[str, str]:
    """Subject -> the person, named as everywhere in the spec's pool.

    Args:
        spec: The dataset.
        raw_root: Its raw folder.
        subjects: Who is asked for.
        discovered: Gives what the raw folder holds, where that is known already; asked if a field of the layout names people.

    Raises:
        PeopleUnknownError: A table that names the people is missing, lacks subjects or contradicts another, a name has no id, or
            a field is missing or names several.
    """
    if spec.people.all_tables:
        return _from_tables(spec, raw_root, subjects)
    if spec.people.field:
        return _from_field(spec, discovered() if discovered is not None else discover(spec, raw_root), subjects)
    if spec.people.id is None:
        return {subject: subject for subject in subjects}
    found = {subject: re.search(spec.people.id, subject) for subject in subjects}
    nameless = [subject for subject, match in found.items() if match is None]
    if nameless:
        raise PeopleUnknownError(f"subjects of {spec.slug} have no id that fits {spec.people.id}: {few(nameless)}")
    ids = {subject: match.group() for subject, match in found.items() if match is not None}
    return ids if spec.people.consecutive == 1 else _in_groups(spec, ids)


def _from_field(spec: DatasetSpec, tree: RawTree, subjects: Sequence[str]) -> dict[str, str]:
    name = spec.people.field
    told = {subject: sorted({scan.fields.get(name, "").strip() for scan in tree.subjects[subject].scans}) for subject in subjects}
    if nameless := [subject for subject, whose in told.items() if "" in whose or not whose]:
        raise PeopleUnknownError(f"the field {name} of {spec.slug} says nothing of {few(nameless)}")
    if several := [subject for subject, whose in told.items() if len(whose) > 1]:
        said = few(told[several[0]])
        raise PeopleUnknownError(f"the field {name} of {spec.slug} gives {several[0]} to several people: {said}")
    return {subject: whose[0] for subject, whose in told.items()}


def _in_groups(spec: DatasetSpec, ids: Mapping[str, str]) -> dict[str, str]:
    wordy = [subject for subject, number in ids.items() if not number.isdecimal()]
    if wordy:
        raise PeopleUnknownError(f"ids of {spec.slug} that follow one another must be numbers, unlike those of {few(wordy)}")
    together = spec.people.consecutive
    return {subject: str((int(number) + together - 1) // together) for subject, number in ids.items()}


def _from_tables(spec: DatasetSpec, raw_root: Path, subjects: Sequence[str]) -> dict[str, str]:
    tables = [(table, _rows(table, raw_root)) for table in spec.people.all_tables]
    found: dict[str, str] = {}
    for subject in subjects:
        told = {who for table, rows in tables for who in rows.get(in_common(table.match, subject), ())}
        if len(told) > 1:
            raise PeopleUnknownError(f"{_names(spec)} of {spec.slug} gives {subject} to several people: {few(sorted(told))}")
        if told:
            found[subject] = told.pop()
    if nameless := [subject for subject in subjects if subject not in found]:
        raise PeopleUnknownError(f"{_names(spec)} of {spec.slug} does not name the person of {few(nameless)}")
    return found


def _rows(table: PeopleTable, raw_root: Path) -> dict[str, set[str]]:
    """What names a subject in a table -> the people it is given to."""
    rows: dict[str, set[str]] = {}
    for subject, who in read_columns(raw_root / table.file, table.separator, (table.subject, table.person)):
        if subject is not None and who is not None:
            rows.setdefault(in_common(table.match, subject), set()).add(who)
    return rows


def in_common(match: str | None, text: str) -> str:
    """What a subject's name and a table's cell have in common, by an expression; a text without it is like no other."""
    found = re.search(match, text) if match is not None else None
    return found.group() if found is not None else text


def _names(spec: DatasetSpec) -> str:
    return " or ".join(table.file for table in spec.people.all_tables)


def read_columns(path: Path, separator: str, columns: Sequence[str]) -> list[tuple[str | None, ...]]:
    """Rows of a table, all as text; blanks around cells are removed, and empty cells are None.

    Raises:
        PeopleUnknownError: The file is not there, cannot be read, or has no such columns.
    """
    try:
        return read_text_table(path, list(columns), separator).select(columns).rows()
    except TableUnreadableError as error:
        raise PeopleUnknownError(f"{path} cannot be read as a table with the columns {list(columns)}: {error}") from error


def few(names: Sequence[str]) -> str:
    """The first five of some names, and how many more there are."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
