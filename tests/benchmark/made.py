"""Ground truths in the published form, the records that answer them, and folders of both.

The three ground truths are the reduced examples of the benchmark (one per task), written from the facts about them.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

Json = dict[str, Any]

SOURCE_KEYS = ["source_file", "original_filename", "original_path", "source_rel_path", "source_relpath"]
ID_KEYS = {
    "classification": ["subject_id", "label_text", "class_name"],
    "segmentation": ["subject_id", "label_file", "mask_file", "seg_file"],
    "detection": ["subject_id", "label_text", "class_name", "bbox_file"],
}
REQUIRED = {
    "classification": ["schema_variant", "label", "label_name"],
    "segmentation": ["schema_variant"],
    "detection": ["schema_variant"],
}


def ground_truth(
    name: str, modality: str, task: str, dimension: str, variant: str, classes: list[str], samples: list[Json]
) -> Json:
    """A ground truth with the constant header that all published ones have."""
    strict = ["source_file", "original_filename"]
    media: Json = {"task_type": task, "dimension": dimension.upper() if dimension != "video" else dimension}
    if task == "classification":
        strict = [*strict, "label_text", "class_name"]
        media["annotation_type"] = "multiclass"
    return {
        "schema_version": "1.1",
        "dataset_name": name,
        "expected_count": len(samples),
        "modality_primary": modality,
        "match_annotations_to_gt": "by_index",
        "task_type": task,
        "dimension": dimension,
        "format": {
            "top_level_blocks": ["record", "context", "media_geometry", "tasks"],
            "record_required": ["schema_version", "dataset_name", "image_path"],
            "context_sample_required": ["extra"],
            "sample_required_fields": ["modality_primary"],
            "sample_non_missing_fields": ["sex", "race_ethnicity", "site_id"],
            "extra_required_any": ["source_file", "original_filename", "subject_id"],
            "extra_non_missing_fields": ["source_file", "original_filename", "subject_id"],
            "task_required_fields": {task: REQUIRED[task]},
        },
        "content": {
            "expected_dataset_name": name,
            "expected_extra_keys_mode": "all",
            "expected_extra_key_groups": {"source": SOURCE_KEYS, "id_or_label": ID_KEYS[task]},
            "strict_required_extra_keys": strict,
            "strict_dataset_name_match": True,
            "global_expected_blocks": {
                "record": {"schema_version": "1.0.1", "dataset_name": name},
                "context_sample": {"modality_primary": modality},
                "media": media,
                "tasks": {task: {"schema_variant": variant}},
            },
        },
        "data_meta_expected": {
            "required_keys": ["dataset_name", "modality_primary", "data_volume", "task_type"],
            "optional_but_recommended": ["num_classes_per_task", "anatomical_structure", "domain"],
            "data_volume_required_fields": ["total"],
            "strict_equals": {"task_type.0": task, "modality_primary.0": modality, "data_volume.total": len(samples)},
        },
        "classes": classes,
        "samples": {str(index): sample for index, sample in enumerate(samples)},
    }


def truth_sample(
    name: str, modality: str, task: str, map_type: str, stem: str, cls: str | None, extra: Json, block: Json
) -> Json:
    return {
        "source_stem": stem,
        "class": cls,
        "map_type": map_type,
        "expected_record": {"dataset_name": name},
        "expected_context_sample": {"modality_primary": modality},
        "expected_extra": extra,
        "expected_extra_keys": ["source_file", "original_filename"],
        "expected_tasks": {task: block},
    }


def kits23(cases: Iterable[str] = ("case_00286", "case_00121")) -> Json:
    samples = []
    for case in cases:
        path = f"data/dataset/{case}/segmentation.nii.gz"
        extra = {"subject_id": case, "source_file": path, "original_filename": "segmentation.nii.gz"}
        extra |= dict.fromkeys(("label_file", "mask_file", "seg_file"), path)
        sentence = "Kidney + tumor + cyst segmentation (KiTS23)"
        block = {"schema_variant": "3d_mask"}
        samples.append(truth_sample("KiTS23", "CT", "segmentation", "pixel_mask", case, sentence, extra, block))
    return ground_truth("KiTS23", "CT", "segmentation", "3d", "3d_mask", ["background", "kidney", "tumor", "cyst"], samples)


def elastography() -> Json:
    name, modality = "4939348_Elastographic_Map_Simulation", "Ultrasound"
    classes = [
        f"{kind}_{phantom}"
        for kind in ("Bmode", "displacement", "velocity")
        for phantom in ("artery", "inclusion3", "inclusion7")
    ]
    samples = []
    for label, cls in enumerate(classes):
        extra = {
            "subject_id": None,
            "label_text": cls,
            "class_name": cls,
            "source_file": f"data/elastographic map/{cls}.mat",
            "original_filename": f"{cls}.mat",
        }
        block = {"schema_variant": "multiclass", "label": label, "label_name": cls}
        samples.append(truth_sample(name, modality, "classification", "label", cls, cls, extra, block))
    return ground_truth(name, modality, "classification", "2d", "multiclass", classes, samples)


def luna16() -> Json:
    samples = []
    for uid, positive in (("1.3.6.1.4.1.14519.5.2.1.868211", True), ("1.3.6.1.4.1.14519.5.2.1.334166", False)):
        extra: Json = {
            "subject_id": uid,
            "source_file": f"data/seg-lungs-LUNA16/seg-lungs-LUNA16/{uid}.mhd",
            "original_filename": f"{uid}.mhd",
            "label_text": "nodule" if positive else None,
            "class_name": "nodule" if positive else None,
            "bbox_file": "data/annotations.csv" if positive else None,
        }
        sentence = f"Lung nodule detection on chest CT ({'positive' if positive else 'negative'} case)"
        sample = truth_sample("LUNA16", "CT", "detection", "bbox", uid, sentence, extra, {"schema_variant": "3d"})
        samples.append(sample | {"expected_sources": [uid.replace(".", "") + "mhd"]})
    return ground_truth("LUNA16", "CT", "detection", "3d", "3d", ["nodule"], samples)


def plain(samples: int = 3, task: str = "segmentation", cls: str | None = "lesion") -> Json:
    """A ground truth of our own in which every string is distinct and every class can be met, so that 1 can be reached."""
    variants = {"classification": "multiclass", "segmentation": "2d_coco", "detection": "2d"}
    maps = {"classification": "label", "segmentation": "pixel_mask", "detection": "bbox"}
    listed = []
    for index in range(samples):
        extra: Json = {
            "subject_id": f"person {index}",
            "source_file": f"data/scans/scan{index}.dcm",
            "original_filename": f"scan{index}.dcm",
        }
        block: Json = {"schema_variant": variants[task]}
        if task == "classification":
            extra |= {"label_text": "lesion", "class_name": "a lesion"}
            block |= {"label": 1, "label_name": "lesion"}
        elif task == "segmentation":
            extra |= {"seg_file": f"data/masks/scan{index}.png"}
        else:
            extra |= {"bbox_file": f"data/boxes/scan{index}.csv"}
        listed.append(truth_sample("Plain", "MRI", task, maps[task], f"scan{index}", cls, extra, block))
    return ground_truth("Plain", "MRI", task, "2d", variants[task], ["background", "lesion"], listed)


def answer(truth: Json, index: str, **more_extra: Any) -> Json:
    """The record that gives a ground truth what it expects of a sample."""
    sample, content = truth["samples"][index], truth["content"]
    task = truth["task_type"]
    blocks = content["global_expected_blocks"]
    branch: Json = {"common": {}, "three_d": {}, "video": {}}
    branch[{"2d": "common", "3d": "three_d", "video": "video"}[truth["dimension"]]] = {"pixel_size_px": [8, 6]}
    tasks: Json = {"classification": {}, "segmentation": {}, "detection": {}}
    names = {str(number): name for number, name in enumerate(truth["classes"])}
    tasks[task] = {**sample["expected_tasks"][task], "classes" if task != "detection" else "class_names": names}
    if task == "segmentation":
        tasks[task]["mask_3d" if truth["dimension"] == "3d" else "coco_2d"] = {"mask_path": f"masks/{index}.png"}
    if task == "detection":
        tasks[task]["boxes2d" if truth["dimension"] == "2d" else "boxes3d"] = []
    media = {**blocks["media"], "leaf_task": "any", "confidence_global": 1.0}
    media.setdefault("annotation_type", sample["map_type"])
    return {
        "record": {**blocks["record"], "image_path": f"images/{index}.png"},
        "context": {
            "sample": {
                "subject_id": "NA",
                "sex": "unknown",
                "race_ethnicity": "NA",
                "site_id": "NA",
                **sample["expected_context_sample"],
                "extra": {**copy.deepcopy(sample["expected_extra"]), **more_extra},
            }
        },
        "media_geometry": {"media": media, "spatial": branch},
        "tasks": tasks,
        "provenance": {"timestamp_utc": None, "notes": None},
    }


def reference_answer(truth: Json, index: str) -> Json:
    """The best record there is: its extra also names the map type and the folder, and `NA` for a subject not known.

    The published single-fault costs were worked out on such records.
    """
    sample = truth["samples"][index]
    folder = sample["expected_extra"]["source_file"].split("/")[-2]
    record = answer(truth, index, map_type=sample["map_type"], sample_dir=folder)
    extra = record["context"]["sample"]["extra"]
    extra["subject_id"] = extra["subject_id"] or "NA"
    return record


def meta_answer(truth: Json, images: int | None = None) -> Json:
    task = truth["task_type"]
    return {
        "schema_version": "1.0.2",
        "dataset_name": truth["content"]["expected_dataset_name"],
        "modality_primary": [truth["modality_primary"]],
        "anatomical_structure": ["Abdomen"],
        "domain": "medical",
        "data_volume": {"total": truth["data_meta_expected"]["strict_equals"]["data_volume.total"]},
        "valid_image_n": {"total": len(truth["samples"]) if images is None else images},
        "label_presence": "labeled",
        "task_type": [task],
        "num_classes_per_task": {task: {"num_classes": len(truth["classes"])}},
    }


def picture(seed: int = 0, size: tuple[int, int] = (8, 6)) -> Image.Image:
    values = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    return Image.fromarray(values)


def write_truth(folder: Path, truth: Json, name: str = "ground_truth_x.json") -> Path:
    (folder / "VLM").mkdir(parents=True, exist_ok=True)
    path = folder / "VLM" / name
    path.write_text(json.dumps(truth))
    return path


def write_output(folder: Path, records: Mapping[str, Json], meta: Json | None) -> Path:
    """Write records with a picture each as `<folder>/agent1_data_organization`."""
    output = folder / "agent1_data_organization"
    (output / "images").mkdir(parents=True)
    (output / "standardized_annotations").mkdir()
    for name, record in records.items():
        (output / "standardized_annotations" / f"{name}.json").write_text(json.dumps(record))
        picture(seed=sum(name.encode())).save(output / "images" / f"{name}.png")
    if meta is not None:
        (output / "data_meta.json").write_text(json.dumps(meta))
    return output


def write_perfect(folder: Path, truth: Json) -> Path:
    return write_output(folder, {index: reference_answer(truth, index) for index in truth["samples"]}, meta_answer(truth))
