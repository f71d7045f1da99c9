"""Which of the published classes one of our labels is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

BACKGROUND = "background"


class ClassesUnclearError(ValueError):
    """Labels and published classes do not tell which is which; the message names those that stand alone."""


def class_ids(labels: Mapping[int, Sequence[str]], classes: Sequence[str]) -> dict[int, int]:
    """Label id -> place of its class in the published list.

    A label is the class that bears its name or one of its aliases; where all do, several may be of one class. Where the names do
    not settle it, there must be as many labels as classes, the background left out, and they are taken in order.

    Args:
        labels: Label id -> its name and aliases.
        classes: The published names, in order of their ids.

    Returns:
        A label that is none of the classes is left out, if every class has found its label.

    Raises:
        ClassesUnclearError: Neither names nor numbers agree, or the order contradicts a name.
    """
    places = {_plain(name): place for place, name in enumerate(classes) if _plain(name) != BACKGROUND}
    named = {label: places[name] for label, names in labels.items() for name in map(_plain, names) if name in places}
    distinct = len(set(named.values())) == len(named)
    if len(named) == len(labels) or (distinct and len(named) == len(places)):
        return named
    in_order = dict(zip(sorted(labels), sorted(places.values()), strict=False))
    if len(labels) != len(places) or any(in_order[label] != place for label, place in named.items()):
        shown = {label: names[0] for label, names in labels.items() if label not in named}
        left = [classes[place] for place in places.values() if place not in named.values()]
        raise ClassesUnclearError(
            f"which class of MDS-Bench is which label cannot be told: labels {shown} and classes {left} stand alone; "
            "give the labels the names of their classes as aliases"
        )
    return in_order


def _plain(name: str) -> str:
    return " ".join(name.lower().replace("_", " ").replace("-", " ").split())
