"""DICOM segmentations without the images that they were drawn on: what their segments are, as far as a label map can say it.

Read by its path, a segmentation is a map of the numbers of its segments. So a number must be one structure in all files, or
all segments one structure whatever their numbers are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.peek import MOST_VOXELS
from resources.findings import BadInputError
from resources.readers.dicom.elements import Elements
from resources.readers.registry import open_image
from resources.readers.source import ReadOptions

_LINKS = frozenset(("of", "in", "for", "from", "no", "nr"))
"""Words that belong to the number or person behind them."""

_NUMBER = r"(?<![^\W_])\d+(?![^\W_])"
"""One that is a word of its own; `T7` and `T8` are names."""


_IMAGES = {
    "1.2.840.10008.5.1.4.1.1.2": "CT",
    "1.2.840.10008.5.1.4.1.1.2.1": "CT",
    "1.2.840.10008.5.1.4.1.1.4": "MR",
    "1.2.840.10008.5.1.4.1.1.4.1": "MR",
    "1.2.840.10008.5.1.4.1.1.128": "PET",
    "1.2.840.10008.5.1.4.1.1.130": "PET",
}
"""SOP class of images, and of enhanced ones (PS3.4 B.5) -> their modality."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment, as a header describes it.

    Attributes:
        number: Its number; None where it says none.
        name: What its author called it.
        type: Code of what it is; empty where it says none.
    """

    number: int | None
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """The segments of one file.

    Attributes:
        path: The file.
        patient: Its PatientID.
        segments: Its segments.
        apart: Whether it has one, or says that no two share a voxel.
        on: UIDs of the kinds of images that it refers to.
        shares: Whether it stores how much of a voxel is inside.
    """

    path: str
    patient: str
    segments: tuple[Segment, ...]
    apart: bool
    on: frozenset[str] = frozenset()
    shares: bool = False


@dataclass(frozen=True, slots=True)
class Alone:
    """What segmentations without images are as label maps.

    Attributes:
        labels: Number of a segment -> its name; empty where numbers do not tell structures.
        binary: Whether all segments are one structure.
        modality: Of the images they were drawn on; None where they do not say it, or several.
        evidence: Why.
        unknown: What could not be told.
    """

    labels: Mapping[int, str]
    binary: bool = False
    modality: Evidence | None = None
    evidence: tuple[Evidence, ...] = ()
    unknown: tuple[Unknown, ...] = ()


def drawn_in(path: str, patient: str, elements: Elements) -> Drawn:
    """What the header of a segmentation describes.

    Raises:
        BadInputError: It cannot be read.
    """
    found = []
    for item in elements.items("SegmentSequence"):
        if (number := item.whole("SegmentNumber")) == 0:
            continue  # the background of a label map
        code = item.item("SegmentedPropertyTypeCodeSequence")
        told = "" if code is None else f"{code.text('CodingSchemeDesignator')} {code.text('CodeValue')}".strip()
        found.append(Segment(number, item.text("SegmentLabel").strip(), told))
    stored = elements.text("SegmentationType")
    apart = len(found) < 2 or elements.text("SegmentsOverlap") == "NO" or stored == "LABELMAP"
    series = elements.items("ReferencedSeriesSequence")
    images = [image for one in series for image in one.items("ReferencedInstanceSequence")[:1]]
    images += elements.items("SourceImageSequence")[:1]
    on = frozenset(image.text("ReferencedSOPClassUID") for image in images)
    return Drawn(path, patient, tuple(found), apart, on, stored == "FRACTIONAL")


def as_label_maps(drawn: Sequence[Drawn]) -> Alone:
    """What the segments of all files are.

    Args:
        drawn: What the headers that were read say; one at least.
    """
    drawn_on = _modality(drawn)
    name, sure, seen = _one_structure(drawn)
    doubts = list(_refused(drawn))
    if name:
        answer = Evidence("labels", name, sure, seen)
        return Alone({1: name}, binary=True, modality=drawn_on, evidence=(answer,), unknown=tuple(doubts))
    found = _numbered(drawn)
    if isinstance(found, Unknown):
        return Alone({}, modality=drawn_on, unknown=(found,))
    nameless = [number for number, text in found.items() if not text]
    if nameless:
        doubts.append(Unknown("labels", f"segments {', '.join(map(str, nameless[:12]))} have no name"))
    if _is_counted(list(found.values())):
        doubts.append(Unknown("labels", "names differ in nothing but a number; whether they are one structure is not said"))
    said = {number: text or f"label {number}" for number, text in found.items()}
    answer = Evidence("labels", f"{len(said)} names", 0.8, f"numbers and names of segments, the same in {len(drawn)} headers")
    told = (answer,) if len(nameless) < len(found) else ()
    return Alone(said, modality=drawn_on, evidence=told, unknown=tuple(doubts))


def _refused(drawn: Sequence[Drawn]) -> Iterator[Unknown]:
    """What may be no label map, as far as headers tell."""
    for paths, why in (
        ([one.path for one in drawn if not one.apart], "do not say that no two segments share a voxel; where some do"),
        ([one.path for one in drawn if one.shares], "store shares of voxels; where these are neither 0 nor 1"),
    ):
        if paths:
            seen = f"{len(paths)} of {len(drawn)} segmentations, such as {paths[0]}, {why}"
            yield Unknown("labels", f"{seen}, reading them as label maps is refused")


def _modality(drawn: Sequence[Drawn]) -> Evidence | None:
    """The modality of all images that segmentations refer to."""
    kinds = [{_IMAGES.get(uid, "") for uid in one.on} for one in drawn]
    said = {kind for some in kinds for kind in some}
    if len(said) != 1 or "" in said:
        return None
    count = sum(bool(some) for some in kinds)
    sure = 0.8 if 2 * count >= len(kinds) else 0.5
    return Evidence("modality", said.pop(), sure, f"kind of the images that {count} of {len(kinds)} segmentations refer to")


def _one_structure(drawn: Sequence[Drawn]) -> tuple[str, float, str]:
    """The name of the one structure that all segments are, how sure that is and why; an empty name where they are several."""
    named = [(segment, one.patient) for one in drawn for segment in one.segments]
    names = [segment.name for segment, _ in named]
    if not names or not all(names):
        return "", 0.0, ""
    if len({_plain(name) for name in names}) == 1:
        return names[0], 0.8, f"name of every segment of {len(drawn)} headers"
    if any(len(one.segments) != 1 for one in drawn) or len({segment.type for segment, _ in named}) > 1:
        return "", 0.0, ""
    bare = [_without(segment.name, patient) for segment, patient in named]
    if len({_plain(name) for name in bare}) > 1 or not bare[0]:
        return "", 0.0, ""
    shown = ", ".join(dict.fromkeys(names[:3]))
    return bare[0], 0.6, f"one segment in each of {len(drawn)} headers, and names differ in a number or a person: {shown}"


def _numbered(drawn: Sequence[Drawn]) -> dict[int, str] | Unknown:
    """Number -> name, where every number has one name and every name one number; else why not."""
    numbers: dict[int, tuple[str, str]] = {}
    names: dict[str, int] = {}
    for one in drawn:
        for segment in one.segments:
            if segment.number is None:
                return Unknown("layout.labels", f"a segment of {one.path} has no number")
            before, where = numbers.setdefault(segment.number, (segment.name, one.path))
            other = names.setdefault(_plain(segment.name), segment.number) if segment.name else segment.number
            if _plain(before) != _plain(segment.name) or other != segment.number:
                said = f"segment {segment.number} is called {before!r} in {where} and {segment.name!r} in {one.path}"
                if _plain(before) == _plain(segment.name):
                    said = f"{segment.name!r} is segment {other} and segment {segment.number}, such as in {one.path}"
                return Unknown(
                    "layout.labels", f"{said}; read by path, a segmentation is its segments' numbers, which say no structure"
                )
    if not numbers:
        return Unknown("layout.labels", f"{drawn[0].path} and others describe no segment")
    return {number: name for number, (name, _) in sorted(numbers.items())}


def _is_counted(names: Sequence[str]) -> bool:
    """Whether several names are the same but for a number."""
    bare = {_plain(_without(name, "")) for name in names}
    return len(names) > 1 and len(bare) == 1 and "" not in names


def _without(name: str, patient: str) -> str:
    """A name without numbers and the patient, and without the word that leads to these; all of it where nothing is left out."""
    person = rf"(?<![^\W_]){re.escape(patient)}(?![^\W_])|" if patient else ""
    kept = re.sub(person + _NUMBER, " ", name, flags=re.IGNORECASE)
    if kept == name:
        return name
    spoken = [word for word in re.split(r"[\W_]+", kept) if word]
    while spoken and spoken[-1].lower() in _LINKS:
        spoken.pop()
    return " ".join(spoken)


def _plain(name: str) -> str:
    """A name as it is held against others: its letters and numbers."""
    return " ".join(word for word in re.split(r"[\W_]+", name.casefold()) if word)


def unreadable(root: Path, paths: Sequence[str]) -> tuple[list[str], bool]:
    """Why the first, the middle and the last of some segmentations cannot be read as label maps, and whether none of them can.

    Args:
        root: The folder.
        paths: Segmentations below it.
    """
    some = list(dict.fromkeys((paths[0], paths[len(paths) // 2], paths[-1])))
    troubles = []
    for path in some:
        try:
            image = open_image(root / path, name=path, options=ReadOptions())
            if math.prod(image.shape) <= MOST_VOXELS:
                for _ in image.slabs([(0, image.shape[image.slab_axis])]):
                    pass
        except BadInputError as error:
            troubles.append(str(error))
    return troubles, len(troubles) == len(some)
