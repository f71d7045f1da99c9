"""What label ids are called in a draft, and whether its label maps hold one structure or grey levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assets.inspect.colours import drawn_in_colours, labels_of
from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.label_tables import NamedIds, named_ids
from assets.inspect.labels import around_of, grey_levels, ids_of, told_apart
from assets.inspect.layout import Plan, Source
from assets.inspect.lexicon import words_of
from assets.inspect.peek import Opener, Peek
from assets.inspect.roles import Part

_BACKGROUND = words_of("background bg back none nothing unlabeled unlabelled void clear unknown outside other empty exterior no")
_SHOWN, _HALF, _MUCH = 8, 0.5, 10
_OBJECTS = 6
"""Objects in one picture from which on numbers without a gap are taken to count them."""


@dataclass(frozen=True)
class LabelNames:
    """What is known of label ids.

    Attributes:
        names: Id -> name.
        answers: Why, and what is not known.
        plan: The plan, which knows now whether the label maps hold one structure.
        path: The file that names them; empty where none does.
    """

    names: dict[int, str]
    answers: tuple[Evidence | Unknown, ...]
    plan: Plan
    path: str = ""


def label_names(root: Path, parts: Sequence[Part], planned: Plan, opener: Opener) -> LabelNames:
    """The ids of a plan's label maps with their names, and a doubt where 0 may not be the background.

    Args:
        root: The folder.
        parts: Its groups of files.
        planned: Its layout; has label maps.
        opener: Opens a few of them.
    """
    told = _names(root, parts, planned, opener)
    around = () if told.plan.colours else around_of([part for source in planned.labels for part, _ in source.parts])
    return replace(told, answers=(*told.answers, *around))


def _names(root: Path, parts: Sequence[Part], planned: Plan, opener: Opener) -> LabelNames:
    """The ids with their names."""
    first = planned.labels[0]
    maps = [part for source in planned.labels for part, _ in source.parts]
    if first.part.role == "structures":
        variable = next(v for v in first.part.group.variables if first.part.label_at in v.at)
        said = dict(enumerate(variable.distinct, start=1))
        seen = "one file per structure: their names; ids in alphabetical order"
        return LabelNames(said, (Evidence("labels", f"{len(said)} names", 0.9, seen),), planned)
    if first.at_least is None and not first.channels and drawn_in_colours(maps, opener):
        texts = [path for part in parts if part.role in ("text", "table") for path in part.group.paths[:2]]
        drawn, names, answer = labels_of(maps, opener, root, texts)
        return LabelNames(names, (answer,), replace(planned, colours=drawn))
    found = list(named_ids(root, parts))
    if (made := _made(planned, first)) is not None:
        ids, seen, planned = made
        return _named(ids, seen, _exactly(ids, found), planned, found)
    return _stored(planned, found, *ids_of(maps, opener, first.key))


def _stored(planned: Plan, found: Sequence[NamedIds], stored: tuple[int, ...], seen: str) -> LabelNames:
    """The names of the numbers that label maps hold.

    Args:
        planned: The layout.
        found: Files that may name them.
        stored: The numbers.
        seen: Where they were seen.
    """
    first = planned.labels[0]
    fitting = [one for one in found if _fits(one, stored)]
    if fitting and len(set(fitting[0].above) | set(stored)) > 1:
        return _named(stored, seen, fitting, planned)
    if len(stored) == 1:
        alone = [replace(one, names={1: one.names[stored[0]]}) for one in fitting] or _exactly((1,), found)
        return _named((1,), seen, alone, replace(planned, binary=True), found)
    if first.part.group.family == "picture" and (levels := grey_levels(stored)):
        seen = f"even grey levels {', '.join(map(str, levels))} of {first.part.group.paths[0]}"
        ids = tuple(levels.values())
        return _named(ids, seen, _exactly(ids, found), replace(planned, levels=levels), found)
    return _named(stored, seen, fitting, planned, found)


def _exactly(ids: Sequence[int], found: Sequence[NamedIds]) -> list[NamedIds]:
    """Files made for label ids that name these and no others."""
    return [one for one in found if (one.called or one.sure) and set(one.above) == set(ids)]


def _made(planned: Plan, first: Source) -> tuple[tuple[int, ...], str, Plan] | None:
    """Ids that no label map holds as numbers, and where they come from."""
    if first.channels:
        return tuple(range(1, first.channels + 1)), f"channels of the array {first.key!r}", planned
    if first.at_least is not None:
        return (1,), f"values of {first.part.group.paths[0]} from {first.at_least:g} on; the level is a guess", planned
    peeks = [peek for source in planned.labels for part, _ in source.parts for peek in part.peeks]
    if any(peek.numbered for peek in peeks) or _count_objects(peeks):
        seen = f"numbers of objects in {first.part.group.paths[0]}, which are taken for one structure"
        return (1,), seen, replace(planned, binary=True)
    return None


def _count_objects(peeks: Sequence[Peek]) -> bool:
    """Whether pictures hold all numbers from 1 to one that is another in each: as many as there are objects in it."""
    held = [[value for value in peek.values if value] for peek in peeks if peek.values and not peek.patient]
    counted = all(values == list(range(1, len(values) + 1)) for values in held)
    most = [len(values) for values in held]
    return counted and len(held) > 1 and len(set(most)) == len(most) and max(most) >= _OBJECTS


def _fits(one: NamedIds, ids: Sequence[int]) -> bool:
    """Whether a file names these ids: all, or at least half where it does not begin with a structure.

    A list that says nothing but numbers and names must not be ten times as long as what is seen of it, and where it is not called
    like one of label ids, it must name exactly these, and several.
    """
    named = set(one.above)
    if not one.called and not one.sure:
        return named == set(ids) and len(ids) > 1
    if not one.sure and len(named) > _MUCH * max(1, len(ids)):
        return False
    share = len(named & set(ids)) / len(ids) if ids else 1.0
    return bool(named) and (share == 1 or (share >= _HALF and _begins_with_background(one.names)))


def _begins_with_background(names: Mapping[int, str]) -> bool:
    return 0 not in names or bool(set(names[0].lower().replace("_", " ").replace("-", " ").split()) & _BACKGROUND)


def _named(
    ids: Sequence[int], seen: str, fitting: Sequence[NamedIds], planned: Plan, found: Sequence[NamedIds] = ()
) -> LabelNames:
    """The ids with the names of the first file that fits, where no other calls them otherwise.

    Args:
        ids: The ids.
        seen: Where they come from.
        fitting: Files that name them.
        planned: The layout.
        found: Files that may name other ids.
    """
    told = fitting[0] if fitting else None
    others = [one for one in fitting if told is not None and not told.sure and not _agree(one, told, ids)]
    if told is None or others:
        names = {number: f"label {number}" for number in ids}
        return LabelNames(names, (Unknown("labels", _why_untold(ids, seen, found, [*fitting[:1], *others])),), planned)
    missing = [number for number in ids if number not in told.names]
    names = told.above | {number: f"label {number}" for number in missing}
    confidence = 0.95 if told.sure else 0.9 if told.called else 0.7
    evidence = Evidence("labels", f"{len(told.above)} names", confidence, f"{told.path} names the ids")
    return LabelNames(told_apart(names), (evidence, *_left_open(told, missing)), planned, told.path)


def _left_open(told: NamedIds, missing: Sequence[int]) -> Iterator[Unknown]:
    if missing:
        yield Unknown("labels", f"label maps hold {_listed(missing)}, and {told.path} does not name that")
    if not _begins_with_background(told.names):
        yield Unknown("labels", f"{told.path} calls 0 {told.names[0]!r}; 0 is background in a draft")


def _agree(one: NamedIds, other: NamedIds, ids: Sequence[int]) -> bool:
    """Whether two files call the ids alike, as far as both name them."""
    return all(one.names[n].lower() == other.names[n].lower() for n in ids if n in one.names and n in other.names)


def _why_untold(ids: Sequence[int], seen: str, found: Sequence[NamedIds], rivals: Sequence[NamedIds]) -> str:
    if not ids:
        return "no label map that was opened holds a number above 0"
    if rivals:
        return f"{rivals[0].path} and {rivals[1].path} call the ids otherwise; they are the {seen}"
    near = next((one for one in found if one.called or one.sure), None)
    if near is not None:
        return f"{near.path} names {_listed(sorted(near.names))}, which does not fit the {seen}"
    return f"what the ids mean is said nowhere; they are the {seen}"


def _listed(ids: Sequence[int]) -> str:
    return ", ".join(map(str, ids[:_SHOWN])) + (", ..." if len(ids) > _SHOWN else "")
