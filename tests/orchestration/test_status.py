"""What `medfoundry status` and `why` say of findings and of splits, on the chain's own products."""

from __future__ import annotations

import gzip
import shutil
from dataclasses import replace

from assets.index import make_splits
from orchestration.status import status, status_lines, why_dataset
from tests.orchestration.world import World, altered, failed_checks


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
