"""Decides which groups are series and which label maps, and gives all of them the same fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from assets.inspect.arrays import planes
from assets.inspect.classes import ClassRule
from assets.inspect.containers import alone, in_containers
from assets.inspect.derivatives import with_derivatives
from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.exceptions import with_exceptions
from assets.inspect.further import with_further
from assets.inspect.grouping import PARTED, split_by
from assets.inspect.layout import (
    Plan,
    Source,
    apart,
    extra,
    folder_words,
    keyed,
    label_sources,
    level_of,
    split_series,
    translated,
    with_names,
    with_split,
)
from assets.inspect.left_out import left_out, unlabelled
from assets.inspect.maps_beside import with_maps_beside
from assets.inspect.own_names import with_true_names
from assets.inspect.pages import other_pages
from assets.inspect.pairing import Pair
from assets.inspect.patterns import stretches
from assets.inspect.peek import Opener, Peek
from assets.inspect.roles import Part
from assets.inspect.roots import roots
from assets.inspect.several_maps import with_several
from assets.inspect.shifted import without_shifted
from assets.inspect.unmasked import unmasked

_FEW = 0.5
"""Share of images with label maps below which classes that all have are what a set is for."""
_SHOWN = 6
"""Arrays that are named where a person must choose."""

__all__ = ["Plan", "Source", "plan"]


def plan(parts: Sequence[Part], rules: Mapping[int, ClassRule], opener: Opener) -> Plan | None:
    """The layout; None when there are no images."""
    images = [part for part in parts if part.role == "image"]
    masks = [part for part in parts if part.role in ("mask", "structures")]
    paired, doubts = without_shifted(masks, images, opener)
    planned = _paired(paired, parts, rules) if paired else None
    planned = planned or _unpaired(parts, rules, opener, alone_too=not paired)
    of_bids = with_derivatives(planned, parts, opener)
    planned = of_bids if of_bids is not planned or planned is None else with_several(planned, paired, opener)
    if planned is None:
        return None
    planned = _with_each_once(planned)
    if len(planned.labels) == 1 and not planned.few and unlabelled(planned):
        planned = replace(planned, leave=True)
    return _with_doubts(replace(planned, unknown=(*planned.unknown, *doubts)), parts)


def _with_each_once(planned: Plan) -> Plan:
    """The plan without series and label maps that read the same as others; what only they claimed is left out, and said."""
    series, labels = apart(planned.series), apart(planned.labels)
    names = {source.name for source in series}
    of = [tuple(name for name in source.of if name in names) for source in labels]
    return replace(
        planned, series=tuple(series), labels=tuple(replace(source, of=own) for source, own in zip(labels, of, strict=True))
    )


def _with_doubts(planned: Plan, parts: Sequence[Part]) -> Plan:
    """The plan with what must be said of images before they can be read, and of those that it leaves out."""
    sources = (*planned.series, *planned.labels)
    used = [(source, part) for source in sources for part, _ in source.parts]
    doubts = []
    lost = next((part for _, part in used if any(not peek.lies for peek in part.peeks)), None)
    if lost is not None:
        why = "does not say how it lies in the patient; state `assume_orientation` once the source tells it"
        doubts.append(Unknown("layout", f"{lost.group.paths[0]} {why}"))
    held = next((part for source, part in used if not source.key and any(_holds_several(peek) for peek in part.peeks)), None)
    if held is not None:
        doubts.append(
            Unknown("layout", f"{held.group.paths[0]} holds several arrays; `key` must say which is meant{_choice(held)}")
        )
    if seen := other_pages(planned):
        doubts.append(Unknown("layout", f"{seen}; `axes`, `channel` and `plane` must say which are meant"))
    return with_true_names(replace(planned, unknown=(*planned.unknown, *doubts, *left_out(planned, parts))))


def _choice(part: Part) -> str:
    """The arrays of its first file of several that may be images."""
    names = next((planes(peek.arrays) for peek in part.peeks if _holds_several(peek)), [])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f": {', '.join(map(repr, names[:_SHOWN]))}{more}" if len(names) > 1 else ""


def _holds_several(peek: Peek) -> bool:
    return peek.format == "several arrays" or len(peek.arrays) > 1


def _paired(paired: Sequence[list[Pair]], parts: Sequence[Part], rules: Mapping[int, ClassRule]) -> Plan | None:
    """Images with the label maps that belong to them."""
    best = _best(paired)
    rule = next((rule for number, rule in rules.items() if parts[number] is best[0].image), None)
    if rule is not None and rule.variable is not None and (both := _classified(best[0], rule)) is not None:
        return both
    planned = _segmentation(best, [pairs for pairs in paired if len(pairs) == 1])
    planned = planned and with_maps_beside(planned, [pair for pairs in paired for pair in pairs])
    masks = [part for part in parts if part.role in ("mask", "structures")]
    return planned and with_further(with_exceptions(planned, masks), [part for part in parts if part.role == "image"])


def _unpaired(parts: Sequence[Part], rules: Mapping[int, ClassRule], opener: Opener, *, alone_too: bool) -> Plan | None:
    """Label maps alone, if these may stand for images too, images with label maps in their files, or images without any."""
    images = [part for part in parts if part.role == "image"]
    masks = [part for part in parts if part.role in ("mask", "structures")]
    if masks and alone_too and (not images or len(masks[0].group.paths) > 3 * len(images[0].group.paths)):
        return alone(masks)
    return (in_containers(images[0], opener) or _without_masks(parts, images, rules)) if images else None


def _without_masks(parts: Sequence[Part], images: Sequence[Part], rules: Mapping[int, ClassRule]) -> Plan | None:
    """Images whose class is told; else all that are called alike, whatever part of a split they are in."""
    told = next((n for n in rules if parts[n].role == "image"), None)
    if told is not None:
        return unmasked(parts[told], rules[told], [p for p in images if p is not parts[told]])
    first, *others = sorted(roots(images, splits=True), key=lambda part: -len(part.group.paths))
    return unmasked(first, None, others)


def _classified(pair: Pair, rule: ClassRule) -> Plan | None:
    """Images that all have a class, and of which fewer than half have a label map; else None."""
    if len(pair.mask.group.paths) >= _FEW * len(_with_masks(pair).group.paths) or pair.mask.role != "mask":
        return None
    planned = unmasked(pair.image, rule, ())
    if planned is None:
        return None
    group = pair.image.group
    single = [s for s in planned.series[0].where if s.end - s.start == 1]
    fields = {s.field: number for s in single for number, v in enumerate(group.variables) if v.at[0] == s.start}
    back = {ours: theirs for theirs, ours in pair.shared.items()}
    keys = {field: number for field, number in fields.items() if field in ("subject", "scan")}
    if not set(keys.values()) <= set(back) or "subject" not in keys:
        return None
    where = stretches(pair.mask.group, {field: [back[number]] for field, number in keys.items()})
    if where is None:
        return None
    seen = f"{len(pair.mask.group.paths)} of {len(group.paths)} images have a label map, and all have a class"
    evidence = (*planned.evidence, replace(pair.evidence, seen=f"{pair.evidence.seen}; {seen}"))
    source = Source("mask", pair.mask, tuple(where), at_least=level_of(pair.mask))
    return replace(planned, labels=(source,), few=True, evidence=evidence)


def _best(paired: Sequence[list[Pair]]) -> list[Pair]:
    """The label maps that leave least open: called so, none to choose from for one image, and most files."""

    def rank(pairs: list[Pair]) -> tuple[bool, bool, int, int]:
        pair = pairs[0]
        n_images = len({n for p in pairs for n in p.image.group.paths})
        return not pair.mask.unnamed, not extra(pair), n_images, len(pair.mask.group.paths)

    return max(paired, key=rank)


def _segmentation(pairs: list[Pair], singles: Sequence[list[Pair]]) -> Plan | None:
    first = pairs[0]
    twins = [one[0] for one in singles if _is_twin(one[0], first, pairs)] if len(pairs) == 1 else []
    images = [_with_masks(pair) for pair in pairs]
    reference = images[0]
    keys = _without_class(reference, [n for n in _numbers(first, reference) if reference.group.variables[n].kind not in PARTED])
    fields, people = keyed(reference.group, keys)
    fields = with_split(fields, reference.group, _numbers(first, reference))
    series = []
    for image in images:
        series += split_series(image, translated(fields, reference, image))
    labels = label_sources(first, reference, fields)
    if not series or not labels:
        return None
    series = with_names(series)
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
        share=min(1.0, len(first.mask.group.paths) / len(reference.group.paths)),
        evidence=(*answers, *(a for a in people if isinstance(a, Evidence))),
        unknown=tuple(a for a in people if isinstance(a, Unknown)),
    )


def _without_class(part: Part, keys: Sequence[int]) -> list[int]:
    """Without the folder that may be a class, where the rest tells the images apart: it is nobody's."""
    rest = [n for n in keys if part.class_at not in part.group.variables[n].at]
    names = set(zip(*(part.group.variables[n].values for n in rest), strict=True))
    return rest if len(names) == len(part.group.paths) else list(keys)


def _is_twin(other: Pair, first: Pair, pairs: Sequence[Pair]) -> bool:
    """Whether other images have label maps of their own in the same way, as the sequences of an examination may."""
    new = all(other.image is not pair.image for pair in pairs) and other.mask is not first.mask
    sets = [set(folder_words(part.group)) for part in (first.image, other.image, first.mask, other.mask)]
    beside = sets[0] - sets[1] == sets[2] - sets[3] and sets[1] - sets[0] == sets[3] - sets[2]
    return new and beside and other.mask.role == first.mask.role == "mask" and not extra(other)


def _with_twins(
    series: list[Source], labels: list[Source], twins: Sequence[Pair], keyed: tuple[Part, Mapping[str, list[int]]]
) -> tuple[list[Source], list[Source]]:
    """All series that have label maps of their own, each label map beside its series."""
    reference, fields = keyed
    found = [(series[0], labels[0])]
    for twin in twins:
        image = split_series(twin.image, translated(fields, reference, twin.image))
        mask = split_series(twin.mask, translated(fields, reference, twin.mask))
        asked = {stretch.field for stretch in series[0].where}
        if len(image) == len(mask) == 1 and all({s.field for s in one[0].where} == asked for one in (image, mask)):
            found.append((image[0], mask[0]))
    named = with_names([image for image, _ in found])
    masks = [replace(mask, name=f"mask_{image.name}", of=(image.name,)) for image, (_, mask) in zip(named, found, strict=True)]
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
