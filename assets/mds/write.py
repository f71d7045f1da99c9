"""The records of a dataset: made in staging, read back and judged, then put in place of the older ones in one step."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from assets.benchmark.mdsbench.schema import metadata_violations
from assets.dataset import Dataset
from assets.index import NotReadyError
from assets.mds.audit import audit
from assets.mds.build import Made, make_records
from assets.mds.key import STEP, records_key
from assets.mds.meta import META_PATH
from assets.mds.picture import thumbnail
from assets.mds.record import image_path
from assets.mds.state import ATTEMPT, record_failure
from assets.raw import RawDataMissingError
from assets.spec import DatasetSpec
from assets.spec_mds import Mds
from assets.verdict import Check, Verdict
from resources.findings import Finding
from resources.layout import RECORDS
from resources.manifest import FindingRecord
from resources.ome_zarr import StoreDamagedError
from resources.store import NotPublishedError

Judge = Callable[[DatasetSpec, pl.DataFrame], Verdict]
"""The dataset and the table of its records -> whether they hold."""


@dataclass(frozen=True)
class Published:
    """What is in place now.

    Attributes:
        n_targets: How many targets there should be.
        indices: Those that have a record.
        listing: The list the targets were taken from; empty where there is none.
        findings: Why others have none.
        verdict: What was judged; records that do not hold are not put in place.
        unchanged: Whether they were current already.
    """

    n_targets: int
    indices: tuple[int, ...]
    listing: str
    findings: tuple[Finding, ...]
    verdict: Verdict
    unchanged: bool = False

    def facts(self) -> dict[str, Any]:
        """The form that is stored with the records."""
        return {
            "targets": self.n_targets,
            "indices": list(self.indices),
            "listing": self.listing,
            "findings": [FindingRecord.of(f).model_dump(mode="json") for f in self.findings],
            "verdict": self.verdict.to_json(),
        }

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> Published:
        """What was stored."""
        findings = tuple(FindingRecord(**f).finding() for f in facts["findings"])
        verdict = Verdict.from_json(facts["verdict"])
        return cls(facts["targets"], tuple(facts["indices"]), facts["listing"], findings, verdict, unchanged=True)


def publish_records(dataset: Dataset, mds: Mds, judge: Judge) -> Published:
    """Bring the records up to date; why that fails is recorded, for `medfoundry status` to say.

    Raises:
        NotReadyError: What they are made from is missing or damaged.
        OSError: The disk failed; the old records are in place, or none.
    """
    store, key = dataset.store, records_key(dataset, mds)
    if store.folder_current(STEP, key, RECORDS):
        return Published.from_facts(store.dataset_record().facts[STEP])
    with store.staging() as staging:
        try:
            made = make_records(dataset, mds, staging)
        except (RawDataMissingError, StoreDamagedError, NotPublishedError) as error:
            record_failure(store, key, [str(error)])
            raise NotReadyError(str(error)) from error
        folder = staging.folder / RECORDS
        verdict = Verdict((*judge(dataset.spec, audit(folder)).checks, *_checks(made, folder)))
        done = Published(made.listed, tuple(sorted(made.records)), made.listing, made.findings, verdict)
        if verdict.passed:
            store.write_folder(STEP, key, staging, RECORDS, {STEP: done.facts()}, outdated=(ATTEMPT,))
        else:
            record_failure(store, key, [c.detail for c in verdict.failed if c.severity == "error"], done.findings)
    return done


def first_picture(dataset: Dataset, done: Published) -> bytes:
    """The first picture in place, made small; empty where there is none."""
    if not (done.verdict.passed and done.indices):
        return b""
    return thumbnail(dataset.store.read_file(f"{RECORDS}/{image_path(done.indices[0])}"))


def _checks(made: Made, folder: Path) -> Iterator[Check]:
    """What must hold of the folder as a whole."""
    missing = made.listed - len(made.records)
    detail = f"{missing} of {made.listed} targets have no record; the findings say why"
    yield Check("every target has a record", missing == 0, "warning", detail)
    yield Check("a target has a record", bool(made.records), "error", f"none of {made.listed} targets has a record")
    violations = metadata_violations(json.loads((folder / META_PATH).read_bytes()))
    yield Check("data_meta.json validates", not violations, "error", "; ".join(violations) or "it does")
