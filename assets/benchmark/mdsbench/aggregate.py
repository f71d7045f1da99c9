"""Means over groups of datasets, and under other thresholds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from assets.benchmark.mdsbench.metrics import THRESHOLD_STUDY, end_to_end, macro
from assets.benchmark.mdsbench.score import DatasetScore
from assets.benchmark.mdsbench.scored import mean
from assets.benchmark.mdsbench.values import text

_MODALITY_WORDS = (
    ("CT", ("ct", "computed tomography")),
    ("MRI", ("mri", "mr", "magnetic")),
    ("X-ray", ("xray", "x-ray", "mammography", "radiography")),
    ("ultrasound", ("ultrasound", "us", "echo")),
    ("ophthalmic", ("fundus", "oct", "ophthalm")),
    ("microscopy", ("microscopy", "histopathology", "pathology")),
    ("endoscopy", ("endoscopy", "colonoscopy")),
)
_SHORT = 3
"""Words up to this length must be the whole modality or begin it; longer ones may stand anywhere in it."""

OTHER = "other"


@dataclass(frozen=True, slots=True)
class GroupScore:
    """The eleven, averaged over the datasets of one group.

    Attributes:
        by: What was grouped by: modality, task, dimension or collection.
        group: Which group.
        datasets: How many datasets it holds.
        samples: How many samples.
        metrics: The means.
    """

    by: str
    group: str
    datasets: int
    samples: int
    metrics: dict[str, float]


@dataclass(frozen=True, slots=True)
class ThresholdScore:
    """Mean E2E under one changed threshold, a cell of the paper's Table 11."""

    name: str
    value: float
    e2e: float


def modality_group(modality: str) -> str:
    """The family of a modality; `other` for what belongs to none, such as dermoscopy or hyperspectral imaging."""
    plain = text(modality)
    for family, words in _MODALITY_WORDS:
        if any(plain.startswith(word) if len(word) <= _SHORT else word in plain for word in words):
            return family
    return OTHER


GROUPINGS: Mapping[str, Callable[[DatasetScore], str]] = {
    "modality": lambda dataset: modality_group(dataset.modality),
    "task": lambda dataset: dataset.task,
    "dimension": lambda dataset: dataset.dimension,
    "collection": lambda dataset: dataset.group or "(none)",
}


def grouped(datasets: Sequence[DatasetScore]) -> tuple[GroupScore, ...]:
    """Every group of every grouping, groups in alphabetical order."""
    rows = []
    for by, group_of in GROUPINGS.items():
        for group in sorted({group_of(dataset) for dataset in datasets}):
            members = [dataset for dataset in datasets if group_of(dataset) == group]
            count = sum(len(dataset.samples) for dataset in members)
            rows.append(GroupScore(by, group, len(members), count, macro(dataset.metrics for dataset in members)))
    return tuple(rows)


def threshold_study(datasets: Sequence[DatasetScore]) -> tuple[ThresholdScore, ...]:
    """Mean E2E with each threshold varied alone."""
    field_of = {"tau_g": "schema", "tau_q": "semantic", "tau_f": "content"}
    return tuple(
        ThresholdScore(
            name, getattr(thresholds, field_of[name]), mean(end_to_end(dataset.samples, thresholds) for dataset in datasets)
        )
        for name, varied in THRESHOLD_STUDY.items()
        for thresholds in varied
    )
