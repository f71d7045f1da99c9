"""What a suite of expectations is, and the words it is written in.

An `Expectation` names a Great Expectations type and says in one plain sentence what must hold. Nothing here imports Great
Expectations, so that suites can be built and read for free.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from resources.findings import Severity

Number = int | float

COLUMNS_TYPE = "expect_table_columns_to_match_ordered_list"
CONTAINS_TYPE = "expect_column_distinct_values_to_contain_set"
_WHOLE_TABLE = frozenset({COLUMNS_TYPE, CONTAINS_TYPE})


@dataclass(frozen=True, slots=True)
class Expectation:
    """One thing that must hold of a table.

    Attributes:
        type: Great Expectations' name, e.g. `expect_column_values_to_be_between`.
        kwargs: Its arguments.
        sentence: What must hold, in plain words; begins a message, so it has no full stop.
        columns: The columns it reads.
        shown: Columns whose values explain a failure, where those of `columns` do not.
        severity: `ERROR` quarantines the subject, `WARNING` goes with it.
        only: Column and value: of which rows it speaks; of all if not given.
    """

    type: str
    kwargs: Mapping[str, Any]
    sentence: str
    columns: tuple[str, ...]
    shown: tuple[str, ...] = ()
    severity: Severity = Severity.ERROR
    only: tuple[str, str] | None = None

    @property
    def whole_table(self) -> bool:
        """Whether it speaks of the table, so that an empty table can fail it, rather than of each row."""
        return self.type in _WHOLE_TABLE


@dataclass(frozen=True, slots=True)
class Suite:
    """All that must hold of one table.

    Attributes:
        name: E.g. `kits23/boxes`.
        table: Name of the table.
        expectations: In the order in which they are reported.
        where: Columns that say which row is meant, for messages.
    """

    name: str
    table: str
    expectations: tuple[Expectation, ...]
    where: tuple[str, ...] = field(default=())


def columns_are(names: Sequence[str], table: str) -> Expectation:
    """The view has exactly these columns in this order; a table with other columns or types has no such view."""
    sentence = f"the columns of {table} are the documented ones, in order and of the documented types"
    return Expectation(COLUMNS_TYPE, {"column_list": list(names)}, sentence, ())


def nothing_unset(sentence: str = "every required value is there and finite") -> Expectation:
    """The view's `unset` column, which lists the required columns that are null or not finite, is empty."""
    return one_of("unset", [""], sentence)


def between(
    column: str,
    sentence: str,
    low: Number | None = None,
    high: Number | None = None,
    *,
    above: bool = False,
    below: bool = False,
    shown: Iterable[str] = (),
    severity: Severity = Severity.ERROR,
    only: tuple[str, str] | None = None,
) -> Expectation:
    """Values that are not null lie in [low, high]; `above` and `below` exclude the ends."""
    kwargs = {"column": column, "min_value": low, "max_value": high, "strict_min": above, "strict_max": below}
    return Expectation(
        "expect_column_values_to_be_between", kwargs, sentence, (column,), tuple(shown), severity, only
    )  # fmt: skip


def zero(column: str, sentence: str, *, shown: Iterable[str] = (), severity: Severity = Severity.ERROR) -> Expectation:
    """A derived count of faults is 0 in every row."""
    return between(column, sentence, 0, 0, shown=shown, severity=severity)


def one_of(
    column: str,
    values: Iterable[str],
    sentence: str,
    *,
    shown: Iterable[str] = (),
    severity: Severity = Severity.ERROR,
) -> Expectation:
    """Values that are not null are among `values`."""
    kwargs = {"column": column, "value_set": list(values)}
    return Expectation("expect_column_values_to_be_in_set", kwargs, sentence, (column,), tuple(shown), severity)


def matches(column: str, regex: str, sentence: str, *, shown: Iterable[str] = ()) -> Expectation:
    """The whole of every value that is not null matches `regex`."""
    kwargs = {"column": column, "regex": rf"^(?:{regex})\Z"}
    return Expectation("expect_column_values_to_match_regex", kwargs, sentence, (column,), tuple(shown))


def at_least(larger: str, smaller: str, sentence: str, *, strictly: bool = False) -> Expectation:
    """In rows where both are set, `larger` >= `smaller` (`>` when `strictly`)."""
    kwargs = {
        "column_A": larger,
        "column_B": smaller,
        "or_equal": not strictly,
        "ignore_row_if": "either_value_is_missing",
    }
    return Expectation("expect_column_pair_values_a_to_be_greater_than_b", kwargs, sentence, (larger, smaller))


def same(first: str, second: str, sentence: str) -> Expectation:
    """In rows where both are set, the two columns are equal."""
    kwargs = {"column_A": first, "column_B": second, "ignore_row_if": "either_value_is_missing"}
    return Expectation("expect_column_pair_values_to_be_equal", kwargs, sentence, (first, second))


def unique(columns: Sequence[str], sentence: str) -> Expectation:
    """No two rows agree in all of `columns`."""
    if len(columns) == 1:
        return Expectation("expect_column_values_to_be_unique", {"column": columns[0]}, sentence, tuple(columns))
    return Expectation(
        "expect_compound_columns_to_be_unique", {"column_list": list(columns)}, sentence, tuple(columns)
    )  # fmt: skip


def contains(column: str, values: Iterable[str], sentence: str, severity: Severity) -> Expectation:
    """Each of `values` occurs in the column."""
    kwargs = {"column": column, "value_set": list(values)}
    return Expectation(CONTAINS_TYPE, kwargs, sentence, (column,), severity=severity)
