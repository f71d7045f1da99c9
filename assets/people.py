"""Who the subjects are: the person behind each, so that nobody is in two splits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from assets.spec import DatasetSpec


class PeopleUnknownError(Exception):
    """Who a subject is cannot be told, so that it must not be split; the message says why."""


def people(spec: DatasetSpec, raw_root: Path, subjects: Sequence[str]) -> dict[str, str]:
    """Subject -> the person, named as everywhere in the spec's pool.

    Raises:
        PeopleUnknownError: A table that names the people is missing or lacks subjects, or a name has no id.
    """
    if spec.people.table is not None:
        return _from_table(spec, raw_root, subjects)
    if spec.people.id is None:
        return {subject: subject for subject in subjects}
    found = {subject: re.search(spec.people.id, subject) for subject in subjects}
    nameless = [subject for subject, match in found.items() if match is None]
    if nameless:
        raise PeopleUnknownError(f"subjects of {spec.slug} have no id that fits {spec.people.id}: {_few(nameless)}")
    ids = {subject: match.group() for subject, match in found.items() if match is not None}
    return ids if spec.people.consecutive == 1 else _in_groups(spec, ids)


def _in_groups(spec: DatasetSpec, ids: Mapping[str, str]) -> dict[str, str]:
    wordy = [subject for subject, number in ids.items() if not number.isdecimal()]
    if wordy:
        raise PeopleUnknownError(f"ids of {spec.slug} that follow one another must be numbers, unlike those of {_few(wordy)}")
    together = spec.people.consecutive
    return {subject: str((int(number) + together - 1) // together) for subject, number in ids.items()}


def _from_table(spec: DatasetSpec, raw_root: Path, subjects: Sequence[str]) -> dict[str, str]:
    source = spec.people.table
    assert source is not None  # noqa: S101
    rows = read_columns(raw_root / source.file, source.separator, (source.subject, source.person))
    person = {str(subject): str(who) for subject, who in rows if subject is not None and who is not None}
    nameless = [subject for subject in subjects if subject not in person]
    if nameless:
        raise PeopleUnknownError(f"{source.file} of {spec.slug} does not name the person of {_few(nameless)}")
    return {subject: person[subject] for subject in subjects}


def read_columns(path: Path, separator: str, columns: Sequence[str]) -> list[tuple[str | None, ...]]:
    """Rows of a text table, all as text.

    Raises:
        PeopleUnknownError: The file is not there, cannot be read, or has no such columns.
    """
    try:
        table = pl.read_csv(path, separator=separator, infer_schema=False, encoding="utf8-lossy")
        return table.select(columns).rows()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise PeopleUnknownError(f"{path} cannot be read as a table with the columns {list(columns)}: {error}") from error


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
