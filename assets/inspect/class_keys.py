"""Classes under a key of JSON: in a file beside each image, or in one file that has an entry for each. No draft can read them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assets.inspect.class_files import Values, may_be_classes, one_for_each, spread
from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.grouping import Group
from assets.inspect.layout import Plan
from assets.inspect.roles import Part
from assets.inspect.tokens import words
from assets.inspect.told_twice import Told
from assets.templates import stem

_NEARLY_ALL, _DEEPEST, _MOST_KEYS, _SHOWN = 0.9, 3, 200, 8
_MOST_FILES, _MOST_BYTES = 12, 1 << 22
_CONFIDENCE = 0.5

_Entries = Mapping[int, Any]


def class_keys(root: Path, parts: Sequence[Part], planned: Plan) -> tuple[Unknown, Told] | None:
    """What JSON says of classes under keys that are called like one, and what that makes of the task; None where it says nothing.

    Under one such key the images' classes are taken to stand, and these to be the task; of several, the task stays open.

    Args:
        root: The folder.
        parts: Its groups of files.
        planned: Its layout. Of one with label maps, or with such as may belong to two images, nothing is asked.
    """
    if planned.labels or planned.is_unpaired:
        return None
    found = [(values, where) for values, where in _found(root, parts, planned) if values.is_called and may_be_classes(values)]
    if not found:
        return None
    said = " or ".join(_said(values, where) for values, where in found[:_SHOWN])
    doubt = Unknown("classes", f"{said} tells a class of each image, which no draft can read; put the classes into a table")
    if len(found) > 1:
        return doubt, Told(Unknown("task", "several keys of JSON are called like a class, and nothing says which is meant"))
    seen = f"{said} tells a class of each image, and there are no label maps"
    return doubt, Told(Evidence("task", "classification", _CONFIDENCE, seen))


def _said(values: Values, where: str) -> str:
    names = ", ".join(values.classes[:_SHOWN]) + (", ..." if len(values.classes) > _SHOWN else "")
    read = f", read in {len(values.told)} of them" if 0 < len(values.told) < len(values.group.paths) else ""
    return f"{f'key {values.key!r} of ' if values.key else ''}{where} ({names}{read})"


def _found(root: Path, parts: Sequence[Part], planned: Plan) -> Iterator[tuple[Values, str]]:
    """Values of few kinds, by key, and the file or files that they stand in."""
    for group, where, share in one_for_each(parts, planned):
        if group.ending.lower() != ".json":
            continue
        entries = {number: _json(root / group.paths[number]) for number in spread(len(group.paths))}
        entries = {number: entry if isinstance(entry, dict) else None for number, entry in entries.items()}
        for key, told in _keyed(entries).items():
            yield Values(group, where, told, _words(key), share < 1, key), group.shape
    paths = [path for part in parts if part.role == "text" for path in part.group.paths[:2] if path.lower().endswith(".json")]
    for path in paths[:_MOST_FILES]:
        yield from _in_one(path, _json(root / path), planned.reference.group)


def _in_one(path: str, content: Any, group: Group) -> Iterator[tuple[Values, str]]:
    """Values of a file that has an entry for nearly every image, by its name, at its top or under one of its keys."""
    own = {"": content, **content} if isinstance(content, dict) else {}
    for above, listed in own.items():
        entries = _named(listed, group) if isinstance(listed, dict) else {}
        if len(entries) < _NEARLY_ALL * len(group.paths) or not entries:
            continue
        for key, told in _keyed(entries).items():
            called = _words(key) or _words(above) | _words(stem(path.rpartition("/")[2]))
            yield Values(group, (), told, called, len(entries) < len(group.paths), key), path
        return


def _named(listed: Mapping[str, Any], group: Group) -> dict[int, Any]:
    """Number of an image -> the entry that is called like its path, its name, or that without the ending."""
    found = {}
    for number, path in enumerate(group.paths):
        name = path.rpartition("/")[2]
        called = next((one for one in (path, name, stem(name)) if one in listed), None)
        if called is not None:
            found[number] = listed[called]
    return found


def _keyed(entries: _Entries) -> dict[str, dict[int, str | None]]:
    """Key -> what nearly all entries say there; no key where they are values themselves, and points in those inside others."""
    flat = {number: dict(_flat(entry)) for number, entry in entries.items()}
    keys = dict.fromkeys(key for said in flat.values() for key in said)
    told = {key: {number: said[key] for number, said in flat.items() if key in said} for key in list(keys)[:_MOST_KEYS]}
    return {key: values for key, values in told.items() if len(values) >= _NEARLY_ALL * len(entries)}


def _flat(entry: Any, key: str = "", depth: int = 0) -> Iterator[tuple[str, str | None]]:
    if isinstance(entry, dict) and depth < _DEEPEST:
        for name, inner in entry.items():
            yield from _flat(inner, f"{key}.{name}" if key else str(name), depth + 1)
    elif isinstance(entry, bool):
        yield key, str(entry).lower()
    elif entry is None or isinstance(entry, (str, int)):
        yield key, None if entry is None else str(entry).strip()
    elif isinstance(entry, float) and entry.is_integer():
        yield key, str(int(entry))


def _words(text: str) -> frozenset[str]:
    """The words of the last part of a key, or of a name."""
    return frozenset(words(text.rpartition(".")[2]))


def _json(path: Path) -> Any:
    try:
        if path.stat().st_size > _MOST_BYTES:
            return None
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None
