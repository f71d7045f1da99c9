"""Gathers files whose names have one shape, such as all `case_<n>/imaging.nii.gz`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from assets.inspect.formats import IMAGES, Family, family
from assets.inspect.tokens import Token, tokens, words
from assets.junk import junk_reason

_VARY = ("number", "id", "split", "root", "free")
_BLANK = (*_VARY, "row")
_MOST_SHAPES, _FEW_SHAPES = 40, 12
_COUNTED = re.compile(
    r"(?P<uid>\d+(?:\.\d+)+)"
    r"|(?P<number>\d+(?![0-9a-fA-F-]))"
    r"|(?P<hex>(?<![^\W_])(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{8}[0-9a-fA-F-]*(?![^\W_]))"
    r"|(?P<part>\d+)"
)
_RUNS = {"uid": "[0-9.]+", "number": r"\d+", "hex": "[0-9a-fA-F-]+", "part": r"\d+"}
PARTED = ("split", "root")
"""Kinds of what says which part of a set a file lies in, and not whose it is."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A part of the names of a group that varies, wherever it is repeated.

    Attributes:
        kind: Of its tokens.
        at: Positions of the tokens.
        values: What it reads in every file of the group.
    """

    kind: str
    at: tuple[int, ...]
    values: tuple[str, ...]

    @property
    def distinct(self) -> tuple[str, ...]:
        """Its values, each once, in order."""
        return tuple(sorted(set(self.values)))


@dataclass(frozen=True)
class Group:
    """Files whose names have one shape.

    Attributes:
        rows: The tokens of every file's path, aligned.
        lone: Whether all of them belong to one subject, so that numbers in their folders name it although they do not vary.
    """

    rows: tuple[tuple[Token, ...], ...]
    lone: bool = False

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The files, in order of their rows."""
        return tuple("".join(token.text for token in row) for row in self.rows)

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """What varies, in order of the first place where it does."""
        columns: dict[tuple[str, ...], list[int]] = {}
        for position, token in enumerate(self.rows[0]):
            values = tuple(row[position].text for row in self.rows)
            one = len(self.rows) == 1 or (self.lone and position < self.name_at)
            alone = one and token.kind in ("number", "id")
            if alone or (token.kind in _VARY and len(set(values)) > 1):
                columns.setdefault(values, []).append(position)
        return tuple(Variable(self.rows[0][at[0]].kind, tuple(at), values) for values, at in columns.items())

    @property
    def ending(self) -> str:
        """Of its first file's name."""
        last = self.rows[0][-1]
        return last.text if last.kind == "ending" else ""

    @property
    def family(self) -> Family:
        """What its files are likely to be."""
        return self.rows[0][-1].told or family(self.ending, self.rows[0][-1].half)

    @property
    def has_ending(self) -> bool:
        """Whether the last token of every name is its ending, which is an empty text for some images."""
        return self.rows[0][-1].kind == "ending"

    @cached_property
    def words(self) -> frozenset[str]:
        """Words of its folders and names that stay."""
        return frozenset(word for token in self.rows[0] if token.kind in ("word", "split") for word in words(token.text))

    @cached_property
    def name_at(self) -> int:
        """Position of the first token of the file's name."""
        slashes = [n for n, token in enumerate(self.rows[0]) if token.text == "/"]
        return slashes[-1] + 1 if slashes else 0

    @property
    def shape(self) -> str:
        """For people: the path with `<n>` where it varies."""
        varying = {position for variable in self.variables for position in variable.at}
        return "".join(f"<{t.kind}>" if n in varying else t.text for n, t in enumerate(self.rows[0]))


def shape_of(row: Iterable[Token]) -> tuple[tuple[str, str], ...]:
    """What files of one group have in common."""
    return tuple((t.kind, "" if t.kind in _BLANK else _shape_of_ending(t) if t.kind == "ending" else t.text) for t in row)


def _shape_of_ending(token: Token) -> str:
    """An ending that alone tells no image is another one in an image of two files: `.dat` beside a header, and without."""
    text = token.text.lower()
    if token.told:
        return f"{text}+{token.told}"
    return f"{text}+" if token.half and family(text) not in IMAGES else text


def gathered(
    paths: Iterable[str], halves: Mapping[str, str] | None = None, told: Mapping[str, Family] | None = None
) -> tuple[list[Group], dict[str, str]]:
    """Groups of files, largest first, and the reason for each file that is nobody's data.

    Args:
        paths: The files; of images in two files the one they are called by.
        halves: That file -> the other one.
        told: File -> what its content says it is, where its name does not.
    """
    other, inside = halves or {}, told or {}
    shapes: dict[tuple[tuple[str, str], ...], list[tuple[Token, ...]]] = defaultdict(list)
    junk: dict[str, str] = {}
    for path in paths:
        if reason := junk_reason(path):
            junk[path] = reason
        else:
            row = tokens(path, other.get(path, ""), inside.get(path))
            shapes[shape_of(row)].append(row)
    groups = [Group(tuple(rows)) for rows in _formless(shapes.values())]
    return sorted(groups, key=lambda g: (-len(g.paths), g.paths)), junk


def _formless(found: Iterable[list[tuple[Token, ...]]]) -> list[list[tuple[Token, ...]]]:
    """The rows of each group, with one group for files of one folder that are told by content and whose names have no form."""
    alike: dict[object, list[list[tuple[Token, ...]]]] = defaultdict(list)
    for rows in found:
        first = rows[0]
        alike[shape_of((*first[: Group((first,)).name_at], first[-1])) if first[-1].told else first].append(rows)
    kept: list[list[tuple[Token, ...]]] = []
    for several in alike.values():
        if len(several) > _MOST_SHAPES:
            kept.append(sorted((_of_one_name(row) for rows in several for row in rows), key=lambda row: [t.text for t in row]))
        else:
            kept += several
    return kept


def _of_one_name(row: tuple[Token, ...]) -> tuple[Token, ...]:
    start = Group((row,)).name_at
    return (*row[:start], Token("".join(token.text for token in row[start:-1]), "id"), row[-1])


def merged(groups: Iterable[Group], spans: Mapping[int, tuple[int, int]]) -> Group:
    """One group of several that agree but for one stretch of tokens in each.

    Args:
        groups: The groups.
        spans: Number of a group -> first token of its stretch and the first behind it.
    """
    rows = []
    for number, group in enumerate(groups):
        start, end = spans[number]
        for row in group.rows:
            middle = Token("".join(token.text for token in row[start:end]), "free")
            rows.append((*row[:start], middle, *row[end:]))
    return Group(tuple(sorted(rows, key=lambda row: "".join(token.text for token in row))))


def freed(groups: Iterable[Group], positions: Iterable[int]) -> Group:
    """One group of several that agree but for the words at some positions."""
    free = set(positions)
    rows = [tuple(Token(t.text, "free") if n in free else t for n, t in enumerate(row)) for group in groups for row in group.rows]
    return Group(tuple(sorted(rows, key=lambda row: "".join(token.text for token in row))))


def split_by(group: Group, variable: Variable) -> dict[str, Group]:
    """The group's files by the value of a variable."""
    parts: dict[str, list[tuple[Token, ...]]] = defaultdict(list)
    for row, value in zip(group.rows, variable.values, strict=True):
        parts[value].append(row)
    return {value: Group(tuple(rows)) for value, rows in sorted(parts.items())}


def as_regex(values: Iterable[str]) -> str:
    """An expression, as narrow as is sensible, for what a field reads."""
    distinct = sorted(set(values))
    rows = [tokens(value + "/")[:-1] for value in distinct]
    if len({shape_of(row) for row in rows}) == 1:
        return "".join(_part_regex([row[n].text for row in rows], rows[0][n].kind) for n in range(len(rows[0])))
    if numbered := _numbered(rows):
        return numbered
    if len(distinct) <= 12:
        return "|".join(map(escaped, distinct))
    return ".+" if any("/" in value for value in distinct) else "[^/]+"


def _numbered(rows: Sequence[tuple[Token, ...]]) -> str:
    """An expression for a few words with numbers, which reads further numbers behind the same words; empty for other values.

    There are twice as many values as words or more, so that the numbers count what the words do not tell apart.
    """
    shapes: dict[tuple[tuple[str, str], ...], list[tuple[Token, ...]]] = defaultdict(list)
    for row in rows:
        shapes[shape_of(row)].append(row)
    kinds = {tuple(token.kind for token in row) for row in rows}
    if len(kinds) > 1 or len(shapes) > _FEW_SHAPES or len(rows) < 2 * len(shapes):
        return ""
    columns = [[row[n].text for row in rows] for n in range(len(rows[0]))]
    vary = {n for n, texts in enumerate(columns) if len(set(texts)) > 1}
    if {rows[0][n].kind for n in vary} != {"word", "number"}:
        return ""
    if sum(rows[0][n].kind == "word" for n in vary) == 1:
        return "".join(_part_regex(column, rows[0][n].kind) for n, column in enumerate(columns))
    return "|".join(as_regex("".join(token.text for token in row) for row in alike) for alike in shapes.values())


def regex_of_bare(values: Iterable[str]) -> str:
    """An expression for names without endings, which must not read what else lies beside them, and may read more numbers."""
    distinct = sorted(set(values))
    shapes = sorted({_bare_regex(value) for value in distinct})
    if len(shapes) <= _MOST_SHAPES:
        return shapes[0] if len(shapes) == 1 else f"(?:{'|'.join(shapes)})"
    return as_regex(distinct) if any("." in value or "/" in value for value in distinct) else "[^/.]+"


def _bare_regex(name: str) -> str:
    text, behind = "", 0
    for found in _COUNTED.finditer(name):
        text += escaped(name[behind : found.start()]) + _RUNS[found.lastgroup or ""]
        behind = found.end()
    return text + escaped(name[behind:])


def _part_regex(texts: list[str], kind: str) -> str:
    if kind == "number":
        widths = {len(text) for text in texts}
        return rf"\d{{{widths.pop()}}}" if len(widths) == 1 and len(texts[0]) > 1 else r"\d+"
    if len(set(texts)) == 1:
        return escaped(texts[0])
    return "[^/]+" if kind == "id" else f"(?:{'|'.join(map(escaped, sorted(set(texts))))})"


def escaped(text: str) -> str:
    """An expression for a text, in which blanks and hyphens stay as they are."""
    return re.escape(text).replace(r"\-", "-").replace(r"\ ", " ")
