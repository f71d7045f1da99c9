"""File patterns of a dataset spec: globs with named fields, matched against paths relative to the raw folder.

`*` and `?` stay within one folder, `**` crosses folders, `{field}` is the regular expression the spec gives for that field; a
field that occurs twice must read the same both times. A backslash means nothing: folders are parted by `/` on every system.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_TOKEN = re.compile(r"\{(?P<field>[a-z_]+)\}|(?P<deep>\*\*/?)|(?P<star>\*)|(?P<one>\?)")


@dataclass(frozen=True)
class Pattern:
    """A compiled pattern.

    Attributes:
        text: As the spec has it.
        regex: Matches the whole relative path; fields are named groups.
    """

    text: str
    regex: re.Pattern[str]

    def match(self, path: str) -> dict[str, str] | None:
        """The fields of a path that matches, else None."""
        found = self.regex.fullmatch(path)
        return found.groupdict() if found else None

    def fill(self, **fields: str) -> str:
        """The path for given fields.

        Raises:
            KeyError: A field of the pattern is missing.
        """
        return re.sub(r"\{([a-z_]+)\}", lambda m: fields[m.group(1)], self.text)


def compile_pattern(text: str, fields: Mapping[str, str]) -> Pattern:
    """Compile one pattern of a spec.

    Args:
        text: The pattern.
        fields: Regular expression of every field it may name.

    Raises:
        ValueError: The pattern names a field that has no expression.
    """
    parts: list[str] = []
    seen: set[str] = set()
    end = 0
    for token in _TOKEN.finditer(text):
        parts.append(re.escape(text[end : token.start()]))
        end = token.end()
        if field := token["field"]:
            if field not in fields:
                raise ValueError(f"pattern {text!r} names {{{field}}}, which the spec does not define; known: {sorted(fields)}")
            parts.append(f"(?P={field})" if field in seen else f"(?P<{field}>{fields[field]})")
            seen.add(field)
        elif deep := token["deep"]:
            parts.append("(?:[^/]+/)*" if deep.endswith("/") else ".*")
        else:
            parts.append("[^/]*" if token["star"] else "[^/]")
    parts.append(re.escape(text[end:]))
    return Pattern(text, re.compile("".join(parts)))


def fields_of(text: str) -> set[str]:
    """The fields that a pattern names."""
    return {token["field"] for token in _TOKEN.finditer(text) if token["field"]}


def require_inside(text: str) -> str:
    """The path or pattern itself, if a file under the raw folder can be called so.

    Raises:
        ValueError: It is empty, absolute, has a backslash, or parts that no path under a folder has; the message says what to
            write.
    """
    if not text:
        raise ValueError("a path is not empty; write one under the raw folder")
    if "\\" in text:
        raise ValueError(
            f"{text!r} has a backslash, which parts no folders; write {text.replace(chr(92), '/')!r}, or `?` for one in a name"
        )
    if text.startswith("/") or re.match(r"[A-Za-z]:/", text):
        relative = re.sub(r"^([A-Za-z]:)?/+", "", text)
        raise ValueError(f"{text!r} is absolute; write it as it lies under the raw folder, such as {relative!r}")
    parts = text.split("/")
    if ".." in parts:
        raise ValueError(f"{text!r} leads out of the raw folder by `..`; write where the file lies under the raw folder")
    if parts[-1] == "":
        raise ValueError(f"{text!r} ends with `/` and so matches no file; write {text + '**'!r} for all files below")
    if {"", "."} & set(parts):
        plain = "/".join(part for part in parts if part not in {"", "."})
        raise ValueError(f"{text!r} has an empty part or `.`, which no path has; write {plain!r}")
    return text
