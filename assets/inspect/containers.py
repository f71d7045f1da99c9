"""Images and label maps in the same files, and label maps that stand alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.grouping import PARTED
from assets.inspect.layout import Plan, Source, folder_words, keyed, unique, with_names, with_split
from assets.inspect.lexicon import IMAGE, MASK
from assets.inspect.patterns import stretches
from assets.inspect.roles import Part
from assets.inspect.roots import roots
from assets.inspect.tokens import words


def alone(masks: Sequence[Part]) -> Plan | None:
    """Label maps without images, which are then also all there is to see; folders of the same names are different sets."""
    mask = max(roots(masks, crossed=True), key=lambda part: len(part.group.paths))
    every = [n for n, v in enumerate(mask.group.variables) if mask.label_at not in v.at]
    fields, people = keyed(mask.group, [n for n in every if mask.group.variables[n].kind not in PARTED])
    fields = with_split(fields, mask.group, every)
    where = stretches(mask.group, fields)
    if where is None or "subject" not in fields:
        return None
    sources = [Source("", mask, tuple(where)), *_beside(mask, masks, fields)]
    series = [replace(source, name=source.name or "image") for source in (with_names(sources) if len(sources) > 1 else sources)]
    of = [source.name if len(series) > 1 else "" for source in series]
    labels = [replace(s, name=f"mask_{s.name}" if name else "mask", of=name) for s, name in zip(series, of, strict=True)]
    unknown = [a for a in people if isinstance(a, Unknown)]
    unknown.append(Unknown("layout.series", "only label maps were recognised; they stand as images too"))
    return Plan(mask, tuple(series), tuple(labels), unknown=tuple(unknown))


def _beside(mask: Part, masks: Sequence[Part], fields: Mapping[str, list[int]]) -> list[Source]:
    """Further label maps of the same folders that say another kind of acquisition, keyed in the same way."""
    found = []
    for other in masks:
        new = not set(other.group.paths) & set(mask.group.paths) and other.role == mask.role == "mask"
        if not new or folder_words(other.group) != folder_words(mask.group):
            continue
        numbers = {name: [n for n in own if n < len(other.group.variables)] for name, own in fields.items()}
        where = stretches(other.group, numbers)
        if where and {s.field for s in where} == set(fields) and unique(other.group, where):
            found.append(Source("", other, tuple(where)))
    return found


def in_containers(part: Part) -> Plan | None:
    """Images and label maps that are arrays of the same files, told apart by their names."""
    arrays = [array for peek in part.peeks[:1] for array in peek.arrays]
    images = [a for a in arrays if set(words(a.name)) & IMAGE]
    masks = [a for a in arrays if set(words(a.name)) & MASK]
    if len(arrays) < 2 or len(images) != 1 or len(masks) != 1 or images[0].shape[:2] != masks[0].shape[:2]:
        return None
    every = range(len(part.group.variables))
    fields, people = keyed(part.group, [n for n in every if part.group.variables[n].kind not in PARTED])
    fields = with_split(fields, part.group, every)
    where = stretches(part.group, fields)
    if where is None or "subject" not in fields or not unique(part.group, where):
        return None
    seen = f"{part.group.paths[0]} holds the arrays {images[0].name!r} and {masks[0].name!r} of equal rows and columns"
    return Plan(
        part,
        (Source("image", part, tuple(where), images[0].name),),
        (Source("mask", part, tuple(where), masks[0].name),),
        evidence=(Evidence("pairing", "arrays of one file", 0.8, seen), *(a for a in people if isinstance(a, Evidence))),
        unknown=tuple(a for a in people if isinstance(a, Unknown)),
    )
