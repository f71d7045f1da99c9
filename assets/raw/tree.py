"""What a raw folder holds, as plain values: files, scans, subjects."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from assets.raw.identities import Identities
from assets.raw.walk import Stamp
from resources.findings import Finding

SYNTHETIC_MARKER = "SYNTHETIC.json"
"""A raw folder with this file at its top holds made-up data, and everything made of it says so."""

ONLY_SCAN = "0"
"""Name of the scan where a subject has just one."""

FileState = Literal["used", "ignored", "unclaimed", "quarantined"]


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of the raw folder and what it is for.

    Attributes:
        path: Relative to the raw folder, forward slashes.
        size: Bytes.
        mtime_ns: Modification time.
        state: `used` by a subject, `ignored` with a reason, or `unclaimed`.
        role: `image`, `labels`, `landmarks`, `transform`, `table`, `companion`, or empty.
        subject: Whose it is, or empty.
        scan: Of which scan, or empty.
        reason: Why it is not used.
        ctime_ns: Time of the last change of anything about it, its name included; of a row that of its table; 0 where not known.
    """

    path: str
    size: int
    mtime_ns: int
    state: FileState
    role: str = ""
    subject: str = ""
    scan: str = ""
    reason: str = ""
    ctime_ns: int = 0

    @property
    def stamp(self) -> Stamp:
        """What tells whether it is the file that it was."""
        return Stamp(self.size, self.mtime_ns, self.ctime_ns)


@dataclass(frozen=True, slots=True)
class LabelFile:
    """A file of a label map: the map of ids itself, or the binary mask of one label.

    Attributes:
        path: Relative to the raw folder.
        label_id: Whose mask it is; None for a map of ids.
    """

    path: str
    label_id: int | None = None


@dataclass(frozen=True, slots=True)
class RawScan:
    """The files of one scan; all paths are relative to the raw folder.

    Attributes:
        scan: Its name.
        series: Series name -> path; the first file of a series that is stored in several.
        labels: Label map name -> its files, masks in order of the label ids.
        landmarks: Landmark set name -> path.
        transforms: Landmark set name -> path of the transform to its series.
        fields: What the other fields of the patterns read.
        series_files: Series name -> all its files, for DICOM series chosen by their headers.
        root: What `{root}` reads in their paths; empty where none names it.
    """

    scan: str
    series: dict[str, str] = field(default_factory=dict)
    labels: dict[str, tuple[LabelFile, ...]] = field(default_factory=dict)
    landmarks: dict[str, str] = field(default_factory=dict)
    transforms: dict[str, str] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)
    series_files: dict[str, tuple[str, ...]] = field(default_factory=dict)
    root: str = ""

    def paths(self) -> set[str]:
        """Every file of the scan."""
        labels = (file.path for files in self.labels.values() for file in files)
        many = (path for files in self.series_files.values() for path in files)
        return {*self.series.values(), *many, *labels, *self.landmarks.values(), *self.transforms.values()}


@dataclass(frozen=True, slots=True)
class RawSubject:
    """One person's scans, files, and what is wrong with them before any is opened."""

    subject: str
    scans: tuple[RawScan, ...]
    files: tuple[FileEntry, ...]
    findings: tuple[Finding, ...]

    @property
    def roots(self) -> set[str]:
        """The roots that its scans are taken from."""
        return {scan.root for scan in self.scans}


@dataclass(frozen=True)
class RawTree:
    """Everything under a dataset's raw folder.

    Attributes:
        root: The raw folder.
        synthetic: Whether the folder says that its data are made up.
        subjects: Subject name -> its files, in natural order of the names.
        files: Every file, in order of path; each has exactly one state.
        findings: What concerns the dataset rather than one subject.
        identities: What the headers of DICOM files say.
    """

    root: Path
    synthetic: bool
    subjects: dict[str, RawSubject]
    files: tuple[FileEntry, ...]
    findings: tuple[Finding, ...]
    identities: Identities | None = field(default=None, repr=False, compare=False)

    def keep_headers(self) -> None:
        """Write down what was read of DICOM headers, so that the next look at the folder opens new files alone.

        Raises:
            OSError: The disk failed or is full.
        """
        if self.identities is not None:
            self.identities.keep()


def natural_key(name: str) -> tuple[tuple[int, int | str], ...]:
    """Sort key under which `case_2` comes before `case_10`."""
    parts = re.split(r"(\d+)", name)
    return (*(((0, int(p)) if p.isdecimal() else (1, p)) for p in parts if p), (1, name))
