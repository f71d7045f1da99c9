"""Correct tables, every number of which follows by hand from one cuboid in one image.

Two subjects have the same image: 20 x 30 x 10 voxels of 0.5 x 0.75 x 3 mm. Subject A holds one cuboid of `tumor`, voxels
i 2-5, j 3-7, k 4-6; subject B the same cuboid and, in the axial slice 4 alone, a second component of 1 x 3 pixels at the edge.
"""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from assets.spec import DatasetSpec
from assets.tables import BOXES, LEDGER, LESION_SIZES, MASK_SIZES, RAW, SPLITS, VOLUMES, Schema, frame

A, B, C = "case_00000", "case_00001", "case_00009"
SHAPE = (20, 30, 10)
SPACING = (0.5, 0.75, 3.0)
LOW, HIGH = (2, 3, 4), (5, 7, 6)
PLANES = {"sagittal": 0, "coronal": 1, "axial": 2}
AFFINE = [0.5, 0, 0, -5, 0, 0.75, 0, -9, 0, 0, 3, 12, 0, 0, 0, 1]

Row = dict[str, Any]


def spec(**expect: Any) -> DatasetSpec:
    """A dataset with an organ and a tumor."""
    return DatasetSpec.model_validate(
        {
            "slug": "toy",
            "name": "Toy",
            "version": "1",
            "licence": "CC0-1.0",
            "access": "open",
            "modality": "CT",
            "anatomy": "none",
            "description": "made up",
            "sources": [],
            "layout": {
                "subject": r"case_\d{5}",
                "series": {"ct": "{subject}/ct.nii.gz"},
                "labels": {"masses": "{subject}/seg.nii.gz"},
            },
            "labels": {1: "organ", 2: "tumor"},
            "lesions": [2],
            "expect": {"intensity": [-1000, 3000], "spacing_mm": [0.1, 10]} | expect,
        }
    )


def edit(table: pl.DataFrame, schema: Schema, where: Row, **values: Any) -> pl.DataFrame:
    """The table with other values in the first row that agrees with `where`."""
    rows = table.to_dicts()
    row = next(r for r in rows if all(r[c] == v for c, v in where.items()))
    row.update(values)
    return frame(schema, rows)


def _who(subject: str) -> Row:
    return {"dataset": "toy", "subject": subject, "scan": "0", "series": "ct"}


def raw() -> pl.DataFrame:
    """Two files per subject and one that is ignored."""
    rows = [
        {"path": f"{s}/{n}.nii.gz", "subject": s, "scan": "0", "role": role, "state": "used", "reason": "", "size": 9}
        for s in (A, B)
        for n, role in (("ct", "image"), ("seg", "labels"))
    ]
    rows.append({"path": "README", "subject": "", "scan": "", "role": "", "state": "ignored", "reason": "text", "size": 0})
    return frame(RAW, [r | {"dataset": "toy", "mtime_ns": 1, "sha256": None, "synthetic": False} for r in rows])


def volumes() -> pl.DataFrame:
    """One image and one label map per subject."""
    rows = []
    for s in (A, B):
        common = _who(s) | {
            "path": f"volumes/{s}",
            "space": "patient",
            "third_axis": "space",
            "shape_ijk": SHAPE,
            "spacing_mm": SPACING,
            "affine_ras_mm": AFFINE,
            "source_orientation": "LPS",
            "obliquity_deg": 0.0,
            "shear_deg": 0.0,
            "source_paths": ["x.nii.gz"],
            "source_sha256": ["0123456789abcdef" * 4],
            "content_xxh128": "f" * 32,
            "synthetic": False,
        }
        statistics = {"min": -1000.0, "max": 400.0, "mean": -10.5, "n_nonfinite": 0}
        labels = {"label_ids": [1, 2], "label_voxels": [5, 60], "grid_offset_voxels": 0.0}
        rows.append(common | statistics | {"kind": "image", "dtype": "int16"})
        rows.append(common | labels | {"kind": "labels", "labels_name": "masses", "dtype": "uint8"})
    return frame(VOLUMES, [dict.fromkeys(VOLUMES) | r for r in rows])


def _slices(subject: str) -> list[tuple[str, int, list[tuple[tuple[int, int], tuple[int, int]]]]]:
    """Plane, slice, and the corners of the rectangles in it."""
    found = []
    for plane, axis in PLANES.items():
        a, b = (n for n in range(3) if n != axis)
        for k in range(LOW[axis], HIGH[axis] + 1):
            rectangles = [((LOW[a], LOW[b]), (HIGH[a], HIGH[b]))]
            if (subject, plane, k) == (B, "axial", 4):
                rectangles.append(((19, 20), (19, 22)))
            found.append((plane, k, rectangles))
    return found


def _spacing(plane: str) -> list[float]:
    return [s for n, s in enumerate(SPACING) if n != PLANES[plane]]


def _in_plane(subject: str, plane: str, k: int) -> Row:
    return _who(subject) | {"plane": plane, "slice": k, "label_id": 2, "label": "tumor", "synthetic": False}


def boxes() -> pl.DataFrame:
    """One row per rectangle."""
    rows = []
    for s in (A, B):
        for plane, k, rectangles in _slices(s):
            for n, (low, high) in enumerate(rectangles, 1):
                size = [high[0] - low[0] + 1, high[1] - low[1] + 1]
                numbers = {
                    "component": n,
                    "n_components": len(rectangles),
                    "min_px": low,
                    "max_px": high,
                    "size_px": size,
                    "size_mm": [p * mm for p, mm in zip(size, _spacing(plane), strict=True)],
                    "pixel_count": size[0] * size[1],
                    "touches_border": n == 2,
                }
                rows.append(_in_plane(s, plane, k) | numbers)
    return frame(BOXES, rows)


def mask_sizes() -> pl.DataFrame:
    """One row per slice."""
    rows = []
    for s in (A, B):
        for plane, k, rectangles in _slices(s):
            pixels = sum((h[0] - low[0] + 1) * (h[1] - low[1] + 1) for low, h in rectangles)
            area = pixels * math.prod(_spacing(plane))
            numbers = {"n_components": len(rectangles), "pixel_count": pixels, "area_mm2": area}
            rows.append(_in_plane(s, plane, k) | numbers)
    return frame(MASK_SIZES, rows)


def lesion_sizes() -> pl.DataFrame:
    """A rectangle of sides a and b has the variances a^2/12 and b^2/12, and axes of four standard deviations."""
    rows = []
    for s in (A, B):
        for plane, k, rectangles in _slices(s):
            for n, (low, high) in enumerate(rectangles, 1):
                numbers = {"component": n, "n_components": len(rectangles)} | _axes(low, high, _spacing(plane))
                rows.append(_in_plane(s, plane, k) | numbers | {"has_holes": False, "touches_border": n == 2})
    return frame(LESION_SIZES, rows)


def _axes(low: tuple[int, int], high: tuple[int, int], spacing: list[float]) -> Row:
    size = [high[n] - low[n] + 1 for n in (0, 1)]
    centre = [(low[n] + high[n]) / 2 for n in (0, 1)]
    found: Row = {"pixel_count": size[0] * size[1], "centre_px": centre}
    if min(size) == 1:
        return found | dict.fromkeys(("major_mm", "minor_mm", "angle_deg", "major_px", "minor_px")) | {"reliable": False}
    length = [4 * size[n] * spacing[n] / math.sqrt(12) for n in (0, 1)]
    ends = []
    for n in (0, 1):
        step = [length[n] / spacing[n] / 2 if m == n else 0.0 for m in (0, 1)]
        ends.append([[centre[m] - step[m] for m in (0, 1)], [centre[m] + step[m] for m in (0, 1)]])
    major = int(length[1] > length[0])
    axes = {"major_mm": length[major], "minor_mm": length[1 - major], "angle_deg": 90.0 * major, "reliable": True}
    return found | axes | {"major_px": ends[major], "minor_px": ends[1 - major]}


def copied() -> pl.DataFrame:
    """The volumes with another image in B, and a subject C that is a copy of A."""
    table = edit(volumes(), VOLUMES, {"subject": B, "kind": "image"}, content_xxh128="e" * 32)
    return pl.concat([table, table.filter(subject=A).with_columns(subject=pl.lit(C))])


def splits() -> pl.DataFrame:
    """A and its copy train, B tests."""
    rows = [{"subject": s, "group": g, "split": split} for s, g, split in ((A, A, "train"), (B, B, "test"), (C, A, "train"))]
    return frame(SPLITS, [r | {"dataset": "toy", "official_split": None, "reason": "hash", "synthetic": False} for r in rows])


def ledger() -> pl.DataFrame:
    """Both subjects published, a third quarantined, three files."""
    rows = [
        ("subject", A, "used", ""),
        ("subject", B, "used", ""),
        ("subject", "case_00002", "quarantined", "truncated"),
        ("file", "a", "used", ""),
        ("file", "b", "used", ""),
        ("file", "README", "ignored", "text"),
    ]
    columns = ("kind", "name", "state", "reason")
    more = {"dataset": "toy", "subject": "", "code": "", "synthetic": False}
    return frame(LEDGER, [dict(zip(columns, row, strict=True)) | more for row in rows])
