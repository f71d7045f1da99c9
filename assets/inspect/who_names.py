"""Names, or folders in them, that begin with a person and go on in any way: `person1_bacteria_1`, `study/patient07/2`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.grouping import escaped
from assets.inspect.lexicon import PERSON
from assets.inspect.who_tables import PeopleRule, is_sure

_FRONT = re.compile(r"(?<![^/])([A-Za-z]+)([ _-]*)\d+")
_ENOUGH = 0.9
"""Share of names that must begin with a person for these to be read."""
_FEW, _MOST_FRONTS = 2, 4


def from_names(subjects: Sequence[str], evidence: Sequence[Evidence]) -> PeopleRule | Unknown | None:
    """The people that names begin with; why they are not read, where too few names do; None where hardly any does.

    Args:
        subjects: What `{subject}` reads in the draft.
        evidence: What is known of the draft, so that nothing is asked where the layout tells the person.
    """
    distinct = sorted(set(subjects))
    if is_sure(evidence) or not distinct:
        return None
    fronts = _fronts(distinct)
    named = [name for names in fronts.values() for name in names]
    if len(named) < _FEW or len(fronts) > _MOST_FRONTS:
        return None
    begin = " or ".join(f"{front}<number>" for front in fronts)
    where = "have a part that begins with" if any("/" in name for name in named) else "begin with"
    seen = f"{len(named)} of {len(distinct)} names {where} {begin}, such as {named[0]}"
    rest = Unknown("people", f"{seen}; whether two of the others are of one person is not said")
    if len(named) < _ENOUGH * len(distinct):
        return rest
    begins = "(?<![^/])" if any("/" in name for name in named) else "^"
    front = rf"(?:{'|'.join(map(escaped, fronts))})" if len(fronts) > 1 else escaped(next(iter(fronts)))
    expression = rf"{begins}{front}\d+"
    people = Evidence("people", "beginning of the names", 0.8, seen)
    if len(named) == len(distinct):
        return PeopleRule({"id": expression}, people)
    return PeopleRule({"id": rf"{expression}|^(?!.*{expression.removeprefix('^')}).+", "unit": "image"}, people, (rest,))


def _fronts(names: Sequence[str]) -> Mapping[str, list[str]]:
    """What stands before the number in names that begin with a word for a person and a number -> the names."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in names:
        front = next((front for front in _FRONT.finditer(name) if front[1].lower() in PERSON), None)
        if front is not None:
            found[front[1] + front[2]].append(name)
    return dict(sorted(found.items()))
