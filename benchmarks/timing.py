"""Interleaved timing, and the table."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Literal


@dataclass(frozen=True)
class Cost:
    """What a task takes.

    Attributes:
        wall: Seconds on the clock.
        cpu: Seconds of all threads together; steadier than `wall` where the machine has other work.
    """

    wall: float
    cpu: float


def cost(task: Callable[[], object]) -> Cost:
    """Of one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    task()
    return Cost(time.perf_counter() - wall, time.process_time() - cpu)


def interleaved(
    tasks: Mapping[str, Callable[[], object]],
    rounds: Mapping[str, int],
    before: Callable[[], object] = lambda: None,
) -> dict[str, Cost]:
    """Median cost of every task; round by round, each task that still has rounds left runs once.

    Args:
        tasks: What to run, in this order.
        rounds: How often, by task.
        before: Runs before every task, outside of the measurement.
    """
    taken: dict[str, list[Cost]] = {name: [] for name in tasks}
    for turn in range(max(rounds.values())):
        for name, task in tasks.items():
            if turn < rounds[name]:
                before()
                taken[name].append(cost(task))
    return {n: Cost(median(c.wall for c in costs), median(c.cpu for c in costs)) for n, costs in taken.items()}


@dataclass(frozen=True)
class Line:
    """One line of the table; without a target it only informs."""

    what: str
    value: float
    unit: str
    target: float | None = None
    better: Literal["more", "less"] = "more"
    note: str = ""

    @property
    def met(self) -> bool:
        if self.target is None:
            return True
        return self.value >= self.target if self.better == "more" else self.value <= self.target

    def __str__(self) -> str:
        sign = ">=" if self.better == "more" else "<="
        target = "" if self.target is None else f"{sign} {self.target:g}"
        verdict = "" if self.target is None else ("met" if self.met else "MISSED")
        return f"{self.what:<58} {_number(self.value):>8} {self.unit:<4} {target:>8}  {verdict:<7} {self.note}".rstrip()


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


HEADING = f"{'what':<58} {'value':>8} {'':<4} {'target':>8}  verdict"
