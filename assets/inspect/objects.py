"""Tables whose rows mark objects in images: corners, a corner and a size, or a centre in millimetres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assets.inspect.evidence import Evidence
from assets.inspect.lexicon import AGREED
from assets.inspect.roles import Part
from assets.inspect.tables import Naming, Table
from assets.inspect.tokens import words
from assets.templates import stem

_NAMES = ("class_name", "label_name", "category_name", "class", "label", "category", "finding", "finding_name", "lesion_type")
"""What a column with the names of objects is called, the likeliest first."""


@dataclass(frozen=True, slots=True)
class ObjectRule:
    """How objects are marked.

    Attributes:
        table: The table; None where other files mark the objects.
        key: Column that names the image.
        how: `corners`, `origin_size` or `centre_lps_mm`, or the format of other files.
        columns: Columns with the coordinates.
        diameter: Column with the diameter, for spheres.
        evidence: Why.
        files: Patterns of one file per image; none where one table speaks of all.
        names: What the objects are called, where other files than tables say it.
        tags: Field of a pattern -> DICOM keyword that says it.
        naming: How the table names the image.
        keyed: Number of what that is equal to, among the parts of the images' names.
    """

    table: Table | None
    key: str
    how: str
    columns: tuple[str, ...]
    diameter: str
    evidence: Evidence
    files: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    tags: tuple[tuple[str, str], ...] = ()
    naming: Naming | None = None
    keyed: int = 0


def from_tables(columns: Sequence[Sequence[str]], tables: Sequence[Table]) -> ObjectRule | None:
    """The first table that names the images and has columns of coordinates.

    Args:
        columns: What may name an image: parts of the names of all images that vary.
        tables: The tables.
    """
    for table in tables:
        told = table.places
        number, naming = next(iter(table.namings(columns)), (0, None)) if told is not None else (0, None)
        if told is None or naming is None:
            continue
        key = naming.column
        seen = f"{table.path}: column {key!r} names the images, columns {', '.join(told.columns)} are coordinates"
        evidence = Evidence("objects", told.how, 0.8, seen)
        return ObjectRule(table, key, told.how, told.columns, told.diameter, evidence, naming=naming, keyed=number)
    return None


def label_column(table: Table) -> str:
    """The column with the names of the objects; empty where none is called so."""
    return next((name for said in _NAMES for name in table.columns if name.lower().replace(" ", "_") == said), "")


def names_in(table: Table, label: str) -> tuple[str, ...]:
    """What the objects of a table are called, in the rows that have coordinates; none where there is no such column."""
    if not label or table.places is None:
        return ()
    rows = zip(table.columns[label], *(table.columns[name] for name in table.places.columns), strict=True)
    return tuple(sorted({name for name, *numbers in rows if name and any(numbers)}))


def agreed(images: Sequence[str], pattern: str, parts: Sequence[Part]) -> list[str]:
    """The pattern of files that say what several readers agreed on, for images that have no file of the usual name.

    Args:
        images: The images.
        pattern: Of the usual files, which are called like the images.
        parts: Groups of files.
    """
    ending = pattern[len(stem(pattern)) :]
    tables = {path for part in parts if part.role == "table" for path in part.group.paths}
    behind: set[str] = set()
    for image in images:
        whole = image[: len(image) - len(image.rpartition("/")[2]) + len(stem(image.rpartition("/")[2]))]
        if whole + ending not in tables:
            own = [path[len(whole) : -len(ending)] for path in tables if path.startswith(whole) and path.endswith(ending)]
            behind |= {text for text in own if set(words(text)) & AGREED and not text[0].isalnum()}
    return [pattern[: -len(ending)] + text + ending for text in sorted(behind)]
