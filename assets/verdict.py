"""What a gate says: which checks it made, which failed, and about whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Check:
    """One thing that was checked.

    Attributes:
        name: Short name.
        passed: Whether it holds.
        severity: What it means when it does not: an `error` closes the gate.
        detail: One sentence with the numbers met.
    """

    name: str
    passed: bool
    severity: Literal["warning", "error"]
    detail: str


@dataclass(frozen=True)
class Verdict:
    """All checks of one gate."""

    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether no check of severity `error` failed."""
        return not any(c.severity == "error" and not c.passed for c in self.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed, warnings included."""
        return tuple(c for c in self.checks if not c.passed)

    def to_json(self) -> dict[str, Any]:
        """The form that is stored with the products."""
        return {"passed": self.passed, "checks": [asdict(c) for c in self.checks]}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Verdict:
        """The verdict that was stored."""
        return cls(tuple(Check(**check) for check in content["checks"]))
