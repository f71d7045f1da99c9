"""Files that belong to a series or label map of a draft although they are called otherwise than the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assets.inspect.evidence import Evidence
from assets.inspect.grouping import Group, shape_of
from assets.inspect.layout import Plan, Source
from assets.inspect.patterns import Stretch, read
from assets.inspect.roles import Part


def with_exceptions(planned: Plan, masks: Sequence[Part]) -> Plan:
    """The plan with label maps of another name, where they lie in the folder of a subject that has none of the usual name."""
    if len(planned.labels) != 1 or planned.labels[0].part.role != "mask":
        return planned
    usual = planned.labels[0]
    waiting = set(_subjects(planned.series)) - set(read(usual.part.group, usual.where, "subject"))
    found: list[tuple[Part, tuple[Stretch, ...]]] = []
    seen: list[Evidence] = []
    for part in masks:
        where = _in_folders(usual, part)
        subjects = read(part.group, where, "subject") if where else []
        if part is usual.part or not where or len(set(subjects)) < len(subjects) or not set(subjects) <= waiting:
            continue
        waiting -= set(subjects)
        found.append((part, where))
        text = f"{part.group.shape} lies where a label map of the usual name is missing"
        seen.append(Evidence("pairing", "another name", 0.6, text))
    if not found:
        return planned
    return replace(planned, labels=(replace(usual, more=tuple(found)),), evidence=(*planned.evidence, *seen))


def _subjects(series: Sequence[Source]) -> set[str]:
    return {subject for source in series for subject in read(source.part.group, source.where, "subject")}


def _in_folders(usual: Source, part: Part) -> tuple[Stretch, ...]:
    """Where the subject stands in the folders of files in folders like the usual ones; nothing when they are not."""
    own, group = usual.part.group, part.group
    if part.role != "mask" or group.ending != own.ending or _folders(own) != _folders(group):
        return ()
    if {stretch.field for stretch in usual.where} != {"subject"}:
        return ()
    return tuple(stretch for stretch in usual.where if stretch.end < own.name_at)[:1]


def _folders(group: Group) -> tuple[tuple[str, str], ...]:
    return shape_of(group.rows[0][: group.name_at])
