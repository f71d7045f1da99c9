"""Joins files of one shape that lie in several folders: parts of a set that was cut into pieces, such as `part_1/` and `.`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations

from assets.inspect.grouping import Group
from assets.inspect.grouping import shape_of as _shape
from assets.inspect.lexicon import IMAGE, MASK, SEQUENCES, SPLITS
from assets.inspect.roles import Part
from assets.inspect.tokens import Token, words

_CROSSED = 0.34
"""Share of names in common from which on two folders are taken for two things of the same subjects."""


def roots(
    parts: Sequence[Part], *, roles: Iterable[str] = ("image", "mask"), crossed: bool = False, splits: bool = False
) -> list[Part]:
    """Joins groups whose files are called alike but lie in folders that differ in one stretch of the path.

    The stretch becomes one token of the kind `root`. Folders that hold the same names are left apart: they are series, readers
    or versions. So are parts of an official split,
    of which one may have label maps and another none.

    Args:
        parts: Groups with roles.
        roles: Which of them to look at.
        crossed: Join folders of the same names too, and those that say a kind of image.
        splits: Join parts of an official split too.
    """
    wanted = set(roles)
    kept = [part for part in parts if part.role not in wanted]
    buckets: dict[Hashable, list[Part]] = defaultdict(list)
    for part in parts:
        if part.role in wanted:
            row = part.group.rows[0]
            buckets[part.role, _shape(row[part.group.name_at :]), part.class_at is None].append(part)
    for bucket in buckets.values():
        kept += _joined(bucket, crossed=crossed, splits=splits)
    return kept


def _joined(bucket: Sequence[Part], *, crossed: bool, splits: bool) -> list[Part]:
    if len(bucket) < 2 or any(part.class_at is not None for part in bucket):
        return list(bucket)
    folders = [_folders(part.group) for part in bucket]
    front, back = _common(folders)
    spans = [(_at(part.group, front), _at(part.group, len(own) - back)) for part, own in zip(bucket, folders, strict=True)]
    if any(_repeat(part.group, span) for part, span in zip(bucket, spans, strict=True)):
        return list(bucket)
    if not crossed:
        apart = any(_reserved(part.group, span) for part, span in zip(bucket, spans, strict=True))
        shares = {frozenset(_said(part.group, span) & SPLITS) for part, span in zip(bucket, spans, strict=True)}
        if apart or (len(shares) > 1 and not splits) or _share_names(bucket, spans):
            return list(bucket)
    rows = []
    for part, (start, end) in zip(bucket, spans, strict=True):
        for row in part.group.rows:
            text = "".join(token.text for token in row[start:end])
            rows.append((*row[:start], Token(text, "root"), *row[end:]))
    ordered = tuple(sorted(rows, key=lambda row: "".join(token.text for token in row)))
    return [replace(bucket[0], group=Group(ordered), label_at=None)]


def _folders(group: Group) -> list[tuple[tuple[str, str], ...]]:
    """The shape of each folder, outermost first."""
    found: list[list[Token]] = [[]]
    for token in group.rows[0][: group.name_at]:
        if token.text == "/":
            found.append([])
        else:
            found[-1].append(token)
    return [_shape(folder) for folder in found[:-1]]


def _common(folders: Sequence[Sequence[Hashable]]) -> tuple[int, int]:
    """How many folders all paths begin with, and how many behind them all end with."""
    shortest = min(map(len, folders))
    front = next((n for n in range(shortest) if len({own[n] for own in folders}) > 1), shortest)
    back = next((n for n in range(shortest - front) if len({own[-1 - n] for own in folders}) > 1), shortest - front)
    return front, back


def _at(group: Group, level: int) -> int:
    """The first token of a folder, or of the name behind the last one."""
    slashes = [n for n, token in enumerate(group.rows[0]) if token.text == "/"]
    return slashes[level - 1] + 1 if level else 0


def _repeat(group: Group, span: tuple[int, int]) -> bool:
    """Whether the folders are those of subjects: what varies in them stands in the names of the files again."""
    inside = [{span[0] <= at < span[1] for at in variable.at} for variable in group.variables]
    return any(len(both) > 1 for both in inside)


def _reserved(group: Group, span: tuple[int, int]) -> bool:
    """Whether the folders say a kind of image or of acquisition."""
    return bool(_said(group, span) & (SEQUENCES | MASK | IMAGE))


def _said(group: Group, span: tuple[int, int]) -> set[str]:
    return set(words("".join(token.text for token in group.rows[0][slice(*span)])))


def _share_names(bucket: Sequence[Part], spans: Sequence[tuple[int, int]]) -> bool:
    names = [
        {"".join(token.text for token in row[end:]) for row in part.group.rows}
        for part, (_, end) in zip(bucket, spans, strict=True)
    ]
    return any(len(one & two) > _CROSSED * min(len(one), len(two)) for one, two in combinations(names, 2))
