"""Images and label maps that a draft does not use: those that fit none of its patterns, and those without a partner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assets.inspect.evidence import Unknown
from assets.inspect.layout import Plan, Source
from assets.inspect.patterns import read
from assets.inspect.roles import Part


def left_out(planned: Plan, parts: Sequence[Part]) -> Iterator[Unknown]:
    """A line for each kind of file of which any is left out, with how many and one of them, so that no draft looks whole.

    Args:
        planned: The layout.
        parts: All groups of files.
    """
    for what, roles in (("images", ("image",)), ("label maps", ("mask", "structures"))):
        every = [path for part in parts if part.role in roles for path in part.group.paths]
        left = [path for path in every if path not in planned.claimed]
        if left:
            yield Unknown("layout", f"{len(left)} of {len(every)} {what} are not used, such as {left[0]}; a person must say why")
    if planned.labels:
        yield from _without_partner(planned)


def unlabelled(planned: Plan) -> list[str]:
    """The images whose subject or scan has no label map."""
    masks = set(_keys(planned, planned.labels).values())
    return [path for path, key in _keys(planned, planned.series).items() if key not in masks]


def _without_partner(planned: Plan) -> Iterator[Unknown]:
    """Files of the patterns whose subject or scan has an image and no label map, or a label map and no image."""
    images, masks = _keys(planned, planned.series), _keys(planned, planned.labels)
    bare = [] if planned.few else unlabelled(planned)
    loose = [path for path, key in masks.items() if key not in set(images.values())]
    if bare:
        left = "; `unlabelled: leave` leaves them out" if planned.leave and len(planned.labels) == 1 else ""
        yield Unknown("layout", f"{len(bare)} of {len(images)} images have no label map, such as {bare[0]}{left}")
    if loose:
        yield Unknown("layout", f"{len(loose)} of {len(masks)} label maps have no image, such as {loose[0]}")


def _keys(planned: Plan, sources: Sequence[Source]) -> dict[str, tuple[str, ...]]:
    """File -> whose it is, by the fields that all series and label maps have."""
    every = [{stretch.field for stretch in where} for source in (*planned.series, *planned.labels) for _, where in source.parts]
    fields = sorted(set.intersection(*every) & {"subject", "scan"})
    found: dict[str, tuple[str, ...]] = {}
    for source in sources:
        for part, where in source.parts:
            columns = [read(part.group, where, name) for name in fields]
            found |= dict(zip(part.group.paths, zip(*columns, strict=True), strict=True)) if columns else {}
    return found
