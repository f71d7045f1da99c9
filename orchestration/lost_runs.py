"""Ends runs whose process was killed.

A run that is killed cannot say so. Dagster's run monitoring knows nothing of runs that a command executes in its own process:
their runs would count as being in progress for ever, and after as many as `max_concurrent_runs` nothing would be launched any
more. So every run says which process works for it, and the next one, or the sensor in `dagster dev`, ends those that lost theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dagster as dg
from dagster._check import not_none
from dagster._core.definitions.executor_definition import IN_PROC_CONFIG
from dagster._core.storage.tags import MAX_RETRIES_TAG

from orchestration.process import Claim

PROCESS_TAG = "medfoundry/process"

_AT_WORK = (dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED)


def claim_run(instance: dg.DagsterInstance, run_id: str) -> None:
    """Let a run say that this process works for it."""
    instance.add_run_tags(run_id, {PROCESS_TAG: Claim.of_this_process(run_id).to_text()})


def end_lost_runs(instance: dg.DagsterInstance) -> list[str]:
    """Report as failed every run that is at work by its status, and whose process is gone; returns their ids.

    Runs of other machines, and runs that do not say which process works for them, are left alone.
    """
    lost = []
    for run in instance.get_runs(filters=dg.RunsFilter(statuses=list(_AT_WORK))):
        claim = _void_claim(run)
        # What the process said last may have come after the query; now that it is gone nothing more comes.
        now = instance.get_run_by_id(run.run_id) if claim else None
        if claim is None or now is None or now.status not in _AT_WORK:
            continue
        if now.remote_job_origin is None:
            # A command's run: Dagster would announce retries that it cannot start.
            instance.add_run_tags(run.run_id, {MAX_RETRIES_TAG: "0"})
        instance.report_run_failed(
            now,
            f"Its process {claim.pid} on {claim.host} is gone without a word: it was killed, or the machine went down. "
            "What it had published stays; another run makes what is missing.",
        )
        lost.append(run.run_id)
    return lost


def _void_claim(run: dg.DagsterRun) -> Claim | None:
    """What a run says of its process, if that is about this run and the process is gone."""
    claim = Claim.from_text(run.tags.get(PROCESS_TAG, ""))
    return claim if claim is not None and claim.run == run.run_id and claim.is_void() else None


class _ClaimingExecutor(dg.Executor):
    """Says which process works for a run, ends the runs that lost theirs, and leaves the rest to another executor."""

    def __init__(self, inner: dg.Executor) -> None:
        self._inner = inner

    @property
    def retries(self) -> Any:
        return self._inner.retries

    @property
    def step_dependency_config(self) -> Any:
        return self._inner.step_dependency_config

    def execute(self, plan_context: Any, execution_plan: Any) -> Iterator[dg.DagsterEvent]:
        claim_run(plan_context.instance, plan_context.run_id)
        for run_id in end_lost_runs(plan_context.instance):
            plan_context.log.info(f"run {run_id} had lost its process and is ended as failed")
        yield from self._inner.execute(plan_context, execution_plan)


def claiming_executor() -> dg.ExecutorDefinition:
    """Dagster's in-process executor, with its name and configuration, for runs that say which process works for them."""
    create = not_none(dg.in_process_executor.executor_creation_fn)

    @dg.executor(name=dg.in_process_executor.name, config_schema=IN_PROC_CONFIG)
    def claiming(init_context: dg.InitExecutorContext) -> dg.Executor:
        return _ClaimingExecutor(create(init_context))

    return claiming


def lost_runs_sensor() -> dg.SensorDefinition:
    """Ends, every minute, the runs that lost their process; on from the start."""

    @dg.sensor(
        name="lost_runs",
        minimum_interval_seconds=60,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Runs whose process was killed are reported as failed, so that they do not count as being in progress.",
    )
    def lost_runs(context: dg.SensorEvaluationContext) -> dg.SkipReason:
        lost = end_lost_runs(context.instance)
        return dg.SkipReason(f"ended as failed: {', '.join(lost)}" if lost else "no run has lost its process")

    return lost_runs
