"""Decides which groups are series and which label maps, and gives all of them the same fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from assets.inspect.classes import ClassRule
from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.grouping import Group, split_by
from assets.inspect.pairing import Pair, all_pairs
from assets.inspect.patterns import Stretch, read, stretches
from assets.inspect.peek import Opener
from assets.inspect.roles import Part
from assets.inspect.subjects import who
from assets.inspect.tokens import words

_MOST_SPLIT = 8
_UNHELPFUL = frozenset(("nii", "dcm", "data", "dataset"))


@dataclass(frozen=True)
class Source:
    """One series or label map of the draft.

    Attributes:
        name: Its name.
        part: Its files.
        where: Where the fields stand in their paths.
        key: Which array of a container.
        axes: Order of its axes.
    """

    name: str
    part: Part
    where: tuple[Stretch, ...]
    key: str = ""
    axes: str = ""


@dataclass(frozen=True)
class Plan:
    """The layout of a draft.

    Attributes:
        reference: The images that the others are keyed by.
        series: Images.
        labels: Label maps.
        classes: Where the class of the reference's images is told.
        class_field: Template for it.
        binary: Whether label maps hold one structure, as 0 and one other number.
        leave: Whether some images have no label map.
        evidence: Why.
        unknown: What could not be told.
    """

    reference: Part
    series: tuple[Source, ...]
    labels: tuple[Source, ...] = ()
    classes: ClassRule | None = None
    class_field: str = ""
    binary: bool = False
    leave: bool = False
    evidence: tuple[Evidence, ...] = ()
    unknown: tuple[Unknown, ...] = field(default=())


def plan(parts: Sequence[Part], rules: Mapping[int, ClassRule], opener: Opener) -> Plan | None:
    """The layout; None when there are no images."""
    images = [part for part in parts if part.role == "image"]
    masks = [part for part in parts if part.role in ("mask", "structures")]
    paired = [pairs for mask in masks if (pairs := all_pairs(mask, images))]
    if paired:
        return _segmentation(_best(paired))
    if masks and (not images or len(masks[0].group.paths) > 3 * len(images[0].group.paths)):
        return _alone(masks[0])
    if not images:
        return None
    number = next(n for n, part in enumerate(parts) if part.role == "image")
    told = next((n for n in rules if parts[n].role == "image"), number)
    return _unmasked(parts[told], rules.get(told), [p for p in images if p is not parts[told]])


def _best(paired: Sequence[list[Pair]]) -> list[Pair]:
    """The label maps that leave least open: none to choose from for one image, and most files."""

    def rank(pairs: list[Pair]) -> tuple[bool, int, int]:
        pair = pairs[0]
        extra = _extra(pair)
        return not extra, len({n for p in pairs for n in p.image.group.paths}), len(pair.mask.group.paths)

    return max(paired, key=rank)


def _extra(pair: Pair) -> list[int]:
    """Variables of the label maps that the images do not have, but for the structure's name."""
    variables = pair.mask.group.variables
    return [
        n for n, v in enumerate(variables) if n not in pair.shared and pair.mask.label_at not in v.at and v.kind != "split"
    ]


def _segmentation(pairs: list[Pair]) -> Plan | None:
    first = pairs[0]
    images = [_with_masks(pair) for pair in pairs]
    reference = images[0]
    keys = [n for n in _numbers(first, reference) if reference.group.variables[n].kind != "split"]
    fields, people = _keyed(reference.group, keys)
    series = []
    for pair, image in zip(pairs, images, strict=True):
        series += _split_series(image, _translated(fields, reference, image))
    labels = _label_sources(first, reference, fields)
    if not series or not labels:
        return None
    peeks = [peek for peek in first.mask.peeks if peek.values]
    binary = bool(peeks) and all(len(peek.values or ()) <= 2 for peek in peeks) and first.mask.role == "mask"
    shared = {p for pair in pairs for p in pair.image.group.paths}
    leave = len(shared) > len(first.mask.group.paths) * len(series) / max(1, len(labels)) or first.share < 1
    answers = [pair.evidence for pair in pairs] + list(first.mask.evidence)
    return Plan(
        reference,
        tuple(_named(series)),
        tuple(labels),
        binary=binary,
        leave=leave,
        evidence=(*answers, *(a for a in people if isinstance(a, Evidence))),
        unknown=tuple(a for a in people if isinstance(a, Unknown)),
    )


def _numbers(pair: Pair, reference: Part) -> list[int]:
    """Variables of the reference, which may have fewer than the whole group, that are shared with the label maps."""
    ats = {pair.image.group.variables[n].at[0] for n in pair.shared.values()}
    return [n for n, variable in enumerate(reference.group.variables) if ats & set(variable.at)]


def _with_masks(pair: Pair) -> Part:
    """The images without those of a part of an official split that has no label maps."""
    group = pair.image.group
    for number, variable in enumerate(group.variables):
        if variable.kind != "split" or number in pair.shared.values():
            continue
        parts = split_by(group, variable)
        constant = {t.text for t in pair.mask.group.rows[0] if t.kind == "split"}
        if len(constant & set(parts)) == 1:
            return replace(pair.image, group=parts[(constant & set(parts)).pop()])
    return pair.image


def _keyed(group: Group, keys: Sequence[int]) -> tuple[dict[str, list[int]], list[Evidence | Unknown]]:
    """`subject` and `scan` -> numbers of variables."""
    told = who(group, keys)
    fields = {"subject": list(told.subject), "scan": list(told.scan)}
    answers = [answer for answer in (told.evidence, told.unknown) if answer is not None]
    return {name: numbers for name, numbers in fields.items() if numbers}, answers


def _translated(fields: Mapping[str, list[int]], reference: Part, other: Part) -> dict[str, list[int]]:
    """The same fields in another group: the variables that read the same."""
    if other is reference:
        return dict(fields)
    found: dict[str, list[int]] = {}
    for name, numbers in fields.items():
        for n in numbers:
            values = set(reference.group.variables[n].values)
            alike = [m for m, v in enumerate(other.group.variables) if len(values & set(v.values)) >= 0.5 * len(set(v.values))]
            free = [m for m in alike if m not in [x for taken in found.values() for x in taken]]
            found.setdefault(name, []).extend(free[:1])
    return found


def _split_series(image: Part, fields: Mapping[str, list[int]]) -> list[Source]:
    """One series, or one per value of a variable that is no field but repeats: `_0000`, `_0001`."""
    where = stretches(image.group, fields)
    return [] if where is None else _split(Source("", image, tuple(where)))


def _split(source: Source) -> list[Source]:
    group = source.part.group
    if _unique(group, source.where):
        return [source]
    taken = {at for stretch in source.where for at in range(stretch.start, stretch.end)}
    spare = [v for v in group.variables if not taken & set(v.at) and len(v.distinct) <= _MOST_SPLIT]
    for variable in sorted(spare, key=lambda v: len(v.distinct)):
        found: list[Source] = []
        for value, part in split_by(group, variable).items():
            name = "_".join(filter(None, (source.part.name, value)))
            found += _split(replace(source, part=replace(source.part, group=part, name=name)))
        if found:
            return found
    return []


def _unique(group: Group, where: Sequence[Stretch]) -> bool:
    keys = Counter(zip(read(group, where, "subject"), read(group, where, "scan"), strict=True))
    return max(keys.values()) == 1


def _label_sources(pair: Pair, reference: Part, fields: Mapping[str, list[int]]) -> list[Source]:
    mask = pair.mask
    back = {pair.image.group.variables[ours].at[0]: theirs for theirs, ours in pair.shared.items()}
    ats = {name: [reference.group.variables[n].at[0] for n in numbers] for name, numbers in fields.items()}
    own = {name: [back[at] for at in positions if at in back] for name, positions in ats.items()}
    if mask.role == "structures":
        label = next(n for n, v in enumerate(mask.group.variables) if mask.label_at in v.at)
        where = stretches(mask.group, {**own, "label": [label]})
        return [Source("structures", mask, tuple(where))] if where and not _extra(pair) else []
    sources = _split_series(mask, own)
    names = ["mask"] if len(sources) == 1 else [f"mask_{_plain(source.part.name)}" for source in sources]
    return [replace(source, name=name) for source, name in zip(sources, names, strict=True)]


def _alone(mask: Part) -> Plan | None:
    """Label maps without images, which are then also all there is to see."""
    keys = [n for n, v in enumerate(mask.group.variables) if mask.label_at not in v.at]
    fields, people = _keyed(mask.group, keys)
    where = stretches(mask.group, fields)
    if where is None or "subject" not in fields:
        return None
    source = Source("image", mask, tuple(where))
    unknown = [a for a in people if isinstance(a, Unknown)]
    unknown.append(Unknown("layout.series", "only label maps were recognised; they stand as images too"))
    return Plan(mask, (source,), (replace(source, name="mask"),), unknown=tuple(unknown))


def _unmasked(part: Part, rule: ClassRule | None, others: Sequence[Part]) -> Plan | None:
    """Images without label maps."""
    group = part.group
    class_number = rule.variable if rule else None
    keys = [n for n, v in enumerate(group.variables) if n != class_number and v.kind != "split"]
    fields, people = _keyed(group, keys)
    if not fields and class_number is not None:
        fields = {"subject": [class_number]}
    where = stretches(group, fields)
    template = ""
    if class_number is not None:
        own = [Stretch("class", at, at + 1) for at in group.variables[class_number].at]
        template = "{class}"
        if where is not None and not _unique(group, where):
            fields = {**fields, "scan": sorted({*fields.get("scan", ()), class_number})}
            where = stretches(group, fields)
            template = "{scan}" if fields["scan"] == [class_number] else "{folder}"
        elif where is not None:
            where = sorted([*where, *own], key=lambda s: s.start)
    if where is None or "subject" not in fields:
        return None
    alike = [p for p in others if p.group.family == group.family and p.group.words == group.words]
    series = _named([Source("", part, tuple(where)), *(s for p in alike for s in _split_series(p, _translated(fields, part, p)))])
    return Plan(
        part,
        tuple(series),
        classes=rule,
        class_field=template,
        evidence=tuple(a for a in people if isinstance(a, Evidence)),
        unknown=tuple(a for a in people if isinstance(a, Unknown)),
    )


def _named(series: Sequence[Source]) -> list[Source]:
    """Series with names of their own, from the words that only they have."""
    common = frozenset.intersection(*(source.part.group.words for source in series))
    names: list[str] = []
    for source in series:
        own = [word for token in source.part.group.rows[0] for word in words(token.text) if token.kind == "word"]
        special = list(dict.fromkeys(word for word in own if word not in common and word not in _UNHELPFUL))
        name = "_".join(filter(None, ["_".join(special[-2:]), _plain(source.part.name)])) or "image"
        while name in names:
            name += "_x"
        names.append(name)
    return [replace(source, name=name) for source, name in zip(series, names, strict=True)]


def _plain(text: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in text.lower()).strip("_")
