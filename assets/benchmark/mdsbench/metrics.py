"""The eleven metrics of one dataset, from its samples and its metadata file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assets.benchmark.mdsbench.metadata import Metadata
from assets.benchmark.mdsbench.scored import Loss, mean, rounded

METRICS = ("SV", "SSC", "SC", "IC", "IV", "INR", "CF", "MSC", "MSJ", "SCJ", "E2E")

CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "structure": ("SV", "SSC"),
    "semantic": ("SC",),
    "content": ("IC", "IV", "INR", "CF"),
    "metadata": ("MSC", "MSJ"),
    "joint": ("SCJ", "E2E"),
}
"""What the paper's five categories hold; the score of one is the plain mean of its metrics."""

CATEGORY_WEIGHTS: Mapping[str, float] = {"structure": 0.15, "semantic": 0.20, "content": 0.25, "metadata": 0.10, "joint": 0.30}

_FLOOR = 1e-6


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From where a sample counts as passed end to end.

    Attributes:
        schema: tau_g, the least g.
        semantic: tau_q, the least q.
        content: tau_f, the least f.
    """

    schema: float = 0.85
    semantic: float = 0.5
    content: float = 0.5


PUBLISHED = Thresholds()

THRESHOLD_STUDY: Mapping[str, tuple[Thresholds, ...]] = {
    "tau_g": tuple(Thresholds(schema=value) for value in (0.75, 0.85, 1.00)),
    "tau_q": tuple(Thresholds(semantic=value) for value in (0.4, 0.5, 0.6)),
    "tau_f": tuple(Thresholds(content=value) for value in (0.4, 0.5, 0.6)),
}
"""The paper's Table 11: one threshold varied at a time."""


@dataclass(frozen=True, slots=True)
class SampleScore:
    """What one sample got.

    Attributes:
        index: Its key in the ground truth.
        annotation: The annotation file it was paired with, relative; empty without one.
        image: The image file of that annotation, relative; empty without one.
        image_valid: The image opens.
        annotated: The annotation is a JSON object.
        paired: p, the image opens, the JSON parses, and `record.image_path` names the image.
        sourced: s, the record's source is the expected one.
        schema, semantic, completeness, validity, non_redundancy, content: g, q, c, d, r, f.
        losses: Every deduction.
    """

    index: str
    annotation: str
    image: str
    image_valid: bool
    annotated: bool
    paired: bool
    sourced: bool
    schema: float = 0.0
    semantic: float = 0.0
    completeness: float = 0.0
    validity: float = 0.0
    non_redundancy: float = 0.0
    content: float = 0.0
    losses: tuple[Loss, ...] = ()

    def passes(self, thresholds: Thresholds = PUBLISHED) -> bool:
        """Whether the sample is right end to end."""
        enough = self.schema >= thresholds.schema and self.semantic >= thresholds.semantic and self.content >= thresholds.content
        return self.paired and self.sourced and enough


def end_to_end(samples: Sequence[SampleScore], thresholds: Thresholds = PUBLISHED) -> float:
    """Share of samples that pass."""
    return mean(float(sample.passes(thresholds)) for sample in samples)


def eleven(samples: Sequence[SampleScore], expected_count: int, meta: Metadata) -> dict[str, float]:
    """The metrics of a dataset, each in [0, 1].

    SC, IC, IV, INR and CF are means over the samples whose source is right; the others over all of them. SV is divided by the
    count the ground truth's header states, as in the evaluator; everything else by the samples it has.
    """
    sourced = [sample for sample in samples if sample.sourced]
    content = rounded(mean(sample.content for sample in sourced))
    parts = (meta.schema.value, meta.semantic.value, meta.content.value)
    return {
        "SV": rounded(sum(sample.schema for sample in samples) / expected_count) if expected_count else 0.0,
        "SSC": mean(sample.schema * sample.semantic for sample in samples),
        "SC": rounded(mean(sample.semantic for sample in sourced)),
        "IC": rounded(mean(sample.completeness for sample in sourced)),
        "IV": rounded(mean(sample.validity for sample in sourced)),
        "INR": rounded(mean(sample.non_redundancy for sample in sourced)),
        "CF": content,
        "MSC": meta.semantic.value,
        "MSJ": _geometric(parts) * content,
        "SCJ": mean(sample.sourced * sample.content for sample in samples),
        "E2E": end_to_end(samples),
    }


def _geometric(parts: tuple[float, float, float]) -> float:
    """Geometric mean with a floor under each part, so that one zero does not hide the others."""
    first, second, third = (max(part, _FLOOR) for part in parts)
    return float((first * second * third) ** (1 / 3))


def macro(rows: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Every metric's plain mean over datasets."""
    listed = list(rows)
    return {name: mean(row[name] for row in listed) for name in METRICS}


def category_scores(metrics: Mapping[str, float]) -> dict[str, float]:
    """The five categories of one row of metrics."""
    return {category: mean(metrics[name] for name in names) for category, names in CATEGORIES.items()}


def weighted_total(metrics: Mapping[str, float]) -> float:
    """The evaluator's weighted total of the five categories."""
    scores = category_scores(metrics)
    return sum(CATEGORY_WEIGHTS[category] * scores[category] for category in CATEGORIES)
