"""Schedules: nightly rebuild of what is new or changed, without what is gone."""

from collections.abc import Iterator

import dagster as dg

from assets.dataset import Dataset
from orchestration.jobs import AssetJob
from orchestration.rebuild import NOTHING_TO_ASK, rebuild_requests

NIGHTLY = "0 2 * * *"


def nightly_schedule(dataset: Dataset, job: AssetJob, partitions: dg.DynamicPartitionsDefinition) -> dg.ScheduleDefinition:
    """Rebuilds, at two in the morning, what is not current, and withdraws what is gone; off until it is switched on."""

    @dg.schedule(
        name=f"{dataset.spec.slug}_nightly",
        job=job,
        cron_schedule=NIGHTLY,
        description=f"Computes what is new or changed in {dataset.spec.name} without what is gone; index and splits follow.",
    )
    def nightly(context: dg.ScheduleEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        requests = list(rebuild_requests(dataset, context.instance, partitions))
        if not requests:
            yield dg.SkipReason(NOTHING_TO_ASK)
        yield from requests

    return nightly
