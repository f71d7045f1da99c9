"""Whose DICOM instances are: slices of a patient that headers name are never on both sides of a split."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from assets.inspect.draft import as_yaml
from assets.inspect.patients import Stated, by_header, named_in_part
from assets.inspect.who_tables import PeopleRule
from assets.raw import discover
from tests.inspect.folders import instance, picture
from tests.inspect.test_people import together, untold


def folder(root: Path, whose: Mapping[str, str], **more: str) -> None:
    """Instances, each by a path without its ending, of patients."""
    for number, (path, patient) in enumerate(whose.items(), start=1):
        instance(root / f"{path}.dcm", patient, number, study=more.get("study", path))


def grouped(whose: Mapping[str, str]) -> set[frozenset[str]]:
    return {frozenset(f"{path}.dcm" for path in whose if whose[path] == patient) for patient in whose.values()}


def by_people(root: Path) -> set[frozenset[str]]:
    """The files of each person, as the pipeline divides them by the draft."""
    _, spec, people = together(root)
    files = {
        subject: frozenset(str(path) for scan in found.scans for path in scan.series.values())
        for subject, found in discover(spec, root).subjects.items()
    }
    return {frozenset().union(*(files[subject] for subject in subjects)) for subjects in people}


@pytest.mark.parametrize(
    ("form", "called"),
    [
        pytest.param("{}_{:03d}", ["OSL_0", "OSL_1", "Bergen_0"], id="signs"),
        pytest.param("{}-{}", ["oSl 0", "OSL.1", "BERGEN-0"], id="capitals"),
        pytest.param("{}{:02d}", ["Smith", "Tanaka", "Okafor"], id="letters before digits"),
        pytest.param("{}slice{}", ["P01", "P02", "P11"], id="digits before letters"),
        pytest.param("img_{}_{}", ["7", "11", "12"], id="behind a word"),
        pytest.param("{}_{}", ["Van_Dyck", "Smith", "De_la_Cruz"], id="names of several words"),
        pytest.param("{}_CT/a/{:03d}", ["OSL_0", "OSL_1", "Bergen_0"], id="beginning of a folder"),
        pytest.param("{}/{:03d}", ["OSL_0", "OSL_1", "Bergen_0"], id="a folder"),
        pytest.param("set/{}_{}", ["OSL_0", "OSL_1", "Bergen_0"], id="below a folder"),
    ],
)
def test_the_patient_stands_in_a_part_of_the_path(form: str, called: list[str], tmp_path: Path) -> None:
    whose = {
        form.format(name.replace(" ", "_").replace(".", "_"), n): name.replace("_", "-") for name in called for n in range(4)
    }
    folder(tmp_path, whose)
    found, spec, _ = together(tmp_path)
    assert found.said("layout.subject") == "person"
    assert found.said("task") == ""
    assert not untold(found)
    assert spec.layout.scan is not None
    assert len(discover(spec, tmp_path).subjects) == 3
    assert by_people(tmp_path) == grouped(whose)


def test_a_word_of_what_patients_are_called_is_no_class(tmp_path: Path) -> None:
    folder(tmp_path, {f"{place}_{n}_{k}": f"{place}-{n}" for place in ("OSL", "BGO") for n in range(3) for k in range(3)})
    found, spec, _ = together(tmp_path)
    assert spec.classes is None
    assert found.said("task") == ""


def test_what_one_patient_alone_is_called_is_offered_as_no_class(tmp_path: Path) -> None:
    folder(tmp_path, {f"{name}_{n}": name for name in ("Smith", "Tanaka", "Okafor") for n in range(3)})
    found, _, _ = together(tmp_path)
    assert not found.candidates


def test_headers_name_the_patients_where_no_path_does(tmp_path: Path) -> None:
    whose = {f"{kind}_{n:04d}": f"X{n}" for kind in ("T1", "T2", "FLAIR") for n in range(4)}
    folder(tmp_path, whose)
    found, spec, _ = together(tmp_path)
    assert spec.people.field == "patient"
    assert spec.layout.tags == {"patient": "PatientID"}
    assert "12 headers that were read names 4 patients" in as_yaml(found, "draft")
    assert not untold(found)
    assert by_people(tmp_path) == grouped(whose)


def test_folders_that_hold_several_patients_are_no_subjects(tmp_path: Path) -> None:
    whose = {f"site{site}/{n:03d}": f"Q{site}{n // 2}" for site in (1, 2) for n in range(6)}
    folder(tmp_path, whose)
    _, spec, _ = together(tmp_path)
    assert len(discover(spec, tmp_path).subjects) == 12
    assert by_people(tmp_path) == grouped(whose)


def test_folders_of_one_patient_come_together(tmp_path: Path) -> None:
    whose = {f"series{number}/{n:03d}": f"Q{number // 2}" for number in range(6) for n in range(3)}
    folder(tmp_path, whose)
    assert by_people(tmp_path) == grouped(whose)


def test_folders_of_sites_hold_folders_of_patients(tmp_path: Path) -> None:
    whose = {f"site{site}/x{who}/{n:03d}": f"Q{site}{who}" for site in (1, 2) for who in (site + 1, site + 4) for n in range(3)}
    folder(tmp_path, whose)
    found, spec, _ = together(tmp_path)
    assert found.said("layout.subject") == "person"
    assert len(discover(spec, tmp_path).subjects) == 4
    assert by_people(tmp_path) == grouped(whose)


def test_folders_of_classes_stay_where_names_of_files_say_the_patient(tmp_path: Path) -> None:
    whose = {f"{kind}/{kind[0]}A_{n}_{k}": f"{kind[0]}a-{n}" for kind in ("healthy", "ill") for n in range(3) for k in range(2)}
    folder(tmp_path, whose)
    found, spec, _ = together(tmp_path)
    assert found.said("classes") == "folder"
    assert spec.classes is not None
    assert found.said("layout.subject") == "person"
    assert by_people(tmp_path) == grouped(whose)


def test_folders_of_classes_with_the_same_patients_do_not_part_them(tmp_path: Path) -> None:
    whose = {f"{kind}/{n}_{k}": f"{n}" for kind in ("axial", "coronal") for n in (3, 4, 5) for k in range(2)}
    folder(tmp_path, whose)
    assert by_people(tmp_path) == grouped(whose)


def test_one_patient_in_all_headers_says_nothing(tmp_path: Path) -> None:
    folder(tmp_path, {f"anonymous_{n}": "anonymous" for n in range(6)})
    found, spec, people = together(tmp_path)
    assert spec.people.unit == "image"
    assert len(people) == 6
    (line,) = untold(found)
    assert line.startswith("the PatientID is the same in all 6 headers that were read")


def test_one_patient_with_one_study_is_a_person(tmp_path: Path) -> None:
    folder(tmp_path, {f"Smith_{n}": "Smith" for n in range(6)}, study="one")
    _, _, people = together(tmp_path)
    assert people == {frozenset({"Smith"})}


def test_instances_of_one_study_come_together_where_no_patient_is_named(tmp_path: Path) -> None:
    for n in range(9):
        instance(tmp_path / f"{n:03d}.dcm", "", n + 1, study=f"s{n // 3}")
    found, spec, people = together(tmp_path)
    assert spec.layout.tags == {"study": "StudyInstanceUID"}
    assert people == {frozenset(f"{n:03d}" for n in range(k, k + 3)) for k in (0, 3, 6)}
    assert "whether two studies are of one person is not said" in "".join(untold(found))


def test_a_table_of_people_is_asked_before_headers(tmp_path: Path) -> None:
    names = [f"{n * 7919 + 10**9:x}" for n in range(8)]
    folder(tmp_path, {f"all/{name}": f"header{n}" for n, name in enumerate(names)})
    (tmp_path / "t.csv").write_text("image,patient_id\n" + "".join(f"{name},P{n // 2}\n" for n, name in enumerate(names)))
    _, spec, people = together(tmp_path)
    assert spec.people.table is not None
    assert {len(one) for one in people} == {2}


def test_what_only_some_headers_agree_with_is_no_patient() -> None:
    paths = [f"A_{n}_{k}.dcm" for n in range(3) for k in range(2)]
    said = [Stated(path, path[:3] if path != "A_2_1.dcm" else "other", path) for path in paths]
    assert named_in_part(paths, said) is None
    assert isinstance(by_header(said), PeopleRule)


def test_pictures_know_no_headers(tmp_path: Path) -> None:
    for n in range(4):
        picture(tmp_path / f"Smith_{n}.png", seed=n)
    found, spec, _ = together(tmp_path)
    assert not spec.people.field
    assert untold(found)
