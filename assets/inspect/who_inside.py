"""Arrays and texts in containers that are called like a person: no spec reads people from them, so that a person must."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from assets.inspect.evidence import Unknown
from assets.inspect.layout import Plan
from assets.inspect.person_columns import is_person_column
from assets.inspect.who_tables import is_sure
from resources.findings import BadInputError
from resources.readers.registry import list_names

_CALLED = 3
"""Names that are told."""


def with_person_inside(root: Path, planned: Plan) -> Plan:
    """The layout, which does not say who its subjects are where files hold something called like a person that was not read."""
    held = None if is_sure(planned.evidence) else _person_inside(root, planned)
    if held is None:
        return planned
    evidence = tuple(one for one in planned.evidence if one.field != "layout.subject")
    return replace(planned, evidence=evidence, unknown=(*(one for one in planned.unknown if one.field != "people"), held))


def _person_inside(root: Path, planned: Plan) -> Unknown | None:
    for part in (part for source in planned.series for part, _ in source.parts):
        if not any(peek.arrays or peek.format == "several arrays" for peek in part.peeks):
            continue
        path = part.group.paths[0]
        if named := [name for name in _names(root, path) if _is_person(name)]:
            held = ", ".join(map(repr, named[:_CALLED]))
            why = f"{path} holds {held}, which is called like a person, and no spec can read it"
            return Unknown("people", f"{why}; without a table that says the same (`people.table`) people may be divided")
    return None


def _names(root: Path, path: str) -> tuple[str, ...]:
    try:
        return list_names(root / path, name=path)
    except (BadInputError, ValueError):
        return ()


def _is_person(name: str) -> bool:
    return is_person_column(name.rpartition("/")[2])
