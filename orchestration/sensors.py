"""Sensors: new, changed or vanished subjects in the raw folder."""

import dagster as dg

from assets.dataset import Dataset
from orchestration.jobs import AssetJob
from orchestration.rebuild import NOTHING_TO_ASK, rebuild_requests


def raw_folder_sensor(dataset: Dataset, job: AssetJob, partitions: dg.DynamicPartitionsDefinition) -> dg.SensorDefinition:
    """Looks at the raw folder every minute and asks for what is new, changed or gone; off until it is switched on."""

    @dg.sensor(
        name=f"{dataset.spec.slug}_raw_folder",
        job=job,
        minimum_interval_seconds=60,
        description=f"New and changed subjects of {dataset.spec.name} are computed as partitions; vanished ones go.",
    )
    def raw_folder(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        requests = list(rebuild_requests(dataset, context.instance, partitions))
        return dg.SensorResult(run_requests=requests) if requests else dg.SkipReason(NOTHING_TO_ASK)

    return raw_folder
