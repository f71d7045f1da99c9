"""Decides which groups are series and which label maps, and gives all of them the same fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from assets.inspect.classes import ClassRule
from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.grouping import Group, split_by
from assets.inspect.lexicon import IMAGE, MASK
from assets.inspect.pairing import Pair, all_pairs
from assets.inspect.patterns import Stretch, pattern, read, stretches
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
        at_least: For a map of probabilities, what counts as inside.
        channels: How many masks of structures its channels are; 0 where it has none.
        of: The series a label map belongs to, where it is not all.
    """

    name: str
    part: Part
    where: tuple[Stretch, ...]
    key: str = ""
    axes: str = ""
    of: str = ""
    channels: int = 0
    at_least: float | None = None


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


def plan(parts: Sequence[Part], rules: Mapping[int, ClassRule]) -> Plan | None:
    """The layout; None when there are no images."""
    images = [part for part in parts if part.role == "image"]
    masks = [part for part in parts if part.role in ("mask", "structures")]
    paired = [pairs for mask in masks if (pairs := all_pairs(mask, images))]
    if paired:
        return _segmentation(_best(paired), [pairs for pairs in paired if len(pairs) == 1])
    if masks and (not images or len(masks[0].group.paths) > 3 * len(images[0].group.paths)):
        return _alone(masks[0])
    if not images:
        return None
    if (both := _in_containers(images[0])) is not None:
        return both
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
    return [n for n, v in enumerate(variables) if n not in pair.shared and pair.mask.label_at not in v.at and v.kind != "split"]


def _segmentation(pairs: list[Pair], singles: Sequence[list[Pair]]) -> Plan | None:
    first = pairs[0]
    twins = [one[0] for one in singles if _is_twin(one[0], first, pairs)] if len(pairs) == 1 else []
    images = [_with_masks(pair) for pair in pairs]
    reference = images[0]
    keys = [n for n in _numbers(first, reference) if reference.group.variables[n].kind != "split"]
    fields, people = _keyed(reference.group, keys)
    fields = _with_split(fields, reference.group, _numbers(first, reference))
    series = []
    for image in images:
        series += _split_series(image, _translated(fields, reference, image))
    labels = _label_sources(first, reference, fields)
    if not series or not labels:
        return None
    series = _named(series)
    if twins and len(series) == 1 and len(labels) == 1:
        series, labels = _with_twins(series, labels, twins, (reference, fields))
    shared = {p for pair in pairs for p in pair.image.group.paths}
    leave = len(shared) > len(first.mask.group.paths) * len(series) / max(1, len(labels)) or first.share < 1
    answers = [pair.evidence for pair in pairs] + list(first.mask.evidence)
    return Plan(
        reference,
        tuple(series),
        tuple(labels),
        leave=leave,
        evidence=(*answers, *(a for a in people if isinstance(a, Evidence))),
        unknown=tuple(a for a in people if isinstance(a, Unknown)),
    )


def _is_twin(other: Pair, first: Pair, pairs: Sequence[Pair]) -> bool:
    """Whether other images have label maps of their own in the same way, as the sequences of an examination may."""
    new = all(other.image is not pair.image for pair in pairs) and other.mask is not first.mask
    beside = _folders(other.mask.group) == _folders(first.mask.group) and _folders(other.image.group) == _folders(
        first.image.group
    )
    return new and beside and other.mask.role == first.mask.role == "mask" and not _extra(other)


def _folders(group: Group) -> list[str]:
    return [token.text for token in group.rows[0][: group.name_at] if token.kind == "word"]


def _with_twins(
    series: list[Source], labels: list[Source], twins: Sequence[Pair], keyed: tuple[Part, Mapping[str, list[int]]]
) -> tuple[list[Source], list[Source]]:
    """All series that have label maps of their own, each label map beside its series."""
    reference, fields = keyed
    found = [(series[0], labels[0])]
    for twin in twins:
        image = _split_series(twin.image, _translated(fields, reference, twin.image))
        mask = _split_series(twin.mask, _translated(fields, reference, twin.mask))
        asked = {stretch.field for stretch in series[0].where}
        if len(image) == len(mask) == 1 and all({s.field for s in one[0].where} == asked for one in (image, mask)):
            found.append((image[0], mask[0]))
    named = _named([image for image, _ in found])
    masks = [replace(mask, name=f"mask_{image.name}", of=image.name) for image, (_, mask) in zip(named, found, strict=True)]
    return named, masks


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


def _with_split(fields: Mapping[str, list[int]], group: Group, shared: Sequence[int]) -> dict[str, list[int]]:
    """With the part of an official split as a scan, where the same numbers occur in several."""
    where = stretches(group, fields)
    splits = [n for n in shared if group.variables[n].kind == "split"]
    if where is None or not splits or _unique(group, where):
        return dict(fields)
    return {**fields, "scan": [*fields.get("scan", ()), *splits]}


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
    level = 0.5 if any(peek.is_probability for peek in mask.peeks) else None
    return [replace(source, name=name, at_least=level) for source, name in zip(sources, names, strict=True)]


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


def _in_containers(part: Part) -> Plan | None:
    """Images and label maps that are arrays of the same files, told apart by their names."""
    arrays = [array for peek in part.peeks[:1] for array in peek.arrays]
    images = [a for a in arrays if set(words(a.name)) & IMAGE]
    masks = [a for a in arrays if set(words(a.name)) & MASK]
    if len(arrays) < 2 or len(images) != 1 or len(masks) != 1 or images[0].shape[:2] != masks[0].shape[:2]:
        return None
    fields, people = _keyed(part.group, range(len(part.group.variables)))
    where = stretches(part.group, fields)
    if where is None or "subject" not in fields or not _unique(part.group, where):
        return None
    seen = f"{part.group.paths[0]} holds the arrays {images[0].name!r} and {masks[0].name!r} of equal rows and columns"
    channels = masks[0].shape[2] if len(masks[0].shape) == 3 and masks[0].shape[2] <= 16 else 0
    return Plan(
        part,
        (Source("image", part, tuple(where), images[0].name, _axes(images[0].shape)),),
        (Source("mask", part, tuple(where), masks[0].name, _axes(masks[0].shape), channels=channels),),
        evidence=(Evidence("pairing", "arrays of one file", 0.8, seen), *(a for a in people if isinstance(a, Evidence))),
        unknown=tuple(a for a in people if isinstance(a, Unknown)),
    )


def _axes(shape: tuple[int, ...]) -> str:
    """The usual order of the axes of a picture with or without channels, or of a volume."""
    return "yx" if len(shape) == 2 else "yxc" if len(shape) == 3 and shape[2] <= 16 else "zyx" if len(shape) == 3 else "tzyx"


def _unmasked(part: Part, rule: ClassRule | None, others: Sequence[Part]) -> Plan | None:
    """Images without label maps."""
    group = part.group
    class_number = rule.variable if rule else None
    keys = [n for n, v in enumerate(group.variables) if n != class_number and v.kind != "split"]
    fields, people = _keyed(group, keys)
    where = stretches(group, fields) if fields else None
    if where is None or not _unique(group, where):
        where = _whole(group)
        people = [Unknown("people", "only the whole path tells the images apart; each stands for itself")]
    if where is None:
        return None
    template = ""
    if class_number is not None:
        where, template = _with_class(group, where, class_number)
    alike = [p for p in others if p.group.family == group.family and _folders(p.group) == _folders(group)]
    named = {stretch.field for stretch in where}
    if class_number is not None and "class" in named:
        fields = {**fields, "class": [class_number]}
    more = [s for p in alike for s in _split_series(p, _translated(fields, part, p)) if {t.field for t in s.where} == named]
    return Plan(
        part,
        tuple(_named([Source("", part, tuple(where)), *more])),
        classes=rule,
        class_field=template,
        evidence=tuple(a for a in people if isinstance(a, Evidence)),
        unknown=tuple(a for a in people if isinstance(a, Unknown)),
    )


def _whole(group: Group) -> list[Stretch] | None:
    """One field for all from the first token that varies to the last."""
    ats = [at for variable in group.variables for at in variable.at]
    if not ats:
        return None
    where = [Stretch("subject", min(ats), max(ats) + 1)]
    return where if _unique(group, where) else [Stretch("subject", min(ats), len(group.rows[0]))]


def _with_class(group: Group, where: Sequence[Stretch], number: int) -> tuple[list[Stretch], str]:
    """The fields with one for the class, and the template that reads it."""
    own = group.variables[number].at
    taken = {at: stretch for stretch in where for at in range(stretch.start, stretch.end)}
    free = [at for at in own if at not in taken]
    if free:
        return sorted([*where, *(Stretch("class", at, at + 1) for at in free)], key=lambda s: s.start), "{class}"
    folder = own[-1] < group.name_at and group.rows[0][own[-1] + 1].text == "/" and own[-1] + 2 == group.name_at
    whole = taken[own[0]]
    if whole.end - whole.start == 1:
        return list(where), f"{{{whole.field}}}"
    return list(where), "{folder}" if folder else ""


def beside(planned: Plan, part: Part) -> str:
    """The pattern of files that lie beside the images and share what their names vary in; empty when they do not."""
    pairs = all_pairs(part, [planned.reference])
    if not pairs or _extra(pairs[0]):
        return ""
    reads = {at: s.field for s in planned.series[0].where for at in range(s.start, s.end) if s.end - s.start == 1}
    shared = {planned.reference.group.variables[ours].at[0]: theirs for theirs, ours in pairs[0].shared.items()}
    own = {reads[at]: [theirs] for at, theirs in shared.items() if at in reads}
    where = stretches(part.group, own)
    return pattern(part.group, where) if where and len(own) == len(shared) else ""


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
