"""Gathers the claimed files of every scan: of two roots the later counts, and a scan may get a better name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from assets.raw.by_header import Choice, Name
from assets.raw.claims import Claim, Claims, RawScanName
from assets.raw.scan_names import BetterNames
from assets.raw.tree import ONLY_SCAN, LabelFile, RawScan, natural_key
from assets.spec import DatasetSpec
from assets.spec_layout import FileSource, LabelsSource, ScanNames
from resources.findings import Code, Finding, finding

T = TypeVar("T")


@dataclass
class ScanFiles:
    """The files of one scan under one root.

    Attributes:
        name: What paths say of it.
        files: (role, name, label id) -> path.
        findings: What is wrong with them.
        series_files: Series name -> all its files, for DICOM series chosen by their headers.
        contested: (role, name) of which more is there than one, so that it is not missing.
        spare: Further files that are the scan's, of which none is taken.
    """

    name: RawScanName
    files: dict[tuple[str, str, int | None], str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    series_files: dict[str, tuple[str, ...]] = field(default_factory=dict)
    contested: set[Name] = field(default_factory=set)
    spare: list[str] = field(default_factory=list)

    def add(self, claim: Claim, path: str) -> None:
        """Take a file; of two for the same purpose the first counts, and the subject is told. Two patterns may read one file."""
        key = (claim.role, claim.name, claim.label_id)
        if self.files.get(key) == path:
            return
        if key in self.files:
            detail = f"both {self.files[key]} and {path} match the pattern of {claim.name}; keep one"
            self.findings.append(finding(Code.AMBIGUOUS_FILE, detail, file=path))
            self.spare.append(path)
            return
        self.files[key] = path
        self.name.fields.update(claim.fields)

    def paths(self) -> Iterator[str]:
        """Every file."""
        yield from self.files.values()
        yield from (path for files in self.series_files.values() for path in files)
        yield from self.spare

    def named(self, role: str) -> dict[str, str]:
        """Name -> path of one role."""
        return {name: path for (r, name, _), path in self.files.items() if r == role}

    def label_files(self) -> dict[str, tuple[LabelFile, ...]]:
        """Label map -> its files, masks in order of the label ids."""
        found: dict[str, list[LabelFile]] = {}
        for (role, name, label_id), path in self.files.items():
            if role == "labels":
                found.setdefault(name, []).append(LabelFile(path, label_id))
        return {name: tuple(sorted(files, key=lambda f: f.label_id or 0)) for name, files in found.items()}


@dataclass
class SubjectFiles:
    """The claimed files of one subject.

    Attributes:
        scans: (scan, root) as paths have them -> files.
        tables: Files that belong to the subject rather than to a scan -> the root they lie under, or empty.
        findings: What is wrong before any scan is looked at.
    """

    scans: dict[tuple[str, str], ScanFiles] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def add(self, claim: Claim, path: str) -> None:
        """Take a file."""
        if claim.role == "table":
            self.tables[path] = claim.root or ""
            return
        scan, root = claim.scan or ONLY_SCAN, claim.root or ""
        files = self.scans.setdefault((scan, root), ScanFiles(RawScanName(scan, root, {})))
        files.add(claim, path)

    def add_choice(self, scan: str, root: str, choice: Choice, tags: Mapping[str, str]) -> None:
        """Take what was chosen among the DICOM files of a scan.

        Args:
            scan: The scan, as paths have it.
            root: What `{root}` reads.
            choice: What was chosen.
            tags: Further fields of the scan -> DICOM keyword.
        """
        files = self.scans.setdefault((scan, root), ScanFiles(RawScanName(scan, root, {})))
        files.findings += choice.findings
        files.contested |= choice.ambiguous
        files.spare += choice.used()
        for name, candidates in choice.taken.items():
            first = candidates[0]
            values = first.identity.values
            said = {field: values[keyword] for field, keyword in tags.items() if keyword in values}
            claim = first.claims[name]
            files.add(replace(claim, fields=claim.fields | said), first.path)
            if name[0] == "image":
                files.series_files[name[1]] = tuple(c.path for c in candidates)

    def settle(self, spec: DatasetSpec) -> Iterator[tuple[str, str]]:
        """Let later roots replace earlier ones; yields every file that is replaced, with the reason.

        What the subject has under a root that gives it no scan any more is replaced with its scans.
        """
        order = {root: n for n, root in enumerate(("", *spec.layout.roots))}
        for scan in sorted({scan for scan, _ in self.scans}, key=natural_key):
            roots = sorted((root for s, root in self.scans if s == scan), key=order.__getitem__)
            kept = self.scans[scan, roots[-1]]
            for root in roots[:-1]:
                old = self.scans.pop((scan, root))
                if not root:
                    kept.files = old.files | kept.files
                    kept.series_files = old.series_files | kept.series_files
                    kept.findings += old.findings
                    kept.spare += old.spare
                    kept.name.fields.update(old.name.fields)
                    continue
                detail = f"the scan is given again under {roots[-1]}, which replaces the one under {root}"
                self.findings.append(finding(Code.SUPERSEDED, detail, file=next(old.paths(), "")))
                yield from ((path, f"superseded: {detail}") for path in old.paths())
        counting = {root for _, root in self.scans}
        for path, root in sorted(self.tables.items(), key=lambda table: -order[table[1]]):
            del self.tables[path]
            if counts(root, counting):
                self.tables[path] = root
            else:
                yield path, superseded_by(counting)


def counts(root: str, roots: Collection[str]) -> bool:
    """Whether what a subject has under a root counts, where its scans are taken from `roots`; no root is the empty name."""
    return not root or root in roots or not any(roots)


def superseded_by(roots: Collection[str]) -> str:
    """Why a file does not count that lies under none of the roots that a subject's scans are taken from."""
    return f"superseded: the subject's scans are taken from {' and '.join(sorted(filter(None, roots)))}, not from here"


def raw_scans(claims: Claims, root: Path, subject: str, files: SubjectFiles) -> tuple[RawScan, ...]:
    """The scans of a subject, complete or not, in natural order of their names; adds to the subject's findings."""
    names = claims.spec.layout.scan_names
    better = _better_names(names, root, files) if names else {}
    scans = []
    for scan_files in files.scans.values():
        files.findings += scan_files.findings
        layout = claims.spec.layout
        scan = RawScan(
            better.get(scan_files.name.in_paths, scan_files.name.in_paths),
            _in_order(scan_files.named("image"), layout.series),
            _in_order(scan_files.label_files(), layout.labels),
            _in_order(scan_files.named("landmarks"), layout.landmarks),
            scan_files.named("transform"),
            scan_files.name.fields,
            scan_files.series_files,
            scan_files.name.root,
        )
        files.findings += _missing(claims, subject, scan_files, scan)
        scans.append(scan)
    return tuple(sorted(scans, key=lambda s: natural_key(s.scan)))


def _in_order(found: Mapping[str, T], declared: Iterable[str]) -> dict[str, T]:
    """In the order of the spec: label maps are stored with the first series."""
    return {name: found[name] for name in declared if name in found}


def _better_names(names: ScanNames, root: Path, files: SubjectFiles) -> dict[str, str]:
    told = BetterNames(names, dict(sorted(files.scans)))
    for path, under in files.tables.items():
        told.read(root, path, under)
    files.findings += told.findings
    return told.better


def _sought(source: FileSource) -> str:
    """What the headers of the missing files would say."""
    wanted = [f"{keyword} {' or '.join(texts)}" for keyword, texts in source.where.items()]
    if isinstance(source, LabelsSource) and source.kind:
        wanted.insert(0, f"kind {source.kind}")
    return f" with {', '.join(wanted)}" if wanted else ""


def _missing(claims: Claims, subject: str, files: ScanFiles, scan: RawScan) -> Iterator[Finding]:
    spec, name = claims.spec, files.name
    for series, source in spec.layout.series.items():
        if source.required and series not in scan.series and ("image", series) not in files.contested:
            path = claims.expected_path("image", series, subject, name)
            detail = f"the image {series} is missing: not found at {path}{_sought(source)}"
            yield finding(Code.MISSING_IMAGE, detail, file=path)
    for labels, maps in spec.layout.labels.items():
        if maps.required and labels not in scan.labels and ("labels", labels) not in files.contested:
            path = claims.expected_path("labels", labels, subject, name)
            detail = f"the label map {labels} is missing: not found at {path}{_sought(maps)}"
            yield finding(Code.MISSING_LABELS, detail, file=path)
        elif maps.masks and maps.absent == "error" and labels in scan.labels:
            absent = set(spec.labels) - {f.label_id for f in scan.labels[labels]}
            if absent:
                shown = ", ".join(spec.labels[n].file_name for n in sorted(absent)[:5]) + (", ..." if len(absent) > 5 else "")
                detail = f"{len(absent)} of {len(spec.labels)} masks of {labels} are missing: {shown}"
                yield finding(Code.MISSING_LABELS, detail, file=Path(scan.labels[labels][0].path).parent.as_posix())
    for landmarks in sorted(set(spec.layout.landmarks) & set(scan.landmarks)):
        points = spec.layout.landmarks[landmarks]
        if points.transform and landmarks not in scan.transforms and subject not in points.exclude:
            path = claims.expected_path("transform", landmarks, subject, name)
            yield finding(Code.MISSING_IMAGE, f"the transform of {landmarks} is missing: not found at {path}", file=path)
