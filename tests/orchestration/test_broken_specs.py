"""A spec that is broken: its own commands say why, and those of other datasets go on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import dagster as dg
import pytest
from typer.testing import CliRunner, Result

from assets.spec import catalog_folder, read_catalog
from orchestration import cli
from orchestration.build import build_definitions
from resources.layout import Layout

BROKEN = "slug: my_livers\nname: My livers\nlayout:\n  series:\n\tct: x\n"
FAULT = "line 5, column 1: found character that cannot start any token; indent with blanks, not with tabs"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalog of one good and one broken spec."""
    catalog = tmp_path / "catalog"
    catalog.mkdir()
    shutil.copy(catalog_folder() / "kits23.yaml", catalog)
    (catalog / "my_livers.yaml").write_text(BROKEN, encoding="utf-8")
    monkeypatch.setattr("assets.spec.catalog_folder", lambda: catalog)
    monkeypatch.setenv("MEDFOUNDRY_DATA", str(tmp_path / "data"))
    return catalog


def run(*words: str) -> Result:
    return CliRunner().invoke(cli.app, words)


@pytest.mark.parametrize(
    "words",
    [
        ("status", "my_livers"),
        ("status", "my_livers", "--json"),
        ("why", "my_livers"),
        ("verify", "my_livers"),
        ("forget", "my_livers", "x"),
        ("clean", "my_livers"),
        ("download", "my_livers", "--dry-run"),
        ("list", "--markdown"),
    ],
)
def test_its_own_commands_say_the_file_and_the_fault(folder: Path, words: tuple[str, ...]) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert not result.stdout
    assert result.stderr.splitlines() == [
        f"error: {folder / 'my_livers.yaml'} is no usable spec:", f"  {FAULT}", "    ct: x",
    ]  # fmt: skip


def test_commands_of_other_datasets_work_and_warn_in_one_line(folder: Path) -> None:
    result = run("status", "kits23", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["dataset"] == "kits23"
    assert result.stderr.splitlines() == [f"warning: my_livers is left out: my_livers.yaml is no usable spec: {FAULT}"]


def test_the_list_shows_the_rest_and_names_the_broken(folder: Path) -> None:
    result = run("list", "--json")
    assert result.exit_code == 0
    assert [entry["slug"] for entry in json.loads(result.stdout)] == ["kits23"]
    assert "warning: my_livers is left out" in result.stderr


@pytest.mark.parametrize("command", ["status", "why", "download", "verify", "clean"])
def test_a_name_that_is_none_is_answered_with_those_like_it(folder: Path, command: str) -> None:
    result = run(command, "kits2")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == "no dataset kits2; did you mean kits23? `medfoundry list` names them all"
    assert run(command, "livers").stderr.splitlines()[-1].startswith("no dataset livers; did you mean my_livers?")
    assert run(command, "zzz").stderr.splitlines()[-1] == "no dataset zzz; `medfoundry list` names them all"


@pytest.mark.parametrize("by_subject", [True, False])
def test_dagster_has_the_good_chains_and_an_asset_that_fails_with_the_reason(folder: Path, *, by_subject: bool) -> None:
    catalog = read_catalog()
    definitions = build_definitions(catalog.specs.values(), Layout(folder), by_subject=by_subject, broken=catalog.broken)
    dg.Definitions.validate_loadable(definitions)
    graph = definitions.get_repository_def().asset_graph
    assert {dg.AssetKey(["kits23", "volumes"]), dg.AssetKey(["my_livers"])} <= graph.get_all_asset_keys()
    node = graph.get(dg.AssetKey(["my_livers"]))
    assert FAULT in (node.description or "")
    asset = definitions.get_assets_def("my_livers")
    told = pytest.raises(dg.Failure, match=r"my_livers.yaml is no usable spec:\n  line 5, column 1")
    with dg.DagsterInstance.ephemeral() as instance, told as failure:
        dg.materialize([asset], instance=instance)
    assert failure.value.allow_retries is False
