from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
import pytest

from tests.data_makers import kits23
from tests.orchestration.conftest import SHAPE
from tests.orchestration.world import NOT_PRODUCTS

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[2]
DAGSTER = Path(sys.executable).parent / "dagster"
CASES = [f"case_0000{n}" for n in range(3)]
COMMAND = [str(DAGSTER), "asset", "materialize", "--select", "kits23*"]


def environment() -> dict[str, str]:
    """This process's, as it is in a user's shell: nothing of Dagster's or ours."""
    ours = ("DAGSTER_", "MEDFOUNDRY_", "PYTEST_", "PYTHONWARNINGS")
    found = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    return {**found, "PATH": f"{DAGSTER.parent}{os.pathsep}{found['PATH']}"}


def command(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *more], cwd=folder, env=environment(), capture_output=True, text=True, check=False, timeout=300
    )


def products(folder: Path) -> dict[str, bytes]:
    root = folder / "data" / "products" / "kits23"
    files = {p.relative_to(root).as_posix(): p for p in root.rglob("*") if p.is_file()}
    return {name: path.read_bytes() for name, path in sorted(files.items()) if not name.startswith(NOT_PRODUCTS)}


def event_log(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dg.DagsterInstance:
    """The event log that the commands of this folder write; its paths are relative to it."""
    monkeypatch.chdir(folder)
    return dg.DagsterInstance.from_config(str(folder))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(REPOSITORY / "dagster.yaml", tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("raw") / "kits23"
    kits23(root, len(CASES), shape=SHAPE)
    return root


def place(raw: Path, folder: Path) -> None:
    shutil.copytree(raw, folder / "data" / "raw" / "kits23")


def test_the_command_computes_everything_then_nothing_then_one_subject(
    raw: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(raw, folder)
    first = subprocess.run(
        ["bash", "-c", "dagster asset materialize --select kits23*"],
        cwd=folder, env=environment(), capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert first.returncode == 0, first.stderr
    made = products(folder)
    assert {p for p in made if p.startswith("manifest/")} == {f"manifest/{case}.json" for case in CASES}
    assert "splits.parquet" in made
    second = subprocess.run(
        ["bash", "-c", "dagster asset materialize --select 'kits23*'"],
        cwd=folder, env=environment(), capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert second.returncode == 0, second.stderr
    assert "kits23: everything is current" in second.stderr + second.stdout
    assert products(folder) == made
    third = command(folder, "--partition", "case_00000")
    assert third.returncode == 0, third.stderr
    assert products(folder) == made
    with event_log(folder, monkeypatch) as log:
        assert len(log.get_runs()) == 3
        assert all(run.status is dg.DagsterRunStatus.SUCCESS for run in log.get_runs())
        for step in ("volumes", "boxes", "mask_sizes", "lesion_sizes"):
            assert set(log.get_materialized_partitions(dg.AssetKey(["kits23", step]))) == set(CASES)
        counts = log.get_runs(filters=dg.RunsFilter(tags={"dagster/partition": "case_00000"}))
        assert len(counts) == 1


def test_without_raw_data_the_command_says_what_to_download_and_fails(folder: Path) -> None:
    result = command(folder)
    assert result.returncode == 1
    said = result.stderr + result.stdout
    for text in ("there are no raw data for kits23", "neheller/KiTS-Challenge-Imaging", "make demo", "data/raw/kits23"):
        assert text in said


def kill_after(folder: Path, seconds: float) -> bool:
    """Start the command, kill it and all its children; whether it was still at work."""
    with subprocess.Popen(
        COMMAND, cwd=folder, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as run:
        until = time.monotonic() + 120
        root = folder / "data" / "products" / "kits23"
        while not root.exists() and run.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(seconds)
        alive = run.poll() is None
        if alive:
            os.killpg(run.pid, signal.SIGKILL)
        run.wait(30)
    return alive


def test_after_kills_at_any_moment_a_rerun_makes_what_an_undisturbed_run_makes(raw: Path, tmp_path: Path) -> None:
    calm, hurt = tmp_path / "calm", tmp_path / "hurt"
    for folder in (calm, hurt):
        folder.mkdir()
        shutil.copy(REPOSITORY / "dagster.yaml", folder)
        place(raw, folder)
    undisturbed = command(calm)
    assert undisturbed.returncode == 0, undisturbed.stderr
    jitter = random.Random(20261130)
    killed = 0
    for base in (0.0, 0.4, 1.2, 2.5, 4.0):
        killed += kill_after(hurt, base + jitter.uniform(0, 0.4))
    assert killed >= 2
    rerun = command(hurt)
    assert rerun.returncode == 0, rerun.stderr
    assert products(hurt) == products(calm)
    staging = hurt / "data" / "products" / "kits23" / ".staging"
    assert not [p for p in staging.iterdir() if p.is_dir()]


def test_the_run_of_a_killed_command_is_failed_by_the_next_command(
    raw: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(raw, folder)
    assert kill_after(folder, 0.2)
    with event_log(folder, monkeypatch) as log:
        [killed] = log.get_runs()
        assert killed.status is dg.DagsterRunStatus.STARTED
    rerun = command(folder)
    assert rerun.returncode == 0, rerun.stderr
    with event_log(folder, monkeypatch) as log:
        states = {run.run_id: run.status for run in log.get_runs()}
        said = [e.dagster_event.message for e in log.all_logs(killed.run_id) if e.dagster_event and e.dagster_event.is_failure]
    assert states.pop(killed.run_id) is dg.DagsterRunStatus.FAILURE
    assert list(states.values()) == [dg.DagsterRunStatus.SUCCESS]
    assert "is gone without a word" in str(said)
