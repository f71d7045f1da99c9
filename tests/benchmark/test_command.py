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
        ((predictions, truths, "--reference", str(tmp_path / "nowhere")), "there is no folder"),
    ):
        code, text, error = run(*arguments)
        assert (code, text) == (2, "")
        assert words in error


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
