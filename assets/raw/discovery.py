"""Gives every file of a raw folder its place."""

from __future__ import annotations

import filecmp
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from assets.junk import copied_from, is_partial_download, junk_reason
from assets.raw.by_header import Candidate, Name, choose
from assets.raw.claims import Claim, Claims
from assets.raw.headers import Headers, asked_of_headers
from assets.raw.hidden import is_hidden, why_indifferent
from assets.raw.identities import Identities
from assets.raw.listing import compare_listing
from assets.raw.rows import rows_in
from assets.raw.scans import SubjectFiles, counts, raw_scans, superseded_by
from assets.raw.tree import ONLY_SCAN, SYNTHETIC_MARKER, FileEntry, FileState, RawScan, RawSubject, RawTree, natural_key
from assets.raw.walk import Stamp, walk
from assets.spec import DatasetSpec
from resources.findings import BadInputError, Code, Finding, finding

_MANY_FILES, _MOST_FOLDERS = 5, 40
"""A misnamed release would drown everything else that is said about it: more unclaimed files, or folders, are counted."""

_NOT_KNOWN = "what it holds is not known, and no subject is taken for removed while it is so"
_ADVICE = "mount the disk, mend the link or its permissions, or remove it"


class RawDataMissingError(Exception):
    """There is nothing to read; the message says what to download and where to put it."""


def discover(spec: DatasetSpec, root: Path, headers: Path | None = None) -> RawTree:
    """Look at every file under `root` once.

    Args:
        spec: The dataset.
        root: Its raw folder.
        headers: The file in which `RawTree.keep_headers` keeps what DICOM headers say; without it they are read every time.

    Raises:
        RawDataMissingError: The folder is missing or empty, or no file in it matches the spec.
    """
    if not root.is_dir() or next(root.iterdir(), None) is None:
        raise RawDataMissingError(_what_to_download(spec, root))
    tree = _placed(spec, root, headers)
    if not tree.subjects:
        raise RawDataMissingError(
            f"{root} holds {len(tree.files)} files, but none matches the layout of {spec.slug}: expected paths such as "
            f"{', '.join(_examples(spec))} with subject {spec.layout.subject}{_where_it_fits(spec, root)}{_what_is_hidden(tree)}"
        )
    return tree


def _placed(spec: DatasetSpec, root: Path, headers: Path | None) -> RawTree:
    sorter = _Sorter(spec, root, headers)
    unlisted: list[OSError] = []
    leading_back: list[tuple[str, os.stat_result | OSError]] = []
    for path, status in walk(root, unlisted, leading_back):
        sorter.place(path, status)
    for path, status in leading_back:
        sorter.leave_link(path, status)
    for error in unlisted:
        folder = Path(error.filename).relative_to(root).as_posix()
        detail = f"the folder cannot be listed: {error.strerror}; {_NOT_KNOWN}"
        sorter.findings.append(finding(Code.UNREADABLE, detail, file=folder))
    return sorter.tree()


def _where_it_fits(spec: DatasetSpec, root: Path) -> str:
    """Which folder inside the raw folder the layout would fit, as after unpacking an archive into a folder of its name."""
    folders = islice((f for pattern in ("*", "*/*") for f in sorted(root.glob(pattern)) if f.is_dir()), _MOST_FOLDERS)
    for folder in folders:
        if n_subjects := len(_placed(spec, folder, None).subjects):
            return f". It would fit what {folder} holds ({n_subjects} subjects): move that up into {root}"
    return ""


def _what_is_hidden(tree: RawTree) -> str:
    """What may hold the subjects that are not found."""
    first = next((f for f in tree.findings if f.code is Code.UNREADABLE), None)
    return f". Not all of it can be looked at: {first.file}: {first.detail}" if first else ""


def _what_to_download(spec: DatasetSpec, root: Path) -> str:
    sources = "; ".join(f"{s.kind} {s.id}" + (f" ({s.note})" if s.note else "") for s in spec.sources)
    example = next(_examples(spec))
    return (
        f"there are no raw data for {spec.slug}: {root} is {_state(root)}. Get {spec.name} {spec.version} from {sources} "
        f"(licence {spec.licence}, access {spec.access}) and put it there, so that images lie at {root}/{example}. "
        "To try the product on made-up data, run `make demo`, which makes a synthetic KiTS23."
    )


def _state(root: Path) -> str:
    leads_nowhere = root.is_symlink() and not root.exists()
    return f"a link to {root.readlink()}, which is not there: mount the disk or mend it" if leads_nowhere else "missing or empty"


def _examples(spec: DatasetSpec) -> Iterator[str]:
    return (pattern for series in spec.layout.series.values() for pattern in series.patterns)


def _unplaced(files: Sequence[FileEntry], code: Code, what: str) -> Iterator[Finding]:
    """One finding per file, or per folder where there are many; the ledger has them all.

    Args:
        files: The files.
        code: Of the findings.
        what: What is said of those that are only counted.
    """
    folders: dict[str, list[FileEntry]] = {}
    for file in files:
        folders.setdefault(Path(file.path).parent.as_posix(), []).append(file)
    for number, (folder, inside) in enumerate(folders.items()):
        if number == _MOST_FOLDERS:
            rest = sum(len(f) for f in list(folders.values())[number:])
            detail = f"{rest} more files in {len(folders) - number} more folders {what}; see the ledger"
            yield finding(code, detail)
            return
        if len(inside) > _MANY_FILES:
            shown = ", ".join(Path(f.path).name for f in inside[:3])
            yield finding(code, f"{len(inside)} files, such as {shown}: {inside[0].reason}", file=folder)
        else:
            yield from (finding(code, f.reason, file=f.path) for f in inside)


def _entry(
    path: str, stamp: Stamp, state: FileState, reason: str = "", *, role: str = "", subject: str = "", scan: str = ""
) -> FileEntry:
    return FileEntry(path, stamp.size, stamp.mtime_ns, state, role, subject, scan, reason, stamp.ctime_ns)


@dataclass
class _Sorter:
    """Gives every file its place."""

    spec: DatasetSpec
    root: Path
    kept_headers: Path | None = None
    files: dict[str, FileEntry] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    subjects: dict[str, SubjectFiles] = field(default_factory=dict)
    synthetic: bool = False
    hidden: set[str] = field(default_factory=set)
    companions: dict[str, list[str]] = field(default_factory=dict)
    pools: dict[tuple[str, str, str], list[tuple[FileEntry, dict[Name, Claim]]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.claims = Claims(self.spec)
        self.identities = Identities(self.root, self.kept_headers, tuple(sorted(asked_of_headers(self.spec.layout))))
        self.headers = Headers(self.spec, self.identities)

    def place(self, path: str, status: os.stat_result | OSError) -> None:
        """Decide what one file is."""
        stamp = Stamp.of(status)
        if path == SYNTHETIC_MARKER:
            self.synthetic = True
            self.files[path] = _entry(path, stamp, "ignored", "marks the folder as made-up data")
        elif columns := self.claims.columns_of(path):
            self._place_rows(path, columns, stamp, status)
        else:
            self._place(path, stamp, status)

    def leave_link(self, path: str, status: os.stat_result | OSError) -> None:
        """List a link that leads back to a folder it lies in: what is behind it has its place already."""
        stamp = Stamp.of(status)
        reason = "a link to a folder that it lies in; it is not followed"
        self.files[path] = _entry(path, stamp, "ignored", reason)

    def _place_rows(self, table: str, columns: Sequence[str], stamp: Stamp, status: os.stat_result | OSError) -> None:
        reason = "its rows are listed one by one"
        try:
            for path, n_bytes in rows_in(self.root, table, columns):
                self._place(path, stamp._replace(size=n_bytes), status)
        except BadInputError as error:
            reason = "its rows cannot be listed"
            self.findings.append(error.finding)
        self.files[table] = _entry(table, stamp, "ignored", reason)

    def _place(self, path: str, stamp: Stamp, status: os.stat_result | OSError) -> None:
        claims = list(self.claims.of(path))
        by_header: dict[Name, Claim] = {(c.role, c.name): c for c in claims if (c.role, c.name) in self.claims.by_header}
        by_name = [c for c in claims if (c.role, c.name) not in by_header]
        fitting, unfit = self.headers.fitting(by_name, path, stamp)
        left = junk_reason(path) or self.claims.why_ignored(path)
        if fitting or (by_header and left is None and isinstance(status, OSError)):
            self._claim(fitting or [next(iter(by_header.values()))], path, stamp, status)
        elif by_header and left is None:
            first = next(iter(by_header.values()))
            pool = self.pools.setdefault((first.subject, first.scan or ONLY_SCAN, first.root or ""), [])
            pool.append((_entry(path, stamp, "unclaimed"), by_header))
        elif isinstance(status, OSError) and is_hidden(status):
            self._leave_hidden(path, status)
        else:
            self._set_aside(path, stamp, unfit)

    def _leave_hidden(self, path: str, status: OSError) -> None:
        """List a name that nothing claims and behind which nothing can be seen: there may be a subject's folder."""
        reason = why_indifferent(self.claims, path)
        if reason is not None:
            self.files[path] = FileEntry(path, 0, 0, "ignored", reason=reason)
            return
        self.hidden.add(path)
        detail = f"cannot be looked at: {status.strerror}; {_NOT_KNOWN}; {_ADVICE}"
        self.files[path] = FileEntry(path, 0, 0, "unclaimed", reason=detail)

    def _claim(self, claims: Sequence[Claim], path: str, stamp: Stamp, status: os.stat_result | OSError) -> None:
        for number, claim in enumerate(claims):
            files = self.subjects.setdefault(claim.subject, SubjectFiles())
            if (claim.role, claim.name) not in self.claims.by_header:
                files.add(claim, path)
            if number == 0 and isinstance(status, OSError):
                reason = f"cannot be read: {status.strerror}; check that the link or its permissions are right"
                files.findings.append(finding(Code.UNREADABLE, reason, file=path))
            scan = "" if claim.role == "table" else claim.scan or ONLY_SCAN
            self.files[path] = _entry(path, stamp, "used", role=claim.role, subject=claim.subject, scan=scan)

    def _choose(self) -> None:
        """Distribute the files whose headers say what they are."""
        for (subject, scan, root), pool in self.pools.items():
            candidates = []
            for entry, claims in pool:
                identity = self.identities.of(entry.path, entry.stamp)
                if identity is None:
                    self._set_aside(entry.path, entry.stamp, None)
                else:
                    candidates.append(Candidate(entry.path, claims, identity))
            if candidates:
                choice = choose(self.claims.by_header, candidates)
                self.subjects.setdefault(subject, SubjectFiles()).add_choice(scan, root, choice, self.spec.layout.tags)
                entries = {entry.path: entry for entry, _ in pool}
                for path, claim in choice.used().items():
                    self.files[path] = replace(entries[path], state="used", role=claim.role, subject=subject, scan=scan)
                for path, reason in choice.reasons.items():
                    self.files[path] = replace(entries[path], state="ignored", reason=reason)

    def _set_aside(self, path: str, stamp: Stamp, unfit: str | None) -> None:
        """A file that nothing claims; `unfit` says why a claim by its name does not hold."""
        reason = junk_reason(path) or self.claims.why_ignored(path) or unfit
        if reason is None and is_partial_download(path):
            reason = "a download that did not finish; fetch the file again"
            self.findings.append(finding(Code.INCOMPLETE_DOWNLOAD, reason, file=path))
        elif reason is None and (original := copied_from(path)) and (self.root / original).is_file():
            reason = self._judge_copy(path, original)
        if reason is not None:
            self.files[path] = _entry(path, stamp, "ignored", reason)
            return
        reason = "no pattern of the spec claims it; rename it to fit the layout, or tell the spec to ignore it"
        self.files[path] = _entry(path, stamp, "unclaimed", reason)

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

    def tree(self) -> RawTree:
        """What was found, once every file has its place."""
        self._choose()
        self._claim_companions()
        subjects = dict(self._settled())
        self._supersede_lines(subjects)
        unplaced = [f for f in self.files.values() if f.state == "unclaimed"]
        hidden = [f for f in unplaced if f.path in self.hidden]
        self.findings += _unplaced(hidden, Code.UNREADABLE, "cannot be looked at")
        unclaimed = [f for f in unplaced if f.path not in self.hidden]
        self.findings += _unplaced(unclaimed, Code.UNCLAIMED_FILE, "are claimed by no pattern")
        if self.synthetic:
            detail = "the raw data are made up (phantoms); nothing clinical can be learned from this dataset"
            self.findings.append(finding(Code.SYNTHETIC, detail, file=SYNTHETIC_MARKER))
        self.findings += compare_listing(self.spec, self.root, subjects)
        files = tuple(self.files[path] for path in sorted(self.files))
        return RawTree(self.root, self.synthetic, subjects, files, tuple(self.findings), self.identities)

    def _claim_companions(self) -> None:
        """Give the second file of a pair (`.img` of a `.hdr`) to the subject of the first."""
        from resources.readers.registry import companions  # noqa: PLC0415 - loads every reader, which takes seconds

        for main in [f for f in self.files.values() if f.state == "used"]:
            for other in companions(self.root / main.path):
                path = other.relative_to(self.root).as_posix()
                if path in self.files and self.files[path].state != "used":
                    self.companions.setdefault(main.path, []).append(path)
                    stamp = Stamp.of(other.stat())
                    self.files[path] = _entry(path, stamp, "used", role="companion", subject=main.subject, scan=main.scan)

    def _settled(self) -> Iterator[tuple[str, RawSubject]]:
        """The subjects that have anything to be made, in natural order; files of scans that do not count are ignored."""
        of_subject: dict[str, list[str]] = {}
        for path, entry in self.files.items():
            if entry.state == "used":
                of_subject.setdefault(entry.subject, []).append(path)
        for name in sorted(self.subjects, key=natural_key):
            gathered = self.subjects[name]
            has_scans = bool(gathered.scans)
            replaced = dict(gathered.settle(self.spec))
            for path, reason in replaced.items():
                self._ignore(path, reason)
            gathered.findings = [f for f in gathered.findings if f.code is Code.SUPERSEDED or f.file not in replaced]
            if self.spec.layout.unlabelled == "leave":
                self._leave_unlabelled(gathered)
            scans = raw_scans(self.claims, self.root, name, gathered)
            entries = [self.files[path] for path in of_subject.get(name, [])]
            used = tuple(sorted((f for f in entries if f.state == "used"), key=lambda f: f.path))
            if scans:
                self._rename_scans(used, scans)
                used = tuple(self.files[f.path] for f in used)
                yield name, RawSubject(name, scans, used, tuple(gathered.findings))
            else:
                if not has_scans:
                    self.findings += [f for f in gathered.findings if f.code is Code.UNREADABLE]
                for entry in used:
                    self._ignore(entry.path, "its subject has no scan that is used")

    def _supersede_lines(self, subjects: Mapping[str, RawSubject]) -> None:
        """Files that would say the class of a subject, but under a root that none of its scans is taken from."""
        pattern = self.claims.class_lines
        for path, entry in self.files.items() if pattern is not None else ():
            read = pattern.match(path) if pattern is not None and entry.state == "ignored" else None
            if read is not None and read["subject"] in subjects:
                roots = subjects[read["subject"]].roots
                if not counts(read.get("root", ""), roots):
                    self._ignore(path, superseded_by(roots))

    def _leave_unlabelled(self, gathered: SubjectFiles) -> None:
        required = {name for name, source in self.spec.layout.labels.items() if source.required}
        for key, scan in list(gathered.scans.items()):
            if required - scan.label_files().keys():
                for path in gathered.scans.pop(key).paths():
                    self._ignore(path, "no label map was published for this scan")

    def _rename_scans(self, used: tuple[FileEntry, ...], scans: tuple[RawScan, ...]) -> None:
        """Let the ledger call the scans what the products call them."""
        name_of = {path: scan.scan for scan in scans for path in scan.paths()}
        for entry in used:
            if entry.path in name_of and entry.scan != name_of[entry.path]:
                self.files[entry.path] = replace(entry, scan=name_of[entry.path])

    def _ignore(self, path: str, reason: str) -> None:
        """Leave a file, and the second file of a pair with the first."""
        for one in (path, *self.companions.get(path, ())):
            self.files[one] = _entry(one, self.files[one].stamp, "ignored", reason)
