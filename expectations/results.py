"""What running a suite gives: which expectations failed, in which subjects, with which values."""

from __future__ import annotations

from dataclasses import dataclass

from expectations.suite import COLUMNS_TYPE, Expectation
from resources.findings import Code, Finding, Severity


@dataclass(frozen=True, slots=True)
class Fault:
    """One subject's part in a failure.

    Attributes:
        subject: The subject; empty when the failure is that of a table that names none.
        n_unexpected: How many of its rows failed; 0 when the failure is not one of rows.
        examples: The first of these rows: where they stand, and the values met.
    """

    subject: str
    n_unexpected: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExpectationResult:
    """What became of one expectation.

    Attributes:
        expectation: What was asked.
        success: Whether it held.
        faults: One per subject at fault, in order of the first bad row; empty on success.
        problem: Why it could not be evaluated, or what is wrong with the table as a whole; else empty.
    """

    expectation: Expectation
    success: bool
    faults: tuple[Fault, ...] = ()
    problem: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it reads."""
        return self.expectation.columns

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects at fault."""
        return tuple(fault.subject for fault in self.faults)

    @property
    def n_unexpected(self) -> int:
        """How many rows failed."""
        return sum(fault.n_unexpected for fault in self.faults)

    @property
    def examples(self) -> tuple[str, ...]:
        """The first bad rows of the first subject at fault."""
        return self.faults[0].examples if self.faults else ()

    @property
    def message(self) -> str:
        """One sentence on the whole failure; the expectation alone when it held."""
        if self.success:
            return self.expectation.sentence
        return self._say(self.n_unexpected, self.examples)

    def message_about(self, fault: Fault) -> str:
        """One sentence on one subject's part in it."""
        return self._say(fault.n_unexpected, fault.examples)

    def _say(self, n_rows: int, examples: tuple[str, ...]) -> str:
        asked = f"expected that {self.expectation.sentence} ({', '.join((self.expectation.type, *self.columns))})"
        met = self.problem or f"{n_rows} {'row does' if n_rows == 1 else 'rows do'} not comply"
        return f"{asked}: {met}" + (f", e.g. {'; '.join(examples)}" if examples else "")


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """What became of a suite.

    Attributes:
        suite: Its name.
        table: The table's name.
        n_rows: How many rows were looked at.
        results: One per expectation, in the suite's order.
    """

    suite: str
    table: str
    n_rows: int
    results: tuple[ExpectationResult, ...]

    @property
    def success(self) -> bool:
        """Whether every expectation of severity error held; a failed warning does not refuse anything."""
        return all(r.success or r.expectation.severity is not Severity.ERROR for r in self.results)

    @property
    def failed(self) -> tuple[ExpectationResult, ...]:
        """All that did not hold, warnings included."""
        return tuple(r for r in self.results if not r.success)

    def findings_by_subject(self) -> dict[str, list[Finding]]:
        """Subject -> what is wrong with it; the empty name holds what no subject can be blamed for.

        Where the columns are wrong, the expectations that could not be evaluated for that reason are not repeated.
        """
        found: dict[str, list[Finding]] = {}
        wrong_columns = any(r.expectation.type == COLUMNS_TYPE for r in self.failed)
        for result in self.failed:
            if wrong_columns and result.problem and result.expectation.type != COLUMNS_TYPE:
                continue
            for fault in result.faults:
                detail = f"{self.table}: {result.message_about(fault)}"
                severity = result.expectation.severity
                found.setdefault(fault.subject, []).append(Finding(Code.EXPECTATION_FAILED, severity, "", detail))
        return found
