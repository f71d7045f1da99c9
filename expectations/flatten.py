"""From our tables to the frames of scalar columns that Great Expectations can read, with columns of derived numbers.

Great Expectations skips nulls, and takes NaN for null, so that every view carries a text column `unset` in which the required
columns without a finite value are named; one expectation holds that it is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from assets.tables import VOLUMES, Schema

PLANE_AXES: Mapping[str, tuple[int, int, int]] = {
    "sagittal": (0, 1, 2),
    "coronal": (1, 0, 2),
    "axial": (2, 0, 1),
    "picture": (2, 0, 1),
}
"""Plane -> the axis of [i, j, k] that counts its slices, then the two that remain, in array order."""

SERIES_KEY = ("dataset", "subject", "scan", "series")
EXTENT = ("extent_slice", "extent_0", "extent_1")
GRID = (*EXTENT, "spacing_0", "spacing_1", "space")
"""Columns that `with_grid` adds: slices and pixels of the image in the row's plane, the pixel's sides in mm, the space."""


def is_as_documented(table: pl.DataFrame, schema: Schema) -> bool:
    """Whether a table has exactly these columns in this order and of these types."""
    return dict(table.schema) == dict(schema) and table.columns == list(schema)


def malformed(table: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """What is handed to Great Expectations in place of a view that cannot be made.

    It has the subjects, and one empty column per difference from the schema that is named after it, so that the check of
    the columns fails and says why.
    """
    wrong = [f"{c} (absent)" for c in schema if c not in table.columns]
    wrong += [f"{c} (unknown)" for c in table.columns if c not in schema]
    wrong += [f"{c} ({t}, not {schema[c]})" for c, t in table.schema.items() if c in schema and t != schema[c]]
    subjects = table.select(pl.col("subject").cast(pl.String)) if "subject" in table.columns else pl.DataFrame()
    return subjects.with_columns(pl.lit(None, pl.Int64).alias(name) for name in wrong or ["columns in another order"])


def items(column: str, n: int) -> list[pl.Expr]:
    """The entries of a fixed-size column as `<column>_0`, `<column>_1`, ..."""
    return [pl.col(column).arr.get(k).alias(f"{column}_{k}") for k in range(n)]


def unset(columns: Iterable[str], schema: pl.Schema) -> pl.Expr:
    """Names of those columns that are null, NaN or infinite, as one text; empty when all is well."""
    return pl.concat_str(
        [pl.when(_is_unset(c, schema)).then(pl.lit(c + " ")).otherwise(pl.lit("")) for c in columns]
    ).alias("unset")  # fmt: skip


def _is_unset(column: str, schema: pl.Schema) -> pl.Expr:
    value = pl.col(column)
    return ~(value.is_not_null() & value.is_finite().fill_null(value=False)) if schema[column].is_float() else value.is_null()


def with_unset(table: pl.DataFrame, columns: Iterable[str]) -> pl.DataFrame:
    """The table with the text column `unset` over `columns`."""
    return table.with_columns(unset(columns, table.schema))


def relative_error(value: pl.Expr, truth: pl.Expr) -> pl.Expr:
    """|value - truth| / |truth|, or the plain difference where the truth is 0."""
    difference = (value - truth).abs()
    return pl.when(truth == 0).then(difference).otherwise(difference / truth.abs())


def with_grid(table: pl.DataFrame, volumes: pl.DataFrame) -> pl.DataFrame:
    """Add the `GRID` columns from the label rows of `volumes`; null where no label map or no such plane is known."""
    if not is_as_documented(volumes, VOLUMES):
        volumes = pl.DataFrame(schema=dict(VOLUMES))
    grids = volumes.filter(pl.col("kind") == "labels").unique(SERIES_KEY, keep="first", maintain_order=True)
    grids = grids.select(*SERIES_KEY, "shape_ijk", "spacing_mm", "space")
    joined = table.join(grids, on=SERIES_KEY, how="left", maintain_order="left")
    picks = {
        "extent_slice": ("shape_ijk", 0),
        "extent_0": ("shape_ijk", 1),
        "extent_1": ("shape_ijk", 2),
        "spacing_0": ("spacing_mm", 1),
        "spacing_1": ("spacing_mm", 2),
    }
    return joined.with_columns(_of_plane(source, n).alias(name) for name, (source, n) in picks.items()).drop(
        "shape_ijk", "spacing_mm"
    )  # fmt: skip


def unset_of_mm(columns: Iterable[str], schema: pl.Schema) -> pl.Expr:
    """As `unset`, for what is measured in mm: it must be there where the pixel has a size, and must not where it has none."""
    has_size = pl.col("spacing_0").is_not_null() & pl.col("spacing_1").is_not_null()
    made_up = pl.any_horizontal([pl.col(c).is_not_null() for c in columns])
    none = pl.when(made_up).then(pl.lit("mm without a spacing ")).otherwise(pl.lit(""))
    return pl.when(has_size).then(unset(columns, schema)).otherwise(none).alias("unset")


def _of_plane(column: str, n: int) -> pl.Expr:
    """Entry of an (i, j, k) column that the row's plane puts at place `n` of `PLANE_AXES`."""
    chosen = pl.lit(None, pl.Float64 if column == "spacing_mm" else pl.Int32)
    for plane, axes in PLANE_AXES.items():
        chosen = pl.when(pl.col("plane") == plane).then(pl.col(column).arr.get(axes[n])).otherwise(chosen)
    return chosen
