"""What must hold of the volumes' table: RAS+ geometry that adds up, values in range, known labels, full fingerprints."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import polars as pl

from assets.spec import DatasetSpec
from assets.tables import VOLUMES
from expectations.flatten import is_as_documented, items, malformed, relative_error, unset
from expectations.suite import (
    Expectation,
    Suite,
    at_least,
    between,
    columns_are,
    matches,
    nothing_unset,
    one_of,
    same,
    unique,
    zero,
)
from resources.geometry import GRID_TOLERANCE_VOXELS

MAX_SHEAR_DEG = 1.0
"""Voxel axes further than this from right angles would make areas and sizes wrong by more than 0.02 %."""

_ROUNDING = 1e-6
_KEY = ("subject", "scan", "series", "kind", "labels_name")
_SHOWN_AFFINE = tuple(f"affine_ras_mm_{n}" for n in range(12))


def view(table: pl.DataFrame) -> pl.DataFrame:
    """The `volumes` table as Great Expectations sees it: scalar columns, lists as text, and derived errors.

    `spacing_error` is the largest relative difference between an affine's column norm and the spacing. `ras_margin` is how
    much better (in cosines) the axes fit right, anterior, superior than in any other order, or the smallest cosine of an
    axis with its own world axis; it is negative when another reorientation would be closer to RAS+.
    """
    if not is_as_documented(table, VOLUMES):
        return malformed(table, VOLUMES)
    flat = table.with_columns(
        *items("shape_ijk", 3), *items("spacing_mm", 3), *items("affine_ras_mm", 16), *_of_kind(), *_lists()
    )
    shape = [f"shape_ijk_{n}" for n in range(3)]
    required = ["dataset", "subject", "scan", "series", "kind", "path", "space", "third_axis", *shape, "dtype", "content_xxh128"]
    nested = [c for c, t in table.schema.items() if t.is_nested()]
    return (
        flat.with_columns(unset(required, flat.schema) + _unset_of_kind(flat.schema) + _unset_of_space(flat.schema))
        .with_columns(pl.col("labels_name").fill_null(""), **_geometry())
        .drop(*nested, "dataset", "path", "source_orientation", "obliquity_deg", "synthetic", strict=True)
    )  # fmt: skip


def _unset_of_kind(schema: pl.Schema) -> pl.Expr:
    """What only images or only label maps must have; an image without one finite voxel has no smallest value."""
    is_image, is_labels = pl.col("kind") == "image", pl.col("kind") == "labels"
    has_values = is_image & (pl.col("n_nonfinite").fill_null(0) == 0)
    of_labels = unset(["labels_name", "label_ids", "label_voxels", "grid_offset_voxels"], schema)
    return pl.concat_str(
        pl.when(is_image).then(unset(["n_nonfinite"], schema)).otherwise(pl.lit("")),
        pl.when(has_values).then(unset(["min", "max", "mean"], schema)).otherwise(pl.lit("")),
        pl.when(is_labels).then(of_labels).otherwise(pl.lit("")),
    )


def _unset_of_space(schema: pl.Schema) -> pl.Expr:
    """What a volume in a patient must have; of its spacings only that of an axis of one voxel may be unknown."""
    affine = [f"affine_ras_mm_{n}" for n in range(16)]
    spacing = [
        pl.when(pl.col(f"spacing_mm_{n}").is_null() & (pl.col(f"shape_ijk_{n}") > 1))
        .then(pl.lit(f"spacing_mm_{n} "))
        .otherwise(pl.lit(""))
        for n in range(3)
    ]
    of_patient = pl.concat_str(unset([*affine, "source_orientation", "shear_deg"], schema), *spacing)
    return pl.when(pl.col("space") == "patient").then(of_patient).otherwise(pl.lit(""))


def _of_kind() -> list[pl.Expr]:
    """What concerns label maps only, null for images."""
    is_labels = pl.col("kind") == "labels"
    excess = pl.max_horizontal(pl.col("min") - pl.col("mean"), pl.col("mean") - pl.col("max"))
    size = pl.max_horizontal(pl.col("min").abs(), pl.col("max").abs(), pl.lit(1.0))
    return [
        pl.when(is_labels).then(pl.col("dtype")).alias("labels_dtype"),
        (excess / size).alias("mean_excess"),
    ]


def _lists() -> list[pl.Expr]:
    """Lists as text, their entries separated by one space."""
    return [
        pl.col("label_ids").cast(pl.List(pl.String)).list.join(" ").alias("label_id_text"),
        pl.col("source_sha256").list.join(" ", ignore_nulls=False).fill_null("").alias("source_sha256_text"),
        pl.col("label_ids").list.len().cast(pl.Int64).alias("n_label_ids"),
        pl.col("label_voxels").list.len().cast(pl.Int64).alias("n_label_voxels"),
        pl.col("label_ids").list.n_unique().cast(pl.Int64).alias("n_distinct_label_ids"),
        pl.col("label_voxels").list.min().alias("label_voxels_least"),
        pl.col("source_paths").list.len().fill_null(0).cast(pl.Int64).alias("n_sources"),
        pl.col("source_sha256").list.len().fill_null(0).cast(pl.Int64).alias("n_source_sha256"),
    ]


def _geometry() -> dict[str, pl.Expr]:
    norm = [sum((_affine(r, c) ** 2 for r in range(3)), pl.lit(0.0)).sqrt() for c in range(3)]
    cosine = {(r, c): _affine(r, c) / norm[c] for r in range(3) for c in range(3)}
    fit = {order: sum((cosine[r, order[r]].abs() for r in range(3)), pl.lit(0.0)) for order in permutations(range(3))}
    best_other = pl.max_horizontal([value for order, value in fit.items() if order != (0, 1, 2)])
    last_row = pl.max_horizontal([(_affine(3, c) - float(c == 3)).abs() for c in range(4)])
    spacing = [pl.col(f"spacing_mm_{n}") for n in range(3)]
    return {
        "spacing_least_mm": pl.min_horizontal(spacing),
        "spacing_most_mm": pl.max_horizontal(spacing),
        "spacing_error": pl.max_horizontal([relative_error(spacing[n], norm[n]) for n in range(3)]),
        "last_row_error": last_row,
        "ras_margin": pl.min_horizontal(fit[0, 1, 2] - best_other, *(cosine[n, n] for n in range(3))),
    }


def _affine(row: int, column: int) -> pl.Expr:
    return pl.col(f"affine_ras_mm_{4 * row + column}")


def suite(spec: DatasetSpec) -> Suite:
    """The suite of `volumes`, for tables that went through `view`."""
    expectations = (
        columns_are(view(pl.DataFrame(schema=dict(VOLUMES))).columns, "volumes"),
        nothing_unset(),
        one_of("kind", ["image", "labels"], "a volume is an image or a label map"),
        one_of("space", ["patient", "picture"], "a volume lies in a patient or is a picture"),
        one_of("third_axis", ["space", "time", "page", "colour"], "the third axis is space, time, pages or colours"),
        unique(_KEY, "a volume is listed once"),
        *_geometry_holds(spec),
        *_images_hold(spec),
        *_labels_hold(spec),
        *_fingerprints_hold(),
    )
    return Suite(f"{spec.slug}/volumes", "volumes", expectations, ("scan", "series", "kind", "labels_name"))


def _geometry_holds(spec: DatasetSpec) -> Iterator[Expectation]:
    low, high = spec.expect.spacing_mm
    spacing = tuple(f"spacing_mm_{n}" for n in range(3))
    for n, axis in enumerate("ijk"):
        yield between(f"shape_ijk_{n}", f"the volume has a voxel along {axis}", 1)
    yield between("spacing_least_mm", f"spacings are {low} mm or more", low, shown=spacing)
    yield between("spacing_most_mm", f"spacings are {high} mm or less", high=high, shown=spacing)
    sentence = "the spacing is the length of the affine's columns"
    yield between("spacing_error", sentence, high=_ROUNDING, shown=(*spacing, *_SHOWN_AFFINE))
    last = tuple(f"affine_ras_mm_{n}" for n in range(12, 16))
    yield zero("last_row_error", "the affine's last row is 0 0 0 1", shown=last)
    sentence = "the axes point right, anterior, superior: no other order or flip of them is closer"
    yield between("ras_margin", sentence, -1e-8, shown=_SHOWN_AFFINE)
    sentence = f"the voxel axes are within {MAX_SHEAR_DEG} degree of right angles"
    yield between("shear_deg", sentence, 0, MAX_SHEAR_DEG, below=True)


def _images_hold(spec: DatasetSpec) -> Iterator[Expectation]:
    yield at_least("max", "min", "the largest value is not below the smallest")
    sentence = "the mean lies between the smallest and the largest value"
    yield between("mean_excess", sentence, high=1e-9, shown=["min", "mean", "max"])
    for series, (low, high) in spec.expect.intensity_of.items():
        what, only = (f"{series} ", ("series", series)) if series else ("", None)
        yield between("min", f"no {what}image value is below {low}", low, only=only)
        yield between("max", f"no {what}image value is above {high}", high=high, only=only)
    if spec.expect.nonfinite_voxels == "error":
        yield between("n_nonfinite", "no voxel is NaN or infinite", 0, 0)
    else:
        yield between("n_nonfinite", "the number of NaN and infinite voxels is not negative", 0)


def _labels_hold(spec: DatasetSpec) -> Iterator[Expectation]:
    known = "|".join(str(n) for n in spec.labels) or "(?!)"
    names = ", ".join(f"{n} ({label.name})" for n, label in spec.labels.items()) or "none"
    yield matches("label_id_text", f"(?:(?:{known})(?: (?:{known}))*)?", f"the labels are among {names}")
    yield same("n_distinct_label_ids", "n_label_ids", "no label is listed twice")
    yield same("n_label_voxels", "n_label_ids", "every label has its number of voxels")
    yield between("label_voxels_least", "every label that is listed has a voxel", 1)
    yield one_of("labels_dtype", ["uint8", "uint16"], "a label map is stored in uint8 or uint16")
    sentence = f"the label map lies on the image's grid within {GRID_TOLERANCE_VOXELS} voxel"
    yield between("grid_offset_voxels", sentence, 0, GRID_TOLERANCE_VOXELS, below=True)


def _fingerprints_hold() -> Iterator[Expectation]:
    digest = "[0-9a-f]{64}"
    yield matches("source_sha256_text", f"{digest}(?: {digest})*", "every source file has its sha256 (64 hex digits)")
    yield same("n_source_sha256", "n_sources", "there are as many sha256 as source files")
    yield matches("content_xxh128", "[0-9a-f]{32}", "the voxels have their XXH128 (32 hex digits)")
