"""Who is behind a subject, and what the authors' own division says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assets.official_split import SplitUnknownError, official_split
from assets.people import PeopleUnknownError, people
from assets.spec import DatasetSpec, load_catalog
from tests.data_makers.workbook import write_workbook
from tests.inspect.folders import instance

KITS = load_catalog()["kits23"].model_dump(exclude_defaults=True) | {"mds": None}
NAMES = ["case_00001", "case_00002", "case_00003"]


def spec(**parts: Any) -> DatasetSpec:
    return DatasetSpec.model_validate({**KITS, **parts})


def test_without_a_rule_every_subject_is_a_person(tmp_path: Path) -> None:
    assert people(spec(people={}), tmp_path, NAMES) == {name: name for name in NAMES}


def test_an_id_is_found_in_the_name(tmp_path: Path) -> None:
    assert people(spec(people={"id": r"\d{3}$"}), tmp_path, NAMES) == dict(zip(NAMES, ["001", "002", "003"], strict=True))
    with pytest.raises(PeopleUnknownError, match="case_00001"):
        people(spec(people={"id": "[A-Z]+"}), tmp_path, NAMES)


def test_left_and_right_have_numbers_in_a_row_and_are_one_person(tmp_path: Path) -> None:
    pairs = spec(people={"id": r"\d+$", "consecutive": 2})
    names = ["case_00001", "case_00002", "case_00003", "case_00010"]
    assert people(pairs, tmp_path, names) == dict(zip(names, ["1", "1", "2", "5"], strict=True))
    with pytest.raises(PeopleUnknownError, match="must be numbers, unlike those of case_00001"):
        people(spec(people={"consecutive": 2, "id": "case_.*"}), tmp_path, NAMES[:1])


def test_a_table_names_the_person_and_must_name_all(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("case;who;age\ncase_00001;7;60\ncase_00002;7;61\ncase_00003;8;50\n")
    table = {"file": "people.csv", "subject": "case", "person": "who", "separator": ";"}
    assert people(spec(people={"table": table}), tmp_path, NAMES) == dict(zip(NAMES, ["7", "7", "8"], strict=True))
    with pytest.raises(PeopleUnknownError, match="case_00004"):
        people(spec(people={"table": table}), tmp_path, [*NAMES, "case_00004"])
    with pytest.raises(PeopleUnknownError, match=r"absent\.csv"):
        people(spec(people={"table": {**table, "file": "absent.csv"}}), tmp_path, NAMES)
    with pytest.raises(PeopleUnknownError, match="patient"):
        people(spec(people={"table": {**table, "person": "patient"}}), tmp_path, NAMES)


def test_several_tables_name_people_by_a_part_of_the_name(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("SubjectID,CMT-ID\n9000001,001\n9000002, 2\n")
    write_workbook(tmp_path / "test.xlsx", [["SubjectID", "CMT-ID"], [9000010, 10], [9000002, 20]])
    tables = [
        {"file": name, "subject": "CMT-ID", "match": r"[1-9]\d*$", "person": "SubjectID"} for name in ("train.csv", "test.xlsx")
    ]
    names = ["case_00001", "case_00002", "case_00010", "case_00020"]
    said = people(spec(people={"tables": tables}), tmp_path, names)
    assert said == dict(zip(names, ["9000001", "9000002", "9000010", "9000002"], strict=True))
    with pytest.raises(PeopleUnknownError, match=r"train\.csv or test\.xlsx .* case_00003"):
        people(spec(people={"tables": tables}), tmp_path, NAMES)


def test_tables_that_contradict_one_another_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("case,who\ncase_00001,7\n")
    (tmp_path / "b.csv").write_text("case,who\ncase_00001,8\n")
    tables = [{"file": name, "subject": "case", "person": "who"} for name in ("a.csv", "b.csv")]
    with pytest.raises(PeopleUnknownError, match="gives case_00001 to several people: 7, 8"):
        people(spec(people={"tables": tables}), tmp_path, NAMES[:1])
    with pytest.raises(ValueError, match="named in one way, not by `tables` and `id`"):
        spec(people={"tables": tables, "id": r"\d+"})


def test_official_splits_come_from_lists_tables_and_roots(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("case_00001\n")
    (tmp_path / "b.json").write_text(json.dumps({"images": [{"file_name": "x/case_00002.h5"}, {"file_name": "case_00009.h5"}]}))
    (tmp_path / "meta.csv").write_text("id,set\ncase_00001,val\ncase_00003,test\n")
    files = {name: [f"Tr/{name}.nii.gz"] for name in NAMES[:2]} | {NAMES[2]: [f"Ts/{NAMES[2]}.nii.gz"]}
    lists = spec(split={"official": {"files": {"train": "a.txt"}}})
    assert official_split(lists, tmp_path, files) == {"case_00001": "train"}
    listed = spec(split={"official": {"files": {"val": "b.json"}, "each": "images[].file_name"}})
    assert official_split(listed, tmp_path, files) == {"case_00002": "val"}
    table = spec(split={"official": {"table": {"file": "meta.csv", "subject": "id", "split": "set"}}})
    assert official_split(table, tmp_path, files) == {"case_00001": "val", "case_00003": "test"}
    layout = {"subject": r"case_\d{5}", "roots": ["Tr", "Ts"], "series": {"ct": "{root}/{subject}.nii.gz"}}
    roots = spec(layout=layout, labels={}, lesions=[], split={"official": {"roots": {"Tr": "train", "Ts": "test"}}})
    assert official_split(roots, tmp_path, files) == dict(zip(NAMES, ["train", "train", "test"], strict=True))


def test_an_official_split_that_cannot_be_read_or_contradicts_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("case_00001\n")
    files: dict[str, list[str]] = {name: [] for name in NAMES}
    with pytest.raises(SplitUnknownError, match="two official splits"):
        official_split(spec(split={"official": {"files": {"train": "a.txt", "test": "a.txt"}}}), tmp_path, files)
    with pytest.raises(SplitUnknownError, match=r"absent\.txt"):
        official_split(spec(split={"official": {"files": {"train": "absent.txt"}}}), tmp_path, files)
    (tmp_path / "empty.txt").write_text("nobody\n")
    with pytest.raises(SplitUnknownError, match="names no subject"):
        official_split(spec(split={"official": {"files": {"train": "empty.txt"}}}), tmp_path, files)


def of_instances(**parts: Any) -> DatasetSpec:
    said = dict.fromkeys(("name", "version", "licence", "modality", "anatomy", "description"), "made up")
    return DatasetSpec.model_validate({"slug": "made_up", **said, "access": "open", "sources": [], **parts})


def test_a_header_names_the_person_of_files_whose_names_do_not(tmp_path: Path) -> None:
    for number, patient in enumerate(["Doe", "Roe", "Doe"], start=1):
        instance(tmp_path / f"I{number}.dcm", patient, number)
    layout = {"subject": r"I\d", "tags": {"patient": "PatientID"}, "series": {"ct": "{subject}.dcm"}}
    by_header = of_instances(layout=layout, people={"field": "patient"})
    assert people(by_header, tmp_path, ["I1", "I2", "I3"]) == {"I1": "Doe", "I2": "Roe", "I3": "Doe"}
    instance(tmp_path / "I4.dcm", "", 4)
    with pytest.raises(PeopleUnknownError, match="field patient of made_up says nothing of I4"):
        people(by_header, tmp_path, ["I1", "I4"])
    with pytest.raises(ValueError, match="people are named by the field 'who'"):
        of_instances(layout=layout, people={"field": "who"})


def test_a_field_names_one_person_of_a_subject(tmp_path: Path) -> None:
    for place in ("Doe/a/1", "Roe/b/1", "Roe/b/2"):
        instance(tmp_path / f"{place}.dcm", "none")
    layout = {"subject": "[ab]", "scan": r"\d", "fields": {"who": "[A-Z][a-z]+"}, "series": {"ct": "{who}/{subject}/{scan}.dcm"}}
    by_path = of_instances(layout=layout, people={"field": "who"})
    assert people(by_path, tmp_path, ["a", "b"]) == {"a": "Doe", "b": "Roe"}
    instance(tmp_path / "Poe/b/3.dcm", "none")
    with pytest.raises(PeopleUnknownError, match="gives b to several people: Poe, Roe"):
        people(by_path, tmp_path, ["a", "b"])
