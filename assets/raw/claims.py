"""The spec's patterns, compiled: which file is claimed, by what, for whom."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from assets.patterns import Pattern, compile_pattern
from assets.spec import DatasetSpec
from assets.spec_layout import LabelsSource, SeriesSource

Role = Literal["image", "labels", "landmarks", "transform", "table"]


@dataclass(frozen=True)
class Claim:
    """What one file is for.

    Attributes:
        role: What kind of thing.
        name: Which series, label map or landmark set; empty for a table.
        subject: Whose.
        scan: Scan as the path calls it; None where paths do not name scans, and for tables.
        root: What `{root}` reads; None where the pattern does not name it.
        label_id: Whose mask it is, for a mask of one label.
        fields: What the spec's own fields read.
    """

    role: Role
    name: str
    subject: str
    scan: str | None
    root: str | None
    label_id: int | None
    fields: dict[str, str]


@dataclass(frozen=True)
class Claims:
    """All patterns of a spec."""

    spec: DatasetSpec

    @cached_property
    def fields(self) -> dict[str, str]:
        """Field -> regular expression."""
        layout = self.spec.layout
        names = sorted((label.file_name for label in self.spec.labels.values()), key=len, reverse=True)
        return {
            "subject": layout.subject,
            "scan": layout.scan or "(?!)",
            "root": "|".join(re.escape(root) for root in layout.roots) or "(?!)",
            "label": "|".join(map(re.escape, names)) or "(?!)",
            **layout.fields,
        }

    @cached_property
    def patterns(self) -> list[tuple[Role, str, Pattern]]:
        """Role, name and pattern of everything the spec claims."""
        layout = self.spec.layout
        sources: list[tuple[Role, str, tuple[str, ...]]] = [
            *(("image", name, series.patterns) for name, series in layout.series.items()),
            *(("labels", name, labels.patterns) for name, labels in layout.labels.items()),
            *(("landmarks", name, landmarks.patterns) for name, landmarks in layout.landmarks.items()),
            *(("transform", name, landmarks.transform) for name, landmarks in layout.landmarks.items()),
            ("table", "", (layout.scan_names.file,) if layout.scan_names else ()),
        ]
        return [(role, name, compile_pattern(text, self.fields)) for role, name, texts in sources for text in texts]

    @cached_property
    def by_header(self) -> dict[tuple[str, str], SeriesSource | LabelsSource]:
        """(Role, name) -> source, of what is chosen among DICOM files by their headers."""
        layout = self.spec.layout
        images = {("image", name): source for name, source in layout.series.items() if source.dicom}
        return images | {("labels", name): labels for name, labels in layout.labels.items() if labels.dicom}

    @cached_property
    def ignored(self) -> list[tuple[Pattern, str]]:
        """Patterns of files that are left, and why."""
        return [(compile_pattern(text, self.fields), reason) for text, reason in self.spec.layout.ignore.items()]

    def columns_of(self, path: str) -> tuple[str, ...]:
        """The columns whose rows count as files, if the path is that of such a table."""
        tables = self.spec.layout.rows.items()
        return next((columns for text, columns in tables if compile_pattern(text, self.fields).match(path) is not None), ())

    @cached_property
    def _told_by(self) -> dict[str, str]:
        """The dataset's own lists and tables, which are read but make no volume."""
        layout, official, people = self.spec.layout, self.spec.split.official, self.spec.people
        found = {layout.listing.file: "the list of subjects is taken from it"} if layout.listing else {}
        files = [*official.files.values(), *([official.table.file] if official.table else [])] if official else []
        found |= dict.fromkeys(files, "the official split is taken from it")
        if self.spec.classes is not None and self.spec.classes.table is not None:
            found[self.spec.classes.table.file] = "the classes are taken from it"
        if self.spec.mds is not None:
            found[self.spec.mds.manifest] = "the targets of MDS-Bench are taken from it"
        return found | dict.fromkeys((t.file for t in people.all_tables), "the people behind the subjects are taken from it")

    @cached_property
    def class_lines(self) -> Pattern | None:
        """The files of lines that say a class, if the spec has such."""
        classes = self.spec.classes
        return compile_pattern(classes.lines.file, self.fields) if classes is not None and classes.lines is not None else None

    @cached_property
    def _beside(self) -> list[tuple[re.Pattern[str], str]]:
        """Files that are read though they make no volume, and what for: marked objects, and classes told by lines."""
        objects = self.spec.objects
        any_name = ("[^/]+".join(map(re.escape, re.split(r"\{[a-z_]+\}", text))) for text in (objects.file if objects else ()))
        found = [(re.compile(text), "marked objects are read from it") for text in any_name]
        if self.class_lines is not None:
            found.append((self.class_lines.regex, "the classes are taken from it"))
        return found

    @cached_property
    def _label_ids(self) -> dict[str, int]:
        return {label.file_name: number for number, label in self.spec.labels.items()}

    def of(self, path: str) -> Iterator[Claim]:
        """Everything that claims the file."""
        for role, name, pattern in self.patterns:
            read = pattern.match(path)
            if read is not None:
                own = {field: read[field] for field in self.spec.layout.fields if field in read}
                label = self._label_ids[read["label"]] if "label" in read else None
                yield Claim(role, name, read["subject"], read.get("scan"), read.get("root"), label, own)

    def why_ignored(self, path: str) -> str | None:
        """Why a file makes no volume: what is read from it, or the spec's reason to leave it."""
        own = next((why for pattern, why in self.ignored if pattern.match(path) is not None), None)
        beside = next((why for pattern, why in self._beside if pattern.fullmatch(path)), None)
        return self._told_by.get(path) or own or beside

    def expected_path(self, role: Role, name: str, subject: str, scan: RawScanName) -> str:
        """Where a missing file would be, as far as it can be told."""
        texts = [pattern.text for r, n, pattern in self.patterns if (r, n) == (role, name)]
        known = {"subject": subject, "scan": scan.in_paths, **({"root": scan.root} if scan.root else {}), **scan.fields}
        shown = [re.sub(r"\{([a-z_]+)\}", lambda m: known.get(m.group(1), m.group(0)), text) for text in texts]
        return " or ".join(shown)


@dataclass(frozen=True)
class RawScanName:
    """What paths say of a scan."""

    in_paths: str
    root: str
    fields: dict[str, str]
