"""The numbers that label maps hold, as far as they were looked at, and the JSON files that may speak of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assets.inspect.arrays import in_file
from assets.inspect.evidence import Unknown
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


def told_apart(names: Mapping[int, str]) -> dict[int, str]:
    """The names in order of their ids; those that occur twice with the id behind them."""
    several = {name for name, count in Counter(names.values()).items() if count > 1}
    return {number: f"{name} ({number})" if name in several else name for number, name in sorted(names.items())}


def around_of(parts: Sequence[Part]) -> Iterator[Unknown]:
    """A line where another number than 0 stands at all corners of every label map that was opened: it may be the background."""
    peeks = [peek for part in parts for peek in part.peeks if peek.values]
    around = {peek.around for peek in peeks}
    if peeks and len(around) == 1 and (number := around.pop()):
        why = (
            f"{number:g} stands at the corners of all label maps that were opened and may be the background; in a draft that is 0"
        )
        yield Unknown("labels", why)


def grey_levels(ids: Sequence[int]) -> dict[int, int]:
    """Level -> id, where numbers of pictures are grey levels at even distances up to white, such as 85, 170, 255; else empty."""
    top = max(ids, default=0)
    if len(ids) < 2 or not _NEARLY_WHITE <= top <= _WHITE:
        return {}
    even = all(abs(level - number * top / len(ids)) <= 1 for number, level in enumerate(sorted(ids), start=1))
    return {level: number for number, level in enumerate(sorted(ids), start=1)} if even else {}


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
