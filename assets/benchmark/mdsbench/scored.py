"""A score that knows what it lost: its value and one `Loss` for every deduction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Loss:
    """One deduction from one score.

    Attributes:
        metric: Short name of the metric it counts in; `all` when the whole sample or dataset is lost.
        item: The check or field, e.g. `expected_extra.mask_file`.
        cost: What it took from a score of 1; 0 for a remark.
        detail: One sentence with what was met and what was expected.
    """

    metric: str
    item: str
    cost: float
    detail: str


@dataclass(frozen=True, slots=True)
class Scored:
    """A value in [0, 1], rounded as the public evaluator rounds it, and what is missing to 1."""

    value: float
    losses: tuple[Loss, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """One yes-or-no question of a score.

    Attributes:
        item: Its name.
        passed: The answer.
        detail: What was met and what was expected, for when it failed.
    """

    item: str
    passed: bool
    detail: str = ""


def share(metric: str, checks: Sequence[Check], *, weight: float = 1.0) -> Scored:
    """`weight` times the share of checks passed, each of equal weight, rounded to 4 decimals; 0 without any check."""
    if not checks:
        return Scored(0.0, (Loss(metric, "nothing to check", weight, "the ground truth asks for nothing here"),))
    each = weight / len(checks)
    losses = tuple(Loss(metric, check.item, each, check.detail) for check in checks if not check.passed)
    return Scored(rounded(weight * (len(checks) - len(losses)) / len(checks)), losses)


def mean(values: Iterable[float]) -> float:
    """The plain mean; 0 of nothing."""
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else 0.0


def rounded(value: float) -> float:
    """The rounding the public evaluator applies at every step."""
    return round(value, 4)
