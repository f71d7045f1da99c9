"""Marked objects in formats that the dataset language does not read: COCO, LabelMe, MD.ai, run lengths in tables.

They still tell the task.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assets.inspect.lexicon import words_of
from assets.inspect.tables import Table
from assets.inspect.tokens import words

_OPENED, _MOST_BYTES, _MOST_ITEMS = 12, 1 << 25, 2000
_RUNS = re.compile(r"\d+ \d+(?: \d+ \d+)*")
_NO_RUNS = frozenset(("", "-1", "1 0"))
_DEEPEST = 3
_PLACES = words_of("""
    bbox bboxes box boxes polygon polygons points contour contours outline outlines roi rois rle segmentation shape shapes region
    regions vertices landmarks keypoints rectangle rectangles
    """)


@dataclass(frozen=True, slots=True)
class Annotated:
    """What a file marks.

    Attributes:
        path: The file.
        format: What its format is called.
        names: Names of what is marked.
        outlined: Whether outlines are drawn, not only boxes.
    """

    path: str
    format: str
    names: tuple[str, ...]
    outlined: bool


def annotated_in(root: Path, paths: Iterable[str]) -> Annotated | None:
    """The first of a few JSON files that marks objects in one of these formats."""
    for path in [path for path in paths if path.lower().endswith(".json")][:_OPENED]:
        try:
            if (root / path).stat().st_size > _MOST_BYTES:
                continue
            content = json.loads((root / path).read_text(encoding="utf-8-sig", errors="replace"))
        except (OSError, ValueError, RecursionError):
            continue
        for read in (_coco, _labelme, _mdai):
            found = read(path, content) if isinstance(content, dict) else None
            if found is not None:
                return found
    return None


def run_lengths(tables: Sequence[Table]) -> Annotated | None:
    """The first table of masks written as run lengths, pairs of a start and a length, as `EncodedPixels` has them."""
    for table in tables:
        for column, cells in table.columns.items():
            if is_run_lengths(cells):
                return Annotated(table.path, f"run lengths in column {column!r}", (), outlined=True)
    return None


def is_run_lengths(cells: Sequence[str]) -> bool:
    """Whether cells hold pairs of whole numbers, several in one, or say that there is nothing."""
    said = {cell.strip() for cell in cells} - _NO_RUNS
    return bool(said) and all(_RUNS.fullmatch(cell) for cell in said) and any(cell.count(" ") > 2 for cell in said)


def has_places(entry: Any) -> bool:
    """Whether an entry of JSON has keys that are called like places in an image: a list or an object of such, or coordinates."""
    found = dict(_keys(entry, 0))
    called = any(isinstance(value, list | dict) and value and _PLACES & set(words(key)) for key, value in found.items())
    return called or Table("", dict.fromkeys(found, ()), "").places is not None


def _keys(entry: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if isinstance(entry, dict) and depth < _DEEPEST:
        for key, value in entry.items():
            yield key, value
            yield from _keys(value, depth + 1)


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value[:_MOST_ITEMS] if isinstance(item, dict)] if isinstance(value, list) else []


def _named(items: Iterable[dict[str, Any]], key: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(item[key]) for item in items if item.get(key)))


def _coco(path: str, content: dict[str, Any]) -> Annotated | None:
    marks, kinds = _dicts(content.get("annotations")), _dicts(content.get("categories"))
    if not marks or not kinds or not _dicts(content.get("images")) or not all("category_id" in mark for mark in marks):
        return None
    outlined = any(mark.get("segmentation") for mark in marks)
    if not outlined and not any(mark.get("bbox") for mark in marks):
        return None
    return Annotated(path, "COCO", _named(kinds, "name"), outlined)


def _labelme(path: str, content: dict[str, Any]) -> Annotated | None:
    marks = [mark for mark in _dicts(content.get("shapes")) if "label" in mark and isinstance(mark.get("points"), list)]
    if not marks or "imagePath" not in content:
        return None
    return Annotated(path, "LabelMe", _named(marks, "label"), any(mark.get("shape_type") != "rectangle" for mark in marks))


def _mdai(path: str, content: dict[str, Any]) -> Annotated | None:
    kinds = [kind for group in _dicts(content.get("labelGroups")) for kind in _dicts(group.get("labels"))]
    marks = [mark for one in _dicts(content.get("datasets")) for mark in _dicts(one.get("annotations"))]
    drawn = [mark["data"] for mark in marks if isinstance(mark.get("data"), dict)]
    if not kinds or not drawn:
        return None
    return Annotated(path, "MD.ai", _named(kinds, "name"), any("vertices" in data for data in drawn))
