"""Which task the data are for."""

from __future__ import annotations

from collections.abc import Sequence

from assets.inspect.classes import ClassRule
from assets.inspect.evidence import Evidence, Unknown

_FEW = 0.3
_SURE = 0.8
"""At most; the task is no surer than what tells the classes."""


def task(
    *,
    masks: bool,
    boxes: bool,
    classes: ClassRule | None,
    share: float = 1.0,
    loose: Sequence[str] = (),
    n_images: int = 0,
    unpaired: bool = False,
) -> Evidence | Unknown:
    """Segmentation where label maps belong to images, else detection where objects are marked, else classification.

    A table with two columns, of which one names the image and the other a class, is made for classification, and so are files
    that are nothing but the class of an image; label maps beside them leave the task open. A table of many columns, such as
    clinical data, is not. So do label maps that few images have, and those that belong to none where there are no classes, or
    half as many images or fewer.

    Args:
        masks: Whether label maps belong to images.
        boxes: Whether objects are marked.
        classes: Where classes are told.
        share: Of the images that label maps are looked for, how many have one.
        loose: Label maps that belong to no image.
        n_images: How many images there are.
        unpaired: Whether it is open of which images label maps are.
    """
    if unpaired and not boxes and not masks and classes is None:
        return Evidence("task", "segmentation", 0.6, "there are label maps of the images; which belongs to which is not told")
    if boxes and not masks:
        return Evidence("task", "detection", 0.8, "objects are marked by coordinates, and there are no label maps")
    if why := _doubt(masks=masks, boxes=boxes, classes=classes, share=share, loose=loose, n_images=n_images):
        return Unknown("task", why)
    if masks:
        return Evidence("task", "segmentation", 0.9, "label maps belong to the images")
    if classes is not None:
        sure = min(_SURE, classes.evidence.confidence)
        return Evidence("task", "classification", sure, "images have classes, and there are no label maps")
    return Unknown("task", "no label maps, no marked objects and no classes were recognised")


def _doubt(*, masks: bool, boxes: bool, classes: ClassRule | None, share: float, loose: Sequence[str], n_images: int) -> str:
    """Why label maps, or what they have beside them, leave the task open; empty where they do not."""
    if boxes and masks:
        return "objects are marked by coordinates, and there are label maps; which of them is meant is not said"
    if masks and classes is not None and (only := _only_classes(classes)):
        return f"there are label maps, and {only} has nothing but a class for everybody"
    if masks and share < _FEW:
        return f"{share:.0%} of the images have a label map, and nothing says what the others are for"
    if loose and not masks and (classes is None or 2 * len(loose) >= n_images):
        return f"{len(loose)} label maps were recognised, such as {loose[0]}, and the draft gives them to no image"
    return ""


def _only_classes(classes: ClassRule) -> str:
    """What has nothing but names of images and their classes: a table, or files; empty where nothing has."""
    if classes.table is not None and len(classes.table.columns) == 2:
        return classes.table.path
    return "" if classes.value else classes.lines
