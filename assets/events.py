"""What the chain says to Dagster: metadata of materializations, results of checks, events of single subjects."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dagster as dg
import polars as pl
from dagster._core.definitions.asset_checks.asset_check_evaluation import AssetCheckEvaluationTargetMaterializationData
from dagster._core.definitions.data_version import NULL_EVENT_POINTER

from assets.dataset import Dataset, Survey
from assets.incremental import SubjectPlan, code_version
from assets.spec import DatasetSpec
from assets.tables import SUBJECT_TABLES
from assets.verdict import Verdict
from resources.findings import Code, Finding, Severity
from resources.layout import RECORDS, preview_path, subject_table_path
from resources.manifest import Manifest

if TYPE_CHECKING:
    from assets.build import Outcome
    from assets.mds.write import Published

Metadata = dict[str, Any]

RAW_VERSION = "raw"
"""Data version of every survey of a raw folder: which subjects it makes stale is for their keys to say, not for Dagster."""

_MOST_ROWS = 50


def finding_json(finding: Finding) -> dict[str, str]:
    """A finding as it is kept among the dataset's facts."""
    return {"code": finding.code, "severity": finding.severity, "file": finding.file, "detail": finding.detail}


def finding_from_json(content: Mapping[str, str]) -> Finding:
    """The finding that was kept."""
    return Finding(Code(content["code"]), Severity(content["severity"]), content["file"], content["detail"])


def column_schema(step: str) -> dg.TableSchema:
    """The columns of a step's table, for the UI."""
    columns = [dg.TableColumn(name, str(kind)) for name, kind in SUBJECT_TABLES[step].items()]
    return dg.TableSchema(columns=columns)


def restrict(plan: SubjectPlan, selected: Sequence[str]) -> SubjectPlan:
    """The part of a plan that lies in the selected steps."""
    return replace(plan, stale={step: reason for step, reason in plan.stale.items() if step in selected})


def _synthetic(*, synthetic: bool) -> Metadata:
    return {"synthetic": dg.MetadataValue.text("made-up data (phantoms), not a clinical dataset")} if synthetic else {}


def findings_table(findings: Sequence[tuple[str, Finding]]) -> dg.MetadataValue:
    """Findings as a table of the UI, the gravest first."""
    order = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}
    ranked = sorted(findings, key=lambda pair: order[pair[1].severity])[:_MOST_ROWS]
    records = [
        dg.TableRecord(
            {"subject": subject, "severity": f.severity.value, "code": f.code.value, "file": f.file, "detail": f.detail}
        )
        for subject, f in ranked
    ]
    columns = [dg.TableColumn(name, "string") for name in ("subject", "severity", "code", "file", "detail")]
    return dg.MetadataValue.table(records, dg.TableSchema(columns=columns))


def raw_metadata(found: Survey, table: pl.DataFrame) -> Metadata:
    """Of the root asset."""
    counts = dict(table.group_by("state").len().iter_rows())
    return {
        "dagster/row_count": table.height,
        "subjects": len(found.tree.subjects),
        "subjects_expected": found.dataset.spec.expect.subjects or 0,
        "subjects_to_compute": len(found.stale),
        "files": {state: int(counts.get(state, 0)) for state in ("used", "ignored", "unclaimed")},
        "raw_folder": dg.MetadataValue.path(str(found.tree.root)),
        "findings": findings_table([("", f) for f in found.tree.findings]),
        **_synthetic(synthetic=found.tree.synthetic),
    }


def subject_metadata(dataset: Dataset, step: str, manifest: Manifest, outcome: Outcome | None) -> Metadata:
    """Of one subject's materialization of one step; the overlay picture comes with its volumes."""
    record, root = manifest.steps[step], dataset.store.root
    computed = outcome is not None and step in outcome.steps
    metadata: Metadata = {
        "dagster/row_count": record.n_rows,
        "table": dg.MetadataValue.path(str(root / subject_table_path(step, manifest.subject))),
        "unchanged": not computed,
        "key": record.key,
        "n_findings": len(manifest.findings),
        "bytes": sum(f.size for f in record.files),
        **_synthetic(synthetic=manifest.synthetic),
    }
    if outcome is not None and computed:
        metadata["seconds"] = round(outcome.seconds[step], 4)
    if step == "volumes":
        if manifest.findings:
            metadata["findings"] = findings_table([(manifest.subject, r.finding()) for r in manifest.findings])
        picture = root / preview_path(manifest.subject)
        if picture.exists():
            metadata["overlay"] = _embedded("overlay", picture.read_bytes())
    return metadata


def version_tags(spec: DatasetSpec, step: str, manifest: Manifest) -> dict[str, str]:
    """Tags that let Dagster tell whether a subject is stale."""
    upstream = (spec.slug, RAW_VERSION) if step == "volumes" else (f"{spec.slug}/volumes", manifest.steps["volumes"].key)
    return {
        "dagster/data_version": manifest.steps[step].key,
        "dagster/data_version_is_user_provided": "true",
        "dagster/code_version": code_version(spec, step),
        f"dagster/input_data_version/{upstream[0]}": upstream[1],
        f"dagster/input_event_pointer/{upstream[0]}": NULL_EVENT_POINTER,
    }


def summary_metadata(found: Survey, step: str, manifests: Mapping[str, Manifest | None], outcomes: Sequence[Outcome]) -> Metadata:
    """Of a step over the whole dataset."""
    present = [m for m in manifests.values() if m is not None]
    published = [m for m in present if m.state == "published"]
    computed = [o for o in outcomes if step in o.steps]
    errors = [(m.subject, r.finding()) for m in present for r in m.errors()]
    return {
        "dagster/row_count": sum(m.steps[step].n_rows for m in published if step in m.steps),
        "subjects_published": len(published),
        "subjects_quarantined": len(present) - len(published),
        "subjects_computed": len(computed),
        "seconds": round(sum(o.seconds.get(step, 0.0) for o in computed), 3),
        "n_findings": sum(len(m.findings) for m in present),
        "quarantined": findings_table(errors),
        **_synthetic(synthetic=found.tree.synthetic),
    }


def index_metadata(dataset: Dataset, *, unchanged: bool) -> Metadata:
    """Of the index asset."""
    store = dataset.store
    record = store.dataset_record()
    ledger = store.read_table("ledger").filter(kind="subject")
    counts = dict(ledger.group_by("state").len().iter_rows())
    rows = {name: int(table["rows"]) for name, table in record.tables.items()}
    findings = store.read_table("findings")
    listed = [
        (str(subject or ""), Finding(Code(code), Severity(severity), str(file or ""), detail))
        for _, subject, code, severity, file, detail, _ in findings.iter_rows()
    ]
    return {
        "dagster/row_count": sum(n for name, n in rows.items() if name in SUBJECT_TABLES),
        "rows": rows,
        "subjects": {state: int(counts.get(state, 0)) for state in ("used", "quarantined", "pending")},
        "unchanged": unchanged,
        "findings": findings_table(listed),
        "folder": dg.MetadataValue.path(str(store.root)),
        **_synthetic(synthetic=bool(ledger["synthetic"].any())),
    }


def splits_metadata(dataset: Dataset, table: pl.DataFrame, findings: Sequence[Finding]) -> Metadata:
    """Of the splits asset."""
    counts = dict(table.group_by("split").len().iter_rows())
    return {
        "dagster/row_count": table.height,
        "train": int(counts.get("train", 0)),
        "test": int(counts.get("test", 0)),
        "findings": findings_table([("", f) for f in findings]),
        "table": dg.MetadataValue.path(str(dataset.store.root / "splits.parquet")),
        **_synthetic(synthetic=bool(table["synthetic"].any())),
    }


def records_metadata(dataset: Dataset, done: Published, picture: bytes) -> Metadata:
    """Of the records asset: how many there are, why others are missing, and the first picture, small, if there is one."""
    metadata: Metadata = {
        "dagster/row_count": len(done.indices),
        "targets": done.n_targets,
        "listing": done.listing or "none: the first files in order of their paths",
        "unchanged": done.unchanged,
        "findings": findings_table([("", f) for f in done.findings]),
        "folder": dg.MetadataValue.path(str(dataset.store.root / RECORDS)),
    }
    return metadata | ({"picture": _embedded("record", picture)} if picture else {})


def _embedded(name: str, png: bytes) -> dg.MetadataValue:
    return dg.MetadataValue.md(f"![{name}](data:image/png;base64,{base64.b64encode(png).decode()})")


def check_result(verdict: Verdict, name: str, key: Sequence[str]) -> dg.AssetCheckResult:
    """A verdict as the result of an asset check; warnings alone do not block."""
    failed = verdict.failed
    severity = dg.AssetCheckSeverity.WARN if verdict.passed else dg.AssetCheckSeverity.ERROR
    columns = [dg.TableColumn(n, "string") for n in ("check", "passed", "severity", "detail")]
    records = [
        dg.TableRecord({"check": c.name, "passed": str(c.passed), "severity": c.severity, "detail": c.detail})
        for c in verdict.checks
    ]
    return dg.AssetCheckResult(
        passed=not failed,
        check_name=name,
        asset_key=list(key),
        severity=severity,
        description="; ".join(c.detail for c in failed) or f"{len(verdict.checks)} expectations hold",
        metadata={"checks": dg.MetadataValue.table(records, dg.TableSchema(columns=columns))},
    )


def quarantine_check(key: Sequence[str], manifests: Mapping[str, Manifest | None], bad: Sequence[str]) -> dg.AssetCheckResult:
    """The whole-dataset result of a per-subject check: a warning that names the quarantined; the gate decides."""
    errors = [(s, r.finding()) for s in bad if (m := manifests[s]) is not None for r in m.errors()]
    return dg.AssetCheckResult(
        passed=not bad,
        check_name="suite",
        asset_key=list(key),
        severity=dg.AssetCheckSeverity.WARN,
        description=f"{len(bad)} of {len(manifests)} subjects are quarantined",
        metadata={"quarantined": findings_table(errors)},
    )


def failed_evaluation(
    instance: dg.DagsterInstance, key: dg.AssetKey, subject: str, manifest: Manifest
) -> dg.AssetCheckEvaluation:
    """A failed check of one subject, with what was found.

    The UI counts an evaluation of a partition only when it points at the newest materialization that partition could have.
    """
    latest = instance.get_latest_materialization_event(key)
    target = None
    if latest is not None and latest.run_id:
        record = instance.fetch_materializations(key, limit=1).records[0]
        target = AssetCheckEvaluationTargetMaterializationData(
            storage_id=record.storage_id, run_id=record.run_id, timestamp=record.timestamp
        )
    errors = [(subject, r.finding()) for r in manifest.errors()]
    return dg.AssetCheckEvaluation(
        asset_key=key,
        check_name="suite",
        passed=False,
        severity=dg.AssetCheckSeverity.ERROR,
        description="; ".join(str(f) for _, f in errors),
        metadata={"findings": findings_table(errors), "subject": dg.MetadataValue.text(subject)},
        target_materialization_data=target,
        partition=subject,
    )
