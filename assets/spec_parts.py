"""What every part of the dataset language is made of: a model that refuses unknown keys, and texts that are checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

from assets.patterns import require_inside


class Part(BaseModel):
    """A part of a spec: unknown keys are refused, and nothing changes once it is loaded."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _orientation_code(value: str) -> str:
    if sorted("RLAPSI".index(letter) // 2 if letter in "RLAPSI" else -1 for letter in value) != [0, 1, 2]:
        raise ValueError(f"an orientation names each of R/L, A/P and S/I once, e.g. LPS, not {value!r}")
    return value


def _axes(value: str) -> str:
    if not value or len(set(value)) != len(value) or set(value) - set("xyztc"):
        raise ValueError(f"axes are letters of x, y, z, t and c, each once, not {value!r}")
    return value


def _regex(value: str) -> str:
    try:
        groups = re.compile(value).groups
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{value!r} is no regular expression: {error}") from None
    if groups:
        raise ValueError(f"{value!r} has groups; write (?:...) instead")
    return value


def _says_something(value: str) -> str:
    if re.fullmatch(value, ""):
        raise ValueError(f"{value!r} matches an empty text too, which is nobody's name")
    return value


def _as_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def spelled_out(value: object, field: str) -> object:
    """`{name: text}` is short for `{name: {field: text}}`; a list stands for several texts."""
    if not isinstance(value, Mapping):
        return value
    return {name: {field: part} if isinstance(part, str | list) else part for name, part in value.items()}


OrientationCode = Annotated[str, AfterValidator(_orientation_code)]
Axes = Annotated[str, AfterValidator(_axes)]
Regex = Annotated[str, AfterValidator(_regex)]
NameRegex = Annotated[Regex, AfterValidator(_says_something)]


def _globs(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    return {keyword: _as_tuple(str(part) if isinstance(part, int | float) else part) for keyword, part in value.items()}


Globs = Annotated[dict[str, tuple[str, ...]], BeforeValidator(_globs)]
Names = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
Inside = Annotated[str, AfterValidator(require_inside)]
"""A path, or a pattern of paths, under the raw folder."""
Patterns = Annotated[tuple[Inside, ...], BeforeValidator(_as_tuple)]
