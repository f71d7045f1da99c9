"""The validator's scores, worked by hand from the published weights."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from assets.strategies.validator import WEIGHTS, validate_folder, validate_record

Json = dict[str, Any]

PAPER = {
    "top_blocks": 0.06, "record": 0.08, "image_path": 0.10, "media": 0.08, "spatial": 0.06, "task_payload": 0.16, "context": 0.06,
    "source_trace": 0.08, "no_desc": 0.02, "critical": 0.02, "extra": 0.18, "annotation_type": 0.10,
}  # fmt: skip


def whole() -> Json:
    """A record that lacks nothing."""
    return {
        "record": {"schema_version": "1.0.1", "dataset_name": "Set", "image_path": "images/0.png"},
        "context": {
            "sample": {
                "subject_id": "s1", "modality_primary": "CT", "sex": "unknown", "race_ethnicity": "NA", "site_id": "NA",
                "extra": {
                    "source_file": "data/a/s1.nii", "original_filename": "s1.nii", "label_text": "cyst", "class_name": "cyst",
                    "map_type": "label",
                },
            }
        },
        "media_geometry": {
            "media": {"task_type": "classification", "dimension": "2D", "annotation_type": "multiclass"},
            "spatial": {"common": {"pixel_size_px": [4, 3]}, "three_d": {}, "video": {}},
        },
        "tasks": {
            "classification": {
                "schema_variant": "multiclass", "class_names": {"0": "none", "1": "cyst"}, "label": 1, "label_name": "cyst",
            },
            "segmentation": {}, "detection": {},
        },
    }  # fmt: skip


def put(*way: str, value: object = None) -> Callable[[Json], None]:
    """Sets a field."""

    def change(record: Json) -> None:
        block = record
        for name in way[:-1]:
            block = block[name]
        block[way[-1]] = value

    return change


SAMPLE, EXTRA = ("context", "sample"), ("context", "sample", "extra")
MEDIA, SPATIAL = ("media_geometry", "media"), ("media_geometry", "spatial")
CLASS = ("tasks", "classification")


def test_the_weights_are_the_published_ones_and_add_up_to_one() -> None:
    assert dict(WEIGHTS) == PAPER
    assert sum(WEIGHTS.values()) == pytest.approx(1)


def test_a_record_that_lacks_nothing_has_all() -> None:
    score = validate_record(whole(), image_is_right=True, is_there=lambda path: path == "data/a/s1.nii")
    assert score.total == pytest.approx(1)
    assert (score.lacks, score.answers) == ((), True)


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        (put("tasks", value="x"), 0.06 / 4 + 0.16 * 3 / 4 + 0.02 + 0.10),
        (put("record", "dataset_name", value="NA"), 0.08 / 3),
        (put("record", value={}), 0.08),
        (put(*MEDIA, "annotation_type"), 0.08 / 3 + 0.10),
        (put(*MEDIA, "annotation_type", value="label"), 0.10),
        (put(*MEDIA, "dimension", value="4D"), 0.08 / 3 + 0.06),
        (put(*MEDIA, "dimension", value="3D"), 0.06),
        (put(*SPATIAL, "three_d", value={"a": 1}), 0.06 / 2),
        (put(*SPATIAL, "common", value={}), 0.06 / 2),
        (put(*CLASS, "schema_variant", value="3d_mask"), 0.16 / 4 + 0.10),
        (put(*CLASS, "class_names", value={}), 0.16 * 2 / 4),
        (put(*CLASS, "label", value=0), 0.16 / 4),
        (put(*CLASS, "label_name"), 0.16 / 4),
        (put("tasks", "detection", value={"boxes2d": [[1, 2, 3, 4]]}), 0.16 / 4),
        (put(*SAMPLE, "sex"), 0.06 / 4),
        (put(*SAMPLE, "modality_primary", value="unknown"), 0.06 / 4 + 0.02),
        (put(*EXTRA, "source_file", value="data/b.nii"), 0.08 / 2),
        (put(*EXTRA, "source_file"), 0.08 + 0.02 + 0.18 / 4),
        (put(*EXTRA, "label_text", value=""), 0.18 / 4),
        (put(*EXTRA, "site__desc", value="where"), 0.02),
    ],
)
def test_what_a_record_lacks_costs_what_the_weights_say(change: Callable[[Json], None], lost: float) -> None:
    record = whole()
    change(record)
    score = validate_record(record, image_is_right=True, is_there=lambda path: path == "data/a/s1.nii")
    assert score.total == pytest.approx(1 - lost)
    assert score.lacks


def test_nothing_has_nothing_but_what_it_cannot_be_reproached_with() -> None:
    score = validate_record({}, image_is_right=False)
    assert score.total == pytest.approx(0.02)  # no keys of the template


def test_a_segmentation_answers_by_masks_or_by_a_file_of_them() -> None:
    record = whole()
    record["media_geometry"]["media"] = {"task_type": "segmentation", "dimension": "2D", "annotation_type": "2d_coco"}
    branch: Json = {"schema_variant": "2d_coco", "classes": {"0": "background", "1": "cyst"}, "coco_2d": {"annotations": []}}
    record["tasks"] = {"classification": {}, "segmentation": branch, "detection": {}}
    assert not validate_record(record, image_is_right=True).answers
    record["context"]["sample"]["extra"]["mask_file"] = "data/m.png"
    assert validate_record(record, image_is_right=True).total == pytest.approx(1)


def test_a_picture_in_which_nothing_is_marked_names_nothing() -> None:
    record = whole()
    record["media_geometry"]["media"] = {"task_type": "detection", "dimension": "2D", "annotation_type": "2d"}
    branch: Json = {"schema_variant": "2d", "class_names": {"0": "cyst"}, "boxes2d": []}
    record["tasks"] = {"classification": {}, "segmentation": {}, "detection": branch}
    del record["context"]["sample"]["extra"]["label_text"], record["context"]["sample"]["extra"]["class_name"]
    assert validate_record(record, image_is_right=True).total == pytest.approx(1)
    branch["boxes2d"] = [{"bbox_xyxy_px": [1, 1, 2, 2]}]
    assert validate_record(record, image_is_right=True).total == pytest.approx(1 - 0.18 / 2)


def folder(root: Path, records: dict[int, Json], pictures: set[int]) -> Path:
    for name in ("images", "standardized_annotations"):
        (root / name).mkdir(parents=True)
    for index, record in records.items():
        (root / f"standardized_annotations/{index}.json").write_text(json.dumps(record))
    for index in pictures:
        Image.new("RGB", (4, 3)).save(root / f"images/{index}.png")
    return root


def test_a_folder_has_the_mean_over_all_that_should_be_there(tmp_path: Path) -> None:
    second = copy.deepcopy(whole())
    second["record"]["image_path"] = "images/1.png"
    third = copy.deepcopy(whole())  # names the picture of another record
    found = validate_folder(folder(tmp_path / "a", {0: whole(), 1: second, 2: third}, {0, 2}), listed=4)
    assert found.total == round((1 + 0.9 + 0.9 + 0) / 4, 4)
    assert found.items["image_path"] == 0.25
    assert (found.complete, found.openable, found.answered) == (False, frozenset((0,)), 0.75)
    assert validate_folder(folder(tmp_path / "b", {0: whole(), 1: second}, {0, 1}), listed=2).complete


def test_broken_files_and_pictures_are_no_reason_to_stop(tmp_path: Path) -> None:
    root = folder(tmp_path / "a", {0: whole()}, set())
    (root / "images/0.png").write_bytes(b"\x89PNG\r\n\x1a\n broken")
    (root / "standardized_annotations/1.json").write_text("[" * 100_000)
    (root / "standardized_annotations/notes.json").write_text("{}")
    found = validate_folder(root)
    assert list(found.records) == [0, 1]
    assert found.total == round((0.9 + 0.02) / 2, 4)
    assert validate_folder(tmp_path / "nothing").total == 0
