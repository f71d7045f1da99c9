"""Folders of subjects that are called by words, and folders of kinds and classes that look like them."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.inspect import inspect_folder
from assets.inspect.draft import as_yaml
from assets.inspect.grouping import gathered
from assets.inspect.named_folders import with_named_folders
from tests.inspect.folders import drafted, images, pairs, picture, volume

PEOPLE = ("Mueller", "Schmidt", "Meier", "Bauer")


def shapes(*paths: str) -> set[str]:
    """The shapes of the groups that paths become."""
    return {group.shape for group in with_named_folders(gathered(paths)[0])}


def below(folders: tuple[str, ...], *names: str) -> list[str]:
    return [f"{folder}/{name}" for folder in folders for name in names]


@pytest.mark.parametrize(
    "people",
    [
        PEOPLE,
        ("Müller", "Jürgen Groß", "Åse", "Łukasz"),
        ("张三", "李四", "王五"),
        ("p1", "p2", "p3", "p4", "Müller"),
        ("Hand", *(name + more for name in PEOPLE for more in ("", "son", "mann"))),
    ],
)
def test_folders_called_by_words_are_subjects(people: tuple[str, ...], tmp_path: Path) -> None:
    for name in people:
        volume(tmp_path / f"{name}/ct.nii.gz")
        volume(tmp_path / f"{name}/mask.nii.gz", ids=(1, 2))
        (tmp_path / f"{name}/report.txt").write_text("seen")
    found, spec, tree = drafted(tmp_path)
    assert found.said("task") == "segmentation"
    assert set(tree.subjects) == set(people)
    assert pairs(spec, tree) == {(f"{name}/ct.nii.gz", f"{name}/mask.nii.gz") for name in people}
    assert spec.people.unit == "person"
    assert "evidence: layout.subject = folder" in as_yaml(found, "draft")


def test_pictures_parts_of_a_split_and_names_that_are_repeated(tmp_path: Path) -> None:
    for n, name in enumerate(PEOPLE):
        part = "train" if n < 2 else "test"
        picture(tmp_path / f"{part}/{name}/{name}_image.png", seed=n)
        picture(tmp_path / f"{part}/{name}/{name}_mask.png", mask=True, seed=n)
    _, spec, tree = drafted(tmp_path)
    assert set(tree.subjects) == set(PEOPLE)
    assert len(pairs(spec, tree)) == 4


def test_sequences_below_the_folders_of_people_are_series(tmp_path: Path) -> None:
    for name in PEOPLE:
        for sequence in ("t1", "flair", "t2"):
            volume(tmp_path / f"{name}/anat/{sequence}.nii.gz")
    _, spec, tree = drafted(tmp_path)
    assert set(tree.subjects) == set(PEOPLE)
    assert (len(spec.layout.series), len(images(tree))) == (3, 12)


@pytest.mark.parametrize(
    "paths",
    [
        below(("arterial", "venous", "delayed"), "case_01.nii.gz", "case_02.nii.gz", "case_03.nii.gz"),
        below(("arterial", "venous", "delayed"), "Mueller.nii.gz", "Schmidt.nii.gz", "Meier.nii.gz"),
        below(("T1", "FLAIR", "native"), "scan.nii.gz", "mask.nii.gz"),
        below(("Heart", "Brain", "Liver"), "image.png", "mask.png"),
        below(("case_1", "case_2", "case_3"), "aorta/mask.nii.gz", "femur/mask.nii.gz", "rib/mask.nii.gz"),
        below(("p1", "p2", "p3", "p4"), "ct.nii.gz", "mask.nii.gz"),
        below(("cyst", "stone", "gland"), "im_1.png", "im_2.png"),
        below(("Mueller", "Schmidt"), "ct.nii.gz", "mask.nii.gz"),
        ["cyst/a.png", "stone/b.png", "gland/c.png", "cyst/d.png"],
        below(PEOPLE, "report.txt"),
    ],
)
def test_other_folders_stay_what_they_are(paths: list[str]) -> None:
    assert shapes(*paths) == {group.shape for group in gathered(paths)[0]}


def test_people_below_folders_of_kinds_are_found_there() -> None:
    phases = below(("arterial", "venous", "delayed"), "Mueller/ct.nii.gz", "Schmidt/ct.nii.gz", "Meier/ct.nii.gz")
    assert shapes(*phases) == {f"{phase}/<free>/ct.nii.gz" for phase in ("arterial", "venous", "delayed")}


def test_endings_with_digits_are_no_numbers_of_files() -> None:
    assert shapes(*below(PEOPLE, "left.mp4", "image.mp4")) == {"<free>/left.mp4", "<free>/image.mp4"}


def test_the_draft_is_complete_so_that_nothing_is_said_to_be_missing(tmp_path: Path) -> None:
    for name in PEOPLE:
        volume(tmp_path / f"{name}/ct.nii.gz")
        volume(tmp_path / f"{name}/mask.nii.gz", ids=(1,))
    assert not [one for one in inspect_folder(tmp_path).unknown if one.field == "layout"]
