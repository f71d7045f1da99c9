from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence

import dagster as dg
import pytest
from dagster._core.definitions.repository_definition import RepositoryDefinition

from assets.dataset import Dataset, Survey, survey
from assets.raw import RawDataMissingError
from orchestration.build import build_definitions
from resources.layout import Layout
from tests.data_makers import kits23
from tests.orchestration.conftest import SHAPE
from tests.orchestration.world import RANGE_END, RANGE_START, World, altered, changed, failed_checks, hide, reasons

STEPS = ("volumes", "boxes", "mask_sizes", "lesion_sizes")
CASES = [f"case_0000{n}" for n in range(4)]
Ask = Callable[[World], Sequence[dg.RunRequest]]


def refuse_to_survey(dataset: Dataset, _only: object = None) -> Survey:
    raise RawDataMissingError(f"no disk for {dataset.spec.slug}")


def published(world: World) -> list[str]:
    return sorted(world.dataset.store.manifests())


def test_one_partition_computes_and_logs_that_subject_alone(fresh: World) -> None:
    fresh.register(*CASES)
    result = fresh.run(*STEPS, partition="case_00001")
    assert result.success, reasons(result)
    assert published(fresh) == ["case_00001"]
    assert all(fresh.logged(step) == {"case_00001"} for step in STEPS)


def test_one_partition_runs_through_the_whole_chain(fresh: World) -> None:
    fresh.register(*CASES)
    result = fresh.run(partition="case_00001")
    assert result.success, reasons(result)
    assert fresh.states() == dict.fromkeys(CASES, "pending") | {"case_00001": "used"}
    assert fresh.dataset.store.read_table("splits")["subject"].to_list() == ["case_00001"]


def test_a_range_computes_and_logs_its_subjects_each_with_its_metadata(on_disk: World) -> None:
    on_disk.register(*CASES)
    result = on_disk.run(*STEPS, through=("case_00001", "case_00003"))
    assert result.success, reasons(result)
    assert published(on_disk) == CASES[1:]
    assert all(on_disk.logged(step) == set(CASES[1:]) for step in STEPS)
    keys = {}
    for event in result.get_asset_materialization_events():
        made = event.step_materialization_data.materialization
        if made.asset_key == on_disk.key("boxes"):
            keys[made.partition] = made.metadata["key"].value
    assert keys == {s: m.steps["boxes"].key for s, m in on_disk.dataset.store.manifests().items()}


def test_a_range_and_a_whole_run_make_the_same_files(fresh: World, built_four: World) -> None:
    fresh.register(*CASES)
    assert fresh.run(*STEPS, through=("case_00000", "case_00003")).success
    made, whole = fresh.files(), built_four.files()
    assert {p: made[p][1] for p in made} == {p: whole[p][1] for p in whole if "case_" in p}


def test_a_keyed_run_over_current_subjects_computes_nothing(world: World) -> None:
    world.register(*CASES)
    before = world.files()
    result = world.run(*STEPS, through=("case_00000", "case_00003"))
    assert result.success
    assert world.files() == before
    assert all(world.logged(step) == set(CASES) for step in STEPS)


def test_steps_can_be_computed_one_at_a_time(fresh: World) -> None:
    fresh.register(*CASES)
    assert fresh.run("volumes", partition="case_00000").success
    assert set(fresh.dataset.store.manifests()["case_00000"].steps) == {"volumes"}
    before = fresh.files()
    assert fresh.run("boxes", partition="case_00000").success
    assert set(fresh.dataset.store.manifests()["case_00000"].steps) == {"volumes", "boxes"}
    assert changed(before, fresh.files()) == {"boxes/case_00000.parquet", "manifest/case_00000.json"}
    assert fresh.logged("boxes") == {"case_00000"}
    assert fresh.logged("mask_sizes") == set()


@pytest.mark.slow
def test_steps_one_at_a_time_make_the_same_files_as_together(fresh: World, built_four: World) -> None:
    fresh.register(*CASES)
    for step in STEPS:
        assert fresh.run(step, partition="case_00002").success
    whole = built_four.files()
    made = fresh.files()
    assert {p: made[p][1] for p in made} == {p: whole[p][1] for p in whole if "case_00002" in p}


def test_boxes_without_volumes_fail_and_say_what_comes_first(fresh: World) -> None:
    fresh.register(*CASES)
    result = fresh.run("boxes", partition="case_00000")
    assert not result.success
    assert "materialize kits23/volumes first" in reasons(result)
    assert published(fresh) == []


def test_a_partition_without_raw_files_fails_and_is_named(fresh: World) -> None:
    fresh.register("case_00099")
    result = fresh.run("volumes", partition="case_00099")
    assert not result.success
    assert "no raw files for case_00099" in reasons(result)


def test_in_a_range_a_subject_without_raw_files_is_withdrawn_and_its_siblings_land(world: World) -> None:
    world.register(*CASES, "case_00099")
    world.rewrite_mask("case_00001")
    world.rewrite_mask("case_00003")
    shutil.rmtree(world.subjects / "case_00002")
    result = world.run(*STEPS, through=("case_00001", "case_00099"))
    assert result.success, reasons(result)
    left = ["case_00001", "case_00003"]
    assert all(world.logged(step) == set(left) for step in STEPS)
    assert published(world) == ["case_00000", *left]
    assert not [path for path in world.files() if "case_00002" in path]
    assert survey(world.dataset).stale == []


def test_in_a_range_a_bad_subject_fails_and_a_vanished_one_is_withdrawn_beside_it(world: World) -> None:
    world.register(*CASES)
    world.truncate_image("case_00001")
    shutil.rmtree(world.subjects / "case_00002")
    result = world.run(*STEPS, through=("case_00000", "case_00003"))
    assert not result.success
    assert "1 of 3 subjects are quarantined" in reasons(result)
    assert all(world.logged(step) == {"case_00000", "case_00003"} for step in STEPS)
    assert published(world) == ["case_00000", "case_00001", "case_00003"]


def test_a_partition_whose_raw_files_are_gone_fails_alone_and_keeps_its_products(world: World) -> None:
    world.register(*CASES)
    shutil.rmtree(world.subjects / "case_00002")
    before = world.files()
    result = world.run(*STEPS, partition="case_00002")
    assert not result.success
    assert "no raw files for case_00002" in reasons(result)
    assert world.files() == before


def test_in_a_range_a_subject_that_cannot_be_listed_is_left_as_it_is(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.register(*CASES)
    world.rewrite_mask("case_00001")
    hide(monkeypatch, world.subjects / "case_00002")
    before = world.files()
    result = world.run(*STEPS, through=("case_00001", "case_00003"))
    assert result.success, reasons(result)
    assert all(world.logged(step) == {"case_00001", "case_00003"} for step in STEPS)
    assert not [path for path in changed(before, world.files()) if "case_00002" in path]


def test_in_a_range_with_a_bad_subject_the_others_land_and_are_logged(fresh: World) -> None:
    fresh.register(*CASES)
    fresh.truncate_image("case_00001")
    result = fresh.run(*STEPS, through=("case_00000", "case_00003"))
    assert not result.success
    assert "1 of 4 subjects are quarantined" in reasons(result)
    assert all(fresh.logged(step) == {"case_00000", "case_00002", "case_00003"} for step in STEPS)
    assert {(e.partition, e.asset_key.path[-1]) for e in failed_checks(result)} == {("case_00001", s) for s in STEPS}
    states = {s: m.state for s, m in fresh.dataset.store.manifests().items()}
    assert states == dict.fromkeys(CASES, "published") | {"case_00001": "quarantined"}


def repository(world: World) -> RepositoryDefinition:
    layout = Layout(world.root)
    return build_definitions([world.spec], layout, by_subject=True).get_repository_def()


def sensor_requests(world: World) -> Sequence[dg.RunRequest]:
    """What the sensor asks for, resolved as the daemon does."""
    context = dg.build_sensor_context(instance=world.instance, repository_def=repository(world))
    with context:
        tick = repository(world).get_sensor_def("kits23_raw_folder").evaluate_tick(context)
    assert bool(tick.run_requests) != bool(tick.skip_message)
    return tick.run_requests or []


def schedule_requests(world: World) -> Sequence[dg.RunRequest]:
    context = dg.build_schedule_context(instance=world.instance, repository_def=repository(world))
    with context:
        tick = repository(world).get_schedule_def("kits23_nightly").evaluate_tick(context)
    assert bool(tick.run_requests) != bool(tick.skip_message)
    return tick.run_requests or []


def stretches(requests: Sequence[dg.RunRequest]) -> list[tuple[str, str]]:
    return [(r.tags[RANGE_START], r.tags[RANGE_END]) for r in requests]


def run_requested(world: World, request: dg.RunRequest) -> dg.ExecuteInProcessResult:
    """Run the job as the daemon would, with the tags and the selection of the request."""
    job = repository(world).get_job("kits23_subjects_job")
    return job.execute_in_process(
        instance=world.instance, tags=request.tags, asset_selection=request.asset_selection, raise_on_error=False
    )


@pytest.fixture(params=["sensor", "schedule"])
def ask(request: pytest.FixtureRequest) -> Ask:
    asks: dict[str, Ask] = {"sensor": sensor_requests, "schedule": schedule_requests}
    return asks[request.param]


def test_new_subjects_are_registered_and_asked_for_once(on_disk: World, ask: Ask) -> None:
    (request,) = ask(on_disk)
    assert on_disk.partitions() == CASES
    assert stretches([request]) == [("case_00000", "case_00003")]
    (again,) = ask(on_disk)
    assert again.run_key == request.run_key
    result = run_requested(on_disk, request)
    assert result.success, reasons(result)
    assert all(on_disk.logged(step) == set(CASES) for step in STEPS)
    assert list(ask(on_disk)) == []


@pytest.mark.slow
def test_changed_and_added_subjects_are_asked_for_under_another_key(on_disk: World, ask: Ask) -> None:
    on_disk.run()
    assert list(ask(on_disk)) == []
    on_disk.rewrite_mask("case_00002")
    (request,) = ask(on_disk)
    assert stretches([request]) == [("case_00002", "case_00002")]
    assert run_requested(on_disk, request).success
    kits23(on_disk.root / "raw" / "kits23", 1, first=4, shape=SHAPE)
    (added,) = ask(on_disk)
    assert stretches([added]) == [("case_00004", "case_00004")]
    assert added.run_key != request.run_key
    assert "case_00004" in on_disk.partitions()


def test_a_quarantined_subject_is_not_asked_for_until_its_file_changes(world: World) -> None:
    world.truncate_image("case_00001")
    world.run()
    assert list(sensor_requests(world)) == []
    world.truncate_image("case_00001")
    assert stretches(sensor_requests(world)) == [("case_00001", "case_00001")]


def test_the_withdrawal_of_a_vanished_subject_is_asked_for_beside_what_changed(on_disk: World, ask: Ask) -> None:
    assert on_disk.run().success
    on_disk.rewrite_mask("case_00001")
    on_disk.rewrite_mask("case_00003")
    shutil.rmtree(on_disk.subjects / "case_00002")
    withdrawal, computation = ask(on_disk)
    assert withdrawal.asset_selection == [dg.AssetKey("kits23")]
    assert stretches([computation]) == [("case_00001", "case_00003")]
    for request in (computation, withdrawal):
        result = run_requested(on_disk, request)
        assert result.success, reasons(result)
    left = ["case_00000", "case_00001", "case_00003"]
    assert published(on_disk) == on_disk.partitions() == left
    assert list(ask(on_disk)) == []


def test_after_a_withdrawal_that_was_asked_for_index_and_splits_are_without_the_subject(on_disk: World, ask: Ask) -> None:
    definitions = build_definitions([on_disk.spec], Layout(on_disk.root), by_subject=True)
    assert on_disk.run().success
    first = dg.evaluate_automation_conditions(definitions, instance=on_disk.instance)
    shutil.rmtree(on_disk.subjects / "case_00002")
    (request,) = ask(on_disk)
    assert run_requested(on_disk, request).success
    second = dg.evaluate_automation_conditions(definitions, instance=on_disk.instance, cursor=first.cursor)
    assert second.get_num_requested(on_disk.key("index")) == 1
    assert on_disk.run("index").success
    third = dg.evaluate_automation_conditions(definitions, instance=on_disk.instance, cursor=second.cursor)
    assert third.get_num_requested(on_disk.key("splits")) + second.get_num_requested(on_disk.key("splits")) == 1
    assert on_disk.run("splits").success
    assert "case_00002" not in set(on_disk.dataset.store.read_table("splits")["subject"])


def test_while_a_folder_cannot_be_listed_no_withdrawal_is_asked_for(
    on_disk: World, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert on_disk.run().success
    shutil.rmtree(on_disk.subjects / "case_00002")
    hide(monkeypatch, on_disk.subjects / "case_00003")
    assert list(ask(on_disk)) == []


def test_what_a_failed_run_left_undone_is_asked_for_again_after_a_pause_under_a_new_key(
    on_disk: World, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = []
    for _ in range(3):
        (request,) = ask(on_disk)
        keys.append(request.run_key)
        with monkeypatch.context() as broken:
            broken.setattr("assets.chain.survey", refuse_to_survey)
            assert not run_requested(on_disk, request).success
        assert list(ask(on_disk)) == []
        now = time.time() + 3601 * len(keys)
        monkeypatch.setattr("orchestration.rebuild.time.time", lambda now=now: now)
    assert len(set(keys)) == 3
    (request,) = ask(on_disk)
    result = run_requested(on_disk, request)
    assert result.success, reasons(result)
    assert published(on_disk) == CASES


def test_nothing_is_asked_for_while_a_run_is_queued_or_at_work(on_disk: World, ask: Ask) -> None:
    (request,) = ask(on_disk)
    job = repository(on_disk).get_job("kits23_subjects_job")
    for state in (dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTED):
        run = on_disk.instance.create_run_for_job(job, tags=request.tags, status=state)
        assert list(ask(on_disk)) == []
        on_disk.instance.report_run_canceled(run)
    kits23(on_disk.root / "raw" / "kits23", 1, first=4, shape=SHAPE)
    (other,) = ask(on_disk)
    assert stretches([other]) == [("case_00000", "case_00004")]


def test_without_raw_data_nothing_is_asked_for(fresh: World) -> None:
    (fresh.root / "raw").rename(fresh.root / "elsewhere")
    assert list(sensor_requests(fresh)) == []
    assert fresh.partitions() == []


@pytest.fixture
def definitions(world: World) -> dg.Definitions:
    return build_definitions([world.spec], Layout(world.root), by_subject=True)


def test_index_and_splits_follow_when_subjects_were_computed(world: World, definitions: dg.Definitions) -> None:
    world.run()
    first = dg.evaluate_automation_conditions(definitions, instance=world.instance)
    world.rewrite_mask("case_00002")
    assert world.run(*STEPS, partition="case_00002").success
    second = dg.evaluate_automation_conditions(definitions, instance=world.instance, cursor=first.cursor)
    assert second.get_num_requested(world.key("index")) == 1
    assert second.get_num_requested(world.key("volumes")) == 0
    assert world.run("index").success
    third = dg.evaluate_automation_conditions(definitions, instance=world.instance, cursor=second.cursor)
    assert third.get_num_requested(world.key("index")) == 0
    assert third.get_num_requested(world.key("splits")) + second.get_num_requested(world.key("splits")) == 1


def test_splits_do_not_follow_a_closed_gate(world: World) -> None:
    strict = World(world.root, altered(world.spec, expect={"quarantined_share": 0.0}), world.instance)
    assert strict.run().success
    definitions = build_definitions([strict.spec], Layout(strict.root), by_subject=True)
    first = dg.evaluate_automation_conditions(definitions, instance=strict.instance)
    strict.truncate_image("case_00002")
    assert not strict.run(*STEPS, partition="case_00002").success
    assert not strict.run("index").success
    second = dg.evaluate_automation_conditions(definitions, instance=strict.instance, cursor=first.cursor)
    assert second.get_num_requested(strict.key("splits")) == 0
