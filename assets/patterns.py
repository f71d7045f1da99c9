"""File patterns of a dataset spec: globs with named fields, matched against paths relative to the raw folder.

`*` and `?` stay within one folder, `**` crosses folders, `{field}` is the regular expression the spec gives for that field; a
field that occurs twice must read the same both times.
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
