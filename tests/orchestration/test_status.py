"""What `medfoundry status` and `why` say of findings and of splits, on the chain's own products."""

from __future__ import annotations

import gzip
import shutil
from dataclasses import replace

import nibabel as nib
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from assets.index import make_splits
from orchestration.cli import app
from orchestration.status import status, status_lines, why_dataset
from tests.orchestration.world import World, altered, failed_checks, hide


def copy_case(world: World, original: str, name: str, *, anew: bool = False) -> None:
    """The same voxels under another subject's name; compressed anew if asked."""
    shutil.copytree(world.subjects / original, world.subjects / name)
    image = world.subjects / name / "imaging.nii.gz"
    if anew:
        image.write_bytes(gzip.compress(gzip.decompress(image.read_bytes()), 1))


def said(world: World) -> list[str]:
    return list(status_lines(status(world.dataset)))


def test_a_copied_subject_is_found_counted_and_kept_in_one_split(world: World) -> None:
    before = dict(make_splits(world.dataset)[0].select("subject", "split").iter_rows())
    copies = [f"case_0010{n}" for n in range(8)]
    for n, name in enumerate(copies):
        copy_case(world, "case_00001", name, anew=n > 5)
    result = world.run()
    assert result.success
    assert failed_checks(result) == []
    table = world.dataset.store.read_table("splits")
    alike = table.filter(table["subject"].is_in(["case_00001", *copies]))
    assert set(alike["group"]) == {"case_00001"}
    assert alike["split"].n_unique() == 1
    assert all("images are the same: case_00001, case_00100" in reason for reason in alike["reason"])
    others = table.filter(~table["subject"].is_in(["case_00001", *copies]))
    assert {s: before[s] for s in others["subject"]} == dict(others.select("subject", "split").iter_rows())
    found = world.dataset.store.read_table("findings").filter(code="same-image")
    assert sorted(found["subject"]) == ["case_00001", *copies]
    assert set(found["severity"]) == {"warning"}
    first = found.filter(subject="case_00001").row(0, named=True)
    assert first["file"] == "dataset/case_00001/imaging.nii.gz"
    assert "case_00100, case_00101" in first["detail"]
    assert {"code": "same-image", "severity": "warning", "findings": 9} in status(world.dataset)["finding_counts"]
    assert any(line.startswith("findings: ") and "9 same-image (warning)" in line for line in said(world))
    assert why_dataset(world.dataset) == []


def test_a_copy_saved_anew_in_another_type_is_found_and_kept_in_one_split(world: World) -> None:
    copies = {f"case_0010{n}": kind for n, kind in enumerate((np.float32, np.float64, np.int32, np.int16, np.float32, np.int32))}
    for name, kind in copies.items():
        copy_case(world, "case_00001", name)
        path = world.subjects / name / "imaging.nii.gz"
        image = nib.load(path)
        nib.save(nib.Nifti1Image(np.asarray(image.dataobj).astype(kind), image.affine), path)
    assert failed_checks(world.run()) == []
    table = world.dataset.store.read_table("splits").filter(pl.col("subject").is_in(["case_00001", *copies]))
    assert set(table["group"]) == {"case_00001"}
    assert table["split"].n_unique() == 1
    found = world.dataset.store.read_table("findings").filter(code="same-image")
    assert sorted(found["subject"]) == ["case_00001", *copies]
    assert all("shape, least, greatest and mean value" in detail and "in another type" in detail for detail in found["detail"])


def test_status_says_that_tables_still_hold_a_subject_that_was_forgotten(world: World) -> None:
    assert not any("behind" in line for line in said(world))
    assert status(world.dataset)["behind"] == {}
    world.dataset.store.withdraw("case_00001")
    assert set(status(world.dataset)["behind"]) == {"index"}
    assert any(line.startswith("tables are behind the subjects (index)") for line in said(world))
    assert failed_checks(world.run()) == []
    assert status(world.dataset)["behind"] == {}


def test_a_dataset_without_copies_has_no_such_finding(world: World) -> None:
    assert world.dataset.store.read_table("findings").filter(code="same-image").is_empty()
    assert status(world.dataset)["splits"]["refused"] is None
    (line,) = [line for line in said(world) if line.startswith("splits:")]
    assert "[split-share] test would have been empty" in line


def test_why_there_are_no_splits_is_said(world: World) -> None:
    """An official split that is followed and names a person twice; a table of people that is not there."""
    (world.dataset.raw_root / "a.txt").write_text("case_00001\n")
    twice = {"official": {"files": {"train": "a.txt", "test": "a.txt"}, "follow": True}}
    table = {"table": {"file": "people.csv", "subject": "case", "person": "who"}}
    for fields, reason in (({"split": twice}, "names case_00001 in two official splits"), ({"people": table}, "people.csv")):
        other = replace(world, spec=altered(world.spec, **fields))
        assert any(line.startswith("splits: refused: ") and reason in line for line in said(other))
        assert reason in status(other.dataset)["splits"]["refused"]
        (entry,) = why_dataset(other.dataset)
        assert reason in entry["stale"]["splits"]


def test_before_anything_is_made_nothing_is_said_of_splits_and_findings(fresh: World) -> None:
    content = status(fresh.dataset)
    assert content["splits"] == {"refused": None, "findings": []}
    assert content["finding_counts"] == []
    assert not [line for line in status_lines(content) if line.startswith(("splits:", "findings:"))]


def asked(world: World, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, str]:
    """Exit code and output of `medfoundry why kits23`."""
    monkeypatch.setenv("MEDFOUNDRY_DATA", str(world.root))
    result = CliRunner().invoke(app, ["why", "kits23", *arguments])
    return result.exit_code, result.output


def test_subjects_whose_raw_files_are_gone_are_told_until_a_run_withdraws_them(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asked(world, monkeypatch) == (0, "everything is current\n")
    assert status(world.dataset)["subjects"]["vanished"] == 0
    shutil.rmtree(world.subjects / "case_00002")
    told = "case_00002 (published)\n  raw: raw files are gone; the next run withdraws it\n"
    assert asked(world, monkeypatch) == (1, told)
    assert asked(world, monkeypatch, "case_00002") == (1, told)
    assert asked(world, monkeypatch, "case_00001") == (0, "case_00001 (published)\n  current: nothing to compute\n")
    code, output = asked(world, monkeypatch, "case_00099")
    assert (code, "has no subject 'case_00099'" in output) == (2, True)
    assert status(world.dataset)["subjects"]["vanished"] == 1
    (line,) = [line for line in said(world) if "gone" in line]
    assert line == "  raw files of 1 of them are gone; the next run withdraws them; `medfoundry why kits23` names them"
    assert world.run().success
    assert asked(world, monkeypatch) == (0, "everything is current\n")
    assert not [line for line in said(world) if "gone" in line]


def test_nobody_counts_as_gone_while_a_folder_cannot_be_listed_or_all_raw_data_are_away(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(world.subjects / "case_00002")
    with monkeypatch.context() as unlisted:
        hide(unlisted, world.subjects / "case_00003")
        assert asked(world, unlisted) == (0, "everything is current\n")
        assert status(world.dataset)["subjects"]["vanished"] == 0
    (world.root / "raw").rename(world.root / "elsewhere")
    assert status(world.dataset)["subjects"]["vanished"] == 0
