"""Puts the code location together, from the catalog or from whatever specs a test gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import dagster as dg

from assets.chain import build_chain
from assets.dataset import Dataset
from assets.spec import DatasetSpec
from assets.spec_errors import SpecError
from expectations.gate import GreatExpectationsGates
from orchestration.automation import follow_subjects, waking
from orchestration.broken import broken_asset
from orchestration.download_job import download_job
from orchestration.jobs import subjects_job
from orchestration.lost_runs import claiming_executor, lost_runs_sensor
from orchestration.schedules import nightly_schedule
from orchestration.sensors import raw_folder_sensor
from resources.layout import Layout


def build_definitions(
    specs: Iterable[DatasetSpec], layout: Layout, *, by_subject: bool, broken: Mapping[str, SpecError] = MappingProxyType({})
) -> dg.Definitions:
    """Every dataset's chain; jobs, schedules and sensors where subjects are partitions.

    A dataset whose spec is broken is one asset that fails with the reason, so that nobody who selects it is told that it is not
    there.
    """
    assets: list[dg.AssetsDefinition] = []
    jobs: list[Any] = []
    schedules: list[dg.ScheduleDefinition] = []
    sensors: list[dg.SensorDefinition] = []
    gates = GreatExpectationsGates()
    known = tuple(specs)
    for spec in known:
        dataset = Dataset(spec, layout)
        chain = build_chain(dataset, gates, by_subject=by_subject)
        assets += waking(dataset, chain.assets)
        if by_subject:
            job = subjects_job(spec)
            jobs.append(job)
            schedules.append(nightly_schedule(dataset, job, chain.partitions))
            sensors.append(raw_folder_sensor(dataset, job, chain.partitions))
    jobs.append(download_job({spec.slug: spec for spec in known}, layout, broken))
    assets += [broken_asset(name, error) for name, error in broken.items()]
    if by_subject:
        sensors += [follow_subjects(), lost_runs_sensor()]
    return dg.Definitions(assets=assets, jobs=jobs, schedules=schedules, sensors=sensors, executor=claiming_executor())
