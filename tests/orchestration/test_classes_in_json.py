"""A class under a key of JSON through the chain: a changed file makes the tables anew, and no volume."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.index import index_key
from assets.spec import DatasetSpec
from tests.assets.test_told import spec
from tests.inspect.folders import picture
from tests.orchestration.world import World, computed, reasons

KINDS = {"p1": "benign", "p2": "malignant", "p3": "benign"}
Write = Callable[[Path, dict[str, str]], None]


def beside(root: Path, kinds: dict[str, str]) -> None:
    for subject, kind in kinds.items():
        path = root / f"{subject}/info.json"
        text = json.dumps({"age": 50, "found": {"diagnosis": kind}})
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def in_one(root: Path, kinds: dict[str, str]) -> None:
    (root / "labels.json").write_text(json.dumps({subject: {"label": kind} for subject, kind in kinds.items()}))


@pytest.fixture(params=["beside", "in one"])
def told(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[World, Write]]:
    how: dict[str, Any] = {"lines": {"file": "{subject}/info.json", "key": "found.diagnosis"}}
    write: Write = beside
    if request.param == "in one":
        how, write = {"table": {"file": "labels.json", "each": "{}", "value": "label"}}, in_one
    layout = {"subject": r"p\d", "series": {"photo": "{subject}/image.png"}}
    by: DatasetSpec = spec(layout, classes={"names": ["benign", "malignant"], **how})
    for subject in KINDS:
        picture(tmp_path / f"raw/toy/{subject}/image.png", seed=int(subject[1]))
    write(tmp_path / "raw/toy", KINDS)
    with dg.DagsterInstance.ephemeral() as log:
        yield World(tmp_path, by, log), write


def classes(world: World) -> dict[str, str]:
    return dict(world.dataset.store.read_table("classes").select("subject", "class").iter_rows())


def test_a_changed_file_makes_its_class_anew(told: tuple[World, Write]) -> None:
    world, write = told
    first = world.run()
    assert first.success, reasons(first)
    assert classes(world) == KINDS
    key, before = index_key(world.dataset), world.files()
    assert world.run().success
    assert (index_key(world.dataset), world.files()) == (key, before)
    write(world.root / "raw/toy", {**KINDS, "p3": "malignant"})
    again = world.run()
    assert again.success, reasons(again)
    assert classes(world) == {**KINDS, "p3": "malignant"}
    assert computed(again)["volumes"] == 0
    assert index_key(world.dataset) != key


def test_a_file_that_is_damaged_is_in_the_findings(told: tuple[World, Write]) -> None:
    world, _ = told
    assert world.run().success
    path = next(p for p in sorted((world.root / "raw/toy").rglob("*.json")))
    path.write_text(path.read_text()[:-3])
    world.run()
    findings = world.dataset.store.read_table("findings").filter(code="class-unknown")
    told_by = path.relative_to(world.root / "raw/toy").as_posix()
    assert told_by in findings["file"].to_list()
    assert any("JSON" in detail for detail in findings["detail"].to_list())
    assert classes(world) == ({} if path.name == "labels.json" else {"p2": "malignant", "p3": "benign"})
