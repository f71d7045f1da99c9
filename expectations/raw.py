"""What must hold of the raw files' table: every file has one state, and a reason when it is not used."""

from __future__ import annotations

import polars as pl

from assets.spec import DatasetSpec
from assets.tables import RAW
from expectations.flatten import is_as_documented, malformed, with_unset
from expectations.suite import Suite, between, columns_are, matches, nothing_unset, one_of, unique

STATES = ("used", "ignored", "quarantined", "unclaimed")


def view(table: pl.DataFrame) -> pl.DataFrame:
    """The `raw` table as Great Expectations sees it: what concerns used files only is null for the others."""
    if not is_as_documented(table, RAW):
        return malformed(table, RAW)
    used = pl.col("state") == "used"
    text = [pl.col(c).fill_null("") for c in ("subject", "reason")]
    return (
        with_unset(table, ["dataset", "path", "state", "size"])
        .with_columns(*text)
        .select(
            "subject",
            "path",
            "state",
            "reason",
            "size",
            "unset",
            used_size=pl.when(used).then(pl.col("size")),
            used_subject=pl.when(used).then(pl.col("subject")),
            reason_length=pl.when(used.fill_null(value=False)).then(None).otherwise(
                pl.col("reason").str.strip_chars().str.len_chars()
            ),
        )
    )  # fmt: skip


def suite(spec: DatasetSpec) -> Suite:
    """The suite of `raw`, for tables that went through `view`."""
    expectations = (
        columns_are(view(pl.DataFrame(schema=dict(RAW))).columns, "raw"),
        nothing_unset(),
        unique(["path"], "no file is listed twice"),
        one_of("state", STATES, f"the state of a file is one of {', '.join(STATES)}"),
        between("used_size", "a file that is used is not empty", 1),
        matches("used_subject", spec.layout.subject, f"a file that is used has a subject named like {spec.layout.subject}"),
        between("reason_length", "a file that is not used says why", 1, shown=["state", "reason"]),
    )
    return Suite(f"{spec.slug}/raw", "raw", expectations, ("path",))
