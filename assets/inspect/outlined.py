"""DICOM series as volumes, with the segmentations or structure sets that were drawn on them: another layout of such a folder.

A draft takes every instance for a picture, which is how lists of targets name them. Whoever wants volumes with their label maps
is offered this layout instead.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from assets.inspect.candidates import Candidate
from assets.inspect.dicom_sets import DicomSet

_KINDS = {"segmentation": ("seg", "SEG"), "structure set": ("rtstruct", "RTSTRUCT")}
"""Kind of an object -> what the dataset language calls it, and its Modality."""
_WHY = "whole series and what is outlined on them; with several series of a study, `where` must say which is meant"


def as_volumes(instances: DicomSet, labels: Mapping[int, str]) -> Candidate | None:
    """A layout of volumes with label maps; None where nothing is outlined or every instance is a subject.

    Args:
        instances: The instances.
        labels: Label id -> name of what is outlined.
    """
    kinds = Counter(one.kind for one in instances.seen if one.kind in _KINDS)
    below = {pattern.partition("{scan}")[0] for pattern in instances.patterns}
    if not kinds or not labels or instances.scan is None or len(below) != 1:
        return None
    kind, modality = _KINDS[kinds.most_common(1)[0][0]]
    studies = _several_studies(instances)
    files = below.pop() + ("{scan}/**" if studies else "**")
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
    if "{subject}/{scan}" not in instances.patterns[0]:
        return False
    level = instances.patterns[0].partition("{subject}")[0].count("/")
    studies: dict[str, set[str]] = defaultdict(set)
    for path in instances.paths:
        parts = path.split("/")
        if len(parts) > level + 3:
            studies[parts[level]].add(parts[level + 1])
    return any(len(found) > 1 for found in studies.values())
