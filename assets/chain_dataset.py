"""Makes the Dagster assets of a dataset as a whole: `<slug>/index`, and `<slug>/splits` and `<slug>/records` behind its gate.

The score of the records is in `assets/chain_score.py`.

Annotations are real objects here, not strings, and `MaterializeResult` stays bare: Dagster looks at both.
"""

import logging
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

import dagster as dg
import polars as pl

from assets import events
from assets.chain_score import score_asset
from assets.dataset import Dataset
from assets.incremental import code_version, subject_steps
from assets.index import NotReadyError, former_tables, index_key, index_tables, make_index, make_splits, require_gate, splits_key
from assets.spec import DatasetSpec
from assets.spec_mds import Mds
from assets.verdict import Verdict

T = TypeVar("T")

OWNERS = ["team:medfoundry"]

AFTER_INDEX = ("splits", "records", "records_attempt", "score", "score_samples", "score_deductions")
"""What is made from the dataset's tables, and goes when they are made anew."""


class Gates(Protocol):
    """What must hold, judged by Great Expectations (`expectations/gate.py`)."""

    def subjects(self, spec: DatasetSpec) -> Any:
        """The gate that `build_subjects` asks."""
        ...

    def raw(self, spec: DatasetSpec, raw: pl.DataFrame) -> Verdict:
        """Judge the table of raw files."""
        ...

    def index(self, spec: DatasetSpec, tables: dict[str, pl.DataFrame]) -> Verdict:
        """Judge the dataset."""
        ...

    def splits(self, spec: DatasetSpec, splits: pl.DataFrame, volumes: pl.DataFrame) -> Verdict:
        """Judge the splits."""
        ...

    def records(self, spec: DatasetSpec, records: pl.DataFrame) -> Verdict:
        """Judge MDS-Bench's records."""
        ...


def dataset_assets(dataset: Dataset, gates: Gates) -> Iterator[dg.AssetsDefinition]:
    """The assets of a dataset as a whole; records and their score where MDS-Bench has it."""
    yield _index_asset(dataset, gates)
    yield _splits_asset(dataset, gates)
    if dataset.spec.mds is not None:
        yield _records_asset(dataset, dataset.spec.mds, gates)
        yield score_asset(dataset, dataset.spec.mds, OWNERS, tags(dataset.spec, "score"))


def tags(spec: DatasetSpec, step: str) -> dict[str, str]:
    """The tags of an asset."""
    return {"dataset": spec.slug, "modality": spec.modality.lower().replace(" ", "_"), "step": step}


def _index_asset(dataset: Dataset, gates: Gates) -> dg.AssetsDefinition:
    spec = dataset.spec
    condition = dg.AutomationCondition.eager().without(~dg.AutomationCondition.any_deps_missing())

    @dg.asset(
        key=[spec.slug, "index"],
        deps=[[spec.slug], *([spec.slug, step] for step in subject_steps(spec))],
        description="The dataset's tables, the ledger, and the gate that everything after it must pass.",
        kinds={"parquet"},
        code_version=code_version(spec, "index"),
        automation_condition=condition,
        check_specs=[
            dg.AssetCheckSpec("gate", asset=[spec.slug, "index"], blocking=True, description="The dataset as a whole holds.")
        ],
        group_name=spec.slug,
        tags=tags(spec, "index"),
        owners=OWNERS,
    )
    def index(context: dg.AssetExecutionContext) -> dg.MaterializeResult:  # type: ignore[type-arg]
        store = dataset.store
        current = _ready(lambda: store.tables_current("index", index_key(dataset), index_tables(dataset)))
        if current:
            verdict = Verdict.from_json(store.dataset_record().facts["gate"])
            context.log.info(f"{spec.slug}: the tables are current")
        else:
            general = [events.finding_from_json(f) for f in store.dataset_record().facts.get("findings", [])]
            made = _ready(lambda: make_index(dataset, general))
            verdict = gates.index(spec, dict(made.tables))
            outdated = (*AFTER_INDEX, *former_tables(dataset))
            store.write_tables("index", made.key, made.tables, {"gate": verdict.to_json()}, outdated=outdated)
            context.log.info(f"{spec.slug}: the tables are made anew")
        for failed in verdict.failed:
            context.log.log(logging.ERROR if failed.severity == "error" else logging.WARNING, f"{spec.slug}: {failed.detail}")
        check = events.check_result(verdict, "gate", [spec.slug, "index"])
        return dg.MaterializeResult(metadata=events.index_metadata(dataset, unchanged=current), check_results=[check])

    return index


def _ready(task: Callable[[], T]) -> T:
    try:
        return task()
    except NotReadyError as error:
        raise dg.Failure(str(error), allow_retries=False) from error


def _splits_asset(dataset: Dataset, gates: Gates) -> dg.AssetsDefinition:
    spec = dataset.spec
    condition = dg.AutomationCondition.eager() & dg.AutomationCondition.all_deps_blocking_checks_passed()

    @dg.asset(
        key=[spec.slug, "splits"],
        deps=[[spec.slug, "index"]],
        description="Subject -> train or test, by person and by hash: adding subjects never moves others.",
        kinds={"parquet"},
        code_version=code_version(spec, "splits"),
        automation_condition=condition,
        check_specs=[
            dg.AssetCheckSpec(
                "suite", asset=[spec.slug, "splits"], blocking=True, description="Nobody, and no image, is in two splits."
            )
        ],
        group_name=spec.slug,
        tags=tags(spec, "splits"),
        owners=OWNERS,
    )
    def splits(context: dg.AssetExecutionContext) -> dg.MaterializeResult:  # type: ignore[type-arg]
        _ready(lambda: require_gate(dataset))
        table, findings = _ready(lambda: make_splits(dataset))
        verdict = gates.splits(spec, table, dataset.store.read_table("volumes"))
        key = splits_key(dataset)
        if verdict.passed and not dataset.store.tables_current("splits", key, ["splits"]):
            dataset.store.write_tables("splits", key, {"splits": table}, {})
        for finding in findings:
            context.log.warning(f"{spec.slug}: {finding}")
        check = events.check_result(verdict, "suite", [spec.slug, "splits"])
        return dg.MaterializeResult(metadata=events.splits_metadata(dataset, table, findings), check_results=[check])

    return splits


def _records_asset(dataset: Dataset, mds: Mds, gates: Gates) -> dg.AssetsDefinition:
    spec, key = dataset.spec, [dataset.spec.slug, "records"]
    condition = dg.AutomationCondition.eager() & dg.AutomationCondition.all_deps_blocking_checks_passed()

    @dg.asset(
        key=key,
        deps=[[spec.slug, "index"]],
        description=f"The sample of MDS-Bench's {mds.name}: one picture and one record per target.",
        kinds={"png", "json"},
        code_version=code_version(spec, "records"),
        automation_condition=condition,
        check_specs=[
            dg.AssetCheckSpec(
                "suite",
                asset=key,
                blocking=True,
                description="Every record validates, every picture opens, every mask lies in its picture.",
            )
        ],
        group_name=spec.slug,
        tags=tags(spec, "records"),
        owners=OWNERS,
    )
    def records(context: dg.AssetExecutionContext) -> dg.MaterializeResult:  # type: ignore[type-arg]
        from assets.mds.write import first_picture, publish_records  # noqa: PLC0415 - the definitions load without it

        _ready(lambda: require_gate(dataset))
        done = _ready(lambda: publish_records(dataset, mds, gates.records))
        for finding in done.findings:
            context.log.warning(f"{spec.slug}: {finding}")
        for failed in done.verdict.failed:
            context.log.log(logging.ERROR if failed.severity == "error" else logging.WARNING, f"{spec.slug}: {failed.detail}")
        check = events.check_result(done.verdict, "suite", key)
        metadata = events.records_metadata(dataset, done, first_picture(dataset, done))
        return dg.MaterializeResult(metadata=metadata, check_results=[check])

    return records
