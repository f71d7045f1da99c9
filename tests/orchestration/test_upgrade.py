"""A data root that an older version built, or whose records are damaged: nothing of it is mixed, lost in silence, or left."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from assets.dataset import survey
from assets.incremental import UNREADABLE
from orchestration.status import status, why, why_dataset
from resources.manifest import sealed, unsealed
from tests.orchestration.world import World

CASES = [f"case_0000{n}" for n in range(4)]


def older(path: Path, content: dict[str, Any]) -> None:
    """Another version's record: sealed as ours, with other contents."""
    path.write_bytes(sealed(json.loads(unsealed(path.read_bytes())) | content))


@pytest.fixture
def old(world: World) -> World:
    """Everything recorded is of another version."""
    for path in (world.dataset.store.root / "manifest").glob("*.json"):
        older(path, {"schema_version": 1})
    older(world.dataset.store.root / "dataset.json", {"tables": {"index": {"rows": 1, "size": 1, "sha256": ""}}})
    return world


def test_an_older_root_is_said_to_be_one(old: World) -> None:
    assert {entry["subject"]: set(entry["stale"].values()) for entry in why(survey(old.dataset))} == {
        subject: {UNREADABLE} for subject in CASES
    }
    assert set(why_dataset(old.dataset)[0]["stale"].values()) == {UNREADABLE}
    assert status(old.dataset)["subjects"]["unreadable"] == len(CASES)


def test_an_older_root_is_made_anew_once(old: World, built_four: World) -> None:
    assert old.run().success
    made = old.files()
    assert {name: content for name, (_, content) in made.items()} == {
        name: content for name, (_, content) in built_four.files().items()
    }
    assert list(old.dataset.store.verify()) == []
    assert old.run().success
    assert old.files() == made


def test_tables_of_an_older_root_stay_until_others_take_their_place(old: World) -> None:
    before = old.files()
    old.register(*CASES)
    assert old.dataset.store.clean() == []
    assert old.run("volumes", "boxes", "mask_sizes", "lesion_sizes", partition=CASES[0]).success
    assert old.dataset.store.clean() == []
    assert set(old.files()) == set(before)


def test_a_subject_of_an_older_root_whose_raw_files_are_gone_is_withdrawn(old: World) -> None:
    shutil.rmtree(old.subjects / CASES[1])
    assert survey(old.dataset).vanished == (CASES[1],)
    assert old.run().success
    assert not [path for path in old.files() if CASES[1] in path]
    assert list(old.dataset.store.verify()) == []
    assert old.dataset.store.clean() == []


def test_a_subject_of_an_older_root_that_has_turned_bad_keeps_nothing_but_its_reason(old: World) -> None:
    old.truncate_image(CASES[1])
    old.run()
    assert [path for path in old.files() if CASES[1] in path] == [f"manifest/{CASES[1]}.json"]
    assert list(old.dataset.store.verify()) == []
