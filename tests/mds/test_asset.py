"""The asset `<slug>/records` in its chain."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path

import dagster as dg
import pytest

from assets.chain import build_chain
from assets.dataset import Dataset
from expectations.gate import GreatExpectationsGates
from orchestration.status import status, status_lines, why_dataset
from resources.layout import Layout
from tests.data_makers import kits23
from tests.mds.conftest import SHAPE
from tests.mds.made import spec_of
from tests.orchestration.world import World, altered, catalog_spec, reasons


def materialized(result: dg.ExecuteInProcessResult) -> dg.AssetMaterialization:
    (event,) = [e for e in result.get_asset_materialization_events() if e.asset_key and e.asset_key.path[-1] == "records"]
    return event.step_materialization_data.materialization


def checked(result: dg.ExecuteInProcessResult) -> dg.AssetCheckEvaluation:
    (check,) = [c for c in result.get_asset_check_evaluations() if c.asset_key.path[-1] == "records"]
    return check


def test_records_follow_the_index_and_a_second_run_makes_none(world: World) -> None:
    first = world.run()
    assert first.success, reasons(first)
    metadata = materialized(first).metadata
    assert (metadata["dagster/row_count"].value, metadata["targets"].value, metadata["unchanged"].value) == (3, 3, False)
    assert "data:image/png;base64," in str(metadata["picture"].value)
    assert (checked(first).passed, checked(first).blocking) == (True, True)
    before = world.files()
    assert {f"records/images/{n}.png" for n in range(3)} < set(before)
    second = world.run()
    assert materialized(second).metadata["unchanged"].value is True
    assert checked(second).passed
    assert world.files() == before
    assert why_dataset(world.dataset) == []


@pytest.mark.usefixtures("preview_features")
def test_without_an_mds_block_there_are_no_records(tmp_path: Path) -> None:
    spec = altered(spec_of({"subject": "s", "series": {"ct": "{subject}.nii"}}, {"classes": ["x"]}), mds=None)
    chain = build_chain(Dataset(spec, Layout(tmp_path)), GreatExpectationsGates(), by_subject=False)
    assert "records" not in {key.path[-1] for asset in chain.assets for key in asset.keys}
    content = status(Dataset(spec, Layout(tmp_path)))
    assert content["records"] is None
    assert not [line for line in status_lines(content) if line.startswith("records")]


def test_a_closed_gate_lets_no_records_through(world: World) -> None:
    strict = altered(world.spec, expect={"quarantined_share": 0.0})
    world.truncate_image("case_00001")
    closed = World(world.root, strict, world.instance)
    assert not closed.run().success
    alone = closed.run("records")
    assert not alone.success
    assert "the gate of kits23 is closed" in reasons(alone)
    assert not [name for name in closed.files() if name.startswith("records/")]


def test_records_before_their_index_are_refused(world: World) -> None:
    result = world.run("records")
    assert not result.success
    assert "kits23" in reasons(result)
    assert "first" in reasons(result)


def test_a_changed_mask_makes_the_records_anew_and_why_says_so(world: World) -> None:
    assert world.run().success
    before = world.files()
    world.rewrite_mask("case_00001")
    assert world.run("volumes", "boxes", "mask_sizes", "lesion_sizes").success
    assert any("index" in entry["stale"] for entry in why_dataset(world.dataset))
    assert world.run("index").success
    assert not [name for name in world.files() if name.startswith("records/")]
    assert "records" in why_dataset(world.dataset)[0]["stale"]
    assert world.run("records", "splits").success
    after = world.files()
    differing = {name for name in before if name.startswith("records/") and before[name][1] != after[name][1]}
    assert "records/standardized_annotations/1.json" in differing
    assert "records/standardized_annotations/0.json" not in differing


def test_records_are_the_same_whichever_way_subjects_were_made(world: World, tmp_path: Path) -> None:
    assert world.run().success
    whole = {name: content for name, (_, content) in world.files().items() if name.startswith("records/")}
    kits23(tmp_path / "other" / "raw" / "kits23", 3, shape=SHAPE)
    with dg.DagsterInstance.ephemeral() as instance:
        keyed = World(tmp_path / "other", catalog_spec(), instance)
        keyed.register("case_00000", "case_00001", "case_00002")
        steps = ("kits23", "volumes", "boxes", "mask_sizes", "lesion_sizes")
        raw = dg.AssetKey(["kits23"])
        chain = build_chain(keyed.dataset, GreatExpectationsGates(), by_subject=True)
        assert dg.materialize(list(chain.assets), selection=[raw], instance=instance).success
        for case in ("case_00002", "case_00000", "case_00001"):
            assert keyed.run(*steps[1:], partition=case).success
        assert keyed.run("index", "records").success
        assert {n: content for n, (_, content) in keyed.files().items() if n.startswith("records/")} == whole


def write_list(world: World, *names: str) -> None:
    lines = [f"{n} /x/forth_dataset/kits23/data/dataset/{name}/segmentation.nii.gz\n" for n, name in enumerate(names)]
    (world.root / "raw" / "kits23" / "random.txt").write_text("".join(lines))


def said_of_records(world: World) -> list[str]:
    lines = list(status_lines(status(world.dataset)))
    start = next(number for number, line in enumerate(lines) if line.startswith("records: "))
    return [lines[start], *takewhile(lambda line: line.startswith("  "), lines[start + 1 :])]


def test_status_says_whether_records_are_made_and_current(world: World) -> None:
    assert said_of_records(world) == ["records: not made"]
    assert world.run().success
    assert said_of_records(world) == ["records: made, 3 of 3 targets have one"]
    assert "records_attempt" not in world.dataset.store.dataset_record().keys
    write_list(world, "case_00001")
    assert said_of_records(world) == ["records: out of date, 3 of 3 targets have one"]
    (world.root / "raw" / "kits23" / "random.txt").unlink()
    (world.dataset.store.root / "records" / "images" / "0.png").unlink()
    assert said_of_records(world) == ["records: incomplete, 3 of 3 targets have one"]


def test_status_says_why_a_target_has_no_record(world: World) -> None:
    write_list(world, "case_00001", "case_09999")
    assert world.run().success
    first, finding = said_of_records(world)
    assert first == "records: made, 1 of 2 targets have one"
    assert finding.startswith("  [no-record] data/dataset/case_09999/segmentation.nii.gz: target 1 has no record: ")


def test_status_and_why_say_why_records_failed_until_they_succeed(world: World) -> None:
    write_list(world, *(f"case_09{n:03d}" for n in range(12)))
    assert not checked(world.run()).passed
    for _ in range(2):
        first, *findings, more = said_of_records(world)
        assert first == "records: not made; the last attempt failed: none of 12 targets has a record"
        assert len(findings) == 10
        assert all("[no-record]" in line and "there is no such file in the raw folder" in line for line in findings)
        assert more == "  and 2 more findings; --json lists all"
        before = world.files()
        world.run()
        assert world.files() == before
    found = status(world.dataset)["records"]
    assert (found["state"], found["records"], len(found["failed"]["findings"])) == ("not made", 0, 12)
    (entry,) = why_dataset(world.dataset)
    assert entry["stale"] == {"records": "the last attempt failed: none of 12 targets has a record"}
    write_list(world, "case_00001")
    assert "has changed since" in said_of_records(world)[0]
    assert world.run().success
    assert said_of_records(world) == ["records: made, 1 of 1 targets have one"]
    record = world.dataset.store.dataset_record()
    assert "records_attempt" not in {**record.keys, **record.facts}


def test_records_in_place_stay_beside_an_attempt_that_failed(world: World) -> None:
    assert world.run().success
    write_list(world, "case_09999")
    assert not checked(world.run("records")).passed
    first, finding = said_of_records(world)
    assert first == "records: out of date, 3 of 3 targets have one; the last attempt failed: none of 1 targets has a record"
    assert "case_09999" in finding


def test_records_that_cannot_be_made_of_damaged_products_say_so_in_status(world: World) -> None:
    assert world.run().success
    write_list(world, "case_00001")
    for path in world.dataset.store.root.rglob("zarr.json"):
        if "case_00001" in path.parts:
            path.unlink()
    assert not world.run("records").success
    (line,) = said_of_records(world)
    assert line.startswith("records: out of date, 3 of 3 targets have one; the last attempt failed: ")
    assert "zarr.json is missing" in line


def test_new_tables_of_the_dataset_forget_a_failed_attempt(world: World) -> None:
    write_list(world, "case_09999")
    world.run()
    world.rewrite_mask("case_00001")
    assert world.run("volumes", "boxes", "mask_sizes", "lesion_sizes", "index").success
    assert said_of_records(world) == ["records: not made"]
