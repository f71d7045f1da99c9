"""What two JSON values must share to count as equal, and which values count as absent.

These are the comparison rules of MDS-Bench's public evaluator (`evaluate_source_gate.py` of chenxin-sdu/MDS-Bench, commit
13551d9), restated. Every other module of the scorer rests on them. All functions are total: any JSON value is an answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

JsonObject = Mapping[str, Any]

TASKS = ("classification", "segmentation", "detection")

MISSING_TOKENS = frozenset(
    {"", "na", "n/a", "null", "none", "unknown", "unk", "nan", "tbd", "not available", "not_applicable"},
)
NULL_TOKENS = frozenset({"__null__", "<null>", "[null]", "__none__", "<none>"})

_ANGLE_BRACKETS = re.compile(r"<[^<>]+>")
_ZERO_COUNTS = frozenset({"label", "class_id", "category_id", "num_classes", "total", "train", "val", "test"})
_ZERO_IS_ABSENT = frozenset({"age_years", "length_chars", "confidence_global"})
_SEPARATORS = re.compile(r"[\s\-_/]+")
_NOT_TOKEN = re.compile(r"[^a-z0-9\u4e00-\u9fff ]+")
_SLASHES = re.compile(r"/+")

_SHOWN_CHARACTERS = 80


def objects(value: object) -> JsonObject:
    """The value when it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def at(value: object, *keys: str) -> Any:
    """What lies under a path of keys; None as soon as one of them is not there."""
    for key in keys:
        value = objects(value).get(key)
    return value


def as_float(value: object) -> float | None:
    """The value as a float the way `float()` reads it (numeric strings and booleans too); None where it cannot."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


def as_int(value: object) -> int | None:
    """The value as an int the way `int()` reads it (20.9 is 20, "20" is 20); None where it cannot."""
    try:
        return int(value)  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError, OverflowError):
        return None


def text(value: object) -> str:
    """Lower case without outer blanks; an absent value is the empty text."""
    return "" if value is None else str(value).strip().lower()


def token_text(value: object) -> str:
    """Text with runs of blanks, `-`, `_`, `/` as one blank and every other sign but a-z, 0-9 and CJK removed."""
    return _NOT_TOKEN.sub("", _SEPARATORS.sub(" ", text(value))).strip()


def full_path(value: object) -> str:
    """A path with forward slashes, no doubled or outer ones, in lower case."""
    plain = "" if value is None else str(value).strip().replace("\\", "/")
    return _SLASHES.sub("/", plain).strip("/").lower()


def dimension(value: object) -> str:
    """`2d`, `3d` or `video`; anything else as it is, in lower case without blanks and dashes."""
    plain = text(value).replace("-", "").replace(" ", "")
    for known in ("2d", "3d"):
        if plain.startswith(known):
            return known
    return "video" if "video" in plain else plain


def modality(value: object) -> str:
    """The families that count as one modality: CT, MRI, microscopy, ultrasound, x-ray; anything else in lower case."""
    plain = text(value)
    if plain.startswith("ct") or plain == "computedtomography":
        return "ct"
    if plain.startswith("mri") or plain == "mr":
        return "mri"
    if "microscopy" in plain:
        return "microscopy"
    if "ultrasound" in plain or plain == "us":
        return "ultrasound"
    return "xray" if "xray" in plain or "x-ray" in plain else plain


def is_placeholder_text(value: str) -> bool:
    """Whether a string says that there is nothing: `NA`, `unknown`, `<anything>`, blanks."""
    plain = text(value)
    return plain in MISSING_TOKENS or plain in NULL_TOKENS or _ANGLE_BRACKETS.fullmatch(value.strip()) is not None


def is_filled(value: object) -> bool:
    """Whether a value says something: 0 does; null, `NA`, false, NaN and what holds only such do not."""
    if isinstance(value, str):
        return not is_placeholder_text(value)
    if value is None or isinstance(value, bool):
        return bool(value)
    if isinstance(value, int | float):
        number = as_float(value)
        return number is not None and math.isfinite(number)
    if isinstance(value, list):
        return any(is_filled(item) for item in value)
    return any(is_filled(item) for item in objects(value).values())


def is_present(value: object) -> bool:
    """Whether a value is neither null nor a blank string nor an empty list or object."""
    if isinstance(value, str):
        return bool(value.strip())
    if isinstance(value, list | dict):
        return bool(value)
    return value is not None


def is_placeholder(key: str, value: object) -> bool:
    """Whether a value under `key` stands for nothing: null, a missing token, empty containers, false, -1, NaN.

    0 stands for nothing under `age_years`, `length_chars` and `confidence_global`; -1 is a value where a count or an index
    is asked for.
    """
    if isinstance(value, str):
        return is_placeholder_text(value)
    if value is None or isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return _is_placeholder_number(text(key), as_float(value))
    if isinstance(value, list):
        return all(is_placeholder(key, item) for item in value)
    return all(is_placeholder(name, item) for name, item in objects(value).items())


def _is_placeholder_number(key: str, number: float | None) -> bool:
    if number is None or not math.isfinite(number):
        return True
    if key in _ZERO_COUNTS:
        return False
    return number == -1.0 or (key in _ZERO_IS_ABSENT and number == 0.0)


def is_empty(value: object) -> bool:
    """Whether a branch is effectively empty: as `is_placeholder`, with -1 for nothing under every key."""
    if isinstance(value, list):
        return all(is_empty(item) for item in value)
    if isinstance(value, dict):
        return all(is_empty(item) for item in value.values())
    return is_placeholder("", value)


def shown(value: object, limit: int = _SHOWN_CHARACTERS) -> str:
    """A value as a message may print it: short, on one line, without control characters or lone surrogates."""
    if isinstance(value, str):
        short = value if len(value) <= limit else value[:limit] + "…"
        return repr(short)
    plain = repr(value) if isinstance(value, list | dict) else str(value)
    return plain if len(plain) <= limit else plain[:limit] + "…"


def printable(name: str) -> str:
    """A file name that can be written to any table or terminal; what cannot is escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in name)
