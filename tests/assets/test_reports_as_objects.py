"""Regions of structured reports as marked objects: what cannot be used is told, and nothing is guessed."""

from __future__ import annotations

from typing import Any

import pytest

from assets.objects import ObjectUnusableError, _marks_of
from assets.spec_mds import Objects
from resources.readers.dicom.sr import MeasurementGroup, Region


def group(*regions: Region, images: tuple[str, ...] = ("1.2.3",)) -> MeasurementGroup:
    return MeasurementGroup("tumour", "1.2", None, None, (), (), images, regions)


def region(*points: tuple[float, ...], in_patient: bool = False) -> Region:
    return Region("POLYLINE", points, in_patient)


def test_a_region_is_boxed_by_its_outermost_points() -> None:
    made = group(region((4.0, 9.0), (2.5, 3.0), (8.0, 5.0)), region((0.0, 0.0), (1.0, 2.0)))
    marks = list(_marks_of(made, "r.dcm, measurement 1"))
    assert [(image, mark["min_px"], mark["max_px"]) for image, mark in marks] == [
        ("1.2.3", [2.5, 3.0], [8.0, 9.0]),
        ("1.2.3", [0.0, 0.0], [1.0, 2.0]),
    ]
    assert {mark["source"] for _, mark in marks} == {"r.dcm, measurement 1"}


def test_a_group_that_only_measures_marks_nothing() -> None:
    assert list(_marks_of(group(images=("1", "2")), "r.dcm")) == []


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (group(region((1.0, 2.0, 3.0), in_patient=True)), "in the patient, not in an image"),
        (group(region((1.0, 1.0), (2.0, 2.0)), images=("1", "2")), "1 regions lie in 2 images"),
        (group(region((1.0, 1.0), (2.0, 2.0)), images=()), "1 regions lie in 0 images"),
        (group(region()), "has no points"),
        (group(region((1.0, 1.0))), "has no area"),
    ],
)
def test_what_cannot_be_boxed_is_refused(made: MeasurementGroup, said: str) -> None:
    with pytest.raises(ObjectUnusableError, match=said):
        list(_marks_of(made, "r.dcm"))


def test_boxes_of_reports_are_given_by_no_columns() -> None:
    declared: dict[str, Any] = {"format": "sr", "file": "SR_*/*.dcm", "key": "ReferencedSOPInstanceUID"}
    assert Objects.model_validate(declared).format == "sr"
    with pytest.raises(ValueError, match="other formats by none"):
        Objects.model_validate(declared | {"corners": ["a", "b", "c", "d"]})
