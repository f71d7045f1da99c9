"""Ground truths of the small folders, spelled out by hand from what was written into them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assets.benchmark.mdsbench import score_folder
from tests.benchmark.made import ground_truth, truth_sample, write_truth

Json = dict[str, Any]


def volumes_truth(name: str) -> Json:
    """Of `folders.volumes`; what the ids mean is said nowhere, so the names are ours."""
    samples = []
    for number in ("001", "002", "003", "004"):
        extra = {
            "subject_id": number,
            "source_file": f"data/imagesTr/ct_{number}.nii.gz",
            "original_filename": f"ct_{number}.nii.gz",
        }
        extra |= dict.fromkeys(("label_file", "mask_file", "seg_file"), f"data/labelsTr/ct_{number}.nii.gz")
        block = {"schema_variant": "3d_mask"}
        samples.append(truth_sample(name, "CT", "segmentation", "pixel_mask", f"ct_{number}", "liver|tumour", extra, block))
    return ground_truth(name, "CT", "segmentation", "3d", "3d_mask", ["background", "liver", "tumour"], samples)


def class_folders_truth(name: str) -> Json:
    """Of `folders.class_folders`."""
    samples = []
    for label, cls in enumerate(("benign", "malignant")):
        for number in range(3):
            stem = f"{cls[0]}_{number:03d}"
            extra = {
                "subject_id": stem, "source_file": f"data/fundus/{cls}/{stem}.png", "original_filename": f"{stem}.png",
                "label_text": cls, "class_name": cls,
            }  # fmt: skip
            block = {"schema_variant": "multiclass", "label": label, "label_name": cls}
            samples.append(truth_sample(name, "Fundus", "classification", "label", stem, cls, extra, block))
    return ground_truth(name, "Fundus", "classification", "2d", "multiclass", ["benign", "malignant"], samples)


def boxes_truth(name: str) -> Json:
    """Of `folders.boxes`."""
    samples = []
    for number in range(4):
        stem, cls = f"pic_{number:03d}", ("nodule", "mass")[number % 2]
        extra = {
            "subject_id": stem, "source_file": f"data/xray/{stem}.png", "original_filename": f"{stem}.png",
            "label_text": cls, "class_name": cls, "bbox_file": "data/boxes.csv",
        }  # fmt: skip
        samples.append(truth_sample(name, "X-ray", "detection", "bbox", stem, None, extra, {"schema_variant": "2d"}))
    return ground_truth(name, "X-ray", "detection", "2d", "2d", ["mass", "nodule"], samples)


def scored(folder: Path, truth: Json, at: Path) -> dict[str, float]:
    """The eleven metrics of a folder of records."""
    write_truth(at, truth)
    (dataset,) = score_folder(folder, at).datasets
    assert dataset.answered
    return dataset.metrics
