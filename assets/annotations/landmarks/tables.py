"""The `landmarks` and `measurements` tables of one subject."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from assets.annotations.landmarks.files import read_text, require_recorded
from assets.annotations.landmarks.grid import Calibration, SeriesGrid
from assets.annotations.landmarks.label_pairs import points_of_pair_map, read_pair_map
from assets.annotations.landmarks.points import Points
from assets.annotations.landmarks.transform import itk_affine_ras
from assets.annotations.landmarks.xy_lines import points_of_xy_lines
from assets.measure.angles import distance, folded_angle_deg, unfolded_angle_deg
from assets.raw import RawScan, RawSubject
from assets.spec import DatasetSpec, Measurement
from assets.spec_layout import LandmarksSource
from assets.tables import LANDMARKS, MEASUREMENTS, frame
from resources.findings import BadInputError, Code, Finding, Severity, finding
from resources.readers.registry import open_image


@dataclass
class SubjectLandmarks:
    """What one subject's landmark files gave.

    Attributes:
        landmarks: `landmarks` rows.
        measurements: `measurements` rows.
        findings: What is wrong with the files, or should be known of them.
    """

    landmarks: list[dict[str, Any]] = field(default_factory=list)
    measurements: list[dict[str, Any]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def tables(self) -> dict[str, pl.DataFrame]:
        """Both tables, by name."""
        return {"landmarks": frame(LANDMARKS, self.landmarks), "measurements": frame(MEASUREMENTS, self.measurements)}


def subject_landmarks(
    spec: DatasetSpec, raw_root: Path, raw: RawSubject, volumes: pl.DataFrame, sha256: Mapping[str, str]
) -> SubjectLandmarks:
    """Read a subject's landmark files and measure between the landmarks.

    Args:
        spec: The dataset.
        raw_root: The raw folder.
        raw: The subject's files.
        volumes: Its `volumes` rows: the grids of the series.
        sha256: Hashes of the landmark files as they are recorded; a file that reads otherwise by now is refused.

    Returns:
        Rows and findings. Files that cannot be used are findings, never exceptions.
    """
    made = SubjectLandmarks()
    for scan in raw.scans:
        for name, source in spec.layout.landmarks.items():
            try:
                _SetReader(spec, raw_root, raw.subject, scan, name, source, volumes, sha256, made).read()
            except BadInputError as error:
                made.findings.append(error.finding)
    return made


@dataclass(frozen=True)
class _SetReader:
    """Reads one set of landmarks of one scan."""

    spec: DatasetSpec
    raw_root: Path
    subject: str
    scan: RawScan
    name: str
    source: LandmarksSource
    volumes: pl.DataFrame
    sha256: Mapping[str, str]
    made: SubjectLandmarks

    def read(self) -> None:
        path = self.scan.landmarks.get(self.name)
        if self.subject in self.source.exclude:
            detail = f"the landmarks of set {self.name} are not used: {self.source.exclude[self.subject]}"
            self.made.findings.append(finding(Code.LANDMARKS_EXCLUDED, detail, file=path or ""))
            return
        if path is None:
            detail = f"scan {self.scan.scan} has no file of landmark set {self.name} ({' or '.join(self.source.path)})"
            self.made.findings.append(finding(Code.MISSING_LANDMARKS, detail))
            return
        row = self._series_row(path)
        grid = SeriesGrid.of(row, self.spec.layout.series[self.source.of])
        if self.source.reader == "xy_lines":
            text = read_text(self.raw_root, path, self.sha256)
            points = points_of_xy_lines(text, path, self.spec.landmarks, grid)
            calibration = grid.calibration
        else:
            points = self._pairs(path, grid)
            calibration = "header"
        _require_inside(points, grid, path)
        self.made.findings += _coincidences(points, path)
        who = {name: row[name] for name in ("dataset", "subject", "scan", "series", "synthetic")} | {"set": self.name}
        self.made.landmarks += _landmark_rows(self.spec, who, points, grid)
        self.made.measurements += _measurement_rows(self.spec, who, points, grid, calibration)

    def _series_row(self, path: str) -> dict[str, Any]:
        rows = self.volumes.filter(kind="image", scan=self.scan.scan, series=self.source.of)
        if rows.is_empty():
            detail = f"the landmarks were set on {self.source.of}, which scan {self.scan.scan} has not"
            raise BadInputError(Code.MISSING_IMAGE, detail, file=path)
        return rows.row(0, named=True)

    def _pairs(self, path: str, grid: SeriesGrid) -> Points:
        to_series = None
        if self.name in self.scan.transforms:
            transform = self.scan.transforms[self.name]
            to_series = itk_affine_ras(read_text(self.raw_root, transform, self.sha256), transform)
        image = open_image(self.raw_root / path, name=path)
        self.made.findings += image.findings
        pair_map = read_pair_map(image, path, self.source.pairs)
        self.made.findings += image.stream_findings
        for source in image.sources:
            relative = source.path.relative_to(self.raw_root).as_posix()
            if relative in self.sha256:
                require_recorded(relative, source.sha256, self.sha256)
        points, findings = points_of_pair_map(pair_map, path, self.source.pairs, grid, to_series)
        self.made.findings += findings
        return points


def _require_inside(points: Points, grid: SeriesGrid, path: str) -> None:
    outside = np.flatnonzero(~grid.holds(points.ijk))
    if len(outside) == 0:
        return
    shown = "; ".join(f"{points.names[n]}, {points.where[n]}, is at {_numbers(points.ijk[n])}" for n in outside[:3])
    more = f" and {len(outside) - 3} more" if len(outside) > 3 else ""
    detail = f"landmarks lie outside of {grid.series}, which has the shape {grid.shape_ijk} (RAS+): {shown}{more}"
    raise BadInputError(Code.BAD_LANDMARKS, detail, file=path)


def _coincidences(points: Points, path: str) -> Iterator[Finding]:
    for names in points.coincident():
        detail = f"{' and '.join(names)} lie in one place, {points.where[points.names.index(names[0])]}"
        yield finding(Code.BAD_LANDMARKS, detail, file=path, severity=Severity.WARNING)


def _landmark_rows(spec: DatasetSpec, who: Mapping[str, Any], points: Points, grid: SeriesGrid) -> Iterator[dict[str, Any]]:
    order = sorted(range(len(points.names)), key=lambda n: spec.landmarks.index(points.names[n]))
    for n in order:
        group = [m for m, number in enumerate(points.together) if number == points.together[n]]
        yield {
            **who,
            **_slice(grid, points, group),
            "landmark": spec.landmarks.index(points.names[n]) + 1,
            "name": points.names[n],
            "ijk": points.ijk[n].tolist(),
            "ras_mm": points.ras_mm[n].tolist(),
            "source_ras_mm": points.source_ras_mm[n].tolist(),
        }


def _measurement_rows(
    spec: DatasetSpec, who: Mapping[str, Any], points: Points, grid: SeriesGrid, calibration: Calibration
) -> Iterator[dict[str, Any]]:
    """A row for every measurement whose landmarks are all there."""
    at = {name: n for n, name in enumerate(points.names)}
    for measurement in spec.measurements:
        if not at.keys() >= set(measurement.landmarks):
            continue
        yield {
            **who,
            **_slice(grid, points, [at[name] for name in measurement.landmarks]),
            "name": measurement.name,
            **_measured(measurement, {name: points.source_ras_mm[at[name]] for name in measurement.landmarks}),
            "landmarks": list(measurement.landmarks),
            "calibration": calibration,
        }


def _measured(measurement: Measurement, at: Mapping[str, Any]) -> dict[str, Any]:
    """Kind, value and unit; a value that does not exist, such as the angle with a line of no length, is null."""
    if measurement.distance is not None:
        first, second = measurement.distance
        return {"kind": "distance", "value": _number(distance(at[first], at[second])), "unit": "mm", "unfolded_value": None}
    lines = [at[second] - at[first] for first, second in measurement.angle or ()]
    folded, unfolded = _number(folded_angle_deg(*lines)), _number(unfolded_angle_deg(*lines))
    return {"kind": "angle", "value": folded, "unit": "degree", "unfolded_value": unfolded}


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def _slice(grid: SeriesGrid, points: Points, chosen: list[int]) -> dict[str, Any]:
    common = grid.common_slice(points.ijk[chosen])
    return {"plane": common[0].value if common else None, "slice": common[1] if common else None}


def _numbers(values: Any) -> str:
    return "(" + ", ".join(f"{v:.4g}" for v in values) + ")"
