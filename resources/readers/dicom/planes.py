"""One picture of a series: where it lies in the patient, how its numbers become values, what tells it from its siblings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from resources.readers.dicom.elements import Elements
from resources.readers.dicom.rescale import UNSCALED, Rescale, read_rescale

Vector = tuple[float, ...]
Mark = float | str | tuple[float, ...]

TIME_MARKS = ("temporal position", "trigger time", "frame reference time", "acquisition number")
"""What tells the volumes of a series apart by when they were taken, in the order in which it is believed."""

CHANNEL_MARKS = (
    "echo time",
    "echo number",
    "inversion time",
    "b-value",
    "gradient direction",
    "component",
    "image type",
    "dimension indices",
)
"""What tells volumes apart by how they were taken or what was computed."""


_NUMBERS = {
    "temporal position": "TemporalPositionIdentifier",
    "trigger time": "TriggerTime",
    "frame reference time": "FrameReferenceTime",
    "acquisition number": "AcquisitionNumber",
    "echo time": "EchoTime",
    "echo number": "EchoNumbers",
    "inversion time": "InversionTime",
    "b-value": "DiffusionBValue",
}


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a plane lies, in DICOM's LPS millimetres.

    Attributes:
        position: (3,) centre of the first pixel.
        along_row: (3,) unit vector in which the column index grows.
        along_column: (3,) unit vector in which the row index grows.
        spacing: mm between neighbouring columns, and between neighbouring rows.
    """

    position: Vector
    along_row: Vector
    along_column: Vector
    spacing: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Plane:
    """One picture.

    Attributes:
        file: Name of its file.
        frame: Its frame in the file, from 0.
        tile: Row and column of its tile in a mosaic; `None` when it is a whole frame.
        placement: Where it lies; `None` when the file does not say.
        thickness: Slice thickness in mm, if stated.
        between: Distance to the next slice in mm, if stated; may be negative.
        rescale: How its numbers become values.
        number: Instance number and frame: the order in which the source lists it.
        marks: What tells it from the others at its place, by name (`TIME_MARKS`, `CHANNEL_MARKS`); only what is stated.
    """

    file: str
    frame: int
    tile: tuple[int, int] | None = None
    placement: Placement | None = None
    thickness: float | None = None
    between: float | None = None
    rescale: Rescale = UNSCALED
    number: tuple[int, int] = (0, 0)
    marks: Mapping[str, Mark] = field(default_factory=dict, hash=False)


def read_placement(position: Elements, orientation: Elements, measures: Elements) -> Placement | None:
    """Where a plane lies; the three statements may come from different functional groups.

    Raises:
        BadInputError: BAD_HEADER where they are no numbers or the directions no directions.
    """
    place = position.numbers("ImagePositionPatient", 3)
    axes = orientation.numbers("ImageOrientationPatient", 6)
    spacing = measures.numbers("PixelSpacing", 2)
    if place is None or axes is None or spacing is None:
        return None
    row, column = _unit(axes[:3], orientation), _unit(axes[3:], orientation)
    if abs(sum(a * b for a, b in zip(row, column, strict=True))) > 1e-2:
        raise orientation.bad(f"ImageOrientationPatient holds directions that are not at right angles: {axes}")
    if min(spacing) <= 0:
        raise measures.bad(f"PixelSpacing is {spacing}; a spacing is positive")
    return Placement(place, row, column, (spacing[1], spacing[0]))


def classic_plane(elements: Elements, frame: int = 0) -> Plane:
    """The plane of a file that holds one picture, or what all frames of a file say at its top."""
    marks: dict[str, Mark] = {}
    for name, keyword in _NUMBERS.items():
        value = elements.number(keyword)
        if value is not None:
            marks[name] = value
    direction = elements.numbers("DiffusionGradientOrientation")
    if direction:
        marks["gradient direction"] = direction
    kind = "/".join(elements.texts("ImageType"))
    if kind:
        marks["image type"] = kind
    return Plane(
        file=elements.file,
        frame=frame,
        placement=read_placement(elements, elements, elements),
        thickness=positive(elements, "SliceThickness"),
        between=elements.number("SpacingBetweenSlices"),
        rescale=read_rescale(elements),
        number=(elements.whole("InstanceNumber") or 0, frame),
        marks=marks,
    )


def positive(elements: Elements, keyword: str) -> float | None:
    """A length; `None` when it is missing or not positive."""
    found = elements.number(keyword)
    return found if found is not None and found > 0 else None


def _unit(vector: Vector, elements: Elements) -> Vector:
    length = sum(part * part for part in vector) ** 0.5
    if abs(length - 1) > 1e-2:
        raise elements.bad(f"ImageOrientationPatient holds a direction of length {length:g}: {vector}")
    return tuple(part / length for part in vector)
