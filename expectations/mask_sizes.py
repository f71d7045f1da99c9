"""What must hold of the mask sizes' table: areas that follow from the pixels, and agreement with the boxes."""

from __future__ import annotations

import polars as pl

from assets.spec import DatasetSpec
from assets.tables import BOXES, MASK_SIZES
from expectations.flatten import (
    EXTENT,
    GRID,
    SERIES_KEY,
    is_as_documented,
    malformed,
    relative_error,
    unset_of_mm,
    with_grid,
    with_unset,
)
from expectations.in_plane import SLICE_KEY, WHERE, label_holds, label_key, slice_holds, wrong_plane
from expectations.suite import Suite, between, columns_are, nothing_unset, same, unique

_WHO = (*SERIES_KEY, "plane", "slice", "label_id", "label")


def view(table: pl.DataFrame, volumes: pl.DataFrame, boxes: pl.DataFrame | None = None) -> pl.DataFrame:
    """The `mask_sizes` table as Great Expectations sees it.

    Args:
        table: `mask_sizes`.
        volumes: `volumes` of the same subjects; its label rows give the image's extent and spacing.
        boxes: `boxes` of the same subjects. A slice and label that only the boxes have becomes a row without values.
    """
    if not is_as_documented(table, MASK_SIZES):
        return malformed(table, MASK_SIZES)
    if boxes is not None:
        if not is_as_documented(boxes, BOXES):
            boxes = pl.DataFrame(schema=dict(BOXES))
        totals = boxes.group_by(_WHO, maintain_order=True).agg(
            boxes_pixel_count=pl.col("pixel_count").sum(), boxes_n_components=pl.len().cast(pl.Int64)
        )
        table = table.join(totals, on=list(_WHO), how="full", coalesce=True, maintain_order="left_right")
        table = table.with_columns(pl.col("boxes_pixel_count", "boxes_n_components").fill_null(0))
    truth = pl.col("pixel_count") * pl.col("spacing_0") * pl.col("spacing_1")
    flat = with_unset(with_grid(table, volumes), [*_WHO, "n_components", "pixel_count", *EXTENT, "space"])
    flat = flat.with_columns(pl.col("unset") + unset_of_mm(["area_mm2"], flat.schema))
    flat = flat.with_columns(label_key(), wrong_plane(), area_error=relative_error(pl.col("area_mm2"), truth))
    of_boxes = ["boxes_pixel_count", "boxes_n_components"] if boxes is not None else []
    return flat.select(
        *SLICE_KEY, "label", "label_key", "n_components", "pixel_count", "area_mm2", *GRID, "unset",
        "wrong_plane", "area_error", *of_boxes
    )  # fmt: skip


def suite(spec: DatasetSpec, *, with_boxes: bool = False) -> Suite:
    """The suite of `mask_sizes`; `with_boxes` for tables whose `view` was given the boxes."""
    empty = pl.DataFrame(schema=dict(MASK_SIZES))
    no_boxes = pl.DataFrame(schema=dict(BOXES)) if with_boxes else None
    agreement = (
        same("pixel_count", "boxes_pixel_count", "the pixels are those of the boxes' components together"),
        same("n_components", "boxes_n_components", "there are as many components as boxes"),
    )
    expectations = (
        columns_are(view(empty, pl.DataFrame(), no_boxes).columns, "mask_sizes"),
        nothing_unset("every required value is there and finite, and the image of the mask is known"),
        unique(SLICE_KEY, "a slice and label is listed once"),
        *slice_holds(),
        label_holds(spec, tuple(spec.labels)),
        between("pixel_count", "a mask has a pixel", 1),
        between("n_components", "a mask has a component", 1),
        between(
            "area_error",
            "the area is the pixels times the pixel's own area",
            high=1e-6,
            shown=("pixel_count", "area_mm2", "spacing_0", "spacing_1"),
        ),
        *(agreement if with_boxes else ()),
    )
    return Suite(f"{spec.slug}/mask_sizes", "mask_sizes", expectations, WHERE)
