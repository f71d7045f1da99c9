"""The layout of images without label maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assets.inspect.classes import ClassRule
from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.grouping import PARTED, Group, shape_of
from assets.inspect.layout import (
    Plan,
    Source,
    extra,
    folder_words,
    keyed,
    split_series,
    translated,
    unique,
    with_names,
    with_split,
)
from assets.inspect.lexicon import SPLITS
from assets.inspect.pairing import all_pairs
from assets.inspect.patterns import Stretch, pattern, read, stretches
from assets.inspect.roles import Part
from assets.templates import stem

_ENOUGH = 0.8


def unmasked(part: Part, rule: ClassRule | None, others: Sequence[Part]) -> Plan | None:
    """Images without label maps."""
    group = part.group
    class_number = rule.variable if rule else None
    keys = [n for n, v in enumerate(group.variables) if n != class_number and v.kind not in PARTED]
    fields, people = keyed(group, keys)
    fields = with_split(fields, group, [n for n in range(len(group.variables)) if n != class_number])
    where = stretches(group, fields) if "subject" in fields else None
    by_path = where is None or not unique(group, where)
    if by_path:
        where = _whole(group)
        people = [Unknown("people", "only the whole path tells the images apart; each stands for itself")]
    if where is None:
        return None
    if rule is not None and rule.bare and not _is_read_alone(group, where, rule.keyed):
        rule = None
    template = ""
    if class_number is not None:
        where, template = _with_class(group, where, class_number)
    alike = [p for p in others if is_twin(part, p) or _is_beside(part, p)]
    named = {stretch.field for stretch in where}
    if class_number is not None and "class" in named:
        fields = {**fields, "class": [class_number]}
    series = [Source("", part, tuple(where), more=_unclassed(part, where, others) if class_number is not None else ())]
    more = [s for p in alike for s in _series_of(p, part, where, fields) if {t.field for t in s.where} == named]
    if by_path:  # a whole path is read by a pattern that reads other folders' files too
        more = [s for s in more if _is_of_the_same(s, series[0])]
    return Plan(
        part,
        tuple(with_names([*series, *more])),
        classes=rule,
        class_field=template,
        evidence=tuple(a for a in people if isinstance(a, Evidence)),
        unknown=tuple(a for a in people if isinstance(a, Unknown)),
    )


def _is_read_alone(group: Group, where: Sequence[Stretch], number: int) -> bool:
    """Whether a field reads a part of the names and nothing else, so that the zeros before a number can be read apart."""
    own = [stretch for stretch in where if stretch.start in group.variables[number].at]
    return bool(own) and all(stretch.end - stretch.start == 1 for stretch in own)


def _series_of(other: Part, part: Part, where: Sequence[Stretch], fields: Mapping[str, list[int]]) -> list[Source]:
    """Further images as series: keyed by the same folders where these alone say whose they are, else by what reads the same."""
    own, group = part.group, other.group
    folders = [shape_of(one.rows[0][: one.name_at]) for one in (own, group)]
    if folders[0] == folders[1]:
        inside = tuple(stretch for stretch in where if stretch.end < own.name_at)
        if {s.field for s in inside} == {s.field for s in where} and unique(group, inside):
            return [Source("", other, inside)]
    return split_series(other, translated(fields, part, other))


def _is_beside(part: Part, other: Part) -> bool:
    """Whether other images may be another series: in the same folders, or volumes, whose people are then compared."""
    one, two = part.group, other.group
    return one.family == two.family and (one.family == "volume" or folder_words(one) == folder_words(two))


def is_twin(part: Part, other: Part) -> bool:
    """Whether other files are the same pictures in another format: called alike but for the ending."""
    if other.group.ending.lower() == part.group.ending.lower() or len(other.group.paths) < 2:
        return False
    names = [{stem(path.rpartition("/")[2]) for path in one.group.paths} for one in (part, other)]
    own = [len(one.group.paths) == len(said) for one, said in zip((part, other), names, strict=True)]
    if not all(own):
        names = [{stem(path) for path in one.group.paths} for one in (part, other)]
    return len(names[0] & names[1]) >= _ENOUGH * max(map(len, names))


def _is_of_the_same(one: Source, other: Source) -> bool:
    """Whether files are of subjects that the other files have too, as those of a series are."""
    subjects = [set(read(source.part.group, source.where, "subject")) for source in (one, other)]
    return bool(subjects[0] & subjects[1])


def _unclassed(part: Part, where: Sequence[Stretch], others: Sequence[Part]) -> tuple[tuple[Part, tuple[Stretch, ...]], ...]:
    """Images for testing or validation, which lie in no folder of a class; each is called by its folder and its name."""
    found: list[tuple[Part, tuple[Stretch, ...]]] = []
    for other in others:
        group = other.group
        if group.ending.lower() != part.group.ending.lower() or not group.words & SPLITS or not group.name_at:
            continue
        slashes = [n for n, token in enumerate(group.rows[0][: group.name_at - 1]) if token.text == "/"]
        start, end = slashes[-1] + 1 if slashes else 0, len(group.rows[0]) - bool(group.ending)
        own = [Stretch("subject", start, end)]
        if any(stretch.field == "scan" for stretch in where):
            own = [Stretch("subject", start, group.name_at - 1), Stretch("scan", group.name_at, end)]
        found.append((other, tuple(own)))
    return tuple(found)


def _whole(group: Group) -> list[Stretch] | None:
    """One field for all from the first token that varies to the last."""
    ats = [at for variable in group.variables for at in variable.at]
    if not ats:
        return None
    where = [Stretch("subject", min(ats), max(ats) + 1)]
    return where if unique(group, where) else [Stretch("subject", min(ats), len(group.rows[0]))]


def _with_class(group: Group, where: Sequence[Stretch], number: int) -> tuple[list[Stretch], str]:
    """The fields with one for the class, and the template that reads it."""
    own = group.variables[number].at
    taken = {at: stretch for stretch in where for at in range(stretch.start, stretch.end)}
    free = [at for at in own if at not in taken]
    if free:
        return sorted([*where, *(Stretch("class", at, at + 1) for at in free)], key=lambda s: s.start), "{class}"
    folder = own[-1] < group.name_at and group.rows[0][own[-1] + 1].text == "/" and own[-1] + 2 == group.name_at
    whole = taken[own[0]]
    if whole.end - whole.start == 1:
        return list(where), f"{{{whole.field}}}"
    return list(where), "{folder}" if folder else ""


def beside(planned: Plan, part: Part) -> str:
    """The pattern of files that lie beside the images and share what their names vary in; empty when they do not."""
    where = fields_beside(planned, part)
    return pattern(part.group, where) if where else ""


def fields_beside(planned: Plan, part: Part) -> list[Stretch]:
    """Where the fields of the images stand in the names of files beside them; none where they are not called alike."""
    pairs = all_pairs(part, [planned.reference])
    if not pairs or extra(pairs[0]):
        return []
    reads = {at: s.field for s in planned.series[0].where for at in range(s.start, s.end) if s.end - s.start == 1}
    shared = {planned.reference.group.variables[ours].at[0]: theirs for theirs, ours in pairs[0].shared.items()}
    own = {reads[at]: [theirs] for at, theirs in shared.items() if at in reads}
    where = stretches(part.group, own)
    return where if where and len(own) == len(shared) else []
