"""How the keys of an object in JSON name the images: by their paths, their names, or a part of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assets.inspect.layout import Plan
from assets.inspect.tables import Naming, Table
from assets.templates import stem

_NEARLY_ALL = 0.9
_NAME, _ENTRY = "name", "entry"


@dataclass(frozen=True, slots=True)
class Named:
    """Entries that are called like images.

    Attributes:
        entries: Number of the first image that an entry names -> the entry.
        is_all: Whether every image has an entry.
        naming: What stands before and behind what names an image.
        keyed: Number of that, among the parts of the images' names.
        template: Template of the whole name, where that is no part.
    """

    entries: Mapping[int, Any]
    is_all: bool
    naming: Naming
    keyed: int = 0
    template: str = ""


def named_images(planned: Plan, listed: Mapping[str, Any]) -> Named | None:
    """The entries of nearly all images, in the first way that all of these are named in; None where there is no such way.

    Mere numbers name images only where these have just the same numbers: others may count something else. An entry for several
    images is one for all of a subject.

    Args:
        planned: The layout.
        listed: An object whose keys may name the images.
    """
    for names, named in _ways(planned, listed):
        told = [number for number, name in enumerate(names) if name in listed]
        counted = all(key.isdecimal() for key in listed) and set(names) != set(listed)
        shared = len(set(names)) < len(names) and _field(planned, named[1]) != "subject"
        if len(told) < _NEARLY_ALL * len(names) or counted or shared:
            continue
        first: dict[str, int] = {}
        for number in told:
            first.setdefault(names[number], number)
        entries = {number: listed[name] for name, number in first.items()}
        return Named(entries, len(told) == len(names), *named)
    return None


def _ways(planned: Plan, listed: Mapping[str, Any]) -> Iterator[tuple[Sequence[str], tuple[Naming, int, str]]]:
    """What each image would be called by a key, and how a draft says that."""
    group = planned.reference.group
    if not listed or not group.paths:
        return
    names = [path.rpartition("/")[2] for path in group.paths]
    whole = len(group.variables)
    yield names, (Naming(""), whole, "{name}")
    yield group.paths, (Naming(""), whole, "{path}")
    columns = [*(variable.values for variable in group.variables), tuple(map(stem, names))]
    table = Table("", {_NAME: tuple(listed), _ENTRY: ("",) * len(listed)}, ",")
    for number, naming in table.namings(columns):
        if naming.column == _NAME and _field(planned, number):
            yield [naming.before + value + naming.behind for value in columns[number]], (naming, number, "")


def _field(planned: Plan, number: int) -> str:
    """The field of the layout that reads just this part of the names, or `stem` for the whole; empty where there is none."""
    variables = planned.reference.group.variables
    if number == len(variables):
        return "stem"
    own = (stretch for stretch in planned.series[0].where if stretch.start in variables[number].at)
    return next((stretch.field for stretch in own if stretch.end - stretch.start == 1), "")
