"""Finds what a scheduled rebuild or the new-subject sensor should run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import dagster as dg
from dagster._core.storage.tags import ASSET_PARTITION_RANGE_END_TAG, ASSET_PARTITION_RANGE_START_TAG

from assets.chain import SUBJECTS_PER_RUN
from assets.dataset import Dataset, survey
from assets.incremental import digest
from assets.raw import RawDataMissingError


def stale_subjects(dataset: Dataset) -> dict[str, str]:
    """Subject -> what its rebuild depends on, for every subject that is not current; empty without raw data."""
    try:
        found = survey(dataset)
    except RawDataMissingError:
        return {}
    marks = {s: [[f.path, f.size, f.mtime_ns] for f in raw.files] for s, raw in found.tree.subjects.items()}
    return {plan.subject: digest([marks[plan.subject], dict(plan.stale)])[:16] for plan in found.stale}


def rebuild_requests(
    dataset: Dataset, instance: dg.DagsterInstance, partitions: dg.DynamicPartitionsDefinition
) -> Iterator[dg.RunRequest]:
    """Register new subjects and ask for runs over every stretch of partitions that holds stale ones.

    A run key is made of what is stale, so that the same state of the raw folder is asked for once.
    """
    name, stale = str(partitions.name), stale_subjects(dataset)
    known = instance.get_dynamic_partitions(name)
    new = [subject for subject in stale if subject not in known]
    if new:
        instance.add_dynamic_partitions(name, new)
    order = [*known, *new]
    for chunk in _chunks([subject for subject in order if subject in stale]):
        marks = [[subject, stale[subject]] for subject in chunk]
        tags = {ASSET_PARTITION_RANGE_START_TAG: chunk[0], ASSET_PARTITION_RANGE_END_TAG: chunk[-1]}
        yield dg.RunRequest(run_key=f"{dataset.spec.slug}-{digest(marks)[:24]}", tags=tags)


def _chunks(subjects: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(subjects), SUBJECTS_PER_RUN):
        yield subjects[start : start + SUBJECTS_PER_RUN]
