"""What tells several label maps of an image apart: a name for each, and whether words say readers, versions or predictions."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from assets.inspect.circumstances import circumstance_of
from assets.inspect.layout import Source, plain
from assets.inspect.lexicon import AGREED, CIRCUMSTANCES, IMAGE, MASK, PREDICTIONS, READERS, SPLITS, words_of
from assets.inspect.tokens import words

_VERSIONS = CIRCUMSTANCES["a version"] | CIRCUMSTANCES["a colour"] | words_of("color colour colored coloured overlay vis")
"""Of the same label map: altered with its image, or painted for people to look at."""
_COUNTED_VERSION = re.compile(r"v(?:er|ersion)?\d+", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")

_AGREED, _PLAIN, _READER, _VERSION, _PREDICTION = range(5)
_SAID = ("what several readers agreed on", "", "readers", "versions", "predictions")


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What the name of label maps says.

    Attributes:
        thing: The words that are left for what they show.
        rank: What else it says, the most wanted first.
    """

    thing: frozenset[str]
    rank: int


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which of several label maps are drafted.

    Attributes:
        kept: Their numbers.
        left: The names of the others.
        why: What words say of these; empty where none is left out.
    """

    kept: tuple[int, ...]
    left: tuple[str, ...] = ()
    why: str = ""


def names_apart(sources: Sequence[Source], known: Collection[str] = ()) -> list[str]:
    """A name for each by the words that tell it from the others: its folder's, else its file's, else all; equal where none does.

    Args:
        sources: Label maps, a source for each sort.
        known: Words of the images' names, which tell no label maps apart.
    """
    levels = [_levels(source, known) for source in sources]
    deepest = max(map(len, levels))
    padded = [[*own, *[""] * (deepest - len(own))] for own in levels]
    for level in (1, 0, *range(2, deepest)) if deepest > 1 else (0,):
        texts = [own[level] for own in padded]
        if all(texts) and len(set(texts)) == len(texts):
            return _short(texts)
    apart = [n for n in reversed(range(deepest)) if len({own[n] for own in padded}) > 1]
    return ["_".join(filter(None, (own[n] for n in apart))) or "mask" for own in padded]


def structure_of(name: str) -> str:
    """What a label map of one structure shows, by its name: without the words for label maps, unless these are all it says."""
    rest = [word for word in name.split("_") if word not in MASK]
    return "_".join(rest) if rest and not rest[0][0].isdigit() else name


def drafted_of(names: Sequence[str], first: int = 0) -> Chosen:
    """Which of several label maps to draft, by the words of their names.

    What a person drew goes before what a program drew. Of what several readers or versions show the same, the one that readers
    agreed on is taken, else one of which neither word is said, else the one that would be drafted anyway or the first.

    Args:
        names: Of the label maps.
        first: The number of the one that is drafted where words say nothing.
    """
    meanings = _meanings(names)
    by_hand = [n for n, meaning in enumerate(meanings) if meaning.rank != _PREDICTION]
    left = {_PREDICTION} if 0 < len(by_hand) < len(names) else set()
    kept: list[int] = []
    for several in _same_things(meanings, by_hand or range(len(names))):
        best = min(meanings[n].rank for n in several)
        fitting = [n for n in several if meanings[n].rank == best]
        chosen = fitting if best == _PLAIN else [first if first in fitting else fitting[0]]
        left |= {best} & {_READER, _VERSION, _PREDICTION} if len(fitting) > len(chosen) else set()
        left |= {meanings[n].rank for n in several} - {best}
        kept += chosen
    others = tuple(name for n, name in enumerate(names) if n not in kept)
    return Chosen(
        tuple(sorted(kept)), others, " and ".join(_SAID[rank] for rank in sorted(left) if _SAID[rank]) if others else ""
    )


def _same_things(meanings: Sequence[_Meaning], numbers: Sequence[int]) -> Iterator[list[int]]:
    found: dict[frozenset[str], list[int]] = defaultdict(list)
    for number in numbers:
        found[meanings[number].thing].append(number)
    yield from found.values()


def _meanings(names: Sequence[str]) -> list[_Meaning]:
    """What each name says; what readers are called by, as in `reader_smith` and `reader_jones`, are no structures."""
    found = [_meaning(name) for name in names]
    for rank, said in ((_READER, "a reader"), (_VERSION, "a version")):
        several = [n for n, meaning in enumerate(found) if meaning.rank not in (_AGREED, _PREDICTION)]
        crossed = min(Counter(found[n].thing for n in several).values(), default=0) > 1
        if len(several) > 1 and not crossed and circumstance_of([names[n] for n in several]) == said:
            found = [_Meaning(frozenset(), rank) if n in several else meaning for n, meaning in enumerate(found)]
    return found


def _meaning(name: str) -> _Meaning:
    said = set(words(re.sub(r"\d+", " ", _COUNTED_VERSION.sub("version", name).replace("_", " "))))
    ranks = ((PREDICTIONS, _PREDICTION), (READERS, _READER), (_VERSIONS | {"version"}, _VERSION), (AGREED, _AGREED))
    rank = next((rank for known, rank in ranks if said & known), _PLAIN)
    thing = said - MASK - SPLITS - PREDICTIONS - READERS - _VERSIONS - AGREED - {"version"}
    return _Meaning(frozenset(word for word in thing if len(word) > 1 or rank != _READER), rank)


def _levels(source: Source, known: Collection[str]) -> list[str]:
    """The words of the file's name and of each folder, the inmost first, without what varies and parts of a split."""
    group = source.part.group
    varying = {at for stretch in source.where for at in range(stretch.start, stretch.end)}
    varying |= {at for variable in group.variables for at in variable.at if len(group.rows) > 1}
    found = [""]
    for at, token in enumerate(group.rows[0][: len(group.rows[0]) - group.has_ending]):
        if token.text == "/":
            found.append("")
        else:
            found[-1] += "_" if at in varying or token.kind == "split" else token.text
    name, *folders = (_worded(text) for text in reversed(found))
    own = [word for word in name if word not in known]
    return ["_".join(own or name), *("" if set(folder) <= IMAGE else "_".join(folder) for folder in folders)]


def _worded(text: str) -> list[str]:
    return [word for word in plain(_CAMEL.sub("_", text)).split("_") if word]


def _short(texts: Sequence[str]) -> list[str]:
    """Without the numbers of a list, where the rest tells them apart."""
    bare = [re.sub(r"^\d+_(?=[a-z])", "", text) for text in texts]
    return bare if len(set(bare)) == len(bare) else list(texts)
