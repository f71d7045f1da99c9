"""Objects that a file beside every image marks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assets.inspect import objects
from assets.inspect.evidence import Evidence
from assets.inspect.layout import Plan
from assets.inspect.marks import marked_in
from assets.inspect.roles import Part
from assets.inspect.tables import Table
from assets.inspect.unmasked import beside


def marks_beside(root: Path, parts: Sequence[Part], planned: Plan, tables: Sequence[Table]) -> objects.ObjectRule | None:
    """Tables of coordinates, or else files of marked objects, that lie beside every image.

    Args:
        root: The folder.
        parts: Its groups of files.
        planned: Its layout.
        tables: Its tables.
    """
    return _tables(parts, planned, tables) or _files(root, parts, planned)


def _tables(parts: Sequence[Part], planned: Plan, tables: Sequence[Table]) -> objects.ObjectRule | None:
    for part in parts:
        table = next((t for t in tables if part.role == "table" and t.path in part.group.paths), None)
        told = table.places if table is not None else None
        text = beside(planned, part) if told is not None else ""
        if table is None or told is None or not text:
            continue
        seen = f"a table beside every image, with columns {', '.join(told.columns)}: {part.group.shape}"
        files = (text, *objects.agreed(planned.reference.group.paths, text, parts))
        evidence = Evidence("objects", told.how, 0.8, seen)
        return objects.ObjectRule(table, "", told.how, told.columns, told.diameter, evidence, files)
    return None


def _files(root: Path, parts: Sequence[Part], planned: Plan) -> objects.ObjectRule | None:
    for part in parts:
        marked = marked_in(root, part.group.paths) if part.role == "text" else None
        if marked is not None and (text := beside(planned, part)):
            seen = f"a file beside every image marks objects: {part.group.shape}"
            evidence = Evidence("objects", marked.format, 0.8, seen)
            return objects.ObjectRule(None, "", marked.format, (), "", evidence, (text,), marked.names)
    return None
