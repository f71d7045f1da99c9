"""Tables with a column that is called like a person: who each image is of, where names do not say it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.grouping import as_regex, escaped
from assets.inspect.person_columns import PART_OF_ONE, is_loose, is_person_column, person_word, rank
from assets.inspect.tables import Table
from assets.inspect.tokens import ending_of
from assets.people import PeopleUnknownError, in_common, read_columns

_SURE = 0.9
"""From this confidence on, who a subject is needs no table."""
_MOST_ENDINGS, _LARGE = 4, 20


@dataclass(frozen=True, slots=True)
class PeopleRule:
    """Who the subjects are.

    Attributes:
        fields: The part `people` of a draft.
        evidence: Why; of the field `people`.
        unknown: What is left untold.
    """

    fields: Mapping[str, Any]
    evidence: Evidence
    unknown: tuple[Unknown, ...] = ()


@dataclass(frozen=True, slots=True)
class _Way:
    """How a table names people.

    Attributes:
        fields: As the dataset language has it.
        told: Subject -> the people it is given to.
    """

    fields: Mapping[str, str]
    told: Mapping[str, frozenset[str]]

    @property
    def clear(self) -> frozenset[str]:
        """Subjects of one person."""
        return frozenset(subject for subject, people in self.told.items() if len(people) == 1)

    @property
    def rank(self) -> tuple[int, int]:
        """How many subjects are of one person, and how many are named at all."""
        return len(self.clear), sum(map(bool, self.told.values()))


def is_sure(evidence: Sequence[Evidence]) -> bool:
    """Whether the layout tells the person beyond doubt."""
    return any(e.field == "layout.subject" and e.confidence >= _SURE for e in evidence)


def from_tables(
    root: Path, subjects: Sequence[str], tables: Sequence[Table], evidence: Sequence[Evidence]
) -> PeopleRule | Unknown | None:
    """The tables that name the person of every subject; why none does, where one has a column of people; None without such.

    Args:
        root: The folder.
        subjects: What `{subject}` reads in the draft.
        tables: Tables in the folder.
        evidence: What is known of the draft, so that nothing is asked where a name tells the person.
    """
    named = [] if is_sure(evidence) else [(t, columns) for t in tables if (columns := _person_columns(t)) and not t.headless]
    distinct = sorted(set(subjects))
    if not named or len(distinct) < 2:
        return None
    ways = [way for table, columns in named if (way := _best(root, distinct, table, columns)) is not None]
    ways.sort(key=lambda way: -len(way.clear))
    chosen = _together(ways, distinct)
    if chosen is None:
        own = next((one for table, columns in named if (one := _called_by_people(table, columns, distinct)) is not None), None)
        return own or Unknown("people", _why_not(named, ways, distinct))
    return _rule(chosen, distinct, evidence)


def _person_columns(table: Table) -> list[str]:
    return sorted((name for name in table.columns if is_person_column(name)), key=rank)


def _called_by_people(table: Table, columns: Sequence[str], subjects: Sequence[str]) -> PeopleRule | None:
    """Subjects that are people, as they are called what a column of people says."""
    column = next((name for name in columns if set(subjects) <= set(table.columns[name])), None)
    if column is None:
        return None
    seen = f"{table.path}: column {column!r}, which is called like a person, says what images are called"
    return PeopleRule({"unit": "person"}, Evidence("people", "names", 0.7, seen))


def _rule(chosen: Sequence[_Way], subjects: Sequence[str], evidence: Sequence[Evidence]) -> PeopleRule | None:
    people = {subject: next(iter(way.told[subject])) for way in reversed(chosen) for subject in way.clear}
    known = any(e.field == "layout.subject" for e in evidence)
    if known and len(set(people.values())) == len(subjects):
        return None
    first, count = chosen[0].fields, len(set(people.values()))
    where = "; ".join(f"{way.fields['file']}: column {way.fields['subject']!r} names the images" for way in chosen)
    seen = f"{where}, column {first['person']!r} the person: {count} people for {len(subjects)} subjects"
    tables = [dict(way.fields) for way in chosen]
    fields = {"table": tables[0]} if len(tables) == 1 else {"tables": tables}
    if (word := person_word(first["person"])) in PART_OF_ONE:
        doubt = Unknown("people", f"{first['person']!r} counts {word}s, of which one person may have several")
        return PeopleRule(fields, Evidence("people", "table", 0.6, seen), (doubt,))
    return PeopleRule(fields, Evidence("people", "table", 0.85, seen))


def _together(ways: Sequence[_Way], subjects: Sequence[str]) -> list[_Way] | None:
    """The fewest tables that name one person for every subject; None where they do not."""
    chosen: list[_Way] = []
    told: dict[str, frozenset[str]] = {}
    for way in ways:
        new = {s: people for s, people in way.told.items() if people and s not in told}
        if new and all(told.get(s, people) == people for s, people in way.told.items() if people):
            told |= new
            chosen.append(way)
    whole = len(told) == len(subjects) and all(len(people) == 1 for people in told.values())
    return chosen if whole and _plausible(told, chosen) else None


def _plausible(told: Mapping[str, frozenset[str]], chosen: Sequence[_Way]) -> bool:
    """Whether these are people, not one for all nor a few kinds in a column called `case`."""
    people = {name for names in told.values() for name in names}
    counted = all(any(letter.isdigit() for letter in name) for name in people)
    called = not any(is_loose(way.fields["person"]) for way in chosen)
    return len(people) > 1 and (counted or called or len(told) <= _LARGE * len(people))


def _best(root: Path, subjects: Sequence[str], table: Table, columns: Sequence[str]) -> _Way | None:
    """The way that names most subjects; the first of equal ones. None where no column names two of them."""
    if table.each:
        return None
    found: _Way | None = None
    for person in columns:
        for key, match in _keys(table, columns, subjects):
            pairs = list(zip(table.columns[key], table.columns[person], strict=True))
            way = _Way(_fields(table, key, match, person), _told(pairs, subjects, match))
            if way.rank > (found.rank if found is not None else (0, 1)):
                found = way
    return _whole(root, found, subjects) if found is not None else None


def _fields(table: Table, key: str, match: str, person: str) -> dict[str, str]:
    shared = {"match": match} if match else {}
    apart = {} if table.separator == "," else {"separator": table.separator}
    return {"file": table.path, "subject": key, **shared, "person": person, **apart}


def _whole(root: Path, way: _Way, subjects: Sequence[str]) -> _Way | None:
    """The same with all rows of the table, as the pipeline reads them; None where it cannot."""
    own = way.fields
    try:
        rows = read_columns(root / own["file"], own.get("separator", ","), (own["subject"], own["person"]))
    except PeopleUnknownError:
        return None
    return _Way(own, _told([(cell or "", who or "") for cell, who in rows], subjects, own.get("match", "")))


def _keys(table: Table, columns: Sequence[str], subjects: Sequence[str]) -> list[tuple[str, str]]:
    """Columns that may name the images, with expressions for what they share with subjects: plain ones of all columns first."""
    ways = [(kind, key, match) for key in table.columns if key not in columns for kind, match in _matches(table, key, subjects)]
    return [(key, match) for _, key, match in sorted(ways, key=lambda way: way[0])]


def _matches(table: Table, key: str, subjects: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Expressions that may find in subjects and cells what they have in common, surest first; empty for the whole text."""
    yield 0, ""
    cells = [cell for cell in table.columns[key] if cell]
    endings = sorted({ending for cell in cells if (ending := ending_of(cell))})
    if endings and len(endings) <= _MOST_ENDINGS:
        yield 1, rf"[^/]+?(?=(?:{'|'.join(map(escaped, endings))})?$)"
    elif any("/" in text for text in (*cells, *subjects)):
        yield 1, "[^/]+$"
    for _, naming in replace(table, columns={key: table.columns[key]}).namings([subjects]):
        before, behind = escaped(naming.before), escaped(naming.behind)
        if before or behind:
            front = rf"(?:(?<=^{before})|^(?!{before}))" if before else "^"
            yield 2, rf"{front}.+?(?=(?:{behind})?$)" if behind else f"{front}.+$"
    yield 3, f"^(?:{as_regex(subjects)})"
    if all(re.fullmatch(r"\D*\d+", subject) for subject in subjects):
        yield 4, r"[1-9]\d*(?=\D*$)"


def _told(pairs: Sequence[tuple[str, str]], subjects: Sequence[str], match: str) -> dict[str, frozenset[str]]:
    """Subject -> its people, as the people of a spec are told; nobody where two subjects have the same in common with cells."""
    common = partial(in_common, match or None)
    people: dict[str, set[str]] = {}
    for cell, who in ((cell, who) for cell, who in pairs if cell and who):
        people.setdefault(common(cell), set()).add(who)
    keys = [common(subject) for subject in subjects]
    if len(set(keys)) < len(keys):
        return {}
    return {subject: frozenset(people.get(key, ())) for subject, key in zip(subjects, keys, strict=True)}


def _why_not(named: Sequence[tuple[Table, Sequence[str]]], ways: Sequence[_Way], subjects: Sequence[str]) -> str:
    """Which column there is, and what keeps it from being used."""
    if not ways:
        table, columns = named[0]
        what = (
            "is a list, of which no draft reads people"
            if table.each
            else f"has no column besides that names the {len(subjects)} subjects"
        )
        return f"{table.path} has a column {columns[0]!r}, but {what}"
    best = ways[0].fields
    several = next((s for way in ways for s in subjects if len(way.told.get(s, ())) > 1), "")
    told = len({subject for way in ways for subject in way.clear})
    start = f"{best['file']} has a column {best['person']!r}, "
    if several:
        return start + f"but gives {several} to several people"
    if told < len(subjects):
        return start + f"but it names the person of {told} of {len(subjects)} subjects, not of {_first(ways, subjects)}"
    return start + "but what it says is too little to be people, or tables contradict one another"


def _first(ways: Sequence[_Way], subjects: Sequence[str]) -> str:
    return next(s for s in subjects if not any(s in way.clear for way in ways))
