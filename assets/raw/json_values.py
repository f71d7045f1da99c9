"""Values in JSON files as text, at the keys of objects that stand in one another."""

from __future__ import annotations

import json
import math
from typing import Any

MOST_LETTERS = 200
"""Of one value."""

_EXACT = 2.0**53


class _Decimal(str):
    """A number with a point or an exponent, or a word such as NaN, as it is written: it may stand where nobody asks for it."""

    __slots__ = ()


class _Contradicted:
    """What a key says that an object has twice, with different values."""


_SEVERAL: dict[type, str] = {dict: "an object", list: "a list", _Contradicted: "the same key twice, with values that differ"}


def parsed(text: str) -> Any:
    """What a text of JSON holds, for `value_at` and `text_of`, which refuse what cannot be told where it is asked for.

    Raises:
        ValueError: It is no JSON, or nested too deeply.
    """
    try:
        return json.loads(text, parse_float=_Decimal, parse_constant=_Decimal, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise ValueError(f"the file is no JSON: {error}") from error
    except RecursionError as error:
        raise ValueError("the file is JSON nested too deeply, and should be one value or have it under a key") from error


def value_at(content: Any, key: str) -> str | None:
    """The value under a key as text; None where there is no such key, and where it says null or nothing but blanks.

    Args:
        content: What `parsed` gave.
        key: The key, with a point before each key inside the object of another; a key that has the point in its name comes first.

    Raises:
        ValueError: There is a list or an object, a number that is none, or a text that is too long; or no object has the key.
    """
    try:
        return text_of(_found(content, key)) or None
    except RecursionError as error:
        raise ValueError(f"{key[:20]!r}... leads through too many objects") from error


def text_of(value: Any) -> str | None:
    """One value as text: a whole number without a point, so that `0.0` reads as `0`, true and false so; None for null.

    Raises:
        ValueError: It is a list or an object, a number that is none (NaN), or a text that is too long or not printable.
    """
    if several := _SEVERAL.get(type(value)):
        raise ValueError(f"there is {several}, and should be one value")
    if value is None:
        return None
    text = str(value).lower() if isinstance(value, bool) else number(value) if isinstance(value, _Decimal) else str(value).strip()
    return require_short(text)


def require_short(text: str) -> str:
    """The text.

    Raises:
        ValueError: It has more letters than one value may have, or such as cannot be printed.
    """
    if len(text) > MOST_LETTERS or not text.isprintable():
        raise ValueError(f"{text[:20]!r}... has {len(text)} letters; one value has at most {MOST_LETTERS}, all of them printable")
    return text


def number(text: str) -> str:
    """A number as text, a whole one without its point.

    Raises:
        ValueError: It is none, as NaN.
    """
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no number that could be told")
    return str(int(value)) if value.is_integer() and abs(value) < _EXACT else str(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for key, value in pairs:
        agrees = key not in content or (type(content[key]), content[key]) == (type(value), value)
        content[key] = value if agrees else _Contradicted()
    return content


def _found(content: Any, key: str) -> Any:
    if isinstance(content, dict):
        return content[key] if key in content else _inside(content, key)
    met = _SEVERAL.get(type(content), "one value")
    raise ValueError(f"the key {key[:60]!r} is looked for in an object, and there is {met}")


def _inside(content: dict[str, Any], key: str) -> Any:
    """What an object inside says, with the first key or keys of several left out."""
    for first, inner in content.items():
        if inner is not None and key.startswith(f"{first}.") and (found := _found(inner, key[len(first) + 1 :])) is not None:
            return found
    return None
