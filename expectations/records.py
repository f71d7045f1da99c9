"""What must hold of MDS-Bench's records, judged on what they were found to be when they were read back."""

from __future__ import annotations

import polars as pl

from assets.mds.table import RECORDS_TABLE
from assets.spec import DatasetSpec
from expectations.flatten import is_as_documented, malformed, with_unset
from expectations.suite import Suite, between, columns_are, matches, nothing_unset, one_of, unique
from resources.findings import Severity


def view(table: pl.DataFrame) -> pl.DataFrame:
    """The table of records as Great Expectations sees it."""
    if not is_as_documented(table, RECORDS_TABLE):
        return malformed(table, RECORDS_TABLE)
    return with_unset(table, list(RECORDS_TABLE))


def suite(spec: DatasetSpec) -> Suite:
    """The suite of `records`, for tables that went through `view`."""
    expectations = (
        columns_are(view(pl.DataFrame(schema=dict(RECORDS_TABLE))).columns, "records"),
        nothing_unset(),
        unique(["index"], "a target has one record"),
        matches("image", r"images/(?:0|[1-9]\d*)\.png", "the picture of a record is images/<index>.png"),
        one_of("violations", [""], "every record validates against the schema of its format"),
        one_of("picture_problem", [""], "every picture opens, is RGB, and has the size its record states"),
        between("n_colours", "a picture is not of one colour", 2, severity=Severity.WARNING),
        one_of("bad_masks", [""], "every mask lies in its picture, and has the box and the area that are stated"),
        one_of("bad_boxes", [""], "every box lies in its picture"),
    )
    return Suite(f"{spec.slug}/records", "records", expectations, ("index",))
