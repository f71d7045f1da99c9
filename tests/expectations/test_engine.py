"""What cannot be evaluated is a failure, and importing the engine is cheap."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pytest

from expectations.engine import run_suite
from expectations.suite import Expectation, Suite, at_least, between, columns_are, matches, one_of, same, unique

TABLE = pl.DataFrame({"subject": ["a", "a", "b"], "x": [1, 2, 3], "name": ["u", "v", "w"]})


def suite(*expectations: Expectation) -> Suite:
    return Suite("toy/table", "table", expectations, ("name",))


def test_the_modules_load_neither_great_expectations_nor_dagster() -> None:
    code = (
        "import sys, expectations.engine, expectations.index, expectations.boxes, expectations.mask_sizes, "
        "expectations.lesion_sizes, expectations.splits, expectations.volumes, expectations.raw; "
        "sys.exit(any(m in sys.modules for m in ('great_expectations', 'dagster', 'pandas')))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_rows_at_fault_are_grouped_by_subject_with_their_values() -> None:
    (result,) = run_suite(suite(between("x", "x is at most 1", high=1)), TABLE).results
    assert result.subjects == ("a", "b")
    assert [f.n_unexpected for f in result.faults] == [1, 1]
    assert result.n_unexpected == 2
    assert result.examples == ("name 'v', x 2",)
    assert "2 rows do not comply" in result.message
    assert os.environ["GX_ANALYTICS_ENABLED"] == "false"


def test_an_expectation_may_speak_of_some_rows_only() -> None:
    asked = [between("x", "x of v is 1", 1, 1, only=("name", "v")), between("x", "x of nobody is 1", 1, 1, only=("name", "it's"))]
    first, second = run_suite(suite(*asked), TABLE).results
    assert first.subjects == ("a",)
    assert first.examples == ("name 'v', x 2",)
    assert second.success


def test_results_keep_the_order_of_the_suite() -> None:
    asked = [between("x", "ends", high=2), one_of("name", ["u"], "set"), between("x", "starts", 2), unique(["x"], "once")]
    result = run_suite(suite(*asked), TABLE)
    assert [r.expectation for r in result.results] == asked
    assert [r.success for r in result.results] == [False, False, False, True]
    assert [r.subjects for r in result.results] == [("b",), ("a", "b"), ("a",), ()]


def test_a_missing_column_fails_for_every_subject() -> None:
    result = run_suite(suite(between("y", "y is positive", 0), between("x", "x is positive", 0)), TABLE)
    assert not result.success
    assert [r.success for r in result.results] == [False, True]
    assert set(result.findings_by_subject()) == {"a", "b"}
    assert "no column y" in result.findings_by_subject()["a"][0].detail


def test_what_great_expectations_cannot_evaluate_fails() -> None:
    result = run_suite(suite(between("name", "a text is a number", 0)), TABLE)
    assert not result.success
    assert "could not evaluate" in result.results[0].message
    assert set(result.results[0].subjects) == {"a", "b"}


def test_an_empty_table_is_checked_for_its_columns() -> None:
    good, bad = columns_are(["subject", "x", "name"], "table"), columns_are(["subject", "x"], "table")
    assert run_suite(suite(good, between("x", "x is 7", 7, 7)), TABLE.clear()).success
    result = run_suite(suite(bad), TABLE.clear())
    assert not result.success
    assert set(result.findings_by_subject()) == {""}


@pytest.mark.parametrize(
    "expectation",
    [
        between("x", "x", 0),
        one_of("name", ["u"], "name"),
        matches("name", "u", "name"),
        at_least("x", "z", "pair"),
        same("x", "z", "pair"),
    ],
)
def test_nulls_alone_are_no_failure_of_other_expectations(expectation: Expectation) -> None:
    nothing = TABLE.with_columns(x=pl.lit(None, pl.Int64), z=pl.lit(None, pl.Float64), name=pl.lit(None, pl.String))
    assert run_suite(suite(expectation), nothing).success


def test_a_regular_expression_must_match_the_whole_text() -> None:
    table = TABLE.with_columns(name=pl.Series(["ab", "abc", "ab\n"]))
    (result,) = run_suite(suite(matches("name", "ab|x", "name")), table).results
    assert result.n_unexpected == 2


def test_suites_can_run_in_threads() -> None:
    with ThreadPoolExecutor(4) as pool:
        tables = [TABLE.with_columns(x=pl.lit(n)) for n in range(8)]
        results = list(pool.map(lambda t: run_suite(suite(between("x", "x", high=3)), t).success, tables))
    assert results == [True] * 4 + [False] * 4


def test_no_progress_bar_is_drawn(capfd: pytest.CaptureFixture[str]) -> None:
    run_suite(suite(between("x", "x", high=1)), TABLE)
    assert capfd.readouterr() == ("", "")
