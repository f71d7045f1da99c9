"""Folders in, eleven numbers out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from assets.benchmark.mdsbench import LayoutError, ScoreReport, payload, score_folder, tables
from assets.benchmark.mdsbench.aggregate import modality_group, threshold_study
from assets.benchmark.mdsbench.attribution import attribute, failure_kinds
from assets.benchmark.mdsbench.metrics import METRICS
from assets.benchmark.mdsbench.report import SCHEMAS
from tests.benchmark.made import (
    Json,
    elastography,
    kits23,
    luna16,
    meta_answer,
    plain,
    reference_answer,
    write_output,
    write_perfect,
    write_truth,
)

PERFECT = dict.fromkeys(METRICS, 1.0)


def scored(folder: Path, truth: Json, records: dict[str, Json], meta: Json | None) -> dict[str, float]:
    write_truth(folder / "gt" / "d", truth)
    write_output(folder / "pred" / "d", records, meta)
    return report_of(folder).datasets[0].metrics


def report_of(folder: Path) -> ScoreReport:
    return score_folder(folder / "pred", folder / "gt")


def records_of(truth: Json) -> dict[str, Json]:
    return {index: reference_answer(truth, index) for index in truth["samples"]}


@pytest.mark.parametrize("task", ["classification", "segmentation", "detection"])
def test_a_perfect_answer_scores_one_everywhere(tmp_path: Path, task: str) -> None:
    truth = plain(task=task)
    assert scored(tmp_path, truth, records_of(truth), meta_answer(truth)) == pytest.approx(PERFECT)
    assert report_of(tmp_path).datasets[0].deductions == ()


@pytest.mark.parametrize(
    ("truth", "below_one"),
    [
        (kits23(), {"SC": 0.895, "SSC": 0.895, "INR": 0.75}),
        # The negative case has an empty list of boxes and no box file, which the evaluator takes for no annotation: 0.1 / 3.
        (luna16(), {"SC": 0.895 - 0.1 / 6, "SSC": 0.895 - 0.1 / 6, "INR": (0.9375 + 1.0) / 2}),
        (elastography(), {"INR": 0.9167}),
    ],
    ids=["KiTS23", "LUNA16", "elastography"],
)
def test_what_the_ground_truths_themselves_keep_below_one(tmp_path: Path, truth: Json, below_one: dict[str, float]) -> None:
    met = scored(tmp_path, truth, records_of(truth), meta_answer(truth))
    assert met == pytest.approx(PERFECT | below_one, abs=1e-4)


def test_the_expected_fields_alone_do_not_pass_the_source_gate_where_files_share_a_name(tmp_path: Path) -> None:
    """KiTS23: every file is `segmentation.nii.gz`, and of a path only the last part counts; the folder needs a key of its own."""
    truth = kits23()
    records = records_of(truth)
    for record in records.values():
        del record["context"]["sample"]["extra"]["sample_dir"]
    met = scored(tmp_path, truth, records, meta_answer(truth))
    assert (met["SV"], met["SC"], met["CF"], met["SCJ"], met["E2E"]) == (1.0, 0.0, 0.0, 0.0, 0.0)
    assert met["SSC"] == pytest.approx(0.895)


def test_a_dataset_without_predictions_counts_zero_and_is_named(tmp_path: Path) -> None:
    write_truth(tmp_path / "gt/a/answered", plain())
    write_truth(tmp_path / "gt/a/missing", plain())
    write_perfect(tmp_path / "pred/a/answered", plain())
    report = report_of(tmp_path)
    missing = report.datasets[1]
    assert (missing.key, missing.answered, missing.metrics) == ("a/missing", False, dict.fromkeys(METRICS, 0.0))
    assert [deduction.metric for deduction in missing.deductions] == ["all"]
    assert report.macro == pytest.approx(dict.fromkeys(METRICS, 0.5))
    assert report.macro_answered == pytest.approx(PERFECT)


def test_other_numbers_and_more_records_than_samples_are_paired_by_source(tmp_path: Path) -> None:
    truth = plain(samples=3)
    moved = {"7": "0", "003": "1", "1": "2"}
    records = {name: reference_answer(truth, index) for name, index in moved.items()}
    for name, record in records.items():
        record["record"]["image_path"] = f"images/{name}.png"
    records["0"] = reference_answer(plain(samples=4), "3") | {"record": {"image_path": "images/0.png"}}
    assert scored(tmp_path, truth, records, meta_answer(truth)) == pytest.approx(PERFECT)
    (remark,) = report_of(tmp_path).datasets[0].deductions
    assert (remark.metric, remark.file, remark.cost) == ("remark", "standardized_annotations/0.json", 0.0)
    found = [sample.annotation for sample in report_of(tmp_path).datasets[0].samples]
    assert found == [f"standardized_annotations/{name}.json" for name in ("7", "003", "1")]


def test_two_records_of_one_source_answer_one_sample_each_by_number(tmp_path: Path) -> None:
    truth = plain(samples=2)
    first = reference_answer(truth, "0")
    write_truth(tmp_path / "gt/d", truth)
    write_output(tmp_path / "pred/d", {"0": first, "1": first}, meta_answer(truth))
    samples = report_of(tmp_path).datasets[0].samples
    assert [(sample.annotation[-6:], sample.sourced) for sample in samples] == [("0.json", True), ("1.json", False)]


def test_schema_validity_is_divided_by_the_stated_count(tmp_path: Path) -> None:
    truth = plain(samples=2) | {"expected_count": 4}
    met = scored(tmp_path, truth, records_of(truth), meta_answer(truth))
    assert (met["SV"], met["E2E"], met["SSC"]) == (0.5, 1.0, 1.0)


def test_two_names_in_one_ground_truth_leave_four_fifths_of_msc(tmp_path: Path) -> None:
    truth = plain() | {"dataset_name": "10475293_folder"}
    met = scored(tmp_path, truth, records_of(truth), meta_answer(truth))
    assert met["MSC"] == 0.8
    assert met["MSJ"] == pytest.approx(0.8 ** (1 / 3))


@pytest.mark.parametrize(
    ("change", "msc", "msj"),
    [
        ({"modality_primary": ["CT"]}, 0.8, 0.8 ** (1 / 3)),
        ({"domain": "NA"}, 1.0, 0.9 ** (1 / 3)),
        ({"valid_image_n": {"total": 2}}, 1.0, (6 / 7) ** (1 / 3)),
        ({"valid_image_n": 3}, 1.0, (2 / 4) ** (1 / 3)),
        ({"data_volume": {"total": "3"}}, 1.0, (5 / 6) ** (1 / 3)),
        ({"data_volume": {"total": float("nan")}}, 1.0, (9 / 10 * 6 / 7) ** (1 / 3)),
        ({"num_classes_per_task": {"segmentation": {"num_classes": 1}}}, 0.8, 0.8 ** (1 / 3)),
    ],
)
def test_what_a_fault_in_the_metadata_costs(tmp_path: Path, change: Json, msc: float, msj: float) -> None:
    """m_sv is a mean of ten checks, m_sc of five, m_cf of up to seven; MSJ is their geometric mean times CF."""
    truth = plain()
    met = scored(tmp_path, truth, records_of(truth), meta_answer(truth) | change)
    assert met["MSC"] == msc
    assert met["MSJ"] == pytest.approx(msj, abs=2e-4)


def test_no_metadata_file_leaves_a_millionth_of_msj(tmp_path: Path) -> None:
    truth = plain()
    met = scored(tmp_path, truth, records_of(truth), None)
    assert (met["MSC"], met["SV"], met["E2E"]) == (0.0, 1.0, 1.0)
    assert met["MSJ"] == pytest.approx(1e-6)


def test_two_failed_schema_checks_pass_end_to_end_and_three_do_not(tmp_path: Path) -> None:
    truth = plain(samples=4)
    records = records_of(truth)
    for faults, record in enumerate(records.values()):
        if faults > 0:
            record["context"]["sample"]["sex"] = None
        if faults > 1:
            record["media_geometry"]["spatial"]["three_d"] = {"frames": 1}
        if faults > 2:
            record["note__desc"] = "left over"
    met = scored(tmp_path, truth, records, meta_answer(truth))
    assert met["SV"] == pytest.approx((4 * 14 - 6) / 56, abs=1e-4)
    assert met["E2E"] == 0.75
    study = {(row.name, row.value): row.e2e for row in threshold_study(report_of(tmp_path).datasets)}
    assert [study["tau_g", value] for value in (0.75, 0.85, 1.0)] == [1.0, 0.75, 0.25]
    assert len(study) == 9


def test_an_image_that_is_none_breaks_the_pair_and_the_counts(tmp_path: Path) -> None:
    truth = plain(samples=2)
    write_truth(tmp_path / "gt/d", truth)
    output = write_perfect(tmp_path / "pred/d", truth)
    (output / "images/1.png").write_bytes(b"not a picture")
    dataset = report_of(tmp_path).datasets[0]
    assert dataset.metrics["E2E"] == 0.5
    assert dataset.metrics["CF"] == 1.0
    assert dataset.metrics["MSJ"] == pytest.approx((5 / 7) ** (1 / 3), abs=1e-4)
    assert {deduction.item for deduction in dataset.deductions} >= {
        "image",
        "end to end",
        "content: valid images",
        "content: pairs",
    }


def test_categories_and_kinds_of_failure_are_counted(tmp_path: Path) -> None:
    truth = plain(samples=4)
    records = records_of(truth)
    records["0"]["context"]["sample"]["extra"]["source_file"] = "data/elsewhere/other.dcm"
    records["0"]["context"]["sample"]["extra"]["original_filename"] = "other.dcm"
    records["0"]["context"]["sample"]["extra"]["subject_id"] = "person 9"
    records["0"]["context"]["sample"]["extra"]["seg_file"] = "other.png"
    records["1"]["media_geometry"]["media"]["task_type"] = "classification"
    records["2"]["media_geometry"]["spatial"]["video"] = {"fps": 25}
    del records["3"]
    scored(tmp_path, truth, records, meta_answer(truth))
    datasets = report_of(tmp_path).datasets
    kinds = failure_kinds(datasets)
    assert (kinds["source grounding"], kinds["no output"], kinds["semantic confusion"]) == (1, 1, 1)
    assert kinds["unsupported filling"] == 2  # the segmentation branch is one too many for a record that says classification
    rows = {row.category: row for row in attribute(datasets)}
    assert (rows["joint"].failed, rows["structure"].failed) == (1, 0)
    assert rows["joint"].mean == pytest.approx((datasets[0].metrics["SCJ"] + datasets[0].metrics["E2E"]) / 2)


@pytest.mark.parametrize(
    ("modality", "family"),
    [
        ("CT", "CT"), ("MRI", "MRI"), ("Xray", "X-ray"), ("X-ray", "X-ray"), ("Mammography", "X-ray"),
        ("Micro-Ultrasound", "ultrasound"), ("Fundus", "ophthalmic"), ("OCT", "ophthalmic"),
        ("AdaptiveOpticsScanningLightOphthalmoscopy", "ophthalmic"), ("Histopathology", "microscopy"),
        ("Capsule endoscopy", "endoscopy"), ("Dermoscopy", "other"), ("NA", "other"), ("Hyperspectral", "other"),
        ("Microwave imaging", "other"),
    ],
)  # fmt: skip
def test_every_published_modality_has_its_family(modality: str, family: str) -> None:
    assert modality_group(modality) == family


def test_tables_have_their_declared_columns_and_one_row_per_thing(tmp_path: Path) -> None:
    write_truth(tmp_path / "gt/a/x", plain(samples=2))
    write_truth(tmp_path / "gt/a/y", kits23())
    write_perfect(tmp_path / "pred/a/x", plain(samples=2))
    found = tables(report_of(tmp_path))
    assert {name: dict(frame.schema) for name, frame in found.items()} == {name: SCHEMAS[name] for name in found}
    assert {name: frame.height for name, frame in found.items() if name != "deductions"} == {
        "datasets": 2, "samples": 4, "groups": 6, "attribution": 5, "thresholds": 9,
    }  # fmt: skip


def test_equal_input_gives_equal_bytes_wherever_it_lies_and_in_whatever_order_it_was_written(tmp_path: Path) -> None:
    truth = plain(samples=12)
    records = records_of(truth)
    records["5"]["record"]["dataset_name"] = "another"
    texts = []
    for place, names in (("here", list(records)), ("there", list(reversed(records)))):
        write_truth(tmp_path / place / "gt/d", truth)
        write_output(tmp_path / place / "pred/d", {name: records[name] for name in names}, meta_answer(truth))
        texts.append(json.dumps(payload(report_of(tmp_path / place)), allow_nan=False))
    assert texts[0] == texts[1]
    assert str(tmp_path) not in texts[0]


@pytest.mark.parametrize(
    "place",
    ["a/d/agent1_data_organization", "a/d/VLM/Model/agent1_data_organization", "d/agent1_data_organization", "d/records", "d"],
)
def test_predictions_are_found_in_every_public_layout(tmp_path: Path, place: str) -> None:
    write_truth(tmp_path / "gt/a/d", plain())
    output = write_perfect(tmp_path / "made", plain())
    (tmp_path / "pred" / place).parent.mkdir(parents=True, exist_ok=True)
    shutil.move(output, tmp_path / "pred" / place)
    assert report_of(tmp_path).macro == pytest.approx(PERFECT)


def test_a_single_dataset_may_be_named_itself(tmp_path: Path) -> None:
    file = write_truth(tmp_path / "gt/a/d", plain())
    output = write_perfect(tmp_path / "pred", plain())
    for truths in (file, file.parent, file.parent.parent):
        assert score_folder(tmp_path / "pred", truths).macro == pytest.approx(PERFECT)
        assert score_folder(output, truths).datasets[0].key == "d"


def test_the_evaluators_own_layout_keeps_predictions_below_the_ground_truth(tmp_path: Path) -> None:
    write_truth(tmp_path / "a/d", plain())
    for model in ("One", "Two"):
        write_perfect(tmp_path / "a/d/VLM" / model, plain())
    with pytest.raises(LayoutError, match="One, Two"):
        score_folder(tmp_path, tmp_path)
    assert score_folder(tmp_path, tmp_path, model="Two").macro == pytest.approx(PERFECT)
    with pytest.raises(LayoutError, match="VLM/Three/"):
        score_folder(tmp_path, tmp_path, model="Three")


def test_folders_without_ground_truths_are_refused(tmp_path: Path) -> None:
    (tmp_path / "pred").mkdir()
    (tmp_path / "gt").mkdir()
    with pytest.raises(LayoutError, match="no ground_truth"):
        report_of(tmp_path)
    with pytest.raises(LayoutError, match="there is no folder"):
        score_folder(tmp_path / "nowhere", tmp_path / "gt")
