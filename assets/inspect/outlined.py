"""What is outlined in DICOM: series as volumes with segmentations or structure sets, and segmentations without images.

A draft takes every instance for a picture, which is how lists of targets name them. Whoever wants volumes with their label maps
is offered that layout instead.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from assets.inspect.candidates import Candidate
from assets.inspect.dicom_sets import DicomSet
from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.roles import Part

_KINDS = {"segmentation": ("seg", "SEG"), "structure set": ("rtstruct", "RTSTRUCT")}
"""Kind of an object -> what the dataset language calls it, and its Modality."""
_WHY = "whole series and what is outlined on them; with several series of a study, `where` must say which is meant"


def as_volumes(instances: DicomSet, labels: Mapping[int, str]) -> Candidate | None:
    """A layout of volumes with label maps; None where nothing is outlined or subjects are no folders.

    Args:
        instances: The instances.
        labels: Label id -> name of what is outlined.
    """
    kinds = Counter(one.kind for one in instances.seen if one.kind in _KINDS)
    tops = {pattern.partition("{subject}")[0] for pattern in instances.patterns}
    if not kinds or not labels or instances.alone or instances.scan is None or len(tops) != 1:
        return None
    kind, modality = _KINDS[kinds.most_common(1)[0][0]]
    studies = _several_studies(instances)
    files = tops.pop() + ("{subject}/{scan}/**" if studies else "{subject}/**")
    outlined: dict[str, Any] = {"dicom": files, "where": {"Modality": modality}, "kind": kind, "of": ["image"]}
    outlined["overlap"] = "lower id wins"
    layout: dict[str, Any] = {
        "subject": instances.subject,
        **({"scan": "[^/]+"} if studies else {}),
        "series": {"image": {"dicom": files, "where": {"Modality": instances.modalities[0]}}},
        "labels": {"outlined": outlined},
        "unlabelled": "leave",
    }
    return Candidate({"layout": layout, "labels": dict(labels)}, _WHY)


def _several_studies(instances: DicomSet) -> bool:
    """Whether somebody has more than one folder in which folders of series lie."""
    level = instances.patterns[0].partition("{subject}")[0].count("/")
    studies: dict[str, set[str]] = defaultdict(set)
    for path in instances.paths:
        parts = path.split("/")
        if len(parts) > level + 3:
            studies[parts[level]].add(parts[level + 1])
    return any(len(found) > 1 for found in studies.values())


def without_pictures(parts: Sequence[Part]) -> tuple[list[Part], list[Unknown]]:
    """The groups of files, those of structure sets, reports and the like as no images; and what that leaves unknown."""
    kinds = {n: {peek.kind for peek in part.peeks if peek.kind} for n, part in enumerate(parts) if part.group.family == "dicom"}
    none = [n for n, found in kinds.items() if found and not found & {"image", "segmentation"}]
    kept = [replace(part, role="other") if n in none else part for n, part in enumerate(parts)]
    said = [(parts[n].group.paths[0], " and ".join(sorted(kinds[n]))) for n in none]
    why = "which cannot be shown without the images that it speaks of"
    return kept, [Unknown("layout", f"{path} and others of its form are DICOM of the kind {kind}, {why}") for path, kind in said]


def labels_alone(instances: DicomSet) -> tuple[dict[int, str], Evidence | Unknown]:
    """Label id -> name, and why, of segmentations without images, whose ids are the numbers of their segments.

    These start with 1 and go up by 1 (DICOM PS3.3, C.8.20.2). Names of the only segment that differ from file to file by a number
    or the patient alone are one.
    """
    segments = [one for one in instances.seen if one.kind == "segmentation" and one.structures]
    if all(len(one.structures) == 1 for one in segments):
        names = {_plain(one.structures[0], one.patient) for one in segments} - {""}
        seen = f"one segment in each of {len(segments)} segmentations, such as {segments[0].structures[0]!r}" if segments else ""
        if len(names) == 1:
            return {1: names.pop()}, Evidence("labels", "1 name", 0.6, seen)
        return {1: "label 1"}, Unknown("labels", f"segments are called {', '.join(sorted(names)[:4]) or 'nothing'}")
    called: dict[int, set[str]] = defaultdict(set)
    for one in segments:
        for number, name in enumerate(one.structures, start=1):
            called[number].add(name)
    if all(len(names) == 1 for names in called.values()):
        said = {number: next(iter(names)) for number, names in called.items()}
        if all(said.values()) and len(set(said.values())) == len(said):
            return said, Evidence("labels", f"{len(said)} names", 0.8, f"names of the segments in {len(segments)} segmentations")
    why = "segments of one number are called otherwise in other files, and no id stands for one structure"
    return {number: f"label {number}" for number in called}, Unknown("labels", why)


def _plain(name: str, patient: str) -> str:
    """A name without the patient and without numbers."""
    bare = name.replace(patient, "") if patient else name
    return re.sub(r"(?: of)?[\W\d_]*$", "", re.sub(r"\d+", "", bare)).strip()
