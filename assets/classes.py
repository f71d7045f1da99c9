"""The class of every image, as the dataset tells it: by its path, a table, a small file, or its DICOM header."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from assets.class_tables import TableSays, told_in_table
from assets.raw import RawScan, RawSubject, RawTree
from assets.raw.claims import Claims
from assets.raw.lines import only_value, value_under
from assets.raw.scans import counts
from assets.spec import DatasetSpec
from assets.spec_mds import Classes, ClassLines
from assets.tables import CLASSES, frame
from assets.templates import UnknownFieldError, fields_of, fill
from assets.text_tables import TableUnreadableError
from resources.findings import Code, Finding, finding

ReadTag = Callable[[Path, str], str | None]
"""Path of a DICOM file and a keyword -> its value as text."""


class _ClassUnreadableError(Exception):
    """What should tell the class of an image has no class there; the message says where and what it has."""


def classes_table(spec: DatasetSpec, tree: RawTree, subjects: set[str], read_tag: ReadTag) -> tuple[pl.DataFrame, list[Finding]]:
    """The `classes` table: a row per image of the subjects, and what is wrong with the telling.

    Args:
        spec: The dataset; it declares classes.
        tree: Its raw folder.
        subjects: The published subjects.
        read_tag: Reads one value of a DICOM header.
    """
    declared = spec.classes
    if declared is None or declared.untold:
        return frame(CLASSES, []), []
    try:
        told = told_in_table(declared.table, tree.root)
    except TableUnreadableError as error:
        return frame(CLASSES, []), [finding(Code.CLASS_UNKNOWN, str(error), file=declared.table.file if declared.table else "")]
    lines, findings = _lines(spec, tree)
    rows = []
    for subject, scan, series, path in _images(tree, subjects):
        fields = fields_of(path, subject.subject, scan.scan, scan.fields)
        try:
            if declared.lines is not None:
                raw, source = _by_lines(declared.lines, lines.get(subject.subject, []), scan)
            else:
                raw, source = _told(declared, told, fields, tree.root / path, read_tag)
        except UnknownFieldError as error:
            raw, source = None, str(error)
        except _ClassUnreadableError as error:
            findings.append(finding(Code.CLASS_UNKNOWN, f"the class cannot be read: {error}", file=path))
            continue
        name = _named(declared, raw) if raw is not None else None
        if name not in declared.names:
            if raw is not None or declared.missing == "error":
                met = f"the class is {raw!r}, which is none of {list(declared.names)}" if raw is not None else "no class is told"
                findings.append(finding(Code.CLASS_UNKNOWN, f"{met} ({source})", file=path))
            continue
        rows.append(_row(spec, subject, scan, series, declared.names.index(name), name, source, synthetic=tree.synthetic))
    return frame(CLASSES, rows), findings


def _images(tree: RawTree, subjects: set[str]) -> Iterator[tuple[RawSubject, RawScan, str, str]]:
    for subject in tree.subjects.values():
        if subject.subject in subjects:
            for scan in subject.scans:
                yield from ((subject, scan, series, path) for series, path in scan.series.items())


@dataclass(frozen=True)
class _Line:
    """What a file of lines, of JSON, or of nothing but a class, says.

    Attributes:
        path: The file.
        scan: Which scan it is about; None for all of the subject.
        root: The root it lies under, whose scans alone it is about; empty for those of all roots.
        text: What it says; None for nothing.
    """

    path: str
    scan: str | None
    root: str
    text: str | None

    def is_about(self, scan: RawScan) -> bool:
        return self.scan in (None, scan.scan) and counts(self.root, {scan.root})


def _lines(spec: DatasetSpec, tree: RawTree) -> tuple[dict[str, list[_Line]], list[Finding]]:
    """Subject -> what its files say; those under roots that none of its scans is taken from are not opened."""
    told: dict[str, list[_Line]] = {}
    findings: list[Finding] = []
    source, pattern = spec.classes.lines if spec.classes is not None else None, Claims(spec).class_lines
    if source is None or pattern is None:
        return told, findings
    for file in tree.files:
        read = pattern.match(file.path)
        if read is None or read["subject"] not in tree.subjects:
            continue
        root = read.get("root", "")
        if not counts(root, tree.subjects[read["subject"]].roots):
            continue
        try:
            path = tree.root / file.path
            text = value_under(path, source.key) if source.key else only_value(path)
        except (OSError, ValueError) as error:
            text = None
            findings.append(finding(Code.CLASS_UNKNOWN, f"the class cannot be read: {error}", file=file.path))
        told.setdefault(read["subject"], []).append(_Line(file.path, read.get("scan"), root, text))
    return told, findings


def _by_lines(source: ClassLines, lines: Sequence[_Line], scan: RawScan) -> tuple[str | None, str]:
    """What is told, and by what; a file about the scan alone comes before one about all scans, one of its root before others."""
    fitting = [line for line in lines if line.is_about(scan)]
    best = max(fitting, key=lambda line: (line.scan is not None, bool(line.root)), default=_Line(source.file, None, "", None))
    return best.text, f"{best.path}, {source.key}" if source.key else best.path


def _named(declared: Classes, raw: str) -> str:
    """The class that a text stands for; the text itself where the spec says nothing about it."""
    if raw in declared.values:
        return declared.values[raw]
    return next((name for name, expression in declared.matches.items() if re.fullmatch(expression, raw)), raw)


def _told(
    declared: Classes, table: TableSays, fields: Mapping[str, str], path: Path, read_tag: ReadTag
) -> tuple[str | None, str]:
    """What is told, and by what."""
    if declared.table is not None:
        key = fill(declared.table.match, fields)
        source = ", ".join((declared.table.file, f"{declared.table.key} {key}".strip()))
        if key in table.faults:
            raise _ClassUnreadableError(f"{table.faults[key]} ({source})")
        return table.classes.get(key), source
    if declared.tag:
        return read_tag(path, declared.tag), f"DICOM {declared.tag}"
    return fill(declared.field, fields), f"path, {declared.field}"


def _row(
    spec: DatasetSpec, subject: RawSubject, scan: RawScan, series: str, class_id: int, name: str, source: str, *, synthetic: bool
) -> dict[str, Any]:
    return {
        "dataset": spec.slug,
        "subject": subject.subject,
        "scan": scan.scan,
        "series": series,
        "class_id": class_id,
        "class": name,
        "source": source,
        "synthetic": synthetic,
    }
