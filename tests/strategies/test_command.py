"""`medfoundry standardize`: exit codes, where it writes and where it does not, and that a planted key turns up nowhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from assets.benchmark.mdsbench import score_folder
from assets.spec import DatasetSpec
from assets.strategies.validator import WEIGHTS
from orchestration.cli import app
from tests.benchmark.made import write_truth
from tests.strategies.fake_model import KEY, Script, completion, fake_model, raw, says, status
from tests.strategies.folders import class_folders, volumes
from tests.strategies.test_strategies import DRAFT
from tests.strategies.truths import class_folders_truth


def command(*words: object, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(app, ["standardize", *map(str, words)], env=env)


def files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_a_folder_becomes_records_with_a_report_and_the_spec_they_were_made_by(tmp_path: Path) -> None:
    root = class_folders(tmp_path / "raw" / "Some_Set")
    before = files(root)
    done = command(root, tmp_path / "out", "--strategy", "s2")
    assert done.exit_code == 0, done.output
    assert "Some_Set, strategy S2: 6 of 6 targets have a record" in done.stdout
    assert "validator: 1.0000" in done.stdout
    assert all(f"{item:<16} {weight:.2f} x 1.0000" in done.stdout for item, weight in WEIGHTS.items())
    assert files(root) == before
    assert {path.split("/")[0] for path in files(tmp_path / "out")} == {
        "images", "standardized_annotations", "data_meta.json", "report.json", "report.txt", "spec.yaml",
    }  # fmt: skip
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "raw"]
    assert (tmp_path / "out/report.txt").read_text(encoding="utf-8") == done.stdout
    spec = DatasetSpec.model_validate(yaml.safe_load((tmp_path / "out/spec.yaml").read_text(encoding="utf-8")))
    assert spec.classes is not None
    assert spec.classes.names == ("benign", "malignant")
    write_truth(tmp_path / "truth", class_folders_truth("Some_Set"))
    (dataset,) = score_folder(tmp_path / "out", tmp_path / "truth").datasets
    assert dataset.metrics["E2E"] == 1


def test_programs_get_json(tmp_path: Path) -> None:
    done = command(class_folders(tmp_path / "set"), tmp_path / "out", "--strategy", "s4", "--json")
    report = json.loads(done.stdout)
    assert (report["strategy"], report["chosen"]["complete"], report["chosen"]["validator"]["total"]) == ("s4", True, 1.0)
    assert report == json.loads((tmp_path / "out/report.json").read_text(encoding="utf-8"))
    assert str(tmp_path) not in done.stdout


def test_nothing_is_written_over(tmp_path: Path) -> None:
    root = class_folders(tmp_path / "set")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    before = files(tmp_path)
    for out in ("full", "file", "link", "set", "set/out", "."):
        done = command(root, tmp_path / out)
        assert done.exit_code == 2, out
        assert done.stdout == ""
    assert files(tmp_path) == before


def test_an_empty_folder_may_be_there(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert command(class_folders(tmp_path / "set"), tmp_path / "out", "--strategy", "s0").exit_code == 0
    assert (tmp_path / "out/data_meta.json").is_file()


def test_records_that_are_missing_make_the_exit_code_one(tmp_path: Path) -> None:
    root = volumes(tmp_path / "set")
    (root / "imagesTr/ct_002.nii.gz").write_bytes((root / "imagesTr/ct_002.nii.gz").read_bytes()[:-20])
    done = command(root, tmp_path / "out")
    assert done.exit_code == 1
    assert "3 of 4 targets have a record" in done.stdout
    assert "ct_002.nii.gz" in done.stdout
    assert not (tmp_path / "out/images/1.png").exists()


@pytest.mark.parametrize("held", ["no folder", "nothing", "a text"])
def test_what_is_no_dataset_is_refused_and_leaves_nothing_behind(tmp_path: Path, held: str) -> None:
    if held != "no folder":
        (tmp_path / "set").mkdir()
    if held == "a text":
        (tmp_path / "set/a.txt").write_text("x")
    done = command(tmp_path / "set", tmp_path / "out")
    assert done.exit_code == 2
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name != "set"] == []


@pytest.mark.parametrize(
    "script",
    [
        says(f"```yaml\n{yaml.safe_dump({**DRAFT, 'description': f'my key is {KEY}'})}```"),
        raw(completion(yaml.safe_dump({**DRAFT, "description": "k"})).replace(b": k", b": " + KEY.encode())),
        says(f'{{"layout": {{}}, "name": "{"".join(f"{chr(92)}u{ord(c):04x}" for c in KEY)}"}}'),
        says(f"layout: [unclosed {KEY}"),
        says(yaml.safe_dump({**DRAFT, KEY: "x", "task": KEY})),
        says(yaml.safe_dump({**DRAFT, "layout": {**DRAFT["layout"], "series": {"ct": f"{KEY}/../{{subject}}"}}})),
        raw(b"<html>" + KEY.encode(), "text/html"),
        status(401, KEY.encode()),
        status(302, KEY.encode(), Location=f"https://{KEY}.example/"),
    ],
)
def test_a_planted_key_turns_up_in_no_output_and_no_file(
    tmp_path: Path, script: Script, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    root = volumes(tmp_path / "set")
    with fake_model(script) as server:
        env = {"MEDFOUNDRY_MODEL_URL": server.url, "MEDFOUNDRY_MODEL_NAME": "m", "MEDFOUNDRY_MODEL_KEY": KEY}
        done = command(root, tmp_path / "out", "--strategy", "s1", env=env)
        assert server.asked[0].headers["Authorization"] == f"Bearer {KEY}"
    assert done.exit_code == 0, done.output
    assert KEY not in done.stdout + done.stderr + caplog.text
    assert [name for name, content in files(tmp_path).items() if KEY.encode() in content or KEY in name] == []


def test_a_key_without_an_address_is_used_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("something was contacted")

    monkeypatch.setattr("socket.socket.connect", refuse)
    done = command(
        class_folders(tmp_path / "set"), tmp_path / "out", env={"MEDFOUNDRY_MODEL_KEY": KEY, "MEDFOUNDRY_MODEL_URL": ""}
    )
    assert done.exit_code == 0


def test_an_address_that_cannot_be_used_is_told_before_anything_is_done(tmp_path: Path) -> None:
    root = class_folders(tmp_path / "set")
    done = command(
        root, tmp_path / "out", "--model-url", "http://example.org/v1", "--model-name", "m", env={"MEDFOUNDRY_MODEL_KEY": KEY}
    )
    assert done.exit_code == 2
    assert "in the clear" in done.stderr
    assert KEY not in done.stderr
    assert not (tmp_path / "out").exists()
