"""Pictures of several pages or channels whose label maps have others: which of them are meant, a person must say."""

from __future__ import annotations

from collections.abc import Iterable

from assets.inspect.layout import Plan
from assets.inspect.peek import Peek
from assets.inspect.roles import Part
from assets.inspect.values import COLOURS


def other_pages(planned: Plan) -> str:
    """How many pages the images have and how many their label maps; empty where that is the same, or they have one each.

    What a file calls channels is counted too where these are no colours: the same program writes either.
    """
    image = _first(part for source in planned.series for part, _ in source.parts)
    mask = _first(source.part for source in planned.labels if not source.key)
    if image is None or mask is None:
        return ""
    counts = [{_pages(peek) for peek in part.peeks if peek.shape} for part in (image, mask)]
    if counts[0] == counts[1] or max(set.union(*counts), default=1) == 1:
        return ""
    many = [" or ".join(map(str, sorted(found))) for found in counts]
    images, masks = image.group.paths[0], mask.group.paths[0]
    return f"{images} and others have {many[0]} page(s) or channel(s), label maps such as {masks} {many[1]}"


def _first(parts: Iterable[Part]) -> Part | None:
    return next((part for part in parts if part.group.family == "picture"), None)


def _pages(peek: Peek) -> int:
    if peek.shape[2] > 1:
        return peek.shape[2]
    grey_and_opacity = peek.channels == 2 and peek.format != "TIFF"
    return 1 if grey_and_opacity or peek.channels in (1, *COLOURS) else peek.channels
