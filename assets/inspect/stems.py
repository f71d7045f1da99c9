"""Joins images, and label maps whose names begin with an image's whole name, whatever that name looks like."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import PurePosixPath

from assets.inspect.grouping import Group, shape_of
from assets.inspect.lexicon import SEQUENCES
from assets.inspect.roles import Part
from assets.inspect.tokens import Token, words

_ENOUGH, _MOST_STRUCTURES, _MOST_FOLDERS = 0.8, 40, 12

Row = tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class _File:
    """A file whose folder stays as it is, and whose name is one text."""

    folder: Row
    stem: str
    last: Token

    @property
    def ending(self) -> str:
        return self.last.text

    @property
    def where(self) -> str:
        return "".join(token.text for token in self.folder)


def by_stem(parts: Sequence[Part]) -> list[Part]:
    """Joins groups of images of one folder when label maps are called like them with something behind.

    That is only asked where the names have several shapes, so that nothing else links them: `ACB0001.jpg` and `K2.jpg` with
    `ACB0001_polyp.tif` and `K2_polyp.tif`. Or label maps are called like them in a folder of their own; where that is so once,
    it is asked of other folders too, whose names may happen to have one shape.
    """
    images, masks = _by_folder(parts, "image"), _by_folder(parts, "mask")
    found = list(parts)
    by_whole_name = False
    for forms in (3, 2):
        if forms == 2 and not by_whole_name:
            break
        for mask, image in _near_first(masks.values(), images.values()):
            if len(image) + len(mask) < forms or not all(part in found for part in (*image, *mask)):
                continue
            alike = _called_alike(image, mask)
            joined = alike or (_joined(image, mask) if forms == 3 else None)
            if joined is not None:
                found = [part for part in found if part not in image and part not in mask] + joined
                by_whole_name = by_whole_name or alike is not None
    return _in_one_folder(found)


def _near_first(masks: Iterable[list[Part]], images: Iterable[list[Part]]) -> list[tuple[list[Part], list[Part]]]:
    """Label maps of a folder with images of a folder: for each those with which they share most folders come first."""
    every = list(images)
    return [(mask, image) for mask in masks for image in sorted(every, key=lambda image: -_common_folders(image[0], mask[0]))]


def _common_folders(image: Part, mask: Part) -> int:
    """How many folders two parts have in common, from the outermost on."""
    pairs = zip(*(PurePosixPath(part.group.paths[0]).parent.parts for part in (image, mask)), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _in_one_folder(parts: Sequence[Part]) -> list[Part]:
    """Joins images of several folders whose label maps lie beside them and are called like them with the same text behind.

    Some label maps may have something else behind, such as a second one of an image; they stay apart.
    """
    chosen = [part for part in parts if part.role in ("image", "mask") and part.class_at is None]
    images, masks = (_files([part for part in chosen if part.role == role]) for role in ("image", "mask"))
    stems: dict[tuple[str, str], set[str]] = defaultdict(set)
    for file in images:
        stems[file.where, file.ending.lower()].add(file.stem)
    matched = [(file, _longest(file.stem, stems.get((file.where, file.ending.lower()), set()))) for file in masks]
    usual = _commonest(file.stem[len(stem) :] for file, stem in matched if stem)
    found = [(file, stem) for file, stem in matched if stem and file.stem[len(stem) :] == usual]
    folders = {file.where for file, _ in found}
    names = [stem for _, stem in found]
    if not 2 <= len(folders) <= _MOST_FOLDERS or not usual or len(set(names)) < len(names):
        return list(parts)
    if len(found) < _ENOUGH * len(masks) or (len({len(part.group.rows) for part in chosen}) == 1 and len(chosen) == 2):
        return list(parts)
    own = {(file.where, file.ending.lower()) for file, _ in found}
    rows = [_rooted(file, file.stem) for file in images if (file.where, file.ending.lower()) in own]
    labelled = [_rooted(file, stem, file.stem[len(stem) :]) for file, stem in found]
    taken = {"".join(token.text for token in row) for row in (*rows, *labelled)}
    kept = [left for part in parts if (left := _without(part, taken)) is not None]
    first = {role: next(part for part in chosen if part.role == role) for role in ("image", "mask")}
    joined = [replace(first["image"], group=_group(rows)), replace(first["mask"], group=_group(labelled))]
    return kept + joined


def _without(part: Part, taken: set[str]) -> Part | None:
    """The part without some files; None where nothing is left of it."""
    rows = tuple(row for row, path in zip(part.group.rows, part.group.paths, strict=True) if path not in taken)
    if len(rows) == len(part.group.rows):
        return part
    return replace(part, group=replace(part.group, rows=rows)) if rows else None


def _commonest(texts: Iterable[str]) -> str:
    """The text that occurs most often; empty where there is none."""
    return next((text for text, _ in Counter(texts).most_common(1)), "")


def _rooted(file: _File, stem: str, behind: str = "") -> Row:
    own = (Token(file.where, "root"), Token(stem, "free"))
    return (*own, *((Token(behind, "word"),) if behind else ()), file.last)


def _by_folder(parts: Sequence[Part], role: str) -> Mapping[Hashable, list[Part]]:
    found: dict[Hashable, list[Part]] = defaultdict(list)
    for part in parts:
        if part.role == role and part.class_at is None:
            row = part.group.rows[0]
            found[shape_of(row[: part.group.name_at]), part.group.ending.lower()].append(part)
    return found


def _joined(images: Sequence[Part], masks: Sequence[Part]) -> list[Part] | None:
    """The images as one part, and the label maps as one, when enough of these begin like an image; else None."""
    pictures, maps = _files(images), _files(masks)
    stems = {file.stem for file in pictures}
    if len(stems) < len(pictures):
        return None
    tail = "" if any(_longest(file.stem, stems) for file in maps) else _tail(sorted(stems))
    stems = {stem.removesuffix(tail) for stem in stems}
    whose = [_longest(file.stem, stems) for file in maps]
    behind = [file.stem[len(stem) :] for file, stem in zip(maps, whose, strict=True) if stem]
    kinds = set(behind)
    if len(behind) < _ENOUGH * len(maps) or len(kinds) > min(_MOST_STRUCTURES, len(maps)) or "" in kinds:
        return None
    if len(images) == 1 and len(kinds) == 1:
        return None
    if len(kinds) > 1 and (tail or _are_odd(behind) or not all(_names_structure(kind) for kind in kinds)):
        return None
    front = _around(kinds)
    rows = [
        (*file.folder, Token(stem, "free"), *_cut(file.stem[len(stem) :], front), file.last)
        for file, stem in zip(maps, whose, strict=True)
        if stem
    ]
    mask = replace(masks[0], group=_group(rows), role="mask" if len(kinds) == 1 else "structures")
    if len(kinds) > 1:
        mask = replace(mask, label_at=mask.group.name_at + 2)
    named = [(*file.folder, Token(file.stem.removesuffix(tail), "free"), *_whole(tail), file.last) for file in pictures]
    return [replace(images[0], group=_group(named)), mask]


def _called_alike(images: Sequence[Part], masks: Sequence[Part]) -> list[Part] | None:
    """The images as one part, and the label maps as one, when nearly all of these have the whole name of an image; else None."""
    found = [_files(parts) for parts in (images, masks)]
    names = [[file.stem for file in files] for files in found]
    if any(len(set(stems)) < len(stems) for stems in names):
        return None
    if len(set(names[0]) & set(names[1])) < _ENOUGH * len(names[1]):
        return None
    rows = [[(*file.folder, Token(file.stem, "free"), file.last) for file in files] for files in found]
    return [replace(part, group=_group(own)) for part, own in zip((images[0], masks[0]), rows, strict=True)]


def _are_odd(behind: Sequence[str]) -> bool:
    """Whether nearly all have one text behind, and one or several files another each, which names no structure then."""
    (_, most), *others = Counter(behind).most_common()
    return most >= _ENOUGH * len(behind) and all(n == 1 for _, n in others)


def _tail(stems: Sequence[str]) -> str:
    """What all names end with, from a sign on, such as `_image`; empty where they end with nothing in common."""
    shortest = min(map(len, stems))
    same = next((n for n in range(shortest) if len({stem[-1 - n] for stem in stems}) > 1), shortest)
    text = stems[0][len(stems[0]) - same :]
    start = next((n for n, sign in enumerate(text) if not sign.isalnum()), len(text))
    return text[start:]


def _whole(text: str) -> list[Token]:
    return [Token(text, "word")] if text else []


def _files(parts: Sequence[Part]) -> list[_File]:
    found = []
    for part in parts:
        at, last = part.group.name_at, -1 if part.group.has_ending else None
        for row in part.group.rows:
            name = "".join(token.text for token in row[at:last])
            found.append(_File(row[:at], name, row[-1] if part.group.has_ending else Token("", "ending")))
    return found


def _longest(name: str, stems: set[str]) -> str:
    """The longest image's name that a name begins with and does not go on in the middle of a word or number."""
    ends = (end for end in range(len(name), 0, -1) if not name[end : end + 1].isalnum())
    return next((name[:end] for end in ends if name[:end] in stems), "")


def _names_structure(text: str) -> bool:
    said = words(text)
    return bool(said) and not set(said) & SEQUENCES and not any(letter.isdigit() for letter in text)


def _around(kinds: set[str]) -> int:
    """How many signs that are no letters all texts begin with."""
    first = min(kinds)
    front = next((n for n, sign in enumerate(first) if sign.isalnum()), len(first))
    return front if len({kind[:front] for kind in kinds}) == 1 else 0


def _cut(behind: str, front: int) -> list[Token]:
    return [Token(behind[:front], "sign"), Token(behind[front:], "free")]


def _group(rows: Sequence[Row]) -> Group:
    return Group(tuple(sorted(rows, key=lambda row: "".join(token.text for token in row))))
