"""Films in colours and volumes of more than three axes, which the dataset language reads channel by channel: which are meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.layout import Plan, Source
from assets.inspect.peek import Peek

_MOST_SERIES = 8
"""More volumes of one file are times or directions rather than kinds of images."""


@dataclass(frozen=True, slots=True)
class Channels:
    """What a draft takes of the fourth axis of a source's files.

    Attributes:
        count: How many channels every file has; 0 where the files that were opened differ.
        each: Whether every channel is a series of its own; else the first is taken.
    """

    count: int
    each: bool

    def of(self, name: str, called: Mapping[int, str]) -> dict[str, dict[str, Any]]:
        """Series name -> which channel it is, and of how many; `called` by a description, if all are."""
        if self.each:
            known = set(range(self.count)) <= set(called)
            return {called[n] if known else f"{name}_{n}": {"channel": n, "channels": self.count} for n in range(self.count)}
        return {name: {"channel": 0, "channels": self.count or "any"}}


def channels_of(source: Source) -> Channels | None:
    """None where the images have three axes, or a person must say which channel is meant."""
    peeks = _opened(source)
    if _in_colours(peeks):
        films = {peek.channels for peek in peeks}
        return Channels(films.pop(), each=False) if len(films) == 1 and all(peek.grey for peek in peeks) else None
    if not any(peek.patient and peek.channels > 1 for peek in peeks):
        return None
    counts = {peek.channels for peek in peeks}
    if len(counts) > 1 or max(counts) > _MOST_SERIES:
        return Channels(0, each=False)
    return Channels(counts.pop(), each=True)


def series_names(source: Source, called: Mapping[int, str]) -> list[str]:
    """The names of the series that a source becomes."""
    taken = channels_of(source)
    return list(taken.of(source.name, called)) if taken is not None else [source.name]


def told_of_channels(planned: Plan) -> Iterator[Evidence | Unknown]:
    """What is said of the fourth axis, a line for each source that has one."""
    for source in planned.series:
        peeks, taken = _opened(source), channels_of(source)
        field, where = f"layout.series.{source.name}.channel", f"such as {source.part.group.paths[0]}"
        if _in_colours(peeks) and taken is None:
            why = f"{source.name} is a film, or a stack of pictures, in colours, {where}; "
            why += "`channel` and `channels` must say which is taken of how many"
            yield Unknown("layout", why)
        elif _in_colours(peeks):
            seen = f"in the {len(peeks)} films that were opened the {peeks[0].channels} colours are equal, {where}"
            yield Evidence(field, "0", 0.9, seen)
        elif taken is not None and taken.each:
            yield Evidence(field, "each", 0.6, f"{taken.count} volumes along the fourth axis, {where}; a series for each")
        elif taken is not None:
            found = ", ".join(map(str, sorted({peek.channels for peek in peeks})))
            why = f"the first volume is taken of the {found} along the fourth axis, {where}; what they are must be said"
            yield Unknown("layout", why)


def _opened(source: Source) -> list[Peek]:
    return [peek for part, _ in source.parts for peek in part.peeks if not peek.trouble]


def _in_colours(peeks: Sequence[Peek]) -> bool:
    return any(peek.is_film_in_colours for peek in peeks)
