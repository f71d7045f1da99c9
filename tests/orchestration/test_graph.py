from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.asset_selection import AssetSelection
from dagster._core.definitions.assets.graph.asset_graph import AssetGraph
from syrupy.assertion import SnapshotAssertion

from orchestration import scope
from orchestration.build import build_definitions
from resources.layout import Layout
from tests.orchestration.world import catalog_spec

SLUGS = ("kits23", "msd_hippocampus")
STEPS = {"volumes", "boxes", "mask_sizes", "lesion_sizes", "index", "splits", "records", "score"}


def definitions(*, by_subject: bool, root: Path = Path("nowhere")) -> dg.Definitions:
    return build_definitions([catalog_spec(slug) for slug in SLUGS], Layout(root), by_subject=by_subject)


def graph(*, by_subject: bool, root: Path = Path("nowhere")) -> AssetGraph:
    return definitions(by_subject=by_subject, root=root).get_repository_def().asset_graph


def described(node: Any, checks: list[Any]) -> dict[str, Any]:
    condition = node.automation_condition
    return {
        "deps": sorted(key.to_user_string() for key in node.parent_keys),
        "partitions": getattr(node.partitions_def, "name", None),
        "checks": [f"{key.name}{' (blocking)' if blocking else ''}" for key, blocking in checks],
        "group": node.group_name,
        "kinds": sorted(node.kinds),
        "owners": sorted(node.owners),
        "tags": {k: v for k, v in sorted(node.tags.items()) if not k.startswith("dagster/")},
        "automation": (condition.get_label() or condition.name or str(condition)) if condition else None,
        "runs of": getattr(node.backfill_policy, "max_partitions_per_run", None),
    }


@pytest.mark.parametrize("by_subject", [True, False], ids=["by subject", "as a whole"])
def test_the_asset_graph_is_as_recorded(snapshot: SnapshotAssertion, tmp_path: Path, *, by_subject: bool) -> None:
    for slug in SLUGS:
        Layout(tmp_path).raw(slug).mkdir(parents=True)
    assets = graph(by_subject=by_subject, root=tmp_path)
    found = {}
    for key in sorted(assets.get_all_asset_keys()):
        checks = [(c, assets.get(c).blocking) for c in sorted(assets.asset_check_keys) if c.asset_key == key]
        found[key.to_user_string()] = described(assets.get(key), checks)
    assert found == snapshot


@pytest.mark.parametrize("by_subject", [True, False])
def test_the_definitions_load(*, by_subject: bool) -> None:
    dg.Definitions.validate_loadable(definitions(by_subject=by_subject))


def test_only_datasets_with_data_have_conditions_to_be_evaluated(tmp_path: Path) -> None:
    Layout(tmp_path).raw("kits23").mkdir(parents=True)
    Layout(tmp_path).products("msd_hippocampus").mkdir(parents=True)
    without, beside = graph(by_subject=True), graph(by_subject=True, root=tmp_path)
    assert not [key for key in without.get_all_asset_keys() if without.get(key).automation_condition]
    assert {key.to_user_string() for key in beside.get_all_asset_keys() if beside.get(key).automation_condition} == {
        f"{slug}/{step}" for slug in SLUGS for step in ("index", "splits", "records", "score")
    }
    assert beside.get_all_asset_keys() == without.get_all_asset_keys()


def test_jobs_schedules_and_sensors_exist_by_subject_alone() -> None:
    repository = definitions(by_subject=True).get_repository_def()
    assert {s.name for s in repository.sensor_defs} == {*(f"{slug}_raw_folder" for slug in SLUGS), "follow_subjects", "lost_runs"}
    assert {s.name for s in repository.schedule_defs} == {f"{slug}_nightly" for slug in SLUGS}
    assert repository.get_sensor_def("follow_subjects").default_status is dg.DefaultSensorStatus.RUNNING
    whole = definitions(by_subject=False).get_repository_def()
    assert not {s.name for s in repository.sensor_defs} & {s.name for s in whole.sensor_defs}
    assert not whole.schedule_defs


def test_partitions_differ_between_the_scopes_and_nothing_else() -> None:
    keyed, whole = graph(by_subject=True), graph(by_subject=False)
    assert keyed.get_all_asset_keys() == whole.get_all_asset_keys()
    assert keyed.asset_check_keys == whole.asset_check_keys
    for key in keyed.get_all_asset_keys():
        assert keyed.get(key).parent_keys == whole.get(key).parent_keys
        assert keyed.get(key).code_version == whole.get(key).code_version
        assert whole.get(key).partitions_def is None


@pytest.mark.parametrize("by_subject", [True, False])
@pytest.mark.parametrize("slug", SLUGS)
def test_the_name_with_a_star_selects_the_whole_chain_and_nothing_else(slug: str, *, by_subject: bool) -> None:
    assets = graph(by_subject=by_subject)
    selected = AssetSelection.from_string(f"{slug}*").resolve(assets)
    steps = STEPS if slug == "kits23" else STEPS - {"lesion_sizes"}
    assert {key.to_user_string() for key in selected} == {slug, *(f"{slug}/{step}" for step in steps)}


@pytest.mark.parametrize(
    ("line", "whole"),
    [
        (["/venv/bin/dagster", "asset", "materialize", "--select", "kits23*"], True),
        (["dagster", "asset", "materialize", "--select=kits23*"], True),
        (["dagster", "asset", "materialize", "-m", "orchestration.definitions", "--select", "kits23*"], True),
        (["dagster.exe", "asset", "materialize", "--select", "kits23*"], True),
        (["/lib/python3.12/site-packages/dagster/__main__.py", "asset", "materialize", "--select", "kits23*"], True),
        (["dagster", "asset", "materialize", "--select", "kits23*", "--partition", "case_00000"], False),
        (["dagster", "asset", "materialize", "--select", "kits23*", "--partition=case_00000"], False),
        (["dagster", "asset", "materialize", "--partition-range", "a...b", "--select", "kits23/boxes"], False),
        (["dagster", "asset", "materialize", "--partition-range=a...b", "--select", "kits23/boxes"], False),
        (["dagster", "asset", "list"], False),
        (["dagster", "asset", "wipe", "materialize"], False),
        (["dagster", "dev"], False),
        (["dagster", "job", "execute", "-j", "materialize"], False),
        (["dagster", "definitions", "validate"], False),
        (["/venv/bin/dg", "launch", "--assets", "kits23*"], True),
        (["dg", "launch", "--assets=kits23*"], True),
        (["dg", "launch", "--assets", "kits23*", "--partition", "case_00000"], False),
        (["dg", "launch", "--job", "kits23_subjects_job"], False),
        (["dg", "dev"], False),
        (["dagster-webserver", "-w", "workspace.yaml"], False),
        (["dagster-daemon", "run"], False),
        (["/venv/bin/pytest", "asset", "materialize"], False),
        (["/lib/other/__main__.py", "asset", "materialize"], False),
        ([""], False),
        ([], False),
    ],
)
def test_only_a_materialization_without_a_partition_is_of_the_whole_dataset(line: list[str], *, whole: bool) -> None:
    assert scope.asks_for_everything(line) == whole


@pytest.fixture
def no_scope(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    with monkeypatch.context() as patch:
        patch.setenv(scope.VARIABLE, "")
        patch.delenv(scope.VARIABLE)
        yield patch


def test_the_answer_is_kept_for_child_processes(no_scope: pytest.MonkeyPatch) -> None:
    no_scope.setattr("sys.argv", ["dagster", "asset", "materialize", "--select", "kits23*"])
    assert not scope.by_subject()
    no_scope.setattr("sys.argv", ["-c", "multiprocessing"])
    assert not scope.by_subject()
    assert os.environ[scope.VARIABLE] == "whole"


def test_a_server_and_what_it_starts_see_subjects(no_scope: pytest.MonkeyPatch) -> None:
    no_scope.setattr("sys.argv", ["dagster", "dev"])
    assert scope.by_subject()
    no_scope.setattr("sys.argv", ["dagster", "api", "execute_run", "{}"])
    assert scope.by_subject()
