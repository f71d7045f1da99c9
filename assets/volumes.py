"""One subject's raw images and label maps, read once, proven whole, and stored in RAS+ order.

Images are streamed (`assets/image_stream.py`). Label maps are small once only their labelled part is kept
(`assets/label_maps.py`), so that they are held and handed on to the annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from assets.annotations.planes import LabelMap
from assets.chosen import at_least
from assets.colour import as_colours, as_ids, is_coloured
from assets.image_stream import StoredImage, store_image
from assets.label_maps import RasLabels, hash_labels, read_channels, read_labels
from assets.masks import as_mask, merged
from assets.opened import Opened, grid_offset_voxels, open_on_grid, open_source, require_same_grid
from assets.pages import open_pages
from assets.raw import LabelFile, RawScan, RawSubject
from assets.repairs import repaired
from assets.spec import DatasetSpec
from assets.spec_layout import LabelsSource, SeriesSource
from assets.tables import VOLUMES, frame
from resources.files import Digest
from resources.findings import BadInputError, Code, Finding, Severity, finding
from resources.geometry import spacing_mm
from resources.layout import labels_path, safe_name, scan_path, series_path
from resources.ome_zarr import slab_bounds, write_hierarchy, write_labels
from resources.readers.image import RawImage, SourceFile

Task = Callable[[], None]
Measure = Callable[[LabelMap], None]


@dataclass
class SubjectVolumes:
    """What one subject's raw files gave.

    Attributes:
        rows: `volumes` rows.
        label_maps: For the annotations.
        sources: Fingerprints of the files that were read to their end.
        settled: What stored shards hold, once they are on the disk.
        findings: Everything worth saying; with an error among them nothing of the subject may be published.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    label_maps: list[LabelMap] = field(default_factory=list)
    sources: dict[str, SourceFile] = field(default_factory=dict)
    settled: list[Future[dict[Path, Digest]]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def has_error(self) -> bool:
        """Whether the subject must be quarantined."""
        return any(f.severity is Severity.ERROR for f in self.findings)

    def table(self) -> pl.DataFrame:
        """The `volumes` table of the subject."""
        return frame(VOLUMES, self.rows)


def build_volumes(
    spec: DatasetSpec,
    raw_root: Path,
    raw: RawSubject,
    out: Path,
    *,
    synthetic: bool,
    measure: Measure = lambda _label_map: None,
) -> SubjectVolumes:
    """Read a subject's files and store its volumes under `out`, at the paths `resources.layout` gives.

    Args:
        spec: The dataset.
        raw_root: The raw folder.
        raw: The subject's files.
        out: Staging folder; stands for the dataset's products folder.
        synthetic: Whether the data are made up.
        measure: Called with every label map, in order, while images still stream.

    Returns:
        What was stored and found. Files that cannot be used are findings, never exceptions.

    Raises:
        OSError: The output cannot be written.
    """
    made = SubjectVolumes(findings=list(raw.findings))
    if not made.has_error:
        for scan in raw.scans:
            _ScanBuilder(spec, raw_root, raw.subject, scan, out, synthetic, measure, made).build()
    return made


@dataclass
class _ScanBuilder:
    """Builds one scan: all headers, then the label maps, then the images; stops after the first stage with an error.

    Attributes:
        series: Series name -> its file; the channels of one file share it.
        masks: Label map name -> its files.
        pages: Label map name -> whose masks the pages of its file are.
        labels: Label map name -> what was read.
        read: Files whose last byte has been asked for.
    """

    spec: DatasetSpec
    raw_root: Path
    subject: str
    scan: RawScan
    out: Path
    synthetic: bool
    measure: Measure
    made: SubjectVolumes
    series: dict[str, Opened] = field(default_factory=dict)
    masks: dict[str, list[Opened]] = field(default_factory=dict)
    pages: dict[str, list[LabelFile]] = field(default_factory=dict)
    labels: dict[str, RasLabels] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)

    def build(self) -> None:
        for tasks in self._stages():
            self._attempt(tasks)
            if self.made.has_error:
                unread = [o for o in self._distinct() if o.path not in self.read]
                self._attempt([partial(self._prove, opened) for opened in unread])
                return
        attributes = {"dataset": self.spec.slug, "subject": self.subject, "scan": self.scan.scan}
        hierarchy = self.out / scan_path(self.subject, self.scan.scan)
        write_hierarchy(hierarchy, [safe_name(s) for s in self.scan.series], attributes)

    def _stages(self) -> Iterator[list[Task]]:
        """What is done, stage by stage; a stage is put together when the one before it is done."""
        declared = {name: self.spec.layout.series[name] for name in self.scan.series}
        own = [partial(self._open_series, name, source) for name, source in declared.items() if not source.grid_of]
        drawn = [name for name in self.scan.labels if self.spec.layout.labels[name].dicom]
        read = [partial(self._open_labels, name) for name in self.scan.labels if name not in drawn]
        yield [self._require_a_series, *own, *read]
        yield [partial(self._open_structures, name) for name in drawn]
        yield [partial(self._repair_labels, name) for name in self.scan.labels]
        yield [partial(self._borrow_grid, name, source) for name, source in declared.items() if source.grid_of]
        yield [partial(self._compare_grids, name) for name in self.scan.labels]
        yield [self._store_side_by_side]

    def _store_side_by_side(self) -> None:
        """Label maps in a thread of their own while images stream; what is said of them comes first, whoever is done first."""
        labels, images = replace(self, made=SubjectVolumes()), replace(self, made=SubjectVolumes())
        with ThreadPoolExecutor(1, thread_name_prefix="labels") as aside:
            done = aside.submit(labels._store_all_labels)
            images._attempt([partial(images._store_images, opened) for opened in self._distinct(masks=False)])
            done.result()
        self.made.findings += labels.made.findings + images.made.findings
        self.made.sources |= labels.made.sources | images.made.sources
        self.made.settled += images.made.settled
        self.made.rows += images.made.rows + labels.made.rows
        self.made.label_maps += labels.made.label_maps

    def _store_all_labels(self) -> None:
        self._attempt([partial(self._read_labels, name) for name in self.scan.labels])
        if not self.made.has_error:
            self._attempt([partial(self._store_labels, name) for name in self.scan.labels])

    def _attempt(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            try:
                task()
            except BadInputError as error:
                self.made.findings.append(error.finding)

    def _distinct(self, *, masks: bool = True) -> list[Opened]:
        """Every opened file once; two arrays of one container are two."""
        every = [*self.series.values(), *(opened for files in self.masks.values() if masks for opened in files)]
        return list({id(opened): opened for opened in every}.values())

    def _prove(self, opened: Opened) -> None:
        """Read a file of a subject that is refused already: that it is damaged must be told now, not after the next repair."""
        image = opened.image
        for _ in image.slabs(slab_bounds(image.shape[image.slab_axis], flipped=False)):
            continue
        self._learn(opened)

    def _require_a_series(self) -> None:
        if not self.scan.series:
            raise BadInputError(Code.MISSING_IMAGE, f"the scan {self.scan.scan} has no image")

    def _open_series(self, name: str, source: SeriesSource) -> None:
        path = self.scan.series[name]
        shared = [n for n in self.series if self.scan.series[n] == path and self.spec.layout.series[n].key == source.key]
        if shared:
            self.series[name] = self.series[shared[0]]
            return
        if source.dicom:
            from assets.whole_series import open_whole_series  # noqa: PLC0415 - loads pydicom, which takes a second

            image = open_whole_series(self.raw_root, self.scan.series_files[name], source)
        else:
            image = open_source(self.raw_root, path, source)
        self.made.findings += image.findings
        if is_coloured(image) and source.channel is None:
            image = as_colours(image, path)
        self.series[name] = Opened.of(path, image)
        if source.channels != "any":
            what = f"the spec of series {name} declares {source.channels}"
            if source.dicom:
                what += "; `where` tells images of one position apart, by AcquisitionNumber or EchoTime for instance"
            self._require_channels(self.series[name], source.channels, what)

    def _borrow_grid(self, name: str, source: SeriesSource) -> None:
        path = self.scan.series[name]
        if source.grid_of not in self.masks:
            raise BadInputError(Code.MISSING_LABELS, f"its geometry is that of {source.grid_of}, which is missing", file=path)
        self.series[name] = Opened.of(path, open_on_grid(self.raw_root, path, source, self.masks[source.grid_of][0]))

    def _open_labels(self, name: str) -> None:
        source = self.spec.layout.labels[name]
        expected = len(self.spec.labels) if source.one_hot else 1
        opened: list[Opened] = []
        for file, stored in self._label_files(name, source):
            self.made.findings += stored.findings
            image = stored if source.at_least is None else at_least(stored, source.at_least, file.path)
            if not source.one_hot:
                image = as_ids(image, source.colours, file.path)
            opened.append(Opened.of(file.path, image))
            what = f"{expected}, one per label, are expected" if source.one_hot else "one is expected"
            self._require_channels(opened[-1], expected, what)
        self.masks[name] = opened

    def _label_files(self, name: str, source: LabelsSource) -> Iterator[tuple[LabelFile, RawImage]]:
        if source.page_tag is None:
            for file in self.scan.labels[name]:
                yield file, open_source(self.raw_root, file.path, source)
            return
        (whole,) = self.scan.labels[name]
        self.pages[name] = []
        for file, image in open_pages(self.spec, self.raw_root, whole.path, source):
            self.pages[name].append(file)
            yield file, image

    def _open_structures(self, name: str) -> None:
        from assets.whole_series import open_structures  # noqa: PLC0415 - loads pydicom, which takes a second

        (file,), source = self.scan.labels[name], self.spec.layout.labels[name]
        on = {series: self.series[series] for series in self._series_of(name)}
        image = open_structures(self.spec, self.raw_root, file.path, source, on)
        self.made.findings += image.findings
        self.masks[name] = [Opened.of(file.path, image)]

    def _require_channels(self, opened: Opened, expected: int, what: str) -> None:
        image = opened.image
        if image.n_channels != expected:
            kind = "time points (frames)" if image.fourth_axis == "time" else "volumes along its fourth axis"
            detail = f"the image is 4D with {image.n_channels} {kind}, but {what}"
            raise BadInputError(Code.UNEXPECTED_DIMENSIONS, detail, file=opened.path)

    def _repair_labels(self, name: str) -> None:
        before = self.masks[name]
        self.masks[name] = [repaired(self.spec, name, opened, self.series) for opened in before]
        for old, new in zip(before, self.masks[name], strict=True):
            self.made.findings += new.image.findings[len(old.image.findings) :]

    def _series_of(self, labels: str) -> list[str]:
        of = self.spec.layout.labels[labels].of
        names = [name for name in self.series if of is None or name in of]
        if not names:
            detail = f"the label map {labels} has no image to lie on"
            raise BadInputError(Code.MISSING_IMAGE, detail, file=self.scan.labels[labels][0].path)
        return names

    def _compare_grids(self, name: str) -> None:
        for series in self._series_of(name):
            for label in self.masks[name]:
                require_same_grid(self.series[series], label)

    def _read_labels(self, name: str) -> None:
        source, files = self.spec.layout.labels[name], self.masks[name]
        if source.in_parts:
            labels = self._merge(source, self.pages.get(name, self.scan.labels[name]), files)
        else:
            self.read.add(files[0].path)
            labels = read_labels(self.spec, source, files[0].image, files[0].path)
            self._learn(files[0])
        self.labels[name] = labels
        if not labels.counts:
            detail = "the label map is empty: the subject is kept, and there is nothing to measure"
            self.made.findings.append(finding(Code.EMPTY_MASK, detail, file=_file_of(files)))

    def _merge(self, source: LabelsSource, named: Sequence[LabelFile], files: Sequence[Opened]) -> RasLabels:
        parts = []
        for file, opened in zip(named, files, strict=True):
            self.read.add(opened.path)
            channels = read_channels(opened.image, opened.path)
            self._learn(opened)
            ids = sorted(self.spec.labels) if source.one_hot else [file.label_id or 0]
            parts += [as_mask(part, label_id, opened.path) for part, label_id in zip(channels, ids, strict=True)]
        whole, found = merged(self.spec, parts, source.overlap, _file_of(files))
        self.made.findings += found
        return whole

    def _learn(self, opened: Opened) -> None:
        self.made.findings += opened.image.stream_findings
        for source in opened.image.sources:
            self.made.sources[source.path.relative_to(self.raw_root).as_posix()] = source

    def _store_images(self, source: Opened) -> None:
        self.read.add(source.path)
        channels = {self.spec.layout.series[n].channel or 0: n for n, opened in self.series.items() if opened is source}
        groups = {c: self.out / series_path(self.subject, self.scan.scan, name) for c, name in channels.items()}
        stored = store_image(source.image, source.reorientation, groups, source.axes)
        self._learn(source)
        for channel, name in channels.items():
            self._describe_image(source, name, stored[channel])

    def _describe_image(self, source: Opened, name: str, stored: StoredImage) -> None:
        statistics = stored.statistics
        if statistics.n_nonfinite and self.spec.expect.nonfinite_voxels == "error":
            detail = f"{statistics.n_nonfinite} voxels are NaN or infinite; if that is right, say so in the spec"
            raise BadInputError(Code.NONFINITE_VOXELS, detail, file=source.path)
        if statistics.n_finite > 1 and statistics.minimum == statistics.maximum:
            detail = f"every voxel is {statistics.minimum}"
            self.made.findings.append(finding(Code.CONSTANT_IMAGE, detail, file=source.path))
        group = series_path(self.subject, self.scan.scan, name)
        row = self._row([source], name, "image", None, group, source.image.dtype.name, stored.content_xxh128)
        row |= {
            "min": float(statistics.minimum) if statistics.n_finite else None,
            "max": float(statistics.maximum) if statistics.n_finite else None,
            "mean": statistics.mean if statistics.n_finite else None,
            "n_nonfinite": statistics.n_nonfinite,
        }
        self.made.rows.append(row)
        affine = source.affine_ras_mm
        stored.writer.close(spacing_mm(affine).tolist(), affine[:3, 3].tolist(), source.attributes(row))
        self.made.settled += stored.writer.settled

    def _store_labels(self, name: str) -> None:
        series = self._series_of(name)[0]
        grid, files, labels = self.series[series], self.masks[name], self.labels[name]
        source = files[0]
        group = labels_path(self.subject, self.scan.scan, series, name)
        row = self._row(files, series, "labels", name, group, labels.crop.dtype.name, hash_labels(labels))
        row |= {
            "label_ids": list(labels.counts),
            "label_voxels": list(labels.counts.values()),
            "grid_offset_voxels": max(grid_offset_voxels(grid, file) for file in files),
        }
        affine = source.affine_ras_mm
        attributes = source.attributes(row) | {
            "labels": {str(n): label.name for n, label in self.spec.labels.items()},
            "labelled_box": [
                list(labels.offset_ijk),
                [o + n for o, n in zip(labels.offset_ijk, labels.crop.shape, strict=True)],
            ],
        }
        write_labels(
            self.out / group, labels.shape_ijk, labels.crop_kji.transpose(2, 1, 0), labels.offset_ijk,
            spacing_mm(affine).tolist(), affine[:3, 3].tolist(), attributes, source.axes,
        )  # fmt: skip
        self.made.rows.append(row)
        made = LabelMap(
            self.spec.slug, self.subject, self.scan.scan, series, name, _file_of(files), labels.crop, labels.offset_ijk,
            labels.shape_ijk, source.spacing_mm, self.synthetic, source.image.space,
        )  # fmt: skip
        self.measure(made)
        self.made.label_maps.append(made)

    def _row(
        self, files: Sequence[Opened], series: str, kind: str, labels: str | None, path: str, dtype: str, content: str
    ) -> dict[str, Any]:
        sources = list({source.path: source for opened in files for source in opened.image.sources}.values())
        return {
            "dataset": self.spec.slug,
            "subject": self.subject,
            "scan": self.scan.scan,
            "series": series,
            "kind": kind,
            "labels_name": labels,
            "path": path,
            **files[0].geometry_row(),
            "dtype": dtype,
            "source_paths": [s.path.relative_to(self.raw_root).as_posix() for s in sources],
            "source_sha256": [s.sha256 for s in sources],
            "content_xxh128": content,
            "synthetic": self.synthetic,
        }


def _file_of(files: Sequence[Opened]) -> str:
    """What a finding about a label map names: its file, or the folder of its masks."""
    return files[0].path if len({file.path for file in files}) == 1 else Path(files[0].path).parent.as_posix()
