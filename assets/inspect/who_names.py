"""Names, or folders in them, that begin with a person and go on in any way: `person1_bacteria_1`, `study/patient07/2`."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.grouping import escaped
from assets.inspect.lexicon import PERSON
from assets.inspect.who_tables import PeopleRule, is_sure

_FRONT = re.compile(r"(?<![^/])([A-Za-z]+)([ _-]*)\d+")
_LAST = re.compile(r"(?:.*/)?([^/]*\d[^/]*?)[ _.-]+\(?\d{1,3}\)?")
_LAST_ID = r"(?<![^/])[^/]*\d[^/]*?(?=[ _.-]+\(?\d{1,3}\)?$)"
_SHARED, _MOST_OF_ONE, _FEWEST = 0.2, 60, 4
"""Share of names of several of one beginning; most names of one; fewest beginnings."""
_ENOUGH = 0.9
"""Share of names that begin with a person from which on it is sure that these are."""
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
        return None if any(e.field == "layout.subject" for e in evidence) else _numbered(distinct)
    begin = " or ".join(f"{front}<number>" for front in fronts)
    where = "have a part that begins with" if any("/" in name for name in named) else "begin with"
    seen = f"{len(named)} of {len(distinct)} names {where} {begin}, such as {named[0]}"
    rest = Unknown("people", f"{seen}; whether two of the others are of one person is not said")
    begins = "(?<![^/])" if any("/" in name for name in named) else "^"
    front = rf"(?:{'|'.join(map(escaped, fronts))})" if len(fronts) > 1 else escaped(next(iter(fronts)))
    expression = rf"{begins}{front}\d+"
    people = Evidence("people", "beginning of the names", 0.8 if len(named) >= _ENOUGH * len(distinct) else 0.6, seen)
    if len(named) == len(distinct):
        return PeopleRule({"id": expression}, people)
    return PeopleRule({"id": rf"{expression}|^(?!.*{expression.removeprefix('^')}).+", "unit": "image"}, people, (rest,))


def _numbered(names: Sequence[str]) -> PeopleRule | None:
    """Names that differ in nothing but a short last number, as `CNV-1016042-1` and `CNV-1016042-2` do, are of one person.

    What stands before it has a number of its own, which few names share.
    """
    found = [_LAST.fullmatch(name) for name in names]
    fronts = Counter(match[1] for match in found if match)
    together = sum(count for count in fronts.values() if count > 1)
    if not all(found) or together < _SHARED * len(names) or max(fronts.values()) > _MOST_OF_ONE or len(fronts) < _FEWEST:
        return None
    shown = next(match for match in found if match and fronts[match[1]] > 1)
    seen = (
        f"names differ in a last number, as those that begin with {shown[1]} do: {len(fronts)} beginnings of {len(names)} names"
    )
    doubt = Unknown(
        "people", "that names which differ in a last number alone are of one person is a guess; others may be of one person too"
    )
    return PeopleRule({"id": _LAST_ID}, Evidence("people", "beginning of the names", 0.5, seen), (doubt,))


def _fronts(names: Sequence[str]) -> Mapping[str, list[str]]:
    """What stands before the number in names that begin with a word for a person and a number -> the names."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in names:
        front = next((front for front in _FRONT.finditer(name) if front[1].lower() in PERSON), None)
        if front is not None:
            found[front[1] + front[2]].append(name)
    return dict(sorted(found.items()))
