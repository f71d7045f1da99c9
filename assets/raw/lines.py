"""Small files that tell something of a subject: of `key: value` lines, or of nothing but one value."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

MOST_BYTES, MOST_OF_ONE, MOST_LETTERS = 1 << 20, 1 << 12, 200
"""Of a file of lines, of a file of one value, and of that value."""

_DECIMAL = re.compile(r"[+-]?\d+\.\d*([eE][+-]?\d+)?")
_EXACT = 2.0**53
_SEVERAL: dict[type, str] = {dict: "an object", list: "a list"}


def key_values(path: Path) -> dict[str, str]:
    """Key -> value, both without the blanks around them; lines without a colon are left, and of equal keys the last counts.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is no text, or larger than such files are.
    """
    lines = _text(path, MOST_BYTES).splitlines()
    pairs = (line.partition(":") for line in lines if ":" in line)
    return {key.strip(): value.strip() for key, _, value in pairs}


def only_value(path: Path) -> str | None:
    """The one value that a file holds, as text; None for JSON's null.

    A file called `.json` holds a JSON number, text, true or false, any other one line of text. A whole number is told without a
    point, so that `0.0` reads as `0`; a text in quotation marks of JSON stays as it is.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is empty, no text, too large, or holds more than one value, or a number that is none (NaN).
    """
    text = _text(path, MOST_OF_ONE).strip()
    if not text:
        raise ValueError("the file is empty, and should hold one value")
    value = _of_json(text) if path.suffix.lower() == ".json" else _of_line(text)
    if value is not None and (len(value) > MOST_LETTERS or not value.isprintable()):
        raise ValueError(
            f"{value[:20]!r}... has {len(value)} letters; one value has at most {MOST_LETTERS}, all of them printable"
        )
    return value


def _text(path: Path, most: int) -> str:
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"the file has more than the {most} bytes that such a file may have")
    return content.decode("utf-8-sig")


def _of_line(text: str) -> str:
    lines = text.splitlines()
    if len(lines) > 1:
        raise ValueError(f"the file has {len(lines)} lines, and should be one value")
    return _number(text) if _DECIMAL.fullmatch(text) else text


def _of_json(text: str) -> str | None:
    try:
        value: Any = json.loads(text, parse_float=_number, parse_constant=_number)
    except json.JSONDecodeError as error:
        raise ValueError(f"the file is no JSON: {error}") from error
    except RecursionError as error:
        raise ValueError("the file is JSON nested too deeply, and should be one value") from error
    if several := _SEVERAL.get(type(value)):
        raise ValueError(f"the file is {several}, and should be one value")
    return str(value).lower() if isinstance(value, bool) else None if value is None else str(value).strip()


def _number(text: str) -> str:
    """A number as text, a whole one without its point."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no number that could be told")
    return str(int(value)) if value.is_integer() and abs(value) < _EXACT else text
