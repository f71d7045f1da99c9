"""The benchmark of records on miniatures: its ground truths are what the table says, and ask nothing that it does not say."""

from __future__ import annotations

import csv
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from assets.spec import load_catalog
from tests import data_makers

FOLDER = "second_dataset/BACH:_Breast_Cancer_Histology_images"
COLUMNS = ("name", "folder", "modality", "task", "variant_dim", "format", "pairing", "classes", "count", "read", "caveat")


def table(root: Path, classes: str, caveat: str = "", pairing: str = "subject_id = stem") -> Path:
    path = root / "datasets.csv"
    row = ("Some_Name", FOLDER, "Microscopy", "cls", "multiclass", "tif", pairing, classes, "20", "H", caveat)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([COLUMNS, row])
    return path


@pytest.fixture
def truths(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return import_module("public_truths")


def truth_of(truths: Any, root: Path, **said: str) -> Any:
    raw = root / "raw" / FOLDER
    made = data_makers.mds_bach(raw)
    return truths.TruthMaker(truths.read_rows(table(root, **said))[FOLDER], raw, made).truth()


def test_a_ground_truth_holds_what_was_made_and_what_the_table_says(truths: Any, tmp_path: Path) -> None:
    truth = truth_of(truths, tmp_path, classes="Normal; Benign; InSitu; Invasive", caveat="top-level GT name is some_folder")
    content = truth.content
    assert (content["dataset_name"], content["content"]["expected_dataset_name"]) == ("some_folder", "Some_Name")
    first = content["samples"]["0"]
    path = "data/ICIAR2018_BACH_Challenge/ICIAR2018_BACH_Challenge/Photos/Benign/b001.tif"
    assert first["expected_extra"] == {
        "source_file": path, "original_filename": "b001.tif", "subject_id": "b001",
        "label_text": "Benign", "class_name": "Benign",
    }  # fmt: skip
    assert first["expected_tasks"]["classification"] == {"schema_variant": "multiclass", "label_name": "Benign", "label": 1}
    assert truth.left_out == ()


def test_what_the_table_does_not_say_is_not_asked(truths: Any, tmp_path: Path) -> None:
    truth = truth_of(truths, tmp_path, classes="Benign=3 (…)")
    asked = [sample["expected_tasks"]["classification"] for sample in truth.content["samples"].values()]
    assert {block["label_name"]: block.get("label") for block in asked} == {
        "Benign": 3, "InSitu": None, "Invasive": None, "Normal": None,
    }  # fmt: skip
    assert truth.content["classes"] == []
    assert set(truth.left_out) == {"class index", "number of classes"}


def test_records_lose_where_they_disagree_with_the_table(truths: Any, tmp_path: Path) -> None:
    score = import_module("records_score")
    row = truths.read_rows(table(tmp_path, "Normal; Benign; InSitu; Invasive"))[FOLDER]
    line = score.line_of(load_catalog()["mds_bach"], row, drafts=False)
    assert (line.metrics["E2E"], line.metrics["SCJ"] < 1, line.drafted) == (1.0, True, {})
    assert line.metrics["MSC"] == pytest.approx(3 / 5)  # both names
    assert "met 'ICIAR2018_BACH_BreastHistology'" in score.told(line)
    assert score.markdown([line]).count("| bach |") == 2
