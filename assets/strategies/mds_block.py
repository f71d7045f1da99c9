"""The `mds` block of a draft that has none: what records need to know beyond the raw folder's layout."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import polars as pl

from assets.spec import DatasetSpec
from assets.spec_mds import Mds
from assets.strategies.place import Place
from assets.text_tables import TableUnreadableError, read_text_table

Dimension = Literal["2D", "3D", "video"]

_VARIANTS = {
    "classification": dict.fromkeys(("2D", "3D", "video"), "multiclass"),
    "segmentation": {"2D": "2d_coco", "3D": "3d_mask", "video": "video_coco"},
    "detection": {"2D": "2d", "3D": "3d", "video": "video"},
}
_MODALITIES = {"MR": "MRI", "PT": "PET", "CR": "X-ray", "DX": "X-ray", "MG": "Mammography", "US": "Ultrasound"}
"""DICOM's codes -> what MDS-Bench calls them."""

BACKGROUND, OBJECT = "background", "object"
UNTOLD = "no rule found where a class is told"

_MOST_FILES, _MOST_NAMES = 200, 100


def task_of(spec: DatasetSpec) -> str:
    """The task of a spec without an `mds` block, by what it tells of its images."""
    if spec.mds is not None:
        return spec.mds.task
    return "segmentation" if spec.layout.labels else "detection" if spec.objects is not None else "classification"


def with_mds(spec: DatasetSpec, place: Place, dimension: Dimension = "2D", task: str = "") -> DatasetSpec:
    """The spec with an `mds` block, and with what such a block needs: names of marked objects, classes that are untold.

    Args:
        spec: A draft; one that has a block is left as it is.
        place: Its raw folder.
        dimension: Of its images.
        task: Of its records; by what the spec tells of its images if not given.

    Raises:
        ValueError: The spec has nothing that the task needs.
    """
    if spec.mds is not None:
        return spec
    task = task or task_of(spec)
    content = spec.model_dump(mode="python", exclude_defaults=True)
    if task == "detection" and not spec.labels:
        content["labels"] = dict(enumerate(_object_names(spec, place.raw), start=1))
    if task == "classification" and spec.classes is None:
        content["classes"] = {"names": [], "untold": UNTOLD}
    content["mds"] = _block(spec, content, place, task, dimension)
    return DatasetSpec.model_validate(content)


def with_dimension(spec: DatasetSpec, dimension: Dimension) -> DatasetSpec:
    """The spec with another dimension, and the variant that goes with it."""
    if spec.mds is None or spec.mds.dimension == dimension:
        return spec
    changed = {"dimension": dimension, "variant": _VARIANTS[spec.mds.task][dimension]}
    block = Mds.model_validate(spec.mds.model_dump(exclude_defaults=True) | changed)
    return spec.model_copy(update={"mds": block})


def dimension_of(volumes: pl.DataFrame) -> Dimension:
    """What most of the published images are: films, volumes, or pictures; of equal numbers the one that is named first."""
    rows = volumes.filter(kind="image").select("shape_ijk", "third_axis").iter_rows()
    votes = Counter(_dimension(shape, third) for shape, third in rows)
    order: tuple[Dimension, ...] = ("video", "3D", "2D")
    return max(order, key=lambda name: votes[name]) if votes else "2D"


def _dimension(shape: list[int], third_axis: str) -> Dimension:
    if third_axis == "time" and shape[2] > 1:
        return "video"
    return "3D" if third_axis == "space" and min(shape) > 1 else "2D"


def _block(spec: DatasetSpec, content: dict[str, Any], place: Place, task: str, dimension: Dimension) -> dict[str, Any]:
    block: dict[str, Any] = {
        "name": place.name,
        "folder": place.folder,
        "task": task,
        "variant": _VARIANTS[task][dimension],
        "dimension": dimension,
        "modality": _MODALITIES.get(spec.modality, spec.modality),
        "classes": _classes(spec, content, task),
        "files": _files(spec, task),
    }
    if spec.people.unit == "image":
        block["subject_id"] = "{stem}"  # the number in a name is nobody
    if spec.layout.tags.get(spec.people.field) == "PatientID":
        block["subject_id"] = f"{{{spec.people.field}}}"
    if len(spec.layout.series) > 1:
        block["target"] = list(spec.layout.series)
    return block


def _classes(spec: DatasetSpec, content: dict[str, Any], task: str) -> list[str]:
    if task == "classification":
        return list(spec.classes.names) if spec.classes is not None else []
    names = [label.name for label in spec.labels.values()] or list(content.get("labels", {}).values())
    names = [name for name in names if name.lower() != BACKGROUND]
    return [BACKGROUND, *names] if task == "segmentation" else names


def _files(spec: DatasetSpec, task: str) -> dict[str, str]:
    """All three names of the label file, as most of the published records have them; the table of marked objects."""
    if task == "segmentation" and spec.layout.labels:
        return dict.fromkeys(("label_file", "mask_file", "seg_file"), "labels:" + "|".join(spec.layout.labels))
    if task == "detection" and spec.objects is not None:
        file = spec.objects.file[0]
        named = {*re.findall(r"\{([a-z_]+)\}", file)} - {"subject", "scan", *spec.layout.fields}
        if "*" not in file and not named:
            return {"bbox_file": file if file.startswith("data/") else f"data/{file}"}
    return {}


def _object_names(spec: DatasetSpec, raw: Path) -> list[str]:
    """What the column of classes says, in order of the alphabet; one name for all where there is none."""
    declared = spec.objects
    if declared is None or not declared.label or "{" in declared.label or declared.format != "csv":
        return [OBJECT]
    found: set[str] = set()
    for file in _table_files(declared.file, raw):
        try:
            column = read_text_table(file, [declared.label], declared.separator)[declared.label]
        except TableUnreadableError:
            continue
        found |= {str(value) for value in column.drop_nulls().unique().to_list()}
    return sorted(found)[:_MOST_NAMES] or [OBJECT]


def _table_files(patterns: tuple[str, ...], raw: Path) -> Iterator[Path]:
    for pattern in patterns:
        if "{" in pattern or "*" in pattern:
            yield from sorted(raw.glob(re.sub(r"\{[a-z_]+\}", "*", pattern)))[:_MOST_FILES]
        else:
            yield raw / pattern
