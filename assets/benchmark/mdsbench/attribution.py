"""Where the points were lost: by category over datasets, and by kind of failure over samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from assets.benchmark.mdsbench.metrics import CATEGORIES, SampleScore, category_scores
from assets.benchmark.mdsbench.score import DatasetScore
from assets.benchmark.mdsbench.scored import mean

FAILURE_BELOW = 0.5
"""A dataset fails in a category when its score there is below this."""


@dataclass(frozen=True, slots=True)
class CategoryFailures:
    """One row of the error attribution, the paper's Table 3.

    Attributes:
        category: structure, semantic, content, metadata or joint.
        mean: Its mean over datasets.
        failed: Datasets below one half.
        datasets: Of so many.
    """

    category: str
    mean: float
    failed: int
    datasets: int


def attribute(datasets: Sequence[DatasetScore]) -> tuple[CategoryFailures, ...]:
    """Mean and failures of every category."""
    rows = [category_scores(dataset.metrics) for dataset in datasets]
    return tuple(
        CategoryFailures(name, mean(row[name] for row in rows), sum(row[name] < FAILURE_BELOW for row in rows), len(rows))
        for name in CATEGORIES
    )


def _items(sample: SampleScore, metric: str) -> frozenset[str]:
    return frozenset(loss.item for loss in sample.losses if loss.metric == metric)


def _omits(sample: SampleScore) -> bool:
    """Task and label are right, yet fields that are asked for are not there."""
    if _items(sample, "SC") & {"task_type", "class"}:
        return False
    required = {"record_required", "sample_required_fields", "sample_non_missing_fields", "task_branch_required"}
    return sample.completeness < 1 or sample.validity < 1 or bool(_items(sample, "SV") & required)


FAILURE_KINDS: Mapping[str, Callable[[SampleScore], bool]] = {
    "no output": lambda sample: not sample.annotated or not sample.image_valid,
    "source grounding": lambda sample: sample.annotated and not sample.sourced,
    "semantic confusion": lambda sample: "task_type" in _items(sample, "SC"),
    "content omission": lambda sample: sample.annotated and _omits(sample),
    "unsupported filling": lambda sample: bool(_items(sample, "SV") & {"spatial_branch_exclusive", "task_branch_exclusive"}),
}
"""The kinds of failure the paper names, as we read them; a sample may show several."""


def failure_kinds(datasets: Iterable[DatasetScore]) -> dict[str, int]:
    """Number of samples that show each kind of failure."""
    samples = [sample for dataset in datasets for sample in dataset.samples]
    return {kind: sum(shows(sample) for sample in samples) for kind, shows in FAILURE_KINDS.items()}
