"""What must hold of the boxes' table: corners within the image, sizes that follow from them, components complete."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from assets.spec import DatasetSpec
from assets.tables import BOXES
from expectations.flatten import (
    EXTENT,
    GRID,
    is_as_documented,
    items,
    malformed,
    relative_error,
    unset_of_mm,
    with_grid,
    with_unset,
)
from expectations.in_plane import (
    COMPONENT_KEY,
    SLICE_KEY,
    WHERE,
    component_holds,
    label_holds,
    label_key,
    slice_holds,
    wrong_plane,
)
from expectations.suite import Expectation, Suite, at_least, between, columns_are, nothing_unset, same, unique, zero

_CORNERS = ("min_px_0", "min_px_1", "max_px_0", "max_px_1")
_SIZES = ("size_px_0", "size_px_1", "size_mm_0", "size_mm_1")


def view(table: pl.DataFrame, volumes: pl.DataFrame) -> pl.DataFrame:
    """The `boxes` table as Great Expectations sees it.

    Args:
        table: `boxes`.
        volumes: `volumes` of the same subjects; its label rows give the image's extent and spacing.
    """
    if not is_as_documented(table, BOXES):
        return malformed(table, BOXES)
    pairs = [e for c in ("min_px", "max_px", "size_px", "size_mm") for e in items(c, 2)]
    flat = with_grid(table, volumes).with_columns(*pairs, label_key(), wrong_plane())
    who = ["dataset", "subject", "scan", "series", "plane", "slice", "label_id", "label", "component", "n_components"]
    flat = with_unset(flat, [*who, *_CORNERS, "size_px_0", "size_px_1", "pixel_count", "touches_border", *EXTENT, "space"])
    flat = flat.with_columns(pl.col("unset") + unset_of_mm(["size_mm_0", "size_mm_1"], flat.schema))
    return flat.with_columns(**_derived()).select(
        *COMPONENT_KEY, "label", "label_key", "n_components", "n_rows", *_CORNERS, *_SIZES, "pixel_count", *GRID, "unset",
        "wrong_plane",
        "n_outside", "size_px_error", "size_mm_error", "pixels_least", "pixels_most", "border_error",
    )  # fmt: skip


def _derived() -> dict[str, pl.Expr]:
    low, high, extent = ([pl.col(f"{c}_{n}") for n in (0, 1)] for c in ("min_px", "max_px", "extent"))
    side = [high[n] - low[n] + 1 for n in (0, 1)]
    outside = [(low[n] < 0) | (low[n] >= extent[n]) for n in (0, 1)] + [(high[n] < 0) | (high[n] >= extent[n]) for n in (0, 1)]
    border = pl.any_horizontal([low[n] == 0 for n in (0, 1)] + [high[n] == extent[n] - 1 for n in (0, 1)])
    truth = [pl.col(f"size_px_{n}") * pl.col(f"spacing_{n}") for n in (0, 1)]
    return {
        "n_rows": pl.len().over(SLICE_KEY).cast(pl.Int64),
        "n_outside": pl.sum_horizontal(outside).cast(pl.Int64),
        "size_px_error": pl.max_horizontal([(pl.col(f"size_px_{n}") - side[n]).abs() for n in (0, 1)]),
        "size_mm_error": pl.max_horizontal([relative_error(pl.col(f"size_mm_{n}"), truth[n]) for n in (0, 1)]),
        "pixels_least": side[0].cast(pl.Int64) + side[1] - 1,
        "pixels_most": side[0].cast(pl.Int64) * side[1],
        "border_error": (pl.col("touches_border") != border).cast(pl.Int8),
    }


def suite(spec: DatasetSpec) -> Suite:
    """The suite of `boxes`, for tables that went through `view`."""
    empty = pl.DataFrame(schema=dict(BOXES))
    expectations = (
        columns_are(view(empty, pl.DataFrame()).columns, "boxes"),
        nothing_unset("every required value is there and finite, and the image of the box is known"),
        unique(COMPONENT_KEY, "a component is listed once"),
        *slice_holds(),
        label_holds(spec, tuple(spec.labels)),
        *component_holds(),
        same("n_rows", "n_components", "all components of a slice and label are listed"),
        *_corners_hold(),
        *_pixels_hold(),
    )
    return Suite(f"{spec.slug}/boxes", "boxes", expectations, (*WHERE, "component"))


def _corners_hold() -> Iterator[Expectation]:
    extent, border = ("extent_0", "extent_1"), (*_CORNERS, "extent_0", "extent_1")
    for n in (0, 1):
        yield at_least(f"max_px_{n}", f"min_px_{n}", f"the upper corner is not below the lower along in-plane axis {n}")
    yield zero("n_outside", "both corners lie in the image", shown=(*_CORNERS, *extent))
    yield zero("size_px_error", "the size is max - min + 1", shown=(*_CORNERS, "size_px_0", "size_px_1"))
    sentence = "the size in mm is the size in pixels times the spacing"
    yield between("size_mm_error", sentence, high=1e-6, shown=(*_SIZES, "spacing_0", "spacing_1"))
    yield zero("border_error", "touches_border says whether the box reaches the edge of the slice", shown=border)


def _pixels_hold() -> Iterator[Expectation]:
    yield between("pixel_count", "a component has a pixel", 1)
    yield at_least("pixels_most", "pixel_count", "a component has no more pixels than its box")
    sentence = "a component joined along edges has at least width + height - 1 pixels"
    yield at_least("pixel_count", "pixels_least", sentence)
