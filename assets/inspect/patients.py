"""Whose DICOM instances are, as far as their headers and their paths agree on it.

A PatientID may be spelled otherwise in a path than in the header: `ABC-0` in `abc_0_007.dcm`. So both are cut into runs of
letters or digits, and only these are compared.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.grouping import as_regex, regex_of_bare
from assets.inspect.tokens import ending_of
from assets.inspect.who_tables import PeopleRule
from assets.patterns import compile_pattern

_RUN = re.compile(r"[^\W\d_]+|\d+")
_SIGN = re.compile(r"[\W_]")
_MOST_ENDINGS = 8


@dataclass(frozen=True, slots=True)
class Stated:
    """Whose one instance is, by its header.

    Attributes:
        path: The file.
        patient: Its PatientID.
        study: Its StudyInstanceUID.
    """

    path: str
    patient: str
    study: str


@dataclass(frozen=True, slots=True)
class Named:
    """Instances whose paths name the patient in a part of a folder or of a file.

    Attributes:
        patterns: With `{subject}` and `{scan}`.
        subject: Expression of a patient.
        scan: Expression of what stands and lies behind.
        subjects: What `{subject}` reads in every path.
        in_name: Whether the file's name says it, and not a folder.
        evidence: Why.
    """

    patterns: tuple[str, ...]
    subject: str
    scan: str | None
    subjects: tuple[str, ...]
    in_name: bool
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class _Cut:
    """Which runs of a part of the path are the patient's: from `start` on, and as many as `count`, or all but the last `left`."""

    start: int
    count: int | None
    left: int

    def of(self, text: str) -> tuple[str, str, str] | None:
        """What stands before the patient, the patient, and what stands behind; None where there is no such part."""
        runs = list(_RUN.finditer(text))
        end = self.start + self.count if self.count is not None else len(runs) - self.left
        if not self.start < end <= len(runs):
            return None
        first, last = runs[self.start].start(), runs[end - 1].end()
        return text[:first], text[first:last], text[last:]


def told_apart(stated: Sequence[Stated]) -> bool:
    """Whether every header names a patient, and not the same one for all; one patient with one study is a person too."""
    people = {_plain(one.patient) for one in stated}
    if not stated or () in people:
        return False
    return len(people) > 1 or (len({one.study for one in stated}) == 1 and bool(stated[0].study))


def named_in_part(paths: Sequence[str], stated: Sequence[Stated]) -> Named | None:
    """The patient, where a part of a folder's or file's name is the PatientID of every header that was read.

    Args:
        paths: All instances.
        stated: What some headers say.
    """
    if not told_apart(stated):
        return None
    depth = min(path.count("/") for path in paths)
    for level in [*range(depth), -1]:
        for cut in _cuts([(_part(one.path, level), _plain(one.patient)) for one in stated]):
            found = _laid_out(paths, level, cut)
            if found is not None:
                patterns, subject, scan, subjects = found
                where = "beginning" if cut.start == 0 else "part"
                what = "the file's name" if level < 0 else f"folder {level + 1} of the path"
                seen = f"the {where} of {what} is the PatientID of all {len(stated)} headers, but for signs and capitals"
                evidence = Evidence("layout.subject", "person", 0.95, seen)
                return Named(patterns, subject, scan, subjects, level < 0, evidence)
    return None


def _cuts(said: Sequence[tuple[str, tuple[str, ...]]]) -> Iterator[_Cut]:
    """Ways to find the patient in a part of the path that hold for all headers.

    Args:
        said: (the part, the patient's runs).
    """
    runs = [(_plain(text), patient) for text, patient in said]
    for start in range(min(len(own) for own, _ in runs)):
        if start and len({own[:start] for own, _ in runs}) > 1:
            return
        if all(own[start : start + len(patient)] == patient for own, patient in runs):
            counts = {len(patient) for _, patient in runs}
            left = {len(own) - start - len(patient) for own, patient in runs}
            if len(counts) == 1:
                yield _Cut(start, counts.pop(), 0)
            elif len(left) == 1:
                yield _Cut(start, None, left.pop())


def _laid_out(paths: Sequence[str], level: int, cut: _Cut) -> tuple[tuple[str, ...], str, str | None, tuple[str, ...]] | None:
    """Patterns, the expressions of their fields and the subjects; None where the patterns would not read every path so."""
    cuts = [cut.of(_part(path, level)) for path in paths]
    found = [one for one in cuts if one is not None]
    if len(found) < len(paths) or len({before for before, _, _ in found}) > 1:
        return None
    subjects = tuple(subject for _, subject, _ in found)
    sign, scans = _parted([behind + _below(path, level) for (_, _, behind), path in zip(found, paths, strict=True)])
    if (any(scans) and not all(scans)) or len(set(zip(subjects, scans, strict=True))) < len(paths):
        return None
    endings = _endings(paths)
    inside = _literal(found[0][0]) + "{subject}" + (f"{_literal(sign)}{{scan}}" if any(scans) else "")
    patterns = tuple(_above(paths, level) + inside + ending for ending in endings)
    last = regex_of_bare if endings == [""] else as_regex
    scan = "(?:[^/]+/)*[^/.][^/]*" if any("/" in one for one in scans) else last(scans) if any(scans) else None
    subject = as_regex(subjects) if any(scans) else last(subjects)
    return (patterns, subject, scan, subjects) if _reads(patterns, subject, scan, zip(paths, subjects, strict=True)) else None


def _parted(behind: Sequence[str]) -> tuple[str, list[str]]:
    """The sign that stands behind every patient, if it is one, and the rest."""
    signs = {text[0] if _SIGN.match(text) else "" for text in behind}
    sign = signs.pop() if len(signs) == 1 else ""
    return sign, [text[len(sign) :] for text in behind]


def _reads(patterns: Sequence[str], subject: str, scan: str | None, wanted: Iterable[tuple[str, str]]) -> bool:
    compiled = [compile_pattern(pattern, {"subject": subject, "scan": scan or ""}) for pattern in patterns]
    for path, whose in wanted:
        fields = next((read for pattern in compiled if (read := pattern.match(path)) is not None), None)
        if fields is None or fields["subject"] != whose:
            return False
    return True


def _part(path: str, level: int) -> str:
    part = path.split("/")[level]
    return part[: len(part) - len(ending_of(part))] if level < 0 else part


def _below(path: str, level: int) -> str:
    """What lies below a folder, without the ending of all."""
    if level < 0:
        return ""
    rest = "/".join(["", *path.split("/")[level + 1 :]])
    return rest[: len(rest) - len(ending_of(rest))]


def _above(paths: Sequence[str], level: int) -> str:
    split = [path.split("/")[:level] for path in paths]
    if len({len(parts) for parts in split}) > 1:
        return "**/"
    folders = [{parts[n] for parts in split} for n in range(len(split[0]))]
    return "".join((_literal(found.pop()) if len(found) == 1 else "*") + "/" for found in folders)


def _endings(paths: Sequence[str]) -> list[str]:
    endings = sorted({ending_of(path) for path in paths})
    return [""] if "" in endings or len(endings) > _MOST_ENDINGS else endings


def _literal(text: str) -> str:
    """A text of a pattern, in which signs that have a meaning there are any sign."""
    return re.sub(r"[*?{}\\]", "?", text)


def _plain(text: str) -> tuple[str, ...]:
    """Its runs of letters and of digits, whatever the case."""
    return tuple(run.casefold() for run in _RUN.findall(text))


FIELDS = {"patient": "PatientID", "study": "StudyInstanceUID"}
"""Field of a draft that names people -> what it reads in headers."""


def by_header(stated: Sequence[Stated]) -> PeopleRule | Unknown:
    """How headers tell the people of a layout that does not; why they do not.

    Where they name nobody, or all the same, instances of one study are of one person all the same.
    """
    n_files, people = len(stated), {one.patient for one in stated}
    if told_apart(stated) and len(people) > 1:
        seen = f"the PatientID of {n_files} headers that were read names {len(people)} patients as no part of the paths does"
        return PeopleRule({"field": "patient"}, Evidence("people", "PatientID", 0.9, seen))
    why = _why_nobody(stated)
    studies = {one.study for one in stated}
    if "" in studies or not 1 < len(studies) < n_files:
        return Unknown("people", f"{why}; whether two images are of one person is not said")
    seen = f"{why}; images of one study are of one person: {len(studies)} studies"
    rest = Unknown("people", f"{why}; whether two studies are of one person is not said")
    return PeopleRule({"field": "study"}, Evidence("people", "StudyInstanceUID", 0.6, seen), (rest,))


def _why_nobody(stated: Sequence[Stated]) -> str:
    empty = sum(not _plain(one.patient) for one in stated)
    if empty:
        return f"the PatientID is empty in {empty} of {len(stated)} headers that were read"
    told = "for one person or for names that were taken out"
    return f"the PatientID is the same in all {len(stated)} headers that were read, {told}"


def in_folders(stated: Sequence[Stated], level: int, depth: int) -> tuple[int, Evidence] | None:
    """The first folder from a level on in which headers name one patient each, and how sure it is; None where none does.

    Args:
        stated: What some headers say.
        level: Of the outermost folder that differs.
        depth: How many folders all instances lie in.
    """
    if not told_apart(stated):
        return level, Evidence("layout.subject", "folder", 0.5, "the outermost folder that differs")
    for at in range(level, depth):
        whose: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for one in stated:
            whose[tuple(one.path.split("/")[: at + 1])].add(one.patient)
        people = {patient for own in whose.values() for patient in own}
        if any(len(own) > 1 for own in whose.values()):
            continue
        if len(people) == len(whose) > 1:
            seen = f"each folder {at + 1} of the path has a PatientID of its own in {len(stated)} headers"
            return at, Evidence("layout.subject", "person", 0.9, seen)
        return at, Evidence("layout.subject", "folder", 0.5, "the outermost folder in which headers name one patient each")
    return None
