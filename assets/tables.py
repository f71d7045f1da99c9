"""The columns of every table, in order. What a column means is said once, here and in `docs/tables.md`.

In-plane pairs (`_px`) are in array order: of the axes i, j, k the slice axis is dropped and the two that remain keep their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

Schema = Mapping[str, pl.DataType | type[pl.DataType]]

_WHO: dict[str, Any] = {"dataset": pl.String, "subject": pl.String, "scan": pl.String, "series": pl.String}
_IN_PLANE: dict[str, Any] = {"plane": pl.String, "slice": pl.Int32, "label_id": pl.UInt16, "label": pl.String}
_PAIR = pl.Array(pl.Int32, 2)
_POINT = pl.Array(pl.Float64, 2)

VOLUMES: Schema = {
    **_WHO,
    "kind": pl.String,
    "labels_name": pl.String,
    "path": pl.String,
    "space": pl.String,
    "third_axis": pl.String,
    "shape_ijk": pl.Array(pl.Int32, 3),
    "spacing_mm": pl.Array(pl.Float64, 3),
    "affine_ras_mm": pl.Array(pl.Float64, 16),
    "source_orientation": pl.String,
    "obliquity_deg": pl.Float64,
    "shear_deg": pl.Float64,
    "dtype": pl.String,
    "min": pl.Float64,
    "max": pl.Float64,
    "mean": pl.Float64,
    "n_nonfinite": pl.Int64,
    "label_ids": pl.List(pl.UInt16),
    "label_voxels": pl.List(pl.Int64),
    "grid_offset_voxels": pl.Float64,
    "source_paths": pl.List(pl.String),
    "source_sha256": pl.List(pl.String),
    "content_xxh128": pl.String,
    "synthetic": pl.Boolean,
}

BOXES: Schema = {
    **_WHO,
    **_IN_PLANE,
    "component": pl.Int32,
    "n_components": pl.Int32,
    "min_px": _PAIR,
    "max_px": _PAIR,
    "size_px": _PAIR,
    "size_mm": _POINT,
    "pixel_count": pl.Int64,
    "touches_border": pl.Boolean,
    "synthetic": pl.Boolean,
}

MASK_SIZES: Schema = {
    **_WHO,
    **_IN_PLANE,
    "n_components": pl.Int32,
    "pixel_count": pl.Int64,
    "area_mm2": pl.Float64,
    "synthetic": pl.Boolean,
}

LESION_SIZES: Schema = {
    **_WHO,
    **_IN_PLANE,
    "component": pl.Int32,
    "n_components": pl.Int32,
    "pixel_count": pl.Int64,
    "major_mm": pl.Float64,
    "minor_mm": pl.Float64,
    "angle_deg": pl.Float64,
    "centre_px": _POINT,
    "major_px": pl.Array(pl.Float64, (2, 2)),
    "minor_px": pl.Array(pl.Float64, (2, 2)),
    "has_holes": pl.Boolean,
    "touches_border": pl.Boolean,
    "reliable": pl.Boolean,
    "synthetic": pl.Boolean,
}

_SET: dict[str, Any] = {"set": pl.String, "plane": pl.String, "slice": pl.Int32}
_PLACE = pl.Array(pl.Float64, 3)

LANDMARKS: Schema = {
    **_WHO,
    **_SET,
    "landmark": pl.Int32,
    "name": pl.String,
    "ijk": _PLACE,
    "ras_mm": _PLACE,
    "source_ras_mm": _PLACE,
    "synthetic": pl.Boolean,
}

MEASUREMENTS: Schema = {
    **_WHO,
    **_SET,
    "kind": pl.String,
    "name": pl.String,
    "value": pl.Float64,
    "unit": pl.String,
    "unfolded_value": pl.Float64,
    "landmarks": pl.List(pl.String),
    "calibration": pl.String,
    "synthetic": pl.Boolean,
}

FINDINGS: Schema = {
    "dataset": pl.String,
    "subject": pl.String,
    "code": pl.String,
    "severity": pl.String,
    "file": pl.String,
    "detail": pl.String,
    "synthetic": pl.Boolean,
}

LEDGER: Schema = {
    "dataset": pl.String,
    "kind": pl.String,
    "name": pl.String,
    "subject": pl.String,
    "state": pl.String,
    "code": pl.String,
    "reason": pl.String,
    "synthetic": pl.Boolean,
}

RAW: Schema = {
    "dataset": pl.String,
    "path": pl.String,
    "subject": pl.String,
    "scan": pl.String,
    "role": pl.String,
    "state": pl.String,
    "reason": pl.String,
    "size": pl.Int64,
    "mtime_ns": pl.Int64,
    "sha256": pl.String,
    "synthetic": pl.Boolean,
}

SPLITS: Schema = {
    "dataset": pl.String,
    "subject": pl.String,
    "group": pl.String,
    "split": pl.String,
    "official_split": pl.String,
    "reason": pl.String,
    "synthetic": pl.Boolean,
}

CLASSES: Schema = {
    **_WHO,
    "class_id": pl.Int32,
    "class": pl.String,
    "source": pl.String,
    "synthetic": pl.Boolean,
}

OBJECTS: Schema = {
    **_WHO,
    "object": pl.Int32,
    "label_id": pl.UInt16,
    "label": pl.String,
    "min_px": _POINT,
    "max_px": _POINT,
    "centre_ras_mm": pl.Array(pl.Float64, 3),
    "diameter_mm": pl.Float64,
    "source": pl.String,
    "synthetic": pl.Boolean,
}

SUBJECT_TABLES: dict[str, Schema] = {
    "volumes": VOLUMES,
    "boxes": BOXES,
    "mask_sizes": MASK_SIZES,
    "lesion_sizes": LESION_SIZES,
    "landmarks": LANDMARKS,
    "measurements": MEASUREMENTS,
}
"""The tables that have one file per subject; a step's own table has the name of the step."""


def tables_of(step: str) -> tuple[str, ...]:
    """The tables that a per-subject step writes, its own first."""
    return ("landmarks", "measurements") if step == "landmarks" else (step,)


def frame(schema: Schema, rows: Iterable[Mapping[str, Any]] | Mapping[str, Sequence[Any] | Any]) -> pl.DataFrame:
    """A table of exactly these columns, from rows or from columns; a single value of a column holds for all rows."""
    if not isinstance(rows, Mapping):
        listed = list(rows)
        return pl.DataFrame([pl.Series(name, [row.get(name) for row in listed], kind) for name, kind in schema.items()])
    height = next(len(values) for values in rows.values() if isinstance(values, list | np.ndarray))
    return pl.DataFrame([_column(name, kind, rows[name], height) for name, kind in schema.items()])


def _column(name: str, kind: pl.DataType | type[pl.DataType], values: Any, height: int) -> pl.Series:
    if isinstance(values, list | np.ndarray):
        return pl.Series(name, values, dtype=kind)
    return pl.Series(name, [values], dtype=kind).new_from_index(0, height)


def concatenate(schema: Schema, parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """All parts under one another; an empty table of the schema where there are none."""
    return pl.concat(parts, how="vertical", rechunk=True) if parts else pl.DataFrame(schema=dict(schema))
