"""Several label maps of the same images that no word calls so: structures with a folder each, or what several readers drew."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from assets.inspect.evidence import Unknown
from assets.inspect.grouping import Group
from assets.inspect.layout import Plan, Source, plain
from assets.inspect.lexicon import READERS
from assets.inspect.pairing import Pair
from assets.inspect.roles import Part
from assets.inspect.tokens import Token, words
from assets.inspect.unmasked import fields_beside

_COUNTED = re.compile(r"\d+(?:st|nd|rd|th)?|(?<![a-z])(?:[a-z]|first|second|third|fourth)(?![a-z])")
"""What tells readers, or tries, apart: numbers, single letters, and words that count."""


def with_maps_beside(planned: Plan, pairs: Sequence[Pair]) -> Plan:
    """The plan with further label maps of its images, each a structure, where their folders or names have words of their own.

    Where these differ in numbers or single letters alone, or speak of readers, one is left as it is and the others are named:
    nothing tells whose counts. So are label maps of several numbers, whose ids may be the same.

    Args:
        planned: Images with label maps that no word calls so.
        pairs: All pairs of images and label maps.
    """
    (own, *more) = planned.labels
    others = [pair.mask for pair in pairs if pair.mask.unnamed and pair.image is planned.reference and pair.mask is not own.part]
    if more or not own.part.unnamed or not others:
        return planned
    masks = sorted([own.part, *others], key=lambda part: part.group.paths)
    names = dict(zip(map(id, masks), _own_names([part.group for part in masks]), strict=True))
    if _counted(list(names.values())) or _speak_of_readers(masks) or not all(map(_is_binary, masks)):
        firsts = ", ".join(part.group.paths[0] for part in masks)
        why = f"{firsts} and others are label maps of the same images; {own.part.group.paths[0]} and others are drafted, and "
        why += "whether they are of readers, versions or structures, and which of them counts, is not said"
        return replace(planned, unknown=(*planned.unknown, Unknown("layout", why)))
    sources = []
    for number, part in enumerate(masks, start=1):
        where = own.where if part is own.part else tuple(fields_beside(planned, part))
        if {stretch.field for stretch in where} == {stretch.field for stretch in own.where}:
            level = 128 if any(peek.blurred for peek in part.peeks) else None
            name = names[id(part)]
            sources.append(Source(plain(name), part, where, at_least=level, nonzero_is=number, called=name, sort=(name,)))
    why = f"{', '.join(names.values())} are taken for structures by these words, which is all that tells it; they may be readers"
    return replace(
        planned,
        labels=tuple(sources),
        evidence=(*planned.evidence, *(e for part in others for e in part.evidence)),
        unknown=(*planned.unknown, Unknown("labels", why)),
    )


def _is_binary(part: Part) -> bool:
    return all(peek.blurred or (len(peek.values or ()) < 3 and not peek.colours) for peek in part.peeks if peek.shape)


def _own_names(groups: Sequence[Group]) -> list[str]:
    """What each group is called, without what all are called and what varies within it."""
    told = []
    for group in groups:
        varying = {at for variable in group.variables for at in variable.at}
        row = [token for token in enumerate(group.rows[0]) if token[1].kind != "ending"]
        text = "".join(" " if n in varying else token.text for n, token in row)
        told.append(re.findall(r"[^\W_]+", text))
    common = set.intersection(*map(set, told))
    short = ["_".join(text for text in texts if text not in common) for texts in told]
    whole = ["_".join(texts) for texts in told]
    lettered = len(set(short)) == len(short) and all(re.search(r"[A-Za-z]{2}", text) for text in short)
    return short if lettered else whole


def _counted(names: Sequence[str]) -> bool:
    """Whether names differ in nothing but what counts."""
    return len({_COUNTED.sub("#", name.lower().replace("_", " ")) for name in names}) < len(names)


def _speak_of_readers(masks: Sequence[Part]) -> bool:
    """Whether what tells label maps apart, a folder or the name, speaks of whoever drew them."""
    told = [["".join(token.text for token in folder) for folder in _folders(part.group)] for part in masks]
    differing = [texts for texts in zip(*told, strict=False) if len(set(texts)) > 1]
    return any(set(words(text)) & READERS for texts in differing for text in texts)


def _folders(group: Group) -> list[list[Token]]:
    """What stays of each folder, outermost first, and of the name."""
    varying = {at for variable in group.variables for at in variable.at}
    found: list[list[Token]] = [[]]
    for n, token in enumerate(group.rows[0]):
        if token.text == "/":
            found.append([])
        elif n not in varying:
            found[-1].append(token)
    return found
