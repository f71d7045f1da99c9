from __future__ import annotations

from pathlib import Path

import highdicom.sr as hd
import numpy as np
import pytest
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.sr.codedict import codes
from pydicom.uid import CTImageStorage, EnhancedSRStorage, ExplicitVRLittleEndian

from resources.findings import BadInputError, Code
from resources.readers.dicom.sr import read_sr_measurements
from tests.readers.dicom.makers import ramp, slice_of, uid, write


def report(path: Path) -> Path:
    """A TID 1500 report by highdicom: one planar region with an area and a statement, one tracked lesion with a diameter."""
    image = slice_of(ramp())
    image.file_meta = FileMetaDataset()
    image.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    image.AccessionNumber = image.StudyID = image.PatientSex = image.ReferringPhysicianName = image.StudyTime = ""
    region = hd.ImageRegion(
        graphic_type=hd.GraphicTypeValues.POLYLINE,
        graphic_data=np.array([[1.0, 1.0], [3.0, 1.0], [3.0, 3.5], [1.0, 1.0]]),
        source_image=hd.SourceImageForRegion(CTImageStorage, image.SOPInstanceUID),
    )
    area = hd.Measurement(codes.SCT.Area, 4.25, codes.UCUM.SquareMillimeter)
    planar = hd.PlanarROIMeasurementsAndQualitativeEvaluations(
        tracking_identifier=hd.TrackingIdentifier(uid(6, 1), "lesion 1"),
        referenced_region=region,
        finding_type=codes.SCT.Neoplasm,
        finding_sites=[hd.FindingSite(codes.SCT.Lung)],
        measurements=[area],
        qualitative_evaluations=[
            hd.QualitativeEvaluation(hd.CodedConcept("M1", "99X", "Margin"), hd.CodedConcept("M2", "99X", "spiculated"))
        ],
    )
    plain = hd.MeasurementsAndQualitativeEvaluations(
        tracking_identifier=hd.TrackingIdentifier(uid(6, 2), "lesion 2"),
        source_images=[hd.SourceImageForMeasurementGroup(CTImageStorage, image.SOPInstanceUID)],
        measurements=[
            hd.Measurement(codes.SCT.Diameter, 12.5, codes.UCUM.Millimeter, derivation=codes.SCT.Mean),
        ],
    )
    observer = hd.ObserverContext(codes.DCM.Person, hd.PersonObserverIdentifyingAttributes("Secret^Reader"))
    content = hd.MeasurementReport(
        observation_context=hd.ObservationContext(observer),
        procedure_reported=codes.LN.CTUnspecifiedBodyRegion,
        imaging_measurements=[planar, plain],
    )
    document = hd.ComprehensiveSR([image], content, uid(6), 1, uid(6, 9), 1, "us", is_complete=True)
    document.save_as(path)
    return path


def test_measurements_of_tid_1500(tmp_path: Path) -> None:
    found = read_sr_measurements(report(tmp_path / "sr"))
    assert found.complete
    assert found.title is not None
    assert found.title.meaning == "Imaging Measurement Report"
    first, second = found.groups
    assert (first.tracking_id, first.tracking_uid) == ("lesion 1", uid(6, 1))
    assert first.finding is not None
    assert first.finding.value == codes.SCT.Neoplasm.value
    assert first.site is not None
    assert first.site.value == codes.SCT.Lung.value
    assert [(str(name), value.meaning) for name, value in first.evaluations] == [("Margin (M1, 99X)", "spiculated")]
    (area,) = first.measurements
    assert (area.name.meaning, area.value) == ("Area", 4.25)
    assert area.unit is not None
    assert (area.unit.value, area.unit.scheme) == ("mm2", "UCUM")
    (region,) = first.regions
    assert (region.kind, region.in_patient) == ("POLYLINE", False)
    assert region.points == ((1, 1), (3, 1), (3, 3.5), (1, 1))
    assert first.image_uids == (uid(1, 1, 1),)
    (diameter,) = second.measurements
    assert diameter.value == 12.5
    assert [(name.meaning, value.meaning) for name, value in diameter.modifiers] == [("Derivation", "Mean")]
    assert "Secret" not in repr(found)


def concept(value: str, meaning: str, scheme: str = "99X") -> list[Dataset]:
    item = Dataset()
    item.CodeValue, item.CodingSchemeDesignator, item.CodeMeaning = value, scheme, meaning
    return [item]


def loose_report(depth: int = 1) -> Dataset:
    """A report without TID 1500: a number in nested containers, another one with a reason instead of a value."""
    ds = Dataset()
    ds.SOPClassUID, ds.SOPInstanceUID, ds.Modality = EnhancedSRStorage, uid(7, 1), "SR"
    ds.StudyInstanceUID, ds.SeriesInstanceUID = uid(9), uid(7)
    ds.ValueType, ds.CompletionFlag = "CONTAINER", "PARTIAL"
    ds.ConceptNameCodeSequence = concept("1", "Report")
    number, nothing, measured = Dataset(), Dataset(), Dataset()
    number.ValueType = nothing.ValueType = "NUM"
    number.ConceptNameCodeSequence = nothing.ConceptNameCodeSequence = concept("2", "Ejection fraction")
    measured.NumericValue, measured.MeasurementUnitsCodeSequence = 55.5, concept("%", "percent", "UCUM")
    number.MeasuredValueSequence, nothing.MeasuredValueSequence = [measured], []
    content = [number, nothing]
    for _ in range(depth):
        container = Dataset()
        container.ValueType, container.ConceptNameCodeSequence = "CONTAINER", concept("3", "Section")
        container.ContentSequence = content
        content = [container]
    ds.ContentSequence = content
    return ds


def test_numbers_outside_of_groups_are_kept(tmp_path: Path) -> None:
    found = read_sr_measurements(write(tmp_path / "sr", loose_report()))
    assert not found.complete
    (group,) = found.groups
    assert (group.tracking_id, group.finding) == ("", None)
    (number,) = group.measurements
    assert (str(number.name), number.value) == ("Ejection fraction (2, 99X)", 55.5)


def test_reports_nested_without_end_are_refused(tmp_path: Path) -> None:
    assert read_sr_measurements(write(tmp_path / "deep", loose_report(60))).groups
    with pytest.raises(BadInputError) as caught:
        read_sr_measurements(write(tmp_path / "deeper", loose_report(70)))
    assert caught.value.finding.code == Code.BAD_HEADER


def test_reports_without_numbers_are_empty(shared_data: Path) -> None:
    for name in ("reportsi.dcm", "reportsi_with_empty_number_tags.dcm"):
        assert read_sr_measurements(shared_data / "dicom/pydicom_test_files" / name).groups == ()


def test_an_image_is_no_report(tmp_path: Path) -> None:
    with pytest.raises(BadInputError) as caught:
        read_sr_measurements(write(tmp_path / "s", slice_of(ramp())))
    assert caught.value.finding.code == Code.NOT_A_VOLUME
