"""`medfoundry standardize` on folders whose classes stand under a key of JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from orchestration.cli import app
from tests.strategies.folders import write_picture

KINDS = {f"case_{n:02d}": kind for n, kind in enumerate(["nevus", "melanoma", "nevus", "bkl", "bkl", "melanoma"], start=1)}


def beside(root: Path) -> None:
    for number, (case, kind) in enumerate(KINDS.items()):
        (root / case / "info.json").write_text(json.dumps({"diagnosis": kind, "age": 50 + number}))


def in_one(root: Path) -> None:
    (root / "labels.json").write_text(json.dumps(KINDS))


def objects_in_one(root: Path) -> None:
    (root / "about.json").write_text(
        json.dumps({"v": 2, "of": {case: {"meta": {"label": kind}} for case, kind in KINDS.items()}})
    )


def standardized(root: Path, out: Path) -> tuple[int, dict[str, str]]:
    """The exit code, and case -> the class of its record."""
    done = CliRunner().invoke(app, ["standardize", str(root), str(out)])
    records: list[dict[str, Any]] = [
        json.loads(path.read_text()) for path in sorted((out / "standardized_annotations").iterdir())
    ]
    extras = [record["context"]["sample"]["extra"] for record in records]
    return done.exit_code, {extra["sample_dir"]: extra.get("class_name", "") for extra in extras}


@pytest.mark.parametrize("write", [beside, in_one, objects_in_one])
def test_every_record_has_the_class_that_json_tells(write: Any, tmp_path: Path) -> None:
    for number, case in enumerate(KINDS):
        write_picture(tmp_path / f"set/{case}/image.png", number)
    write(tmp_path / "set")
    assert standardized(tmp_path / "set", tmp_path / "out") == (0, KINDS)


@pytest.mark.parametrize("text", ["{", "[" * 50_000, '{"diagnosis": ["nevus"]}', '{"diagnosis": NaN}'])
def test_one_damaged_file_costs_one_record_its_class(text: str, tmp_path: Path) -> None:
    more = KINDS | {f"case_{number:02d}": ("nevus", "bkl")[number % 2] for number in range(7, 19)}
    for number, (case, kind) in enumerate(more.items()):
        write_picture(tmp_path / f"set/{case}/image.png", number)
        (tmp_path / f"set/{case}/info.json").write_text(json.dumps({"diagnosis": kind}))
    (tmp_path / "set/case_03/info.json").write_text(text)
    _, told = standardized(tmp_path / "set", tmp_path / "out")
    assert {case: kind for case, kind in told.items() if kind} == {c: k for c, k in more.items() if c != "case_03"}
