"""Finds what a raw folder holds: every subject's files by the spec's patterns, and a reason for every other file.

Nothing is opened here but the dataset's own list of subjects; whether a file is whole is proven when it is read.
"""

from __future__ import annotations

import errno
import filecmp
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from assets.junk import copied_from, is_partial_download, junk_reason
from assets.patterns import compile_pattern
from assets.spec import DatasetSpec
from resources.findings import Code, Finding, finding
from resources.readers.registry import companions

SYNTHETIC_MARKER = "SYNTHETIC.json"
"""A raw folder with this file at its top holds made-up data, and everything made of it says so."""

ONLY_SCAN = "0"
"""Name of the scan where a subject has just one."""

FileState = Literal["used", "ignored", "unclaimed", "quarantined"]


class RawDataMissingError(Exception):
    """There is nothing to read; the message says what to download and where to put it."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of the raw folder and what it is for.

    Attributes:
        path: Relative to the raw folder, forward slashes.
        size: Bytes.
        mtime_ns: Modification time.
        state: `used` by a subject, `ignored` with a reason, or `unclaimed`.
        role: `image`, `labels`, `companion`, or empty.
        subject: Whose it is, or empty.
        scan: Of which scan, or empty.
        reason: Why it is not used.
    """

    path: str
    size: int
    mtime_ns: int
    state: FileState
    role: str = ""
    subject: str = ""
    scan: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RawScan:
    """The files of one scan: series name -> path, label map name -> path, relative to the raw folder."""

    scan: str
    series: dict[str, str]
    labels: dict[str, str]


@dataclass(frozen=True, slots=True)
class RawSubject:
    """One person's scans, files, and what is wrong with them before any is opened."""

    subject: str
    scans: tuple[RawScan, ...]
    files: tuple[FileEntry, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class RawTree:
    """Everything under a dataset's raw folder.

    Attributes:
        root: The raw folder.
        synthetic: Whether the folder says that its data are made up.
        subjects: Subject name -> its files, in natural order of the names.
        files: Every file, in order of path; each has exactly one state.
        findings: What concerns the dataset rather than one subject.
    """

    root: Path
    synthetic: bool
    subjects: dict[str, RawSubject]
    files: tuple[FileEntry, ...]
    findings: tuple[Finding, ...]


def discover(spec: DatasetSpec, root: Path) -> RawTree:
    """Look at every file under `root` once.

    Raises:
        RawDataMissingError: The folder is missing or empty, or no file in it matches the spec.
    """
    if not root.is_dir() or next(root.iterdir(), None) is None:
        raise RawDataMissingError(_what_to_download(spec, root))
    sorter = _Sorter(spec, root)
    unlisted: list[OSError] = []
    for path, status in _walk(root, unlisted):
        sorter.place(path, status)
    for error in unlisted:
        folder = Path(error.filename).relative_to(root).as_posix()
        detail = f"the folder cannot be listed: {error.strerror}; what it holds is not known"
        sorter.findings.append(finding(Code.UNREADABLE, detail, file=folder))
    tree = sorter.tree()
    if not tree.subjects:
        raise RawDataMissingError(
            f"{root} holds {len(tree.files)} files, but none matches the layout of {spec.slug}: expected paths such as "
            f"{', '.join(s.path for s in spec.layout.series.values())} with subject {spec.layout.subject}"
        )
    return tree


def _what_to_download(spec: DatasetSpec, root: Path) -> str:
    sources = "; ".join(f"{s.kind} {s.id}" + (f" ({s.note})" if s.note else "") for s in spec.sources)
    example = next(iter(spec.layout.series.values())).path
    return (
        f"there are no raw data for {spec.slug}: {root} is missing or empty. Get {spec.name} {spec.version} from {sources} "
        f"(licence {spec.licence}, access {spec.access}) and put it there, so that images lie at {root}/{example}. "
        "To try the product on made-up data, run `make demo`, which makes a synthetic KiTS23."
    )


def _walk(root: Path, unlisted: list[OSError]) -> Iterator[tuple[str, os.stat_result | OSError]]:
    """Every file below `root`, sorted, with its status; links are followed. What cannot be listed goes to `unlisted`."""
    for folder, folders, names in os.walk(root, onerror=unlisted.append, followlinks=True):
        here = Path(folder)
        folders[:] = sorted(f for f in folders if not (here / f).is_symlink() or _leads_on(here / f, root))
        for name in sorted(names):
            path = here / name
            try:
                status: os.stat_result | OSError = path.stat()
            except OSError as error:
                status = error
            shown = path.relative_to(root).as_posix()
            if not _is_text(shown):
                shown = os.fsencode(shown).decode("utf-8", "backslashreplace")
                status = OSError(errno.EILSEQ, "the name is not valid UTF-8; rename the file")
            yield shown, status


def _is_text(name: str) -> bool:
    """Whether a file name can be written down; bytes that are no UTF-8 come as lone surrogates, which cannot."""
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def _leads_on(link: Path, root: Path) -> bool:
    """A linked folder is followed when it does not lead back to a folder on the way to it, or to one that holds such a folder."""
    target = link.resolve()
    way = (folder for folder in link.parents if folder.is_relative_to(root))
    return not any(folder.resolve().is_relative_to(target) for folder in way)


@dataclass
class _Sorter:
    """Gives every file its place."""

    spec: DatasetSpec
    root: Path
    files: dict[str, FileEntry] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    subject_findings: dict[str, list[Finding]] = field(default_factory=dict)
    scans: dict[tuple[str, str], RawScan] = field(default_factory=dict)
    synthetic: bool = False

    def __post_init__(self) -> None:
        layout = self.spec.layout
        fields = {"subject": layout.subject, "scan": layout.scan or "(?!)"}
        self.series = {n: compile_pattern(s.path, fields) for n, s in layout.series.items()}
        self.labels = {n: compile_pattern(s.path, fields) for n, s in layout.labels.items()}
        self.ignore = [(compile_pattern(text, fields), reason) for text, reason in layout.ignore.items()]

    def place(self, path: str, status: os.stat_result | OSError) -> None:
        """Decide what one file is."""
        size, mtime = (0, 0) if isinstance(status, OSError) else (status.st_size, status.st_mtime_ns)
        if path == SYNTHETIC_MARKER:
            self.synthetic = True
            self.files[path] = FileEntry(path, size, mtime, "ignored", reason="marks the folder as made-up data")
        elif not self._claim(path, size, mtime, status):
            self._set_aside(path, size, mtime)

    def _claim(self, path: str, size: int, mtime: int, status: os.stat_result | OSError) -> bool:
        claimed = False
        for role, patterns in (("image", self.series), ("labels", self.labels)):
            for name, pattern in patterns.items():
                fields = pattern.match(path)
                if fields is None:
                    continue
                claimed = True
                subject, scan = fields["subject"], fields.get("scan") or ONLY_SCAN
                self.files[path] = FileEntry(path, size, mtime, "used", role, subject, scan)
                entry = self.scans.setdefault((subject, scan), RawScan(scan, {}, {}))
                self._assign(entry.series if role == "image" else entry.labels, name, path, subject)
                if isinstance(status, OSError):
                    reason = f"cannot be read: {status.strerror}; check that the link or its permissions are right"
                    self._about(subject, finding(Code.UNREADABLE, reason, file=path))
        return claimed

    def _assign(self, files: dict[str, str], name: str, path: str, subject: str) -> None:
        if name in files:
            detail = f"both {files[name]} and {path} match the pattern of {name}; keep one"
            self._about(subject, finding(Code.AMBIGUOUS_FILE, detail, file=path))
            return
        files[name] = path

    def _set_aside(self, path: str, size: int, mtime: int) -> None:
        reason = junk_reason(path) or next((why for pattern, why in self.ignore if pattern.match(path) is not None), None)
        if reason is None and is_partial_download(path):
            reason = "a download that did not finish; fetch the file again"
            self.findings.append(finding(Code.INCOMPLETE_DOWNLOAD, reason, file=path))
        elif reason is None and (original := copied_from(path)) and (self.root / original).is_file():
            reason = self._judge_copy(path, original)
        if reason is not None:
            self.files[path] = FileEntry(path, size, mtime, "ignored", reason=reason)
            return
        reason = "no pattern of the spec claims it; rename it to fit the layout, or tell the spec to ignore it"
        self.files[path] = FileEntry(path, size, mtime, "unclaimed", reason=reason)

    def _judge_copy(self, path: str, original: str) -> str:
        try:
            same = filecmp.cmp(self.root / path, self.root / original, shallow=False)
        except OSError as error:
            detail = f"looks like a copy of {original} but cannot be read: {error.strerror}"
            self.findings.append(finding(Code.UNREADABLE, detail, file=path))
            return detail
        code = Code.EXACT_COPY if same else Code.ALTERED_COPY
        detail = f"a copy of {original}" + ("" if same else " with other content; decide which one is right and remove the other")
        self.findings.append(finding(code, detail, file=path))
        return detail

    def _about(self, subject: str, what: Finding) -> None:
        self.subject_findings.setdefault(subject, []).append(what)

    def tree(self) -> RawTree:
        """What was found, once every file has its place."""
        self._claim_companions()
        unclaimed = [f for f in self.files.values() if f.state == "unclaimed"]
        self.findings += [finding(Code.UNCLAIMED_FILE, f.reason, file=f.path) for f in unclaimed]
        if self.synthetic:
            detail = "the raw data are made up (phantoms); nothing clinical can be learned from this dataset"
            self.findings.append(finding(Code.SYNTHETIC, detail, file=SYNTHETIC_MARKER))
        subjects = {name: self._subject(name) for name in sorted({s for s, _ in self.scans}, key=natural_key)}
        self.findings += _compare_listing(self.spec, self.root, subjects)
        files = tuple(self.files[path] for path in sorted(self.files))
        return RawTree(self.root, self.synthetic, subjects, files, tuple(self.findings))

    def _claim_companions(self) -> None:
        """Give the second file of a pair (`.img` of a `.hdr`) to the subject of the first."""
        for main in [f for f in self.files.values() if f.state == "used"]:
            for other in companions(self.root / main.path):
                path = other.relative_to(self.root).as_posix()
                if path in self.files and self.files[path].state != "used":
                    status = other.stat()
                    self.files[path] = FileEntry(
                        path, status.st_size, status.st_mtime_ns, "used", "companion", main.subject, main.scan
                    )

    def _subject(self, name: str) -> RawSubject:
        scans = tuple(self.scans[key] for key in sorted(self.scans, key=lambda k: natural_key(k[1])) if key[0] == name)
        found = list(self.subject_findings.get(name, []))
        for scan in scans:
            found += self._missing(name, scan)
        files = tuple(sorted((f for f in self.files.values() if f.subject == name), key=lambda f: f.path))
        return RawSubject(name, scans, files, tuple(found))

    def _missing(self, subject: str, scan: RawScan) -> Iterator[Finding]:
        for code, patterns, present in (
            (Code.MISSING_IMAGE, self.series, scan.series),
            (Code.MISSING_LABELS, self.labels, scan.labels),
        ):
            for name, pattern in patterns.items():
                if name not in present:
                    kind = "image" if code is Code.MISSING_IMAGE else "label map"
                    path = pattern.fill(subject=subject, scan=scan.scan)
                    yield finding(code, f"the {kind} {name} is missing: not found at {path}", file=path)


def natural_key(name: str) -> tuple[tuple[int, int | str], ...]:
    """Sort key under which `case_2` comes before `case_10`."""
    parts = re.split(r"(\d+)", name)
    return (*(((0, int(p)) if p.isdecimal() else (1, p)) for p in parts if p), (1, name))


def _compare_listing(spec: DatasetSpec, root: Path, subjects: Iterable[str]) -> Iterator[Finding]:
    """Subjects that the dataset's own list has and the folder has not."""
    listing = spec.layout.listing
    if listing is None or not (root / listing.file).is_file():
        return
    try:
        content = json.loads((root / listing.file).read_text(encoding="utf-8-sig"))
        values = list(_pick(content, listing.each))
    except OSError as error:
        detail = f"the list of subjects cannot be read: {error.strerror}"
        yield finding(Code.UNREADABLE, detail, file=listing.file)
        return
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        yield finding(Code.BAD_HEADER, f"the list of subjects cannot be read: {error}", file=listing.file)
        return
    names = {m.group() for value in values for m in re.finditer(_whole(spec.layout.subject), str(value))}
    if not names:
        detail = f"the list of subjects names none at {listing.each}"
        yield finding(Code.BAD_HEADER, detail, file=listing.file)
    absent = sorted(names - set(subjects), key=natural_key)
    if absent:
        shown = ", ".join(absent[:10]) + (", ..." if len(absent) > 10 else "")
        detail = f"{len(absent)} of {len(names)} listed subjects are not in the folder: {shown}"
        yield finding(Code.LISTED_BUT_ABSENT, detail, file=listing.file)


def _whole(expression: str) -> str:
    """The expression, not as a part of a longer name."""
    return rf"(?<![A-Za-z0-9_])(?:{expression})(?![A-Za-z0-9_])"


def _pick(content: Any, each: str) -> Iterator[Any]:
    """The values at a path such as `training[].image`."""
    head, _, rest = each.partition(".")
    key, many = (head[:-2], True) if head.endswith("[]") else (head, False)
    inner = content[key] if key else content
    for item in inner if many else [inner]:
        if rest:
            yield from _pick(item, rest)
        else:
            yield item
