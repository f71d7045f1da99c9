"""Which varying part of the names is a person, and which tells apart the images of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from assets.inspect.circumstances import circumstance_of, folder_texts, is_place
from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.grouping import Group, Variable
from assets.inspect.lexicon import OCCASION, PERSON, SHARES
from assets.inspect.tokens import words

_COUNTING = frozenset(("id", "no", "nr", "num", "number", "uid"))
"""Words between what a number counts and the number."""
_ORDER = "nothing but the order of the parts of file names says which images are of one person"

OWN_NAMES = "every image has its own name; whether two are of one person is not said"
"""Said where the one part of the names that varies is no person's."""


@dataclass(frozen=True, slots=True)
class Who:
    """How files are keyed.

    Attributes:
        subject: Numbers of the group's variables that are a person, or stand for one.
        scan: Numbers of those that tell the images of one person apart.
        evidence: Why.
        unknown: Set when nothing tells what a person is, or only the order of the parts of file names does.
    """

    subject: tuple[int, ...]
    scan: tuple[int, ...]
    evidence: Evidence | None = None
    unknown: Unknown | None = None


def who(group: Group, keys: Sequence[int]) -> Who:
    """Tell persons from scans.

    Args:
        group: Files of one series.
        keys: Numbers of the variables that together name a file of it.
    """
    if not keys:
        return Who((), (), unknown=Unknown("layout.subject", "nothing in the names varies that could be a person"))
    if aside := [n for n in keys if circumstance_of(folder_texts(group, group.variables[n]))]:
        return _beside_circumstances(group, [n for n in keys if n not in aside], aside)
    shares = [n for n in keys if _is_folder(group, group.variables[n]) and word_before(group, group.variables[n]) & SHARES]
    keys = [*(n for n in keys if n not in shares), *shares]
    named = [n for n in keys if word_before(group, group.variables[n]) & PERSON or _behind_sub(group, group.variables[n])]
    occasions = [n for n in keys if word_before(group, group.variables[n]) & OCCASION and n not in named]
    if named:
        seen = f"the word before it: {group.shape}"
        return Who((named[0],), tuple(n for n in keys if n != named[0]), Evidence("layout.subject", "person", 0.9, seen))
    rest = [n for n in keys if n not in (*occasions, *shares)] or list(keys)
    if len(keys) == 1:
        return _single(group, keys[0], occasion=bool(occasions))
    return _first(group, keys, rest[0], certain=bool(occasions), alone=len(rest) == 1 and bool(shares))


def _beside_circumstances(group: Group, keys: Sequence[int], aside: Sequence[int]) -> Who:
    """Without folders that say a place, a view and the like: as if they were not there, unless names come again in several.

    What comes again in several hospitals is of several people; what comes again in several views is of one.
    """
    names = [group.variables[n].values for n in keys]
    if names and len(set(zip(*names, strict=True))) == len(group.paths):
        return who(group, keys)
    if not names:
        return Who(tuple(aside), (), unknown=Unknown("people", f"only folders of no person tell images apart: {group.shape}"))
    told = who(group, keys)
    if told.unknown is not None:
        meanings = sorted({circumstance_of(folder_texts(group, group.variables[n])) for n in aside})
        why = f"names come again in folders that say {' and '.join(meanings)}, and nothing else tells the person in {group.shape}"
        told = replace(told, unknown=Unknown("people", why))
    places = tuple(n for n in aside if is_place(circumstance_of(folder_texts(group, group.variables[n]))))
    return replace(told, subject=(*places, *told.subject), scan=(*(n for n in aside if n not in places), *told.scan))


def _first(group: Group, keys: Sequence[int], first: int, *, certain: bool, alone: bool) -> Who:
    """The first part that varies, and how sure it is that it is a person.

    Args:
        group: Files of one series.
        keys: Numbers of the variables.
        first: Number of the first that may be a person.
        certain: Whether others certainly are no persons.
        alone: Whether all others only say which share of the files lies there.
    """
    others = tuple(n for n in keys if n != first)
    several = Counter(group.variables[first].values).most_common(1)[0][1] > 1
    if alone:
        return Who((first,), others, unknown=Unknown("people", f"nothing tells the person in {group.shape}"))
    if several and _is_folder(group, group.variables[first]):
        seen = f"the outermost folder that varies holds several files each: {group.shape}"
        why = f"folders such as {group.variables[first].values[0]} are taken for one person each; no word says that they are"
        return Who((first,), others, Evidence("layout.subject", "folder", 0.6, seen), Unknown("people", why))
    if several or certain:
        seen = f"the first part that varies; the others look like scans of it: {group.shape}"
        doubt = None if _is_folder(group, group.variables[first]) else Unknown("people", _ORDER)
        return Who((first,), others, Evidence("layout.subject", "first part", 0.5, seen), doubt)
    return Who((first,), others, unknown=Unknown("people", f"no rule tells the person in {group.shape}"))


def _single(group: Group, key: int, *, occasion: bool) -> Who:
    variable = group.variables[key]
    if variable.kind == "free" and _is_folder(group, variable) and len(variable.distinct) == len(group.paths):
        seen = f"folders called by words hold files of the same names: {group.shape}"
        return Who((key,), (), Evidence("layout.subject", "folder", 0.6, seen))
    doubt = None if _is_folder(group, variable) else Unknown("people", OWN_NAMES)
    if occasion or variable.kind == "id" or group.family in ("picture", "dicom"):
        return Who((key,), (), unknown=Unknown("people", OWN_NAMES))
    seen = f"the only part of the names that varies: {group.shape}"
    return Who((key,), (), Evidence("layout.subject", "only varying part", 0.7, seen), doubt)


def word_before(group: Group, variable: Variable) -> set[str]:
    """The words that stand before a variable, wherever it stands, nearest in its folder or name."""
    found: set[str] = set()
    for at in variable.at:
        before = group.rows[0][:at]
        for token in reversed(before):
            if token.text == "/":
                break
            if token.kind == "word":
                found |= set(words(token.text))
                if not found <= _COUNTING:
                    break
            if token.kind in ("number", "id", "free"):
                break
    return found


def _behind_sub(group: Group, variable: Variable) -> bool:
    """Whether a folder or name begins with `sub-`, as a subject's does in BIDS, and nothing before the variable varies."""
    at = variable.at[0]
    start = max((n + 1 for n in range(at) if group.rows[0][n].text == "/"), default=0)
    first = not any(start <= other < at for one in group.variables for other in one.at)
    return first and [token.text for token in group.rows[0][start : start + 2]] == ["sub", "-"]


def _is_folder(group: Group, variable: Variable) -> bool:
    return any(at < group.name_at for at in variable.at)
