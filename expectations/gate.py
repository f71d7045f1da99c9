"""The gates: which suites judge what, and their results as verdicts and findings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import polars as pl

from assets.spec import DatasetSpec
from assets.verdict import Check, Verdict
from expectations import boxes, index, landmarks, lesion_sizes, mask_sizes, measurements, raw, records, splits, volumes
from expectations.engine import run_suite
from expectations.results import SuiteResult
from resources.findings import Finding, Severity


class GreatExpectationsGates:
    """Judges every table of a chain by the suites of this package, which are built from the spec."""

    def subjects(
        self, spec: DatasetSpec
    ) -> Callable[[Mapping[str, pl.DataFrame], pl.DataFrame], Mapping[str, Sequence[Finding]]]:
        """The gate for chunks of subjects."""

        def judge(tables: Mapping[str, pl.DataFrame], of_volumes: pl.DataFrame) -> Mapping[str, Sequence[Finding]]:
            found: defaultdict[str, list[Finding]] = defaultdict(list)
            for result in _subject_results(spec, tables, of_volumes):
                for subject, findings in result.findings_by_subject().items():
                    found[subject] += findings
            for_all = [f for f in found.pop("", []) if f.severity is Severity.ERROR]
            for subject in of_volumes["subject"].unique() if for_all else ():
                found[subject] += for_all
            return found

        return judge

    def raw(self, spec: DatasetSpec, table: pl.DataFrame) -> Verdict:
        """Judge the table of raw files."""
        return _verdict(run_suite(raw.suite(spec), raw.view(table)))

    def index(self, spec: DatasetSpec, tables: Mapping[str, pl.DataFrame]) -> Verdict:
        """Judge the dataset; subjects that have not been computed yet are a warning, not a gap in the ledger."""
        ledger = tables["ledger"]
        settled = ledger.filter(pl.col("state") != "pending")
        of_boxes = tables.get("boxes", pl.DataFrame())
        totals = index.summary(spec, tables["volumes"], of_boxes, settled, tables.get("objects"))
        verdict = _verdict(run_suite(index.suite(spec, totals), index.view(totals)))
        n_pending = ledger.filter(kind="subject", state="pending").height
        detail = f"{n_pending} subjects of the raw folder are not computed yet"
        computed = Check("every subject is computed", n_pending == 0, "warning", detail)
        return Verdict((*verdict.checks, computed, _raw_folder_check(tables["findings"])))

    def splits(self, spec: DatasetSpec, table: pl.DataFrame, of_volumes: pl.DataFrame) -> Verdict:
        """Judge the splits, beside the dataset's volumes."""
        return _verdict(run_suite(splits.suite(spec), splits.view(table, of_volumes)))

    def records(self, spec: DatasetSpec, table: pl.DataFrame) -> Verdict:
        """Judge MDS-Bench's records."""
        return _verdict(run_suite(records.suite(spec), records.view(table)))


def _subject_results(spec: DatasetSpec, tables: Mapping[str, pl.DataFrame], of_volumes: pl.DataFrame) -> Sequence[SuiteResult]:
    results = []
    if "volumes" in tables:
        results.append(run_suite(volumes.suite(spec), volumes.view(tables["volumes"])))
    for step, module in (("boxes", boxes), ("lesion_sizes", lesion_sizes), ("landmarks", landmarks)):
        if step in tables:
            results.append(run_suite(module.suite(spec), module.view(tables[step], of_volumes)))
    if "measurements" in tables:
        view = measurements.view(tables["measurements"], of_volumes, tables["landmarks"])
        results.append(run_suite(measurements.suite(spec), view))
    if "mask_sizes" in tables:
        of_boxes = tables.get("boxes")
        view = mask_sizes.view(tables["mask_sizes"], of_volumes, of_boxes)
        results.append(run_suite(mask_sizes.suite(spec, with_boxes=of_boxes is not None), view))
    return results


def _raw_folder_check(findings: pl.DataFrame) -> Check:
    """An error that belongs to no subject closes the gate.

    A folder that cannot be listed may hide subjects, and a table of objects that names no image has lost them all.
    """
    errors = findings.filter(pl.col("subject").is_null(), severity=Severity.ERROR.value)
    met = "; ".join(f"{file}: {detail}" for file, detail in errors.select("file", "detail").iter_rows())
    return Check("the raw folder and its tables could be used throughout", errors.is_empty(), "error", met or "they were")


def _verdict(result: SuiteResult) -> Verdict:
    severity: dict[bool, Literal["warning", "error"]] = {True: "error", False: "warning"}
    checks = [
        Check(r.expectation.sentence, r.success, severity[r.expectation.severity is Severity.ERROR], r.message)
        for r in result.results
    ]
    return Verdict(tuple(checks))
