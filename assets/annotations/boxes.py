"""Bounding boxes: one row per component, slice, label and plane.

Components are 2-D and 4-connected, as in MedVision's plans, and all are kept; the published sample rule (one component in the
slice, both sides at least 10 pixels) is a query on the table. Corners are inclusive pixel indices.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from assets.annotations.planes import LabelMap
from assets.spec import DatasetSpec
from assets.tables import BOXES, concatenate, frame

SAMPLE_MIN_SIDE_PX = 10
"""Shortest side of a box in MedVision's published sample rule."""


def boxes(spec: DatasetSpec, label_map: LabelMap) -> pl.DataFrame:
    """The `boxes` rows of one label map."""
    parts = []
    for plane, found in label_map.components.items():
        low = np.stack([found.row_min, found.col_min], 1)
        high = np.stack([found.row_max, found.col_max], 1)
        size = high - low + 1
        pixel_mm = label_map.pixel_mm(plane)
        columns = label_map.identity(spec, plane, found) | {
            "component": found.component,
            "n_components": found.n_components,
            "min_px": low.astype(np.int32),
            "max_px": high.astype(np.int32),
            "size_px": size.astype(np.int32),
            "size_mm": size * np.array(pixel_mm) if pixel_mm else [None] * len(size),
            "pixel_count": found.pixel_count,
            "touches_border": label_map.touches_border(plane, found),
            "synthetic": label_map.synthetic,
        }
        parts.append(frame(BOXES, columns))
    return concatenate(BOXES, parts)


def sample_rule() -> pl.Expr:
    """MedVision's rule for a box that becomes a benchmark sample (release 1.0.0)."""
    sides = pl.col("size_px")
    return (pl.col("n_components") == 1) & (sides.arr.get(0) >= SAMPLE_MIN_SIDE_PX) & (sides.arr.get(1) >= SAMPLE_MIN_SIDE_PX)
