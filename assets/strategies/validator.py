"""What records are worth without a ground truth: twelve items, weighted as MDS-Bench's paper has them for its strategy S3.

The weights are the paper's; what exactly an item asks is not published and is decided here. The validator sees whether a record
is complete and agrees with itself, its picture and the raw folder. It does not see whether it is true.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assets.benchmark.mdsbench.files import Folder
from assets.benchmark.mdsbench.record import Record, take_apart
from assets.benchmark.mdsbench.scored import mean
from assets.benchmark.mdsbench.values import TASKS, at, dimension, full_path, is_empty, is_filled, objects, text

WEIGHTS: Mapping[str, float] = {
    "top_blocks": 0.06,
    "record": 0.08,
    "image_path": 0.10,
    "media": 0.08,
    "spatial": 0.06,
    "task_payload": 0.16,
    "context": 0.06,
    "source_trace": 0.08,
    "no_desc": 0.02,
    "critical": 0.02,
    "extra": 0.18,
    "annotation_type": 0.10,
}
"""Item -> its share of a record's score; they add up to 1."""

VARIANTS: Mapping[str, tuple[str, ...]] = {
    "classification": ("multiclass", "multilabel", "exam_level"),
    "segmentation": ("2d_coco", "2d_mask", "3d_mask", "video_coco"),
    "detection": ("2d", "3d", "video"),
}
BRANCHES: Mapping[str, str] = {"2d": "common", "3d": "three_d", "video": "video"}
"""Dimension -> the spatial branch that is filled."""

EXTRA_KEYS = ("source_file", "original_filename", "label_text", "class_name")

IsThere = Callable[[str], bool]
"""Whether a path that a record names as its source is in the raw folder."""


@dataclass(frozen=True)
class RecordScore:
    """What one record got.

    Attributes:
        items: Item -> from 0 to 1, without its weight.
        lacks: What took something, in a few words each.
        answers: Whether it tells what its task asks for: a class, masks or a file of them, boxes.
    """

    items: Mapping[str, float]
    lacks: tuple[str, ...]
    answers: bool

    @property
    def total(self) -> float:
        """The weighted sum."""
        return sum(WEIGHTS[item] * value for item, value in self.items.items())


@dataclass(frozen=True)
class Validation:
    """What a folder of records got.

    Attributes:
        listed: How many records there should be.
        records: Index -> score; those that should be there and are not count 0.
        openable: Indices whose picture opens and is the one that the record names.
    """

    listed: int
    records: Mapping[int, RecordScore]
    openable: frozenset[int]

    @property
    def total(self) -> float:
        """The mean over all that should be there, to 4 decimals."""
        return round(sum(score.total for score in self.records.values()) / self.n, 4) if self.records else 0.0

    @property
    def n(self) -> int:
        """By how many a mean is divided."""
        return max(self.listed, len(self.records), 1)

    @property
    def items(self) -> dict[str, float]:
        """Item -> its mean over all that should be there."""
        return {item: round(sum(score.items[item] for score in self.records.values()) / self.n, 4) for item in WEIGHTS}

    @property
    def complete(self) -> bool:
        """Whether every record that should be there is, with its picture, and tells what its task asks for."""
        return self.answered == 1 and len(self.openable) == len(self.records) >= self.listed

    @property
    def answered(self) -> float:
        """The share of those that should be there that tell what their task asks for."""
        return round(sum(score.answers for score in self.records.values()) / self.n, 4)


def validate_folder(folder: Path, listed: int = 0, is_there: IsThere | None = None) -> Validation:
    """Score the records of a folder.

    Args:
        folder: `images/` and `standardized_annotations/`, by whomever.
        listed: How many records there should be; as many as there are if not given.
        is_there: Whether a source is in the raw folder; not asked if not given.
    """
    place = Folder(folder, folder.resolve())
    scores: dict[int, RecordScore] = {}
    openable: set[int] = set()
    for name in place.annotations():
        if not (name.isascii() and name.isdigit() and len(name) < 10):
            continue
        content, image = place.annotation(name).value, place.image(name)
        record = take_apart(content or {})
        paired = image.valid and full_path(record.record.get("image_path")) == full_path(image.relative)
        if paired:
            openable.add(int(name))
        scores[int(name)] = validate_record(content or {}, image_is_right=paired, is_there=is_there)
    return Validation(listed, scores, frozenset(openable))


def validate_record(content: Mapping[str, Any], *, image_is_right: bool, is_there: IsThere | None = None) -> RecordScore:
    """Score one record.

    Args:
        content: The record.
        image_is_right: Whether its picture opens and is the one that it names.
        is_there: Whether a source is in the raw folder; not asked if not given.
    """
    record = take_apart(content)
    parts: dict[str, dict[str, bool]] = {
        "top_blocks": {name: isinstance(content.get(name), dict) for name in ("record", "context", "media_geometry", "tasks")},
        "record": {name: is_filled(record.record.get(name)) for name in ("schema_version", "dataset_name", "image_path")},
        "image_path": {"picture": image_is_right},
        "media": _media(record),
        "spatial": _spatial(record),
        "task_payload": task_parts(record),
        "context": _context(record),
        "source_trace": _source(record, is_there),
        "no_desc": {"no template keys": not _has_template_keys(content)},
        "critical": {name: is_filled(value) for name, value in _critical(record).items()},
        "extra": {name: is_filled(record.own_extra.get(name)) for name in _asked_of_extra(record)},
        "annotation_type": {"equal": _types_agree(record)},
    }
    items = {item: mean(map(float, answers.values())) for item, answers in parts.items()}
    items["critical"] = float(all(parts["critical"].values()))
    lacks = tuple(f"{item}: {name}" for item, answers in parts.items() for name, good in answers.items() if not good)
    return RecordScore(items, lacks, parts["task_payload"]["payload"])


def _asked_of_extra(record: Record) -> tuple[str, ...]:
    """All four keys; of a picture in which nothing is marked only where it is from."""
    branch = record.task("detection")
    boxes = [branch[key] for key in ("boxes2d", "boxes3d", "frame_boxes2d") if isinstance(branch.get(key), list)]
    is_blank = text(record.media.get("task_type")) == "detection" and bool(boxes) and not any(boxes)
    return EXTRA_KEYS[:2] if is_blank else EXTRA_KEYS


def _media(record: Record) -> dict[str, bool]:
    media = record.media
    return {
        "task_type": text(media.get("task_type")) in TASKS,
        "dimension": dimension(media.get("dimension")) in BRANCHES,
        "annotation_type": is_filled(media.get("annotation_type")),
    }


def _spatial(record: Record) -> dict[str, bool]:
    mine = BRANCHES.get(dimension(record.media.get("dimension")), "")
    others = [name for name in BRANCHES.values() if name != mine]
    return {
        "branch of the dimension": not is_empty(record.spatial.get(mine)),
        "no other branch": bool(mine) and all(is_empty(record.spatial.get(name)) for name in others),
    }


def task_parts(record: Record) -> dict[str, bool]:
    """What the branch of a record's task has, and that the others have nothing."""
    task = text(record.media.get("task_type"))
    branch = record.task(task)
    classes = objects(branch.get("class_names")) or objects(branch.get("classes"))
    return {
        "schema_variant": text(branch.get("schema_variant")) in VARIANTS.get(task, ()),
        "classes": is_filled(classes),
        "payload": _has_payload(record, task, branch, classes),
        "no other task": task in TASKS and all(is_empty(record.tasks.get(name)) for name in TASKS if name != task),
    }


def _has_payload(record: Record, task: str, branch: Mapping[str, Any], classes: Mapping[str, Any]) -> bool:
    """A class that is among the classes; masks, or a file of them; a list of boxes, or a file of them, which may hold none."""
    if task == "classification":
        label, name = branch.get("label"), branch.get("label_name")
        return isinstance(label, int) and is_filled(name) and classes.get(str(label)) == name
    if task == "segmentation":
        drawn = any(at(branch, key, "annotations") for key in ("coco_2d", "mask_3d", "video_coco"))
        return drawn or any(is_filled(record.own_extra.get(key)) for key in ("label_file", "mask_file", "seg_file"))
    if task == "detection":
        given = any(isinstance(branch.get(key), list) for key in ("boxes2d", "boxes3d", "frame_boxes2d"))
        return given or is_filled(record.own_extra.get("bbox_file"))
    return False


def _context(record: Record) -> dict[str, bool]:
    stated = {name: record.sample.get(name) is not None for name in ("sex", "race_ethnicity", "site_id")}
    return {"modality_primary": is_filled(record.sample.get("modality_primary")), **stated}


def _source(record: Record, is_there: IsThere | None) -> dict[str, bool]:
    source = record.own_extra.get("source_file")
    named = isinstance(source, str) and is_filled(source)
    return {"source_file": named} | ({"is in the raw folder": named and is_there(str(source))} if is_there is not None else {})


def _critical(record: Record) -> dict[str, Any]:
    task = text(record.media.get("task_type"))
    return {
        "task_type": task,
        "dimension": record.media.get("dimension"),
        "modality_primary": record.sample.get("modality_primary"),
        "schema_variant": record.task(task).get("schema_variant"),
        "source_file": record.own_extra.get("source_file"),
    }


def _types_agree(record: Record) -> bool:
    stated = text(record.media.get("annotation_type"))
    return bool(stated) and stated == text(record.task(text(record.media.get("task_type"))).get("schema_variant"))


def _has_template_keys(value: object) -> bool:
    if isinstance(value, dict):
        return any(key.endswith(("__desc", "__options")) or _has_template_keys(item) for key, item in value.items())
    return isinstance(value, list) and any(map(_has_template_keys, value))
