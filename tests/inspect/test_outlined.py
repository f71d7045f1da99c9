"""DICOM series with what is outlined on them: the layout of volumes that is offered reads them as the pipeline does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from pydicom import Dataset

from assets.inspect import inspect_folder
from assets.inspect.draft import as_mapping
from assets.raw import discover
from assets.spec import DatasetSpec
from assets.strategies.place import place_of
from assets.strategies.run import standardize
from resources.layout import Layout
from tests.chain.dicom_subject import BOXES, ct, segmentation, structure_set
from tests.datasets.built import build
from tests.readers.dicom.makers import write

PEOPLE = ("P-01", "P-02")


def patient(folder: Path, drawn: Dataset | None, images: list[Dataset]) -> None:
    for ds in (*images, *([drawn] if drawn is not None else [])):
        ds.PatientID = folder.name
    for number, ds in enumerate(images):
        write(folder / f"study/ct/{number}.dcm", ds)
    if drawn is not None:
        write(folder / "study/drawn/1.dcm", drawn)


def offered(root: Path) -> DatasetSpec:
    """The draft with what it offers."""
    found = inspect_folder(root)
    (whole,) = found.candidates
    return DatasetSpec.model_validate({**as_mapping(found, "draft"), **whole.fields})


def test_segments_become_a_label_map_of_their_series(tmp_path: Path) -> None:
    root = Layout(tmp_path).raw("draft")
    for name in PEOPLE:
        images = ct()
        patient(root / name, segmentation(images), images)
    spec = offered(root)
    built = build(spec, tmp_path)
    assert set(built.manifests) == set(PEOPLE)
    for name in PEOPLE:
        rows = built.rows("volumes", name)
        assert rows["kind"].to_list() == ["image", "labels"]
        (labels,) = rows.filter(kind="labels").to_dicts()
        counts = dict(zip(labels["label_ids"], labels["label_voxels"], strict=True))
        expected = {what: int(np.prod([last - first + 1 for first, last in box])) for what, box in BOXES.items()}
        assert {spec.labels[number].name: count for number, count in counts.items()} == expected


@pytest.mark.parametrize("left_out", [False, True])
def test_who_has_no_outlines_is_left_out(tmp_path: Path, *, left_out: bool) -> None:
    for name in PEOPLE:
        images = ct()
        patient(tmp_path / name, None if left_out and name == "P-02" else structure_set("Liver"), images)
    spec = offered(tmp_path)
    assert spec.layout.labels["outlined"].kind == "rtstruct"
    tree = discover(spec, tmp_path)
    assert set(tree.subjects) == (set(PEOPLE[:1]) if left_out else set(PEOPLE))
    for found in tree.subjects.values():
        (scan,) = found.scans
        assert set(scan.series) == {"image"}
        assert set(scan.labels) == {"outlined"}


def test_several_studies_of_somebody_are_scans(tmp_path: Path) -> None:
    images = ct()
    patient(tmp_path / "P-01", structure_set("Liver"), images)
    for number, ds in enumerate(images):
        write(tmp_path / f"P-01/later/ct/{number}.dcm", ds)
    spec = offered(tmp_path)
    assert spec.layout.series["image"].dicom == ("{subject}/{scan}/**",)


def test_nothing_is_offered_where_nothing_is_outlined(tmp_path: Path) -> None:
    for name in PEOPLE:
        patient(tmp_path / name, None, ct())
    assert not inspect_folder(tmp_path).candidates


def reasons(root: Path, field: str) -> str:
    return "; ".join(one.why for one in inspect_folder(root).unknown if one.field == field)


def test_a_draft_says_that_it_has_no_label_maps_and_which_layout_has(tmp_path: Path) -> None:
    for name in PEOPLE:
        patient(tmp_path / name, structure_set("Liver"), ct())
    found = inspect_folder(tmp_path)
    assert next(e.seen for e in found.evidence if e.field == "task") == "structures are outlined on the images: 2 structure set"
    assert "a structure set is of a whole series, and instances are read one by one" in reasons(tmp_path, "layout.labels")
    assert "labels" not in as_mapping(found, "draft")["layout"]
    assert found.whole is not None
    assert not found.whole.doubt


def test_several_series_of_somebody_leave_open_which_is_outlined(tmp_path: Path) -> None:
    for name in PEOPLE:
        patient(tmp_path / name, structure_set("Liver"), ct())
        for number, ds in enumerate(ct(series=2)):
            ds.PatientID = name
            write(tmp_path / name / f"study/other/{number}.dcm", ds)
    found = inspect_folder(tmp_path)
    assert found.whole is not None
    assert found.whole.doubt.startswith("there are 2 series beside one another")
    assert found.whole.doubt in reasons(tmp_path, "layout.labels")


def test_other_names_of_structures_are_left(tmp_path: Path) -> None:
    for name, structure in zip(PEOPLE, ("Liver", "LIVER 2"), strict=True):
        patient(tmp_path / name, structure_set(structure), ct())
    assert offered(tmp_path).layout.labels["outlined"].others == "leave"
    (whole,) = inspect_folder(tmp_path).candidates
    assert "structures that no header named that was read are left out" in whole.why


def test_instances_of_one_folder_are_offered_as_series_of_patients(tmp_path: Path) -> None:
    root = Layout(tmp_path).raw("draft")
    for number, name in enumerate(PEOPLE):
        for k, ds in enumerate([*ct(series=number + 1), structure_set("Liver", of=number + 1)]):
            ds.PatientID = name
            write(root / f"{name.replace('-', '_')}_{k:03d}.dcm", ds)
    built = build(offered(root), tmp_path)
    assert {name: built.rows("volumes", name)["kind"].to_list() for name in built.manifests} == {
        name.replace("-", "_"): ["image", "labels"] for name in PEOPLE
    }


def test_records_are_made_of_the_series_with_its_label_map(tmp_path: Path) -> None:
    for name in PEOPLE:
        patient(tmp_path / "Some_Set" / name, structure_set("Liver"), ct())
    done = standardize(place_of(tmp_path / "Some_Set"), "s3", tmp_path / "work", None)
    done.chosen.write(tmp_path / "out")
    records = [json.loads(path.read_text()) for path in sorted((tmp_path / "out/standardized_annotations").glob("*.json"))]
    assert {record["media_geometry"]["media"]["dimension"] for record in records} == {"2D"}
    assert any(record["tasks"]["segmentation"]["coco_2d"]["annotations"] for record in records)
