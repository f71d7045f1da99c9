"""Structured reports: the measurements and coded statements of a DICOM SR (TID 1500 and its like).

A measurement group of TID 1500 says of one thing (a lesion, followed by its tracking identifier) where it is, what it is and
what was measured. Reports of other templates are read too: their numbers then belong to no group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from resources.findings import Code
from resources.readers.dicom.concepts import Concept, read_concept
from resources.readers.dicom.elements import Elements, quiet
from resources.readers.dicom.files import identified
from resources.readers.dicom.headers import read_header
from resources.readers.source import examine

MAX_DEPTH = 64
"""No report nests deeper."""

_GROUP = "125007"  # Measurement Group, DCM
_TRACKING_ID = "112039"
_TRACKING_UID = "112040"
_FINDING = frozenset({"121071"})
_SITE = frozenset({"363698007", "G-C0E3"})


@dataclass(frozen=True, slots=True)
class Measurement:
    """One number.

    Attributes:
        name: What was measured.
        value: The number.
        unit: Its unit; `None` when the report states none.
        modifiers: Other coded statements about it, such as the method: name and value.
    """

    name: Concept
    value: float
    unit: Concept | None
    modifiers: tuple[tuple[Concept, Concept], ...]


@dataclass(frozen=True, slots=True)
class Region:
    """A region marked in an image (SCOORD) or in the patient (SCOORD3D).

    Attributes:
        kind: POINT, MULTIPOINT, POLYLINE, POLYGON, CIRCLE, ELLIPSE, ELLIPSOID.
        points: Column and row of each point in the image, or x, y, z in LPS mm where `in_patient`. As DICOM counts them
            (PS3.3 C.18.6.1.1): the image begins at 0, 0, the upper left corner of its first pixel, whose centre is 0.5, 0.5.
        in_patient: Whether the points are in the patient.
    """

    kind: str
    points: tuple[tuple[float, ...], ...]
    in_patient: bool


@dataclass(frozen=True, slots=True)
class MeasurementGroup:
    """What a report says of one thing.

    Attributes:
        tracking_id: What people call it.
        tracking_uid: Identifies it in all reports and segmentations.
        finding: What it is.
        site: Where it is.
        measurements: Its numbers.
        evaluations: Its coded statements: name and value.
        image_uids: Images (or segmentations) it refers to.
        regions: Where it was marked.
    """

    tracking_id: str
    tracking_uid: str
    finding: Concept | None
    site: Concept | None
    measurements: tuple[Measurement, ...]
    evaluations: tuple[tuple[Concept, Concept], ...]
    image_uids: tuple[str, ...]
    regions: tuple[Region, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """The measurements of a report.

    Attributes:
        title: What kind of report it is.
        complete: Whether it is marked as complete.
        groups: Its measurement groups, in order; a last one without identifiers for numbers outside of all groups.
    """

    title: Concept | None
    complete: bool
    groups: tuple[MeasurementGroup, ...]


@dataclass(frozen=True, slots=True)
class _Node:
    """One content item."""

    type: str
    name: Concept
    item: Elements
    children: tuple[_Node, ...]


def read_sr_measurements(path: Path, *, name: str | None = None) -> Report:
    """Read the measurements and coded statements of a structured report.

    Raises:
        BadInputError: It is no report, or damaged.
    """
    source = examine(path, name or path.name)
    with quiet():
        header = read_header(source)
        kind = identified(header).kind
        if kind != "report":
            raise source.bad(Code.NOT_A_VOLUME, f"a DICOM {kind}, no structured report")
        nodes = _nodes(header.elements, 0)
        groups = [_group(node.children) for node in _all_groups(nodes)]
        loose = _group(tuple(_outside(nodes)))
        if loose.measurements:
            groups.append(loose)
        return Report(
            read_concept(header.elements, "ConceptNameCodeSequence"),
            header.elements.text("CompletionFlag") == "COMPLETE",
            tuple(groups),
        )


def _nodes(elements: Elements, depth: int) -> tuple[_Node, ...]:
    if depth > MAX_DEPTH:
        raise elements.bad(f"the report is nested more than {MAX_DEPTH} deep")
    return tuple(
        _Node(
            item.text("ValueType"),
            read_concept(item, "ConceptNameCodeSequence") or Concept("", "", ""),
            item,
            _nodes(item, depth + 1),
        )
        for item in elements.items("ContentSequence")
    )


def _all_groups(nodes: Sequence[_Node]) -> Iterator[_Node]:
    for node in nodes:
        if _is_group(node):
            yield node
        else:
            yield from _all_groups(node.children)


def _outside(nodes: Sequence[_Node]) -> Iterator[_Node]:
    """All items that are in no measurement group."""
    for node in nodes:
        if not _is_group(node):
            yield node
            yield from _outside(node.children if node.type == "CONTAINER" else ())


def _is_group(node: _Node) -> bool:
    return node.type == "CONTAINER" and (node.name.value, node.name.scheme) == (_GROUP, "DCM")


def _group(nodes: tuple[_Node, ...]) -> MeasurementGroup:
    texts = {node.name.value: node for node in nodes}
    codes = [
        (node.name, value) for node in nodes if node.type == "CODE" and (value := read_concept(node.item, "ConceptCodeSequence"))
    ]
    return MeasurementGroup(
        tracking_id=texts[_TRACKING_ID].item.text("TextValue") if _TRACKING_ID in texts else "",
        tracking_uid=texts[_TRACKING_UID].item.text("UID") if _TRACKING_UID in texts else "",
        finding=next((value for name, value in codes if name.value in _FINDING), None),
        site=next((value for name, value in codes if name.value in _SITE), None),
        measurements=tuple(found for node in nodes if node.type == "NUM" and (found := _measurement(node)) is not None),
        evaluations=tuple((name, value) for name, value in codes if name.value not in _FINDING | _SITE),
        image_uids=tuple(dict.fromkeys(_image_uids(nodes))),
        regions=tuple(_regions(nodes)),
    )


def _measurement(node: _Node) -> Measurement | None:
    """A number; `None` where the report gives a reason for not measuring instead."""
    item = node.item.item("MeasuredValueSequence")
    value = item.number("NumericValue") if item else None
    if item is None or value is None:
        return None
    modifiers = [
        (child.name, code)
        for child in node.children
        if child.type == "CODE" and (code := read_concept(child.item, "ConceptCodeSequence")) is not None
    ]
    return Measurement(node.name, value, read_concept(item, "MeasurementUnitsCodeSequence"), tuple(modifiers))


def _image_uids(nodes: Sequence[_Node]) -> Iterator[str]:
    for node in nodes:
        if node.type in {"IMAGE", "COMPOSITE"}:
            reference = node.item.item("ReferencedSOPSequence")
            if reference is not None:
                yield reference.text("ReferencedSOPInstanceUID")
        yield from _image_uids(node.children)


def _regions(nodes: Sequence[_Node]) -> Iterator[Region]:
    for node in nodes:
        if node.type in {"SCOORD", "SCOORD3D"}:
            size = 3 if node.type == "SCOORD3D" else 2
            numbers = node.item.numbers("GraphicData") or ()
            if len(numbers) % size:
                raise node.item.bad(f"GraphicData holds {len(numbers)} numbers, no whole number of points")
            points = tuple(numbers[place : place + size] for place in range(0, len(numbers), size))
            yield Region(node.item.text("GraphicType"), points, size == 3)
        yield from _regions(node.children)
