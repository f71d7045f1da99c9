from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from assets.spec import DatasetSpec
from orchestration.cli import app


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "raw"
    for kind in ("benign", "normal"):
        for number in range(3):
            path = root / kind / f"{kind[0]}{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.arange(64, dtype=np.uint8).reshape(8, 8) * 3).save(path)
    monkeypatch.chdir(tmp_path)
    return root


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["inspect", *arguments])
    return result.exit_code, result.output


def test_a_draft_is_printed_and_nothing_written(folder: Path) -> None:
    before = sorted(folder.parent.rglob("*"))
    code, text = run(str(folder))
    assert code == 0
    assert "# evidence: classes" in text
    assert sorted(folder.parent.rglob("*")) == before


def test_a_backslash_in_a_name_is_drafted_as_a_pattern_that_a_spec_may_have(folder: Path) -> None:
    (folder / "read\\me.txt").write_text("x")
    code, text = run(str(folder))
    assert code == 0, text
    assert "read?me.txt" in text


def test_write_makes_a_spec_and_never_overwrites(folder: Path) -> None:
    assert run(str(folder), "--slug", "my_set", "--write")[0] == 0
    assert DatasetSpec.from_yaml(folder.parent / "my_set.yaml").slug == "my_set"
    code, text = run(str(folder), "--slug", "my_set", "--write")
    assert code == 2
    assert "is there already" in text


def test_json_has_the_same_draft(folder: Path) -> None:
    code, text = run(str(folder), "--json", "--slug", "abc")
    content = json.loads(text)
    assert code == 0
    assert DatasetSpec.model_validate(content["draft"]).slug == "abc"
    assert content["missing"] == ""


def test_refusals(folder: Path) -> None:
    assert run(str(folder / "absent"))[0] == 2
    assert run(str(folder), "--slug", "Not a slug")[0] == 2
    (folder.parent / "empty").mkdir()
    assert run(str(folder.parent / "empty"))[0] == 2
