"""Files beside images that are nothing but a value: when that is a class, and when it must not be taken for one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from assets.inspect import class_files, inspect_folder
from assets.raw.lines import only_value
from tests.inspect.folders import drafted, picture, told, volume


def beside(root: Path, values: Sequence[object], name: str = "{}.json", *, plain: bool = False) -> None:
    """An image for every value, and the value in a file of its own."""
    for number, value in enumerate(values, start=101):
        if not (root / f"img/{number}.png").exists():
            picture(root / f"img/{number}.png")
        path = root / name.format(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(value) if plain else json.dumps(value))


def said(root: Path) -> tuple[str, bool]:
    """The task, and whether classes are told."""
    found = inspect_folder(root)
    return found.said("task"), found.classes is not None


@pytest.mark.parametrize(
    "values", [[0, 1, 0], [0.0, 1.0, 0.0, 1.0], ["cyst", "stone", "cyst"], [True, False, True], ["3+4", "4+3", "3+4"]]
)
def test_a_json_file_beside_every_image(values: list[object], tmp_path: Path) -> None:
    beside(tmp_path, values, "answers/{}/risk.json")
    found, spec, tree = drafted(tmp_path)
    names = [str(value).removesuffix(".0").lower() for value in values]
    assert found.said("task") == "classification"
    assert told(spec, tree) == {str(number): name for number, name in enumerate(names, start=101)}
    assert spec.classes is not None
    assert spec.classes.lines is not None
    assert (spec.classes.lines.file, spec.classes.lines.key) == ("answers/{subject}/risk.json", "")
    assert spec.layout.ignore["answers/*/risk.json"] == "the classes are taken from it"
    assert next(e for e in found.evidence if e.field == "classes").confidence == 0.5


def test_texts_called_like_a_class_beside_pictures(tmp_path: Path) -> None:
    for number, value in enumerate("0120120"):
        picture(tmp_path / f"train/{number:06d}.jpg")
        (tmp_path / f"train/{number:06d}.cls").write_text(value)
    found, spec, tree = drafted(tmp_path)
    assert found.said("task") == "classification"
    assert told(spec, tree) == {f"{number:06d}": value for number, value in enumerate("0120120")}
    assert next(e for e in found.evidence if e.field == "classes").confidence == 0.7


def test_one_file_for_all_volumes_of_a_patient(tmp_path: Path) -> None:
    for patient, grade in {"001": "II", "002": "IV", "003": "II"}.items():
        for name in ("t1", "t2"):
            volume(tmp_path / f"patient_{patient}/{name}.nii.gz")
        (tmp_path / f"patient_{patient}/grade.txt").write_text(grade + "\n")
    _, spec, tree = drafted(tmp_path)
    assert told(spec, tree) == {"001": "II", "002": "IV", "003": "II"}


def test_a_class_beside_other_values_is_known_by_what_it_is_called(tmp_path: Path) -> None:
    beside(tmp_path, [41, 67, 41, 58], "about/{}/age.json")
    beside(tmp_path, ["a", "b", "a", "b"], "about/{}/reader.json")
    beside(tmp_path, [1, 5, 1, 5], "about/{}/isup-grade.json")
    _, spec, tree = drafted(tmp_path)
    assert told(spec, tree) == {"101": "1", "102": "5", "103": "1", "104": "5"}


def test_of_several_values_none_is_chosen_and_that_is_said(tmp_path: Path) -> None:
    beside(tmp_path, [0, 1, 0], "about/{}/outcome_a.json")
    beside(tmp_path, [1, 1, 0], "about/{}/outcome_b.json")
    found = inspect_folder(tmp_path)
    assert (found.said("task"), found.classes) == ("", None)
    why = next(u.why for u in found.unknown if u.field == "classes")
    assert "outcome_a.json" in why
    assert "outcome_b.json" in why


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ([0.1, 0.7, 0.1, 0.1], "{}.json"),
        ([0, 1, 0.4, 0], "{}.json"),
        (["0.5", "1e-3", "0.5"], "{}.json"),
        ([57, 61, 57, 57], "{}.json"),
        ([5, 6, 5, 6], "about/{}/age.json"),
        ([5, 6, 5, 6], "about/{}/PatientAge.json"),
        ([2, 3, 2, 2], "about/{}/image_count.json"),
        ([4, 8, 4, 8], "patients/{}/patient_id.json"),
        ([1, 2, 3, 4], "label/{}.json"),
        (["P1", "P2", "P3", "P4"], "label/{}.json"),
        (["P1", "P2", "P3", "P1"], "label/{}.json"),
        ([f"{n}" for n in range(12)], "label/{}.json"),
        ([1024, 2048, 1024, 1024], "label/{}.json"),
        ([7, 7, 7, 7], "label/{}.json"),
        (["M", "F", "F", "M"], "{}.json"),
        (["left", "right", "right", "left"], "{}.json"),
        (["train", "test", "train", "train"], "{}.json"),
        (["CT", "MR", "CT", "CT"], "{}.json"),
        (["t1", "FLAIR", "t1", "t1"], "{}.json"),
        (["2019-03-01", "2019-04-01", "2019-03-01"], "{}.json"),
        (["1.2.840.1", "1.2.840.2", "1.2.840.1"], "{}.json"),
        (["a/b.png", "a/c.png", "a/b.png"], "{}.json"),
        (["https://x.org/a", "https://x.org/b", "https://x.org/a"], "{}.json"),
        (["the left kidney shows a stone of 4 mm", "normal", "normal", "normal"], "{}.json"),
        (["NaN", "1", "NaN", "1"], "{}.json"),
        ([None, None, 1, 0, 1, 0], "{}.json"),
        (["", "a", "a", ""], "{}.json"),
        ([{"class": 1}, 0, 1, 0], "{}.json"),
        ([[0], [1], [0]], "{}.json"),
    ],
)
def test_values_that_are_no_class(values: list[object], name: str, tmp_path: Path) -> None:
    beside(tmp_path, values, name)
    assert said(tmp_path) == ("", False)


@pytest.mark.parametrize(
    "values",
    [
        ["0 0.5 0.5 0.1 0.1", "1 0.5 0.5 0.1 0.1", "0 0.5 0.5 0.1 0.1"],
        ["0 1 2", "0 1 3", "0 1 2"],
        ["a,b", "a,c", "a,b"],
        ["key: a", "key: b", "key: a"],
        ["<a/>", "<b/>", "<a/>"],
        ["a\nb", "a\nc", "a\nb"],
        ["nan", "inf", "nan"],
    ],
)
def test_texts_that_are_no_class(values: list[object], tmp_path: Path) -> None:
    beside(tmp_path, values, "labels/{}.txt", plain=True)
    assert said(tmp_path) == ("", False)


def test_a_value_that_repeats_what_the_path_says(tmp_path: Path) -> None:
    for patient in (1, 2, 3):
        for visit in (1, 2, 3):
            picture(tmp_path / f"patient_{patient:02d}/visit_{visit}.png")
            (tmp_path / f"patient_{patient:02d}/visit_{visit}.json").write_text(str(patient))
    assert said(tmp_path) == ("", False)


@pytest.mark.parametrize("odd", [b"", b"{}", b"\xff\xfe\x00", b"[" * 4000, b" " * 5000 + b"1", b"1e999"])
def test_one_file_that_is_no_value(odd: bytes, tmp_path: Path) -> None:
    beside(tmp_path, [0, 1, 0, 1, 0])
    (tmp_path / "103.json").write_bytes(odd)
    assert said(tmp_path) == ("", False)


def test_a_huge_file_and_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    for name in ("huge", "link"):
        beside(tmp_path / name, [0, 1, 0, 1, 0])
    with (tmp_path / "huge/103.json").open("wb") as file:
        file.truncate(1 << 40)
    (tmp_path / "link/103.json").unlink()
    (tmp_path / "link/103.json").symlink_to("nowhere")
    assert [said(tmp_path / name) for name in ("huge", "link")] == [("", False)] * 2


def test_few_images_with_a_value(tmp_path: Path) -> None:
    beside(tmp_path, [0, 1, 0, 1])
    for number in range(105, 112):
        picture(tmp_path / f"img/{number}.png")
    assert said(tmp_path) == ("", False)


def test_nearly_all_images_with_a_value(tmp_path: Path) -> None:
    beside(tmp_path, [0, 1] * 8)
    picture(tmp_path / "img/201.png")
    _, spec, tree = drafted(tmp_path)
    assert spec.classes is not None
    assert spec.classes.missing == "none"
    assert len(told(spec, tree)) == 16


def test_a_bounded_number_of_files_is_read_all_over_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside(tmp_path, [0] * 50 + [1] * 50)
    opened: list[str] = []

    def counted(path: Path) -> str | None:
        opened.append(path.name)
        return only_value(path)

    monkeypatch.setattr(class_files, "only_value", counted)
    found, spec, tree = drafted(tmp_path)
    assert len(opened) == len(set(opened)) == 40
    assert {"101.json", "200.json"} <= set(opened)
    assert [u.why for u in found.unknown if u.field == "classes"] == [
        "60 of 100 files with a class were not read, and may say further ones"
    ]
    assert sorted(told(spec, tree).values()) == ["0"] * 50 + ["1"] * 50


def test_label_maps_beside_files_with_nothing_but_a_class_leave_the_task_open(tmp_path: Path) -> None:
    for number, value in enumerate("01011", start=101):
        volume(tmp_path / f"images/{number}.nii.gz")
        volume(tmp_path / f"masks/{number}.nii.gz", ids=(1, 2))
        (tmp_path / f"{number}.json").write_text(value)
    found, spec, _ = drafted(tmp_path)
    assert found.said("task") == ""
    assert any(u.field == "task" and "nothing but a class" in u.why for u in found.unknown)
    assert (found.classes, spec.classes) == (None, None)
    assert spec.layout.labels


def test_folders_of_classes_say_them_and_not_the_files_beside(tmp_path: Path) -> None:
    for number, name in enumerate(["cyst", "stone", "cyst", "stone"]):
        picture(tmp_path / f"{name}/{number:03d}.png")
        (tmp_path / f"{name}/{number:03d}.json").write_text(str(number % 2))
    _, spec, _ = drafted(tmp_path)
    assert spec.classes is not None
    assert spec.classes.names == ("cyst", "stone")
