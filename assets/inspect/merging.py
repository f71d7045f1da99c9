"""Joins groups that differ by one word: structures with a file each, classes with a folder each, series of one subject not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile

from assets.inspect.formats import IMAGES, family
from assets.inspect.grouping import Group, freed, merged, shape_of
from assets.inspect.lexicon import IMAGE, MASK, PERSON, SEQUENCES, TIMES
from assets.inspect.roles import Part
from assets.inspect.tokens import Token, words

_RESERVED = MASK | IMAGE | SEQUENCES | TIMES


def structures(parts: Sequence[Part]) -> list[Part]:
    """Joins label maps of one folder that say different structures: `liver.nii.gz`, `spleen.nii.gz`, ..."""

    def together(group: Group) -> Hashable:
        return shape_of(group.rows[0][: group.name_at]), group.ending.lower()

    kept = [part for part in parts if part.role != "mask"]
    for bucket in _buckets([part for part in parts if part.role == "mask"], together).values():
        span = _middle([part.group.rows[0][part.group.name_at :] for part in bucket])
        if len(bucket) < 3 or span is None or all(_is_sequence(part.group, span) for part in bucket):
            kept += bucket
            continue
        spans = {}
        for number, part in enumerate(bucket):
            start = part.group.name_at + span[0]
            spans[number] = (start, len(part.group.rows[0]) - span[1])
        joined = merged((part.group for part in bucket), spans)
        if len({path.rpartition("/")[0] for path in joined.paths}) == 1:
            joined = replace(joined, lone=True)
        kept.append(Part(joined, "structures", label_at=bucket[0].group.name_at + span[0]))
    return kept


def _is_sequence(group: Group, span: tuple[int, int]) -> bool:
    """Whether the differing part of a name says a kind of acquisition rather than a structure."""
    own = group.rows[0][group.name_at + span[0] : len(group.rows[0]) - span[1]]
    return bool(set(words("".join(token.text for token in own))) & SEQUENCES)


def _middle(names: Sequence[Sequence[Token]]) -> tuple[int, int] | None:
    """How many tokens all names begin with, and how many they end with; None when nothing is left of one between the two."""
    shapes = [shape_of(name) for name in names]
    shortest = min(map(len, shapes))
    front = next((n for n in range(shortest) if len({shape[n] for shape in shapes}) > 1), shortest)
    back = next((n for n in range(shortest - front) if len({shape[-1 - n] for shape in shapes}) > 1), shortest - front)
    return (front, back) if shortest > front + back else None


def class_folders(parts: Sequence[Part]) -> list[Part]:
    """Joins images whose folders differ by one that may name their class."""
    deepest = max((_depth(part.group) for part in parts if part.role == "image"), default=0)
    joined = list(parts)
    for level in range(deepest):
        joined = _with_folder(joined, level)
    return joined


def masks_of_classes(parts: Sequence[Part]) -> list[Part]:
    """Joins label maps with names of their own in folders that are called like those of the images' classes."""
    known = {
        value
        for part in parts
        for variable in part.group.variables
        if part.role == "image" and part.class_at in variable.at
        for value in variable.distinct
    }
    joined = list(parts)
    for level in range(max((_depth(part.group) for part in parts if part.role == "mask"), default=0) if known else 0):
        inside = [part for part in joined if part.role == "mask" and _folder_text(part.group, level) in known]
        for bucket in _buckets(inside, partial(_around_and_below, level=level)).values():
            if len(bucket) > 1 and not _share_folders(bucket, level) and not _repeat_names(bucket):
                joined = [part for part in joined if part not in bucket]
                joined.append(replace(_one(bucket, level), role="mask", class_at=None))
    return joined


def _around_and_below(group: Group, level: int) -> Hashable:
    """What groups of label maps have in common, of which several sorts may lie below each class: folders around and below."""
    _, end = _folder_span(group, level) or (0, 0)
    return _around(group, level), shape_of(group.rows[0][end : group.name_at])


def _repeat_names(bucket: Sequence[Part]) -> bool:
    """Whether a file's name stands in two of the folders."""
    names = [path.rpartition("/")[2] for part in bucket for path in part.group.paths]
    return len(set(names)) < len(names)


def _folder_text(group: Group, level: int) -> str:
    """The name of a folder, the same for all files of the group; empty where it varies or there is none."""
    start, end = _folder_span(group, level) or (0, 0)
    texts = {"".join(token.text for token in row[start:end]) for row in group.rows}
    return texts.pop() if len(texts) == 1 else ""


def _around(group: Group, level: int) -> Hashable:
    """What groups have in common whose folders of a level may be classes."""
    ends = _folder_span(group, level)
    if ends is None:
        return None
    start, end = ends
    behind = group.rows[0][end : group.name_at]
    inner = len(behind) if level == 0 else tuple("/" for token in behind if token.text == "/")
    return shape_of(group.rows[0][: _first_of_name(group, start, end)]), inner, group.family


def _depth(group: Group) -> int:
    return sum(token.text == "/" for token in group.rows[0])


def _with_folder(parts: Sequence[Part], level: int) -> list[Part]:
    """`level` 0 is the folder of the file, 1 the one around it."""
    kept = [part for part in parts if part.role != "image"]
    for key, bucket in _buckets([part for part in parts if part.role == "image"], partial(_around, level=level)).items():
        folders = {shape_of(part.group.rows[0][slice(*(_folder_span(part.group, level) or (0, 0)))]) for part in bucket}
        if (
            key is None
            or len(folders) < 2
            or not all(_may_be_class(part.group, level, _reserved(part.group, level)) for part in bucket)
            or all(_says_sequence(part.group, level) for part in bucket)
            or _crossed(bucket, level)
            or _share_folders(bucket, level)
        ):
            kept += bucket
        else:
            kept.append(_one(bucket, level))
    return kept


def _first_of_name(group: Group, start: int, end: int) -> int:
    """Where the folder around a folder begins, as long as it has the same name."""
    name = [token.text for token in group.rows[0][start:end]]
    while start > end - start and [token.text for token in group.rows[0][2 * start - end - 1 : start - 1]] == name:
        start, end = 2 * start - end - 1, start - 1
    return start


def _folder_span(group: Group, level: int) -> tuple[int, int] | None:
    """Tokens of a folder, counted from the inmost."""
    slashes = [-1, *(n for n, token in enumerate(group.rows[0]) if token.text == "/")]
    if len(slashes) < level + 2:
        return None
    return slashes[-2 - level] + 1, slashes[-1 - level]


def _says_sequence(group: Group, level: int) -> bool:
    span = _folder_span(group, level)
    return span is not None and bool(set(words("".join(t.text for t in group.rows[0][slice(*span)]))) & SEQUENCES)


def _reserved(group: Group, level: int) -> frozenset[str]:
    """Words that are no class: stains may be, in the inmost folders of pictures; kinds of acquisition of a volume never are."""
    return IMAGE | MASK | TIMES if level == 0 and group.family == "picture" else _RESERVED


def _may_be_class(group: Group, level: int, reserved: frozenset[str]) -> bool:
    span = _folder_span(group, level)
    if span is None:
        return False
    folder = group.rows[0][span[0] : span[1]]
    text = "".join(token.text for token in folder)
    if family("." + text.rpartition(".")[2]) in IMAGES or any(token.kind == "split" for token in folder):
        return False
    order = 1 if len(folder) > 2 and folder[0].kind == "number" and folder[1].kind == "sign" else 0
    if any(token.kind == "id" or (token.kind == "number" and len(token.text) > 2) for token in folder[order:]):
        return False
    constant = len(group.rows) == 1 or all(not set(variable.at) & set(range(*span)) for variable in group.variables)
    return constant and not set(words(text)) & reserved and any(token.kind in ("word", "free") for token in folder)


def _crossed(bucket: Sequence[Part], level: int) -> bool:
    """Whether all folders hold the same names, as they do where each is a series of the same subjects.

    Pictures are often numbered anew in the folder of each class; the same names with other endings are none of that.
    """
    volumes = bucket[0].group.family in ("volume", "container")
    names: dict[str, set[str]] = defaultdict(set)
    endings: dict[str, set[str]] = defaultdict(set)
    for part in bucket:
        start, end = _folder_span(part.group, level) or (0, 0)
        last = len(part.group.rows[0]) - (part.group.has_ending and not volumes)
        folder = "".join(token.text for token in part.group.rows[0][start:end])
        names[folder] |= {"".join(token.text for token in row[end:last]) for row in part.group.rows}
        endings[folder].add(part.group.ending.lower())
    if not volumes and sum(map(len, endings.values())) > len(set.union(*endings.values())):
        return False
    shared = set.intersection(*names.values())
    return len(shared) >= 0.5 * max(map(len, names.values()))


def _share_folders(bucket: Sequence[Part], level: int) -> bool:
    """Whether files of several shapes lie in the same folders below, as they do where such a folder is a subject's."""
    if level == 0:
        return False
    folders = [{path.rpartition("/")[0] for path in part.group.paths} for part in bucket]
    pairs = [(one, two) for n, one in enumerate(folders) for two in folders[n + 1 :]]
    return any(2 * len(one & two) >= max(len(one), len(two)) for one, two in pairs)


def _one(bucket: Sequence[Part], level: int) -> Part:
    """One part of several; the folder is one token, and what follows is one too where the names have different shapes."""
    ends = [span for part in bucket if (span := _folder_span(part.group, level)) is not None]
    tails = [shape_of(part.group.rows[0][end:]) for part, (_, end) in zip(bucket, ends, strict=True)]
    groups: list[Group] = [part.group for part in bucket]
    if len(set(tails)) > 1:
        alike = _shared_folders(tails)
        groups = [_stem_whole(group, end + alike) for group, (_, end) in zip(groups, ends, strict=True)]
    spans = {n: (_first_of_name(group, *span), span[1]) for n, (group, span) in enumerate(zip(groups, ends, strict=True))}
    joined = merged(groups, spans)
    return Part(joined, "image", class_at=spans[0][0])


def _shared_folders(tails: Sequence[Sequence[tuple[str, str]]]) -> int:
    """How many tokens, up to a folder's end, begin all of these; each begins with one."""
    alike = list(takewhile(lambda tokens: len(set(tokens)) == 1, zip(*tails, strict=False)))
    return 1 + max(n for n, tokens in enumerate(alike) if tokens[0][1] == "/")


def _stem_whole(group: Group, start: int) -> Group:
    """The group with all behind `start` but the ending as one token."""
    end = len(group.rows[0]) - (1 if group.has_ending else 0)
    return merged([group], {0: (start, end)})


def class_words(parts: Sequence[Part], role: str = "image") -> list[Part]:
    """Joins files whose names differ by one word, wherever it is repeated: `image_1_nucleus`, `image_7_membrane`.

    Of images the word may be their class; it may as well belong to the name of a person, as `TCGA_CS_` and `TCGA_HT_` do.
    """
    waiting = [part for part in parts if part.role == role]
    kept = [part for part in parts if part.role != role]
    while waiting:
        first, *others = waiting
        found = next((f for f in (_differing(first, others, word) for word in _own_words(first)) if f is not None), None)
        if found is None:
            kept.append(first)
            waiting = others
            continue
        at, alike = found
        joined = freed((part.group for part in alike), at)
        told = first.class_at if first.class_at is not None else at[-1]
        kept.append(replace(first, group=joined, class_at=told if role == "image" else None))
        waiting = [part for part in others if part not in alike]
    return kept


def _own_words(part: Part) -> list[str]:
    """Words of the file's name, in their order."""
    group = part.group
    return list(dict.fromkeys(t.text for t in group.rows[0][group.name_at :] if t.kind == "word"))


def _differing(first: Part, others: Sequence[Part], word: str) -> tuple[list[int], list[Part]] | None:
    """The parts that agree with the first but for a word, when they are no series of the same subjects."""
    at = [n for n, token in enumerate(first.group.rows[0]) if token.kind == "word" and token.text == word]

    def without(part: Part) -> tuple[tuple[str, str], ...]:
        """The shape but for the word; nothing when something else stands there."""
        row = part.group.rows[0]
        there = {(row[n].kind, row[n].text) for n in at if n < len(row)}
        if len(row) <= at[-1] or len(there) > 1 or next(iter(there))[0] != "word":
            return ()
        return shape_of(t for n, t in enumerate(row) if n not in at)

    alike = [first, *(part for part in others if without(part) == without(first))]
    if len(alike) < 2 or any(set(words(part.group.rows[0][at[0]].text)) & _RESERVED for part in alike):
        return None
    rest = [{tuple(t.text for n, t in enumerate(row) if n not in at) for row in part.group.rows} for part in alike]
    shared = set.intersection(*rest)
    crossed = len(shared) >= 0.5 * max(map(len, rest))
    return None if crossed and not _begins_id(first.group, at[-1]) else (at, alike)


def _begins_id(group: Group, at: int) -> bool:
    """Whether a word is part of an id: a number follows it at the start of a picture's name, or right behind it a person's."""
    row = group.rows[0]
    if (
        1 < at < len(row) - 1
        and row[at + 1].kind == "number"
        and row[at - 1].kind == "sign"
        and set(words(row[at - 2].text)) & PERSON
    ):
        return True
    behind = [token.kind for token in row[at + 1 : at + 3] if token.kind != "sign"]
    return group.family in ("picture", "table") and at == group.name_at and behind[:1] == ["number"]


def free_names(parts: Sequence[Part]) -> list[Part]:
    """Joins images of one folder whose names have nothing in common; the whole name is then what varies."""

    def together(group: Group) -> Hashable:
        return shape_of(group.rows[0][: group.name_at]), group.ending.lower()

    kept = [part for part in parts if part.role != "image"]
    for bucket in _buckets([part for part in parts if part.role == "image"], together).values():
        files = sum(len(part.group.paths) for part in bucket)
        if len(bucket) < 4 or files > 3 * len(bucket) or any(part.group.words & SEQUENCES for part in bucket):
            kept += bucket
            continue
        groups = [_stem_whole(part.group, part.group.name_at) for part in bucket]
        kept.append(Part(merged(groups, {n: (g.name_at, g.name_at + 1) for n, g in enumerate(groups)}), "image"))
    return kept


def _buckets(parts: Iterable[Part], key: Callable[[Group], Hashable]) -> dict[Hashable, list[Part]]:
    found: dict[Hashable, list[Part]] = defaultdict(list)
    for part in parts:
        found[key(part.group)].append(part)
    return dict(found)
