"""Label maps that no word calls so: by what they hold, and by the images that lie beside them under the same names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from assets.inspect.evidence import Evidence
from assets.inspect.grouping import PARTED, Group, Variable, split_by
from assets.inspect.layout import extra
from assets.inspect.lexicon import PROCESSED
from assets.inspect.pairing import Pair, all_pairs
from assets.inspect.peek import Opener, Peek
from assets.inspect.roles import FEW_VALUES, Part
from assets.inspect.tokens import Token

_MOST_SETS, _MOST_WAYS, _MOST_READERS, _FEWEST = 8, 2, 4, 2
_WHITE = 255
"""No label map of few numbers has a greater one, which would be a measured value."""
_CROSSED = 0.8
"""Share of the names under a value that there must be under the value with most."""


def with_unnamed_masks(parts: Sequence[Part], opener: Opener) -> list[Part]:
    """The parts with images taken for label maps, where all three are so.

    - Every file of theirs that was looked at holds 0 and few other whole numbers, or is black and white, in blobs.
    - Other images hold many values.
    - These have the same names one to one, and rows and columns as many.

    Where a word says that a program made them of the images, as of edges, they stay what they were.

    Files of one shape in several folders of the same names, or with several endings of these, are looked at set by set.
    """
    readings = [(part, [[part], *_readings(part, opener)]) for part in parts if _may_be_either(part)]
    whole = [unit for _, ways in readings for way in ways for unit in way if _holds_image(unit.peeks)]
    gone: dict[int, list[Part]] = {}
    for part, ways in readings:
        fitting = ([(unit, image) for unit in way if (image := _image_of(unit, whole)) is not None] for way in ways)
        way, maps = next(((way, maps) for way, maps in zip(ways, fitting, strict=True) if maps), ([], []))
        if not maps and (image := _image_of(part, whole, counted=True)) is not None:
            way, maps = [part], [(part, image)]
        if maps:
            masks = [unit for unit, _ in maps]
            others = [unit for unit in way if all(unit is not mask for mask in masks)]
            gone[id(part)] = [*(_as_mask(unit, image) for unit, image in maps), *_rest(part, others)]
    return [one for part in parts for one in gone.get(id(part), [part])]


def _readings(part: Part, opener: Opener) -> list[list[Part]]:
    """The part's files by a piece of their names that may tell label maps apart, a folder before others; once for each piece."""
    group = part.group
    maps = _may_be_map(part.peeks)
    pieces = [v for v in group.variables if (maps or part.class_at in v.at) and _tells_sets(group, v)]
    pieces.sort(key=lambda v: (part.class_at not in v.at, v.at[-1] >= group.name_at, len(v.distinct)))
    return [_units(part, variable, opener) for variable in pieces[:_MOST_WAYS]]


def _units(part: Part, variable: Variable, opener: Opener) -> list[Part]:
    found = []
    for group in split_by(part.group, variable).values():
        own = _constant(group, part.group)
        ends = dict.fromkeys((own.paths[0], own.paths[-1]))
        peeks = tuple(peek for path in ends if (peek := opener.peek(path)) is not None)
        found.append(replace(part, group=own, peeks=peeks, class_at=None))
    return found


def _may_be_either(part: Part) -> bool:
    return part.role == "image" and part.group.family in ("picture", "volume")


def _tells_sets(group: Group, variable: Variable) -> bool:
    """Whether a variable has few values, and the names under each are among those under one of them."""
    if not 2 <= len(variable.distinct) <= _MOST_SETS or variable.kind == "split":
        return False
    rest = [v for v in group.variables if len(set(zip(v.values, variable.values, strict=True))) > len(variable.distinct)]
    names: dict[str, set[tuple[str, ...]]] = {}
    for n, value in enumerate(variable.values):
        names.setdefault(value, set()).add(tuple(v.values[n] for v in rest))
    most = max(names.values(), key=len)
    return all(len(own) >= _FEWEST and len(own & most) >= _CROSSED * len(own) for own in names.values())


def _constant(group: Group, whole: Group) -> Group:
    """A part of a group with what varies in the whole and not in it as words or numbers of its names."""
    at = [n for v in whole.variables for n in v.at if len({row[n].text for row in group.rows}) == 1]

    def plain(token: Token) -> Token:
        return Token(token.text, "word") if token.kind in ("free", "root", "id") else token

    return Group(tuple(tuple(plain(t) if n in at else t for n, t in enumerate(row)) for row in group.rows))


def _image_of(unit: Part, images: Sequence[Part], *, counted: bool = False) -> Part | None:
    """The images that a part is the label maps of, if it is any; `counted`: several of an image, told apart by a number."""
    if not _may_be_map(unit.peeks) or len(unit.group.paths) < _FEWEST or unit.group.words & PROCESSED:
        return None
    return next((image for image in images if any(_one_to_one(pair, counted=counted) for pair in all_pairs(unit, [image]))), None)


def _one_to_one(pair: Pair, *, counted: bool) -> bool:
    """Whether every file of either has a name of its own in what they share, and rows and columns are equal.

    If `counted`, label maps may have a number besides, of which there are few, such as that of a reader.
    """
    extents = [{peek.shape[:2] for peek in part.peeks if peek.shape} for part in (pair.image, pair.mask)]
    own = [v for n, v in enumerate(pair.image.group.variables) if n not in pair.shared.values() and v.kind not in PARTED]
    variables = pair.mask.group.variables
    besides = [
        n for n in extra(pair) if counted and variables[n].kind == "number" and len(variables[n].distinct) <= _MOST_READERS
    ]
    sides = ((pair.mask.group, [*pair.shared, *besides]), (pair.image.group, [*pair.shared.values()]))
    apart = all(len(set(_read(group, numbers))) == len(group.paths) for group, numbers in sides)
    return bool(extents[0] & extents[1]) and not own and extra(pair) == besides and apart


def _read(group: Group, numbers: Iterable[int]) -> list[tuple[str, ...]]:
    return list(zip(*(group.variables[n].values for n in numbers), strict=True))


def _may_be_map(peeks: Sequence[Peek]) -> bool:
    """Whether all that was looked at is a label map by what it holds, or empty, and something is not empty."""
    read = [peek for peek in peeks if peek.shape]
    return any(map(_is_map, read)) and all(_is_map(peek) or peek.values == (0,) for peek in read)


def _is_map(peek: Peek) -> bool:
    few = peek.is_mask and len(peek.values or ()) <= FEW_VALUES and peek.high <= _WHITE
    return peek.blobs and (peek.blurred or few)


def _holds_image(peeks: Sequence[Peek]) -> bool:
    """Whether all that was looked at holds many values."""
    read = [peek for peek in peeks if peek.shape]
    return bool(read) and not any(peek.blurred or (peek.values is not None and len(peek.values) <= FEW_VALUES) for peek in read)


def _as_mask(unit: Part, image: Part) -> Part:
    peek = next(peek for peek in unit.peeks if peek.shape and _is_map(peek))
    held = "black and white" if peek.blurred else f"few whole numbers, {', '.join(map(str, peek.values or ()))}"
    why = f"{unit.group.paths[0]} and others hold {held}, in blobs, beside {image.group.paths[0]} and others of many values"
    seen = Evidence("role", "mask", 0.7, f"{why} under the same names; no word says so")
    return replace(unit, role="mask", unnamed=True, class_at=None, evidence=(seen,))


def _rest(part: Part, others: Sequence[Part]) -> list[Part]:
    """What is left of a part without its label maps."""
    if len(others) < 2:
        return list(others)
    kept = {path for unit in others for path in unit.group.paths}
    group = Group(tuple(row for row, path in zip(part.group.rows, part.group.paths, strict=True) if path in kept))
    return [replace(part, group=group, peeks=tuple(peek for unit in others for peek in unit.peeks))]
