"""m_sv, m_sc and m_cf: `data_meta.json`, of which m_sc is MSC and all three enter MSJ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assets.benchmark.mdsbench.files import JsonFile
from assets.benchmark.mdsbench.scored import Check, Loss, Scored, share
from assets.benchmark.mdsbench.truth import GroundTruth, strings
from assets.benchmark.mdsbench.values import (
    MISSING_TOKENS,
    TASKS,
    JsonObject,
    as_int,
    at,
    is_filled,
    is_placeholder,
    modality,
    objects,
    shown,
    text,
)


@dataclass(frozen=True, slots=True)
class ImageCounts:
    """What the images of the samples turned out to be."""

    present: int
    valid: int
    paired: int


@dataclass(frozen=True, slots=True)
class Metadata:
    """The three scores of a dataset's metadata file."""

    schema: Scored
    semantic: Scored
    content: Scored


def metadata(file: JsonFile, truth: GroundTruth, counts: ImageCounts) -> Metadata:
    """Score `data_meta.json`; a file that is missing or no JSON object scores 0 three times."""
    if file.value is None:
        return Metadata(_lost("MSJ", "schema", file), _lost("MSC", "semantic", file), _lost("MSJ", "content", file))
    meta, task_types = file.value, _task_types(file.value)
    return Metadata(
        schema=share("MSJ", list(_schema_checks(meta, task_types, truth.metadata))),
        semantic=share("MSC", list(_semantic_checks(meta, task_types, truth))),
        content=share("MSJ", list(_content_checks(meta, truth, counts))),
    )


def _lost(metric: str, item: str, file: JsonFile) -> Scored:
    return Scored(0.0, (Loss(metric, f"{item}: data_meta.json", 1.0, file.problem),))


def _task_types(meta: JsonObject) -> list[str]:
    stated = meta.get("task_type")
    return [text(item) for item in (stated if isinstance(stated, list) else [stated]) if text(item)]


def _schema_checks(meta: JsonObject, task_types: list[str], expected: JsonObject) -> Iterator[Check]:
    for key in strings(expected.get("required_keys"), ("dataset_name", "modality_primary", "data_volume", "task_type")):
        yield Check(f"schema: {key}", _is_stated(meta.get(key)), f"{key} is {shown(meta.get(key))}")
    volume = meta.get("data_volume")
    yield Check("schema: data_volume object", isinstance(volume, dict), f"data_volume is {shown(volume)}")
    for key in strings(expected.get("data_volume_required_fields"), ("total",)):
        value = objects(volume).get(key)
        filled = value is not None and not is_placeholder(key, value)
        yield Check(f"schema: data_volume.{key}", filled, f"data_volume.{key} is {shown(value)}")
    known = any(task in TASKS for task in task_types)
    yield Check("schema: task_type allowed", known, f"task_type is {shown(meta.get('task_type'))}")
    for key in strings(expected.get("optional_but_recommended")):
        if key.strip():
            yield Check(f"schema: {key.strip()}", is_filled(meta.get(key.strip())), f"recommended key {key.strip()} is missing")


def _is_stated(value: object) -> bool:
    if isinstance(value, str):
        return text(value) not in MISSING_TOKENS
    if isinstance(value, list):
        return is_filled(value)
    return value is not None


def _semantic_checks(meta: JsonObject, task_types: list[str], truth: GroundTruth) -> Iterator[Check]:
    name, stated = text(meta.get("dataset_name")), shown(meta.get("dataset_name"))
    wanted = text(truth.dataset_name)
    if wanted:
        yield Check("semantic: dataset_name", name == wanted, f"met {stated}, the header of the ground truth has {shown(wanted)}")
    wanted = modality(truth.modality)
    if wanted:
        listed = meta.get("modality_primary")
        first = (listed[0] if listed else None) if isinstance(listed, list) else listed
        yield Check("semantic: modality_primary", modality(first) == wanted, f"met {shown(first)}, expected {shown(wanted)}")
    yield Check("semantic: task_type", truth.task in task_types, f"met {task_types}, expected {shown(truth.task)}")
    expected = truth.content.get("expected_dataset_name")
    if isinstance(expected, str) and expected.strip():
        detail = f"met {stated}, the content block of the ground truth has {shown(expected)}"
        yield Check("semantic: expected_dataset_name", name == text(expected), detail)
    if truth.classes:
        number = at(meta, "num_classes_per_task", truth.task, "num_classes")
        same = isinstance(number, int) and number == len(truth.classes)
        yield Check("semantic: num_classes", same, f"met {shown(number)}, expected {len(truth.classes)}")


def _content_checks(meta: JsonObject, truth: GroundTruth, counts: ImageCounts) -> Iterator[Check]:
    total = at(meta, "data_volume", "total")
    wanted = at(truth.metadata, "strict_equals", "data_volume.total")
    yield Check("content: data_volume.total", isinstance(total, int | float), f"not a number: {shown(total)}")
    if isinstance(total, int | float):
        number = truth.expected_count if wanted is None else as_int(wanted)
        yield Check("content: total", _equal(as_int(total), number), f"met {shown(total)}, expected {number}")
    valid = meta.get("valid_image_n")
    yield Check("content: valid_image_n", isinstance(valid, dict), f"not an object: {shown(valid)}")
    stated = objects(valid).get("total")
    yield Check("content: valid_image_n.total", isinstance(stated, int | float), f"not a number: {shown(stated)}")
    if isinstance(stated, int | float):
        n, states = as_int(stated), f"states {shown(stated)}"
        yield Check("content: valid images", _equal(n, counts.valid), f"{states}, {counts.valid} images open")
        yield Check("content: images", n is not None and n <= counts.present, f"{states}, {counts.present} are there")
        yield Check("content: pairs", n is not None and n <= counts.paired, f"{states}, {counts.paired} pairs are valid")


def _equal(met: int | None, wanted: int | None) -> bool:
    return met is not None and met == wanted
