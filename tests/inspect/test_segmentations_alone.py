"""Folders of DICOM objects without the images they were drawn on: segmentations stand for these too, the rest is unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pydicom
import pytest
from pydicom import Dataset

from assets.inspect import Inspection, inspect_folder
from assets.inspect.draft import as_mapping, as_spec, as_yaml
from assets.inspect.segments import Drawn, Segment, as_label_maps
from resources.layout import Layout
from tests.data_makers.dicom_files import Instance, report, segmentation, slice_of, structure_set, write_dicom
from tests.datasets.built import build
from tests.inspect.folders import drafted, images, pairs, volume

PEOPLE = ("Q-11", "Q-12", "Q-13")
ROWS = {"Liver": 4, "Spleen": 2, "Nodule": 3}
"""Structure -> how many rows of two pixels it has."""


def drawn(person: str, names: Sequence[str], *, series: str = "drawn", modality: str = "CT", shared: bool = False) -> Dataset:
    """A segmentation of one slice, its segments side by side or, if shared, all at one place."""
    slices = [slice_of(Instance(person, "study", "ct", 1, modality), np.zeros((9, 16)))]
    masks = np.zeros((1, 9, 16, len(names)), bool)
    for number, name in enumerate(names):
        first = 0 if shared else 3 * number
        masks[0, : ROWS.get(name, 3), first : first + 2, number] = True
    return segmentation(Instance(person, "study", series), slices, masks, names)


def folder(root: Path, person: str, objects: Mapping[str, Dataset]) -> None:
    for name, ds in objects.items():
        write_dicom(root / person / "study" / name / "1-1.dcm", ds)


def why(found: Inspection, field: str) -> str:
    return "; ".join(u.why for u in found.unknown if u.field == field)


def numbered(names: Mapping[str, Sequence[str]], *, types: Sequence[str] = ("T",), apart: bool = True) -> list[Drawn]:
    """What headers say of files of these names; files with the same number of types take these in turn."""
    return [
        Drawn(
            path,
            path,
            tuple(Segment(k, name, types[(n + k) % len(types)]) for k, name in enumerate(some, start=1)),
            apart or len(some) < 2,
        )
        for n, (path, some) in enumerate(names.items())
    ]


def test_one_structure_named_after_the_patient_is_image_and_label_map(tmp_path: Path) -> None:
    root = Layout(tmp_path).raw("draft")
    for person in PEOPLE:
        folder(root, person, {f"{n}-nodule": drawn(person, [f"Nodule of {person}"], series=str(n)) for n in (1, 2)})
    found, spec, tree = drafted(root)
    assert found.said("task") == "segmentation"
    assert found.said("modality") == "CT"
    assert {number: label.name for number, label in spec.labels.items()} == {1: "Nodule"}
    assert len(images(tree)) == 6
    assert pairs(spec, tree) == {(path, path) for path in images(tree)}
    assert "none of 6 headers that were read is of an image" in why(found, "layout.series")
    assert "there are no images" in why(found, "dimension")
    assert next(e.seen for e in found.evidence if e.field == "task").startswith("there is nothing but segmentations")
    built = build(spec, tmp_path)
    for person in PEOPLE:
        rows = built.rows("volumes", person).filter(kind="labels")
        assert rows.select("label_ids", "label_voxels").rows() == [([1], [6])] * 2


@pytest.mark.parametrize("beside", [report, lambda instance: structure_set(instance, ["GTV"])])
def test_what_lies_beside_segmentations_is_ignored_with_its_modality(tmp_path: Path, beside: object) -> None:
    assert callable(beside)
    modality = "SR" if beside is report else "RTSTRUCT"
    for person in PEOPLE:
        more = beside(Instance(person, "study", "more", modality=modality))
        folder(tmp_path, person, {"drawn": drawn(person, ["Nodule"]), "more": more})
    found, _, tree = drafted(tmp_path)
    assert {path.split("/")[2] for path in images(tree)} == {"drawn"}
    reasons = {file.reason for file in tree.files if "/more/" in file.path}
    assert reasons == {f"its DICOM Modality is {modality}, and segmentation is of SEG"}
    assert found.objects is None


def test_several_segments_of_the_same_numbers_keep_their_names(tmp_path: Path) -> None:
    root = Layout(tmp_path).raw("draft")
    for person in PEOPLE:
        folder(root, person, {"drawn": drawn(person, ["Liver", "Spleen"], modality="MR")})
    found, spec, _ = drafted(root)
    assert (found.said("task"), found.said("modality")) == ("segmentation", "MR")
    assert {number: label.name for number, label in spec.labels.items()} == {1: "Liver", 2: "Spleen"}
    assert spec.layout.labels["mask"].nonzero_is is None
    built = build(spec, tmp_path)
    for person in PEOPLE:
        (labels,) = built.rows("volumes", person).filter(kind="labels").to_dicts()
        assert (labels["label_ids"], labels["label_voxels"]) == ([1, 2], [8, 4])


def test_a_number_that_is_another_structure_in_another_file_says_none(tmp_path: Path) -> None:
    for person, names in zip(PEOPLE, (["Liver"], ["Spleen"], ["Liver", "Spleen"]), strict=True):
        folder(tmp_path, person, {"drawn": drawn(person, names)})
    found, spec, tree = drafted(tmp_path)
    assert (found.said("task"), spec.labels, spec.layout.labels) == ("", {}, {})
    assert len(images(tree)) == 3
    assert "segment 1 is called 'Liver' in Q-11/study/drawn/1-1.dcm and 'Spleen' in Q-12" in why(found, "layout.labels")
    assert "# unknown: layout.labels: segment 1 is called" in as_yaml(found, "draft")
    assert "numbers do not say which structures" in why(found, "task")
    assert not found.candidates


def test_segments_that_share_voxels_cannot_be_read(tmp_path: Path) -> None:
    for person in PEOPLE:
        folder(tmp_path, person, {"drawn": drawn(person, ["Liver", "Spleen"], shared=True)})
    found = inspect_folder(tmp_path)
    assert "cannot be read as label maps: " in why(found, "layout")
    assert "layout" not in as_mapping(found, "draft")
    assert not found.said("task")


def test_one_that_is_damaged_is_told_and_the_others_are_drafted(tmp_path: Path) -> None:
    for person in PEOPLE:
        folder(tmp_path, person, {"drawn": drawn(person, ["Liver"])})
    damaged = pydicom.dcmread(tmp_path / "Q-12/study/drawn/1-1.dcm")
    damaged.NumberOfFrames = 2
    damaged.save_as(tmp_path / "Q-12/study/drawn/1-1.dcm")
    found, spec, _ = drafted(tmp_path)
    assert "Q-12/study/drawn/1-1.dcm" in why(found, "layout")
    assert spec.layout.labels["mask"].nonzero_is == 1


def test_shares_of_voxels_are_a_doubt_as_they_may_be_no_label_maps(tmp_path: Path) -> None:
    for n, person in enumerate(PEOPLE):
        ds = drawn(person, ["Liver"])
        if n == 1:
            inside = np.unpackbits(np.frombuffer(ds.PixelData, np.uint8), bitorder="little")[: 9 * 16]
            ds.SegmentationType, ds.SegmentationFractionalType, ds.MaximumFractionalValue = "FRACTIONAL", "PROBABILITY", 4
            ds.BitsAllocated = ds.BitsStored = 8
            ds.HighBit, ds.PixelData = 7, (4 * inside).tobytes()
        folder(tmp_path, person, {"drawn": ds})
    found, _, _ = drafted(tmp_path)
    assert "1 of 3 segmentations, such as Q-12/study/drawn/1-1.dcm, store shares" in why(found, "labels")
    assert not why(found, "layout")


@pytest.mark.parametrize("alone", ["RTSTRUCT", "SR"])
def test_structure_sets_and_reports_alone_are_unknown(tmp_path: Path, alone: str) -> None:
    for person in PEOPLE:
        instance = Instance(person, "study", "drawn", modality=alone)
        folder(tmp_path, person, {"drawn": structure_set(instance, ["GTV"]) if alone == "RTSTRUCT" else report(instance)})
    found = inspect_folder(tmp_path)
    assert (found.plan, found.dicom, found.said("task"), found.said("modality")) == (None, None, "", "")
    kind = {
        "RTSTRUCT": "3 structure set; a structure set is outlines on a series, and cannot be drawn without it",
        "SR": "3 report",
    }
    assert f"are of no image and no segmentation: {kind[alone]}" in why(found, "layout")
    assert "no images were recognised" not in why(found, "layout")
    assert why(found, "task").endswith("they outline GTV" if alone == "RTSTRUCT" else "no image that they are about")
    assert "no image is there" in why(found, "modality")
    with pytest.raises(ValueError, match="layout"):
        as_spec(found, "draft")


def test_images_in_other_formats_are_drafted_without_the_reports_beside(tmp_path: Path) -> None:
    for person in PEOPLE:
        folder(tmp_path, person, {"rated": report(Instance(person, "study", "rated", modality="SR"))})
        volume(tmp_path / person / "study" / "ct.nii.gz", low=-900)
    found, _, tree = drafted(tmp_path)
    assert found.said("modality") == "CT"
    assert images(tree) == {f"{person}/study/ct.nii.gz" for person in PEOPLE}


def test_with_a_few_images_these_are_the_images(tmp_path: Path) -> None:
    for person in PEOPLE:
        ct = slice_of(Instance(person, "study", "ct"), np.zeros((9, 16)))
        folder(tmp_path, person, {"ct": ct} | {f"{n}-drawn": drawn(person, ["Nodule"], series=str(n)) for n in range(4)})
    found, spec, tree = drafted(tmp_path)
    assert {path.split("/")[2] for path in images(tree)} == {"ct"}
    assert (spec.layout.series["instance"].header, spec.layout.labels) == ({"Modality": "CT"}, {})
    assert [candidate.fields["labels"] for candidate in found.candidates] == [{1: "Nodule"}]


def test_images_are_found_where_names_go_by_turns(tmp_path: Path) -> None:
    """Of 144 folders every fourth is looked at first, and all of these hold segmentations."""
    ct = slice_of(Instance("p", "study", "ct"), np.zeros((9, 16)))
    for n in range(36):
        for k in range(4):
            write_dicom(tmp_path / f"{n:02d}-{k}" / "1-1.dcm", ct if k else drawn("p", ["Nodule"]))
    _, spec, tree = drafted(tmp_path)
    assert set(spec.layout.series) == {"instance"}
    assert len(images(tree)) == 108


@pytest.mark.parametrize(
    ("names", "labels", "binary"),
    [
        ({"a": ["Nodule 1"], "b": ["Nodule 2"]}, {1: "Nodule"}, True),
        ({"a": ["Nodule"], "b": ["nodule", "Nodule"]}, {1: "Nodule"}, True),
        ({"a": ["Tumour of a"], "b": ["Tumour of b"]}, {1: "Tumour"}, True),
        ({"a": ["T7"], "b": ["T8"]}, {}, False),
        ({"a": ["1"], "b": ["2"]}, {}, False),
        ({"a": ["Lesion 1", "Lesion 2"], "b": ["Lesion 1"]}, {1: "Lesion 1", 2: "Lesion 2"}, False),
        ({"a": ["Liver", "Lesion", "Lesion"]}, {}, False),
        ({"a": ["Liver", "Spleen"], "b": ["Liver"]}, {1: "Liver", 2: "Spleen"}, False),
        ({"a": ["Liver", ""]}, {1: "Liver", 2: "label 2"}, False),
        ({"a": []}, {}, False),
    ],
)
def test_what_names_of_segments_say(names: Mapping[str, Sequence[str]], labels: Mapping[int, str], *, binary: bool) -> None:
    found = as_label_maps(numbered(names))
    assert (found.labels, found.binary) == (labels, binary)
    assert found.evidence or found.unknown


def test_names_that_differ_in_a_number_are_several_structures_if_their_codes_are_several() -> None:
    names = {"a": ["Segment 1"], "b": ["Segment 2"]}
    assert as_label_maps(numbered(names)).binary
    assert not as_label_maps(numbered(names, types=("Left", "Right"))).labels


def test_numbered_names_in_one_file_and_segments_that_may_overlap_are_doubts() -> None:
    told = as_label_maps(numbered({"a": ["Lesion 1", "Lesion 2"]}, apart=False))
    assert [u.why.split(";")[0] for u in told.unknown] == [
        "1 of 1 segmentations, such as a, do not say that no two segments share a voxel",
        "names differ in nothing but a number",
    ]
