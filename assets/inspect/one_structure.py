"""Names and ids of label maps that hold one structure each, beside others whose values are ids already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.label_names import LabelNames
from assets.inspect.labels import told_apart
from assets.inspect.layout import Plan, Source
from assets.inspect.peek import Opener

Names = dict[int, str]

_ROUND = 100


def named_apart(planned: Plan, opener: Opener, names_of: Callable[[Plan], LabelNames]) -> LabelNames:
    """The names of all label ids, where label maps of one structure have the ids behind those of the others.

    Args:
        planned: The layout.
        opener: Knows which label maps have been opened.
        names_of: The same for label maps whose values are ids.
    """
    own = [source for source in planned.labels if source.nonzero_is is not None]
    several = tuple(source for source in planned.labels if source.nonzero_is is None)
    if not several:
        names, answer = _called(own)
        return LabelNames(names, (answer,), planned)
    told = names_of(replace(planned, labels=several))
    rest = replace(told.plan, unknown=(*told.plan.unknown, *_ids_of_two(several)))
    if not own:
        return replace(told, plan=rest)
    known = any(isinstance(answer, Evidence) for answer in told.answers) or _all_opened(several, opener)
    highest = max(told.names, default=0)
    first = highest if known else (highest // _ROUND + 1) * _ROUND
    moved = {source.nonzero_is: first + source.nonzero_is for source in own if source.nonzero_is is not None}
    labels = tuple(replace(s, nonzero_is=moved[s.nonzero_is]) if s.nonzero_is is not None else s for s in planned.labels)
    called, why = _called([source for source in labels if source.nonzero_is is not None])
    doubts = [why] if isinstance(why, Unknown) else []
    rest = replace(rest, labels=labels, unknown=(*rest.unknown, *doubts))
    return replace(told, names=told_apart(told.names | called), plan=rest)


def numbered(labels: Iterable[tuple[Source, str | None]]) -> Iterator[Source]:
    """Label maps with the number of the one structure that each shows.

    Args:
        labels: Label maps with the name of that structure, which may be empty; None where their values are ids.
    """
    numbers: dict[object, int] = {}
    for source, called in labels:
        if called is None:
            yield source
        else:
            number = numbers.setdefault(called.lower() or source.sort, len(numbers) + 1)
            yield replace(source, nonzero_is=number, called=called)


def _all_opened(several: Sequence[Source], opener: Opener) -> bool:
    """Whether no label map was left out, in which there may be ids that were not seen."""
    return all(opener.has_opened(path) for source in several for part, _ in source.parts for path in part.group.paths)


def _called(own: Sequence[Source]) -> tuple[Names, Evidence | Unknown]:
    """The names of label maps of one structure each; what the rest is called is unknown."""
    called = {source.nonzero_is: source.called or f"label {source.nonzero_is}" for source in own if source.nonzero_is is not None}
    if nameless := next((source for source in own if not source.called), None):
        return called, Unknown("labels", f"what {nameless.part.group.paths[0]} shows is said nowhere")
    seen = "label maps of one structure each are called so; the ids are ours"
    return called, Evidence("labels", f"{len(called)} name{'s' if len(called) > 1 else ''}", 0.7, seen)


def _ids_of_two(several: Sequence[Source]) -> list[Unknown]:
    """Ids that label maps of different sorts have in common, which may not mean the same."""
    found: dict[object, set[int]] = {}
    for source in (source for source in several if source.sort):
        values = {value for peek in source.part.peeks for value in peek.values or () if value}
        found.setdefault(source.sort, set()).update(values)
    twice = sorted(number for number, count in Counter(n for ids in found.values() for n in ids).items() if count > 1)
    if not twice:
        return []
    names = ", ".join(source.name for source in several)
    return [Unknown("labels", f"whether {', '.join(map(str, twice))} are the same structures in {names} is said nowhere")]
