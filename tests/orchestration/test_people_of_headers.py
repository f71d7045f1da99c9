"""A draft whose people stand in headers alone, through the whole chain: nobody is in two splits."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import dagster as dg

from assets.inspect import inspect_folder
from assets.inspect.draft import as_spec
from resources.layout import Layout
from tests.inspect.folders import instance
from tests.orchestration.world import World


def test_slices_of_a_patient_are_in_one_split(tmp_path: Path) -> None:
    raw = Layout(tmp_path).raw("draft")
    whose = {f"{n * 2654435761 % 2**32:08d}": f"X{n % 5}" for n in range(20)}
    for number, (name, patient) in enumerate(whose.items(), start=1):
        instance(raw / f"{name}.dcm", patient, number, study=name)
    with dg.DagsterInstance.ephemeral() as log:
        world = World(tmp_path, as_spec(inspect_folder(raw), "draft"), log)
        assert world.run().success
    groups: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for subject, group, split in world.dataset.store.read_table("splits").select("subject", "group", "split").iter_rows():
        groups[whose[subject]].add((group, split))
    assert {patient: len(found) for patient, found in groups.items()} == dict.fromkeys((f"X{n}" for n in range(5)), 1)
    assert {group for found in groups.values() for group, _ in found} == {f"X{n}" for n in range(5)}
    assert len({split for found in groups.values() for _, split in found}) == 2
