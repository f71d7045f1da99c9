"""Tables whose rows mark objects in images: corners, a corner and a size, or a centre in millimetres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assets.inspect.evidence import Evidence
from assets.inspect.tables import Table

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
        table: The table.
        key: Column that names the image.
        how: `corners`, `origin_size` or `centre_lps_mm`.
        columns: Columns with the coordinates.
        diameter: Column with the diameter, for spheres.
        evidence: Why.
        files: Pattern of one table per image; empty where one table speaks of all.
    """

    table: Table
    key: str
    how: str
    columns: tuple[str, ...]
    diameter: str
    evidence: Evidence
    files: str = ""


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
