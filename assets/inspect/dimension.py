"""Whether images are pictures, volumes or films."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.roles import Part


def dimension(images: Sequence[Part]) -> Evidence | Unknown:
    """What the images that were opened are; unknown where they are of several kinds, or none could be opened.

    Instances of DICOM series are left open: a slice is a picture, and what is meant may be the volume.
    """
    seen = Counter(_of(part) for part in images)
    seen.pop("", None)
    if len(seen) != 1:
        kinds = ", ".join(sorted(seen)) or "nothing that could be opened"
        return Unknown("dimension", f"the images are {kinds}")
    said = next(iter(seen))
    opened = next(part for part in images if _of(part) == said)
    return Evidence("dimension", said, 0.8, f"extents of images that were opened, such as {opened.group.paths[0]}")


def _of(part: Part) -> str:
    if part.group.family == "video":
        return "video"
    shapes = {peek.shape for peek in part.peeks if len(peek.shape) > 2}
    kinds = {"3D" if shape[2] > 1 else "2D" for shape in shapes}
    return kinds.pop() if len(kinds) == 1 else ""
