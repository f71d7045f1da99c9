"""Which task DICOM instances are for, and of which dimension they are."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from assets.inspect.classes import ClassRule
from assets.inspect.dicom_sets import DicomSet
from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.task import task

FEW = 0.5
"""Share of patients with outlines below which these are not what the set is for."""


def task_of_instances(instances: DicomSet, classes: ClassRule | None, *, boxes: bool) -> Evidence | Unknown:
    """The task, or why it is open.

    Args:
        instances: The instances.
        classes: Where classes are told.
        boxes: Whether objects are marked.
    """
    if instances.alone is not None and not instances.alone.labels:
        return Unknown("task", "there are segmentations alone, whose numbers do not say which structures they are")
    few = instances.outlined and instances.share < FEW
    if few and not boxes and classes is None:
        return Unknown("task", f"{instances.share:.0%} of the patients have outlines, and nothing else tells a task")
    answer = task(masks=instances.outlined and not few, boxes=boxes, classes=classes)
    if not isinstance(answer, Evidence) or answer.said != "segmentation":
        return answer
    if instances.alone is not None:
        return replace(answer, seen="there is nothing but segmentations; the images that they were drawn on are not there")
    kinds = Counter(one.kind for one in instances.seen if one.kind in ("segmentation", "structure set"))
    counted = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    return replace(answer, seen=f"structures are outlined on the images: {counted}")


def dimension_of_instances(instances: DicomSet) -> Unknown:
    """Why the dimension is open."""
    if instances.alone is not None:
        return Unknown(
            "dimension", "there are no images; a segmentation may hold masks of a picture, or of the slices of a series"
        )
    return Unknown("dimension", "the images are DICOM instances; a slice is a picture, and the volume may be meant")
