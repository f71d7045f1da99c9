"""The class of every image, as the dataset tells it: by its path, a table, a small file, or its DICOM header."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from assets.raw import RawScan, RawSubject, RawTree
from assets.raw.claims import Claims
from assets.raw.lines import key_values, only_value
from assets.raw.listing import pick
from assets.raw.scans import counts
from assets.spec import DatasetSpec
from assets.spec_mds import Classes, ClassLines, ClassTable
from assets.tables import CLASSES, frame
from assets.templates import UnknownFieldError, fields_of, fill
from assets.text_tables import TableUnreadableError, read_text_table
from resources.findings import Code, Finding, finding

ReadTag = Callable[[Path, str], str | None]
"""Path of a DICOM file and a keyword -> its value as text."""

_SET = ("1", "1.0", "true", "yes")
"""What a column of flags says in small letters of the class that an image has."""


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
        told = _table(declared, tree.root)
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


def _table(declared: Classes, root: Path) -> dict[str, str]:
    """Key -> class; of two rows for one key the first counts when they agree, and neither when they do not."""
    source = declared.table
    if source is None:
        return {}
    rows = _listed(source, root / source.file) if source.each else _tabled(source, root / source.file)
    told: dict[str, str] = {}
    contradicted = set()
    for key, value in rows:
        if told.setdefault(key, value) != value:
            contradicted.add(key)
    return {key: value for key, value in told.items() if key not in contradicted}


def _tabled(source: ClassTable, path: Path) -> Iterator[tuple[str, str]]:
    if source.flags:
        yield from _flagged(source, path)
        return
    table = read_text_table(path, [source.key, source.value], source.separator, source.columns).drop_nulls()
    yield from table.select(source.key, source.value).iter_rows()


def _flagged(source: ClassTable, path: Path) -> Iterator[tuple[str, str]]:
    """Key and class of every row in which one column is set."""
    table = read_text_table(path, [source.key, *source.flags], source.separator, source.columns)
    for key, *cells in table.drop_nulls(source.key).select(source.key, *source.flags).iter_rows():
        told = [name for name, cell in zip(source.flags, cells, strict=True) if (cell or "").lower() in _SET]
        if len(told) == 1:
            yield key, told[0]


def _listed(source: ClassTable, path: Path) -> Iterator[tuple[str, str]]:
    """Key and class of every entry of a list in a JSON file."""
    try:
        rows = list(pick(json.loads(path.read_text(encoding="utf-8-sig")), source.each))
        yield from ((str(row[source.key]), str(row[source.value])) for row in rows if row[source.value] is not None)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise TableUnreadableError(f"{path.name} has no classes at {source.each}: {error!r}") from error


@dataclass(frozen=True)
class _Line:
    """What a file of lines, or of nothing but a class, says.

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
            text = key_values(path).get(source.key) if source.key else only_value(path)
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
    declared: Classes, table: Mapping[str, str], fields: Mapping[str, str], path: Path, read_tag: ReadTag
) -> tuple[str | None, str]:
    """What is told, and by what."""
    if declared.table is not None:
        key = fill(declared.table.match, fields)
        return table.get(key), f"{declared.table.file}, {declared.table.key} {key}"
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
