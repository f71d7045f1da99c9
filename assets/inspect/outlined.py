"""DICOM series as volumes, with the segmentations or structure sets that were drawn on them.

A draft takes every instance for a picture, which is how lists of targets name them, and an outline is of a whole series. Whoever
wants volumes with their label maps is offered this layout instead.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assets.inspect.candidates import Candidate
from assets.inspect.dicom_sets import DicomSet, Seen, headers_of, one_per_folder
from assets.inspect.evidence import Unknown

_KINDS = {"segmentation": ("seg", "SEG"), "structure set": ("rtstruct", "RTSTRUCT")}
"""Kind of an object -> what the dataset language calls it, and its Modality."""
_WHY = "whole series and what is outlined on them; with several series of a study, `where` must say which is meant"
_MOST_LOOKED_AT, _MOST_FILES = 6, 12
"""Patients, or studies of one, that are looked at, and files of each."""
_FEW = 0.5
"""Share of patients with outlines below which these are not what the set is for."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A layout of whole series.

    Attributes:
        candidate: The layout and its labels.
        doubt: Why it may not be read so; empty where everybody that was looked at has one series and one outline of it.
        unknown: Why the draft has no label maps.
    """

    candidate: Candidate
    doubt: str
    unknown: Unknown


def as_volumes(root: Path, instances: DicomSet, labels: Mapping[int, str]) -> Whole | None:
    """A layout of volumes with label maps; None where nothing is outlined on images or every instance is a subject.

    Args:
        root: The folder.
        instances: The instances.
        labels: Label id -> name of what is outlined.
    """
    kinds = Counter(one.kind for one in instances.seen if one.kind in _KINDS)
    below = {pattern.partition("{scan}")[0] for pattern in instances.patterns}
    if not kinds or not labels or instances.alone is not None or instances.scan is None or len(below) != 1:
        return None
    kind = kinds.most_common(1)[0][0]
    studies = _several_studies(instances)
    looked_at = list(_looked_at(root, instances, studies=studies))
    alike = len({one.structures for _, seen in looked_at for one in seen if one.kind == kind}) <= 1
    fields = _fields(instances, labels, below.pop() + ("{scan}/**" if studies else "**"), kind, studies=studies, alike=alike)
    doubt = _doubt(instances, looked_at, kind)
    said = f"a {kind} is of a whole series, and instances are read one by one; the layout that is offered reads its label map"
    unknown = Unknown("layout.labels", "; ".join(filter(None, (said, doubt))))
    return Whole(Candidate(fields, "; ".join((_WHY, *_left_open(labels, kind, alike=alike)))), doubt, unknown)


def _fields(
    instances: DicomSet, labels: Mapping[int, str], files: str, kind: str, *, studies: bool, alike: bool
) -> dict[str, Any]:
    word, modality = _KINDS[kind]
    outlined: dict[str, Any] = {"dicom": files, "where": {"Modality": modality}, "kind": word, "of": ["image"]}
    outlined |= {"overlap": "lower id wins"} | ({} if alike else {"others": "leave"})
    layout: dict[str, Any] = {
        "subject": instances.subject,
        **({"scan": "[^/]+"} if studies else {}),
        "series": {"image": {"dicom": files, "where": {"Modality": instances.modalities[0]}}},
        "labels": {"outlined": outlined},
        "unlabelled": "leave",
    }
    return {"layout": layout, "labels": dict(labels)}


def _left_open(labels: Mapping[int, str], kind: str, *, alike: bool) -> Iterator[str]:
    """What the layout decides although nothing says it."""
    if len(labels) > 1:
        yield "the lower id counts where two structures meet"
    if not alike:
        yield f"each {kind} has other names, and structures that no header named that was read are left out"


def _doubt(instances: DicomSet, looked_at: Sequence[tuple[Sequence[str], Sequence[Seen]]], kind: str) -> str:
    """Why it is not sure which series is outlined; empty where everybody has one."""
    if instances.share < _FEW or not looked_at:
        return f"{instances.share:.0%} of the patients have outlines"
    if len(instances.modalities) > 1:
        return f"there are images of {', '.join(instances.modalities)}"
    for _, seen in looked_at:
        series = {dict(one.uids)["SeriesInstanceUID"] for one in seen if one.kind == "image"}
        drawn = [one.path for one in seen if one.kind == kind]
        if len(series) > 1:
            return f"there are {len(series)} series beside one another, such as that of {seen[0].path}"
        if len(drawn) > 1:
            return f"there are {len(drawn)} objects of that kind beside one another, such as {drawn[0]}"
    return ""


def _looked_at(root: Path, instances: DicomSet, *, studies: bool) -> Iterator[tuple[Sequence[str], Sequence[Seen]]]:
    """Of some that are to be one scan the files and some of their headers; those without outlines are left out."""
    level = instances.patterns[0].partition("{subject}")[0].count("/")
    scans: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path, subject in zip(instances.paths, instances.subjects, strict=True):
        scans[subject, path.split("/")[level + 1] if studies else ""].append(path)
    known = {one.path: one for one in instances.seen}
    keys = sorted(scans)
    for key in keys[:: max(1, len(keys) // _MOST_LOOKED_AT)][:_MOST_LOOKED_AT]:
        chosen = one_per_folder(scans[key], _MOST_FILES)
        seen = [*(known[path] for path in scans[key] if path in known)]
        seen += headers_of(root, (path for path in chosen if path not in known))
        if any(one.kind in _KINDS for one in seen):
            yield scans[key], seen


def _several_studies(instances: DicomSet) -> bool:
    """Whether somebody has more than one folder in which folders of series lie."""
    if "{subject}/{scan}" not in instances.patterns[0]:
        return False
    level = instances.patterns[0].partition("{subject}")[0].count("/")
    studies: dict[str, set[str]] = defaultdict(set)
    for path in instances.paths:
        parts = path.split("/")
        if len(parts) > level + 3:
            studies[parts[level]].add(parts[level + 1])
    return any(len(found) > 1 for found in studies.values())
