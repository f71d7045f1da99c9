"""What `medfoundry status` and `medfoundry why` say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from assets.counts import counts
from assets.dataset import Dataset, Survey, vanished
from assets.incremental import NEVER, UNREADABLE
from assets.index import NotReadyError, index_key, index_tables, make_splits, require_gate, splits_key
from assets.mds.state import FailedAttempt, records_state
from assets.raw import RawDataMissingError
from assets.spec_mds import Mds
from assets.tables import BOXES
from resources.findings import Severity
from resources.layout import safe_name
from resources.manifest import Manifest
from resources.ome_zarr import StoreDamagedError
from resources.store import DatasetRecord, NotPublishedError

_MOST_FINDINGS = 10
"""So many findings about records are told to a person."""


def status(dataset: Dataset) -> dict[str, Any]:
    """Everything that is recorded of a dataset, as plain values."""
    spec, store = dataset.spec, dataset.store
    manifests, record = store.manifests(), store.dataset_record()
    quarantined = {m.subject: [str(f.finding()) for f in m.errors()] for m in manifests.values() if m.state == "quarantined"}
    return {
        "dataset": spec.slug,
        "name": f"{spec.name} {spec.version}",
        "synthetic": any(m.synthetic for m in manifests.values()),
        "folder": str(store.root),
        "raw": {"folder": str(dataset.raw_root), "present": _holds_something(dataset.raw_root)},
        "subjects": {
            "expected": spec.expect.subjects,
            "published": sum(m.state == "published" for m in manifests.values()),
            "quarantined": len(quarantined),
            "vanished": len(_vanished(dataset, manifests)),
            "unreadable": len(store.unreadable(manifests)),
        },
        "quarantined": quarantined,
        "rows": {name: table["rows"] for name, table in sorted(record.tables.items())},
        "behind": _behind(dataset),
        "counts": _counts(dataset),
        "gate": record.facts.get("gate"),
        "splits": _splits(dataset),
        "records": _records(dataset),
        "findings": record.facts.get("findings", []),
        "finding_counts": _finding_counts(dataset),
    }


def _behind(dataset: Dataset) -> dict[str, str]:
    """Tables of the whole dataset that are there and not current -> why, as after `forget` or a run over some subjects."""
    if dataset.store.dataset_record() == DatasetRecord():
        return {}
    return {step: reason for one in why_dataset(dataset) for step, reason in one["stale"].items() if step != "records"}


def _vanished(dataset: Dataset, manifests: Mapping[str, Manifest]) -> tuple[str, ...]:
    """Subjects whose raw files are gone; a raw folder that is missing as a whole withdraws nobody."""
    try:
        unreadable = dataset.store.unreadable(manifests)
        return vanished(dataset.discover(), manifests, unreadable) if manifests or unreadable else ()
    except RawDataMissingError:
        return ()


def _splits(dataset: Dataset) -> dict[str, Any]:
    """Why subjects are not divided, and what there is to say where they are; nothing of either before the gate is judged."""
    if dataset.store.dataset_record().facts.get("gate") is None:
        return {"refused": None, "findings": []}
    try:
        require_gate(dataset)
        _, findings = make_splits(dataset)
    except (NotReadyError, NotPublishedError, StoreDamagedError) as error:
        return {"refused": str(error), "findings": []}
    return {"refused": None, "findings": [str(finding) for finding in findings]}


def _records(dataset: Dataset) -> dict[str, Any] | None:
    """What is known of the records of MDS-Bench; None where the spec has no `mds` block."""
    if dataset.spec.mds is None:
        return None
    found = records_state(dataset, dataset.spec.mds)
    return {
        "state": found.state,
        "records": found.n_records,
        "targets": found.n_targets,
        "findings": [str(finding) for finding in found.findings],
        "failed": _failed(found.failed) if found.failed is not None else None,
    }


def _failed(attempt: FailedAttempt) -> dict[str, Any]:
    return {"reason": str(attempt), "findings": [str(finding) for finding in attempt.findings]}


def _finding_counts(dataset: Dataset) -> list[dict[str, Any]]:
    """How many findings there are of every code and severity, the gravest and then the most first."""
    try:
        table = dataset.store.read_table("findings")
    except (NotPublishedError, StoreDamagedError):
        return []
    counted = table.group_by("code", "severity").len("findings").rows(named=True)
    gravest = [severity.value for severity in (Severity.ERROR, Severity.WARNING, Severity.INFO)]
    return sorted(counted, key=lambda row: (gravest.index(row["severity"]), -row["findings"], row["code"]))


def _holds_something(folder: Path) -> bool:
    return folder.is_dir() and next(folder.iterdir(), None) is not None


def _counts(dataset: Dataset) -> list[dict[str, Any]]:
    """Published totals beside those present."""
    store, tables = dataset.store, dataset.store.dataset_record().tables
    if not dataset.spec.expect.counts or "volumes" not in tables:
        return []
    boxes = store.read_table("boxes") if "boxes" in tables else pl.DataFrame(schema=dict(BOXES))
    found = counts(dataset.spec, store.read_table("volumes"), boxes)
    return [{"count": f"{c.name}, {c.key}", "expected": c.expected, "present": c.present} for c in found]


def status_lines(content: Mapping[str, Any]) -> Iterator[str]:
    """The same for a person."""
    marked = "  SYNTHETIC: made-up data (phantoms)" if content["synthetic"] else ""
    yield f"{content['name']} ({content['dataset']}){marked}"
    raw = content["raw"]
    yield f"raw data: {raw['folder']}" + (
        "" if raw["present"] else f" is missing or empty; try `medfoundry download {content['dataset']}`"
    )
    yield from _subject_lines(content)
    for name, rows in content["rows"].items():
        yield f"  {name + '.parquet':<22} {rows:>9} rows"
    if content["behind"]:
        said = f"tables are behind the subjects ({', '.join(content['behind'])})"
        yield f"{said}: the next run makes them anew, `medfoundry why {content['dataset']}` says why"
    for count in content["counts"]:
        yield f"  {count['count']}: {count['present']} of {count['expected']} in the full release"
    for finding in content["findings"]:
        yield f"  [{finding['code']}] {finding['file']} {finding['detail']}"
    if content["finding_counts"]:
        said = ", ".join(f"{row['findings']} {row['code']} ({row['severity']})" for row in content["finding_counts"])
        yield f"findings: {said}; each is in {content['folder']}/findings.parquet"
    yield from _gate_lines(content["gate"])
    if content["splits"]["refused"] is not None:
        yield f"splits: refused: {content['splits']['refused']}"
    for finding in content["splits"]["findings"]:
        yield f"splits: {finding}"
    if content["records"] is not None:
        yield from _records_lines(content["records"])
    yield f"products: {content['folder']}"


def _subject_lines(content: Mapping[str, Any]) -> Iterator[str]:
    subjects = content["subjects"]
    yield (
        f"subjects: {subjects['published']} published, {subjects['quarantined']} quarantined; "
        f"the full release has {subjects['expected'] or 'an unstated number'}"
    )
    if subjects["vanished"]:
        said = f"raw files of {subjects['vanished']} of them are gone; the next run withdraws them"
        yield f"  {said}; `medfoundry why {content['dataset']}` names them"
    if subjects["unreadable"]:
        said = f"what is recorded of {subjects['unreadable']} more cannot be read (damaged, or written by another version)"
        yield f"  {said}; the next run makes them anew"
    for subject, errors in content["quarantined"].items():
        yield f"  quarantined {subject}: {'; '.join(errors)}"


def _records_lines(records: Mapping[str, Any]) -> Iterator[str]:
    """The state, and of the last attempt or else of what is in place why targets have no record."""
    failed = records["failed"]
    amount = "" if records["state"] == "not made" else f", {records['records']} of {records['targets']} targets have one"
    reason = f"; {failed['reason']}" if failed else ""
    yield f"records: {records['state']}{amount}{reason}"
    findings = (failed or records)["findings"]
    for finding in findings[:_MOST_FINDINGS]:
        yield f"  {finding}"
    if len(findings) > _MOST_FINDINGS:
        yield f"  and {len(findings) - _MOST_FINDINGS} more findings; --json lists all"


def _gate_lines(gate: Mapping[str, Any] | None) -> Iterator[str]:
    if gate is None:
        yield "gate: not judged yet"
        return
    yield f"gate: {'open' if gate['passed'] else 'CLOSED'}, {len(gate['checks'])} expectations"
    for check in gate["checks"]:
        if not check["passed"]:
            yield f"  {check['severity']}: {check['detail']}"


def why(found: Survey, subject: str | None = None) -> list[dict[str, Any]]:
    """For the subject, or for all that are not as they should be: step -> reason; of a vanished one the step is `raw`.

    Nothing where the subject has neither raw files nor products.
    """
    reasons = {plan.subject: dict(plan.stale) for plan in found.plans.values()}
    reasons |= {gone: {"raw": "raw files are gone; the next run withdraws it"} for gone in found.vanished}
    return [
        {"subject": name, "state": _state(found, name), "stale": stale}
        for name, stale in reasons.items()
        if (stale if subject is None else name == subject)
    ]


def why_dataset(dataset: Dataset) -> list[dict[str, Any]]:
    """The tables and records of the whole dataset that are not current, in the form of `why`."""
    spec, store = dataset.spec, dataset.store
    if store.dataset_record() == DatasetRecord():
        steps = ("index", "splits", *(("records",) if spec.mds is not None else ()))
        reason = UNREADABLE if store.record_is_damaged else NEVER
        return [{"subject": "(dataset)", "state": "no record", "stale": dict.fromkeys(steps, reason)}]
    reason = "made from other subjects, another spec or code, or a table is missing"
    stale = {}
    try:
        if not store.tables_current("index", index_key(dataset), index_tables(dataset)):
            stale["index"] = reason
        if not store.tables_current("splits", splits_key(dataset), ["splits"]):
            stale["splits"] = _splits(dataset)["refused"] or reason
        if spec.mds is not None:
            stale |= _stale_records(dataset, spec.mds, reason)
    except NotReadyError as error:
        stale = {"index": str(error)}
    return [{"subject": "(dataset)", "state": "tables", "stale": stale}] if stale else []


def _stale_records(dataset: Dataset, mds: Mds, reason: str) -> dict[str, str]:
    found = records_state(dataset, mds)
    if found.state != "made":
        return {"records": reason if found.failed is None else str(found.failed)}
    return {} if _scored(dataset, mds) else {"score": reason}


def _scored(dataset: Dataset, mds: Mds) -> bool:
    from assets.mds.score import score_current  # noqa: PLC0415 - loads the scorer, which most commands do without

    return score_current(dataset, mds)


def _state(found: Survey, subject: str) -> str:
    manifest = found.manifests.get(subject)
    if manifest is None:
        return "record unreadable" if safe_name(subject) in found.unreadable else NEVER
    if manifest.state == "published":
        return "published"
    return "quarantined: " + "; ".join(str(f.finding()) for f in manifest.errors())


def why_lines(content: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The same for a person."""
    if not content:
        yield "everything is current"
    for entry in content:
        yield f"{entry['subject']} ({entry['state']})"
        if not entry["stale"]:
            yield "  current: nothing to compute"
        for step, reason in entry["stale"].items():
            yield f"  {step}: {reason}"
