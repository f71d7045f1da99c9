"""Lesion sizes: major and minor axis of every lesion component in every plane, by second moments in millimetres."""

from __future__ import annotations

import numpy as np
import polars as pl

from assets.annotations.planes import LabelMap
from assets.measure.components import Plane
from assets.measure.ellipse import axes_mm, fill_holes
from assets.measure.labels import tight_box
from assets.spec import DatasetSpec
from assets.tables import LESION_SIZES, concatenate, frame
from resources.findings import Code, Finding, Severity, finding


def lesion_sizes(spec: DatasetSpec, label_map: LabelMap) -> pl.DataFrame:
    """The `lesion_sizes` rows of one label map; no axes where a component is a pixel or a line, or pixels have no size in mm."""
    table = concatenate(LESION_SIZES, [_of_plane(spec, label_map, plane) for plane in label_map.components])
    unknown = pl.col("major_mm").is_nan()
    return table.with_columns(pl.when(unknown).then(None).otherwise(pl.col(c)).alias(c) for c in _AXES)


def _of_plane(spec: DatasetSpec, label_map: LabelMap, plane: Plane) -> pl.DataFrame:
    every = label_map.components[plane]
    found = every.select(np.flatnonzero(np.isin(every.label_id, spec.lesions)))
    filled = fill_holes(found, label_map.crop, plane, label_map.offset_ijk)
    pixel_mm = label_map.pixel_mm(plane)
    axes = axes_mm(filled, pixel_mm or (1.0, 1.0))
    columns = label_map.identity(spec, plane, found) | {
        "component": found.component,
        "n_components": found.n_components,
        "pixel_count": found.pixel_count,
        "major_mm": axes.major_mm if pixel_mm else np.full(len(found.label_id), np.nan),
        "minor_mm": axes.minor_mm,
        "angle_deg": axes.angle_deg,
        "centre_px": axes.centre_px,
        "major_px": axes.major_px,
        "minor_px": axes.minor_px,
        "has_holes": found.n_holes > 0,
        "touches_border": label_map.touches_border(plane, found),
        "reliable": axes.reliable if pixel_mm else np.zeros(len(found.label_id), np.bool_),
        "synthetic": label_map.synthetic,
    }
    return frame(LESION_SIZES, columns)


_AXES = ("major_mm", "minor_mm", "angle_deg", "major_px", "minor_px")


def lesion_findings(spec: DatasetSpec, label_map: LabelMap, table: pl.DataFrame) -> list[Finding]:
    """What a user should know about the lesions of one label map: too small to be measured, cut off by the border.

    Nearly every lesion ends in slices where it is a line of pixels; it is a warning only when no component could be measured.
    """
    found = []
    tiny = table.filter(pl.col("major_mm").is_null())
    if tiny.height:
        detail = (
            f"{tiny.height} of {table.height} lesion components are one pixel or one line of pixels: "
            "their boxes are given, their axes are not"
        )
        severity = Severity.WARNING if tiny.height == table.height else Severity.INFO
        found.append(finding(Code.LESION_WITHOUT_AXES, detail, file=label_map.file, severity=severity))
    for label_id in spec.lesions:
        box = tight_box(label_map.crop == label_id)
        if box is None:
            continue
        sides = zip("ijk", box, label_map.offset_ijk, label_map.shape_ijk, strict=True)
        cut = [axis for axis, (low, stop), offset, extent in sides if offset + low == 0 or offset + stop == extent]
        if cut and min(label_map.shape_ijk) > 1 and label_map.space == "patient":
            name = spec.label_name(label_id)
            detail = f"{name} ({label_id}) touches the volume's border along {', '.join(cut)}: its size is a lower bound"
            found.append(finding(Code.LESION_AT_BORDER, detail, file=label_map.file))
    return found
