"""What must hold of the splits' table: every subject once, and nobody on both sides."""

from __future__ import annotations

import polars as pl

from assets.spec import DatasetSpec
from assets.tables import SPLITS
from expectations.flatten import is_as_documented, malformed, with_unset
from expectations.suite import Suite, columns_are, contains, nothing_unset, one_of, unique, zero
from resources.findings import Severity

SPLIT_NAMES = ("train", "test")


def view(table: pl.DataFrame) -> pl.DataFrame:
    """The `splits` table as Great Expectations sees it; `n_other_splits` counts the other splits its group is in."""
    if not is_as_documented(table, SPLITS):
        return malformed(table, SPLITS)
    others = pl.col("split").n_unique().over("group").cast(pl.Int64) - 1
    flat = with_unset(table, ["dataset", "subject", "group", "split", "reason"])
    return flat.select("subject", "group", "split", "unset", n_other_splits=others)


def suite(spec: DatasetSpec) -> Suite:
    """The suite of `splits`, for tables that went through `view`."""
    expectations = (
        columns_are(view(pl.DataFrame(schema=dict(SPLITS))).columns, "splits"),
        nothing_unset(),
        unique(["subject"], "a subject is in one row"),
        one_of("split", SPLIT_NAMES, f"the split is one of {', '.join(SPLIT_NAMES)}"),
        zero("n_other_splits", "a group of subjects that are one person is in one split", shown=("group", "split")),
        contains("split", SPLIT_NAMES, "neither split is empty", Severity.WARNING),
    )
    return Suite(f"{spec.slug}/splits", "splits", expectations, ("group",))
