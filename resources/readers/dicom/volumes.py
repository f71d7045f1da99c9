"""Tells the volumes of one series apart: time points, echoes, diffusion weightings that repeat the same slices.

A series holds several volumes when every place has the same number of planes. Which plane belongs to which volume is told,
in this order, by one mark that differs at every place (`planes.TIME_MARKS`, `planes.CHANNEL_MARKS`), by all marks that say
how a plane was taken together, or by the order of the instance numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from resources.findings import BadInputError, Code
from resources.readers.dicom.planes import CHANNEL_MARKS, TIME_MARKS, Plane
from resources.readers.image import FourthAxis

_RUN = "acquisition number"
"""Tells the volumes of repeated runs apart, but does not make a film of repeated pictures of one place (bolus tracking)."""

_FREE = frozenset({"trigger time", "frame reference time"})
"""Marks whose values differ from slice to slice: only their order at a place counts."""


@dataclass(frozen=True, slots=True)
class Volumes:
    """Volumes of one grid.

    Attributes:
        planes: For each volume its planes, in the order of the places.
        kind: What the volumes are to one another.
        told_by: Names of the marks that tell them apart; `instance number` where nothing else does.
    """

    planes: tuple[tuple[Plane, ...], ...]
    kind: FourthAxis
    told_by: str


def split_volumes(places: Sequence[Sequence[Plane]], heights: Sequence[float], name: str) -> Volumes:
    """Distribute the planes at each place to volumes.

    Args:
        places: The planes at each place, in the order of the places.
        heights: Where each place is, in mm along the normal.
        name: How findings call the series.

    Raises:
        BadInputError: DUPLICATE_SLICE or MISSING_SLICE.
    """
    counts = [len(place) for place in places]
    if set(counts) == {1}:
        return Volumes((tuple(place[0] for place in places),), "none", "")
    _check_counts(places, heights, name)
    for mark in (*TIME_MARKS, *CHANNEL_MARKS):
        if mark == _RUN and len(places) == 1:
            continue
        ordered = _by_mark(places, mark)
        if ordered is not None:
            return Volumes(_transposed(ordered), "time" if mark in TIME_MARKS else "channel", mark)
    ordered = _by_all_marks(places)
    if ordered is not None:
        return Volumes(_transposed(ordered), "channel", "several marks")
    if len(places) > 1:
        ordered = _by_number(places)
        if ordered is not None:
            return Volumes(_transposed(ordered), "time", "instance number")
    files = ", ".join(sorted({plane.file for plane in places[0]})[:3])
    raise BadInputError(
        Code.DUPLICATE_SLICE,
        f"duplicate slices: {counts[0]} images at each of {len(places)} positions (first {files}), and nothing in their headers "
        "tells which follow one another in time or belong to one volume: not a volume",
        file=name,
    )


def _check_counts(places: Sequence[Sequence[Plane]], heights: Sequence[float], name: str) -> None:
    """Refuse places that do not all have the same number of planes."""
    usual, _ = Counter(len(place) for place in places).most_common(1)[0]
    odd = [index for index, place in enumerate(places) if len(place) != usual]
    if not odd:
        return
    index = odd[0]
    files = ", ".join(sorted(plane.file for plane in places[index])[:3])
    where = (
        f"the position at {heights[index]:.6g} mm along the normal has {len(places[index])} images ({files}), the others {usual}"
    )
    if len(places[index]) > usual:
        raise BadInputError(Code.DUPLICATE_SLICE, f"duplicate slices: {where}; remove the surplus ones", file=name)
    raise BadInputError(Code.MISSING_SLICE, f"missing slices: {where}; a volume is not complete", file=name)


def _by_mark(places: Sequence[Sequence[Plane]], mark: str) -> list[list[Plane]] | None:
    """Each place ordered by one mark, when its values differ there and are the same everywhere."""
    if any(mark not in plane.marks for place in places for plane in place):
        return None
    wanted = {plane.marks[mark] for plane in places[0]}
    for place in places:
        values = {plane.marks[mark] for plane in place}
        if len(values) != len(place) or (values != wanted and mark not in _FREE):
            return None
    if mark in TIME_MARKS:
        return _sorted(places, lambda plane: plane.marks[mark])
    return _sorted_as_first(places, lambda plane: plane.marks[mark])


def _by_all_marks(places: Sequence[Sequence[Plane]]) -> list[list[Plane]] | None:
    """Each place ordered by everything that says how a plane was taken, when that differs there and is the same everywhere."""
    wanted = {_taken(plane) for plane in places[0]}
    for place in places:
        values = {_taken(plane) for plane in place}
        if len(values) != len(place) or values != wanted:
            return None
    return _sorted_as_first(places, _taken)


def _by_number(places: Sequence[Sequence[Plane]]) -> list[list[Plane]] | None:
    """Each place ordered by instance number, when the planes of each rank were all taken in the same way."""
    ordered = _sorted(places, lambda plane: plane.number)
    if any(len({plane.number for plane in place}) != len(place) for place in places):
        return None
    alike = all(len({_how(plane) for plane in volume}) == 1 for volume in _transposed(ordered))
    return ordered if alike else None


def _sorted(places: Sequence[Sequence[Plane]], key: Callable[[Plane], Any]) -> list[list[Plane]]:
    return [sorted(place, key=key) for place in places]


def _sorted_as_first(places: Sequence[Sequence[Plane]], key: Callable[[Plane], Any]) -> list[list[Plane]]:
    """The order in which the source lists the values at the first place, everywhere."""
    listed = sorted(places[0], key=lambda plane: (plane.number, str(key(plane))))
    rank = {key(plane): index for index, plane in enumerate(listed)}
    return _sorted(places, lambda plane: rank[key(plane)])


def _taken(plane: Plane) -> tuple[Any, ...]:
    return tuple(plane.marks.get(mark) for mark in (*TIME_MARKS, *CHANNEL_MARKS) if mark not in _FREE | {_RUN})


def _how(plane: Plane) -> tuple[Any, ...]:
    return tuple(plane.marks.get(mark) for mark in CHANNEL_MARKS)


def _transposed(places: Sequence[Sequence[Plane]]) -> tuple[tuple[Plane, ...], ...]:
    return tuple(zip(*places, strict=True))
