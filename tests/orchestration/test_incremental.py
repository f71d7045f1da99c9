from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.dataset import survey
from resources.findings import Code
from tests.data_makers import kits23
from tests.orchestration.conftest import SHAPE
from tests.orchestration.world import World, altered, catalog_spec, changed, computed, copied, failed_checks, reasons

STEPS = ("volumes", "boxes", "mask_sizes", "lesion_sizes")
CASES = [f"case_0000{n}" for n in range(4)]


def touched_steps(paths: set[str]) -> set[str]:
    """The per-subject steps whose files are among `paths`."""
    return {p.split("/")[0] for p in paths if "/" in p} - {"manifest", "previews", "records"}


def of_subject(paths: set[str]) -> set[str]:
    return {case for case in CASES for path in paths if case in path}


def test_a_second_run_changes_no_file_and_computes_nothing(world: World) -> None:
    before = world.files()
    result = world.run()
    assert result.success
    assert computed(result) == dict.fromkeys(STEPS, 0)
    assert world.files() == before


def test_subjects_that_a_new_event_log_does_not_know_are_logged_again_once(world: World) -> None:
    assert all(world.logged(step) == set() for step in STEPS)
    first = world.run()
    assert all(world.logged(step) == set(CASES) for step in STEPS)
    assert world.partitions() == CASES
    events = [e for e in first.get_asset_materialization_events() if e.partition]
    assert all(e.step_materialization_data.materialization.metadata["unchanged"].value is True for e in events)
    assert len(events) == len(STEPS) * len(CASES)
    assert not [e for e in world.run().get_asset_materialization_events() if e.partition]


def test_a_touched_file_recomputes_nothing_and_is_hashed_once(world: World) -> None:
    before = world.files()
    image = world.subjects / "case_00001" / "imaging.nii.gz"
    os.utime(image, ns=(1, image.stat().st_mtime_ns + 1_000_000_007))
    result = world.run()
    assert computed(result) == dict.fromkeys(STEPS, 0)
    after = world.files()
    assert not touched_steps(changed(before, after))
    hashed = world.dataset.store.read_table("raw").filter(path="dataset/case_00001/imaging.nii.gz")["sha256"]
    assert hashed.to_list() != [None]
    assert world.run().success
    assert world.files() == after


def test_a_changed_mask_recomputes_its_subject_and_the_tables_alone(world: World) -> None:
    before = world.files()
    world.rewrite_mask("case_00001")
    (plan,) = survey(world.dataset).stale
    assert plan.subject == "case_00001"
    assert "segmentation.nii.gz changed" in plan.stale["volumes"]
    result = world.run()
    assert computed(result) == dict.fromkeys(STEPS, 1)
    after = world.files()
    differing = changed(before, after)
    assert of_subject(differing) == {"case_00001"}
    tables = {f"{name}.parquet" for name in (*STEPS, "raw", "findings", "ledger", "splits")}
    of_dataset = {p for p in differing if "case_" not in p}
    assert {p for p in of_dataset if not p.startswith("records/")} <= tables | {"dataset.json"}
    assert {p for p in of_dataset if before[p][1] != after[p][1]} & {f"records/images/{n}.png" for n in (0, 2, 3)} == set()
    assert world.run().success
    assert world.files() == after


def test_a_changed_mask_of_the_same_size_and_an_older_time_is_noticed(world: World) -> None:
    mask = world.subjects / "case_00002" / "segmentation.nii.gz"
    status, content = mask.stat(), mask.read_bytes()
    mask.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    os.utime(mask, ns=(status.st_atime_ns, status.st_mtime_ns - 3_000_000_000))
    assert [plan.subject for plan in survey(world.dataset).stale] == ["case_00002"]


def test_a_new_folder_becomes_a_partition_and_leaves_the_others_alone(world: World) -> None:
    world.run()
    before = world.files()
    kits23(world.root / "raw" / "kits23", 1, first=4, shape=SHAPE)
    assert computed(world.run()) == dict.fromkeys(STEPS, 1)
    assert world.partitions() == [*CASES, "case_00004"]
    assert all("case_00004" in world.logged(step) for step in STEPS)
    assert not of_subject(changed(before, world.files()))
    assert world.states() == dict.fromkeys([*CASES, "case_00004"], "used")


def test_a_removed_folder_withdraws_its_subject(world: World) -> None:
    world.run()
    shutil.rmtree(world.subjects / "case_00002")
    before = world.files()
    result = world.run()
    assert result.success
    assert computed(result) == dict.fromkeys(STEPS, 0)
    left = [case for case in CASES if case != "case_00002"]
    assert of_subject(set(world.files())) == set(left)
    assert of_subject(changed(before, world.files())) == {"case_00002"}
    assert world.partitions() == left
    assert list(world.states()) == left
    assert world.dataset.store.read_table("splits")["subject"].to_list() == left
    listed = world.dataset.store.read_table("findings").filter(code="listed-but-absent")["detail"].to_list()
    assert len(listed) == 1
    assert "case_00002" in listed[0]


@pytest.mark.slow
def test_a_folder_that_comes_back_is_computed_and_logged_again(world: World, tmp_path: Path) -> None:
    world.run()
    before = world.files()
    shutil.move(world.subjects / "case_00002", tmp_path / "aside")
    world.run()
    shutil.move(tmp_path / "aside", world.subjects / "case_00002")
    assert computed(world.run()) == dict.fromkeys(STEPS, 1)
    assert world.partitions() == CASES
    now = world.files()
    products = [p for p in before if "case_00002" in p]
    assert [now[p][1] for p in products] == [before[p][1] for p in products]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fields", "steps", "tables"),
    [
        ({"labels": {3: {"name": "renal cyst"}}}, {"boxes", "mask_sizes", "lesion_sizes"}, True),
        ({"lesions": (2, 3)}, {"lesion_sizes"}, True),
        ({"expect": {"intensity": (-5000, 32767)}}, set(STEPS), True),
        ({"expect": {"spacing_mm": (0.05, 20.0)}}, set(STEPS), True),
        ({"expect": {"quarantined_share": 0.5}}, set(), True),
        ({"split": {"seed": 7}}, set(), True),
        ({"licence": "CC0-1.0"}, set(), True),  # the records tell it
        ({"citation": "x", "version": "9"}, set(), False),
        ({"people": {"overlaps": ()}}, set(), False),
    ],
    ids=["label name", "lesions", "intensity", "spacing", "quarantined share", "seed", "licence", "prose", "overlaps"],
)
def test_a_changed_field_recomputes_what_depends_on_it_and_nothing_else(
    built_four: World, tmp_path: Path, fields: dict[str, Any], steps: set[str], *, tables: bool
) -> None:
    with copied(built_four, tmp_path / "data", altered(catalog_spec(), **fields)) as world:
        before = world.files()
        result = world.run()
        assert result.success
        assert {step for step, n in computed(result).items() if n} == steps
        differing = changed(before, world.files())
        assert touched_steps(differing) == steps
        assert ("dataset.json" in differing) == tables
        after = world.files()
        world.run()
        assert world.files() == after


def test_the_reason_of_a_recomputation_names_the_field_and_both_values(built_four: World, tmp_path: Path) -> None:
    with copied(built_four, tmp_path / "data", altered(catalog_spec(), lesions=(2, 3))) as world:
        plan = survey(world.dataset).stale[0]
        assert plan.stale == {"lesion_sizes": "the spec changed: lesions: [2] -> [2, 3]"}


def test_a_missing_product_file_is_made_again(world: World) -> None:
    before = world.files()
    root = world.dataset.store.root
    (root / "boxes" / "case_00000.parquet").unlink()
    (root / "raw.parquet").unlink()
    (root / "ledger.parquet").unlink()
    result = world.run()
    assert result.success, reasons(result)
    assert computed(result) == dict.fromkeys(STEPS, 0) | {"boxes": 1}
    assert {n: content for n, (_, content) in world.files().items()} == {n: content for n, (_, content) in before.items()}


def test_a_damaged_raw_table_is_made_again(world: World) -> None:
    before = world.files()
    (world.dataset.store.root / "raw.parquet").write_bytes(b"PAR1")
    result = world.run()
    assert result.success, reasons(result)
    assert world.files()["raw.parquet"][1] == before["raw.parquet"][1]


def test_what_an_interrupted_run_left_is_removed_by_the_next(world: World) -> None:
    before, root = world.files(), world.dataset.store.root
    (root / "manifest" / ".case_00000.json.4194303.tmp").write_bytes(b"{")
    (root / "boxes" / "case_00077.parquet").write_bytes(b"PAR1")
    (root / ".staging" / "tmp_of_the_dead").mkdir()
    assert world.run().success
    assert world.files() == before
    assert not [p for p in (root / ".staging").iterdir() if p.is_dir()]


def test_one_bad_file_is_quarantined_with_its_reason_and_its_siblings_land(world: World) -> None:
    world.truncate_image("case_00001")
    result = world.run()
    assert result.success, reasons(result)
    assert world.states() == dict.fromkeys(CASES, "used") | {"case_00001": "quarantined"}
    ledger = world.dataset.store.read_table("ledger").filter(subject="case_00001")
    assert set(ledger["state"]) == {"quarantined"}
    assert set(ledger["code"]) == {"truncated"}
    assert ledger["name"].to_list() == [
        "case_00001",
        "dataset/case_00001/imaging.nii.gz",
        "dataset/case_00001/segmentation.nii.gz",
    ]
    assert all("dataset/case_00001/imaging.nii.gz" in reason for reason in ledger["reason"])
    assert world.dataset.store.read_table("splits")["subject"].to_list() == ["case_00000", "case_00002", "case_00003"]


def test_a_bad_subject_has_a_failed_check_with_code_file_and_reason_in_its_partition(world: World) -> None:
    world.truncate_image("case_00001")
    found = failed_checks(world.run())
    assert {(e.asset_key.path[-1], e.partition, e.check_name) for e in found} == {(s, "case_00001", "suite") for s in STEPS}
    for evaluation in found:
        assert evaluation.severity is dg.AssetCheckSeverity.ERROR
        listed = evaluation.metadata["findings"]
        assert isinstance(listed, dg.TableMetadataValue)
        (row,) = listed.records
        assert row.data["code"] == "truncated"
        assert row.data["file"] == "dataset/case_00001/imaging.nii.gz"
        assert row.data["detail"]
        newest = world.instance.fetch_materializations(evaluation.asset_key, limit=1).records[0]
        assert evaluation.target_materialization_data is not None
        assert evaluation.target_materialization_data.storage_id == newest.storage_id


def test_a_keyed_run_over_a_bad_subject_fails_with_the_reason(world: World) -> None:
    world.truncate_image("case_00001")
    world.register(*CASES)
    result = world.run(*STEPS, partition="case_00001")
    assert not result.success
    assert "1 of 1 subjects are quarantined" in reasons(result)
    assert "[truncated] dataset/case_00001/imaging.nii.gz" in reasons(result)
    assert {e.partition for e in failed_checks(result)} == {"case_00001"}


def test_a_subject_that_turns_bad_loses_its_old_products_and_fixing_it_brings_them_back(world: World) -> None:
    before = world.files()
    image = world.subjects / "case_00001" / "imaging.nii.gz"
    content = image.read_bytes()
    world.truncate_image("case_00001")
    assert world.run().success
    assert {p for p in world.files() if "case_00001" in p} == {"manifest/case_00001.json"}
    for step in STEPS:
        assert "case_00001" not in set(world.dataset.store.read_table(step)["subject"])
    bad = world.files()
    assert computed(world.run()) == dict.fromkeys(STEPS, 0)
    assert world.files() == bad
    image.write_bytes(content)
    assert computed(world.run()) == dict.fromkeys(STEPS, 1)
    now = world.files()
    products = [p for p in before if "case_00001" in p and not p.startswith("manifest")]
    assert [now[p][1] for p in products] == [before[p][1] for p in products]
    assert world.states() == dict.fromkeys(CASES, "used")


def test_the_gate_of_the_dataset_blocks_the_splits_and_they_refuse_alone(raw_four: Path, tmp_path: Path) -> None:
    strict = altered(catalog_spec(), expect={"quarantined_share": 0.0})
    with dg.DagsterInstance.ephemeral() as log, copied(World(raw_four, strict, log), tmp_path / "data") as world:
        world.truncate_image("case_00001")
        result = world.run()
        assert not result.success
        assert "splits.parquet" not in world.files()
        assert world.instance.get_latest_materialization_event(world.key("splits")) is None
        assert world.states()["case_00001"] == "quarantined"
        alone = world.run("splits")
        assert not alone.success
        assert "the gate of kits23 is closed" in reasons(alone)
        assert "no more than 0% of the subjects are quarantined" in reasons(alone)


def test_splits_alone_refuse_tables_that_are_out_of_date(world: World) -> None:
    world.run()
    world.rewrite_mask("case_00000")
    world.run("volumes")
    alone = world.run("splits")
    assert not alone.success
    assert "materialize kits23/index first" in reasons(alone)


def test_without_raw_data_the_run_says_what_to_download_and_that_there_is_a_demo(tmp_path: Path) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        result = World(tmp_path, catalog_spec(), instance).run()
        assert not result.success
        for text in ("neheller/KiTS-Challenge-Imaging", str(tmp_path / "raw" / "kits23"), "make demo", "CC-BY-NC-SA-4.0"):
            assert text in reasons(result)


def test_nothing_is_withdrawn_while_a_folder_cannot_be_listed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden, listed = world.subjects / "case_00002", os.scandir

    def refuse(path: str) -> Any:
        if Path(path) == hidden:
            raise PermissionError(13, "Permission denied", path)
        return listed(path)

    before = world.files()
    monkeypatch.setattr(os, "scandir", refuse)
    found = survey(world.dataset)
    assert "case_00002" not in found.plans
    assert found.vanished == ()
    world.run()
    assert {p for p in before if "case_00002" in p} <= set(world.files())


@pytest.mark.parametrize("lost", ["case_00002", "case_00002/imaging.nii.gz"])
def test_a_link_to_a_disk_that_is_gone_withdraws_nobody_and_is_made_good_when_it_is_back(world: World, lost: str) -> None:
    before, path, disk = world.files(), world.subjects / lost, world.root / "disk"
    path.rename(disk)
    path.symlink_to(disk)
    world.run()
    away = disk.rename(world.root / "elsewhere")
    found = survey(world.dataset)
    assert found.vanished == ()
    result = world.run()
    manifest = world.dataset.store.manifest("case_00002")
    assert manifest is not None
    if lost == "case_00002":
        assert not result.success
        assert (Code.UNREADABLE, "dataset/case_00002") in [(f.code, f.file) for f in found.tree.findings]
        assert {p for p in before if lost in p} <= set(world.files())
    else:
        assert [f.code for f in manifest.findings] == [Code.UNREADABLE]
    assert {p for p in before if "case_00001" in p} <= set(world.files())
    assert "case_00002" in world.partitions()
    assert world.dataset.store.read_table("raw").height == len(found.tree.files)
    away.rename(disk)
    assert world.run().success
    assert set(world.files()) == set(before)


def test_a_subject_whose_folder_is_gone_is_withdrawn_once_nothing_is_hidden(world: World) -> None:
    shutil.rmtree(world.subjects / "case_00002")
    link = world.subjects / "case_00009"
    link.symlink_to("/mnt/usbdisk/case_00009")
    assert survey(world.dataset).vanished == ()
    link.unlink()
    assert survey(world.dataset).vanished == ("case_00002",)


@pytest.mark.parametrize(
    ("fields", "steps"),
    [
        ({"labels": {3: {"name": "renal cyst"}}}, set(STEPS) - {"volumes"}),
        ({"lesions": (2, 3)}, {"lesion_sizes"}),
        ({"expect": {"intensity": (-5000, 32767)}}, set(STEPS)),
        ({"licence": "CC0-1.0"}, set()),
    ],
)
def test_a_changed_field_makes_stale_what_depends_on_it(world: World, fields: dict[str, Any], steps: set[str]) -> None:
    other = World(world.root, altered(catalog_spec(), **fields), world.instance)
    plans = survey(other.dataset).plans
    assert {subject: set(plan.steps) for subject, plan in plans.items()} == dict.fromkeys(CASES, steps)


def test_splits_of_an_earlier_index_are_gone_when_the_gate_closes(raw_four: Path, tmp_path: Path) -> None:
    strict = altered(catalog_spec(), expect={"quarantined_share": 0.0})
    with dg.DagsterInstance.ephemeral() as log, copied(World(raw_four, strict, log), tmp_path / "data") as world:
        assert world.run().success
        assert "splits.parquet" in world.files()
        world.truncate_image("case_00001")
        assert not world.run().success
        assert "splits.parquet" not in world.files()


def test_a_table_that_the_spec_does_not_ask_for_any_more_goes(world: World) -> None:
    assert "lesion_sizes" in world.dataset.store.dataset_record().tables
    without = World(world.root, altered(world.spec, lesions=[], expect={}), world.instance)
    assert without.run().success
    assert "lesion_sizes" not in without.dataset.store.dataset_record().tables
    assert not (without.dataset.store.root / "lesion_sizes.parquet").exists()
    before = without.files()
    assert without.run().success
    assert without.files() == before
