"""Finds what a scheduled rebuild or the new-subject sensor should run."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import dagster as dg
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES
from dagster._core.storage.tags import ASSET_PARTITION_RANGE_END_TAG, ASSET_PARTITION_RANGE_START_TAG

from assets.chain import SUBJECTS_PER_RUN
from assets.dataset import Dataset, Survey, survey
from assets.incremental import digest
from assets.raw import RawDataMissingError
from orchestration.jobs import subject_keys, subjects_job_name

CONTENT_TAG = "medfoundry/asked_for"
"""Tag of a run: what it was asked for, the same however often that is asked."""

PAUSE_SECONDS = 3600
"""What a run left undone is asked for again so long after its end: a failure that lasts must not be a run every minute."""

NOTHING_TO_ASK = "every subject is current, or is being computed, or was asked for within the last hour"


def stale_subjects(found: Survey) -> dict[str, str]:
    """Subject -> what its rebuild depends on, for every subject that is not current."""
    marks = {s: [[f.path, f.size, f.mtime_ns] for f in raw.files] for s, raw in found.tree.subjects.items()}
    return {plan.subject: digest([marks[plan.subject], dict(plan.stale)])[:16] for plan in found.stale}


def rebuild_requests(
    dataset: Dataset, instance: dg.DagsterInstance, partitions: dg.DynamicPartitionsDefinition
) -> Iterator[dg.RunRequest]:
    """Register new subjects, and ask for the runs that withdraw vanished ones and compute stale ones.

    The root asset withdraws the vanished, and its event makes the index follow. Stale ones are asked for in stretches of
    partitions; what else lies in a stretch is current, or withdrawn by that run too. Nothing is asked for while a run of the job
    is queued or at work: what is stale shrinks while it works, and every minute would ask for another rest of the same. Nothing
    without raw data.
    """
    slug = dataset.spec.slug
    under_way = dg.RunsFilter(job_name=subjects_job_name(dataset.spec), statuses=NOT_FINISHED_STATUSES)
    if instance.get_run_records(under_way, limit=1):
        return
    try:
        found = survey(dataset)
    except RawDataMissingError:
        return
    asked = [_Asked(slug, [dg.AssetKey([slug])], ["withdraw", *found.vanished], {})] if found.vanished else []
    stale = stale_subjects(found)
    for chunk in _chunks([subject for subject in _registered(stale, instance, str(partitions.name)) if subject in stale]):
        content = ["compute", *([subject, stale[subject]] for subject in chunk)]
        tags = {ASSET_PARTITION_RANGE_START_TAG: chunk[0], ASSET_PARTITION_RANGE_END_TAG: chunk[-1]}
        asked.append(_Asked(slug, subject_keys(dataset.spec), content, tags))
    for one in asked:
        yield from one.requests(instance)


@dataclass(frozen=True)
class _Asked:
    """Something that a run should do."""

    slug: str
    assets: Sequence[dg.AssetKey]
    content: Sequence[object]
    tags: dict[str, str]

    def requests(self, instance: dg.DagsterInstance) -> Iterator[dg.RunRequest]:
        """One request, or none while the last run for the same ended a short time ago.

        A sensor never launches a run key again for which it has a run, be it a failed one (a schedule only within one tick). The
        key therefore names the last run for the same: asked again after that has ended, it is new, and launched once.
        """
        content = f"{self.slug}-{digest(list(self.content))[:24]}"
        last = next(iter(instance.get_run_records(dg.RunsFilter(tags={CONTENT_TAG: content}), limit=1)), None)
        if last is not None and time.time() - (last.end_time or last.create_timestamp.timestamp()) < PAUSE_SECONDS:
            return
        key = content if last is None else f"{content}-{last.dagster_run.run_id}"
        yield dg.RunRequest(run_key=key, tags={**self.tags, CONTENT_TAG: content}, asset_selection=self.assets)


def _registered(subjects: Iterable[str], instance: dg.DagsterInstance, name: str) -> list[str]:
    """All partitions in their order, after those of the subjects that were none are registered."""
    known = instance.get_dynamic_partitions(name)
    new = [subject for subject in subjects if subject not in known]
    if new:
        instance.add_dynamic_partitions(name, new)
    return [*known, *new]


def _chunks(subjects: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(subjects), SUBJECTS_PER_RUN):
        yield subjects[start : start + SUBJECTS_PER_RUN]
