"""The targets of a dataset: which raw file stands behind every index of its MDS-Bench sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import polars as pl

from assets.mds.listing import Listing
from assets.mds.stand_ins import StandIns
from assets.mds.target import Target
from assets.raw import FileEntry, RawScan, RawTree
from assets.spec import DatasetSpec
from assets.spec_mds import Mds
from assets.templates import UnknownFieldError, fields_of, fill
from resources.findings import Code, Finding, finding

Refused = Mapping[str, str]
"""Subject -> why nothing of it is published."""


@dataclass(frozen=True)
class Targets:
    """The sample.

    Attributes:
        listed: How many targets there should be.
        usable: Those whose subjects are published, in order of their index.
        findings: Why the others are not; nothing is left out in silence.
        listing: The list they were taken from; empty where there is none.
    """

    listed: int
    usable: tuple[Target, ...]
    findings: tuple[Finding, ...]
    listing: str


def targets_of(
    spec: DatasetSpec, mds: Mds, tree: RawTree, listing: Listing, refused: Refused, objects: pl.DataFrame | None = None
) -> Targets:
    """Join the sample with the raw folder.

    Without a list the sample is the first files of `mds.target` in depth-first lexicographic order of their paths. A target that
    cannot be used keeps its index, and so do all others.

    Args:
        spec: The dataset.
        mds: Its `mds` block.
        tree: Its raw folder.
        listing: The benchmark's list, if there is one.
        refused: Subjects that are not published.
        objects: The table of marked objects; a report that marks some stands for the image it marks.
    """
    candidates = _candidates(spec, mds, tree)
    stand_ins = StandIns.of(spec, mds, objects, candidates.values())
    findings = list(listing.findings)
    wanted = listing.paths
    if wanted is None:
        first = sorted((c for c in candidates.values() if c.name in _first_choice(spec, mds)), key=lambda c: c.source.split("/"))
        wanted = {number: c.source for number, c in enumerate(first[: mds.targets])}
    usable = []
    for index, source in sorted(wanted.items()):
        found = candidates.get(source) or candidates.get(source.rstrip())
        problem = "" if found is not None else _problem(mds, tree, source)
        if found is None and (file := _file(mds, tree, source)) is not None:
            found, problem = _stand_in(stand_ins, file, source, problem)
        if found is not None:
            problem = _refusal(found, refused)
        if found is None or problem:
            findings.append(finding(Code.NO_RECORD, f"target {index} has no record: {problem}", file=source))
            continue
        usable.append(Target(index, found.path, found.source, found.subject, found.scan, found.role, found.name, found.label_id))
    return Targets(len(wanted), tuple(usable), tuple(findings), listing.file)


def prefixed(mds: Mds, path: str) -> str:
    """A path under the raw folder as records call it."""
    return path if path.startswith(mds.prefix) else mds.prefix + path


def _first_choice(spec: DatasetSpec, mds: Mds) -> tuple[str, ...]:
    return mds.target or tuple(spec.layout.series)[:1]


def _candidates(spec: DatasetSpec, mds: Mds, tree: RawTree) -> dict[str, Target]:
    """Path as records call it -> the file; of several uses of one file the declared targets come first, then images."""
    preferred = _first_choice(spec, mds)
    found: dict[str, Target] = {}
    every = [(subject.subject, scan) for subject in tree.subjects.values() for scan in subject.scans]
    for wanted in (True, False):
        for subject, scan in every:
            for target in _files(subject, scan):
                if (target.name in preferred) == wanted:
                    source = prefixed(mds, _in_public_copy(mds, target, scan) if wanted else target.path)
                    found.setdefault(source, replace(target, source=source))
    return found


def _files(subject: str, scan: RawScan) -> Iterator[Target]:
    for name, path in scan.series.items():
        for stored in scan.series_files.get(name, (path,)):
            yield Target(-1, stored, "", subject, scan.scan, "series", name)
    for name, files in scan.labels.items():
        for file in files:
            yield Target(-1, file.path, "", subject, scan.scan, "labels", name, file.label_id)


def _in_public_copy(mds: Mds, target: Target, scan: RawScan) -> str:
    try:
        return fill(mds.source, fields_of(target.path, target.subject, scan.scan, scan.fields))
    except UnknownFieldError:  # a pattern of this file does not name the field
        return target.path


def _refusal(target: Target, refused: Refused) -> str:
    reason = refused.get(target.subject)
    return f"nothing of subject {target.subject} is published: {reason}" if reason is not None else ""


def _file(mds: Mds, tree: RawTree, source: str) -> FileEntry | None:
    return next((file for file in tree.files if prefixed(mds, file.path) == source), None)


def _stand_in(stand_ins: StandIns, file: FileEntry, source: str, problem: str) -> tuple[Target | None, str]:
    """What is shown for a file without pixels, under its own name; else the problem."""
    found = stand_ins.for_file(file.path)
    if len(found) > 1:
        return None, f"{problem}; which of {len(found)} files it stands for, such as {found[0].path}, cannot be told"
    return (replace(found[0], path=file.path, source=source), "") if found else (None, problem)


def _problem(mds: Mds, tree: RawTree, source: str) -> str:
    """Why a path of the list stands for nothing."""
    if source.startswith("/"):
        return f"its path does not lead through /{mds.folder}/"
    entry = _file(mds, tree, source)
    if entry is None:
        return "there is no such file in the raw folder"
    if entry.state == "used":
        return f"the file is used as {entry.role}, which is neither an image nor a label map of its own"
    return f"the file is {entry.state}: {entry.reason}"
