"""What a DICOM file can be, as plain values: nothing here needs pydicom, which takes a second to import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from resources.findings import Finding

Kind = Literal["image", "segmentation", "structure set", "report", "directory", "other", "unreadable"]


@dataclass(frozen=True, slots=True)
class SeriesKey:
    """What all files of one series have in common (PS3.3 C.7.3.1).

    Attributes:
        study_uid: UID of the study.
        series_uid: UID of the series.
        number: Its number, as text; exports that copy a UID change it.
        modality: E.g. `CT`.
        sop_class: UID of the kind of object.
    """

    study_uid: str
    series_uid: str
    number: str
    modality: str
    sop_class: str


_UNKNOWN = SeriesKey("", "", "", "", "")


@dataclass(frozen=True, slots=True)
class Identity:
    """One DICOM file.

    Attributes:
        kind: What it is.
        key: Its series.
        description: Series description.
        frame_of_reference: UID of the coordinate system of its positions.
        refers_to: UIDs of the series a segmentation or a structure set was drawn on.
        values: Keyword -> value of the elements that were asked for and that it has.
        problem: Why its header cannot be read, for kind `unreadable`.
    """

    kind: Kind
    key: SeriesKey = _UNKNOWN
    description: str = ""
    frame_of_reference: str = ""
    refers_to: tuple[str, ...] = ()
    values: Mapping[str, str] = field(default_factory=dict)
    problem: Finding | None = None
