"""Mask sizes: pixels and area of every label in every slice."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from assets.annotations.planes import LabelMap
from assets.spec import DatasetSpec
from assets.tables import MASK_SIZES, concatenate, frame


def mask_sizes(spec: DatasetSpec, label_map: LabelMap) -> pl.DataFrame:
    """The `mask_sizes` rows of one label map; the area is pixels times the pixel's own area in mm2."""
    parts = []
    for plane, found in label_map.components.items():
        first = np.flatnonzero(found.component == 1)
        pixels = np.add.reduceat(found.pixel_count, first) if len(first) else found.pixel_count
        pixel_mm = label_map.pixel_mm(plane)
        columns = label_map.identity(spec, plane, found.select(first)) | {
            "n_components": found.n_components[first],
            "pixel_count": pixels,
            "area_mm2": pixels * math.prod(pixel_mm) if pixel_mm else [None] * len(pixels),
            "synthetic": label_map.synthetic,
        }
        parts.append(frame(MASK_SIZES, columns))
    return concatenate(MASK_SIZES, parts)
