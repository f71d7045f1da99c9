"""DICOM series with what is outlined on them: the layout of volumes that is offered reads them as the pipeline does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pydicom import Dataset

from assets.inspect import inspect_folder
from assets.inspect.draft import as_mapping
from assets.raw import discover
from assets.spec import DatasetSpec
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
