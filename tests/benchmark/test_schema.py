"""Our JSON Schemas of the two files: what the benchmark accepts is valid, and its known faults are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from assets.benchmark.mdsbench.schema import MAX_VIOLATIONS, metadata_violations, record_violations
from tests.benchmark.made import Json, elastography, kits23, luna16, meta_answer, plain, reference_answer

TRUTHS = [kits23(), luna16(), elastography(), plain(), plain(task="detection"), plain(task="classification")]


@pytest.mark.parametrize("truth", TRUTHS, ids=lambda truth: f"{truth['dataset_name']} {truth['task_type']}")
def test_records_that_score_full_marks_are_valid(truth: Json) -> None:
    for index in truth["samples"]:
        assert record_violations(reference_answer(truth, index)) == []
    assert metadata_violations(meta_answer(truth)) == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda r: r["record"].update(schema_version="1.0"),
        lambda r: r["record"].update(dataset_name="<name>"),
        lambda r: r["record"].update(image_path="images/01.png"),
        lambda r: r["context"]["sample"].update(sex=None),
        lambda r: r["context"]["sample"].update(modality_primary="NA"),
        lambda r: r["context"]["sample"]["extra"].update(source_file="/data4/x.nii.gz"),
        lambda r: r["media_geometry"]["media"].update(dimension="3d"),
        lambda r: r["media_geometry"]["spatial"].update(common={"pixel_size_px": [2, 2]}),
        lambda r: r["media_geometry"]["spatial"].update(three_d={}),
        lambda r: r["tasks"].update(detection={"schema_variant": "3d", "class_names": {"0": "x"}}),
        lambda r: r["tasks"].update(segmentation={}),
        lambda r: r["tasks"]["segmentation"].update(classes=["kidney"]),
        lambda r: r.pop("context"),
    ],
)
def test_faults_of_form_are_found(spoil: Callable[[Json], Any]) -> None:
    record = reference_answer(kits23(), "0")
    spoil(record)
    assert record_violations(record)


def test_violations_are_few_however_many_there_are() -> None:
    record = reference_answer(plain(task="detection"), "0")
    record["context"]["sample"]["anatomical_structure"] = list(range(1000))
    assert len(record_violations(record)) == MAX_VIOLATIONS
    assert metadata_violations({})
