"""Which label maps belong to which images: by the parts of their names that vary and are equal, checked on what was opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from assets.inspect.evidence import Evidence
from assets.inspect.grouping import Group, Variable
from assets.inspect.lexicon import MASK
from assets.inspect.roles import Part

_ENOUGH, _MOST_WAYS = 0.8, 64


@dataclass(frozen=True, slots=True)
class Pair:
    """Images and their label maps.

    Attributes:
        image: The images.
        mask: The label maps.
        shared: Variable of the label maps -> variable of the images that reads the same, by their numbers.
        share: Share of the label maps that have an image.
        evidence: Why.
    """

    image: Part
    mask: Part
    shared: dict[int, int]
    share: float
    evidence: Evidence


def all_pairs(mask: Part, images: Sequence[Part]) -> list[Pair]:
    """Every group of images that a group of label maps fits as well as the best one, such as the sequences of one scan."""
    found = [pair for image in images if (pair := _pair(image, mask)) is not None]
    if not found:
        return []
    best = max(map(_rank, found))
    fitting = [pair for pair in found if _rank(pair)[:3] == best[:3]]
    return [pair for pair in fitting if _same_shape(pair.image, mask)] or fitting


def _rank(pair: Pair) -> tuple[int, bool, int, float]:
    """Of several links the one with the most parts in common; then the one whose files are called alike; then the fullest."""
    own = {word for word in pair.mask.group.words if word not in MASK}
    return len(pair.shared), round(pair.share, 1) >= _ENOUGH, len(own & pair.image.group.words), pair.share


def _pair(image: Part, mask: Part) -> Pair | None:
    if not grids_agree(image, mask):
        return None
    ours, theirs = image.group.variables, mask.group.variables
    label = _label_number(mask)
    choices = [[None, *_alike(variable, ours)] if number != label else [None] for number, variable in enumerate(theirs)]
    ways = [way for way in product(*choices) if any(n is not None for n in way)]
    scored = [(_share(image.group, mask.group, _links(way)), len(_links(way)), way) for way in ways[:_MOST_WAYS]]
    good = [entry for entry in scored if entry[0] >= _ENOUGH and len(set(_links(entry[2]).values())) == entry[1]]
    if not good:
        return None
    share, n_shared, way = max(good, key=lambda entry: (entry[1], entry[0]))
    confidence = min(0.95, 0.5 + 0.1 * n_shared + 0.3 * share * _many(mask.group))
    said = f"{mask.group.shape} -> {image.group.shape}"
    seen = f"{n_shared} varying part(s) of the names agree for {share:.0%} of {len(mask.group.paths)} label maps"
    return Pair(image, mask, _links(way), share, Evidence("pairing", said, confidence, seen + _same_shape(image, mask)))


def _many(group: Group) -> float:
    return min(1.0, len(group.paths) / 5)


def _links(way: tuple[int | None, ...]) -> dict[int, int]:
    return {theirs: ours for theirs, ours in enumerate(way) if ours is not None}


def _label_number(mask: Part) -> int | None:
    """Which variable of the label maps names the structure."""
    return next((n for n, v in enumerate(mask.group.variables) if mask.label_at in v.at), None)


def _alike(variable: Variable, others: Sequence[Variable]) -> list[int]:
    """Variables of the images that have most of the values of one of the label maps."""
    values = set(variable.values)
    return [n for n, other in enumerate(others) if len(values & set(other.values)) >= _ENOUGH * len(values)]


def _share(image: Group, mask: Group, links: dict[int, int]) -> float:
    theirs = list(zip(*(mask.variables[n].values for n in links), strict=True))
    ours = set(zip(*(image.variables[n].values for n in links.values()), strict=True))
    return sum(key in ours for key in theirs) / len(theirs)


def grids_agree(image: Part, mask: Part) -> bool:
    """Whether an image and its label map could lie on one grid: never a volume with a picture, or two files of one name apart.

    Pages of pictures may be channels of one plane, and those of a label map kinds of objects: there rows and columns count.
    """
    one, two = (next((p for p in part.peeks if p.shape), None) for part in (image, mask))
    if one is None or two is None or (one.shape[2] == 1) == (two.shape[2] == 1):
        return True
    pages = all(part.group.family == "picture" for part in (image, mask))
    return one.shape[:2] == two.shape[:2] if pages else one.shape == two.shape


def _same_shape(image: Part, mask: Part) -> str:
    shapes = [{p.shape for p in part.peeks if p.shape} for part in (image, mask)]
    return "; files that were opened have equal extents" if shapes[0] & shapes[1] else ""
