"""Who the images of a draft are of: what tables and names say of people, down to who comes together in a split."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
import yaml

from assets.inspect import Inspection, inspect_folder
from assets.inspect.draft import as_yaml
from assets.inspect.person_columns import is_person_column
from assets.people import people
from assets.raw import discover
from assets.spec import DatasetSpec
from tests.inspect.folders import instance, picture, volume


def together(root: Path) -> tuple[Inspection, DatasetSpec, set[frozenset[str]]]:
    """What is found, the draft as it is written, and the subjects of each person by it."""
    found = inspect_folder(root)
    spec = DatasetSpec.model_validate(yaml.safe_load(as_yaml(found, "draft")))
    tree = discover(spec, root)
    assert not [file.path for file in tree.files if file.state == "unclaimed"]
    whose: dict[str, set[str]] = defaultdict(set)
    for subject, person in people(spec, root, sorted(tree.subjects)).items():
        whose[person].add(subject)
    return found, spec, {frozenset(subjects) for subjects in whose.values()}


def untold(found: Inspection) -> list[str]:
    """What the draft says is unknown of people."""
    start = "# unknown: people: "
    return [line.removeprefix(start) for line in as_yaml(found, "draft").splitlines() if line.startswith(start)]


PATIENTS = {f"{(n * 2654435761 + 77) % 2**44:012x}": f"P{n // 3}" for n in range(12)}
"""Image -> patient, three images each."""
THREE = {frozenset(list(PATIENTS)[k : k + 3]) for k in (0, 3, 6, 9)}


def table(path: Path, header: str, rows: list[str]) -> None:
    path.write_text("\n".join([header, *rows]) + "\n")


@pytest.mark.parametrize("column", ["patient_id", "PatientID", "subject", "person number", "anon_patient_id", "Participant"])
@pytest.mark.parametrize("cell", ["{}", "{}.png", "images/{}.png"])
def test_images_of_one_patient_come_together_by_a_table(column: str, cell: str, tmp_path: Path) -> None:
    for n, name in enumerate(PATIENTS):
        picture(tmp_path / f"images/{name}.png", seed=n)
    rows = [f"{cell.format(name)},{who},{'ab'[n % 2]}x" for n, (name, who) in enumerate(PATIENTS.items())]
    table(tmp_path / "train.csv", f"image_id,{column},label", rows)
    found, spec, found_people = together(tmp_path)
    assert spec.people.table is not None
    assert (spec.people.table.file, spec.people.table.subject, spec.people.table.person) == ("train.csv", "image_id", column)
    assert found_people == THREE
    assert spec.classes is not None
    assert "# evidence: people = table" in as_yaml(found, "draft")
    assert not untold(found)


def test_numbers_of_images_are_found_in_names_of_files(tmp_path: Path) -> None:
    for n in range(1, 13):
        picture(tmp_path / f"images/img_{n}.png", seed=n)
    table(tmp_path / "t.csv", "index\tfile\tpatient\tage", [f"{n - 1}\timg_{n}.png\tA{n % 4}\t{40 + n}" for n in range(1, 13)])
    _, spec, found_people = together(tmp_path)
    assert spec.people.table is not None
    assert (spec.people.table.subject, spec.people.table.separator) == ("file", "\t")
    assert found_people == {frozenset(str(n) for n in range(1, 13) if n % 4 == k) for k in range(4)}


def test_volumes_with_numbers_and_two_columns_are_people_and_no_classes(tmp_path: Path) -> None:
    for n in range(1, 7):
        volume(tmp_path / f"scan_{n:03d}.nii.gz")
    table(tmp_path / "who.csv", "scan,patient_id", [f"scan_{n:03d},{(n + 1) // 2}" for n in range(1, 7)])
    found, spec, found_people = together(tmp_path)
    assert spec.classes is None
    assert found.said("people") == "table"
    assert found_people == {frozenset(("001", "002")), frozenset(("003", "004")), frozenset(("005", "006"))}


def test_two_tables_tell_the_people_of_two_sets(tmp_path: Path) -> None:
    names = list(PATIENTS)
    for n, name in enumerate(names):
        picture(tmp_path / f"{'train' if n < 6 else 'test'}/{name}.png", seed=n)
    for part, own in (("train", names[:6]), ("test", names[6:])):
        table(
            tmp_path / f"{part}.csv",
            "image_id,patient_id,label",
            [f"{i},{PATIENTS[i]},{'ab'[k % 2]}b" for k, i in enumerate(own)],
        )
    _, spec, found_people = together(tmp_path)
    assert {one.file for one in spec.people.tables} == {"train.csv", "test.csv"}
    assert found_people == THREE


def test_instances_of_one_patient_come_together_by_a_table(tmp_path: Path) -> None:
    for n, name in enumerate(PATIENTS):
        instance(tmp_path / f"train/{name}.dcm", "anonymous", n + 1, study=f"s{n}", modality="DX")
    table(
        tmp_path / "train.csv", "image_id,patient_id,label", [f"{i},{who},{k % 2}" for k, (i, who) in enumerate(PATIENTS.items())]
    )
    found, spec, found_people = together(tmp_path)
    assert spec.people.table is not None
    assert found_people == THREE
    assert not untold(found)


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([f"{i},P{n}" for n, i in enumerate(list(PATIENTS)[:8])], "names the person of 8 of 12 subjects"),
        ([*(f"{i},P{n // 2}" for n, i in enumerate(PATIENTS)), f"{next(iter(PATIENTS))},P5"], "to several people"),
        ([f"{i},P1" for i in PATIENTS], "too little to be people"),
        ([f"other{n}x,P{n}" for n in range(12)], "has no column besides that names the 12 subjects"),
    ],
)
def test_a_column_of_people_that_cannot_be_used_is_named(rows: list[str], why: str, tmp_path: Path) -> None:
    for n, name in enumerate(PATIENTS):
        picture(tmp_path / f"images/{name}.png", seed=n)
    table(tmp_path / "train.csv", "image_id,patient_id", rows)
    found, spec, _ = together(tmp_path)
    assert spec.people.unit == "image"
    assert [line for line in untold(found) if "train.csv has a column 'patient_id'" in line and why in line]


def test_images_that_are_called_by_the_column_of_people_are_people(tmp_path: Path) -> None:
    for n, name in enumerate(PATIENTS):
        instance(tmp_path / f"images/{name}.dcm", "anonymous", n + 1, study=f"s{n}", modality="DX")
    table(tmp_path / "t.csv", "patientId,x,y,width,height", [f"{name},1,2,3,4" for name in PATIENTS for _ in (0, 1)])
    found, spec, found_people = together(tmp_path)
    assert found.said("people") == "names"
    assert (spec.people.unit, len(found_people)) == ("person", 12)


def test_first_parts_of_names_that_are_of_several_people_are_said(tmp_path: Path) -> None:
    for n in range(1, 9):
        for k in (1, 2):
            picture(tmp_path / f"images/{n}_{k}.png", seed=n * 10 + k)
    table(tmp_path / "t.csv", "name,patient_id", [f"{n}_{k},P{(n + 3 * k) % 5}" for n in range(1, 9) for k in (1, 2)])
    found, _, _ = together(tmp_path)
    assert [line for line in untold(found) if "t.csv has a column 'patient_id', but gives 1 to several people" in line]


def test_instances_too_say_which_column_cannot_be_used(tmp_path: Path) -> None:
    for n, name in enumerate(PATIENTS):
        instance(tmp_path / f"train/{name}.dcm", "anonymous", n + 1, study=f"s{n}", modality="DX")
    table(tmp_path / "train.csv", "image_id,patient_id", [f"{i},P{n}" for n, i in enumerate(list(PATIENTS)[:8])])
    found, _, _ = together(tmp_path)
    assert [line for line in untold(found) if "'patient_id'" in line]


def test_a_table_is_not_asked_where_names_tell_the_person(tmp_path: Path) -> None:
    for n in range(1, 5):
        volume(tmp_path / f"patient_{n}/scan_1.nii.gz")
        volume(tmp_path / f"patient_{n}/scan_2.nii.gz")
    table(tmp_path / "t.csv", "folder,patient_id,sex", [f"patient_{n},{n},{'mf'[n % 2]}x" for n in range(1, 5)])
    found, spec, found_people = together(tmp_path)
    assert spec.people.table is None
    assert len(found_people) == 4
    assert not untold(found)


def test_images_of_one_lesion_come_together_where_nobody_is_named(tmp_path: Path) -> None:
    for n, name in enumerate(PATIENTS):
        picture(tmp_path / f"images/{name}.png", seed=n)
    rows = [f"{name},HAM_{who},{'ab'[n % 2]}x" for n, (name, who) in enumerate(PATIENTS.items())]
    table(tmp_path / "train.csv", "image_id,lesion_id,label", rows)
    found, _, found_people = together(tmp_path)
    assert found_people == THREE
    assert any(u.field == "people" and "one person may have several" in u.why for u in found.unknown)


def test_of_a_patient_and_a_lesion_the_patient_is_meant(tmp_path: Path) -> None:
    for n, name in enumerate(PATIENTS):
        picture(tmp_path / f"images/{name}.png", seed=n)
    rows = [f"{name},L{n},{who}" for n, (name, who) in enumerate(PATIENTS.items())]
    table(tmp_path / "train.csv", "image_id,lesion_id,patient_id", rows)
    _, _, found_people = together(tmp_path)
    assert found_people == THREE


def test_columns_called_like_people() -> None:
    called = (
        "patient_id",
        "PatientID",
        "Patient Name",
        "subject",
        "subjid",
        "case",
        "CaseNo",
        "tcia_patient_id",
        "pat_nr",
        "lesion_id",
        "PID",
    )
    assert all(is_person_column(name) for name in called)
    others = (
        "patient_age",
        "patient_sex",
        "pattern",
        "subjective",
        "lowercase",
        "label",
        "image_id",
        "id",
        "showcase id",
        "lesion",
        "specimen",
        "rapid",
    )
    assert [name for name in others if is_person_column(name)] == []


def begun(root: Path, others: int) -> None:
    """Pictures of six people under names of several forms, and some that say nothing of people."""
    n = 0
    for part, people_of_part in (("train", (1, 2, 3, 12)), ("test", (5, 6))):
        for k in people_of_part:
            for path in (f"NORMAL/person{k}_{k}", f"PNEUMONIA/person{k}_bacteria_{k + 1}", f"PNEUMONIA/person{k}_virus_{k}_b"):
                picture(root / f"{part}/{path}.png", seed=(n := n + 1))
    for k in range(others):
        picture(root / f"train/NORMAL/IM-{k:04d}-0001.png", seed=(n := n + 1))


def test_people_whom_names_begin_with_come_together(tmp_path: Path) -> None:
    begun(tmp_path, 0)
    found, spec, found_people = together(tmp_path)
    assert found.said("people")
    assert spec.classes is not None
    assert found_people == {
        frozenset((f"person{k}_{k}", f"person{k}_bacteria_{k + 1}", f"person{k}_virus_{k}_b")) for k in (1, 2, 3, 12, 5, 6)
    }
    assert not untold(found)


def test_nine_tenths_of_names_tell_people_and_the_others_stand_for_themselves(tmp_path: Path) -> None:
    begun(tmp_path, 2)
    found, spec, found_people = together(tmp_path)
    assert spec.people.unit == "image"
    assert {frozenset(("IM-0000-0001",)), frozenset(("IM-0001-0001",))} < found_people
    assert len(found_people) == 8
    assert [line for line in untold(found) if "18 of 20 names begin with person<number>, such as person12_12;" in line]


def test_fewer_names_that_begin_with_a_person_keep_those_together_and_are_said(tmp_path: Path) -> None:
    begun(tmp_path, 7)
    found, spec, found_people = together(tmp_path)
    assert spec.people.unit == "image"
    assert len(found_people) == 13  # six people and seven images of nobody known
    assert [line for line in untold(found) if "18 of 25 names begin with person<number>, such as person12_12;" in line]


def test_a_table_of_people_comes_before_what_names_begin_with(tmp_path: Path) -> None:
    begun(tmp_path, 0)
    names = [path.stem for path in sorted(tmp_path.rglob("*.png"))]
    table(tmp_path / "t.csv", "image,patient_id", [f"{name},{n // 2}" for n, name in enumerate(names)])
    _, spec, found_people = together(tmp_path)
    assert spec.people.table is not None
    assert len(found_people) == 9


def test_instances_whose_names_begin_with_a_person_come_together(tmp_path: Path) -> None:
    for n in range(1, 9):
        name = f"Patient_{(n + 1) // 2}_{'left' if n % 2 else 'view_b2'}"
        instance(tmp_path / f"images/{name}.dcm", "anonymous", n, study=f"s{n}", modality="DX")
    _, spec, found_people = together(tmp_path)
    assert spec.people.id is not None
    assert {len(one) for one in found_people} == {2}
    assert len(found_people) == 4
