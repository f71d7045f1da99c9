"""What must hold of the measurements' table: lengths that fit into the picture, angles that are folded as they should be."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from assets.spec import DatasetSpec, Measurement
from assets.tables import LANDMARKS, MEASUREMENTS
from expectations.flatten import is_as_documented, malformed, relative_error, with_unset
from expectations.landmarks import SET_KEY, slice_columns, slice_holds, with_series
from expectations.suite import Expectation, Suite, at_least, between, columns_are, nothing_unset, one_of, unique, zero

CALIBRATIONS = ("header", "declared by the spec")

_ROUNDING = 1e-6
_WHERE = ("scan", "set", "name")


def view(table: pl.DataFrame, volumes: pl.DataFrame, landmarks: pl.DataFrame) -> pl.DataFrame:
    """The `measurements` table as Great Expectations sees it.

    Args:
        table: `measurements`.
        volumes: `volumes` of the same subjects; its image rows give the pictures' diagonals.
        landmarks: `landmarks` of the same subjects.
    """
    if not is_as_documented(table, MEASUREMENTS):
        return malformed(table, MEASUREMENTS)
    is_distance = pl.col("kind") == "distance"
    diagonal = sum((_side_mm(axis) ** 2 for axis in range(3)), pl.lit(0.0)).sqrt()
    flat = with_series(_with_ends(table, landmarks), volumes).with_columns(
        measurement_key=pl.concat_str("kind", "name", pl.col("landmarks").list.join(" | "), separator=": "),
        set_size=pl.col("set") + ":" + pl.len().over(SET_KEY).cast(pl.String),
        unit_key=pl.col("kind") + ":" + pl.col("unit"),
        distance_mm=pl.when(is_distance).then("value"),
        diagonal_mm=diagonal,
        angle_deg=pl.when(~is_distance).then("value"),
        unfolded_deg=pl.when(~is_distance).then("unfolded_value"),
        n_unfolded=(is_distance & pl.col("unfolded_value").is_not_null()).cast(pl.Int8),
        **slice_columns(),
    )
    ends = pl.when(is_distance).then(relative_error(pl.col("distance_mm"), pl.col("apart_mm")).fill_null(float("inf")))
    folded = pl.min_horizontal(pl.col("unfolded_deg"), 180 - pl.col("unfolded_deg"))
    who = ["dataset", "subject", "scan", "series", "set", "kind", "name", "value", "unit", "landmarks", "calibration"]
    flat = with_unset(flat, [*who, "diagonal_mm"]).with_columns(
        pl.when((pl.col("kind") == "angle") & ~pl.col("unfolded_value").is_finite().fill_null(value=False))
        .then(pl.col("unset") + "unfolded_value ")
        .otherwise("unset")
        .alias("unset"),
        ends_error=ends,
        fold_error=(pl.col("angle_deg") - folded).abs(),
    )
    return flat.select(
        *SET_KEY, "name", "kind", "measurement_key", "set_size", "unit_key", "plane", "slice", "slice_extent",
        "slice_without_plane", "distance_mm", "diagonal_mm", "apart_mm", "ends_error", "angle_deg", "unfolded_deg", "n_unfolded",
        "fold_error", "calibration", "unset",
    )  # fmt: skip


def _side_mm(axis: int) -> pl.Expr:
    """Length of the picture along a voxel axis, from face to face."""
    column = [pl.col("affine_ras_mm").arr.get(4 * row + axis) for row in range(3)]
    step = sum((entry**2 for entry in column), pl.lit(0.0)).sqrt()
    return pl.col("shape_ijk").arr.get(axis) * step


def _with_ends(table: pl.DataFrame, landmarks: pl.DataFrame) -> pl.DataFrame:
    """Add `apart_mm`, how far the first two landmarks of each row lie apart where they were set."""
    if not is_as_documented(landmarks, LANDMARKS):
        landmarks = pl.DataFrame(schema=dict(LANDMARKS))
    places = landmarks.unique([*SET_KEY, "name"], keep="first", maintain_order=True)
    for n in (0, 1):
        at = places.select(*SET_KEY, pl.col("name").alias(f"end_{n}"), pl.col("source_ras_mm").alias(f"place_{n}"))
        table = table.with_columns(pl.col("landmarks").list.get(n, null_on_oob=True).alias(f"end_{n}"))
        table = table.join(at, on=[*SET_KEY, f"end_{n}"], how="left", maintain_order="left")
    apart = [(pl.col("place_0").arr.get(axis) - pl.col("place_1").arr.get(axis)) ** 2 for axis in range(3)]
    return table.with_columns(apart_mm=sum(apart, pl.lit(0.0)).sqrt())


def suite(spec: DatasetSpec) -> Suite:
    """The suite of `measurements`, for tables that went through `view`."""
    empty = pl.DataFrame(schema=dict(MEASUREMENTS))
    keys = [_key(m) for m in spec.measurements]
    expectations = (
        columns_are(view(empty, pl.DataFrame(), pl.DataFrame()).columns, "measurements"),
        nothing_unset("every required value is there and finite, and the picture of the measurement is known"),
        unique((*SET_KEY, "name"), "a measurement is listed once"),
        one_of("measurement_key", keys, f"kind, name and landmarks are those of the spec: {'; '.join(keys) or 'none'}"),
        one_of("set_size", _sizes(spec), "the measurements of a set are complete", shown=("set",)),
        one_of("unit_key", ("distance:mm", "angle:degree"), "distances are in mm and angles in degrees"),
        one_of("calibration", CALIBRATIONS, f"the mm come from one of: {', '.join(CALIBRATIONS)}"),
        *slice_holds(),
        *_distances_hold(),
        *_angles_hold(),
    )
    return Suite(f"{spec.slug}/measurements", "measurements", expectations, _WHERE)


def _distances_hold() -> Iterator[Expectation]:
    yield between("distance_mm", "a distance is longer than 0 mm", 0, above=True)
    yield at_least("diagonal_mm", "distance_mm", "a distance is no longer than the picture's diagonal")
    sentence = "a distance is that between its two landmarks"
    yield between("ends_error", sentence, 0, _ROUNDING, shown=("distance_mm", "apart_mm"))
    yield zero("n_unfolded", "a distance has no unfolded value")


def _angles_hold() -> Iterator[Expectation]:
    yield between("angle_deg", "an angle is folded to 0 to 90 degrees", 0, 90)
    yield between("unfolded_deg", "an unfolded angle is 0 to 180 degrees", 0, 180)
    sentence = "a folded angle is the smaller of the unfolded one and its supplement"
    yield between("fold_error", sentence, 0, _ROUNDING, shown=("angle_deg", "unfolded_deg"))


def _key(measurement: Measurement) -> str:
    kind = "distance" if measurement.distance is not None else "angle"
    return f"{kind}: {measurement.name}: {' | '.join(measurement.landmarks)}"


def _sizes(spec: DatasetSpec) -> list[str]:
    """`<set>:<n>` for every number of measurements a set may have: all where all landmarks are there, else up to all."""
    most = len(spec.measurements)
    sizes = []
    for name, source in spec.layout.landmarks.items():
        sizes += [f"{name}:{n}" for n in range(most if source.reader == "xy_lines" else 1, most + 1)]
    return sizes
