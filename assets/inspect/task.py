"""Which task the data are for."""

from __future__ import annotations

from assets.inspect.evidence import Evidence, Unknown


def task(*, masks: bool, boxes: bool, classes: bool) -> Evidence | Unknown:
    """Segmentation where label maps belong to images, else detection where a table marks objects, else classification."""
    if boxes and not masks:
        return Evidence("task", "detection", 0.8, "objects are marked by coordinates, and there are no label maps")
    if masks:
        return Evidence("task", "segmentation", 0.9, "label maps belong to the images")
    if classes:
        return Evidence("task", "classification", 0.8, "images have classes, and there are no label maps")
    return Unknown("task", "no label maps, no marked objects and no classes were recognised")
