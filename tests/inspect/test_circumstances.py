"""Folders that say where, how or by whom images were taken are no classes, and nobody's name; a table may say the class."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.classes import classes_table
from assets.inspect import inspect_folder
from assets.inspect.circumstances import circumstance_of
from assets.inspect.draft import as_spec, as_yaml
from assets.strategies.candidate import records_of
from tests.inspect.folders import drafted, images, picture

APART = [
    ("Hospital_A", "Hospital_B"),
    ("site_01", "site_02"),
    ("Siemens", "GE Healthcare"),
    ("Dr_Smith", "Dr_Jones"),
    ("left", "right"),
    ("axial", "coronal"),
    ("male", "female"),
    ("20x", "40x"),
    ("2018", "2019"),
    ("batchA", "batchB"),
    ("arm1", "arm2"),
    ("original", "augmented"),
]


def under(root: Path, folders: tuple[str, ...], *, again: bool = False) -> None:
    """Six pictures in each folder, with names of their own or the same again."""
    for number, folder in enumerate(folders):
        for n in range(6):
            picture(root / folder / f"i{n if again else 10 * number + n:03}.png", seed=10 * number + n)


@pytest.mark.parametrize("folders", APART, ids=lambda names: names[0])
def test_folders_that_say_how_images_were_taken_are_no_classes_and_are_offered(tmp_path: Path, folders: tuple[str, ...]) -> None:
    under(tmp_path, folders)
    found, spec, tree = drafted(tmp_path)
    assert spec.classes is None
    assert found.said("task") == ""
    assert len(images(tree)) == 12
    assert len(tree.subjects) == 12
    assert any(u.field == "classes" and folders[0] in u.why for u in found.unknown)
    assert {"classes": {"names": sorted(folders), "field": "{folder}"}} in [one.fields for one in found.candidates]
    assert "# unknown: classes: folders say" in as_yaml(found, "draft")


@pytest.mark.parametrize(
    "folders",
    [("benign", "malignant"), ("left ventricle", "right ventricle"), ("good_quality", "poor_quality"), ("group_A", "group_B")],
    ids=lambda names: names[0],
)
def test_folders_that_say_anything_else_may_be_classes(tmp_path: Path, folders: tuple[str, ...]) -> None:
    assert circumstance_of(folders) == ""
    under(tmp_path, folders)
    spec = as_spec(inspect_folder(tmp_path), "draft")
    assert spec.classes is not None
    assert spec.classes.names == folders


def test_words_of_no_known_meaning_are_trusted_less_than_those_of_conditions(tmp_path: Path) -> None:
    under(tmp_path / "towns", ("Berlin", "Madrid"))
    under(tmp_path / "conditions", ("benign", "malignant"))
    towns, conditions = (
        {e.field: e.confidence for e in inspect_folder(tmp_path / name).evidence} for name in ("towns", "conditions")
    )
    assert towns["classes"] < conditions["classes"]
    assert towns["task"] == towns["classes"]


def test_equal_names_of_two_hospitals_are_two_people(tmp_path: Path) -> None:
    under(tmp_path, ("Hospital_A", "Hospital_B"), again=True)
    found, _, tree = drafted(tmp_path)
    assert len(tree.subjects) == 12
    assert any(u.field == "people" and "a place" in u.why for u in found.unknown)


def test_equal_names_of_two_views_are_one_person(tmp_path: Path) -> None:
    under(tmp_path, ("AP", "lateral"), again=True)
    _, _, tree = drafted(tmp_path)
    assert [len(subject.scans) for subject in tree.subjects.values()] == [2] * 6


@pytest.mark.parametrize("folders", [("Hospital_A", "Hospital_B"), ("Berlin", "Madrid")], ids=lambda names: names[0])
def test_a_table_of_every_image_tells_the_class_rather_than_names_of_places(tmp_path: Path, folders: tuple[str, ...]) -> None:
    under(tmp_path, folders)
    rows = {f"i{10 * number + n:03}": ("benign", "malignant")[n % 2] for number in range(2) for n in range(6)}
    (tmp_path / "labels.csv").write_text("image,diagnosis\n" + "".join(f"{k}.png,{v}\n" for k, v in reversed(rows.items())))
    _, spec, tree = drafted(tmp_path)
    assert spec.classes is not None
    assert spec.classes.names == ("benign", "malignant")
    rows_told, findings = classes_table(spec, tree, set(tree.subjects), lambda _, __: None)
    assert not findings
    assert sorted(rows_told["class"]) == ["benign"] * 6 + ["malignant"] * 6


def test_folders_of_conditions_that_a_table_agrees_with_stay_the_class(tmp_path: Path) -> None:
    under(tmp_path, ("sane", "ill"))
    rows = {f"i{10 * number + n:03}": name for number, name in enumerate(("0", "1")) for n in range(6)}
    (tmp_path / "labels.csv").write_text("image,class\n" + "".join(f"{k},{v}\n" for k, v in rows.items()))
    spec = as_spec(inspect_folder(tmp_path), "draft")
    assert spec.classes is not None
    assert spec.classes.names == ("ill", "sane")


def test_a_table_that_contradicts_folders_of_conditions_is_said(tmp_path: Path) -> None:
    under(tmp_path, ("benign", "malignant"))
    rows = {f"i{10 * number + n:03}": ("grade 1", "grade 2")[n % 2] for number in range(2) for n in range(6)}
    (tmp_path / "labels.csv").write_text("image,grade\n" + "".join(f"{k},{v}\n" for k, v in rows.items()))
    found = inspect_folder(tmp_path)
    assert found.classes is not None
    assert found.classes.names == ("benign", "malignant")
    assert any(u.field == "classes" and "labels.csv" in u.why for u in found.unknown)


def test_numbered_folders_without_a_word_for_a_person_leave_people_open(tmp_path: Path) -> None:
    under(tmp_path, ("512", "1024"), again=True)
    assert any(u.field == "people" and "no word says" in u.why for u in inspect_folder(tmp_path).unknown)


def test_images_beside_folders_of_classes_with_the_same_names_are_left_out_and_said(tmp_path: Path) -> None:
    under(tmp_path / "set", ("benign", "malignant"), again=True)
    for n in range(6):
        picture(tmp_path / f"set/i{n:03}.png", seed=50 + n)
    found, spec, tree = drafted(tmp_path / "set")
    assert len(spec.layout.series) == 1
    assert len(images(tree)) == 12
    assert any(u.field == "layout" and "6 of 18 images are not used" in u.why for u in found.unknown)
    records = records_of(spec, tmp_path / "set", tmp_path / "work")
    assert len(list((records / "standardized_annotations").iterdir())) == 12
