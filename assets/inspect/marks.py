"""Files beside images that mark objects: Pascal VOC in XML, polygons as Supervisely exports them, DICOM reports with regions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from defusedxml import ElementTree
from defusedxml.common import DefusedXmlException

from resources.findings import BadInputError
from resources.readers.dicom.sr import read_sr_measurements

_OPENED, _ASKED, _MOST_BYTES = 40, 3, 1 << 22
"""Files that are read for names, and of which the first must mark something; bytes of one."""


@dataclass(frozen=True, slots=True)
class Marked:
    """What files mark.

    Attributes:
        format: As the dataset language calls it.
        names: What the marked objects are called, where it is said.
    """

    format: str
    names: tuple[str, ...]


def marked_in(root: Path, paths: Sequence[str]) -> Marked | None:
    """What files of one kind mark; None where the first ones mark nothing, or something else than boxes and polygons."""
    found: set[str] = set()
    kinds: set[str] = set()
    for number, path in enumerate(paths[:_OPENED]):
        kind, names = _in_file(root / path)
        kinds.add(kind)
        found |= names
        if number + 1 == _ASKED and kinds == {""}:
            return None
    kinds.discard("")
    return Marked(kinds.pop(), tuple(sorted(found))) if len(kinds) == 1 else None


def _in_file(path: Path) -> tuple[str, set[str]]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            return "", set()
        text = path.read_bytes()
    except OSError:
        return "", set()
    if path.suffix.lower() == ".json":
        return _polygons(text)
    return _voc(text) if path.suffix.lower() == ".xml" else ("", set())


def _polygons(text: bytes) -> tuple[str, set[str]]:
    try:
        content = json.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return "", set()
    items: Any = content.get("objects") if isinstance(content, dict) else None
    if not isinstance(items, list) or not items:
        return "", set()
    if not all(
        isinstance(item, dict) and isinstance(item.get("points"), dict) and "exterior" in item["points"] for item in items
    ):
        return "", set()
    return "supervisely", {str(item["classTitle"]) for item in items if item.get("classTitle")}


def _voc(text: bytes) -> tuple[str, set[str]]:
    try:
        content = ElementTree.fromstring(text)
    except (ElementTree.ParseError, DefusedXmlException, ValueError):
        return "", set()
    objects = [node for node in content.iter("object") if node.find("bndbox/xmin") is not None]
    names = {(node.findtext("name") or "").strip() for node in objects}
    return ("voc", names - {""}) if objects else ("", set())


def marks_regions(root: Path, path: str) -> bool:
    """Whether a DICOM report marks a region in an image."""
    try:
        groups = read_sr_measurements(root / path, name=path).groups
    except BadInputError:
        return False
    return any(not region.in_patient for group in groups for region in group.regions)


def glob_of(paths: Iterable[str]) -> str:
    """A glob for files of one depth, with what their folders and names have in common; empty where their depths differ."""
    split = [path.split("/") for path in paths]
    if not split or len({len(parts) for parts in split}) > 1:
        return ""
    return "/".join(_common(level) for level in zip(*split, strict=True))


def _common(names: Sequence[str]) -> str:
    if len(set(names)) == 1:
        return names[0]
    front = _beginning(names).rstrip("0123456789.")
    back = _beginning([name[len(front) :][::-1] for name in names])[::-1]
    return f"{front}*{back if back.startswith('.') else ''}"


def _beginning(texts: Sequence[str]) -> str:
    shortest = min(texts, key=len)
    return shortest[: next((n for n in range(len(shortest)) if len({text[n] for text in texts}) > 1), len(shortest))]
