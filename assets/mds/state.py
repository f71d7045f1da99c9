"""What is known of a dataset's records: whether they are in place and current, and why the last attempt at them failed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from assets.dataset import Dataset
from assets.mds.key import STEP, records_key
from assets.spec_mds import Mds
from resources.findings import Finding
from resources.layout import RECORDS
from resources.manifest import FindingRecord
from resources.store import DatasetStore

ATTEMPT = "records_attempt"
"""Fact and key of the last attempt that failed; a success and new tables of the dataset forget them."""


@dataclass(frozen=True)
class FailedAttempt:
    """Why records could not be made, or were not put in place.

    Attributes:
        reasons: What failed, one sentence each.
        findings: Why targets have no record.
        outdated: Whether it was made from other inputs than there are now.
    """

    reasons: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    outdated: bool = False

    def __str__(self) -> str:
        when = " (what they are made from has changed since)" if self.outdated else ""
        return f"the last attempt failed{when}: {'; '.join(self.reasons)}"


@dataclass(frozen=True)
class RecordsState:
    """What `medfoundry status` says of the records.

    Attributes:
        state: `not made`; `made`: current; `out of date`: made from other inputs; `incomplete`: files of them are missing.
        n_records: How many records are in place.
        n_targets: How many there should be, by the list they were made from.
        findings: Why the others are not there.
        failed: The last attempt, where it failed and nothing current is in place.
    """

    state: Literal["not made", "made", "out of date", "incomplete"]
    n_records: int = 0
    n_targets: int = 0
    findings: tuple[Finding, ...] = ()
    failed: FailedAttempt | None = None


def record_failure(store: DatasetStore, key: str, reasons: Iterable[str], findings: Iterable[Finding] = ()) -> None:
    """Keep why an attempt under a key failed.

    Raises:
        OSError: The disk failed.
    """
    fact = {"reasons": list(reasons), "findings": [FindingRecord.of(f).model_dump(mode="json") for f in findings]}
    record = store.dataset_record()
    if record.keys.get(ATTEMPT) != key or record.facts.get(ATTEMPT) != fact:
        store.write_tables(ATTEMPT, key, {}, {ATTEMPT: fact})


def records_state(dataset: Dataset, mds: Mds) -> RecordsState:
    """Whether the records are there and current, without making anything."""
    record, key = dataset.store.dataset_record(), records_key(dataset, mds)
    made = record.facts.get(STEP) if RECORDS in record.folders else None
    if made is not None and dataset.store.folder_current(STEP, key, RECORDS):
        return _in_place("made", made, None)
    failed = _failed(record.facts.get(ATTEMPT), outdated=record.keys.get(ATTEMPT) != key)
    if made is None:
        return RecordsState("not made", failed=failed)
    return _in_place("incomplete" if record.keys.get(STEP) == key else "out of date", made, failed)


def _in_place(
    state: Literal["made", "out of date", "incomplete"], made: dict[str, Any], failed: FailedAttempt | None
) -> RecordsState:
    return RecordsState(state, len(made["indices"]), made["targets"], _findings(made), failed)


def _failed(fact: dict[str, Any] | None, *, outdated: bool) -> FailedAttempt | None:
    return FailedAttempt(tuple(fact["reasons"]), _findings(fact), outdated) if fact is not None else None


def _findings(fact: dict[str, Any]) -> tuple[Finding, ...]:
    return tuple(FindingRecord(**recorded).finding() for recorded in fact["findings"])
