"""Looks into files whose names do not say what they are, a few of every group of names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from assets.inspect.formats import IMAGES, UNTOLD, Family, family_inside
from assets.inspect.grouping import Group, gathered
from assets.raw.rows import row_of

PER_GROUP, IN_ALL = 3, 200
"""Files of one group, and of a folder, whose first bytes are read."""


def told_by_content(root: Path, paths: Iterable[str], halves: Mapping[str, str]) -> dict[str, Family]:
    """What files are, whose names have no ending or one that says nothing: those of groups that hold images.

    Of every group, the largest first, the first, the middle and the last file are looked at, and most of these decide for the
    rest. When enough files have been looked at, the other groups are taken for what all groups of their ending were.

    Args:
        root: The folder.
        paths: Files below it, with forward slashes.
        halves: File -> the other one, of images in two files; of these it is known what they are.
    """
    left = IN_ALL
    told: dict[str, Family] = {}
    seen: dict[str, set[Family]] = {}
    for group in gathered(path for path in paths if path not in halves and row_of(path) is None)[0]:
        if group.family not in UNTOLD:
            continue
        some = _some(group.paths)
        if len(some) <= left:
            left -= len(some)
            inside = _most(family_inside(root / path) for path in some)
            seen.setdefault(group.ending.lower(), set()).add(inside)
        else:
            inside = _agreed(group, seen)
        if inside in IMAGES:
            told |= dict.fromkeys(group.paths, inside)
    return told


def _some(paths: tuple[str, ...]) -> list[str]:
    """The first, the middle and the last, each once."""
    last = len(paths) - 1
    return list(dict.fromkeys(paths[n * last // (PER_GROUP - 1)] for n in range(PER_GROUP)))


def _most(found: Iterable[Family]) -> Family:
    """What more than half of the files are."""
    counted = Counter(found)
    family, count = counted.most_common(1)[0]
    return family if 2 * count > counted.total() else "other"


def _agreed(group: Group, seen: Mapping[str, set[Family]]) -> Family:
    families = seen.get(group.ending.lower(), set())
    return next(iter(families)) if len(families) == 1 else "other"
