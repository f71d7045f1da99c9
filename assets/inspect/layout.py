"""The layout of a draft: its series and label maps, and how their fields are given to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from assets.inspect.class_numbers import ClassNumber
from assets.inspect.classes import ClassRule
from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.grouping import PARTED, Group, split_by
from assets.inspect.pairing import Pair
from assets.inspect.patterns import Stretch, endings_apart, read, stretches
from assets.inspect.roles import Part
from assets.inspect.subjects import who, word_before
from assets.inspect.tokens import words
from assets.inspect.values import Colour

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
        nonzero_is: The label id of a label map of one structure, beside others.
        called: What that structure is called; empty where nothing says it.
        sort: What label maps of the same things have in common, whatever visit, take or space they are of.
        of_all: Whether every image is known to have such a label map.
        more: Files that belong to it too although they are called otherwise, with where their fields stand.
    """

    name: str
    part: Part
    where: tuple[Stretch, ...]
    key: str = ""
    axes: str = ""
    of: tuple[str, ...] = ()
    nonzero_is: int | None = None
    called: str = ""
    sort: tuple[str, ...] = ()
    of_all: bool = False
    channels: int = 0
    at_least: float | None = None
    more: tuple[tuple[Part, tuple[Stretch, ...]], ...] = ()

    @property
    def parts(self) -> tuple[tuple[Part, tuple[Stretch, ...]], ...]:
        """All its files, with where their fields stand."""
        return ((self.part, self.where), *self.more)


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
        levels: Grey level in label maps -> label id, where these are not the same.
        colours: Label id -> its colour, of label maps that are drawn in colours.
        leave: Whether some images have no label map.
        share: Of the images that may have a label map, how many have one.
        few: Whether fewer than half of them have one while all have a class.
        numbers: Single numbers in the group of the image and its label map that are called like a class.
        channel_names: Number of a channel -> what a description calls it.
        evidence: Why.
        unknown: What could not be told.
    """

    reference: Part
    series: tuple[Source, ...]
    labels: tuple[Source, ...] = ()
    classes: ClassRule | None = None
    class_field: str = ""
    binary: bool = False
    levels: dict[int, int] = field(default_factory=dict)
    colours: dict[int, Colour] = field(default_factory=dict)
    channel_names: dict[int, str] = field(default_factory=dict)
    numbers: tuple[ClassNumber, ...] = ()
    leave: bool = False
    share: float = 1.0
    few: bool = False
    evidence: tuple[Evidence, ...] = ()
    unknown: tuple[Unknown, ...] = field(default=())

    @cached_property
    def claimed(self) -> frozenset[str]:
        """Every file of a series or a label map."""
        sources = (*self.series, *self.labels)
        return frozenset(path for source in sources for part, _ in source.parts for path in part.group.paths)

    @property
    def is_unpaired(self) -> bool:
        """Whether it is open of which images label maps are, so that none is in the draft."""
        return not self.labels and any(one.field == "pairing" for one in self.unknown)


def keyed(group: Group, keys: Sequence[int]) -> tuple[dict[str, list[int]], list[Evidence | Unknown]]:
    """`subject` and `scan` -> numbers of variables."""
    told = who(group, keys)
    glued = _glued(group, told.subject, keys)
    fields = {"subject": [*told.subject, *glued], "scan": [n for n in told.scan if n not in glued]}
    answers = [answer for answer in (told.evidence, told.unknown) if answer is not None]
    return {name: numbers for name, numbers in fields.items() if numbers}, answers


def _glued(group: Group, subject: Sequence[int], keys: Sequence[int]) -> list[int]:
    """The number that stands right behind a person's letters wherever they stand, as in `sub-k01` and `sub-p01`."""
    if len(subject) != 1 or group.variables[subject[0]].kind != "free":
        return []
    behind = tuple(at + 1 for at in group.variables[subject[0]].at)
    return [n for n in keys if group.variables[n].kind == "number" and group.variables[n].at == behind]


def unique(group: Group, where: Sequence[Stretch]) -> bool:
    """Whether every file has a subject and scan of its own."""
    keys = Counter(zip(read(group, where, "subject"), read(group, where, "scan"), strict=True))
    return max(keys.values()) == 1


def with_split(fields: Mapping[str, list[int]], group: Group, shared: Sequence[int]) -> dict[str, list[int]]:
    """With the part of an official split as a scan, where the same numbers occur in several."""
    where = stretches(group, fields)
    splits = [n for n in shared if group.variables[n].kind in PARTED]
    if where is None or not splits or unique(group, where):
        return dict(fields)
    return {**fields, "scan": [*fields.get("scan", ()), *splits]}


def translated(fields: Mapping[str, list[int]], reference: Part, other: Part) -> dict[str, list[int]]:
    """The same fields in another group: the variables that read the same, best behind the same word."""
    if other is reference:
        return dict(fields)
    found: dict[str, list[int]] = {}
    for name, numbers in fields.items():
        for n in numbers:
            values = set(reference.group.variables[n].values)
            alike = [m for m, v in enumerate(other.group.variables) if len(values & set(v.values)) >= 0.5 * len(set(v.values))]
            free = [m for m in alike if m not in [x for taken in found.values() for x in taken]]
            before = word_before(reference.group, reference.group.variables[n])
            free.sort(key=lambda m: word_before(other.group, other.group.variables[m]) != before)
            found.setdefault(name, []).extend(free[:1])
    return found


def split_series(image: Part, fields: Mapping[str, list[int]]) -> list[Source]:
    """One series, or one per value of a variable that is no field but repeats: `_0000`, `_0001`."""
    where = stretches(image.group, fields)
    return [] if where is None else _split(Source("", image, tuple(where)))


def _split(source: Source) -> list[Source]:
    group = source.part.group
    if unique(group, source.where):
        return [source]
    taken = {at for stretch in source.where for at in range(stretch.start, stretch.end)}
    if group.family == "dicom":
        return []  # many instances of one subject are slices, not series
    spare = [v for v in group.variables if not taken & set(v.at) and len(v.distinct) <= _MOST_SPLIT]
    for variable in sorted(spare, key=lambda v: len(v.distinct)):
        found: list[Source] = []
        for value, part in split_by(group, variable).items():
            name = "_".join(filter(None, (source.part.name, value)))
            found += _split(replace(source, part=replace(source.part, group=part, name=name)))
        if found:
            return found
    return []


def with_names(series: Sequence[Source]) -> list[Source]:
    """Series with names of their own, from the words that only they have."""
    common = frozenset.intersection(*(source.part.group.words for source in series))
    names: list[str] = []
    for source in series:
        own = [word for token in source.part.group.rows[0] for word in words(token.text) if token.kind == "word"]
        special = list(dict.fromkeys(word for word in own if word not in common and word not in _UNHELPFUL))
        name = "_".join(filter(None, ["_".join(special[-2:]), plain(source.part.name)])) or "image"
        while name in names:
            name += "_x"
        names.append(name)
    return [replace(source, name=name) for source, name in zip(series, names, strict=True)]


def apart(sources: Sequence[Source]) -> list[Source]:
    """The sources without those that would read the same files by the same patterns as one before."""
    known: set[tuple[object, ...]] = set()
    kept = []
    for source in sources:
        read_by = (*sorted({text for part, where in source.parts for text in endings_apart(part.group, where)}), source.key)
        if read_by not in known:
            known.add(read_by)
            kept.append(source)
    return kept


def plain(text: str) -> str:
    """The text in small letters, with `_` for every sign."""
    return "".join(letter if letter.isalnum() else "_" for letter in text.lower()).strip("_")


def folder_words(group: Group) -> list[str]:
    """The words of its folders, which stay."""
    return [token.text for token in group.rows[0][: group.name_at] if token.kind == "word"]


def extra(pair: Pair) -> list[int]:
    """Variables of the label maps that the images do not have, but for the structure's name."""
    variables = pair.mask.group.variables
    return [
        n for n, v in enumerate(variables) if n not in pair.shared and pair.mask.label_at not in v.at and v.kind not in PARTED
    ]


def level_of(mask: Part) -> float | None:
    """What counts as inside, for maps of probabilities and masks that were packed as photographs."""
    if any(peek.blurred for peek in mask.peeks):
        return 128
    return 0.5 if any(peek.is_probability or peek.is_share for peek in mask.peeks) else None


def label_sources(pair: Pair, reference: Part, fields: Mapping[str, list[int]]) -> list[Source]:
    """The label maps of a pair as a source, or one for each value of a part of their names that the images do not have.

    Args:
        pair: Images with their label maps.
        reference: The images that all are keyed by.
        fields: Field -> numbers of the variables of the reference that it joins.
    """
    mask = pair.mask
    level = level_of(mask)
    back = {pair.image.group.variables[ours].at[0]: theirs for theirs, ours in pair.shared.items()}
    ats = {name: [reference.group.variables[n].at[0] for n in numbers] for name, numbers in fields.items()}
    own = {name: [back[at] for at in positions if at in back] for name, positions in ats.items()}
    if mask.role == "structures":
        label = next(n for n, v in enumerate(mask.group.variables) if mask.label_at in v.at)
        where = stretches(mask.group, {**own, "label": [label]})
        return [Source("structures", mask, tuple(where), at_least=level)] if where and not extra(pair) else []
    sources = split_series(mask, own)
    names = ["mask"] if len(sources) == 1 else [f"mask_{plain(source.part.name)}" for source in sources]
    return [replace(source, name=name, at_least=level) for source, name in zip(sources, names, strict=True)]
