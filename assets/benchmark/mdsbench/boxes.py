"""Strict score: are the boxes where those of the reference are.

Read are `boxes2d` (`bbox_xyxy_px`), `boxes3d` (`center_world_mm`, `size_mm`), `frame_boxes2d` (as `boxes2d`, with
`frame_index`) and, for segmentation, `bbox_xywh` of COCO annotations; the benchmark leaves all of them open.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from assets.benchmark.mdsbench.record import Record
from assets.benchmark.mdsbench.values import JsonObject, at, objects

MAX_BOXES = 1000
"""A record with more boxes is not matched."""

Corners = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Box:
    """An upright box.

    Attributes:
        kind: Boxes are compared within one kind, frame and category.
        low, high: Opposite corners; equal in number of axes.
    """

    kind: tuple[str, int, int]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Boxes:
    """The boxes of a record; `malformed` counts entries that are none."""

    good: tuple[Box, ...]
    malformed: int

    def __len__(self) -> int:
        return len(self.good) + self.malformed


def read_boxes(record: Record) -> Boxes | None:
    """Every box of a record; None when it has no list of boxes at all."""
    lists = [(kind, entries) for kind, entries in _lists(record) if isinstance(entries, list)]
    if not lists:
        return None
    boxes = [_box(kind, objects(entry)) for kind, entries in lists for entry in entries]
    good = tuple(box for box in boxes if box is not None)
    return Boxes(good, len(boxes) - len(good))


def _lists(record: Record) -> Iterator[tuple[str, object]]:
    for kind in ("boxes2d", "boxes3d", "frame_boxes2d"):
        yield kind, record.task("detection").get(kind)
    annotations = at(record.task("segmentation"), "coco_2d", "annotations")
    if isinstance(annotations, list) and any(objects(entry).get("bbox_xywh") is not None for entry in annotations):
        yield "annotations", annotations


def _box(kind: str, entry: JsonObject) -> Box | None:
    category, frame = entry.get("category_id"), entry.get("frame_index", 0)
    corners = _corners(kind, entry)
    if corners is None or not isinstance(category, int) or not isinstance(frame, int):
        return None
    low, high = corners
    return Box((kind, frame, category), low, high) if all(a <= b for a, b in zip(low, high, strict=True)) else None


def _corners(kind: str, entry: JsonObject) -> Corners | None:
    if kind == "boxes3d":
        centre, size = _numbers(entry.get("center_world_mm"), 3), _numbers(entry.get("size_mm"), 3)
        if centre is None or size is None:
            return None
        pairs = list(zip(centre, size, strict=True))
        return tuple(c - s / 2 for c, s in pairs), tuple(c + s / 2 for c, s in pairs)
    if kind == "annotations":
        box = _numbers(entry.get("bbox_xywh"), 4)
        return None if box is None else (box[:2], (box[0] + box[2], box[1] + box[3]))
    box = _numbers(entry.get("bbox_xyxy_px"), 4)
    return None if box is None else (box[:2], box[2:])


def _numbers(value: object, count: int) -> tuple[float, ...] | None:
    if not isinstance(value, list) or len(value) != count:
        return None
    if not all(isinstance(x, int | float) and -1e9 <= x <= 1e9 for x in value):
        return None
    return tuple(float(x) for x in value)


def box_agreement(reference: Boxes, met: Boxes | None) -> tuple[float, str]:
    """Sum of the intersections over union of the best one-to-one match within category, over the larger number of boxes."""
    if met is None:
        return 0.0, f"the reference has {len(reference)} boxes, the record no list of boxes"
    if max(len(reference), len(met)) > MAX_BOXES:
        return 0.0, f"{len(met)} boxes against {len(reference)}: more than {MAX_BOXES} are not matched"
    larger = max(len(reference), len(met))
    if larger == 0:
        return 1.0, "no boxes, as in the reference"
    matched = math.fsum(
        _matched([box for box in reference.good if box.kind == kind], [box for box in met.good if box.kind == kind])
        for kind in sorted({box.kind for box in reference.good})
    )
    detail = (
        f"{len(met)} boxes ({met.malformed} malformed) against {len(reference)}; overlaps of the best match sum to {matched:.4f}"
    )
    return min(matched / larger, 1.0), detail


def _matched(reference: list[Box], met: list[Box]) -> float:
    if not reference or not met:
        return 0.0
    overlaps = np.array([[overlap(a, b) for b in met] for a in reference], dtype=np.float64)
    rows, columns = linear_sum_assignment(overlaps, maximize=True)
    return math.fsum(overlaps[rows, columns].tolist())


def overlap(first: Box, second: Box) -> float:
    """Intersection over union of two boxes; boxes without extent overlap only when they are equal."""
    if (first.low, first.high) == (second.low, second.high):
        return 1.0
    sides = [min(first.high[axis], second.high[axis]) - max(first.low[axis], second.low[axis]) for axis in range(len(first.low))]
    common = math.prod(sides) if all(side > 0 for side in sides) else 0.0
    union = _extent(first) + _extent(second) - common
    return common / union if union > 0 else 0.0


def _extent(box: Box) -> float:
    return math.prod(high - low for low, high in zip(box.low, box.high, strict=True))
