"""The table of records as they were found to be when they were read back."""

from __future__ import annotations

import polars as pl

from assets.tables import Schema

RECORDS_TABLE: Schema = {
    "index": pl.Int64,
    "image": pl.String,
    "violations": pl.String,
    "picture_problem": pl.String,
    "width": pl.Int64,
    "height": pl.Int64,
    "n_colours": pl.Int64,
    "n_masks": pl.Int64,
    "bad_masks": pl.String,
    "n_boxes": pl.Int64,
    "bad_boxes": pl.String,
}
"""One row per record: its picture as it was found to be, and in words what is wrong with form, picture, masks and boxes."""
