"""Tables whose rows mark objects in images: corners, a corner and a size, or a centre in millimetres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assets.inspect.evidence import Evidence
from assets.inspect.lexicon import AGREED
from assets.inspect.roles import Part
from assets.inspect.tables import Table
from assets.inspect.tokens import words
from assets.templates import stem

_CORNERS = (
    ("xmin", "ymin", "xmax", "ymax"),
    ("x1", "y1", "x2", "y2"),
    ("x0", "y0", "x1", "y1"),
    ("left", "top", "right", "bottom"),
)
_SIZES = (("x", "y", "width", "height"), ("x", "y", "w", "h"), ("x0", "y0", "w", "h"), ("xmin", "ymin", "width", "height"))
_CENTRES = (("coordx", "coordy", "coordz"),)


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


def from_tables(columns: Sequence[Sequence[str]], tables: Sequence[Table]) -> ObjectRule | None:
    """The first table that names the images and has columns of coordinates.

    Args:
        columns: What may name an image: parts of the names of all images that vary.
        tables: The tables.
    """
    for table in tables:
        told = coordinates(table)
        if told is None:
            continue
        for values in columns:
            if key := table.column_equal_to(values):
                how, places, diameter = told
                seen = f"{table.path}: column {key!r} names the images, columns {', '.join(places)} are coordinates"
                return ObjectRule(table, key, how, places, diameter, Evidence("objects", how, 0.8, seen))
    return None


def coordinates(table: Table) -> tuple[str, tuple[str, ...], str] | None:
    """How a table gives places, its columns with them, and that with a diameter; None when it gives none."""
    plain = {name.lower().replace("_", "").replace(" ", ""): name for name in table.columns}
    for how, sets in (("corners", _CORNERS), ("origin_size", _SIZES), ("centre_lps_mm", _CENTRES)):
        for names in sets:
            if all(name in plain for name in names):
                diameter = next((own for name, own in plain.items() if "diameter" in name), "")
                if how == "centre_lps_mm" and not diameter:
                    continue
                return how, tuple(plain[name] for name in names), diameter
    return None


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
