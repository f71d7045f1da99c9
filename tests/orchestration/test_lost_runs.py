from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.test_utils import create_run_for_test

from orchestration.lost_runs import PROCESS_TAG, claim_run, claiming_executor, end_lost_runs, lost_runs_sensor
from orchestration.process import Claim

STARTED, FAILURE = dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.FAILURE
WAITING = "import sys; sys.stdin.read()"


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    with dg.instance_for_test(temp_dir=str(tmp_path), overrides={"run_retries": {"enabled": True, "max_retries": 2}}) as found:
        yield found


@pytest.fixture
def neighbour() -> Iterator[subprocess.Popen[bytes]]:
    """Another process, which lives until it is killed."""
    with subprocess.Popen([sys.executable, "-c", WAITING], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def begun(instance: dg.DagsterInstance, tag: str | None, status: dg.DagsterRunStatus = STARTED) -> str:
    run = create_run_for_test(instance, job_name="any", status=status)
    if tag is not None:
        instance.add_run_tags(run.run_id, {PROCESS_TAG: tag.replace("RUN", run.run_id)})
    return run.run_id


def claim(pid: int, **other: Any) -> str:
    """What the process itself would have written, but for the fields given."""
    stat = Path(f"/proc/{pid}/stat")
    started = int(stat.read_text().rpartition(")")[2].split()[19]) if stat.exists() else None
    return json.dumps({**json.loads(Claim.of_this_process("RUN").to_text()), "pid": pid, "started": started, **other})


def status(instance: dg.DagsterInstance, run_id: str) -> dg.DagsterRunStatus:
    run = instance.get_run_by_id(run_id)
    assert run is not None
    return run.status


def test_a_run_fails_once_its_process_is_killed_and_not_before(
    instance: dg.DagsterInstance, neighbour: subprocess.Popen[bytes]
) -> None:
    run_id = begun(instance, claim(neighbour.pid))
    starting = begun(instance, claim(neighbour.pid), dg.DagsterRunStatus.STARTING)
    assert end_lost_runs(instance) == []
    neighbour.send_signal(signal.SIGKILL)
    neighbour.wait(30)
    assert set(end_lost_runs(instance)) == {run_id, starting}
    assert status(instance, run_id) is status(instance, starting) is FAILURE
    said = [e.dagster_event.message for e in instance.all_logs(run_id) if e.dagster_event and e.dagster_event.is_failure]
    assert len(said) == 1
    assert f"process {neighbour.pid} on " in str(said[0])
    assert end_lost_runs(instance) == []


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only /proc tells whether a process has ended")
def test_a_killed_process_that_its_parent_has_not_asked_after_is_gone(
    instance: dg.DagsterInstance, neighbour: subprocess.Popen[bytes]
) -> None:
    run_id = begun(instance, claim(neighbour.pid))
    neighbour.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, neighbour.pid, os.WEXITED | os.WNOWAIT)
    assert end_lost_runs(instance) == [run_id]


def test_runs_that_may_be_at_work_are_left_alone(instance: dg.DagsterInstance) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait(30)
    gone = process.pid
    tags = {
        "of this process": claim(os.getpid()),
        "of this process, start unknown": claim(os.getpid(), started=None),
        "of another machine": claim(gone, started=1, host="elsewhere"),
        "of another container": claim(gone, started=1, namespace="pid:[1]"),
        "copied from the run that this one repeats": claim(gone, started=1, run="another"),
        "untagged": None,
        "no claim": "4711",
        "no process": claim(0),
        "no number": claim(gone).replace(str(gone), '"1"', 1),
        "not JSON": "{",
    }
    left = {name: begun(instance, tag) for name, tag in tags.items()}
    lost = begun(instance, claim(gone, started=1))
    ended = begun(instance, claim(gone, started=1), dg.DagsterRunStatus.SUCCESS)
    assert end_lost_runs(instance) == [lost]
    assert {name: status(instance, run_id) for name, run_id in left.items()} == dict.fromkeys(tags, STARTED)
    assert status(instance, ended) is dg.DagsterRunStatus.SUCCESS


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only /proc tells when a process started")
def test_a_process_that_got_the_number_of_one_that_is_gone_is_not_taken_for_it(instance: dg.DagsterInstance) -> None:
    run_id = begun(instance, claim(os.getpid(), started=1))
    assert end_lost_runs(instance) == [run_id]


def test_a_run_that_no_server_can_start_again_announces_no_retry(instance: dg.DagsterInstance) -> None:
    run_id = begun(instance, claim(os.getpid(), started=1) if Path("/proc/self/stat").exists() else claim(2**31 - 1))
    end_lost_runs(instance)
    run = instance.get_run_by_id(run_id)
    assert run is not None
    assert run.tags["dagster/will_retry"] == "false"


def test_a_run_that_ends_between_the_query_and_the_look_at_its_process_stays_as_it_ended(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = begun(instance, claim(2**31 - 1, started=1))

    def ends(asked: Claim) -> bool:
        instance.report_run_canceled(*instance.get_runs())
        return asked.run == run_id

    monkeypatch.setattr(Claim, "is_void", ends)
    assert end_lost_runs(instance) == []
    assert status(instance, run_id) is dg.DagsterRunStatus.CANCELED


def test_a_run_says_while_it_works_which_process_it_is_and_ends_lost_ones_first(instance: dg.DagsterInstance) -> None:
    lost = begun(instance, claim(2**31 - 1, started=1))
    with dg.execute_job(dg.reconstructable(made_job), instance=instance) as result:
        assert result.success
        assert result.output_for_node("look") == [FAILURE.value, STARTED.value]
    run = instance.get_run_by_id(result.run_id)
    assert run is not None
    found = Claim.from_text(run.tags[PROCESS_TAG])
    assert found is not None
    assert (found.run, found.pid) == (result.run_id, os.getpid())
    assert not found.is_void()
    assert status(instance, lost) is FAILURE


@dg.op
def look(context) -> list[str]:  # type: ignore[no-untyped-def]  # noqa: ANN001 - Dagster reads annotations, which are texts here
    return sorted(run.status.value for run in context.instance.get_runs())


def made_job() -> dg.JobDefinition:
    @dg.job(executor_def=claiming_executor())
    def any_job() -> None:
        look()

    return any_job


def test_the_sensor_ends_lost_runs(instance: dg.DagsterInstance) -> None:
    sensor = lost_runs_sensor()
    assert sensor.default_status is dg.DefaultSensorStatus.RUNNING
    run_id = begun(instance, claim(2**31 - 1, started=1))
    with dg.build_sensor_context(instance) as context:
        said = [sensor.evaluate_tick(context).skip_message for _ in range(2)]
    assert said == [f"ended as failed: {run_id}", "no run has lost its process"]


def test_a_claim_is_read_as_it_was_written(instance: dg.DagsterInstance) -> None:
    run_id = begun(instance, None)
    claim_run(instance, run_id)
    run = instance.get_run_by_id(run_id)
    assert run is not None
    assert Claim.from_text(run.tags[PROCESS_TAG]) == Claim.of_this_process(run_id)
