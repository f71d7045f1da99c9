"""Whether images are pictures, volumes or films."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.peek import Peek
from assets.inspect.roles import Part

_KINDS = {"space": "3D", "time": "video", "colour": "2D", "page": ""}
"""What the third axis of an image is -> its dimension, where that tells it."""


def dimension(images: Sequence[Part], *, pages: str = "") -> Evidence | Unknown:
    """What the images that were opened are; unknown where they are of several kinds, or nothing tells it.

    Arrays of three axes or more are left open, and pages of a file that says nothing of them: these may be space or not.

    Args:
        images: The images; none of DICOM series.
        pages: How many pages images and label maps have, where these are different numbers, so that pages may be channels.
    """
    if pages:
        return Unknown("dimension", f"{pages}; pages may be slices, or channels of one picture")
    seen = Counter(_of(part) for part in images)
    seen.pop("", None)
    if len(seen) > 1:
        return Unknown("dimension", f"the images are {', '.join(sorted(seen))}")
    if not seen:
        return Unknown("dimension", _why(images))
    said = next(iter(seen))
    opened = next(part for part in images if _of(part) == said)
    return Evidence("dimension", said, 0.8, f"extents of images that were opened, such as {opened.group.paths[0]}")


def _of(part: Part) -> str:
    if part.group.family == "video":
        return "video"
    kinds = {
        _KINDS[peek.third] if peek.shape[2] > 1 else "2D" for peek in part.peeks if len(peek.shape) > 2 and not _is_open(peek)
    }
    return kinds.pop() if len(kinds) == 1 else ""


def _is_open(peek: Peek) -> bool:
    """Whether it was opened as an array of more than two axes, whatever order was taken to look at its values."""
    return any(len(array.shape) > 2 for array in peek.arrays)


def _why(images: Sequence[Part]) -> str:
    """Why nothing is said of any image."""
    if not images:
        return "no images were recognised"
    where = f"such as {images[0].group.paths[0]}"
    peeks = [peek for part in images for peek in part.peeks]
    arrays = [array for peek in peeks for array in peek.arrays]
    if arrays:
        axes = max(len(array.shape) for array in arrays)
        what = f"arrays of {axes} axes whose order nothing says" if axes > 2 else "files of several arrays"
        return f"the images are {what}, {where}"
    if any(peek.format == "DICOM" for peek in peeks):
        return f"the images are DICOM instances, {where}; a slice is a picture, and the volume may be meant"
    if any(peek.shape for peek in peeks):
        return f"the images {_of_pages(peeks) or 'are pictures and volumes under names of one form'}, {where}"
    if any(peek.format for peek in peeks):
        return f"the images lie in files of several arrays, {where}"
    return f"none of the images that were tried could be opened, {where}" if peeks else f"no image was opened, {where}"


def _of_pages(peeks: Sequence[Peek]) -> str:
    """How many pages images have that do not say what these are; empty where they have none."""
    pages = next((peek.shape[2] for peek in peeks if peek.third == "page" and len(peek.shape) > 2 and peek.shape[2] > 1), 0)
    what = "slices, moments or pictures of their own; records show one page as a picture"
    return f"have several pages ({pages} in one that was opened), of which nothing says whether they are {what}" if pages else ""
