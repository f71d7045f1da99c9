"""Folders of subjects that are called by words, as by names of people: `Mueller/ct.nii.gz`, `Schmidt/ct.nii.gz`, ..."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from assets.inspect.formats import IMAGES
from assets.inspect.grouping import Group, shape_of
from assets.inspect.lexicon import BODY_PARTS, CONDITIONS, IMAGE, MASK, MODALITIES, OCCASION, SEQUENCES, SHARES, SPLITS, TIMES
from assets.inspect.tokens import Token, words

_KINDS = IMAGE | MASK | SEQUENCES | TIMES | SPLITS | BODY_PARTS | CONDITIONS | SHARES | OCCASION
"""A folder called by such a word is a kind of image, a part of a set or a class, and nobody's."""
_SAY_WHAT = IMAGE | MASK | SEQUENCES
_FEWEST, _MOST_NAMES, _ENOUGH = 3, 12, 0.5
_FEW_KINDS = 0.1
"""Share of folders that may be called by such a word all the same, as some people are."""

Row = tuple[Token, ...]


_SLASH = Token("/", "sign")


@dataclass
class _Level:
    """Folders of one level below folders of one shape.

    Attributes:
        inside: Folder, as it is called -> what its images are called below it, and whether that has a number of its own.
        above: The paths of what it lies in.
        counted: Whether these paths have numbers, ids or subjects.
    """

    inside: dict[str, set[tuple[str, bool]]] = field(default_factory=lambda: defaultdict(set))
    above: set[str] = field(default_factory=set)
    counted: bool = False

    def add(self, row: Row, cut: tuple[int, int]) -> None:
        """Take in an image."""
        below = _freed(row, cut, "*")[cut[0] + 1 :]
        numbered = any(token.kind in ("number", "id", "row") for token in below)
        self.inside[_text(row[slice(*cut)])].add((_text(below), numbered))
        self.above.add(_text(row[: cut[0]]))
        self.counted |= any(token.kind in ("number", "id", "free") for token in row[: cut[0]])


def with_named_folders(groups: Sequence[Group]) -> list[Group]:
    """The groups with folders of subjects as one part of the path that varies, where these are called by words.

    They are where three or more folders of one level, at least one of them called by words that mean nothing else, hold the
    same few names of images, and these have no number or id of their own. What is called like the folder below it varies with
    it. Folders that hold the same numbers stay what they are.
    """
    found = list(groups)
    deepest = max((row.count(_SLASH) for group in groups for row in group.rows[:1]), default=0)
    for depth in range(deepest):
        found = _at_depth(found, depth)
    return found


def _at_depth(groups: Sequence[Group], depth: int) -> list[Group]:
    levels: dict[Hashable, _Level] = defaultdict(_Level)
    for group in groups:
        if group.family not in IMAGES or group.family == "dicom":
            continue
        for row in group.rows:
            if (cut := _folder(row, depth)) is not None:
                levels[shape_of(row[: cut[0]])].add(row, cut)
    chosen = {key: names for key, level in levels.items() if (names := _subjects(level))}
    if not chosen:
        return list(groups)
    rows: dict[Hashable, list[Row]] = defaultdict(list)
    for number, group in enumerate(groups):
        for row in group.rows:
            cut = _folder(row, depth)
            if cut is not None and _text(row[slice(*cut)]) in chosen.get(shape_of(row[: cut[0]]), ()):
                new = _freed(row, cut)
                rows[shape_of(new)].append(new)
            else:
                rows[number].append(row)
    made = [Group(tuple(sorted(own, key=_text))) for own in rows.values()]
    return sorted(made, key=lambda group: (-len(group.paths), group.paths))


def _folder(row: Row, depth: int) -> tuple[int, int] | None:
    """Tokens of a folder, counted from the outmost."""
    slashes = [-1, *(n for n, token in enumerate(row) if token.text == "/")]
    return (slashes[depth] + 1, slashes[depth + 1]) if depth + 1 < len(slashes) else None


def _freed(row: Row, cut: tuple[int, int], name: str = "") -> Row:
    """The row with its folder as one token, and with one wherever the name of the file repeats the folder."""
    own = row[slice(*cut)]
    one = Token(name or _text(own), "free")
    behind: list[Token] = []
    at = cut[1]
    while at < len(row):
        if row[at : at + len(own)] == own:
            behind.append(one)
            at += len(own)
        else:
            behind.append(row[at])
            at += 1
    return (*row[: cut[0]], one, *behind)


def _subjects(level: _Level) -> frozenset[str]:
    """The folders of a level that are subjects; none where some say a kind or a class, or do not hold the same."""
    counts = Counter(name for names in level.inside.values() for name in names)
    common = {name for name, count in counts.items() if count >= max(_FEWEST, _ENOUGH * len(level.inside))}
    alike = {folder for folder, names in level.inside.items() if 2 * len(names & common) >= len(common) > 0}
    if len(alike) < _FEWEST or len(common) > _MOST_NAMES or any(numbered for _, numbered in common):
        return frozenset()
    if (
        sum(map(_says_kind, alike)) > _FEW_KINDS * len(alike)
        or not any(map(_is_word, alike))
        or (level.counted and len(level.above) > 1)
    ):
        return frozenset()
    told = all("/" not in name[1:] for name, _ in common) and any(set(words(name)) & _SAY_WHAT for name, _ in common)
    return frozenset(alike) if told or len(alike) > len(common) else frozenset()


def _is_word(folder: str) -> bool:
    return any(letter.isalpha() for letter in folder) and not any(letter.isdigit() for letter in folder)


def _says_kind(folder: str) -> bool:
    said = set(words(folder)) if folder.isascii() else {word.lower() for word in re.findall(r"[^\W\d_]+", folder)}
    return bool(said & _KINDS) or any(part in folder.lower() for part, _ in MODALITIES)


def _text(row: Sequence[Token]) -> str:
    return "".join(token.text for token in row)
