"""Chooses whole DICOM series and annotations by what their headers say; every file gets its place or a reason.

Neither the names nor the folders of files count, beyond the pattern that says where to look.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from assets.raw.claims import Claim
from assets.spec_layout import LabelsSource, SeriesSource
from resources.findings import Code, Finding, Severity, finding
from resources.readers.dicom.kinds import Identity

Name = tuple[str, str]
"""Role and name, such as `("image", "t2")`."""

_KINDS = {"seg": "segmentation", "rtstruct": "structure set"}


@dataclass(frozen=True)
class Candidate:
    """A DICOM file of a scan that some pattern covers.

    Attributes:
        path: Relative to the raw folder.
        claims: (Role, name) -> the claim of that pattern.
        identity: What its header says.
    """

    path: str
    claims: Mapping[Name, Claim]
    identity: Identity


@dataclass
class Choice:
    """What is taken of the files of one scan.

    Attributes:
        taken: (Role, name) -> the files of the one series, or the annotation, that fits.
        contested: (Role, name) -> files that stay the subject's though none can be taken: several fit, or nothing does.
        ambiguous: (Role, name) of which several fit.
        reasons: Path -> why the file is not used.
        unreadable: Files of which nobody can tell whether a series lacks them.
        findings: What is wrong.
    """

    taken: dict[Name, tuple[Candidate, ...]] = field(default_factory=dict)
    contested: dict[Name, tuple[Candidate, ...]] = field(default_factory=dict)
    ambiguous: set[Name] = field(default_factory=set)
    reasons: dict[str, str] = field(default_factory=dict)
    unreadable: tuple[Candidate, ...] = ()
    findings: list[Finding] = field(default_factory=list)

    def used(self) -> dict[str, Claim]:
        """Path -> what the file is for, of every file that is the subject's, usable or not."""
        found = {c.path: next(iter(c.claims.values())) for c in self.unreadable}
        for chosen in (self.contested, self.taken):
            found |= {c.path: c.claims[name] for name, files in chosen.items() for c in files}
        return found


def choose(sources: Mapping[Name, SeriesSource | LabelsSource], files: Sequence[Candidate]) -> Choice:
    """Choose among the DICOM files of one scan.

    Args:
        sources: What the spec asks for; images come before label maps, which are `of` them.
        files: The files, in order of their paths.
    """
    problems = {c.path: problem for c in files if (problem := _problem(c, files)) is not None}
    choice = Choice(unreadable=tuple(c for c in files if c.path in problems), findings=list(problems.values()))
    asked = _Asked(choice)
    for name, source in sources.items():
        fitting = [c for c in files if name in c.claims and c.identity.kind == _kind(source) and source.fits(c.identity.values)]
        if isinstance(source, LabelsSource):
            asked.take(name, source, _of_chosen(source, [(c,) for c in fitting], choice))
        else:
            asked.take(name, source, _series(fitting))
    if not choice.used():
        _keep_all(choice, files)
    used = choice.used()
    left = [c for c in files if c.path not in used]
    choice.reasons |= {c.path: asked.reasons.get(c.path) or _reason(c, sources) for c in left}
    choice.findings += _parted(choice, left)
    return choice


def _problem(file: Candidate, files: Sequence[Candidate]) -> Finding | None:
    """Why nobody can tell to which series a file belongs, or what it lacks of one."""
    identity = file.identity
    if identity.kind != "other":
        return identity.problem
    if not identity.key.series_uid:
        detail = "truncated: the header ends before it says to which series the file belongs; download it again"
        return finding(Code.TRUNCATED, detail, file=file.path)
    if any(c.identity.key == identity.key and c.identity.kind == "image" for c in files):
        detail = f"truncated: other files of {_called(file)} have pixels, this one has none; download it again"
        return finding(Code.TRUNCATED, detail, file=file.path)
    return None


@dataclass
class _Asked:
    """Takes what fits a source, if it is one."""

    choice: Choice
    reasons: dict[str, str] = field(default_factory=dict)

    def take(self, name: Name, source: SeriesSource | LabelsSource, groups: Sequence[tuple[Candidate, ...]]) -> None:
        if len(groups) > 1 and source.several != "error":
            groups = self._first(name, source, groups)
        if len(groups) == 1:
            self.choice.taken[name] = groups[0]
        elif groups:
            self.choice.ambiguous.add(name)
            self.choice.contested[name] = tuple(c for group in groups for c in group)
            shown = "; ".join(f"{_called(g[0])} ({len(g)} files, {g[0].path} is one)" for g in groups[:4])
            detail = f"{len(groups)} fit {name[1]}: {shown}; let `where` tell them apart, or say with `several` which counts"
            self.choice.findings.append(finding(Code.AMBIGUOUS_FILE, detail, file=groups[0][0].path))

    def _first(
        self, name: Name, source: SeriesSource | LabelsSource, groups: Sequence[tuple[Candidate, ...]]
    ) -> Sequence[tuple[Candidate, ...]]:
        numbers = [group[0].identity.key.number for group in groups]
        if not all(number.lstrip("+-").isdecimal() for number in numbers):
            return groups
        best = (min if source.several.startswith("lowest") else max)(map(int, numbers))
        for group, number in zip(groups, numbers, strict=True):
            if int(number) != best:
                reason = f"{_called(group[0])} fits {name[1]} too: of several, the {source.several} is taken"
                self.reasons.update(dict.fromkeys((c.path for c in group), reason))
        return [group for group, number in zip(groups, numbers, strict=True) if int(number) == best]


def _kind(source: SeriesSource | LabelsSource) -> str:
    return _KINDS[source.kind or "seg"] if isinstance(source, LabelsSource) else "image"


def _series(files: Iterable[Candidate]) -> list[tuple[Candidate, ...]]:
    groups: dict[object, list[Candidate]] = defaultdict(list)
    for file in files:
        groups[file.identity.key].append(file)
    return [tuple(group) for group in groups.values()]


def _of_chosen(source: LabelsSource, groups: Sequence[tuple[Candidate, ...]], choice: Choice) -> Sequence[tuple[Candidate, ...]]:
    """Of several annotations those that were drawn on a series that is taken; all, if none says so."""
    series = {c.identity.key.series_uid for name in source.of or () for c in choice.taken.get(("image", name), ())}
    drawn = [group for group in groups if series & set(group[0].identity.refers_to)]
    return drawn or groups


def _keep_all(choice: Choice, files: Sequence[Candidate]) -> None:
    """Nothing fits: the files stay the subject's, so that it is listed, and looked at again when one of them changes."""
    images = [c for c in files if c.identity.kind == "image"] or files
    for candidate in images:
        name = next(iter(candidate.claims))
        choice.contested[name] = (*choice.contested.get(name, ()), candidate)


def _parted(choice: Choice, left: Sequence[Candidate]) -> Iterable[Finding]:
    """A word on every series of which only some files fit."""
    for name, files in choice.taken.items():
        key = files[0].identity.key
        others = [c for c in left if name[0] == "image" and c.identity.key == key and c.identity.kind == "image"]
        if others:
            detail = (
                f"{len(others)} files of {_called(files[0])} are left out: their headers do not fit {name[1]} as {len(files)} do"
            )
            yield finding(Code.MIXED_SERIES, detail, file=others[0].path, severity=Severity.WARNING)


def _reason(file: Candidate, sources: Mapping[Name, SeriesSource | LabelsSource]) -> str:
    """Why a file that nothing takes is not used."""
    identity = file.identity
    if identity.kind == "image":
        return f"{_called(file)}, is not asked for"
    if identity.kind == "directory":
        return "a DICOM directory: the list of a medium's files"
    modality = identity.key.modality or "no modality"
    if any(_kind(source) == identity.kind for source in sources.values()):
        return f"{_called(file)}: a DICOM {identity.kind} that is not asked for"
    told = {"segmentation": "segmentation", "structure set": "structure set", "report": "report"}.get(identity.kind, "object")
    return f"a DICOM {told} ({modality}), no image"


def _called(file: Candidate) -> str:
    """How people know a series."""
    key, description = file.identity.key, file.identity.description
    number = f"series {key.number}" if key.number else "a series without number"
    return ", ".join(part for part in (number, description) if part) + f" ({key.modality or 'no modality'})"
