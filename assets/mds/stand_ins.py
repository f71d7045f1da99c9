"""What is shown for a target that has no pixels of its own, such as a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from assets.mds.target import Target
from assets.patterns import Pattern, compile_pattern
from assets.raw.claims import Claims
from assets.spec import DatasetSpec
from assets.spec_mds import Mds


@dataclass(frozen=True)
class StandIns:
    """Finds the image or label map that is shown in the place of another file.

    Attributes:
        rules: Pattern of such a file, and of the one that is shown.
        marked: File that marks objects -> subject, scan and series of the first image it marks.
        candidates: Every image and label map.
    """

    rules: tuple[tuple[Pattern, Pattern], ...]
    marked: Mapping[str, tuple[str, str, str]]
    candidates: tuple[Target, ...]

    @classmethod
    def of(cls, spec: DatasetSpec, mds: Mds, objects: pl.DataFrame | None, candidates: Iterable[Target]) -> StandIns:
        """From the spec's rules and the table of marked objects."""
        fields = Claims(spec).fields
        rules = [(compile_pattern(a, fields), compile_pattern(b, fields)) for a, b in mds.instead.items()]
        return cls(tuple(rules), _marked_by(objects), tuple(candidates))

    def for_file(self, path: str) -> list[Target]:
        """What is shown for a file: one target, or none, or several when it cannot be told which; `path` is that of the file."""
        for pattern, shown in self.rules:
            fields = pattern.match(path)
            if fields is not None:
                return [target for target in self.candidates if _agrees(shown.match(target.path), fields)]
        if path in self.marked:
            return [t for t in self.candidates if t.role == "series" and (t.subject, t.scan, t.name) == self.marked[path]]
        return []


def _agrees(read: Mapping[str, str] | None, fields: Mapping[str, str]) -> bool:
    return read is not None and all(fields.get(name, value) == value for name, value in read.items())


def _marked_by(objects: pl.DataFrame | None) -> dict[str, tuple[str, str, str]]:
    """`source` of an object is its file and, behind a comma, its place in it."""
    found: dict[str, tuple[str, str, str]] = {}
    if objects is not None:
        for subject, scan, series, source in objects.select("subject", "scan", "series", "source").iter_rows():
            found.setdefault(source.rpartition(", ")[0], (subject, scan, series))
    return found
