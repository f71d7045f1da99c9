"""What must hold of the landmarks' table: places within the picture that agree with its geometry, names complete."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from assets.spec import DatasetSpec
from assets.tables import LANDMARKS, VOLUMES
from expectations.flatten import PLANE_AXES, SERIES_KEY, is_as_documented, items, malformed, with_unset
from expectations.suite import Expectation, Suite, at_least, between, columns_are, nothing_unset, one_of, unique, zero

SET_KEY = ("subject", "scan", "series", "set")

_IJK = ("ijk_0", "ijk_1", "ijk_2")
_RAS = ("ras_mm_0", "ras_mm_1", "ras_mm_2")
_SOURCE = ("source_ras_mm_0", "source_ras_mm_1", "source_ras_mm_2")
_SHAPE = ("shape_ijk_0", "shape_ijk_1", "shape_ijk_2")
_ROUNDING_MM = 1e-6


def view(table: pl.DataFrame, volumes: pl.DataFrame) -> pl.DataFrame:
    """The `landmarks` table as Great Expectations sees it.

    Args:
        table: `landmarks`.
        volumes: `volumes` of the same subjects; its image rows give extent and affine of the pictures.
    """
    if not is_as_documented(table, LANDMARKS):
        return malformed(table, LANDMARKS)
    flat = with_series(table, volumes).with_columns(
        *items("ijk", 3), *items("ras_mm", 3), *items("source_ras_mm", 3), *items("shape_ijk", 3)
    )
    who = ["dataset", "subject", "scan", "series", "set", "landmark", "name"]
    flat = with_unset(flat, [*who, *_IJK, *_RAS, *_SOURCE, *_SHAPE])
    outside = [(pl.col(at) < -0.5) | (pl.col(at) > pl.col(n) - 0.5) for at, n in zip(_IJK, _SHAPE, strict=True)]
    return flat.with_columns(
        landmark_key=pl.col("landmark").cast(pl.String) + ":" + pl.col("name"),
        set_size=pl.col("set") + ":" + pl.len().over(SET_KEY).cast(pl.String),
        n_outside=pl.sum_horizontal(outside).cast(pl.Int64),
        ras_error=pl.max_horizontal([(_ras(axis) - pl.col(_RAS[axis])).abs() for axis in range(3)]),
        slice_error=_slice_error(),
        **slice_columns(),
    ).select(
        *SET_KEY, "landmark", "name", "landmark_key", "set_size", "plane", "slice", "slice_extent", "slice_without_plane",
        "slice_error", *_IJK, *_RAS, *_SHAPE, "n_outside", "ras_error", "unset",
    )  # fmt: skip


def with_series(table: pl.DataFrame, volumes: pl.DataFrame) -> pl.DataFrame:
    """Add `shape_ijk`, `spacing_mm` and `affine_ras_mm` of each row's series; null where the series is not known."""
    if not is_as_documented(volumes, VOLUMES):
        volumes = pl.DataFrame(schema=dict(VOLUMES))
    images = volumes.filter(pl.col("kind") == "image").unique(SERIES_KEY, keep="first", maintain_order=True)
    images = images.select(*SERIES_KEY, "shape_ijk", "spacing_mm", "affine_ras_mm")
    return table.join(images, on=list(SERIES_KEY), how="left", maintain_order="left")


def slice_columns() -> dict[str, pl.Expr]:
    """`slice_extent`, how many slices the row's plane has, and `slice_without_plane`, whether one of the two is null alone."""
    extent = pl.lit(None, pl.Int32)
    for plane, axes in PLANE_AXES.items():
        extent = pl.when(pl.col("plane") == plane).then(pl.col("shape_ijk").arr.get(axes[0])).otherwise(extent)
    alone = pl.col("plane").is_null() != pl.col("slice").is_null()
    return {"slice_extent": extent, "slice_without_plane": alone.cast(pl.Int8)}


def slice_holds() -> Iterator[Expectation]:
    """Plane and slice, where they are given, are those of the picture."""
    yield one_of("plane", PLANE_AXES, f"the plane is one of {', '.join(PLANE_AXES)}, or none")
    yield zero("slice_without_plane", "there is a slice where there is a plane", shown=("plane", "slice"))
    yield between("slice", "the slice number is not negative", 0)
    yield at_least("slice_extent", "slice", "the slice lies in the picture", strictly=True)


def _ras(axis: int) -> pl.Expr:
    """World coordinate of the row's voxel index, by the affine of its series."""
    entry = [pl.col("affine_ras_mm").arr.get(4 * axis + column) for column in range(4)]
    return sum((entry[n] * pl.col(_IJK[n]) for n in range(3)), entry[3])


def _slice_error() -> pl.Expr:
    """How far the landmark lies from the centre of its slice, in slices."""
    error = pl.lit(None, pl.Float64)
    for plane, axes in PLANE_AXES.items():
        error = pl.when(pl.col("plane") == plane).then((pl.col(_IJK[axes[0]]) - pl.col("slice")).abs()).otherwise(error)
    return error


def suite(spec: DatasetSpec) -> Suite:
    """The suite of `landmarks`, for tables that went through `view`."""
    keys = [f"{n}:{name}" for n, name in enumerate(spec.landmarks, 1)]
    expectations = (
        columns_are(view(pl.DataFrame(schema=dict(LANDMARKS)), pl.DataFrame()).columns, "landmarks"),
        nothing_unset("every required value is there and finite, and the picture of the landmark is known"),
        unique((*SET_KEY, "landmark"), "a landmark is listed once"),
        one_of("landmark_key", keys, f"number and name are those of the spec: {', '.join(keys)}"),
        one_of("set_size", _sizes(spec), "the landmarks of a set are complete", shown=("set",)),
        *slice_holds(),
        between("slice_error", "the landmark lies in its slice", 0, 0.5, shown=("plane", "slice", *_IJK)),
        zero("n_outside", "the landmark lies in the picture", shown=(*_IJK, *_SHAPE)),
        between("ras_error", "the position in mm is that of the voxel index", 0, _ROUNDING_MM, shown=(*_IJK, *_RAS)),
    )
    return Suite(f"{spec.slug}/landmarks", "landmarks", expectations, ("scan", "set", "name"))


def _sizes(spec: DatasetSpec) -> list[str]:
    """`<set>:<n>` for every number of landmarks a set may have: all, or whole pairs."""
    allowed: list[str] = []
    for name, source in spec.layout.landmarks.items():
        if source.reader == "xy_lines":
            allowed.append(f"{name}:{len(spec.landmarks)}")
        else:
            allowed += [f"{name}:{2 * n}" for n in range(1, len(source.pairs) + 1)]
    return allowed
