"""S2 for `data_meta.json`: what it says of the dataset agrees with the records that are there."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping
from typing import Any

from assets.benchmark.mdsbench.record import take_apart
from assets.benchmark.mdsbench.values import TASKS, is_filled, objects, text
from assets.mds.meta import SCHEMA_VERSION
from assets.strategies.repair import Repair

Json = dict[str, Any]


def repair_metadata(meta: Json, records: Mapping[int, Json]) -> tuple[Json, list[Repair]]:
    """The file with everything that the records settle; names and counts, the task and its classes.

    Args:
        meta: The file; not changed.
        records: Index -> record, repaired.
    """
    whole, repairs = copy.deepcopy(meta), []
    wanted = _settled(records, whole)
    for key, value in wanted.items():
        if whole.get(key) != value:
            met = f"it is {str(whole.get(key))[:120]}" if key in whole else "it is not there"
            repairs.append(Repair("data_meta.json", key, f"{key} = {str(value)[:200]}", met))
            whole[key] = value
    return whole, repairs


def _settled(records: Mapping[int, Json], meta: Json) -> Json:
    apart = [take_apart(record) for record in records.values()]
    if not apart:
        return {}
    name = _most([str(one.record.get("dataset_name")) for one in apart])
    task = _most([text(one.media.get("task_type")) for one in apart])
    modality = _most([str(one.sample.get("modality_primary")) for one in apart])
    said: Json = {"schema_version": SCHEMA_VERSION, "dataset_name": name}
    if is_filled(modality) and not is_filled(meta.get("modality_primary")):
        said["modality_primary"] = [modality]
    if task in TASKS:
        said["task_type"] = [task]
        branch = next(one.task(task) for one in apart if text(one.media.get("task_type")) == task)
        classes = objects(branch.get("class_names")) or objects(branch.get("classes"))
        told = objects(objects(meta.get("num_classes_per_task")).get(task))
        said["num_classes_per_task"] = {task: {**told, "num_classes": len(classes)}}
    volume = objects(meta.get("data_volume"))
    if not isinstance(volume.get("total"), int):
        said["data_volume"] = {**volume, "total": len(records)}
    said["valid_image_n"] = {"total": len(records)}
    return said


def _most(values: list[str]) -> str:
    """The most frequent; of equals the first in the order of the alphabet."""
    counts = Counter(values)
    return min(counts, key=lambda value: (-counts[value], value))
