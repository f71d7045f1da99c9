"""Which images a label map of a BIDS folder was made of: by what its name says, and by the grid it lies on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from assets.inspect.bids import Owner, Place
from assets.inspect.layout import Source
from assets.inspect.peek import Opener, Peek
from resources.geometry import GRID_TOLERANCE_VOXELS, closest_ras, grid_distance_voxels

_ONE_TAKING = frozenset(("echo", "inv", "flip", "mt", "part"))
"""Entities that tell apart images of one taking, which lie on one grid."""
_NO_IMAGE = frozenset(("mask", "dseg"))
"""Suffixes of what is no image although it may not look like a label map."""


@dataclass(frozen=True)
class Files:
    """Files of several people that differ in nothing else.

    Attributes:
        by_owner: Whose -> file.
        source: The same as a series or label map.
    """

    by_owner: dict[Owner, Place]
    source: Source

    @property
    def places(self) -> tuple[Place, ...]:
        """The files."""
        return tuple(self.by_owner.values())

    @property
    def first(self) -> Place:
        """What their names say is the same for all."""
        return self.places[0]


@dataclass(frozen=True)
class Lineage:
    """Which images label maps belong to.

    Attributes:
        images: The images; empty where that is not known.
        why: What tells it, or what does not.
        confidence: How sure that is.
    """

    images: tuple[Files, ...]
    why: str
    confidence: float = 0.0


def images_of(label: Files, images: Sequence[Files], opener: Opener) -> Lineage:
    """The images that label maps belong to.

    Those whose whole name they begin with; else those of the same entities, in the same space and on the same grid. Of another
    space these are images in that space alone, unless the space is called like an image of the subject.
    """
    place = label.first
    if begun := [image for image in images if _begins(place, image.first) and _one_grid(label, image, opener) is not False]:
        longest = max(len(image.first.said) for image in begun)
        told = tuple(image for image in begun if len(image.first.said) == longest)
        if len(told) == 1:
            return Lineage(told, "they are called like the image, with something behind", 0.95)
    seen = "subject, entities and space are those of these images, and files that were opened lie on one grid"
    for pool in _pools(place, images):
        fitting = tuple(image for image in _of_the_same(place, pool) if _one_grid(label, image, opener))
        if twice := _told_apart_by(fitting):
            return Lineage((), f"the subject has several images of one kind, and the names do not say which {twice}")
        if fitting:
            return Lineage(fitting, seen, 0.9)
    return Lineage((), f"they are in the space {place.space}, and no image seems to be" if place.space else "")


def _begins(label: Place, image: Place) -> bool:
    """Whether a label map is called by all that an image is called by, and more."""
    whole = bool(image.said) and label.said[: len(image.said)] == image.said and len(label.said) > len(image.said)
    return whole and label.grid == image.grid and label.source == image.source


def _pools(label: Place, images: Sequence[Files]) -> Iterator[list[Files]]:
    """Images that may be meant, the likeliest first."""
    able = [image for image in images if image.first.suffix not in _NO_IMAGE]
    raw = [image for image in able if not image.first.pipeline and not image.first.space]
    if not label.space:
        yield raw
    else:
        yield [image for image in raw if label.space.lower() in (text.lower() for text in image.first.said)]
    made = [image for image in able if image.first.pipeline or image.first.space]
    alike = [image for image in made if image.first.grid == label.grid]
    yield [image for image in alike if image.first.pipeline == label.pipeline]
    yield alike


def _of_the_same(label: Place, images: Sequence[Files]) -> list[Files]:
    """Images of the same entities; else of those and more, as names of what was made of images may leave some out."""
    near = [image for image in images if image.first.folder == label.folder] or list(images)
    same = [image for image in near if image.first.source == label.source]
    return same or [image for image in near if label.source.items() <= image.first.source.items()]


def _told_apart_by(images: Sequence[Files]) -> str:
    """The entity by which images of one suffix differ, so that they are different takings; empty where none do."""
    for n, one in enumerate(images):
        for other in images[n + 1 :]:
            if one.first.said == other.first.said:
                both = set(one.first.source.items()) ^ set(other.first.source.items())
                if differing := sorted({name for name, _ in both} - _ONE_TAKING):
                    return differing[0]
    return ""


def _one_grid(label: Files, image: Files, opener: Opener) -> bool | None:
    """Whether files of one subject lie on one grid; None where that is not known."""
    common = [owner for owner in label.by_owner if owner in image.by_owner]
    answers = []
    for owner in dict.fromkeys((*common[:1], *common[-1:])):
        one, two = (opener.peek(files.by_owner[owner].path) for files in (label, image))
        if one is not None and two is not None and one.shape and two.shape:
            answers.append(_lie_together(one, two))
    return all(answers) if answers else None


def _lie_together(one: Peek, two: Peek) -> bool:
    """Whether voxels of two images are at the same places, in whatever order they are stored."""
    shapes, affines = [], []
    for peek in (one, two):
        affine = np.array(peek.affine).reshape(4, 4)
        turned = closest_ras(affine)
        shapes.append(turned.shape((peek.shape[0], peek.shape[1], peek.shape[2])))
        affines.append(turned.affine(affine, (peek.shape[0], peek.shape[1], peek.shape[2])))
    return shapes[0] == shapes[1] and grid_distance_voxels(affines[0], affines[1], shapes[0]) <= GRID_TOLERANCE_VOXELS
