"""Several label maps of an image, in folders or under names of their own: each becomes one of its own, none is lost.

What tells them apart are words. Where these say readers, versions of one another, or what a program drew, one is drafted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assets.inspect.evidence import Evidence
from assets.inspect.layout import Plan, Source, extra, label_sources, unique
from assets.inspect.map_names import Chosen, drafted_of, names_apart, structure_of
from assets.inspect.one_structure import numbered
from assets.inspect.pairing import Pair
from assets.inspect.patterns import read
from assets.inspect.peek import Opener

_ENOUGH, _MOST, _LOOKED_AT = 0.8, 24, 12
"""Share of the label maps that must have an image; sorts of label maps; files that are looked into, over all sorts."""

_Keys = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class _Maps:
    """Label maps of one sort with the pair that they were told by, and whose they are."""

    source: Source
    pair: Pair
    keys: _Keys


def with_several(planned: Plan, paired: Sequence[Sequence[Pair]], opener: Opener) -> Plan:
    """The plan with every sort of label maps of its images, or with one of them where words say readers and the like.

    Args:
        planned: Images with label maps of one sort.
        paired: Each group of label maps with the images that it fits.
        opener: For the values of label maps.
    """
    usual = planned.labels[0] if len(planned.labels) == 1 else None
    if usual is None or planned.few or usual.of or usual.channels or usual.key or usual.part.role != "mask" or usual.part.unnamed:
        return planned
    images = _keys(planned.series)
    found = [maps for pairs in paired if (maps := _maps(pairs, planned, usual, images)) is not None]
    first = next((maps for maps in found if maps.source is usual), None)
    if first is None:
        return planned
    others = [maps for maps in found if maps is not first and not _of_others(maps, first, planned)]
    every = [first, *_not_numbered_in_turn(others, images)]
    words = planned.reference.group.words
    names = names_apart([maps.source.part.group for maps in every], words)
    every = [maps for maps, name in zip(every, names, strict=True) if maps is first or names.count(name) == 1]
    if not 1 < len(every) <= _MOST:
        return planned
    names = names_apart([maps.source.part.group for maps in every], words)
    chosen = drafted_of(names)
    kept = sorted(((every[n], names[n]) for n in chosen.kept), key=lambda one: one[0].source.part.group.paths)
    return _with(kept, planned, first, chosen, opener)


def _maps(pairs: Sequence[Pair], planned: Plan, usual: Source, images: _Keys) -> _Maps | None:
    """Label maps of the images of a plan, one of an image; None where they are of others, or several of one.

    Args:
        pairs: The images that the label maps fit.
        planned: The layout.
        usual: Its label maps.
        images: Whose its images are.
    """
    reference = planned.reference
    pair = next((pair for pair in pairs if set(reference.group.paths) <= set(pair.image.group.paths)), None)
    if pair is None or pair.mask.role != "mask" or extra(pair) or not _fits_all(pairs, planned):
        return None
    if pair.mask is usual.part:
        return _Maps(usual, pair, _keys([usual]))
    if planned.claimed & set(pair.mask.group.paths):
        return None
    sources = label_sources(pair, reference, _fields(planned))
    if len(sources) != 1 or _where(sources[0]) != _where(usual) or not unique(pair.mask.group, sources[0].where):
        return None
    keys = _keys(sources)
    return _Maps(sources[0], pair, keys) if len(keys & images) >= _ENOUGH * len(keys) else None


def _of_others(maps: _Maps, first: _Maps, planned: Plan) -> bool:
    """Whether two sorts of label maps lie beside images in folders of their own each, and so are of these."""
    images = _folders(planned.series)
    own, usual = _folders([maps.source]), _folders([first.source])
    return bool(own & images) and bool(usual & images) and not own & usual


def _folders(sources: Sequence[Source]) -> set[str]:
    return {path.rpartition("/")[0] for source in sources for part, _ in source.parts for path in part.group.paths}


def _fits_all(pairs: Sequence[Pair], planned: Plan) -> bool:
    """Whether the label maps are of every series of the plan."""
    fitting = {path for pair in pairs for path in pair.image.group.paths}
    return all(set(source.part.group.paths) <= fitting for source in planned.series[:1])


def _fields(planned: Plan) -> dict[str, list[int]]:
    """Field -> numbers of the variables of the reference that it reads."""
    found: dict[str, list[int]] = {}
    group = planned.reference.group
    for stretch in planned.series[0].where:
        own = found.setdefault(stretch.field, [])
        own += [
            n for n, v in enumerate(group.variables) if any(stretch.start <= at < stretch.end for at in v.at) and n not in own
        ]
    return found


def _where(source: Source) -> set[str]:
    return {stretch.field for stretch in source.where}


def _keys(sources: Sequence[Source]) -> _Keys:
    """Subjects and scans."""
    return frozenset(
        key
        for source in sources
        for part, where in source.parts
        for key in zip(read(part.group, where, "subject"), read(part.group, where, "scan"), strict=True)
    )


def _not_numbered_in_turn(every: Sequence[_Maps], images: _Keys) -> list[_Maps]:
    """Without label maps of one folder that are as many as the images only together, and have the same numbers.

    `mask_01L` and `mask_01R` are then of two images, whatever these are numbered by.
    """
    kept = []
    for maps in every:
        beside = [other for other in every if _folder(other) == _folder(maps)]
        counted = sum(len(other.keys) for other in beside)
        apart = len(frozenset().union(*(other.keys for other in beside)))
        if len(beside) < 2 or counted != len(images) or counted == apart:
            kept.append(maps)
    return kept


def _folder(maps: _Maps) -> str:
    return maps.source.part.group.paths[0].rpartition("/")[0]


def _with(kept: Sequence[tuple[_Maps, str]], planned: Plan, first: _Maps, chosen: Chosen, opener: Opener) -> Plan:
    """The plan with the label maps that are kept.

    Args:
        kept: They, with their names.
        planned: The plan with the label maps that no word told from the others.
        first: These.
        chosen: What words say of those that are not kept.
        opener: For their values.
    """
    images = _keys(planned.series)
    having = frozenset(key for maps, _ in kept for key in maps.keys) & images
    if len(kept) > 1:
        most = max(2, _LOOKED_AT // len(kept))
        sorts = [replace(maps.source, name=name, sort=(name,), of_all=images <= maps.keys) for maps, name in kept]
        labels = tuple(numbered((source, _called(source, opener, most)) for source in sorts))
    else:
        labels = (replace(kept[0][0].source, name="mask"),)
    used = [maps for maps, _ in kept]
    old = [] if first in used else [*first.pair.mask.evidence, first.pair.evidence]
    evidence = [answer for answer in planned.evidence if answer not in old]
    evidence += [answer for maps in used for answer in (maps.pair.evidence, *maps.pair.mask.evidence) if answer not in evidence]
    return replace(
        planned,
        labels=labels,
        leave=planned.leave if len(kept) == 1 else False,
        share=len(having) / len(images),
        evidence=(*evidence, *_seen([name for _, name in kept], chosen)),
    )


def _called(source: Source, opener: Opener, most: int) -> str | None:
    """What label maps of one structure show; None where their values are ids."""
    paths = source.part.group.paths
    chosen = {*paths[:: max(1, len(paths) // most)][:most], paths[-1]}
    peeks = [*source.part.peeks, *(peek for path in sorted(chosen) if (peek := opener.peek(path)) is not None)]
    values = {value for peek in peeks for value in peek.values or () if value}
    one = source.at_least is not None or any(peek.numbered for peek in peeks) or len(values) < 2
    return structure_of(source.name) if one else None


def _seen(names: Sequence[str], chosen: Chosen) -> list[Evidence]:
    found = []
    if len(names) > 1:
        seen = f"{', '.join(names)}: whether these are structures, readers or versions of one another is not told"
        found.append(Evidence("layout.labels", f"{len(names)} sorts of label maps", 0.6, seen))
    if chosen.why:
        seen = f"of the label maps that are not used, {', '.join(chosen.left)}, words say {chosen.why}"
        found.append(Evidence("layout.labels", ", ".join(names), 0.6, seen))
    return found
