"""Whether the images of a folder are DICOM instances, and how these lie."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assets.inspect.dicom_sets import DicomSet, dicom_set
from assets.inspect.formats import IMAGES
from assets.inspect.only_objects import Untold
from assets.inspect.pairing import all_pairs
from assets.inspect.roles import Part
from assets.inspect.unmasked import is_twin


def instances_in(root: Path, parts: Sequence[Part]) -> DicomSet | Untold | None:
    """The layout of DICOM instances, where they are most of the images, or why they have none."""
    images = [part for part in parts if part.group.family in IMAGES and part.role in ("image", "mask", "structures")]
    kept = [part for part in images if part.group.family == "dicom"]
    instances = [path for part in kept for path in part.group.paths]
    if 2 * len(instances) < sum(len(part.group.paths) for part in images) or not instances:
        return None
    others = [part for part in images if part not in kept]
    if any(is_twin(one, other) for one in kept for other in others) or _have_masks(kept, others):
        return None
    return dicom_set(root, sorted(instances), others=bool(others))


def _have_masks(instances: Sequence[Part], others: Sequence[Part]) -> bool:
    """Whether label maps in pictures belong to instances one by one, so that these are read one by one too."""
    masks = [part for part in others if part.role == "mask" and part.group.family == "picture"]
    return any(all_pairs(mask, instances) for mask in masks)
