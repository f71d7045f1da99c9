"""Images and label maps in the same files, and label maps that stand alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from assets.inspect.arrays import Chosen, choose, in_file
from assets.inspect.class_numbers import read_numbers
from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.grouping import PARTED
from assets.inspect.layout import Plan, Source, folder_words, keyed, unique, with_names, with_split
from assets.inspect.patterns import stretches
from assets.inspect.peek import Opener, Peek
from assets.inspect.roles import Part
from assets.inspect.roots import roots

_LOOKED_AT = 7
"""Files whose arrays are listed."""


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
    several = len(series) > 1
    labels = [replace(s, name=f"mask_{s.name}" if several else "mask", of=(s.name,) if several else ()) for s in series]
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


def in_containers(part: Part, opener: Opener) -> Plan | None:
    """Images and label maps that are arrays of the same files, told apart by their names; None where these do not tell it."""
    if not any(len(peek.arrays) > 1 for peek in part.peeks[:1]):
        return None
    files = {path: peek.arrays for path in _spread(part.group.paths) if (peek := opener.peek(path)) is not None and peek.arrays}
    files = files or {part.group.paths[0]: part.peeks[0].arrays}
    path = next(iter(files))
    chosen = choose(files, lambda key: _may_be_mask(opener.peek(path, in_file(key, path))))
    every = range(len(part.group.variables))
    fields, people = keyed(part.group, [n for n in every if part.group.variables[n].kind not in PARTED])
    fields = with_split(fields, part.group, every)
    where = stretches(part.group, fields)
    if chosen is None or where is None or "subject" not in fields or not unique(part.group, where):
        return None
    return Plan(
        part,
        (Source("image", part, tuple(where), chosen.image),),
        (Source("mask", part, tuple(where), chosen.mask),),
        numbers=tuple(read_numbers(chosen.numbers, list(files), opener)),
        evidence=(_paired(chosen, path), *(a for a in people if isinstance(a, Evidence))),
        unknown=(*_left(chosen, path), *(a for a in people if isinstance(a, Unknown))),
    )


def _spread(paths: Sequence[str]) -> list[str]:
    """The first, the last and some between them."""
    return list(dict.fromkeys(paths[at * (len(paths) - 1) // (_LOOKED_AT - 1)] for at in range(_LOOKED_AT)))


def _may_be_mask(peek: Peek | None) -> bool:
    """Whether an array holds what a label map does, as far as it was looked at."""
    if peek is None or peek.trouble:
        return peek is None
    return peek.values is not None or math.isnan(peek.low) or peek.is_share


def _paired(chosen: Chosen, path: str) -> Evidence:
    seen = f"{path} holds the arrays {chosen.image!r} and {chosen.mask!r} of equal rows and columns"
    if chosen.lesser:
        seen += f"; {', '.join(map(repr, chosen.lesser[:3]))} of equal extents is called less like an image"
    return Evidence("pairing", "arrays of one file", 0.8, seen)


def _left(chosen: Chosen, path: str) -> Iterator[Unknown]:
    if chosen.views:
        others = ", ".join(map(repr, chosen.views))
        why = f"{chosen.image!r} lies in the first group that all files looked at have, such as {path}; left are {others}"
        yield Unknown("layout", f"{why}, which some or all have too")
