"""Runs suites with Great Expectations, the only module that imports it.

The import costs seconds, so it happens inside the first run, and one context serves the whole process. All expectations run
first in the form that only says yes or no; the few that fail run again in the form that lists the rows.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import polars as pl

from expectations.results import ExpectationResult, Fault, SuiteResult
from expectations.suite import COLUMNS_TYPE, Expectation, Suite

N_EXAMPLES = 3
"""How many bad rows of a subject a message shows."""

_LOCK = threading.Lock()


def run_suite(suite: Suite, table: pl.DataFrame) -> SuiteResult:
    """Check a table, or rather its view of scalar columns, against a suite.

    Whatever cannot be evaluated (a column is absent, Great Expectations raises) is a failure of that expectation. A table
    without rows satisfies what is asked of rows; what is asked of the table is evaluated all the same.

    Args:
        suite: From one of the modules beside this one.
        table: What the same module's `view` gives; where there is a column `subject`, failures name the subjects.
    """
    results: dict[int, ExpectationResult] = {}
    asked: dict[int, Expectation] = {}
    for number, expectation in enumerate(suite.expectations):
        absent = [c for c in expectation.columns if c not in table.columns]
        if absent:
            results[number] = _failed(expectation, table, f"the table has no column {', '.join(absent)}")
        elif table.is_empty() and not expectation.whole_table:
            results[number] = ExpectationResult(expectation, success=True)
        else:
            asked[number] = expectation
    if asked:
        with _LOCK:
            results |= _evaluate(suite, table, asked)
    return SuiteResult(suite.name, suite.table, table.height, tuple(results[n] for n in sorted(results)))


def _evaluate(suite: Suite, table: pl.DataFrame, asked: Mapping[int, Expectation]) -> dict[int, ExpectationResult]:
    gx = _great_expectations()
    batch = _batch_definition().get_batch(batch_parameters={"dataframe": _to_pandas(table)})
    try:
        first = _validate(batch, asked, {"result_format": "BOOLEAN_ONLY"})
        again = {n: e for n, e in asked.items() if n not in first or not first[n].success}
        second = _validate(batch, again, {"result_format": "COMPLETE"}) if again else {}
    except gx.exceptions.GreatExpectationsError as error:
        problem = f"Great Expectations could not evaluate the suite: {type(error).__name__}: {error}"
        return {n: _failed(e, table, problem) for n, e in asked.items()}
    good = {n: ExpectationResult(e, success=True) for n, e in asked.items() if n not in again}
    return good | {n: _explain(suite, e, table, second.get(n)) for n, e in again.items()}


def _validate(batch: Any, asked: Mapping[int, Expectation], result_format: Mapping[str, str]) -> dict[int, Any]:
    """Number -> Great Expectations' result; they come back in another order and are told apart by their `meta`."""
    gx = _great_expectations()
    expectations = [
        getattr(gx.expectations, _class_name(e.type))(
            **e.kwargs,
            **_rows(e),
            meta={"number": n},
            severity="critical" if e.severity == "error" else "warning",
        )
        for n, e in asked.items()
    ]
    outcome = batch.validate(gx.ExpectationSuite(name="suite", expectations=expectations), result_format=result_format)
    return {r.expectation_config.meta["number"]: r for r in outcome.results}


def _rows(expectation: Expectation) -> dict[str, Any]:
    """How Great Expectations is told of which rows an expectation speaks."""
    if expectation.only is None:
        return {}
    from great_expectations.expectations.row_conditions import Column  # noqa: PLC0415 - takes seconds

    column, value = expectation.only
    return {"row_condition": Column(column) == value}


def _class_name(expectation_type: str) -> str:
    return "".join(word.capitalize() for word in expectation_type.split("_"))


def _explain(suite: Suite, expectation: Expectation, table: pl.DataFrame, outcome: Any) -> ExpectationResult:
    if outcome is None:
        return _failed(expectation, table, "Great Expectations gave no result for it")
    rows = outcome.result.get("unexpected_index_list") if not outcome.success else None
    if rows:
        return ExpectationResult(expectation, success=False, faults=_faults(suite, expectation, table, rows))
    return _failed(expectation, table, _problem(expectation, table, outcome))


def _problem(expectation: Expectation, table: pl.DataFrame, outcome: Any) -> str:
    raised = _exception_message(outcome.exception_info)
    if raised:
        return f"Great Expectations could not evaluate it: {raised}"
    if expectation.type == COLUMNS_TYPE:
        return _columns_problem(expectation.kwargs["column_list"], table.columns)
    if outcome.success:
        return "it failed once and held when it was evaluated again"
    met = table[expectation.columns[0]].unique().sort().to_list()
    return f"met only {met}, not all of {expectation.kwargs['value_set']}"


def _columns_problem(wanted: Sequence[str], met: Sequence[str]) -> str:
    strange = [c for c in met if c not in wanted]
    absent = [c for c in wanted if c not in met]
    if strange:
        return f"met {', '.join(strange)}"
    return f"absent are {', '.join(absent)}" if absent else f"the order is {', '.join(met)}"


def _exception_message(info: Mapping[str, Any] | None) -> str:
    """The first message in Great Expectations' flat or nested account of what it caught."""
    if not info:
        return ""
    if "raised_exception" in info:
        return str(info["exception_message"] or "an exception without a message") if info["raised_exception"] else ""
    return next((m for part in info.values() if (m := _exception_message(part))), "")


def _faults(
    suite: Suite, expectation: Expectation, table: pl.DataFrame, rows: Sequence[int]
) -> tuple[Fault, ...]:  # fmt: skip
    """Bad rows by subject, in order of the first bad row."""
    shown = dict.fromkeys((*suite.where, *expectation.columns, *expectation.shown))
    bad = table[sorted(int(row) for row in rows)]
    if "subject" not in bad.columns:
        bad = bad.with_columns(subject=pl.lit(""))
    parts = bad.with_columns(pl.col("subject").fill_null("")).partition_by("subject", maintain_order=True)
    return tuple(
        Fault(
            part["subject"][0],
            part.height,
            tuple(_describe(row, shown) for row in part.head(N_EXAMPLES).iter_rows(named=True)),
        )
        for part in parts
    )


def _describe(row: Mapping[str, Any], columns: Mapping[str, None]) -> str:
    return ", ".join(f"{c} {row[c]!r}" for c in columns if c in row and c != "subject")


def _failed(expectation: Expectation, table: pl.DataFrame, problem: str) -> ExpectationResult:
    """A failure that is not one of rows: it is that of every subject in the table."""
    named = table["subject"].cast(pl.String).fill_null("") if "subject" in table.columns else pl.Series([""])
    faults = tuple(Fault(subject, 0, ()) for subject in named.unique(maintain_order=True)) or (Fault("", 0, ()),)
    return ExpectationResult(expectation, success=False, faults=faults, problem=problem)


def _to_pandas(table: pl.DataFrame) -> Any:
    """The same table for Great Expectations, without the detour over Arrow, which is not installed."""
    import pandas as pd  # noqa: PLC0415 - as slow to import as it is rarely needed

    return pd.DataFrame({s.name: _to_pandas_column(pd, s) for s in table})


def _to_pandas_column(pd: Any, series: pl.Series) -> Any:
    if series.dtype.is_numeric():
        return series.to_numpy()
    return pd.Series(series.to_list(), dtype="bool" if series.dtype == pl.Boolean and not series.null_count() else object)


@cache
def _great_expectations() -> Any:
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    with warnings.catch_warnings():
        # It imports a module that Python 3.11 deprecates; only its authors can change that.
        warnings.filterwarnings("ignore", r"module 'sre_\w+' is deprecated", DeprecationWarning)
        import great_expectations as gx  # noqa: PLC0415 - takes seconds
        import great_expectations.expectations  # noqa: PLC0415

    return gx


@cache
def _batch_definition() -> Any:
    """The one context of this process, and in it the place where tables are handed over."""
    gx = _great_expectations()
    from great_expectations.data_context.types.base import ProgressBarsConfig  # noqa: PLC0415

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False, metric_calculations=False)
    return context.data_sources.add_pandas("memory").add_dataframe_asset("table").add_batch_definition_whole_dataframe("all")
