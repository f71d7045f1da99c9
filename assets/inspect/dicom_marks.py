"""Where objects in DICOM images are marked: in reports, or in files called by a UID or a patient."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from assets.inspect.dicom_sets import DicomSet
from assets.inspect.evidence import Evidence
from assets.inspect.marks import glob_of, marked_in, marks_regions
from assets.inspect.objects import ObjectRule
from assets.inspect.roles import Part
from assets.templates import stem

_ENOUGH, _MOST_REPORTS = 0.5, 6


def in_reports(root: Path, instances: DicomSet) -> ObjectRule | None:
    """Reports that mark regions in images."""
    reports = [one.path for one in instances.seen if one.kind == "report"]
    marking = [path for path in reports[:_MOST_REPORTS] if marks_regions(root, path)]
    if not marking or 2 * len(marking) < len(reports[:_MOST_REPORTS]):
        return None
    pattern = glob_of(reports)
    if not pattern or any(fnmatchcase(one.path, pattern) for one in instances.seen if one.kind != "report"):
        return None
    seen = f"{len(marking)} reports that were opened mark regions in images, such as {marking[0]}"
    tags = (("instance_uid", "SOPInstanceUID"),)
    return ObjectRule(
        None, "ReferencedSOPInstanceUID", "sr", (), "", Evidence("objects", "sr", 0.85, seen), (pattern,), tags=tags
    )


def in_files(root: Path, instances: DicomSet, parts: Sequence[Part]) -> ObjectRule | None:
    """Files that mark objects and are called as a header of an image says."""
    for part in parts:
        if part.role != "text" or (marked := marked_in(root, part.group.paths)) is None:
            continue
        for number, (keyword, _) in enumerate(instances.seen[0].uids if instances.seen else ()):
            said = {one.uids[number][1] for one in instances.seen if one.kind == "image"}
            own = {stem(path.rpartition("/")[2]) for path in part.group.paths}
            if len(said & own) < max(1.0, _ENOUGH * min(len(said), len(own))):
                continue
            folder, _, name = part.group.paths[0].rpartition("/")
            path = "/".join(filter(None, (folder, "{mark}" + name[len(stem(name)) :])))
            seen = f"{part.group.paths[0]} marks objects and is called as {keyword} says"
            evidence = Evidence("objects", marked.format, 0.85, seen)
            return ObjectRule(None, "", marked.format, (), "", evidence, (path,), marked.names, (("mark", keyword),))
    return None
