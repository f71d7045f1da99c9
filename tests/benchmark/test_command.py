"""`medfoundry score mdsbench` as a person or a program meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestration.cli import app
from tests.benchmark.made import kits23, plain, write_perfect, write_truth


@pytest.fixture
def folders(tmp_path: Path) -> tuple[str, str]:
    write_truth(tmp_path / "gt/a/answered", plain())
    write_truth(tmp_path / "gt/a/missing", kits23())
    write_perfect(tmp_path / "pred/a/answered", plain())
    return str(tmp_path / "pred"), str(tmp_path / "gt")


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["score", "mdsbench", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_a_person_reads_tables(folders: tuple[str, str]) -> None:
    code, text, _ = run(*folders)
    assert code == 0
    for words in ("a/answered", "a/missing", "mean of all", "task: segmentation", "tau_g", "no predictions for this dataset"):
        assert words in text
    assert "1 of 2 datasets have predictions; the others count 0" in text
    assert "\x1b" not in text


def test_a_program_reads_json_of_equal_bytes(folders: tuple[str, str]) -> None:
    code, text, _ = run(*folders, "--json")
    assert code == 0
    found = json.loads(text)
    assert (found["datasets_expected"], found["datasets_answered"]) == (2, 1)
    assert set(found["macro"].values()) == {0.5}
    assert set(found["macro_answered"].values()) == {1.0}
    assert found["weighted_total"] == 0.5
    assert run(*folders, "--json")[1] == text


def test_a_score_below_the_limit_exits_with_one(folders: tuple[str, str]) -> None:
    assert run(*folders, "--fail-under", "0.5")[0] == 0
    assert run(*folders, "--fail-under", "0.51")[0] == 1


def test_what_cannot_be_scored_exits_with_two_and_says_what_to_do(folders: tuple[str, str], tmp_path: Path) -> None:
    predictions, truths = folders
    for arguments, words in (
        ((str(tmp_path / "nowhere"), truths), "name the folder of predictions"),
        ((predictions, predictions), "no ground_truth*.json"),
        ((predictions, truths, "--strict"), "--reference"),
        ((predictions, f"{truths}/a/missing"), "no predictions below"),
        ((predictions, truths, "--reference", str(tmp_path / "nowhere")), "there is no folder"),
    ):
        code, text, error = run(*arguments)
        assert (code, text) == (2, "")
        assert words in error


@pytest.mark.parametrize("below", ["", "a/one", "one", "deep/er/a/one", "deep/er/b/one"])
def test_predictions_of_one_named_ground_truth_are_found_by_the_end_of_its_path(tmp_path: Path, below: str) -> None:
    truth = write_truth(tmp_path / "gt/a/one", plain())
    output = write_perfect(tmp_path / "pred" / below, plain())
    for named in (truth, truth.parent, truth.parent.parent):
        code, text, said = run(str(tmp_path / "pred"), str(named), "--json")
        found = json.loads(text)
        assert (code, found["datasets_answered"], set(found["macro"].values())) == (0, 1, {1.0})
        assert str(output) in said


def test_of_several_folders_the_one_that_shares_most_of_the_path_is_taken(tmp_path: Path) -> None:
    truth = write_truth(tmp_path / "gt/a/one", plain())
    write_perfect(tmp_path / "pred/b/one", kits23())
    write_perfect(tmp_path / "pred/one", kits23())
    for place in ("x/a/one", "a/one"):
        output = write_perfect(tmp_path / "pred" / place, plain())
    code, text, said = run(str(tmp_path / "pred"), str(truth), "--json")
    assert (code, set(json.loads(text)["macro"].values())) == (0, {1.0})
    assert str(output) in said


def test_folders_that_fit_equally_well_are_refused_by_their_names(tmp_path: Path) -> None:
    truth = write_truth(tmp_path / "gt/a/one", plain())
    outputs = [write_perfect(tmp_path / "pred" / place, plain()) for place in ("b/one", "c/one")]
    code, text, said = run(str(tmp_path / "pred"), str(truth))
    assert (code, text) == (2, "")
    assert all(str(output) in said for output in outputs)


def test_a_linked_folder_outside_the_predictions_is_not_taken(tmp_path: Path) -> None:
    truth = write_truth(tmp_path / "gt/a/one", plain())
    write_perfect(tmp_path / "elsewhere/one", plain())
    (tmp_path / "pred/x").mkdir(parents=True)
    (tmp_path / "pred/x/one").symlink_to(tmp_path / "elsewhere/one")
    assert run(str(tmp_path / "pred"), str(truth))[0] == 2


def test_without_any_predictions_it_says_where_those_of_every_dataset_were_looked_for(tmp_path: Path) -> None:
    for key in ("a/one", "b/two"):
        write_truth(tmp_path / "gt" / key, plain())
    pred = tmp_path / "pred"
    write_perfect(pred / "a" / "three", plain())
    for options in ((), ("--json",), ("--fail-under", "0.5")):
        code, text, said = run(str(pred), str(tmp_path / "gt"), *options)
        assert (code, text) == (2, "")
        assert f"a/one: {pred / 'a/one'}, {pred / 'datasets/a/one'}, {pred / 'one'}\n" in said
        assert f"b/two: {pred / 'b/two'}, " in said
        assert "agent1_data_organization" in said


def test_the_stricter_score_uses_the_reference_beside_the_ground_truth(folders: tuple[str, str], tmp_path: Path) -> None:
    write_perfect(tmp_path / "gt/a/answered", plain())
    code, text, _ = run(*folders, "--strict", "--json")
    assert code == 0
    (row,) = json.loads(text)["strict"]
    assert (row["dataset"], row["score"], row["boxes"]) == ("a/answered", 1.0, None)
    assert "stricter score" in run(*folders, "--strict")[1]


def test_every_deduction_can_be_listed_and_is_no_markup(folders: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "pred/a/answered/agent1_data_organization/standardized_annotations/0.json"
    record = json.loads(path.read_text())
    record["record"]["dataset_name"] = "[red]x[/red]"
    path.write_text(json.dumps(record))
    code, text, _ = run(*folders, "--deductions")
    assert code == 0
    assert "[red]x[/red]" in text
    assert "expected_record.dataset_name" in text
