"""Makes one subject's products in a staging folder: volumes, annotations, preview. Nothing becomes visible here."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ParamSpec

import polars as pl

from assets.annotations.boxes import boxes
from assets.annotations.landmarks.files import landmark_sources
from assets.annotations.landmarks.tables import subject_landmarks
from assets.annotations.lesion_sizes import lesion_findings, lesion_sizes
from assets.annotations.mask_sizes import mask_sizes
from assets.annotations.planes import LabelMap
from assets.dataset import Dataset
from assets.incremental import CODE_VERSION, derived_key, step_parameters, volumes_key
from assets.preview import overlay_png
from assets.raw import RawSubject
from assets.raw.rows import on_disk
from assets.spec import DatasetSpec
from assets.tables import SUBJECT_TABLES, concatenate
from assets.volumes import SubjectVolumes, build_volumes
from resources.findings import Code, Finding, Severity
from resources.layout import preview_path, scan_path, subject_table_path
from resources.manifest import FileRecord, FindingRecord, Manifest, SourceRecord, StepRecord
from resources.store import Staging

P = ParamSpec("P")

ANNOTATIONS: Mapping[str, Callable[[DatasetSpec, LabelMap], pl.DataFrame]] = {
    "boxes": boxes,
    "mask_sizes": mask_sizes,
    "lesion_sizes": lesion_sizes,
}

_FOUND_BY = {
    "lesion_sizes": {Code.LESION_AT_BORDER, Code.LESION_WITHOUT_AXES},
    "landmarks": {Code.BAD_LANDMARKS, Code.MISSING_LANDMARKS, Code.LANDMARKS_EXCLUDED},
}


@dataclass
class SubjectBuild:
    """What was made of one subject, waiting in a staging folder to be judged.

    Attributes:
        subject: Subject.
        steps: The steps that were computed.
        staging: Where their files are.
        moved: Files and folders to be moved into place, by step.
        sealed: What those files hold, by step; they are on the disk.
        aside: One thread, in which files are sealed while others are still made.
        sealing: What it does, with the step it belongs to.
        drawer: One thread, in which the preview is drawn while annotations are made.
        drawing: The preview to come.
        measured: What was measured while images still streamed, by step: a part of its table per label map.
        remarks: Findings of the annotations, which come after those of the files.
        tables: Table -> its rows; a step's own table has its name.
        volumes: The subject's `volumes` rows, computed now or before: what annotations are checked against.
        sources: The raw files.
        findings: All findings of the subject, those of steps that were not computed included.
        seconds: Time spent, by step.
        preview: The overlay picture, PNG; empty where there is none.
    """

    subject: str
    steps: tuple[str, ...]
    staging: Staging
    moved: dict[str, list[str]] = field(default_factory=dict)
    sealed: dict[str, tuple[FileRecord, ...]] = field(default_factory=dict)
    aside: ThreadPoolExecutor = field(default_factory=partial(ThreadPoolExecutor, 1, thread_name_prefix="seal"))
    drawer: ThreadPoolExecutor = field(default_factory=partial(ThreadPoolExecutor, 1, thread_name_prefix="preview"))
    drawing: Future[bytes] | None = None
    sealing: list[tuple[str, Future[tuple[FileRecord, ...]]]] = field(default_factory=list)
    measured: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    remarks: list[Finding] = field(default_factory=list)
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    volumes: pl.DataFrame = field(default_factory=pl.DataFrame)
    sources: tuple[SourceRecord, ...] = ()
    findings: list[Finding] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    preview: bytes = b""

    def begin(self, step: str, seal: Callable[P, tuple[FileRecord, ...]], *args: P.args, **kwargs: P.kwargs) -> None:
        """Seal some files of a step aside, which are complete."""
        self.sealing.append((step, self.aside.submit(seal, *args, **kwargs)))

    @property
    def quarantined(self) -> bool:
        """Whether an error was found."""
        return any(f.severity is Severity.ERROR for f in self.findings)


def build_subject(
    dataset: Dataset, raw: RawSubject, steps: tuple[str, ...], staging: Staging, before: Manifest | None, *, synthetic: bool
) -> SubjectBuild:
    """Compute the given steps of one subject and seal their files, which takes the disk's time and so is a worker's to do.

    Raises:
        OSError: The staging folder cannot be written, or a stored product that is needed cannot be read.
    """
    build = SubjectBuild(raw.subject, steps, staging)
    build.sealed = dict.fromkeys(steps, ())
    with build.aside, build.drawer:
        if "volumes" in steps:
            _make_volumes(dataset, raw, build, synthetic=synthetic)
        else:
            _recall_volumes(dataset, build, before)
        if build.quarantined:
            return build
        build.findings += build.remarks
        for step in steps:
            if step == "landmarks":
                _locate(dataset, raw, build)
            elif step not in build.tables:
                _annotate(step, build)
        _keep_preview(build)
    for step, sealed in build.sealing:
        build.sealed[step] += sealed.result()
    return build


def _make_volumes(dataset: Dataset, raw: RawSubject, build: SubjectBuild, *, synthetic: bool) -> None:
    start = time.perf_counter()
    n_label_maps = sum(len(scan.labels) for scan in raw.scans)
    measure = partial(_measure, dataset.spec, build, n_label_maps)
    made = build_volumes(dataset.spec, dataset.raw_root, raw, build.staging.folder, synthetic=synthetic, measure=measure)
    landmark_files, unreadable = landmark_sources(dataset.raw_root, raw)
    made.sources |= landmark_files
    build.findings += made.findings + unreadable
    build.sources = _sources(raw, made)
    if build.quarantined:
        return
    table = made.table()
    build.volumes = table
    scans = [scan_path(raw.subject, scan.scan) for scan in raw.scans]
    build.moved["volumes"] = list(scans)
    build.begin("volumes", _seal_scans, build.staging, scans, made)
    build.drawing = build.drawer.submit(overlay_png, build.staging.folder, table, made.label_maps)
    _keep(build, "volumes", table, start)


def _seal_scans(staging: Staging, scans: list[str], made: SubjectVolumes) -> tuple[FileRecord, ...]:
    known = {shard: digest for settled in made.settled for shard, digest in settled.result().items()}
    return staging.seal(scans, known)


def _keep_preview(build: SubjectBuild) -> None:
    build.preview = build.drawing.result() if build.drawing is not None else b""
    if build.preview:
        path = preview_path(build.subject)
        build.staging.write_bytes(path, build.preview)
        build.moved["volumes"].append(path)
        build.begin("volumes", build.staging.seal, [path])


def _sources(raw: RawSubject, made: SubjectVolumes) -> tuple[SourceRecord, ...]:
    """Fingerprints of all files of the subject; without a hash where a file was not read to its end.

    A row of a table has the hash of the table.
    """
    records = []
    for entry in raw.files:
        file = on_disk(entry.path)
        read = made.sources.get(file)
        size, mtime = (read.size, read.mtime_ns) if read and file == entry.path else (entry.size, entry.mtime_ns)
        records.append(SourceRecord(path=entry.path, size=size, mtime_ns=mtime, sha256=read.sha256 if read else ""))
    return tuple(records)


def _recall_volumes(dataset: Dataset, build: SubjectBuild, before: Manifest | None) -> None:
    if before is None or before.state != "published" or "volumes" not in before.steps:
        slug = dataset.spec.slug
        raise LookupError(
            f"no volumes of {build.subject} are recorded, see `medfoundry why {slug}`; materialize {slug}/volumes first"
        )
    build.sources = before.sources
    renewed = set().union(*(_FOUND_BY.get(step, set()) for step in build.steps))
    build.findings = [f.finding() for f in before.findings if f.code not in renewed]
    build.volumes = dataset.store.read_subject_table("volumes", build.subject)
    rows = build.volumes.filter(kind="labels")
    for row in rows.iter_rows(named=True):
        _measure(dataset.spec, build, rows.height, _label_map(dataset, row))


def _label_map(dataset: Dataset, row: Mapping[str, Any]) -> LabelMap:
    volume = dataset.store.open_volume(str(row["subject"]), str(row["path"]))
    start, stop = (tuple(corner) for corner in volume.attributes["labelled_box"])
    i, j, k = volume.shape_ijk
    x, y, z = row["spacing_mm"]
    return LabelMap(
        dataset.spec.slug,
        str(row["subject"]),
        str(row["scan"]),
        str(row["series"]),
        str(row["labels_name"]),
        str(row["source_paths"][0]),
        volume.crop(start, stop),
        start,
        (i, j, k),
        (x, y, z),
        bool(row["synthetic"]),
        "patient" if row["space"] == "patient" else "picture",
    )


def _measure(spec: DatasetSpec, build: SubjectBuild, n_label_maps: int, label_map: LabelMap) -> None:
    """Measure one of `n_label_maps`; after the last the tables are written, while images may still stream."""
    for step in (step for step in build.steps if step in ANNOTATIONS):
        start = time.perf_counter()
        parts = build.measured.setdefault(step, [])
        parts.append(ANNOTATIONS[step](spec, label_map))
        if step == "lesion_sizes":
            build.remarks += lesion_findings(spec, label_map, parts[-1])
        build.seconds[step] = build.seconds.get(step, 0.0) + time.perf_counter() - start
        if len(parts) == n_label_maps:
            _annotate(step, build)


def _annotate(step: str, build: SubjectBuild) -> None:
    start = time.perf_counter() - build.seconds.get(step, 0.0)
    build.moved[step] = []
    _keep(build, step, concatenate(SUBJECT_TABLES[step], build.measured.get(step, [])), start)


def _locate(dataset: Dataset, raw: RawSubject, build: SubjectBuild) -> None:
    start = time.perf_counter()
    recorded = {source.path: source.sha256 for source in build.sources if source.sha256}
    found = subject_landmarks(dataset.spec, dataset.raw_root, raw, build.volumes, recorded)
    build.findings += found.findings
    build.moved["landmarks"] = []
    for name, table in found.tables().items():
        _keep(build, "landmarks", table, start, name)


def _keep(build: SubjectBuild, step: str, table: pl.DataFrame, start: float, name: str = "") -> None:
    path = subject_table_path(name or step, build.subject)
    build.staging.write_table(path, table)
    build.moved[step].append(path)
    build.begin(step, build.staging.seal, [path])
    build.tables[name or step] = table
    build.seconds[step] = time.perf_counter() - start


def manifest_of(dataset: Dataset, build: SubjectBuild, before: Manifest | None, *, synthetic: bool) -> Manifest:
    """Write down what the build is; the manifest of a quarantined subject names no files."""
    spec, state = dataset.spec, "quarantined" if build.quarantined else "published"
    upstream = volumes_key(spec, build.sources, synthetic=synthetic)
    keeps = before is not None and before.state == "published" and "volumes" not in build.steps and state == "published"
    steps = dict(before.steps) if before is not None and keeps else {}
    for step in build.steps:
        steps[step] = StepRecord(
            key=upstream if step == "volumes" else derived_key(spec, step, upstream),
            code_version=CODE_VERSION[step],
            parameters=step_parameters(spec, step),
            files=() if build.quarantined else build.sealed[step],
            n_rows=0 if build.quarantined else build.tables[step].height,
        )
    findings = tuple(FindingRecord.of(f) for f in dict.fromkeys(build.findings))
    return Manifest(
        subject=build.subject,
        state=state,  # type: ignore[arg-type]
        synthetic=synthetic,
        sources=build.sources,
        steps=steps,
        findings=findings,
    )
