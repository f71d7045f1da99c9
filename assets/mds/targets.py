"""The targets of a dataset: which raw file stands behind every index of its MDS-Bench sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import polars as pl

from assets.mds.listing import Listing
from assets.mds.stand_ins import StandIns
from assets.mds.target import Target
from assets.raw import FileEntry, RawScan, RawTree
from assets.raw.rows import on_disk, row_of
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

    Without a list the sample is the first files of `mds.target` in depth-first lexicographic order of their paths; rows of a
    table come in their order, and a list names the table for each. A list that names a folder means its first target. A target
    that cannot be used keeps its index, and so do all others.

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
    if listing.paths is None:
        wanted = dict(enumerate(_in_order(spec, mds, candidates)[: mds.targets]))
    else:
        wanted = _by_row(spec, mds, candidates, listing.paths)
    usable = []
    for index, source in sorted(wanted.items()):
        found = candidates.get(source) or candidates.get(source.rstrip())
        problem = "" if found is not None else _problem(mds, tree, source)
        if found is None and (file := _file(mds, tree, source)) is not None:
            found, problem = _stand_in(stand_ins, file, source, problem)
        elif found is None:
            found = _first_within(spec, mds, candidates, source)
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


def _in_order(spec: DatasetSpec, mds: Mds, candidates: Mapping[str, Target]) -> list[str]:
    """What stands for the declared targets in `candidates`, in the order of the sample."""
    declared = [(key, c) for key, c in candidates.items() if c.name in _first_choice(spec, mds)]
    numbers = {key: row.number if (row := row_of(c.path)) else 0 for key, c in declared}
    return [key for key, c in sorted(declared, key=lambda pair: (pair[1].source.split("/"), numbers[pair[0]]))]


def _first_within(spec: DatasetSpec, mds: Mds, candidates: Mapping[str, Target], folder: str) -> Target | None:
    """The first declared target in a folder that a list names in the place of a file, under the name of the folder."""
    inside = f"{folder.rstrip('/ ')}/"
    keys = _in_order(spec, mds, {key: c for key, c in candidates.items() if key.startswith(inside)})
    return replace(candidates[keys[0]], source=folder.rstrip("/ ")) if keys else None


def _by_row(spec: DatasetSpec, mds: Mds, candidates: Mapping[str, Target], paths: Mapping[int, str]) -> dict[int, str]:
    """Index -> what stands for it in `candidates`; a table that is named again and again stands for one row after another."""
    rows: dict[tuple[str, int], str] = {}
    for key in _in_order(spec, mds, candidates):
        if row := row_of(candidates[key].path):
            rows.setdefault((candidates[key].source, row.number), key)
    named: dict[str, int] = {}
    wanted = {}
    for index, path in sorted(paths.items()):
        wanted[index] = rows.get((path, named.get(path, 0)), path)
        named[path] = named.get(path, 0) + 1
    return wanted


def _candidates(spec: DatasetSpec, mds: Mds, tree: RawTree) -> dict[str, Target]:
    """Path as records call it -> the file; of several uses of one file the declared targets come first, then images.

    A row of a table has a path of its own here, but records call it by the table.
    """
    preferred = _first_choice(spec, mds)
    found: dict[str, Target] = {}
    every = [(subject.subject, scan) for subject in tree.subjects.values() for scan in subject.scans]
    for wanted in (True, False):
        for subject, scan in every:
            for target in _files(subject, scan):
                if (target.name in preferred) == wanted:
                    key = prefixed(mds, _in_public_copy(mds, target, scan) if wanted else target.path)
                    source = prefixed(mds, on_disk(target.path)) if row_of(target.path) else key
                    found.setdefault(key, replace(target, source=source))
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
