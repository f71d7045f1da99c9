"""Folders of DICOM instances: who the patients are, what kinds of objects there are, and which structures are outlined."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path, PurePosixPath

from assets.inspect.circumstances import circumstance_of, told_of_folders
from assets.inspect.classes import ClassRule, trust_in
from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.grouping import as_regex, regex_of_bare
from assets.inspect.only_objects import Untold, of_objects, of_segmentations
from assets.inspect.patients import Stated, by_header, in_folders, named_in_part
from assets.inspect.segments import Alone, Drawn, as_label_maps, drawn_in, unreadable
from assets.inspect.tokens import ending_of
from assets.inspect.who_tables import PeopleRule
from assets.templates import stem
from resources.findings import BadInputError
from resources.readers.dicom.door import sniff
from resources.readers.dicom.files import identified
from resources.readers.dicom.headers import read_header
from resources.readers.source import examine

MOST_OPENED = 36
"""Instances whose headers are read: one of every series as far as that goes; as many again where none of these is an image."""

_MOST_ENDINGS = 8
"""More endings than these are parts of names."""

_OUTLINES = frozenset(("segmentation", "structure set"))


@dataclass(frozen=True, slots=True)
class Seen:
    """What the header of one instance says.

    Attributes:
        path: The file.
        kind: What the object is.
        modality: E.g. `CT`.
        patient: Its PatientID; used to find the folder of a patient, and not kept.
        structures: Names of its segments or regions.
        uids: DICOM keyword -> UID of the study, series and instance.
        description: Of its series.
        drawn: The segments of a segmentation.
    """

    path: str
    kind: str
    modality: str
    patient: str
    structures: tuple[str, ...]
    uids: tuple[tuple[str, str], ...] = ()
    description: str = ""
    drawn: Drawn | None = None


@dataclass(frozen=True, slots=True)
class DicomSet:
    """A layout of instances.

    Attributes:
        patterns: With `{subject}` and, where there is more below a patient, `{scan}`.
        subject: Expression of a patient.
        scan: Expression of what lies below, None where nothing does.
        modalities: Of the images, most frequent first.
        structures: Names of outlined structures.
        outlined: Whether there are segmentations or structure sets.
        share: Share of the patients seen that have one.
        seen: Headers that were read.
        classes: Folders that name a class.
        subjects: What `{subject}` reads in every path.
        paths: All instances, as their names suggest.
        evidence: Why.
        unknown: What could not be told.
        alone: What segmentations are that have no images and stand for these too.
        people: How headers tell the person, where paths do not.
    """

    patterns: tuple[str, ...]
    subject: str
    scan: str | None
    modalities: tuple[str, ...]
    structures: tuple[str, ...]
    outlined: bool
    classes: ClassRule | None
    subjects: tuple[str, ...]
    paths: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    unknown: tuple[Unknown, ...]
    share: float = 1.0
    seen: tuple[Seen, ...] = ()
    alone: Alone | None = None
    people: PeopleRule | None = None


def dicom_set(root: Path, paths: Sequence[str], *, others: bool = False) -> DicomSet | Untold | None:
    """The layout of instances.

    Segmentations without an image among the instances are read as images and as label maps, which are then all there is to see.

    Args:
        root: The folder.
        paths: The instances below it.
        others: Whether there are images in other formats, on which segmentations may have been drawn.

    Returns:
        The layout; why there is none, where headers say it; None when no header can be read or there are images elsewhere.
    """
    seen = _seen(root, paths)
    images = [one for one in seen if one.kind == "image"]
    drawn = [] if images else [one for one in seen if one.drawn is not None]
    if not images and (not drawn or others):
        return of_objects([(one.kind, one.structures) for one in seen]) if seen and not drawn else None
    troubles, hopeless = unreadable(root, [one.path for one in drawn]) if drawn else ([], False)
    if hopeless:
        return of_segmentations(troubles[0])
    found = _laid_out(paths, seen, images or drawn)
    return found if images else _standing_alone(found, drawn, troubles)


def _seen(root: Path, paths: Sequence[str]) -> list[Seen]:
    """Headers of some instances; of others too where there is no image among these, chosen by no order that names may have."""
    chosen = one_per_folder(paths)
    seen = list(headers_of(root, chosen))
    if any(one.kind == "image" for one in seen):
        return seen
    left = sorted(set(paths) - set(chosen), key=lambda path: blake2b(path.encode(), digest_size=8).digest())
    return seen + list(headers_of(root, left[:MOST_OPENED]))


def _standing_alone(found: DicomSet, drawn: Sequence[Seen], troubles: Sequence[str]) -> DicomSet:
    """The layout of segmentations that have no images, with what their segments are."""
    alone = as_label_maps([one.drawn for one in drawn if one.drawn is not None])
    why = f"none of {len(found.seen)} headers that were read is of an image; segmentations stand as images too"
    doubts = [Unknown("layout.series", why), *(Unknown("layout", text) for text in troubles)]
    return replace(found, alone=alone, share=1.0, unknown=(*found.unknown, *doubts))


def _laid_out(paths: Sequence[str], seen: Sequence[Seen], images: Sequence[Seen]) -> DicomSet:
    """The layout of instances, some of which are images or stand for these."""
    stated = [Stated(one.path, one.patient, dict(one.uids).get("StudyInstanceUID", "")) for one in seen]
    place = _place(paths, seen, stated)
    rule = None if place.folder_is_patient else _class_folders(paths)
    if rule is not None and not place.file_is_patient:
        place = _standing_for_itself(paths, min(len(_parts(path)) for path in paths) - 2)
    evidence = [place.evidence] if place.evidence is not None else []
    people = None if place.evidence is not None and place.evidence.confidence >= 0.9 else by_header(stated)
    modalities = tuple(name for name, _ in Counter(one.modality for one in images).most_common())
    structures = tuple(sorted({name for one in seen for name in one.structures if name}))
    outlined = any(one.kind in _OUTLINES for one in seen)
    if outlined:
        kinds = Counter(one.kind for one in seen)
        evidence.append(Evidence("role", "outlines", 0.9, ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())))
    return DicomSet(
        place.patterns,
        place.subject,
        place.scan,
        modalities,
        structures,
        outlined,
        rule,
        place.subjects,
        tuple(paths),
        tuple(evidence),
        (
            *((people,) if isinstance(people, Unknown) else ()),
            *told_of_folders([sorted({name for path in paths for name in _parts(path)[-2:-1]})]),
        ),
        _share(seen) if len(_folders(paths)) <= MOST_OPENED else 1.0,
        tuple(seen),
        people=people if isinstance(people, PeopleRule) else None,
    )


def _share(seen: Sequence[Seen]) -> float:
    """Share of the patients with images that have something outlined."""
    imaged = {one.patient for one in seen if one.kind == "image"}
    return len(imaged & {one.patient for one in seen if one.kind in _OUTLINES}) / max(1, len(imaged))


def _folders(paths: Sequence[str]) -> set[str]:
    return {str(PurePosixPath(path).parent) for path in paths}


def _class_folders(paths: Sequence[str]) -> ClassRule | None:
    """Folders of instances whose names are words, of which a set has few."""
    split = [_parts(path) for path in paths]
    if len({len(parts) for parts in split}) > 1 or len(split[0]) < 2:
        return None
    names = sorted({parts[-2] for parts in split})
    if not 2 <= len(names) <= 12 or 2 * len(names) > len(paths) or any(letter.isdigit() for name in names for letter in name):
        return None
    seen = f"instances lie in folders called {', '.join(names)}"
    return None if circumstance_of(names) else ClassRule(tuple(names), Evidence("classes", "folder", trust_in(names), seen))


def spoken_of(instances: DicomSet, names: AbstractSet[str]) -> DicomSet:
    """The instances without those of folders of which a table names nothing, such as those for testing.

    Args:
        instances: A layout where `{subject}` is the file's name; others are left as they are.
        names: What the table names.
    """
    if instances.scan is not None or not set(instances.subjects) & names:
        return instances
    level = len(_parts(instances.paths[0])) - 1
    tops: dict[tuple[str, ...], list[str]] = {}
    for path, subject in zip(instances.paths, instances.subjects, strict=True):
        tops.setdefault(tuple(_parts(path)[:-1]), []).append(subject)
    kept = {folder for folder, subjects in tops.items() if set(subjects) & names}
    chosen = [n for n, path in enumerate(instances.paths) if tuple(_parts(path)[:-1]) in kept]
    paths = tuple(instances.paths[n] for n in chosen)
    patterns, subjects, _ = _patterns(paths, level)
    subject = _expression(patterns, subjects)
    return replace(instances, patterns=patterns, subjects=tuple(subjects), subject=subject, paths=paths)


def _are_bare(patterns: Sequence[str]) -> bool:
    """Whether names are read without an ending, and might be those of other files."""
    return any(pattern.endswith("}") for pattern in patterns)


def one_per_folder(paths: Sequence[str], most: int = MOST_OPENED) -> list[str]:
    """One instance of every folder, of all of them in turn when the folders are few; others spread over the set."""
    firsts = list({str(PurePosixPath(path).parent): path for path in reversed(paths)}.values())[::-1]
    chosen = firsts[:: max(1, len(firsts) // most)][:most]
    left = most - len(chosen)
    others = sorted(set(paths) - set(chosen))
    return chosen + [others[n * len(others) // left] for n in range(left)] if left < len(others) else chosen + others


def headers_of(root: Path, paths: Iterable[str]) -> Iterator[Seen]:
    """What the headers of instances say; those that cannot be read are left out."""
    for path in paths:
        try:
            file = examine(root / path, path)
            if not sniff(file.head):
                continue
            header = read_header(file)
            named = identified(header)
            elements = header.elements
            items = [(elements.items("SegmentSequence"), "SegmentLabel"), (elements.items("StructureSetROISequence"), "ROIName")]
            structures = tuple(item.text(keyword) for found, keyword in items for item in found)
            drawn = drawn_in(path, named.patient_id, elements) if named.kind == "segmentation" else None
        except BadInputError:
            continue
        uids = (
            ("SOPInstanceUID", named.sop_uid),
            ("SeriesInstanceUID", named.key.series_uid),
            ("StudyInstanceUID", named.key.study_uid),
            ("PatientID", named.patient_id),
        )
        described = elements.text("SeriesDescription").strip()
        yield Seen(path, named.kind, named.key.modality, named.patient_id, structures, uids, described, drawn)


@dataclass(frozen=True, slots=True)
class _Place:
    """How instances are keyed.

    Attributes:
        patterns: With `{subject}` and, where there is more below, `{scan}`.
        subject: Expression of a subject.
        scan: Expression of what lies below.
        subjects: What `{subject}` reads in every path.
        evidence: Why; None where every instance stands for itself.
        file_is_patient: Whether the file's name says the patient.
    """

    patterns: tuple[str, ...]
    subject: str
    scan: str | None
    subjects: tuple[str, ...]
    evidence: Evidence | None = None
    file_is_patient: bool = False

    @property
    def folder_is_patient(self) -> bool:
        """Whether a folder surely says the patient."""
        return self.evidence is not None and self.evidence.confidence > 0.9 and not self.file_is_patient


def _place(paths: Sequence[str], seen: Sequence[Seen], stated: Sequence[Stated]) -> _Place:
    """Where the patient stands in the paths; else the folder of one, or every instance by itself."""
    levels = Counter(
        level for one in seen if one.patient for level, name in enumerate(_parts(one.path)) if one.patient in (name, stem(name))
    )
    if levels and levels.most_common(1)[0][1] >= 0.5 * len(seen):
        level = levels.most_common(1)[0][0]
        what = "the file's name" if all(len(_parts(one.path)) == level + 1 for one in seen) else f"folder {level + 1} of the path"
        text = f"{what} is the PatientID in {levels[level]} of {len(seen)} headers"
        return _at(paths, level, Evidence("layout.subject", "person", 0.95, text))
    if (named := named_in_part(paths, stated)) is not None:
        return _Place(named.patterns, named.subject, named.scan, named.subjects, named.evidence, named.in_name)
    split = [_parts(path) for path in paths]
    depth = min(map(len, split)) - 1
    level = next((n for n in range(depth) if len({parts[n] for parts in split}) > 1), depth)
    if level < depth and (found := in_folders(stated, level, depth)) is not None:
        return _at(paths, *found)
    return _standing_for_itself(paths, level)


def _at(paths: Sequence[str], level: int, evidence: Evidence) -> _Place:
    """The names of one level are subjects."""
    patterns, subjects, deeper = _patterns(paths, level)
    last = regex_of_bare(_parts(path)[-1] for path in paths) if _are_bare(patterns) else "[^/.][^/]*"
    scan = f"(?:[^/]+/)*{last}" if deeper else None
    return _Place(patterns, _expression(patterns, subjects, deeper=deeper), scan, tuple(subjects), evidence)


def _standing_for_itself(paths: Sequence[str], level: int) -> _Place:
    """Every instance is called by its path from a level on."""
    patterns, subjects, _ = _patterns(paths, level, whole=True)
    return _Place(patterns, _expression(patterns, subjects), None, tuple(subjects))


def _expression(patterns: Sequence[str], subjects: Sequence[str], *, deeper: bool = False) -> str:
    return as_regex(subjects) if deeper or not _are_bare(patterns) else regex_of_bare(subjects)


def _parts(path: str) -> list[str]:
    return path.split("/")


def _patterns(paths: Sequence[str], level: int, *, whole: bool = False) -> tuple[tuple[str, ...], list[str], bool]:
    """The patterns, the names of the subjects, and whether anything lies below them; `whole` takes all from a level on as one."""
    split = [parts for path in paths if len(parts := _parts(path)) > level]
    if whole:
        split = [[*parts[:level], "/".join(parts[level:])] for parts in split]
    above = []
    for n in range(level):
        folders = {parts[n] for parts in split}
        above.append(re.sub(r"[*?{}\\]", "?", folders.pop()) if len(folders) == 1 else "*")
    endings = sorted({ending_of(parts[-1]) for parts in split})
    if "" in endings or len(endings) > _MOST_ENDINGS:
        endings = [""]
    deeper = any(len(parts) > level + 1 for parts in split)
    below = ["{subject}", "{scan}"] if deeper else ["{subject}"]
    patterns = tuple("/".join([*above, *below]) + ending for ending in endings)
    bare = deeper or endings == [""]
    names = [parts[level] if bare else parts[level][: len(parts[level]) - len(ending_of(parts[level]))] for parts in split]
    return patterns, names, deeper
