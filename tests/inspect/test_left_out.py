"""What a draft leaves out, or cannot join, it says; it is no class, and no other task."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat

from assets.inspect import inspect_folder
from assets.inspect.draft import as_spec
from assets.inspect.inspection import Inspection
from tests.inspect.folders import drafted, images, picture, volume


def doubts(found: Inspection, field: str) -> list[str]:
    return [unknown.why for unknown in found.unknown if unknown.field == field]


def test_grades_around_the_folders_of_subjects_are_no_classes_of_their_series(tmp_path: Path) -> None:
    """The layout of BraTS 2018: sequences and label map of a subject in one folder, in a folder of the grade."""
    for grade in ("HGG", "LGG"):
        for number in (1, 2, 3):
            for kind in ("t1", "t2", "flair", "seg"):
                name = f"Brats18_{grade}_{number}"
                volume(tmp_path / grade / name / f"{name}_{kind}.nii.gz", ids=(1, 2) if kind == "seg" else ())
    found, spec, tree = drafted(tmp_path)
    assert found.said("task") == "segmentation"
    assert spec.classes is None
    assert set(spec.layout.series) == {"t1", "t2", "flair"}
    assert not any("seg" in path for path in images(tree))
    assert any("9 of 18 images are not used" in why for why in doubts(found, "layout"))
    assert any("3 of 6 label maps are not used" in why for why in doubts(found, "layout"))


def test_the_same_names_under_another_ending_are_no_class(tmp_path: Path) -> None:
    for number in range(6):
        for side in ("OD", "OS"):
            picture(tmp_path / f"disc/{number:04}_{side}.png", mask=True)
            (tmp_path / "fundus").mkdir(exist_ok=True)
            pixels = np.random.default_rng(number).integers(0, 255, (9, 8)).astype(np.uint8)
            Image.fromarray(pixels).save(tmp_path / f"fundus/{number:04}_{side}.jpg")
    found = inspect_folder(tmp_path)
    assert found.said("task") == ""
    assert as_spec(found, "draft").classes is None


def test_classes_whose_pictures_are_numbered_anew_stay_classes(tmp_path: Path) -> None:
    for folder in ("benign", "malignant"):
        for number in (1, 2, 3):
            picture(tmp_path / folder / f"{number}.png")
    found = inspect_folder(tmp_path)
    assert found.said("task") == "classification"


def test_data_types_of_bids_are_no_classes(tmp_path: Path) -> None:
    for person in range(1, 7):
        volume(tmp_path / f"sub-{person:03}/anat/sub-{person:03}_T1w.nii.gz")
        if person % 3:
            volume(tmp_path / f"sub-{person:03}/func/sub-{person:03}_task-rest_bold.nii.gz")
    found = inspect_folder(tmp_path)
    assert found.said("task") == ""
    assert as_spec(found, "draft").classes is None


def test_label_maps_that_belong_to_no_image_leave_the_task_open(tmp_path: Path) -> None:
    for folder in ("benign", "malignant"):
        for number in (1, 2, 3):
            picture(tmp_path / folder / f"{folder[0]}{number}.png")
    for number in range(3):
        picture(tmp_path / f"masks/x{number}q.png", mask=True)
    found = inspect_folder(tmp_path)
    assert found.said("task") == ""
    assert any("the draft gives them to no image" in why for why in doubts(found, "task"))


def test_a_file_of_several_arrays_needs_a_key_and_the_draft_says_so(tmp_path: Path) -> None:
    for name in (1, 2, 3):
        savemat(tmp_path / f"scan_{name}.mat", {"map": np.zeros((4, 5)), "axis": np.ones((4, 2))})
    assert any("`key` must say which" in why for why in doubts(inspect_folder(tmp_path), "layout"))


@pytest.mark.parametrize("n_left", [0, 4])
def test_nothing_is_said_where_nothing_is_left(tmp_path: Path, n_left: int) -> None:
    for number in range(8):
        volume(tmp_path / f"images/{number:03}.nii.gz")
        volume(tmp_path / f"labels/{number:03}.nii.gz", ids=(1, 2))
    for number in range(n_left):
        volume(tmp_path / f"odd/what/x{number}_y.nii.gz")
    assert any("are not used" in why for why in doubts(inspect_folder(tmp_path), "layout")) is bool(n_left)
