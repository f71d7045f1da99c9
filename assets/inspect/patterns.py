"""Writes the pattern of a group as the dataset language has it: `images/{subject}_0000.nii.gz`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from assets.inspect.grouping import Group, as_regex, gathered
from assets.inspect.tokens import Token

_ACROSS = "\0"
"""Stands for `**` until runs of `*` are made one."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Tokens that one field reads.

    Attributes:
        field: Its name.
        start: First token.
        end: First token behind it.
    """

    field: str
    start: int
    end: int


def stretches(group: Group, fields: Mapping[str, Sequence[int]]) -> list[Stretch] | None:
    """Where each field stands; None when a field of several variables cannot be one stretch that another field does not cut.

    Args:
        group: The files.
        fields: Field -> numbers of the variables that it joins.
    """
    found: list[Stretch] = []
    for field, numbers in fields.items():
        if len(numbers) == 1:
            found += [Stretch(field, at, at + 1) for at in group.variables[numbers[0]].at]
        elif numbers:
            last = [group.variables[n].at[-1] for n in numbers]
            found.append(Stretch(field, min(last), max(last) + 1))
    long = [s for s in found if s.end - s.start > 1]
    for stretch in long:
        inside = [s for s in found if s is not stretch and s.start < stretch.end and stretch.start < s.end]
        if any(s.field != stretch.field and s.field in ("subject", "scan") for s in inside):
            return None
        found = [s for s in found if s not in inside]
    return sorted(found, key=lambda s: s.start)


def endings_apart(group: Group, where: Sequence[Stretch]) -> tuple[str, ...]:
    """The pattern of a group, once for every spelling of the ending of its names.

    Without fields, as patterns say what is ignored, also those of the other files of images in two files. Those of images
    that are used go where these go.
    """
    found: dict[str, None] = {}
    for part in _by_root(group, where):
        found |= dict.fromkeys(_by_ending(part, where, group))
    for other in [] if where else _halves(group):
        found |= dict.fromkeys(endings_apart(other, ()))
    return tuple(found)


def _halves(group: Group) -> list[Group]:
    """The other files of images in two files: called like the images but for the ending, or else by any name."""
    alike, odd = [], []
    for row, path in zip(group.rows, group.paths, strict=True):
        bare, half = path.removesuffix(row[-1].text), row[-1].half
        if half.startswith(f"{bare}."):
            alike.append((*row[:-1], Token(half[len(bare) :], "ending")))
        elif half:
            odd.append(half)
    return [*([replace(group, rows=tuple(alike))] if alike else []), *gathered(odd)[0]]


def _by_root(group: Group, where: Sequence[Stretch]) -> list[Group]:
    """The group's files by the folders of which there are several, where no field reads them."""
    taken = {at for stretch in where for at in range(stretch.start, stretch.end)}
    at = [n for n, token in enumerate(group.rows[0]) if token.kind == "root" and n not in taken]
    roots: dict[tuple[str, ...], list[tuple[Token, ...]]] = {}
    for row in group.rows:
        roots.setdefault(tuple(row[n].text for n in at), []).append(row)
    return [Group(tuple(rows)) for _, rows in sorted(roots.items())]


def _by_ending(part: Group, where: Sequence[Stretch], whole: Group) -> list[str]:
    """Patterns of files of one root; what varies in the whole group varies in each root."""
    endings = sorted({row[-1].text for row in part.rows}) if part.ending else [""]
    if any(stretch.end == len(part.rows[0]) for stretch in where) or len(endings) == 1:
        return [pattern(part, where, whole)]
    bare = pattern(Group(tuple(row[:-1] for row in part.rows)), where, whole)
    return [bare + ending for ending in endings]


def pattern(group: Group, where: Sequence[Stretch], whole: Group | None = None) -> str:
    """The pattern; what varies and is no field is `*`.

    Args:
        group: The files.
        where: Its fields.
        whole: A group of which it is a part, and in which more varies.
    """
    varying = {at for variable in group.variables for at in variable.at} if len(group.rows) > 1 else set()
    roots = {at for at, token in enumerate(group.rows[0]) if token.kind == "root"}
    if whole is not None:
        varying |= {at for variable in whole.variables for at in variable.at if len(variable.distinct) > 1} - roots
    at_field = {s.start: s for s in where}
    text, position = "", 0
    while position < len(group.rows[0]):
        if stretch := at_field.get(position):
            text += f"{{{stretch.field}}}"
            position = stretch.end
            continue
        token = group.rows[0][position].text
        spelled = {row[position].text for row in group.rows}
        varies = position in varying or len(spelled) > 1 or group.rows[0][position].kind == "row"
        across = any("/" in one for one in spelled)  # a token may hold several folders
        text += (_ACROSS if across else "*") if varies else re.sub(r"[*?{}\\]", "?", token)
        position += 1
    return re.sub(rf"[*{_ACROSS}]+", lambda run: "**" if _ACROSS in run[0] else "*", text)


def regex_of(groups: Sequence[tuple[Group, Sequence[Stretch]]], field: str) -> str:
    """The expression of a field, for everything it reads in all groups."""
    columns: list[list[str]] = []
    for group, where in groups:
        for stretch in (s for s in where if s.field == field):
            values = ["".join(t.text for t in row[stretch.start : stretch.end]) for row in group.rows]
            columns.append(values)
    return as_regex(value for column in columns for value in column)


def read(group: Group, where: Sequence[Stretch], field: str) -> list[str]:
    """What a field reads in every file; empty text where it does not stand."""
    stretch = next((s for s in where if s.field == field), None)
    if stretch is None:
        return [""] * len(group.rows)
    return ["".join(t.text for t in row[stretch.start : stretch.end]) for row in group.rows]
