"""JSON that people can read: a line per key, and lists of plain values, such as run lengths, in one line."""

from __future__ import annotations

import json
from typing import Any


def json_text(content: Any, depth: int = 0) -> str:
    """The content as JSON, in the order of its keys.

    Raises:
        ValueError: It holds a number that JSON cannot say, NaN for example.
    """
    inner = " " * (depth + 1)
    if isinstance(content, dict) and content:
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {json_text(value, depth + 1)}" for key, value in content.items()]
        return _bracketed("{}", parts, inner, depth)
    if isinstance(content, list) and any(isinstance(value, dict | list) for value in content):
        return _bracketed("[]", [json_text(value, depth + 1) for value in content], inner, depth)
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def _bracketed(brackets: str, parts: list[str], inner: str, depth: int) -> str:
    lines = ",\n".join(inner + part for part in parts)
    return f"{brackets[0]}\n{lines}\n{' ' * depth}{brackets[1]}"
