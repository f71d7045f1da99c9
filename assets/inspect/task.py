"""Which task the data are for."""

from __future__ import annotations

from assets.inspect.classes import ClassRule
from assets.inspect.evidence import Evidence, Unknown

_FEW = 0.3
_SURE = 0.8
_WEAK = 0.4
"""Classes that are less sure than this make the task no surer than they are."""


def task(*, masks: bool, boxes: bool, classes: ClassRule | None, share: float = 1.0) -> Evidence | Unknown:
    """Segmentation where label maps belong to images, else detection where objects are marked, else classification.

    A table with two columns, of which one names the image and the other a class, is made for classification; label maps beside it
    leave the task open. A table of many columns, such as clinical data, is not. So do label maps that few images have.

    Args:
        masks: Whether label maps belong to images.
        boxes: Whether objects are marked.
        classes: Where classes are told.
        share: Of the images that label maps are looked for, how many have one.
    """
    if boxes and not masks:
        return Evidence("task", "detection", 0.8, "objects are marked by coordinates, and there are no label maps")
    if masks and classes is not None and classes.table is not None and len(classes.table.columns) == 2:
        return Unknown("task", f"there are label maps, and {classes.table.path} has nothing but a class for everybody")
    if masks and share < _FEW:
        return Unknown("task", f"{share:.0%} of the images have a label map, and nothing says what the others are for")
    if masks:
        return Evidence("task", "segmentation", 0.9, "label maps belong to the images")
    if classes is not None:
        sure = _SURE if classes.evidence.confidence >= _WEAK else classes.evidence.confidence
        return Evidence("task", "classification", sure, "images have classes, and there are no label maps")
    return Unknown("task", "no label maps, no marked objects and no classes were recognised")
