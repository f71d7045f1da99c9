"""Folders that each hold images and their label maps, under names that begin anew: `a/img/1.png`, `a/seg/1.png`, `b/...`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from assets.inspect.grouping import Group, shape_of
from assets.inspect.roles import Part
from assets.inspect.tokens import Token

_ENOUGH = 0.5
"""Share of the images with label maps from which on the folders are parts of a segmentation, and no classes."""


def side_by_side(parts: Sequence[Part]) -> list[Part]:
    """Joins the label maps of such folders, and has the images' folder say which part of the set they lie in.

    Without that a label map would be found for an image of the same name in the other folder. Images that a folder may give a
    class are looked at, as others of the same names in several folders are kept apart by then.
    """
    found = list(parts)
    for image in [part for part in parts if part.role == "image" and part.class_at is not None]:
        masks = _of_its_folders(image, [part for part in found if part.role == "mask"])
        if len(masks) < 2 or not _repeat_names(masks):
            continue
        rows = [row for folder, (part, at) in masks.items() for row in _rooted(part.group, at, folder)]
        if len(rows) < _ENOUGH * len(image.group.rows):
            continue
        gone = [part for part, _ in masks.values()]
        found = [part for part in found if part is not image and part not in gone]
        found += [_without_class(image), replace(gone[0], group=_group(rows))]
    return found


def _of_its_folders(image: Part, masks: Sequence[Part]) -> Mapping[str, tuple[Part, tuple[int, int]]]:
    """Folder that may be a class of the images -> the label maps in one of that name, and where it stands in their paths.

    Empty where those of one folder are of several forms, or those of two lie elsewhere or are of different forms.
    """
    group, at = image.group, image.class_at or 0
    if not _is_folder(group, at):
        return {}
    found: dict[str, tuple[Part, tuple[int, int]]] = {}
    forms = set()
    for folder in sorted({row[at].text for row in group.rows}):
        inside = [(part, span) for part in masks if (span := _span(part.group, folder)) is not None]
        if len(inside) > 1:
            return {}
        for part, (start, end) in inside:
            found[folder] = (part, (start, end))
            row = part.group.rows[0]
            forms.add(("".join(token.text for token in row[:start]), shape_of(row[end:])))
    return found if len(forms) == 1 else {}


def _is_folder(group: Group, at: int) -> bool:
    return at < group.name_at and group.rows[0][at + 1].text == "/"


def _span(group: Group, folder: str) -> tuple[int, int] | None:
    """Where a folder's name stands in the paths of files that all lie in it; None where they do not."""
    place = f"/{group.paths[0]}".find(f"/{folder}/")
    before = group.paths[0][:place]
    if place < 0 or not all(path.startswith(f"{before}{folder}/") for path in group.paths):
        return None
    starts = list(accumulate((len(token.text) for token in group.rows[0]), initial=0))
    ends = (place, place + len(folder))
    return (starts.index(ends[0]), starts.index(ends[1])) if set(ends) <= set(starts) else None


def _repeat_names(masks: Mapping[str, tuple[Part, tuple[int, int]]]) -> bool:
    """Whether a name is in more than one of the folders, so that it alone does not tell whose label map it is."""
    times: dict[str, int] = defaultdict(int)
    for part, (_, end) in masks.values():
        for name in {"".join(token.text for token in row[end:]) for row in part.group.rows}:
            times[name] += 1
    return any(n > 1 for n in times.values())


def _rooted(group: Group, span: tuple[int, int], folder: str) -> list[tuple[Token, ...]]:
    start, end = span
    return [(*row[:start], Token(folder, "root"), *row[end:]) for row in group.rows]


def _without_class(image: Part) -> Part:
    at = image.class_at or 0
    rows = [(*row[:at], Token(row[at].text, "root"), *row[at + 1 :]) for row in image.group.rows]
    return replace(image, group=_group(rows), class_at=None)


def _group(rows: Sequence[tuple[Token, ...]]) -> Group:
    return Group(tuple(sorted(rows, key=lambda row: "".join(token.text for token in row))))
