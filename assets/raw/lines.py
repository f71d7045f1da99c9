"""Small files that tell something of a subject: of `key: value` lines, of JSON, or of nothing but one value."""

from __future__ import annotations

import re
from pathlib import Path

from assets.raw.json_values import number, parsed, require_short, text_of, value_at

MOST_BYTES, MOST_OF_ONE = 1 << 20, 1 << 12
"""Of a file with keys, and of a file of one value."""

_DECIMAL = re.compile(r"[+-]?\d+\.\d*([eE][+-]?\d+)?")


def key_values(path: Path) -> dict[str, str]:
    """Key -> value, both without the blanks around them; lines without a colon are left, and of equal keys the last counts.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is no text, or larger than such files are.
    """
    lines = bounded_text(path, MOST_BYTES).splitlines()
    pairs = (line.partition(":") for line in lines if ":" in line)
    return {key.strip(): value.strip() for key, _, value in pairs}


def value_under(path: Path, key: str) -> str | None:
    """What a file says under a key, as text; None where it says nothing there.

    A file called `.json` is an object, and the key of an object in it has its key and a point before it, as `meta.diagnosis`; any
    other file has `key: value` lines.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is no text or no JSON, or larger than such files are; or JSON does not have one value there.
    """
    if path.suffix.lower() == ".json":
        return value_at(parsed(bounded_text(path, MOST_BYTES)), key)
    return key_values(path).get(key)


def only_value(path: Path) -> str | None:
    """The one value that a file holds, as text; None for JSON's null.

    A file called `.json` holds a JSON number, text, true or false, any other one line of text. A whole number is told without a
    point, so that `0.0` reads as `0`; a text in quotation marks of JSON stays as it is.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is empty, no text, too large, or holds more than one value, or a number that is none (NaN).
    """
    text = bounded_text(path, MOST_OF_ONE).strip()
    if not text:
        raise ValueError("the file is empty, and should hold one value")
    return text_of(parsed(text)) if path.suffix.lower() == ".json" else require_short(_of_line(text))


def bounded_text(path: Path, most: int) -> str:
    """The text of a file.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is no text, or has more bytes than it may have.
    """
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"the file has more than the {most} bytes that such a file may have")
    return content.decode("utf-8-sig")


def _of_line(text: str) -> str:
    lines = text.splitlines()
    if len(lines) > 1:
        raise ValueError(f"the file has {len(lines)} lines, and should be one value")
    return number(text) if _DECIMAL.fullmatch(text) else text
