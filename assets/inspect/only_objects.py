"""Folders of DICOM objects without images: nothing can be drawn, and what headers do say of them is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from assets.inspect.evidence import Unknown

_SHOWN = 12

Untold = tuple[Unknown, ...]
"""Why fields are unknown, one of `layout` among them."""


def of_objects(objects: Sequence[tuple[str, Sequence[str]]]) -> Untold:
    """What is unknown of objects of which none is an image or a segmentation.

    Args:
        objects: What each is, and names of what it outlines.
    """
    counted = ", ".join(f"{count} {kind}" for kind, count in Counter(kind for kind, _ in objects).items())
    seen = f"the DICOM headers that were read are of no image and no segmentation: {counted}"
    sets = [names for kind, names in objects if kind == "structure set"]
    if sets:
        seen += "; a structure set is outlines on a series, and cannot be drawn without it"
    return (Unknown("layout", seen), *_besides(counted, sorted({name for names in sets for name in names})))


def of_segmentations(trouble: str) -> Untold:
    """What is unknown of segmentations without images that cannot be read either.

    Args:
        trouble: Why one of them cannot be read.
    """
    seen = f"there are segmentations without images, and these cannot be read as label maps: {trouble}"
    return (Unknown("layout", seen), *_besides("segmentations", []))


def _besides(counted: str, outlined: Sequence[str]) -> Untold:
    more = f" and {len(outlined) - _SHOWN} more" if len(outlined) > _SHOWN else ""
    said = f"; they outline {', '.join(outlined[:_SHOWN])}{more}" if outlined else ""
    return (
        Unknown("task", f"there is nothing but {counted}, and no image that they are about{said}"),
        Unknown("modality", "no image is there; the objects that are say how they were made, not how the images were"),
    )


def with_reasons(unknown: Sequence[Unknown], known: Untold) -> list[Unknown]:
    """What is unknown, where headers told more of the same fields for the reason that they give."""
    own: Mapping[str, Unknown] = {one.field: one for one in known}
    return list(dict.fromkeys(own.get(one.field, one) for one in unknown))
