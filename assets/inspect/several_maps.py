"""Several label maps of an image, in folders or under names of their own: each becomes one of its own, none is lost.

What tells them apart are words. Where these say readers, versions of one another, or what a program drew, one is drafted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from assets.inspect.evidence import Evidence, Unknown
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
    if planned.few or not planned.labels or any(map(_is_settled, planned.labels)):
        return planned
    images = _keys(planned.series)
    found = [maps for pairs in paired for maps in _maps(pairs, planned, images)]
    first = [maps for maps in found if maps.source in planned.labels]
    if len(first) != len(planned.labels):
        return planned
    others = [maps for maps in found if maps not in first and not _of_others(maps, first[0], planned)]
    every = [*first, *_not_numbered_in_turn(others, images)]
    words = planned.reference.group.words
    names = names_apart([maps.source for maps in every], words)
    every = [maps for maps, name in zip(every, names, strict=True) if names.count(name) == 1]
    if not 1 < len(every) <= _MOST or every[: len(first)] != first:
        return planned
    names = names_apart([maps.source for maps in every], words)
    chosen = drafted_of(names)
    kept = sorted(((every[n], names[n]) for n in chosen.kept), key=lambda one: one[0].source.part.group.paths)
    return _with(kept, planned, first, chosen, opener)


def _is_settled(source: Source) -> bool:
    """Whether a label map is of single series, an array of a container, or one of several that no word calls so."""
    return bool(source.of or source.channels or source.key or source.part.unnamed)


def _maps(pairs: Sequence[Pair], planned: Plan, images: _Keys) -> list[_Maps]:
    """Label maps of the images of a plan, one of an image; none where they are of others, or several of one.

    Args:
        pairs: The images that the label maps fit.
        planned: The layout.
        images: Whose its images are.
    """
    reference = planned.reference
    pair = next((pair for pair in pairs if set(reference.group.paths) <= set(pair.image.group.paths)), None)
    if pair is None or pair.mask.role != "mask" or pair.mask.unnamed:
        return []
    usual = [source for source in planned.labels if set(source.part.group.paths) <= set(pair.mask.group.paths)]
    if usual:
        return [_Maps(source, pair, _keys([source])) for source in usual]
    if extra(pair) or planned.claimed & set(pair.mask.group.paths) or not _fits(pairs, planned):
        return []
    sources = label_sources(pair, reference, _fields(planned))
    if len(sources) != 1 or _where(sources[0]) != _where(planned.labels[0]) or not unique(pair.mask.group, sources[0].where):
        return []
    keys = _keys(sources)
    return [_Maps(sources[0], pair, keys)] if len(keys & images) >= _ENOUGH * len(keys) else []


def _of_others(maps: _Maps, first: _Maps, planned: Plan) -> bool:
    """Whether two sorts of label maps lie beside images in folders of their own each, and so are of these."""
    images = _folders(planned.series)
    own, usual = _folders([maps.source]), _folders([first.source])
    return bool(own & images) and bool(usual & images) and not own & usual


def _folders(sources: Sequence[Source]) -> set[str]:
    return {path.rpartition("/")[0] for source in sources for part, _ in source.parts for path in part.group.paths}


def _fits(pairs: Sequence[Pair], planned: Plan) -> bool:
    """Whether the label maps are of every series of the plan, but for those of another format."""
    fitting = {path for pair in pairs for path in pair.image.group.paths}
    ending = planned.reference.group.ending.lower()
    return all(set(s.part.group.paths) <= fitting for s in planned.series if s.part.group.ending.lower() == ending)


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


def _with(kept: Sequence[tuple[_Maps, str]], planned: Plan, first: Sequence[_Maps], chosen: Chosen, opener: Opener) -> Plan:
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
    used = [maps for maps, _ in kept]
    if len(kept) > 1:
        most = max(2, _LOOKED_AT // len(kept))
        sorts = [replace(maps.source, name=name, sort=(name,), of_all=images <= maps.keys) for maps, name in kept]
        labels = tuple(numbered((source, _called(source, opener, most)) for source in sorts))
    else:
        labels = (replace(used[0].source, name="mask"),)
    told = [answer for maps in used for answer in _told(maps)]
    old = [answer for maps in first for answer in _told(maps) if answer not in told]
    evidence = dict.fromkeys([*(answer for answer in planned.evidence if answer not in old), *told])
    return replace(
        planned,
        labels=labels,
        leave=len(kept) == 1 and (not images <= having or (planned.leave and used[0] in first)),
        share=len(having) / len(images),
        evidence=(*evidence, *_seen([name for _, name in kept], chosen)),
        unknown=(*planned.unknown, *(_levels_of(labels) if len(kept) > 1 else ())),
    )


def _told(maps: _Maps) -> tuple[Evidence, ...]:
    return (maps.pair.evidence, *maps.pair.mask.evidence)


def _called(source: Source, opener: Opener, most: int) -> str | None:
    """What label maps of one structure show; None where their values are ids."""
    paths = source.part.group.paths
    chosen = {*paths[:: max(1, len(paths) // most)][:most], paths[-1]}
    peeks = [*source.part.peeks, *(peek for path in sorted(chosen) if (peek := opener.peek(path)) is not None)]
    values = {value for peek in peeks for value in peek.values or () if value}
    one = source.at_least is not None or any(peek.numbered for peek in peeks) or len(values) < 2
    return structure_of(source.name) if one else None


def _levels_of(labels: Sequence[Source]) -> Iterator[Unknown]:
    """That the level from which on values count as inside is a guess; of a single sort the names of label ids say it."""
    for source in labels:
        if source.at_least is not None:
            inside = f"values of {source.part.group.paths[0]} from {source.at_least:g} on count as inside"
            yield Unknown("labels", f"{inside}; the level is a guess")


def _seen(names: Sequence[str], chosen: Chosen) -> list[Evidence]:
    found = []
    if len(names) > 1:
        seen = f"{', '.join(names)}: whether these are structures, readers or versions of one another is not told"
        found.append(Evidence("layout.labels", f"{len(names)} sorts of label maps", 0.6, seen))
    if chosen.why:
        seen = f"of the label maps that are not used, {', '.join(chosen.left)}, words say {chosen.why}"
        found.append(Evidence("layout.labels", ", ".join(names), 0.6, seen))
    return found
