"""What must hold of the lesion sizes' table: axes in order and in range, and end points as far apart as the axes are long."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from assets.spec import DatasetSpec
from assets.tables import LESION_SIZES
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
from expectations.in_plane import COMPONENT_KEY, WHERE, component_holds, label_holds, label_key, slice_holds, wrong_plane
from expectations.suite import Expectation, Suite, at_least, between, columns_are, nothing_unset, one_of, unique, zero

_AXES = ("major_mm", "minor_mm", "angle_deg", "major_px", "minor_px")
_ENDS = {axis: tuple(f"{axis}_px_{end}{n}" for end in (0, 1) for n in (0, 1)) for axis in ("major", "minor")}


def view(table: pl.DataFrame, volumes: pl.DataFrame) -> pl.DataFrame:
    """The `lesion_sizes` table as Great Expectations sees it.

    `major_px_10` is entry 0 of end point 1. `largest_mm` bounds a major axis: the variance of a position within an interval
    is at most a quarter of the length squared (Popoviciu), so that 4 standard deviations are at most twice the diagonal.

    Args:
        table: `lesion_sizes`.
        volumes: `volumes` of the same subjects; its label rows give the image's extent and spacing.
    """
    if not is_as_documented(table, LESION_SIZES):
        return malformed(table, LESION_SIZES)
    ends = [
        pl.col(f"{axis}_px").arr.get(end).arr.get(n).alias(f"{axis}_px_{end}{n}")
        for axis in ("major", "minor") for end in (0, 1) for n in (0, 1)
    ]  # fmt: skip
    flat = with_grid(table, volumes).with_columns(*ends, *items("centre_px", 2), label_key(), wrong_plane())
    who = ["dataset", "subject", "scan", "series", "plane", "slice", "label_id", "label", "component", "n_components"]
    flags = ["has_holes", "touches_border", "reliable"]
    numbers = ["major_mm", "minor_mm", "angle_deg", *_ENDS["major"], *_ENDS["minor"]]
    required = with_unset(flat, [*who, "pixel_count", "centre_px_0", "centre_px_1", *flags, *EXTENT, "space"])
    of_axes = pl.when(pl.col("axes") == "all").then(unset_of_mm(numbers, flat.schema)).otherwise(pl.lit(""))
    flat = required.with_columns(**_derived()).with_columns(pl.col("unset") + of_axes)
    return flat.select(
        *COMPONENT_KEY, "label", "label_key", "n_components", "pixel_count", "centre_px_0", "centre_px_1", *numbers,
        "reliable", *GRID, "unset", "wrong_plane", "axes", "reliable_without_axes", "largest_mm", "centre_outside", "major_error",
        "minor_error",
    )  # fmt: skip


def _derived() -> dict[str, pl.Expr]:
    side = [pl.col(f"extent_{n}") * pl.col(f"spacing_{n}") for n in (0, 1)]
    n_null = pl.sum_horizontal([pl.col(c).is_null().cast(pl.Int64) for c in _AXES])
    centre = [pl.col("centre_px_0"), pl.col("centre_px_1")]
    outside = pl.any_horizontal([(centre[n] < 0) | (centre[n] > pl.col(f"extent_{n}") - 1) for n in (0, 1)])
    return {
        "axes": pl.when(n_null == 0).then(pl.lit("all")).when(n_null == len(_AXES)).then(pl.lit("none")).otherwise(
            pl.lit("some")
        ),
        "reliable_without_axes": ((n_null > 0) & pl.col("reliable")).cast(pl.Int8),
        "largest_mm": 2 * (side[0] ** 2 + side[1] ** 2).sqrt(),
        "centre_outside": outside.cast(pl.Int8),
        "major_error": relative_error(_length_mm("major"), pl.col("major_mm")),
        "minor_error": relative_error(_length_mm("minor"), pl.col("minor_mm")),
    }  # fmt: skip


def _length_mm(axis: str) -> pl.Expr:
    steps = [(pl.col(f"{axis}_px_1{n}") - pl.col(f"{axis}_px_0{n}")) * pl.col(f"spacing_{n}") for n in (0, 1)]
    return (steps[0] ** 2 + steps[1] ** 2).sqrt()


def suite(spec: DatasetSpec) -> Suite:
    """The suite of `lesion_sizes`, for tables that went through `view`."""
    empty = pl.DataFrame(schema=dict(LESION_SIZES))
    expectations = (
        columns_are(view(empty, pl.DataFrame()).columns, "lesion_sizes"),
        nothing_unset("every required value is there and finite, and the image of the lesion is known"),
        unique(COMPONENT_KEY, "a component is listed once"),
        *slice_holds(),
        label_holds(spec, spec.lesions),
        *component_holds(),
        between("pixel_count", "a component has a pixel", 1),
        zero("centre_outside", "the centre lies in the image", shown=("centre_px_0", "centre_px_1", "extent_0", "extent_1")),
        *_axes_hold(),
    )
    return Suite(f"{spec.slug}/lesion_sizes", "lesion_sizes", expectations, (*WHERE, "component"))


def _axes_hold() -> Iterator[Expectation]:
    shown = ("major_mm", "minor_mm", "angle_deg")
    yield one_of("axes", ["all", "none"], "a component has all of its axes or none", shown=shown)
    yield zero("reliable_without_axes", "a component without axes is not called reliable", shown=("reliable",))
    yield at_least("major_mm", "minor_mm", "the major axis is not shorter than the minor")
    yield between("minor_mm", "the minor axis is longer than 0 mm", 0, above=True)
    yield between("angle_deg", "the angle is from 0 to below 180 degrees", 0, 180, below=True)
    yield at_least("largest_mm", "major_mm", "the major axis is at most twice the image's diagonal")
    for axis in ("major", "minor"):
        sentence = f"the end points of the {axis} axis are as far apart as it is long"
        yield between(f"{axis}_error", sentence, high=1e-6, shown=(f"{axis}_mm", *_ENDS[axis], "spacing_0", "spacing_1"))
