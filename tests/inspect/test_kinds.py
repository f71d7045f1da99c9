"""Classes of folders without any label: where the kind of an image may be one, where not, and what is offered instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.classes import classes_table
from assets.inspect import as_yaml, inspect_folder
from assets.inspect.draft import as_spec
from assets.inspect.inspection import Inspection
from assets.raw import RawTree
from assets.spec import DatasetSpec
from tests.inspect.folders import drafted, instance, picture, volume


def told(spec: DatasetSpec, tree: RawTree) -> dict[str, str]:
    """Image file -> class."""
    rows, findings = classes_table(spec, tree, set(tree.subjects), lambda _, __: None)
    assert not findings
    images = {
        (subject.subject, scan.scan, series): path
        for subject in tree.subjects.values()
        for scan in subject.scans
        for series, path in scan.series.items()
    }
    assert len(images) == rows.height
    return {images[row["subject"], row["scan"], row["series"]]: row["class"] for row in rows.iter_rows(named=True)}


def sequences(root: Path, had: dict[str, tuple[str, ...]]) -> None:
    for person, kinds in had.items():
        for kind in kinds:
            volume(root / f"sub_{person}" / "ses_1" / f"{kind}.nii.gz")


def offered(found: Inspection) -> list[dict[str, object]]:
    return [candidate.fields["classes"] for candidate in found.candidates]


def test_sequences_that_people_differ_in_are_classes(tmp_path: Path) -> None:
    sequences(tmp_path, {"1": ("t1", "t1_2"), "2": ("dwi", "flair"), "3": ("t1", "t2"), "4": ("scan_3", "flair")})
    found, spec, tree = drafted(tmp_path)
    assert found.said("task") == "classification"
    assert told(spec, tree) == {
        "sub_1/ses_1/t1.nii.gz": "t1",
        "sub_1/ses_1/t1_2.nii.gz": "t1",
        "sub_2/ses_1/dwi.nii.gz": "dwi",
        "sub_2/ses_1/flair.nii.gz": "flair",
        "sub_3/ses_1/t1.nii.gz": "t1",
        "sub_3/ses_1/t2.nii.gz": "t2",
        "sub_4/ses_1/scan_3.nii.gz": "scan",
        "sub_4/ses_1/flair.nii.gz": "flair",
    }
    assert min(e.confidence for e in found.evidence if e.field in ("task", "classes")) < 0.4


def test_sequences_that_everybody_has_are_series(tmp_path: Path) -> None:
    sequences(tmp_path, dict.fromkeys(("1", "2", "3"), ("t1", "t2", "flair", "dwi")))
    found = inspect_folder(tmp_path)
    assert found.said("task") == ""
    assert len(as_spec(found, "draft").layout.series) == 4


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("groups", ["kp", ("con", "pat")])
def test_letters_before_the_numbers_of_people_are_groups_unless_there_are_masks(
    tmp_path: Path, groups: tuple[str, str], *, masked: bool
) -> None:
    people = [
        f"{group}{number}" for group, numbers in zip(groups, (("01", "07"), ("03", "11")), strict=True) for number in numbers
    ]
    for person in people:
        volume(tmp_path / f"sub-{person}/anat/sub-{person}_T1w.nii.gz")
        if masked:
            volume(tmp_path / f"sub-{person}/anat/sub-{person}_T1w_seg.nii.gz", ids=(1,))
    found, spec, tree = drafted(tmp_path)
    if masked:
        assert found.said("task") == "segmentation"
        assert spec.classes is None
    else:
        assert {path.split("/")[0][4:]: name for path, name in told(spec, tree).items()} == {p: p[:-2] for p in people}


@pytest.mark.parametrize("people", [("a1", "a2", "b1", "b2"), ("x1", "x2", "y1"), ("c01", "c02", "c03", "c04")])
def test_rows_of_a_plate_and_lone_people_are_no_groups(tmp_path: Path, people: tuple[str, ...]) -> None:
    for person in people:
        volume(tmp_path / f"sub-{person}/sub-{person}_T1w.nii.gz")
    assert inspect_folder(tmp_path).said("task") == ""


def test_a_condition_in_the_one_place_where_names_differ_is_a_class(tmp_path: Path) -> None:
    for name in ("HeLa (2nM)+mAB(20nM)cell1", "HeLa (2nM)+mAB(20nM)cell12", "HeLa (2nM) neg MBP cell1"):
        picture(tmp_path / f"{name}.png")
    found, spec, tree = drafted(tmp_path)
    assert found.said("task") == "classification"
    assert set(told(spec, tree).values()) == {"mAB(20nM)", "neg MBP"}
    assert told(spec, tree)["HeLa (2nM) neg MBP cell1.png"] == "neg MBP"


def test_other_words_in_that_place_are_none(tmp_path: Path) -> None:
    for name in ("HeLa (2nM)+mAB(20nM)cell1", "HeLa (2nM)+mAB(20nM)cell12", "HeLa (2nM) red MBP cell1"):
        picture(tmp_path / f"{name}.png")
    assert inspect_folder(tmp_path).said("task") == ""


def shown(root: Path, folders: tuple[str, ...], names: tuple[str, ...]) -> None:
    for folder in folders:
        for name in names:
            picture(root / folder / f"{name}.png")


def test_parts_of_the_body_that_come_again_in_several_folders_are_classes(tmp_path: Path) -> None:
    shown(tmp_path, ("half/5", "half/10", "full/5"), ("Brain_2", "3DMR_Chest", "Heart"))
    found, spec, tree = drafted(tmp_path)
    assert found.said("task") == "classification"
    assert told(spec, tree)["half/10/3DMR_Chest.png"] == "3DMR_Chest"
    assert set(told(spec, tree).values()) == {"Brain_2", "3DMR_Chest", "Heart"}


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("brain_t1", "brain_t2"), id="of one part of the body"),
        pytest.param(("brain", "heart", "overview"), id="and of none"),
    ],
)
def test_series_are_no_parts_of_the_body(tmp_path: Path, names: tuple[str, ...]) -> None:
    shown(tmp_path, ("1", "2", "3"), names)
    assert inspect_folder(tmp_path).said("task") == ""


def test_parts_of_the_body_that_are_shown_once_are_no_classes(tmp_path: Path) -> None:
    shown(tmp_path, ("a",), ("brain", "heart", "liver"))
    assert inspect_folder(tmp_path).said("task") == ""


def test_a_modality_that_patients_differ_in_is_a_class(tmp_path: Path) -> None:
    for patient, modality in (("P-1", "MR"), ("P-2", "CT"), ("P-3", "MR")):
        for number in (1, 2):
            instance(tmp_path / patient / "s1" / f"{number}.dcm", patient, number, modality=modality, study=patient)
    found = inspect_folder(tmp_path)
    spec = as_spec(found, "draft")
    assert spec.classes is not None
    assert (set(spec.classes.names), spec.classes.tag) == ({"MR", "CT"}, "Modality")
    assert found.said("task") == "classification"


def test_modalities_that_every_patient_has_are_none(tmp_path: Path) -> None:
    for patient in ("P-1", "P-2", "P-3"):
        for number, modality in enumerate(("PT", "CT"), start=1):
            instance(tmp_path / patient / modality / "1.dcm", patient, number, modality=modality, study=patient)
    assert inspect_folder(tmp_path).said("task") == ""


def begun(root: Path, patients: dict[str, str]) -> None:
    """File name -> PatientID of instances in one folder."""
    for number, (name, patient) in enumerate(patients.items(), start=1):
        instance(root / f"{name}.dcm", patient, number, study=f"study {patient}")


def test_a_first_word_that_several_patients_share_is_a_class(tmp_path: Path) -> None:
    begun(tmp_path, {"Lund_0117_2": "117", "LUND_0230_1": "230", "Lund-0301": "301", "Turku_0117": "118", "Turku_0412": "412"})
    found, spec, tree = drafted(tmp_path)
    assert found.said("task") == "classification"
    assert max(e.confidence for e in found.evidence if e.field in ("task", "classes")) < 0.4
    assert told(spec, tree) == {
        "LUND_0230_1.dcm": "Lund",
        "Lund-0301.dcm": "Lund",
        "Lund_0117_2.dcm": "Lund",
        "Turku_0117.dcm": "Turku",
        "Turku_0412.dcm": "Turku",
    }


@pytest.mark.parametrize(
    "patients",
    [
        pytest.param({"Lund_1": "1", "Lund_2": "1", "Turku_1": "2", "Turku_2": "2"}, id="a person each"),
        pytest.param({"Lund_1": "", "Lund_2": "", "Turku_1": "", "Turku_2": ""}, id="nobody named"),
        pytest.param({"Lund_1": "1", "Lund_2": "2", "Turku_1": "3", "Oslo_1": "4", "Riga_1": "5"}, id="hardly any comes again"),
        pytest.param({"slice_1": "1", "slice_2": "2", "scan_1": "3", "scan_2": "4"}, id="words of another meaning"),
        pytest.param({"Lund_1": "1", "Lund_2": "2", "Turku_1": "3", "17": "4"}, id="not all begin with a word"),
    ],
)
def test_other_first_words_of_instances_are_none(patients: dict[str, str], tmp_path: Path) -> None:
    begun(tmp_path, patients)
    assert inspect_folder(tmp_path).said("task") == ""


def test_what_classes_could_be_is_offered_and_not_said(tmp_path: Path) -> None:
    for kind in ("Bmode", "velocity"):
        for thing in ("artery", "inclusion3", "inclusion7"):
            picture(tmp_path / f"{kind}_{thing}.png")
    found = inspect_folder(tmp_path)
    assert found.said("task") == ""
    assert as_spec(found, "draft").classes is None
    whole, bare, first = offered(found)
    assert whole == {
        "names": [f"{kind}_{thing}" for kind in ("Bmode", "velocity") for thing in ("artery", "inclusion3", "inclusion7")],
        "field": "{stem}",
    }
    assert bare["names"] == ["Bmode_artery", "Bmode_inclusion", "velocity_artery", "velocity_inclusion"]
    assert first["names"] == ["bmode", "velocity"]
    lines = [line for line in as_yaml(found, "draft").splitlines() if line.startswith("# could be, by ")]
    assert len(lines) == 3
    assert lines[0].endswith("field: '{stem}'}")


def test_numbers_and_uids_are_offered_as_no_classes(tmp_path: Path) -> None:
    for number in range(6):
        picture(tmp_path / f"IM{number:06}.png")
    assert offered(inspect_folder(tmp_path)) == []


def test_nothing_is_offered_where_label_maps_tell_the_task(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        volume(tmp_path / f"images/{name}.nii.gz")
        volume(tmp_path / f"labels/{name}.nii.gz", ids=(1, 2))
    assert offered(inspect_folder(tmp_path)) == []
