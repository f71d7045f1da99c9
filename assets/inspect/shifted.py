"""Images and label maps that are counted from different numbers, such as 1 to 10 and 0 to 9: whether equal numbers pair them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from assets.inspect.evidence import Unknown
from assets.inspect.grouping import PARTED, Variable
from assets.inspect.pairing import Pair, all_pairs, grids_agree
from assets.inspect.peek import Opener
from assets.inspect.roles import Part
from assets.templates import stem

_FEWEST = 3
"""Numbers in a row from which on an equal count on both sides is no accident."""
_LOOKED_AT = 12
"""Label maps whose extents are compared with those of the images they might belong to."""

_Counted = Mapping[int, str]


@dataclass(frozen=True, slots=True)
class _Shifted:
    """Images and label maps of one folder or person, as many of either, each numbered without a gap from another first number.

    Attributes:
        images: Number -> image.
        masks: Number -> label map.
    """

    images: _Counted
    masks: _Counted

    @property
    def shift(self) -> int:
        """What is added to the number of a label map where both are paired in order."""
        return min(self.images) - min(self.masks)

    def equal(self) -> list[tuple[str, str]]:
        """Label map and image of equal numbers."""
        return [(path, self.images[number]) for number, path in self.masks.items() if number in self.images]

    def in_order(self) -> list[tuple[str, str]]:
        """Label map and image in order."""
        return [(path, self.images[number + self.shift]) for number, path in self.masks.items()]


def without_shifted(masks: Sequence[Part], images: Sequence[Part], opener: Opener) -> tuple[list[list[Pair]], list[Unknown]]:
    """The images of each group of label maps, and which groups may belong to images in two ways.

    Where both sides are as many, in a row, and begin with different numbers, equal numbers leave out one at either end and
    make pairs of neighbours if the pairing in order was meant; not so where the names of label maps are those of images and more.
    Extents decide where only one way fits all that are looked at.
    No draft can pair in order, so such label maps are left out of it.

    Args:
        masks: Groups of label maps.
        images: Groups of images.
        opener: Opens them.
    """
    paired: list[list[Pair]] = []
    doubts: list[Unknown] = []
    for mask in masks:
        pairs = all_pairs(mask, images)
        first = _shifted(pairs[0]) if pairs else _unpaired(mask, images)
        answer = _settled(first, opener) if first is not None else ""
        if isinstance(answer, Unknown):
            doubts.append(answer)
        elif pairs:
            paired.append([_with_reason(pair, answer) for pair in pairs])
    return paired, doubts


def _with_reason(pair: Pair, reason: str) -> Pair:
    return replace(pair, evidence=replace(pair.evidence, seen=pair.evidence.seen + reason)) if reason else pair


def _settled(found: _Shifted, opener: Opener) -> Unknown | str:
    """Why equal numbers are meant; or that they are not, or that nothing tells it."""
    fits = {name: _agree(pairs, opener) for name, pairs in (("equal", found.equal()), ("order", found.in_order()))}
    said = f"images are numbered from {min(found.images)} to {max(found.images)}"
    said += f" and label maps from {min(found.masks)} to {max(found.masks)}"
    if fits["equal"] and not fits["order"]:
        return f"; {said}, and looked-at extents agree by equal numbers only, not in order"
    mask, by_number = found.equal()[0]
    in_order = dict(found.in_order())[mask]
    why = "the extents of those that were looked at fit both" if fits["order"] else "their extents fit neither"
    if fits["order"] and not fits["equal"]:
        why = "their extents fit the order alone"
    ways = f"{mask} may belong to {by_number} by its number or to {in_order} in order; {why}"
    return Unknown("pairing", f"{said}: {ways}. A draft cannot pair in order; number the files alike, or say which is meant")


def _agree(pairs: Sequence[tuple[str, str]], opener: Opener) -> bool:
    """Whether the images and label maps that are looked at have equal rows, columns and slices, pair by pair."""
    shapes = [(opener.peek(mask), opener.peek(image)) for mask, image in pairs[:_LOOKED_AT]]
    read = [(one.shape, two.shape) for one, two in shapes if one is not None and two is not None and one.shape and two.shape]
    return bool(read) and all(one[:2] == two[:2] and (one[2:] == two[2:] or 1 in (*one[2:], *two[2:])) for one, two in read)


def _shifted(pair: Pair) -> _Shifted | None:
    """The first folder's or person's files, where in every one of them the numbers begin differently; None where they do not."""
    for theirs, ours in pair.shared.items():
        mask, image = pair.mask.group.variables[theirs], pair.image.group.variables[ours]
        if mask.kind != "number" or image.kind != "number":
            continue
        others = {one: two for one, two in pair.shared.items() if one != theirs}
        masks = _by_rest(pair.mask, mask, others)
        images = _by_rest(pair.image, image, others.values())
        found = [_of_one(images.get(key, {}), own) for key, own in masks.items()]
        first = found[0] if found else None
        if first is not None and all(one is not None and one.shift == first.shift for one in found) and not _derived(first):
            return first
    return None


def _derived(found: _Shifted) -> bool:
    """Whether a label map's name is the image's and more, as in `img_07_mask`: who called it so had that image in mind."""
    names = [tuple(stem(path.rpartition("/")[2]) for path in pair) for pair in found.equal()]
    return all(mask.startswith(image) and mask != image and not image.isdecimal() for mask, image in names)


def _by_rest(part: Part, variable: Variable, others: Iterable[int]) -> dict[tuple[str, ...], dict[int, str]]:
    """Number -> file, by what else images and label maps share; of several files of a number the first."""
    rest = [part.group.variables[n].values for n in others]
    keys = list(zip(*rest, strict=True)) if rest else [()] * len(part.group.paths)
    found: dict[tuple[str, ...], dict[int, str]] = defaultdict(dict)
    for key, value, path in zip(keys, variable.values, part.group.paths, strict=True):
        found[key].setdefault(int(value), path)
    return found


def _of_one(images: _Counted, masks: _Counted) -> _Shifted | None:
    if len(masks) < _FEWEST or len(images) != len(masks) or min(images) == min(masks):
        return None
    in_a_row = all(max(counted) - min(counted) + 1 == len(counted) for counted in (images, masks))
    return _Shifted(*({n: counted[n] for n in sorted(counted)} for counted in (images, masks))) if in_a_row else None


def _unpaired(mask: Part, images: Sequence[Part]) -> _Shifted | None:
    """Of label maps that belong to no image by their names: the one group of images that has as many, counted from the next."""
    if mask.role != "mask":
        return None
    numbers = _only_number(mask)
    found = [_of_one(_only_number(image), numbers) for image in images if grids_agree(image, mask)]
    fitting = [one for one in found if one is not None and abs(one.shift) == 1]
    return fitting[0] if len(fitting) == 1 else None


def _only_number(part: Part) -> dict[int, str]:
    """Number -> file, where nothing but one number varies in the names."""
    varying = [variable for variable in part.group.variables if variable.kind not in PARTED]
    if len(varying) != 1 or varying[0].kind != "number" or len(part.group.variables) != 1:
        return {}
    return {int(value): path for value, path in zip(varying[0].values, part.group.paths, strict=True)}
