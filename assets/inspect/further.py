"""Further images of the subjects of a draft: the same things in another format, which not all of them need to have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assets.inspect.evidence import Evidence
from assets.inspect.grouping import Group, merged
from assets.inspect.layout import Plan, Source, with_names
from assets.inspect.patterns import Stretch, read
from assets.inspect.roles import Part

_ENOUGH = 0.5
"""Share of the subjects that must have such an image; how many of the images belong to a subject is not asked."""


def with_further(planned: Plan, images: Sequence[Part]) -> Plan:
    """The plan with images of another format as further series, where each is called by the whole name of a subject.

    Their extents are those of the label maps, which are said of them too. Names that are mere numbers say nothing, as
    any two folders may be counted from one; nor do names where something besides the subject tells images apart.

    Args:
        planned: Images with label maps.
        images: All groups of images.
    """
    fields = {stretch.field for source in (*planned.series, *planned.labels) for stretch in source.where}
    if fields != {"subject"} or len(planned.labels) != 1 or planned.labels[0].of:
        return planned
    used = {path for source in planned.series for part, _ in source.parts for path in part.group.paths}
    found = [_series_of(part, planned) for part in images if not used & set(part.group.paths)]
    more = [source for source in found if source is not None]
    if not more:
        return planned
    seen = "images of another format and of the extents of the label maps are called like subjects: "
    evidence = [Evidence("layout.series", "another format", 0.7, seen + source.part.group.shape) for source in more]
    return replace(planned, series=tuple(with_names([*planned.series, *more])), evidence=(*planned.evidence, *evidence))


def _series_of(part: Part, planned: Plan) -> Source | None:
    group = part.group
    endings = {other.group.ending.lower() for source in planned.series for other, _ in source.parts}
    shapes = {peek.shape for other in (part, planned.labels[0].part) for peek in other.peeks if peek.shape}
    if group.ending.lower() in endings or len(shapes) != 1 or not any(peek.shape for peek in part.peeks):
        return None
    whole = merged([group], {0: (group.name_at, len(group.rows[0]) - group.has_ending)})
    where = (Stretch("subject", group.name_at, group.name_at + 1),)
    subjects = {name for source in planned.series for one, at in source.parts for name in read(one.group, at, "subject")}
    named = [(name, row) for name, row in zip(read(whole, where, "subject"), whole.rows, strict=True) if name in subjects]
    names = {name for name, _ in named}
    if len(named) != len(names) or len(names) < max(2, _ENOUGH * len(subjects)) or any(name.isdecimal() for name in names):
        return None
    return Source("", replace(part, group=Group(tuple(row for _, row in named))), where)
