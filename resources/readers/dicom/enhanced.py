"""The frames of a multi-frame file with functional groups: enhanced CT, MR and PET, legacy converted, segmentations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from resources.readers.dicom.elements import Elements
from resources.readers.dicom.planes import Mark, Plane, classic_plane, positive, read_placement
from resources.readers.dicom.rescale import UNSCALED, Rescale, read_rescale

_PLACE_POINTERS = frozenset({0x00209056, 0x00209057, 0x00200032, 0x00209113, 0x00201041})
"""Dimensions that say where a frame lies: stack, place in the stack, position; what is left tells volumes apart."""


@dataclass(frozen=True, slots=True)
class Groups:
    """The functional groups of one frame: its own, or else the ones all frames share.

    Attributes:
        own: Item of the per-frame sequence.
        shared: Item of the shared sequence.
        empty: Stands in for a group that is missing.
    """

    own: Elements | None
    shared: Elements | None
    empty: Elements

    def find(self, keyword: str) -> Elements | None:
        """One group, if the frame has it."""
        own = self.own.item(keyword) if self.own else None
        return own or (self.shared.item(keyword) if self.shared else None)

    def get(self, keyword: str) -> Elements:
        """One group; without elements when the frame does not have it."""
        return self.find(keyword) or self.empty


def has_groups(elements: Elements) -> bool:
    """Whether the frames of a file are described by functional groups."""
    return elements.has("PerFrameFunctionalGroupsSequence")


def frame_groups(elements: Elements, n_frames: int) -> list[Groups]:
    """The functional groups of every frame.

    Raises:
        BadInputError: BAD_HEADER when they are not as many as the frames.
    """
    own = elements.items("PerFrameFunctionalGroupsSequence")
    if len(own) != n_frames:
        raise elements.bad(f"{n_frames} frames are promised, and {len(own)} are described")
    shared = elements.item("SharedFunctionalGroupsSequence")
    empty = Elements(type(elements.dataset)(), elements.budget, elements.file)
    return [Groups(item, shared, empty) for item in own]


def enhanced_planes(elements: Elements, n_frames: int) -> list[Plane]:
    """The frames of a file, in the order in which they are stored.

    Raises:
        BadInputError: BAD_HEADER.
    """
    whole = classic_plane(elements)
    pointers = [item.tags("DimensionIndexPointer") for item in elements.items("DimensionIndexSequence")]
    telling = [place for place, pointer in enumerate(pointers) if _PLACE_POINTERS.isdisjoint(pointer)]
    return [_plane(groups, frame, whole, telling) for frame, groups in enumerate(frame_groups(elements, n_frames))]


def group_plane(groups: Groups, frame: int, number: int, marks: Mapping[str, Mark]) -> Plane:
    """Where one frame lies and how its numbers become values."""
    measures = groups.get("PixelMeasuresSequence")
    return Plane(
        file=groups.empty.file,
        frame=frame,
        placement=read_placement(groups.get("PlanePositionSequence"), groups.get("PlaneOrientationSequence"), measures),
        thickness=positive(measures, "SliceThickness"),
        between=measures.number("SpacingBetweenSlices"),
        rescale=_rescale(groups),
        number=(number, frame),
        marks=marks,
    )


def _plane(groups: Groups, frame: int, whole: Plane, telling: list[int]) -> Plane:
    of_file = {name: whole.marks[name] for name in ("acquisition number", "temporal position") if name in whole.marks}
    return group_plane(groups, frame, whole.number[0], of_file | _marks(groups, telling))


def _rescale(groups: Groups) -> Rescale:
    item = groups.find("PixelValueTransformationSequence")
    return read_rescale(item) if item else UNSCALED


def _marks(groups: Groups, telling: list[int]) -> dict[str, Mark]:
    found: dict[str, Mark] = {}
    content = groups.get("FrameContentSequence")
    echo = groups.get("MREchoSequence")
    diffusion = groups.get("MRDiffusionSequence")
    numbers = {
        "temporal position": content.number("TemporalPositionIndex"),
        "acquisition number": content.number("FrameAcquisitionNumber"),
        "trigger time": groups.get("CardiacSynchronizationSequence").number("NominalCardiacTriggerDelayTime"),
        "echo time": echo.number("EffectiveEchoTime"),
        "b-value": diffusion.number("DiffusionBValue"),
        "inversion time": groups.get("MRModifierSequence").number("InversionTimes"),
    }
    found.update({name: number for name, number in numbers.items() if number is not None})
    direction = diffusion.item("DiffusionGradientDirectionSequence")
    gradient = direction.numbers("DiffusionGradientOrientation") if direction else None
    if gradient:
        found["gradient direction"] = gradient
    for keyword in ("MRImageFrameTypeSequence", "CTImageFrameTypeSequence", "PETFrameTypeSequence"):
        item = groups.get(keyword)
        if item.has("FrameType"):
            found["image type"] = "/".join(item.texts("FrameType"))
        if item.has("ComplexImageComponent"):
            found["component"] = item.text("ComplexImageComponent")
    indices = content.numbers("DimensionIndexValues") or ()
    left = tuple(indices[place] for place in telling if place < len(indices))
    if left:
        found["dimension indices"] = left
    return found
