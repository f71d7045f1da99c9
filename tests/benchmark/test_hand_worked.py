"""The figures that were worked out by hand, independently of this code, on the benchmark's reduced examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from assets.benchmark.mdsbench.content import content_fidelity
from assets.benchmark.mdsbench.fields import match_rules
from assets.benchmark.mdsbench.information import information
from assets.benchmark.mdsbench.metrics import category_scores, weighted_total
from assets.benchmark.mdsbench.record import take_apart
from assets.benchmark.mdsbench.scored import Scored
from assets.benchmark.mdsbench.semantic import semantic_correctness
from assets.benchmark.mdsbench.structure import schema_validity
from assets.benchmark.mdsbench.truth import parse_truth
from tests.benchmark.made import Json, elastography, kits23, luna16, reference_answer

Change = Callable[[Json], Any]


def scores(raw: Json, record: Json, index: str = "0") -> dict[str, Scored]:
    truth, taken = parse_truth(raw), take_apart(record)
    sample = next(sample for sample in truth.samples if sample.index == index)
    rules = match_rules(truth.content)
    info = information(taken, truth.content)
    return {
        "g": schema_validity(taken, truth.rules),
        "q": semantic_correctness(taken, sample, truth, rules),
        "c": info.completeness,
        "d": info.validity,
        "r": info.non_redundancy,
        "f": content_fidelity(taken, sample, truth, rules),
    }


def changed(record: Json, *changes: Change) -> Json:
    for change in changes:
        change(record)
    return record


def extra(record: Json) -> Json:
    found: Json = record["context"]["sample"]["extra"]
    return found


def wrong_name(record: Json) -> None:
    record["record"]["dataset_name"] = "kits23_folder"


def two_dimensional(record: Json) -> None:
    record["media_geometry"]["media"]["dimension"] = "2D"
    record["media_geometry"]["spatial"] = {"common": {"pixel_size_px": [8, 6]}, "three_d": {}, "video": {}}


def wrong_variant(record: Json) -> None:
    record["tasks"]["segmentation"]["schema_variant"] = "2d_coco"


def no_mask_paths(record: Json) -> None:
    extra(record).update(label_file=None, mask_file=None, seg_file=None)


def mask_paths_without_data(record: Json) -> None:
    extra(record).update(dict.fromkeys(("label_file", "mask_file", "seg_file"), "dataset/case_00286/segmentation.nii.gz"))


def wrong_task(record: Json) -> None:
    record["media_geometry"]["media"]["task_type"] = "classification"
    record["tasks"] = {
        "classification": {"schema_variant": "multiclass", "label": 0, "label_name": "kidney"},
        "segmentation": {},
        "detection": {},
    }


def no_map_type(record: Json) -> None:
    del extra(record)["map_type"]
    record["media_geometry"]["media"]["annotation_type"] = "3d_mask"


def test_the_kits23_answer_scores_as_worked_out() -> None:
    met = {name: scored.value for name, scored in scores(kits23(), reference_answer(kits23(), "0")).items()}
    assert met == {"g": 1.0, "q": 0.895, "c": 1.0, "d": 1.0, "r": 0.75, "f": 1.0}


@pytest.mark.parametrize(
    ("raw", "index", "r"),
    [(kits23(), "0", 0.75), (luna16(), "0", 0.9375), (elastography(), "0", 0.9167)],
    ids=["KiTS23", "LUNA16", "elastography"],
)
def test_non_redundancy_of_the_three_examples(raw: Json, index: str, r: float) -> None:
    assert scores(raw, reference_answer(raw, index), index)["r"].value == r


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([wrong_name], {"q": 0.79, "f": 0.8125}),
        ([lambda r: r["context"]["sample"].update(sex=None)], {"g": 0.9286}),
        ([lambda r: r["context"]["sample"].update(race_ethnicity=None)], {"g": 0.9286}),
        ([lambda r: r["context"]["sample"].update(site_id=None)], {"g": 0.9286}),
        ([lambda r: r["media_geometry"]["spatial"].update(common={"pixel_size_px": [1, 1]})], {"g": 0.9286}),
        ([two_dimensional], {"q": 0.79, "f": 0.9792}),
        ([wrong_variant], {"q": 0.695, "f": 0.7917}),
        ([no_mask_paths], {"f": 0.9167}),
        ([mask_paths_without_data], {"f": 0.9167}),
        ([lambda r: extra(r).update(source_file="/data4/x/data/dataset/case_00286/segmentation.nii.gz")], {"f": 0.9722}),
        ([no_map_type], {"q": 0.825}),
        ([wrong_name, lambda r: extra(r).update(mask_file=None, label_file=None), no_map_type], {"q": 0.72, "f": 0.757}),
        ([wrong_name, two_dimensional, wrong_variant, no_mask_paths], {"q": 0.485, "f": 0.5}),
    ],
    ids=[
        "wrong dataset name",
        "sex null",
        "race null",
        "site null",
        "common filled for 3D",
        "2D instead of 3D",
        "wrong schema_variant",
        "mask paths null",
        "mask paths without data/",
        "absolute source_file",
        "annotation_type is not map_type",
        "honest, nothing tuned",
        "name, dimension, variant and masks wrong",
    ],
)
def test_what_a_fault_costs_in_kits23(changes: list[Change], expected: dict[str, float]) -> None:
    met = scores(kits23(), changed(reference_answer(kits23(), "0"), *changes))
    baseline = {"g": 1.0, "q": 0.895, "f": 1.0}
    assert {name: met[name].value for name in baseline} == baseline | expected


def test_a_wrong_task_breaks_end_to_end() -> None:
    assert scores(kits23(), changed(reference_answer(kits23(), "0"), wrong_task))["q"].value == 0.4533


def test_a_wrong_label_index_costs_a_third_of_the_payload() -> None:
    record = reference_answer(elastography(), "0")
    record["tasks"]["classification"]["label"] = 1
    met = scores(elastography(), record)
    assert (met["q"].value, met["f"].value) == (0.9333, 0.9444)


def test_an_expected_na_is_a_text_and_an_expected_null_a_placeholder() -> None:
    """Writing `NA` satisfies both; null satisfies only the second."""
    raw = elastography()
    assert scores(raw, reference_answer(raw, "0"))["f"].value == 1.0
    raw["samples"]["0"]["expected_extra"]["subject_id"] = "NA"
    assert scores(raw, reference_answer(raw, "0"))["f"].value == 1.0
    record = reference_answer(raw, "0")
    record["context"]["sample"]["subject_id"] = None
    extra(record)["subject_id"] = None
    assert scores(raw, record)["f"].value == pytest.approx(1 - 1 / 5 / 6, abs=1e-4)


def test_a_null_class_leaves_its_weight_out() -> None:
    """With class null the field weights sum to 0.85; the map type then weighs 0.10 of them."""
    raw = kits23()
    raw["samples"]["0"]["class"] = None
    assert scores(raw, reference_answer(raw, "0"))["q"].value == 1.0
    met = scores(raw, changed(reference_answer(raw, "0"), no_map_type))["q"].value
    assert met == pytest.approx(1 - 0.7 * 0.10 / 0.85, abs=1e-4)


def test_the_best_published_row_has_the_published_category_means() -> None:
    """Gemini 3 Flash: the paper prints 75.1, 63.9, 61.8, 65.9 and 52.4 beside these eleven."""
    names = ("SV", "SSC", "SC", "IC", "IV", "INR", "CF", "MSC", "MSJ", "SCJ", "E2E")
    row = dict(zip(names, (88.2, 62.0, 63.9, 67.5, 62.5, 58.7, 58.7, 78.0, 53.7, 56.3, 48.6), strict=True))
    expected = {"structure": 75.1, "semantic": 63.9, "content": 61.8, "metadata": 65.9, "joint": 52.4}
    assert category_scores(row) == pytest.approx(expected, abs=0.06)
    assert weighted_total(row) == pytest.approx(0.15 * 75.1 + 0.2 * 63.9 + 0.25 * 61.85 + 0.1 * 65.85 + 0.3 * 52.45, abs=0.01)


@pytest.mark.parametrize("raw", [kits23(), luna16(), elastography()], ids=["KiTS23", "LUNA16", "elastography"])
def test_every_deduction_is_accounted_for(raw: Json) -> None:
    record = changed(reference_answer(raw, "0"), wrong_name)
    record["context"]["sample"]["sex"] = None
    for scored in scores(raw, record).values():
        assert sum(loss.cost for loss in scored.losses) == pytest.approx(1 - scored.value, abs=2e-4)
