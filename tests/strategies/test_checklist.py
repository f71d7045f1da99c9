"""The checklist: what is repaired, what is said, and that nothing is made up."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from assets.strategies.checklist import Facts, repair_records
from assets.strategies.metadata import repair_metadata
from assets.strategies.validator import validate_record
from tests.strategies.test_validator import CLASS, EXTRA, MEDIA, SAMPLE, SPATIAL, put, whole

Json = dict[str, Any]

FACTS = Facts("Set", "CT", {0: (4, 3)}, {0: "images/0.png"}, frozenset(("data/a/s1.nii", "data/b/s2.nii", "data/c/s2.nii")))


def repaired(record: Json, facts: Facts = FACTS) -> tuple[Json, list[str]]:
    before = copy.deepcopy(record)
    kept, repairs = repair_records({0: record}, facts)
    assert record == before
    return kept[0], [repair.check for repair in repairs]


def test_a_record_that_lacks_nothing_is_left_as_it_is() -> None:
    assert repaired(whole()) == (whole(), [])


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (put("record", value="x"), "blocks are objects"),
        (put("record", "schema_version", value="2"), "record_required"),
        (put("record", "dataset_name", value="unknown"), "record_required"),
        (put("record", "image_path", value="0.png"), "record_image_path_rel"),
        (put(*SAMPLE, "modality_primary", value="NA"), "sample_required_fields"),
        (put(*SAMPLE, "sex"), "sample_non_missing_fields"),
        (put(*EXTRA, "original_filename", value="x"), "original_filename is the name of the source"),
        (put(*EXTRA, "source_file", value="/home/me/set/a/s1.nii"), "source exists"),
        (put(*MEDIA, "task_type"), "media_required"),
        (put(*MEDIA, "dimension", value="flat"), "media_required"),
        (put(*SPATIAL, "common", value={}), "spatial_branch_selected"),
        (put(*SPATIAL, "video", value={"frame_count": 3}), "spatial_branch_exclusive"),
        (put(*CLASS, "schema_variant"), "task_branch_required"),
        (put("tasks", "segmentation", value={"schema_variant": "2d_coco"}), "task_branch_exclusive"),
        (put(*CLASS, "label", value=0), "classes known"),
        (put(*CLASS, "label_name"), "classes known"),
        (put(*EXTRA, "map_type"), "map_type"),
        (put(*MEDIA, "annotation_type", value="image_level"), "annotation_type equals schema_variant"),
        (put(*EXTRA, "class_name"), "label_text and class_name"),
        (put(*EXTRA, "sex__options", value=["f", "m"]), "forbidden_desc_options"),
    ],
)
def test_what_can_be_told_is_repaired_and_logged(change: Any, check: str) -> None:
    record = whole()
    change(record)
    after, checks = repaired(record)
    assert check in checks
    assert validate_record(after, image_is_right=True, is_there=FACTS.sources.__contains__).total == pytest.approx(1)
    assert repaired(after)[1] == []


@pytest.mark.parametrize(
    ("change", "facts", "check"),
    [
        (put(*SAMPLE, "modality_primary"), Facts("Set", "unknown", {0: (4, 3)}, {0: "images/0.png"}), "sample_required_fields"),
        (put(*EXTRA, "source_file", value="data/z/s2.nii"), FACTS, "source exists"),
        (put(*EXTRA, "source_file", value="data/gone.nii"), FACTS, "source exists"),
        (put(*CLASS, value={"schema_variant": "multiclass", "class_names": {"0": "a"}}), FACTS, "task_branch_required"),
        (put(*CLASS, "label_name", value="abscess"), FACTS, "classes known"),
        (put("tasks", value={}), FACTS, "task_branch_required"),
    ],
)
def test_what_nothing_tells_stays_open_and_is_said(change: Any, facts: Facts, check: str) -> None:
    record = whole()
    change(record)
    before = copy.deepcopy(record)
    _, repairs = repair_records({0: record}, facts)
    assert any(repair.check == check and not repair.done for repair in repairs)
    assert record == before


def test_nothing_is_said_of_an_image_without_a_label_map() -> None:
    record = whole()
    record["media_geometry"]["media"] = {"task_type": "segmentation", "dimension": "2D", "annotation_type": "2d_coco"}
    branch: Json = {"schema_variant": "2d_coco", "classes": {"0": "background", "1": "cyst", "2": "stone"}}
    record["tasks"] = {"classification": {}, "segmentation": branch, "detection": {}}
    extra = record["context"]["sample"]["extra"]
    del extra["label_text"], extra["class_name"]
    assert "label_text" not in repaired(record)[0]["context"]["sample"]["extra"]
    extra["seg_file"] = "data/a/s1_seg.nii"
    assert repaired(record)[0]["context"]["sample"]["extra"]["class_name"] == "cyst|stone"


def test_a_record_without_a_picture_that_opens_is_left_out() -> None:
    kept, repairs = repair_records({0: whole(), 7: whole()}, FACTS)
    assert list(kept) == [0]
    assert [(r.where, r.check) for r in repairs] == [("7", "image opens")]


def test_a_source_is_told_by_the_note_of_its_conversion() -> None:
    record = whole()
    record["provenance"] = {"notes": "Converted from: data/a/s1.nii"}
    put(*EXTRA, "source_file")(record)
    assert repaired(record)[0]["context"]["sample"]["extra"]["source_file"] == "data/a/s1.nii"


def test_a_record_of_nothing_does_not_stop_the_list() -> None:
    for nothing in ({}, {"record": [], "context": 3, "media_geometry": None, "tasks": "x"}):
        after, checks = repaired(nothing)
        assert after["record"]["image_path"] == "images/0.png"
        assert "task_branch_required" in checks


def test_what_is_said_of_the_dataset_agrees_with_its_records() -> None:
    meta, repairs = repair_metadata({"dataset_name": "Other", "task_type": [], "disease": ["NA"]}, {0: whole(), 1: whole()})
    assert meta == {
        "schema_version": "1.0.2",
        "dataset_name": "Set",
        "task_type": ["classification"],
        "disease": ["NA"],
        "modality_primary": ["CT"],
        "num_classes_per_task": {"classification": {"num_classes": 2}},
        "data_volume": {"total": 2},
        "valid_image_n": {"total": 2},
    }
    assert {repair.where for repair in repairs} == {"data_meta.json"}
    assert repair_metadata(meta, {0: whole(), 1: whole()}) == (meta, [])
