"""Our records against ground truths in the public form, written from its description and from what the raw files are.

Nothing of `assets/mds` has a part in the ground truths: names, paths, labels and counts are spelled out here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assets.benchmark.mdsbench import score_folder
from assets.spec import DatasetSpec, load_catalog
from resources.layout import Layout
from tests import data_makers
from tests.benchmark.made import ground_truth, truth_sample, write_truth
from tests.mds.made import FOLDER, publish, spec_of, write_picture, write_volume

Json = dict[str, Any]
ONE = ("SV", "IC", "IV", "CF", "MSC", "MSJ", "SCJ", "E2E")


def scored(spec: DatasetSpec, root: Path, truth: Json) -> dict[str, float]:
    records = publish(spec, root)
    assert records.published.verdict.passed
    write_truth(root / "truth" / spec.slug, truth)
    report = score_folder(records.folder.parent, root / "truth" / spec.slug)
    (dataset,) = report.datasets
    assert dataset.answered
    return dataset.metrics


def classification(root: Path) -> tuple[DatasetSpec, Json]:
    names = ["Normal", "Benign", "InSitu", "Invasive"]  # neither alphabetical nor in the order of the folders
    for number, name in enumerate(["Benign", "InSitu", "Normal", "Invasive", "Normal"]):
        pixels = np.random.default_rng(number).integers(0, 256, (8, 9, 3), np.uint8)
        write_picture(root / "raw" / "made_up" / "Photos" / name / f"b00{number}.png", pixels)
    layout = {"subject": r"b\d{3}", "fields": {"class": "[A-Za-z]+"}, "series": {"slide": "Photos/{class}/{subject}.png"}}
    mds = {
        "name": "BACH", "task": "classification", "variant": "multiclass", "dimension": "2D", "modality": "Microscopy",
        "classes": names,
    }  # fmt: skip
    spec = spec_of(layout, mds, classes={"names": sorted(names), "field": "{class}"}, modality="Microscopy")
    order = [("Benign", 0), ("InSitu", 1), ("Invasive", 3), ("Normal", 2), ("Normal", 4)]  # depth first, by name
    samples = []
    for name, number in order:
        extra = {
            "subject_id": f"b00{number}", "label_text": name, "class_name": name,
            "source_file": f"data/Photos/{name}/b00{number}.png", "original_filename": f"b00{number}.png",
        }  # fmt: skip
        block = {"schema_variant": "multiclass", "label": names.index(name), "label_name": name}
        samples.append(truth_sample("BACH", "Microscopy", "classification", "label", f"b00{number}", name, extra, block))
    return spec, ground_truth("BACH", "Microscopy", "classification", "2d", "multiclass", names, samples)


def segmentation(root: Path) -> tuple[DatasetSpec, Json]:
    for number in range(3):
        voxels = np.random.default_rng(number).integers(-900, 900, (7, 6, 5)).astype(np.int16)
        write_volume(root / "raw" / "made_up" / "imagesTr" / f"scan {number}.nii.gz", voxels)
        write_volume(root / "raw" / "made_up" / "labelsTr" / f"scan {number}.nii.gz", (voxels > 500).astype(np.uint8))
    layout = {
        "subject": r"scan \d", "series": {"ct": "imagesTr/{subject}.nii.gz"}, "labels": {"seg": "labelsTr/{subject}.nii.gz"},
    }  # fmt: skip
    mds = {
        "name": "Livers", "classes": ["background", "liver"],
        "files": dict.fromkeys(("label_file", "mask_file", "seg_file"), "labels:seg"),
    }  # fmt: skip
    there = f"/data4/x/Med-Agent/{FOLDER}/data/imagesTr"
    (root / "raw" / "made_up" / "random.txt").write_text(
        "".join(f"{n}: {there}/scan {k}.nii.gz\n" for n, k in enumerate((2, 0, 1)))
    )
    samples = []
    for number in (2, 0, 1):
        extra: Json = {
            "subject_id": f"scan {number}", "source_file": f"data/imagesTr/scan {number}.nii.gz",
            "original_filename": f"scan {number}.nii.gz",
        }  # fmt: skip
        extra |= dict.fromkeys(("label_file", "mask_file", "seg_file"), f"data/labelsTr/scan {number}.nii.gz")
        block = {"schema_variant": "3d_mask"}
        samples.append(truth_sample("Livers", "CT", "segmentation", "pixel_mask", f"scan_{number}", "liver", extra, block))
    return spec_of(layout, mds, labels={1: "liver"}), ground_truth(
        "Livers", "CT", "segmentation", "3d", "3d_mask", ["background", "liver"], samples
    )


def detection(root: Path) -> tuple[DatasetSpec, Json]:
    raw = root / "raw" / "made_up"
    for number in range(3):
        write_picture(raw / f"u{number}.png", np.random.default_rng(number).integers(0, 256, (30, 40), np.uint8))
    (raw / "boxes.csv").write_text("id,x,y,w,h\nu0,3,4,10,12\nu0,20,2,8,8\nu2,1,1,5,5\nu1,,,,\n")
    objects = {"file": "boxes.csv", "key": "id", "match": "{subject}", "origin_size": ["x", "y", "w", "h"]}
    mds = {
        "name": "Chests", "task": "detection", "variant": "2d", "dimension": "2D", "modality": "X-ray",
        "classes": ["Lung Opacity"], "files": {"bbox_file": "data/boxes.csv"},
    }  # fmt: skip
    layout = {"subject": r"u\d", "series": {"xray": "{subject}.png"}}
    samples = []
    for number, positive in enumerate((True, False, True)):
        extra = {
            "subject_id": f"u{number}", "source_file": f"data/u{number}.png", "original_filename": f"u{number}.png",
            "label_text": "Lung Opacity" if positive else None, "class_name": "Lung Opacity" if positive else None,
            "bbox_file": "data/boxes.csv" if positive else None,
        }  # fmt: skip
        block = {"schema_variant": "2d"}
        samples.append(truth_sample("Chests", "X-ray", "detection", "bbox", f"u{number}", "Lung Opacity", extra, block))
    spec = spec_of(layout, mds, labels={1: "lung opacity"}, objects=objects, modality="X-ray")
    return spec, ground_truth("Chests", "X-ray", "detection", "2d", "2d", ["Lung Opacity"], samples)


@pytest.mark.parametrize("make", [classification, segmentation, detection])
def test_an_honest_spec_reaches_what_can_be_reached(tmp_path: Path, make: Any) -> None:
    spec, truth = make(tmp_path)
    metrics = scored(spec, tmp_path, truth)
    assert {name: metrics[name] for name in ONE} == dict.fromkeys(ONE, 1.0)
    # Of the semantic score a picture without any object loses a share: an empty list of boxes counts as no annotation.
    assert metrics["SC"] == (pytest.approx(1 - 0.1 / 3 / 3, abs=1e-4) if make is detection else 1.0)


def kits23(root: Path) -> tuple[DatasetSpec, Json]:
    """As in the reduced example of the benchmark, on the miniature of our own KiTS23, images and all."""
    spec = load_catalog()["kits23"]
    made = data_makers.kits23(Layout(root).raw(spec.raw_name))
    samples = []
    for case in made:
        path = f"data/dataset/{case}/segmentation.nii.gz"
        extra = {"subject_id": case, "source_file": path, "original_filename": "segmentation.nii.gz"}
        extra |= dict.fromkeys(("label_file", "mask_file", "seg_file"), path)
        sentence = "Kidney + tumor + cyst segmentation (KiTS23)"
        block = {"schema_variant": "3d_mask"}
        samples.append(truth_sample("KiTS23", "CT", "segmentation", "pixel_mask", case, sentence, extra, block))
    return spec, ground_truth("KiTS23", "CT", "segmentation", "3d", "3d_mask", ["background", "kidney", "tumor", "cyst"], samples)


def hippocampus(root: Path) -> tuple[DatasetSpec, Json]:
    spec = load_catalog()["msd_hippocampus"]
    made = data_makers.msd_hippocampus(Layout(root).raw(spec.raw_name))
    samples = []
    for subject in made:
        extra = {"subject_id": subject, "source_file": f"data/imagesTr/{subject}.nii", "original_filename": f"{subject}.nii"}
        extra |= dict.fromkeys(("label_file", "mask_file", "seg_file"), f"data/labelsTr/{subject}.nii")
        block = {"schema_variant": "3d_mask"}
        sentence = "Hippocampus segmentation with anterior and posterior parts"
        samples.append(truth_sample("Hippocampus", "MRI", "segmentation", "pixel_mask", subject, sentence, extra, block))
    classes = ["background", "anterior", "posterior"]
    return spec, ground_truth("Hippocampus", "MRI", "segmentation", "3d", "3d_mask", classes, samples)


@pytest.mark.parametrize(("make", "redundancy"), [(kits23, 4 / 7), (hippocampus, 5 / 7)])
def test_the_first_two_datasets_lose_only_what_their_ground_truths_cannot_give(
    tmp_path: Path, make: Any, redundancy: float
) -> None:  # fmt: skip
    spec, truth = make(tmp_path)
    metrics = scored(spec, tmp_path, truth)
    assert {name: metrics[name] for name in ONE} == dict.fromkeys(ONE, 1.0)
    assert metrics["SC"] == pytest.approx(1 - 0.7 * 0.15)  # a sentence is no class: 0.895
    assert 0.5 + 0.5 * redundancy - 0.1 < metrics["INR"] < 1
