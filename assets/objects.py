"""Objects that a dataset marks by boxes or spheres in tables or in files beside its images."""

from __future__ import annotations

import heapq
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from defusedxml import ElementTree

from assets.raw import RawTree, natural_key
from assets.spec import DatasetSpec
from assets.spec_mds import Objects
from assets.tables import OBJECTS, frame
from assets.templates import FIELD, UnknownFieldError, fields_of, fill
from assets.text_tables import TableUnreadableError, read_text_table
from resources.findings import BadInputError, Code, Finding, Severity, finding

if TYPE_CHECKING:
    from resources.readers.dicom.sr import MeasurementGroup

Mark = Mapping[str, Any]
"""Columns of one object: `label` as the file has it, and `min_px` and `max_px`, or `centre_ras_mm` and `diameter_mm`."""

_SHOWN = 3
_OWN = frozenset({"subject", "scan"})
"""Fields that a file has only as somebody's."""


class ObjectUnusableError(Exception):
    """A mark that cannot be used; the message has the values met."""


def objects_table(spec: DatasetSpec, tree: RawTree, subjects: set[str]) -> tuple[pl.DataFrame, list[Finding]]:
    """The `objects` table of the subjects' images, and what is wrong with the marks.

    Corners are pixels (column, row) from the picture's upper left corner as the dataset gives them; positions in DICOM's
    frame (LPS) are turned to RAS+.
    """
    declared = spec.objects
    if declared is None:
        return frame(OBJECTS, []), []
    reader = _Reader(spec, declared, tree.root)
    rows: list[dict[str, Any]] = []
    for subject in (s for s in tree.subjects.values() if s.subject in subjects):
        for scan in subject.scans:
            for series, path in scan.series.items():
                who = {"dataset": spec.slug, "subject": subject.subject, "scan": scan.scan, "series": series}
                marks = reader.marks(path, fields_of(path, subject.subject, scan.scan, scan.fields))
                rows += [who | row | {"object": number, "synthetic": tree.synthetic} for number, row in enumerate(marks, 1)]
    return frame(OBJECTS, rows), [*reader.findings, *_astray(declared, tree, reader.keys)]


def _astray(declared: Objects, tree: RawTree, keys: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    """What rows name no image of the whole raw folder, whether that is published or not; an error where none does.

    Args:
        declared: The objects of the spec.
        tree: The raw folder.
        keys: Table -> what each of its rows names, as far as the tables could be read.
    """
    if not keys:
        return
    images = [
        fields_of(path, subject.subject, scan.scan, scan.fields)
        for subject in tree.subjects.values()
        for scan in subject.scans
        for path in scan.series.values()
    ]
    named = _filled(declared.match, images)
    unused = (fields_of(file.path, "", "", {}) for file in tree.files if file.state != "used")
    known = named | (set() if _OWN & set(FIELD.findall(declared.match)) else _filled(declared.match, unused))
    called = _some(named) or f"nothing, as none has all fields of {declared.match!r}"
    for table, rows in keys.items():
        lost = bool(rows) and named.isdisjoint(rows)
        astray = [key for key in rows if lost or key not in known]
        if astray:
            detail = (
                f"{len(astray)} of {len(rows)} rows name no image: {declared.key} is {_some(set(astray))}; "
                f"by {declared.match!r} the images are called {called}; see to `objects.key` and `objects.match` of the spec, "
                "or take out the table"
            )
            yield finding(Code.OBJECT_WITHOUT_IMAGE, detail, file=table, severity=Severity.ERROR if lost else None)


def _filled(template: str, files: Iterable[Mapping[str, str]]) -> set[str]:
    """What files are called by a template, without those that lack one of its fields."""
    asked = set(FIELD.findall(template))
    return {fill(template, fields) for fields in files if asked <= set(fields)}


def _some(names: set[str]) -> str:
    shown = [repr(name) for name in heapq.nsmallest(_SHOWN, names, key=natural_key)]
    return ", ".join(shown) + (", ..." if len(names) > _SHOWN else "")


@dataclass
class _Reader:
    """Reads the marks of one image after the other; one table of all images is read once.

    What each row of such a table names is kept in `keys`, by table.
    """

    spec: DatasetSpec
    declared: Objects
    root: Path

    def __post_init__(self) -> None:
        self.findings: list[Finding] = []
        self.keys: dict[str, list[str]] = {}
        self._by_key: dict[str, list[Mark]] | None = None
        self._label_ids = {label.name: number for number, label in self.spec.labels.items()}

    def marks(self, path: str, fields: Mapping[str, str]) -> list[dict[str, Any]]:
        """The marks of one image."""
        try:
            found = list(self._found(fields))
            if "{" in self.declared.label:
                found = [{**mark, "label": fill(self.declared.label, fields)} for mark in found]
        except TableUnreadableError as error:
            self.findings.append(self._unreadable(error, path))
            return []
        except (ObjectUnusableError, UnknownFieldError) as error:
            self.findings.append(finding(Code.OBJECT_UNUSABLE, str(error), file=path))
            return []
        return [row for row in (self._row(mark, path) for mark in found) if row is not None]

    def _unreadable(self, error: TableUnreadableError, path: str) -> Finding:
        """A table of all images that cannot be read is said once, and is an error, as all objects are lost with it."""
        if not self.declared.key:
            return finding(Code.OBJECT_UNUSABLE, str(error), file=path)
        self._by_key = {}
        return finding(Code.OBJECT_UNUSABLE, str(error), file=", ".join(self.declared.file), severity=Severity.ERROR)

    def _found(self, fields: Mapping[str, str]) -> Iterator[Mark]:
        if self.declared.key:
            if self._by_key is None:
                self._by_key = self._read_reports() if self.declared.format == "sr" else self._read_all()
            yield from self._by_key.get(fill(self.declared.match, fields), [])
            return
        for template in self.declared.file:
            file = self.root / fill(template, fields)
            if file.is_file():
                yield from _READERS[self.declared.format](self.declared, file)
                return

    def _read_all(self) -> dict[str, list[Mark]]:
        found: dict[str, list[Mark]] = {}
        for name in self.declared.file:
            columns = [self.declared.key, *_columns(self.declared)]
            table = read_text_table(self.root / name, list(dict.fromkeys(columns)), self.declared.separator)
            keys = self.keys[name] = []
            for number, row in enumerate(table.iter_rows(named=True), 2):
                key = row[self.declared.key]
                if any(value is not None for value in row.values()):
                    keys.append(key or "")
                try:
                    mark = _csv_mark(self.declared, row, f"{name}, line {number}")
                except ObjectUnusableError as error:
                    self.findings.append(finding(Code.OBJECT_UNUSABLE, str(error), file=name))
                    continue
                if key is not None and mark is not None:
                    found.setdefault(str(key), []).append(mark)
        return found

    def _read_reports(self) -> dict[str, list[Mark]]:
        """SOP instance -> what reports mark in it."""
        found: dict[str, list[Mark]] = {}
        keys: list[str] = []
        self.keys[", ".join(self.declared.file)] = keys
        for path in sorted(path for pattern in self.declared.file for path in self.root.glob(pattern)):
            name = path.relative_to(self.root).as_posix()
            try:
                for image, mark in _reported(path, name):
                    keys.append(image)
                    found.setdefault(image, []).append(mark)
            except ObjectUnusableError as error:
                self.findings.append(finding(Code.OBJECT_UNUSABLE, str(error), file=name))
        return found

    def _row(self, mark: Mark, path: str) -> dict[str, Any] | None:
        said = mark.get("label")
        name = self._named(str(said)) if said is not None else next(iter(self._label_ids), None)
        if name not in self._label_ids:
            detail = f"the object is a {name!r}, which is none of {list(self._label_ids)} ({mark['source']})"
            self.findings.append(finding(Code.OBJECT_UNUSABLE, detail, file=path))
            return None
        return {**mark, "label": name, "label_id": self._label_ids[name]}

    def _named(self, said: str) -> str:
        """The label that a text stands for; the text itself where the spec says nothing about it."""
        if said in self.declared.labels:
            return self.declared.labels[said]
        return next((name for name, expression in self.declared.matches.items() if re.fullmatch(expression, said)), said)


def _columns(declared: Objects) -> list[str]:
    numbers = declared.corners or declared.origin_size or declared.centre_lps_mm or ()
    return [*numbers, *(c for c in (declared.diameter_mm, declared.label) if c and "{" not in c)]


def _csv_mark(declared: Objects, row: Mapping[str, str | None], source: str) -> Mark | None:
    """One row's object; None where the row says that there is none (no number at all)."""
    names = declared.corners or declared.origin_size or declared.centre_lps_mm or ()
    if all(row[name] is None for name in names):
        return None
    values = [_number(row[name], name, source) for name in names]
    label = {"label": row[declared.label]} if declared.label and "{" not in declared.label else {}
    if declared.corners:
        return _boxed([value * declared.scale for value in values], source) | label
    if declared.origin_size:
        x, y, width, height = (value * declared.scale for value in values)
        return _boxed([x, y, x + width, y + height], source) | label
    x, y, z = values
    diameter = _number(row[declared.diameter_mm], declared.diameter_mm, source) if declared.diameter_mm else None
    return {"centre_ras_mm": [-x, -y, z], "diameter_mm": diameter, "source": source} | label


def _boxed(corners: Sequence[float], source: str) -> dict[str, Any]:
    x_min, y_min, x_max, y_max = corners
    if not (x_min < x_max and y_min < y_max):
        raise ObjectUnusableError(f"the box {list(corners)} has no area ({source})")
    return {"min_px": [x_min, y_min], "max_px": [x_max, y_max], "source": source}


def _number(text: str | None, column: str, source: str) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ObjectUnusableError(f"{column} is {text!r}, which is no number ({source})")
    return value


def _read_csv(declared: Objects, path: Path) -> Iterator[Mark]:
    table = read_text_table(path, list(dict.fromkeys(_columns(declared))), declared.separator)
    for number, row in enumerate(table.iter_rows(named=True), 2):
        mark = _csv_mark(declared, row, f"{path.name}, line {number}")
        if mark is not None:
            yield mark


def _read_voc(_: Objects, path: Path) -> Iterator[Mark]:
    """Pascal VOC: pixel corners, 1-based and inclusive in the standard's own sets; kept as they are."""
    try:
        root = ElementTree.fromstring(path.read_bytes())
    except (OSError, ElementTree.ParseError) as error:
        raise ObjectUnusableError(f"{path.name} is no XML: {error}") from error
    for number, node in enumerate(root.iter("object"), 1):
        source = f"{path.name}, object {number}"
        texts = {tag: node.findtext(f"bndbox/{tag}") for tag in ("xmin", "ymin", "xmax", "ymax")}
        corners = [_number(text, tag, source) for tag, text in texts.items()]
        yield _boxed(corners, source) | {"label": (node.findtext("name") or "").strip()}


def _read_supervisely(_: Objects, path: Path) -> Iterator[Mark]:
    """Supervisely JSON: the box around the outer outline of every object."""
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
        for number, item in enumerate(content["objects"], 1):
            points = [[float(x), float(y)] for x, y in item["points"]["exterior"]]
            xs, ys = [p[0] for p in points], [p[1] for p in points]
            yield _boxed([min(xs), min(ys), max(xs), max(ys)], f"{path.name}, object {number}") | {"label": item["classTitle"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ObjectUnusableError(f"{path.name} is no list of marked objects: {error!r}") from error


def _reported(path: Path, name: str) -> list[tuple[str, Mark]]:
    """SOP instance and mark of everything that a report marks."""
    from resources.readers.dicom.sr import read_sr_measurements  # noqa: PLC0415 - loads pydicom, which takes a second

    try:
        groups = read_sr_measurements(path, name=name).groups
    except BadInputError as error:
        raise ObjectUnusableError(error.finding.detail) from error
    marked = [pair for n, group in enumerate(groups, 1) for pair in _marks_of(group, f"{name}, measurement {n}")]
    if not marked:
        raise ObjectUnusableError("the report marks no region")
    return marked


def _marks_of(group: MeasurementGroup, source: str) -> Iterator[tuple[str, Mark]]:
    """SOP instance and box around every region of a group; a group without regions marks nothing."""
    if any(region.in_patient for region in group.regions):
        raise ObjectUnusableError(f"a region is marked in the patient, not in an image ({source})")
    if group.regions and len(group.image_uids) != 1:
        met = f"{len(group.regions)} regions lie in {len(group.image_uids)} images"
        raise ObjectUnusableError(f"{met}; which in which is not told ({source})")
    for region in group.regions:
        if not region.points:
            raise ObjectUnusableError(f"a region has no points ({source})")
        xs, ys = zip(*region.points, strict=True)
        yield group.image_uids[0], _boxed([min(xs), min(ys), max(xs), max(ys)], source)


_READERS = {"csv": _read_csv, "voc": _read_voc, "supervisely": _read_supervisely}
