"""DICOM files that are told apart by their headers, not by their names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assets.raw import discover
from assets.spec import DatasetSpec
from resources.readers.dicom.tags import read_tag, read_tags
from tests.data_makers.dicom_files import Instance, slice_of, structure_set, write_dicom


def spec(**series: Any) -> DatasetSpec:
    sources = {name: {"path": "{subject}/{scan}.dcm"} | source for name, source in series.items()}
    content = {
        "slug": "toy", "name": "Toy", "version": "1", "licence": "CC0-1.0", "access": "open", "modality": "CT", "anatomy": "none",
        "description": "made up", "sources": [], "layout": {"subject": r"p\d", "scan": r"[a-z0-9]+", "series": sources},
    }  # fmt: skip
    return DatasetSpec.model_validate(content)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    pixels = np.ones((4, 5), np.int16)
    write_dicom(tmp_path / "p1/a.dcm", slice_of(Instance("p1", "s", "axial", description="axial"), pixels))
    write_dicom(tmp_path / "p1/b.dcm", structure_set(Instance("p1", "s", "rois", modality="RTSTRUCT"), ["Heart"]))
    write_dicom(tmp_path / "p1/c.dcm", slice_of(Instance("p1", "s", "pet", modality="PT", description="pet"), pixels))
    (tmp_path / "p1/d.dcm").write_bytes(b"no DICOM at all")
    return tmp_path


def test_fields_are_taken_from_headers(root: Path) -> None:
    content = spec(slice={"header": {"Modality": "CT|PT"}}).model_dump(exclude_defaults=True)
    content["layout"]["tags"] = {"study": "StudyInstanceUID", "words": "SeriesDescription"}
    tree = discover(DatasetSpec.model_validate(content), root)
    said = {scan.scan: scan.fields for scan in tree.subjects["p1"].scans}
    study = read_tag(root / "p1/a.dcm", "StudyInstanceUID")
    assert study
    assert said == {"a": {"study": study, "words": "axial"}, "c": {"study": study, "words": "pet"}, "d": {}}
    content["layout"]["fields"] = {"study": ".+"}
    with pytest.raises(ValueError, match=r"\['study'\] are read from paths and from headers"):
        DatasetSpec.model_validate(content)


def test_a_file_whose_header_says_otherwise_is_not_taken_and_the_reason_is_told(root: Path) -> None:
    tree = discover(spec(slice={"header": {"Modality": "CT"}}), root)
    assert [scan.scan for scan in tree.subjects["p1"].scans] == ["a", "d"]
    reasons = {f.path: f.reason for f in tree.files if f.state == "ignored"}
    assert reasons == {
        "p1/b.dcm": "its DICOM Modality is RTSTRUCT, and slice is of CT",
        "p1/c.dcm": "its DICOM Modality is PT, and slice is of CT",
    }
    assert tree.findings == ()


def test_headers_distribute_files_of_one_pattern_to_series(root: Path) -> None:
    declared = spec(
        ct={"header": {"Modality": "CT"}, "required": False}, pet={"header": {"Modality": "PT|NM"}, "required": False}
    )
    scans = {scan.scan: scan.series for scan in discover(declared, root).subjects["p1"].scans}
    assert scans == {"a": {"ct": "p1/a.dcm"}, "c": {"pet": "p1/c.dcm"}, "d": {"ct": "p1/d.dcm", "pet": "p1/d.dcm"}}


def test_every_element_that_is_asked_for_must_fit(root: Path) -> None:
    declared = spec(slice={"header": {"Modality": "CT|PT", "SeriesDescription": "ax.*", "PatientName": "somebody"}})
    assert [scan.scan for scan in discover(declared, root).subjects["p1"].scans] == ["a", "d"]


def test_values_are_read_up_to_the_last_one_that_is_asked_for(root: Path) -> None:
    assert read_tags(root / "p1/a.dcm", ["Modality", "PatientID", "PatientName", "Rows"]) == {
        "Modality": "CT",
        "PatientID": "p1",
        "Rows": "4",
    }
    cut = root / "p1/cut.dcm"
    cut.write_bytes((root / "p1/a.dcm").read_bytes()[:700])
    assert read_tag(cut, "Modality") == "CT"
    assert read_tag(root / "p1/d.dcm", "Modality") is None
    assert read_tag(root / "p1/none.dcm", "Modality") is None
    with pytest.raises(ValueError, match="DICOM has no keyword Modalty"):
        read_tag(root / "p1/a.dcm", "Modalty")


def test_a_header_is_read_once_for_as_long_as_its_file_stays_as_it_is(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    declared, kept = spec(slice={"header": {"Modality": "CT"}}), tmp_path_factory.mktemp("kept") / "headers.arrow"
    first = discover(declared, root, kept)
    first.keep_headers()
    again = discover(declared, root, kept)
    assert again == first
    assert again.identities is not None
    assert again.identities.read == 0
    write_dicom(root / "p1/b.dcm", slice_of(Instance("p1", "s", "axial", 2), np.ones((4, 5), np.int16)))
    changed = discover(declared, root, kept)
    assert changed.identities is not None
    assert changed.identities.read == 1
    assert [scan.scan for scan in changed.subjects["p1"].scans] == ["a", "b", "d"]
