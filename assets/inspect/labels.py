"""What the numbers of label maps are: those that were seen, and the names that a description file gives them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from assets.inspect.arrays import in_file
from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.peek import Opener
from assets.inspect.roles import Part

_NEARLY_WHITE, _WHITE = 200, 255
_OPENED, _MOST_TEXTS, _MOST_BYTES = 9, 8, 1 << 20


def ids_of(parts: Sequence[Part], opener: Opener, key: str = "") -> tuple[tuple[int, ...], str]:
    """The numbers above 0 in a few label maps of each kind, and in which."""
    chosen: list[str] = []
    for part in parts:
        paths = part.group.paths
        step = max(1, len(paths) // _OPENED)
        chosen += paths[::step][: max(1, _OPENED // len(parts))]
    peeks = [peek for path in chosen if (peek := opener.peek(path, in_file(key, path))) is not None and peek.values is not None]
    found = sorted({value for peek in peeks for value in peek.values or () if value > 0})
    return tuple(found), f"values of {len(peeks)} label map(s) such as {chosen[0]}"


def grey_levels(ids: Sequence[int]) -> dict[int, int]:
    """Level -> id, where numbers of pictures are grey levels at even distances up to white, such as 85, 170, 255; else empty."""
    top = max(ids, default=0)
    if len(ids) < 2 or not _NEARLY_WHITE <= top <= _WHITE:
        return {}
    even = all(abs(level - number * top / len(ids)) <= 1 for number, level in enumerate(sorted(ids), start=1))
    return {level: number for number, level in enumerate(sorted(ids), start=1)} if even else {}


def names_in(root: Path, paths: Iterable[str]) -> tuple[dict[int, str], str]:
    """Names of label ids from the first JSON file that gives them as `labels: {id: name}` or `{name: id}`, and which it is."""
    for path, content in read_descriptions(root, paths):
        for found in _label_maps(content):
            return found, path
    return {}, ""


def read_descriptions(root: Path, paths: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """The first JSON files and what they say; None of those that are large or damaged."""
    for path in list(paths)[:_MOST_TEXTS]:
        yield path, _json(root / path)


def _json(path: Path) -> Any:
    try:
        if path.stat().st_size > _MOST_BYTES:
            return None
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None


def _label_maps(content: Any) -> Iterator[dict[int, str]]:
    if not isinstance(content, dict) or not isinstance(content.get("labels"), dict):
        return
    pairs: dict[int, str] = {}
    for one, two in content["labels"].items():
        number, name = (one, two) if str(one).strip().lstrip("-").isdigit() else (two, one)
        if str(number).isdigit() and isinstance(name, str):
            pairs[int(str(number))] = name.strip()
    if pairs:
        yield pairs


def meaning(ids: tuple[int, ...], seen: str, named: dict[int, str], where: str) -> tuple[dict[int, str], Evidence | Unknown]:
    """Label id -> name; a placeholder where no file says it."""
    declared = {number: name for number, name in named.items() if number > 0}
    if declared and set(ids) <= set(declared):
        return _distinct(declared), Evidence("labels", f"{len(declared)} names", 0.95, f"{where} names the ids")
    if not ids:
        return {}, Unknown("labels", "no label map that was opened holds a number above 0")
    placeholders = {number: declared.get(number, f"label {number}") for number in ids}
    return _distinct(placeholders), Unknown("labels", f"what the ids mean is said nowhere; they are the {seen}")


def _distinct(names: dict[int, str]) -> dict[int, str]:
    """The names, those that occur twice told apart by their ids."""
    several = {name for name in names.values() if list(names.values()).count(name) > 1}
    return {number: f"{name} ({number})" if name in several else name for number, name in sorted(names.items())}
