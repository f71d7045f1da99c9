"""Label maps of subjects whose images lie elsewhere, as BIDS has it: `sub-01/anat/` and `derivatives/manual/sub-01/anat/`.

Every label map of a subject is one of its own, of the images that it was made of. Only where the rules that hold for any folder
leave something out, or take images that were made of others, is the layout made by this one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from assets.inspect.bids import Owner, Place, part_of, place_of
from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.layout import Plan, Source, plain
from assets.inspect.lineage import Files, Lineage, images_of
from assets.inspect.one_structure import numbered
from assets.inspect.peek import Opener
from assets.inspect.roles import Part, Role

_ENOUGH, _MOST = 0.8, 24
_FEW_STRAYS = 0.1
"""Share of the volumes that may lie otherwise than BIDS has it."""
_SHARES = frozenset(("probseg",))
"""Suffixes of maps of probabilities, which are neither images nor maps of ids."""
_IDS = frozenset(("dseg",))
"""Suffixes of label maps whose values are ids even if those that were opened hold one."""


@dataclass(frozen=True)
class _Folder:
    """Files of subjects as BIDS has them.

    Attributes:
        images: Images, those among derivatives too.
        maps: Label maps.
        visits: Whether files say of which visit they are, and people have several, or all files say it.
    """

    images: tuple[Place, ...]
    maps: tuple[Place, ...]
    visits: bool

    def owner(self, place: Place) -> Owner:
        """Whose it is."""
        return place.subject, place.session if self.visits else ""


@dataclass(frozen=True)
class _Found:
    """The layout, and label maps whose names leave open whose they are, whatever other rules say."""

    plan: Plan
    left_open: frozenset[str]

    @property
    def claimed(self) -> frozenset[str]:
        return self.plan.claimed


def with_derivatives(planned: Plan | None, parts: Sequence[Part], opener: Opener) -> Plan | None:
    """The plan, or one in which each label map of a subject is one of its own and belongs to the images that it was made of.

    Args:
        planned: What the rules for any folder say.
        parts: Groups of files with their roles.
        opener: For extents and values.
    """
    folder = _folder(parts)
    if folder is None or (planned is not None and (planned.few or planned.classes is not None)):
        return planned
    found = _plan(folder, opener)
    if found is None:
        return planned
    maps = {place.path for place in folder.maps}
    if planned is not None and len(found.claimed & maps) < len((planned.claimed & maps) - found.left_open):
        return planned
    roles = [answer for part in parts if found.claimed & maps & set(part.group.paths) for answer in part.evidence]
    return replace(found.plan, evidence=(*found.plan.evidence, *roles))


def _folder(parts: Sequence[Part]) -> _Folder | None:
    """What lies where; None where this is no such folder, or one label stands for people of two studies."""
    images: list[Place] = []
    maps: list[Place] = []
    strays = 0
    for part in parts:
        if part.role in ("image", "mask", "structures"):
            places = [place_of(path) if part.group.family == "volume" else None for path in part.group.paths]
            strays += places.count(None)
            (images if part.role == "image" else maps).extend(p for p in places if p is not None and p.suffix not in _SHARES)
    if not maps or not images or strays > _FEW_STRAYS * (len(images) + len(maps)):
        return None
    roots: dict[str, set[str]] = defaultdict(set)
    for place in (*images, *maps):
        roots[place.subject].add(place.root)
    if any(len(several) > 1 for several in roots.values()):
        return None
    return _Folder(tuple(images), tuple(maps), _visits([*images, *maps]))


def _visits(places: Sequence[Place]) -> bool:
    had: dict[str, set[str]] = defaultdict(set)
    for place in places:
        had[place.subject].add(place.session)
    return all(place.session for place in places) or any(len(visits - {""}) > 1 for visits in had.values())


def _plan(folder: _Folder, opener: Opener) -> _Found | None:
    images, maps = ([p for p in some if p.session or not folder.visits] for some in (folder.images, folder.maps))
    every = [_files(places, "image", folder, opener) for places in _alike(images, folder)]
    links = [
        (files, images_of(files, every, opener)) for files in (_files(p, "mask", folder, opener) for p in _alike(maps, folder))
    ]
    links = [(files, of if _have(files, of.images, folder) else replace(of, images=())) for files, of in links]
    linked = {id(image) for _, of in links for image in of.images}
    raw = not all(place.pipeline for place in images)
    read = [image for image in every if id(image) in linked or (raw and not image.first.pipeline and not image.first.space)]
    kept = [(files, of) for files, of in links if of.images]
    unsaid = [*_unsaid(links), *_vague(folder)]
    if not (kept or unsaid) or not 0 < len(read) <= _MOST or len(kept) > _MOST:
        return None
    names = dict(zip(map(id, read), _names([image.first for image in read]), strict=True))
    called = _names([files.first for files, _ in kept])
    of_all = {id(image) for image in read}
    labels = [
        replace(
            files.source, name=name, of=() if {id(i) for i in of.images} == of_all else tuple(names[id(i)] for i in of.images)
        )
        for (files, of), name in zip(kept, called, strict=True)
    ]
    series = [replace(image.source, name=names[id(image)]) for image in read]
    having = {folder.owner(place) for files, _ in kept for place in files.places}
    owners = {folder.owner(place) for image in read for place in image.places}
    shown = read[0].source.part.group.shape
    plan = Plan(
        max(series, key=lambda source: len(source.part.group.paths)).part,
        tuple(series),
        tuple(numbered(_apart(labels, kept))),
        leave=len(labels) == 1 and not owners <= having,
        share=len(having & owners) / len(owners),
        evidence=(*_seen(kept, names), Evidence("layout.subject", "person", 0.95, f"`sub-` of BIDS: {shown}")),
        unknown=tuple(answer for _, answer in unsaid),
    )
    return _Found(plan, frozenset(place.path for places, _ in unsaid for place in places))


def _alike(places: Iterable[Place], folder: _Folder) -> list[list[Place]]:
    """Files that differ in subject and visit alone, or also in a version, if nobody has two of them."""
    found: dict[object, list[Place]] = defaultdict(list)
    for place in sorted(places, key=lambda place: place.path):
        found[place.kind].append(place)
    apart: list[list[Place]] = []
    for several in found.values():
        if max(Counter(map(folder.owner, several)).values()) == 1:
            apart.append(several)
            continue
        versions: dict[tuple[str, ...], list[Place]] = defaultdict(list)
        for place in several:
            versions[tuple("" if token.kind == "id" else token.text for token in place.tokens)].append(place)
        apart += versions.values()
    return sorted(apart, key=lambda some: some[0].path)


def _files(places: Sequence[Place], role: Role, folder: _Folder, opener: Opener) -> Files:
    rooted = any(place.root for place in (*folder.images, *folder.maps))
    part, where = part_of(places, role, rooted=rooted, visits=folder.visits)
    ends = dict.fromkeys((places[0].path, places[-1].path))
    peeks = tuple(peek for path in ends if (peek := opener.peek(path)) is not None)
    return Files({folder.owner(place): place for place in places}, Source("", replace(part, peeks=peeks), where))


def _have(files: Files, images: Sequence[Files], folder: _Folder) -> bool:
    """Whether nearly all label maps are of somebody who has one of the images."""
    owners = {owner for image in images for owner in image.by_owner}
    return sum(folder.owner(place) in owners for place in files.places) >= _ENOUGH * len(files.places)


def _names(places: Sequence[Place]) -> list[str]:
    """A name for each: of equal ones with the folder of the pipeline or the last folder before it, then with a number."""
    names = [place.name or "image" for place in places]
    folders = [place.pipeline.rstrip("/").rpartition("/")[2] for place in places], [place.folder for place in places]
    for before in folders:
        names = [plain(f"{folder}_{name}") if names.count(name) > 1 else name for folder, name in zip(before, names, strict=True)]
    return [f"{name}_{number}" if names.count(name) > 1 else name for number, name in enumerate(names, start=1)]


def _apart(labels: Sequence[Source], kept: Sequence[tuple[Files, Lineage]]) -> Iterator[tuple[Source, str | None]]:
    """The label maps, and what those of one structure each are called."""
    for label, (files, of) in zip(labels, kept, strict=True):
        values = {value for peek in label.part.peeks for value in peek.values or () if value}
        by_id = len(values) > 1 or files.first.suffix in _IDS
        yield (
            replace(label, sort=files.first.sort),
            None if by_id else files.first.structure([image.first for image in of.images]),
        )


def _seen(kept: Sequence[tuple[Files, Lineage]], names: dict[int, str]) -> Iterator[Evidence]:
    for files, of in kept:
        said = f"{files.source.part.group.shape} -> {', '.join(names[id(image)] for image in of.images)}"
        yield Evidence("pairing", said, of.confidence, of.why)


def _unsaid(links: Sequence[tuple[Files, Lineage]]) -> Iterator[tuple[Sequence[Place], Unknown]]:
    """Label maps whose names leave open of which image they are, and why."""
    for files, of in links:
        if not of.images and of.why:
            why = f"of which image {len(files.places)} label maps are, such as {files.first.path}, is not said: {of.why}"
            yield files.places, Unknown("pairing", why)


def _vague(folder: _Folder) -> Iterator[tuple[Sequence[Place], Unknown]]:
    """Label maps that do not say of which visit they are."""
    vague = [place for place in folder.maps if folder.visits and not place.session]
    if vague:
        why = f"{len(vague)} label maps, such as {vague[0].path}, do not say of which visit of their subject they are"
        yield vague, Unknown("pairing", why)
