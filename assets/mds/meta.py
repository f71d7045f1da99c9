"""`data_meta.json`: what is said of the dataset as a whole, in the benchmark's template 1.0.2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assets.mds.naming import BACKGROUND
from assets.mds.record import NOT_GIVEN
from assets.spec import DatasetSpec
from assets.spec_mds import Mds

Json = dict[str, Any]

SCHEMA_VERSION = "1.0.2"
META_PATH = "data_meta.json"


def data_meta(spec: DatasetSpec, mds: Mds, records: Sequence[Json], *, n_valid: int, synthetic: bool) -> Json:
    """What is said of the dataset.

    Args:
        spec: The dataset.
        mds: Its `mds` block.
        records: All its records; they are what is counted.
        n_valid: How many of their pictures were found to open.
        synthetic: Whether the data are made up.
    """
    meta = mds.meta
    n_labelled = sum(_is_labelled(mds, record) for record in records)
    content: Json = {
        "schema_version": SCHEMA_VERSION,
        "dataset_name": mds.name,
        "release_date": meta.release_date or NOT_GIVEN,
        "homepage_url": spec.homepage or NOT_GIVEN,
        "organization": list(meta.organization or (NOT_GIVEN,)),
        "challenge_series": meta.challenge_series,
        "license": spec.licence,
        "dataset_description": f"{spec.description.rstrip('.')}.",
        "modality_primary": [mds.modality],
        "modality_secondary": list(meta.modality_secondary or (NOT_GIVEN,)),
        "anatomical_structure": list(meta.anatomical_structure or (spec.anatomy,)),
        "disease": list(meta.disease or (NOT_GIVEN,)),
        "domain": "medical",
        "data_volume": {
            "total": len(records) if meta.total is None else meta.total,
            "train": None,
            "val": None,
            "test": None,
            "label": n_labelled,
        },
        "valid_image_n": {"total": n_valid},
        "label_presence": "labeled" if n_labelled else "unlabeled",
        "task_type": [mds.task],
        "num_classes_per_task": {mds.task: _classes(mds)},
    }
    return content | ({"synthetic": True} if synthetic else {})


def _classes(mds: Mds) -> Json:
    n = len(mds.classes)
    if mds.task == "detection":
        return {"type": "single-class" if n == 1 else "multi-class", "num_classes": n}
    if mds.task == "segmentation":
        return {"num_classes": n, "include_background": any(name.lower() == BACKGROUND for name in mds.classes)}
    return {"num_classes": n}


def _is_labelled(mds: Mds, record: Json) -> bool:
    """Whether a record tells a class, a mask that is not empty, or an object."""
    task = record["tasks"][mds.task]
    if mds.task == "segmentation":
        return any(block.get("voxel_counts") for block in task.values() if isinstance(block, dict))
    if mds.task == "detection":
        return any(task.get(key) for key in ("boxes2d", "boxes3d", "frame_boxes2d"))
    return task["label"] is not None
