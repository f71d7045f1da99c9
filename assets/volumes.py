"""One subject's raw images and label maps, read once, proven whole, and stored in RAS+ order.

Images are streamed (`assets/image_stream.py`). Label maps are small once only their labelled part is kept
(`assets/label_maps.py`), so that they are held and handed on to the annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from assets.annotations.planes import LabelMap
from assets.image_stream import StoredImage, store_image
from assets.label_maps import RasLabels, hash_labels, read_labels
from assets.raw import RawScan, RawSubject
from assets.spec import DatasetSpec
from assets.spec_layout import LabelsSource, SeriesSource
from assets.tables import VOLUMES, frame
from resources.findings import BadInputError, Code, Finding, Severity, finding
from resources.geometry import (
    GRID_TOLERANCE_VOXELS,
    FloatArray,
    Reorientation,
    closest_ras,
    grid_distance_voxels,
    obliquity_deg,
    shear_deg,
    spacing_mm,
)
from resources.layout import labels_path, safe_name, scan_path, series_path
from resources.ome_zarr import slab_bounds, write_hierarchy, write_labels
from resources.readers.image import RawImage, SourceFile
from resources.readers.registry import open_image
from resources.readers.source import ReadOptions

Shape = tuple[int, int, int]


@dataclass
class SubjectVolumes:
    """What one subject's raw files gave.

    Attributes:
        rows: `volumes` rows.
        label_maps: For the annotations.
        sources: Fingerprints of the files that were read to their end.
        findings: Everything worth saying; with an error among them nothing of the subject may be published.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    label_maps: list[LabelMap] = field(default_factory=list)
    sources: dict[str, SourceFile] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    @property
    def has_error(self) -> bool:
        """Whether the subject must be quarantined."""
        return any(f.severity is Severity.ERROR for f in self.findings)

    def table(self) -> pl.DataFrame:
        """The `volumes` table of the subject."""
        return frame(VOLUMES, self.rows)


@dataclass(frozen=True)
class _Opened:
    """A file whose header has been read, and where its voxels stand in RAS+ order."""

    path: str
    image: RawImage
    reorientation: Reorientation
    shape_ijk: Shape
    affine_ras_mm: FloatArray


def build_volumes(spec: DatasetSpec, raw_root: Path, raw: RawSubject, out: Path, *, synthetic: bool) -> SubjectVolumes:
    """Read a subject's files and store its volumes under `out`, at the paths `resources.layout` gives.

    Args:
        spec: The dataset.
        raw_root: The raw folder.
        raw: The subject's files.
        out: Staging folder; stands for the dataset's products folder.
        synthetic: Whether the data are made up.

    Returns:
        What was stored and found. Files that cannot be used are findings, never exceptions.

    Raises:
        OSError: The output cannot be written.
    """
    made = SubjectVolumes(findings=list(raw.findings))
    if not made.has_error:
        for scan in raw.scans:
            _ScanBuilder(spec, raw_root, raw.subject, scan, out, synthetic, made).build()
    return made


@dataclass
class _ScanBuilder:
    """Builds one scan: all headers, then the label maps, then the images; stops after the first stage with an error."""

    spec: DatasetSpec
    raw_root: Path
    subject: str
    scan: RawScan
    out: Path
    synthetic: bool
    made: SubjectVolumes
    opened: dict[str, _Opened] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)
    labels: dict[str, RasLabels] = field(default_factory=dict)

    def build(self) -> None:
        layout = self.spec.layout
        stages: list[list[Callable[[], None]]] = [
            [
                *(partial(self._open_series, name, layout.series[name]) for name in self.scan.series),
                *(partial(self._open_labels, name, layout.labels[name]) for name in self.scan.labels),
            ],
            [partial(self._compare_grids, name) for name in self.scan.labels],
            [partial(self._read_labels, name) for name in self.scan.labels],
            [partial(self._store_images, path) for path in dict.fromkeys(self.scan.series.values())],
            [partial(self._store_labels, name) for name in self.scan.labels],
        ]
        for stage in stages:
            self._attempt(stage)
            if self.made.has_error:
                self._attempt([partial(self._prove, path) for path in self.opened if path not in self.read])
                return
        attributes = {"dataset": self.spec.slug, "subject": self.subject, "scan": self.scan.scan}
        hierarchy = self.out / scan_path(self.subject, self.scan.scan)
        write_hierarchy(hierarchy, [safe_name(s) for s in self.scan.series], attributes)

    def _attempt(self, tasks: Sequence[Callable[[], None]]) -> None:
        for task in tasks:
            try:
                task()
            except BadInputError as error:
                self.made.findings.append(error.finding)

    def _prove(self, path: str) -> None:
        """Read a file of a subject that is refused already: that it is damaged must be told now, not after the next repair."""
        image = self.opened[path].image
        for _ in image.slabs(slab_bounds(image.shape[image.slab_axis], flipped=False)):
            continue
        self._learn(image)

    def _open(self, path: str, assume_orientation: str | None) -> _Opened:
        image = open_image(self.raw_root / path, name=path, options=ReadOptions(assume_orientation))
        if path not in self.opened:
            self.made.findings += image.findings
        reorientation = closest_ras(image.affine_ras_mm)
        affine = reorientation.affine(image.affine_ras_mm, image.shape)
        self.opened[path] = _Opened(path, image, reorientation, reorientation.shape(image.shape), affine)
        return self.opened[path]

    def _open_series(self, name: str, source: SeriesSource) -> None:
        path = self.scan.series[name]
        image = (self.opened.get(path) or self._open(path, source.assume_orientation)).image
        if image.n_channels != source.channels:
            kind = "time points (frames)" if image.fourth_axis == "time" else "volumes along its fourth axis"
            detail = f"the image is 4D with {image.n_channels} {kind}, but the spec of series {name} declares {source.channels}"
            raise BadInputError(Code.UNEXPECTED_DIMENSIONS, detail, file=path)

    def _open_labels(self, name: str, source: LabelsSource) -> None:
        path = self.scan.labels[name][0].path
        image = self._open(path, source.assume_orientation).image
        if image.n_channels != 1:
            detail = f"the label map is 4D with {image.n_channels} volumes along its fourth axis; one is expected"
            raise BadInputError(Code.UNEXPECTED_DIMENSIONS, detail, file=path)

    def _series_of(self, labels: str) -> list[str]:
        of = self.spec.layout.labels[labels].of
        return [name for name in self.scan.series if of is None or name in of]

    def _compare_grids(self, name: str) -> None:
        label = self.opened[self.scan.labels[name][0].path]
        for series in self._series_of(name):
            _require_same_grid(self.opened[self.scan.series[series]], label)

    def _read_labels(self, name: str) -> None:
        path = self.scan.labels[name][0].path
        self.read.add(path)
        self.labels[name] = read_labels(self.spec, self.opened[path].image, path)
        self._learn(self.opened[path].image)
        if not self.labels[name].counts:
            detail = "the label map is empty: the subject is kept, and there is nothing to measure"
            self.made.findings.append(finding(Code.EMPTY_MASK, detail, file=path))

    def _learn(self, image: RawImage) -> None:
        self.made.findings += image.stream_findings
        for source in image.sources:
            self.made.sources[source.path.relative_to(self.raw_root).as_posix()] = source

    def _store_images(self, path: str) -> None:
        source = self.opened[path]
        self.read.add(path)
        channels = {self.spec.layout.series[name].channel or 0: name for name, p in self.scan.series.items() if p == path}
        groups = {c: self.out / series_path(self.subject, self.scan.scan, name) for c, name in channels.items()}
        stored = store_image(source.image, source.reorientation, groups)
        self._learn(source.image)
        for channel, name in channels.items():
            self._describe_image(source, name, stored[channel])

    def _describe_image(self, source: _Opened, name: str, stored: StoredImage) -> None:
        statistics = stored.statistics
        if statistics.n_nonfinite and self.spec.expect.nonfinite_voxels == "error":
            detail = f"{statistics.n_nonfinite} voxels are NaN or infinite; if that is right, say so in the spec"
            raise BadInputError(Code.NONFINITE_VOXELS, detail, file=source.path)
        if statistics.n_finite > 1 and statistics.minimum == statistics.maximum:
            detail = f"every voxel is {statistics.minimum}"
            self.made.findings.append(finding(Code.CONSTANT_IMAGE, detail, file=source.path))
        group = series_path(self.subject, self.scan.scan, name)
        row = self._row(source, name, "image", None, group, source.image.dtype.name, stored.content_sha256)
        row |= {
            "min": float(statistics.minimum) if statistics.n_finite else None,
            "max": float(statistics.maximum) if statistics.n_finite else None,
            "mean": statistics.mean if statistics.n_finite else None,
            "n_nonfinite": statistics.n_nonfinite,
        }
        self.made.rows.append(row)
        affine = source.affine_ras_mm
        stored.writer.close(spacing_mm(affine).tolist(), affine[:3, 3].tolist(), _attributes(row, source))

    def _store_labels(self, name: str) -> None:
        series = self._series_of(name)[0]
        grid, source = self.opened[self.scan.series[series]], self.opened[self.scan.labels[name][0].path]
        labels = self.labels[name]
        group = labels_path(self.subject, self.scan.scan, series, name)
        content = hash_labels(labels)
        row = self._row(source, series, "labels", name, group, labels.crop.dtype.name, content)
        row |= {
            "label_ids": list(labels.counts),
            "label_voxels": list(labels.counts.values()),
            "grid_offset_voxels": grid_distance_voxels(grid.affine_ras_mm, source.affine_ras_mm, source.shape_ijk),
        }
        affine = source.affine_ras_mm
        spacing, origin = spacing_mm(affine).tolist(), affine[:3, 3].tolist()
        attributes = _attributes(row, source) | {
            "labels": {str(n): label.name for n, label in self.spec.labels.items()},
            "labelled_box": [
                list(labels.offset_ijk),
                [o + n for o, n in zip(labels.offset_ijk, labels.crop.shape, strict=True)],
            ],
        }
        write_labels(self.out / group, labels.shape_ijk, labels.crop, labels.offset_ijk, spacing, origin, attributes)
        self.made.rows.append(row)
        self.made.label_maps.append(
            LabelMap(
                self.spec.slug, self.subject, self.scan.scan, series, name, source.path, labels.crop, labels.offset_ijk,
                labels.shape_ijk, (spacing[0], spacing[1], spacing[2]), self.synthetic,
            )
        )  # fmt: skip

    def _row(
        self, source: _Opened, series: str, kind: str, labels: str | None, path: str, dtype: str, content: str
    ) -> dict[str, Any]:
        affine = source.affine_ras_mm
        return {
            "dataset": self.spec.slug,
            "subject": self.subject,
            "scan": self.scan.scan,
            "series": series,
            "kind": kind,
            "labels_name": labels,
            "path": path,
            "shape_ijk": list(source.shape_ijk),
            "spacing_mm": spacing_mm(affine).tolist(),
            "affine_ras_mm": affine.ravel().tolist(),
            "source_orientation": source.reorientation.code(),
            "obliquity_deg": obliquity_deg(affine),
            "shear_deg": shear_deg(affine),
            "dtype": dtype,
            "source_paths": [s.path.relative_to(self.raw_root).as_posix() for s in source.image.sources],
            "source_sha256": [s.sha256 for s in source.image.sources],
            "content_sha256": content,
            "synthetic": self.synthetic,
        }


def _attributes(row: Mapping[str, Any], source: _Opened) -> dict[str, Any]:
    """The `medfoundry` attributes of a stored volume."""
    same = (
        "dataset",
        "subject",
        "scan",
        "series",
        "kind",
        "dtype",
        "source_orientation",
        "content_sha256",
        "synthetic",
    )
    pairs = zip(row["source_paths"], row["source_sha256"], strict=True)
    return {name: row[name] for name in same} | {
        "affine_ras_mm": source.affine_ras_mm.tolist(),
        "source_affine_ras_mm": source.image.affine_ras_mm.tolist(),
        "source_format": source.image.format,
        "source_shape": list(source.image.shape),
        "sources": [{"path": path, "sha256": digest} for path, digest in pairs],
    }


def _require_same_grid(image: _Opened, label: _Opened) -> None:
    """Shapes must be equal, and no corner further apart than a thousandth of a voxel."""
    if image.shape_ijk != label.shape_ijk:
        detail = (
            f"label shape {label.shape_ijk} (RAS+) differs from the image's shape {image.shape_ijk} of {image.path}; "
            f"spacing {_numbers(spacing_mm(label.affine_ras_mm))} against {_numbers(spacing_mm(image.affine_ras_mm))} mm"
        )
        raise BadInputError(Code.GRID_MISMATCH, detail, file=label.path)
    distance = grid_distance_voxels(image.affine_ras_mm, label.affine_ras_mm, image.shape_ijk)
    if distance > GRID_TOLERANCE_VOXELS:
        shift = label.affine_ras_mm[:3, 3] - image.affine_ras_mm[:3, 3]
        detail = (
            f"label geometry differs from that of {image.path}: corners lie up to {distance:.4g} voxels apart "
            f"(affine origin shifted by {_numbers(shift)} mm, spacing {_numbers(spacing_mm(label.affine_ras_mm))} against "
            f"{_numbers(spacing_mm(image.affine_ras_mm))} mm)"
        )
        raise BadInputError(Code.GRID_MISMATCH, detail, file=label.path)


def _numbers(values: FloatArray) -> str:
    return "(" + ", ".join(f"{v:.6g}" for v in values) + ")"
