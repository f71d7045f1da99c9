"""What a score says to others: polars tables, plain JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import polars as pl

from assets.benchmark.mdsbench.aggregate import grouped, threshold_study
from assets.benchmark.mdsbench.attribution import attribute, failure_kinds
from assets.benchmark.mdsbench.metrics import METRICS, SampleScore, category_scores, weighted_total
from assets.benchmark.mdsbench.score import DatasetScore, Deduction, ScoreReport
from assets.benchmark.mdsbench.strict import COMPONENTS, StrictScore
from assets.benchmark.mdsbench.values import printable

_DIGITS = 6

_SCORES: dict[str, Any] = dict.fromkeys(METRICS, pl.Float64)
_SAMPLE_SCORES = ("schema", "semantic", "completeness", "validity", "non_redundancy", "content")

SCHEMAS: Mapping[str, dict[str, Any]] = {
    "datasets": {
        "dataset": pl.String,
        "name": pl.String,
        "collection": pl.String,
        "task": pl.String,
        "dimension": pl.String,
        "modality": pl.String,
        "answered": pl.Boolean,
        "samples": pl.Int64,
        **_SCORES,
    },
    "samples": {
        "dataset": pl.String,
        "sample": pl.String,
        "annotation": pl.String,
        "image": pl.String,
        **dict.fromkeys(("image_valid", "annotated", "paired", "sourced", "passed"), pl.Boolean),
        **dict.fromkeys(_SAMPLE_SCORES, pl.Float64),
    },
    "deductions": {
        **dict.fromkeys(("dataset", "sample", "file", "metric", "item"), pl.String),
        "cost": pl.Float64,
        "detail": pl.String,
    },
    "groups": {"by": pl.String, "group": pl.String, "datasets": pl.Int64, "samples": pl.Int64, **_SCORES},
    "attribution": {"category": pl.String, "mean": pl.Float64, "failed": pl.Int64, "datasets": pl.Int64},
    "thresholds": {"name": pl.String, "value": pl.Float64, "e2e": pl.Float64},
    "strict": {
        "dataset": pl.String,
        "samples": pl.Int64,
        "score": pl.Float64,
        "exact": pl.Float64,
        "well_formed": pl.Float64,
        **dict.fromkeys(COMPONENTS, pl.Float64),
    },
    "strict_samples": {
        "dataset": pl.String,
        "sample": pl.String,
        "annotation": pl.String,
        "score": pl.Float64,
        "well_formed": pl.Boolean,
        **dict.fromkeys(COMPONENTS, pl.Float64),
    },
}
"""Columns of every table; scores are in [0, 1], `cost` is what a deduction took from a score of 1."""


def tables(report: ScoreReport) -> dict[str, pl.DataFrame]:
    """Every table of a report, in a fixed order of rows; the two strict ones are there when that score was asked for."""
    rows = _rows(report)
    return {name: pl.DataFrame(rows[name], schema=SCHEMAS[name], orient="row") for name in SCHEMAS if name in rows}


def _rows(report: ScoreReport) -> dict[str, list[dict[str, Any]]]:
    datasets = report.datasets
    rows: dict[str, list[dict[str, Any]]] = {
        "datasets": [_dataset_row(dataset) for dataset in datasets],
        "samples": [_sample_row(dataset.key, sample) for dataset in datasets for sample in dataset.samples],
        "deductions": [_rounded(asdict(deduction)) for deduction in deductions(report)],
        "groups": [_flat(asdict(group)) for group in grouped(datasets)],
        "attribution": [_rounded(asdict(row)) for row in attribute(datasets)],
        "thresholds": [_rounded(asdict(row)) for row in threshold_study(datasets)],
    }
    if report.strict is not None:
        rows["strict"] = [_strict_row(score) for score in report.strict]
        rows["strict_samples"] = [row for score in report.strict for row in _strict_sample_rows(score)]
    return rows


def deductions(report: ScoreReport) -> Iterable[Deduction]:
    """Everything that was lost: by dataset, then what the stricter score found."""
    for dataset in report.datasets:
        yield from dataset.deductions
    for score in report.strict or ():
        for sample in score.samples:
            for loss in sample.losses:
                yield Deduction(
                    score.key,
                    printable(sample.index),
                    printable(sample.annotation),
                    f"strict {loss.metric}",
                    loss.item,
                    loss.cost,
                    loss.detail,
                )


def _rounded(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: round(value, _DIGITS) if isinstance(value, float) else value for key, value in row.items()}


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row whose `metrics` are columns of their own."""
    plain = {key: value for key, value in row.items() if key != "metrics"}
    return _rounded({**plain, **row["metrics"]})


def _dataset_row(dataset: DatasetScore) -> dict[str, Any]:
    return _flat(
        {
            "dataset": dataset.key,
            "name": dataset.name,
            "collection": dataset.group,
            "task": dataset.task,
            "dimension": dataset.dimension,
            "modality": dataset.modality,
            "answered": dataset.answered,
            "samples": len(dataset.samples),
            "metrics": dataset.metrics,
        }
    )


def _sample_row(key: str, sample: SampleScore) -> dict[str, Any]:
    return {
        "dataset": key,
        "sample": printable(sample.index),
        "annotation": printable(sample.annotation),
        "image": printable(sample.image),
        "image_valid": sample.image_valid,
        "annotated": sample.annotated,
        "paired": sample.paired,
        "sourced": sample.sourced,
        "passed": sample.passes(),
        **{name: getattr(sample, name) for name in _SAMPLE_SCORES},
    }


def _strict_row(score: StrictScore) -> dict[str, Any]:
    return _rounded(
        {
            "dataset": score.key,
            "samples": len(score.samples),
            "score": score.score,
            "exact": score.exact,
            "well_formed": score.well_formed,
            **{name: score.component(name) for name in COMPONENTS},
        }
    )


def _strict_sample_rows(score: StrictScore) -> Iterable[dict[str, Any]]:
    for sample in score.samples:
        yield _rounded(
            {
                "dataset": score.key,
                "sample": printable(sample.index),
                "annotation": printable(sample.annotation),
                "score": sample.score,
                "well_formed": sample.well_formed,
                **{name: sample.components.get(name) for name in COMPONENTS},
            }
        )


def payload(report: ScoreReport) -> dict[str, Any]:
    """The report as plain JSON values: no paths of this machine, no times, so that equal input gives equal bytes."""
    rows = _rows(report)
    answered = sum(dataset.answered for dataset in report.datasets)
    return {
        "benchmark": "MDS-Bench",
        "datasets_expected": len(report.datasets),
        "datasets_answered": answered,
        "macro": _rounded(report.macro),
        "macro_answered": _rounded(report.macro_answered),
        "categories": _rounded(category_scores(report.macro)),
        "weighted_total": round(weighted_total(report.macro), _DIGITS),
        "failure_kinds": failure_kinds(report.datasets),
        **rows,
    }
