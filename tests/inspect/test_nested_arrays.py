"""Images and label maps that are arrays in structures and groups: told apart by their paths, or called unknown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy.io import savemat

from assets.inspect import Inspection, inspect_folder
from assets.inspect.draft import as_spec, as_yaml
from assets.raw import discover
from assets.spec import DatasetSpec
from tests.inspect.folders import pairs, told

Array = npt.NDArray[Any]
MATLAB_7_3 = b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Tue Dec  1 00:00:00 2026 HDF5 schema 1.00 ."


def noise(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).random(shape or (24, 20)).astype(np.float32)


def mask(*shape: int) -> Array:
    made = np.zeros(shape or (24, 20), np.uint8)
    made[3:9, 4:8] = 1
    return made


def view(number: int | None = None, *, seed: int = 0, **more: Array) -> dict[str, Any]:
    """What MATLAB's app for segmentation leaves, with a number that says a class."""
    picture = noise(seed=seed)
    beside = {} if number is None else {"label": np.uint8(number)}
    return {"OriginalImage": picture, "BW": mask(), "maskedImage": picture * mask(), **beside, **more}


def hdf5(path: Path, arrays: Mapping[str, Any], *, matlab: bool = False) -> None:
    """An HDF5 file; as MATLAB writes it, its header stands before and axes are the other way round."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w", userblock_size=512 if matlab else 0) as file:
        for name, values in arrays.items():
            array = np.asarray(values)
            file[name] = array.T if matlab else array
    if matlab:
        with path.open("r+b") as raw:
            raw.write(MATLAB_7_3.ljust(124) + b"\x00\x02IM")


def brain(number: int, kind: int) -> dict[str, Any]:
    """A slice as the set of brain tumours has it: text and outline are arrays too."""
    return {
        "cjdata/PID": np.array([[ord(sign) for sign in f"{number:06}"]], np.uint16),
        "cjdata/image": (900 * noise(24, 20, seed=number)).astype(np.int16),
        "cjdata/label": np.array([[float(kind)]]),
        "cjdata/tumorBorder": noise(1, 18),
        "cjdata/tumorMask": mask(),
    }


def keys(spec: DatasetSpec) -> tuple[str | None, str | None]:
    return spec.layout.series["image"].key, spec.layout.labels["mask"].key


def doubts(found: Inspection, field: str) -> list[str]:
    return [doubt.why for doubt in found.unknown if doubt.field == field]


def assert_open(root: Path, *names: str) -> Inspection:
    """Nothing says which arrays are meant; those that may be are named."""
    found = inspect_folder(root)
    (why,) = [why for why in doubts(found, "layout") if "`key` must say which is meant" in why]
    assert all(name in why for name in names), why
    assert not as_spec(found, "draft").layout.labels
    return found


def test_a_structure_that_is_called_like_its_file_is_written_as_the_stem(tmp_path: Path) -> None:
    for name in ("knee_a4", "knee_b7", "knee_c9"):
        savemat(tmp_path / f"{name}.mat", {name: {"im0": view()}})
    found = inspect_folder(tmp_path)
    spec = as_spec(found, "draft")
    assert keys(spec) == ("{stem}/im0/OriginalImage", "{stem}/im0/BW")
    assert (spec.layout.series["image"].axes, list(spec.labels)) == ("yx", [1])
    assert len(pairs(spec, discover(spec, tmp_path))) == 3
    assert found.said("task") == "segmentation"
    assert any("'{stem}/im0/maskedImage' of equal extents is called less like an image" in e.seen for e in found.evidence)


def test_the_first_view_that_every_file_has_is_taken_and_the_others_are_said_to_be_left(tmp_path: Path) -> None:
    had = {"k1": (1, 2, 10), "k2": (2, 10), "k3": (2,), "k4": (1, 2)}
    for name, numbers in had.items():
        savemat(tmp_path / f"{name}.mat", {name: {f"im{number}": view() for number in numbers}})
    found = inspect_folder(tmp_path)
    assert keys(as_spec(found, "draft")) == ("{stem}/im2/OriginalImage", "{stem}/im2/BW")
    assert any("left are '{stem}/im1', '{stem}/im10'" in why for why in doubts(found, "layout"))


def test_views_of_which_no_file_has_the_same_are_not_chosen_from(tmp_path: Path) -> None:
    for number, name in enumerate(("k1", "k2", "k3")):
        savemat(tmp_path / f"{name}.mat", {name: {f"im{number}": view()}})
    assert_open(tmp_path, "k1/im0/OriginalImage", "k1/im0/BW")


@pytest.mark.parametrize("matlab", [False, True])
def test_groups_that_say_what_lies_in_them_pair_up(tmp_path: Path, *, matlab: bool) -> None:
    for number in range(3):
        arrays = {"images/t1": noise(24, 20, 22), "labels/seg": mask(24, 20, 22), "info/spacing": np.ones(3)}
        hdf5(tmp_path / f"s{number}{'.mat' if matlab else '.h5'}", arrays, matlab=matlab)
    found = inspect_folder(tmp_path)
    assert keys(as_spec(found, "draft")) == ("images/t1", "labels/seg")
    assert found.said("task") == "segmentation"


def test_a_number_called_like_a_class_beside_image_and_mask_leaves_the_task_open(tmp_path: Path) -> None:
    for number in range(1, 7):
        part = "brainTumorDataPublic_1-3" if number < 4 else "brainTumorDataPublic_4-6"
        hdf5(tmp_path / part / f"{number}.mat", brain(number, 1 + number % 3), matlab=True)
    found = inspect_folder(tmp_path)
    spec = as_spec(found, "draft")
    assert keys(spec) == ("cjdata/image", "cjdata/tumorMask")
    assert (found.said("task"), spec.classes) == ("", None)
    assert any("the number 'cjdata/label', which is called like a class" in why for why in doubts(found, "task"))
    assert len(pairs(spec, discover(spec, tmp_path))) == 6


@pytest.mark.parametrize("number", [np.int64(2), np.array([2])])
def test_a_number_whose_value_no_reader_gives_leaves_it_open_too(tmp_path: Path, number: Any) -> None:
    for name in ("a1", "a2", "a3"):
        np.savez(tmp_path / f"{name}.npz", image=noise(), mask=mask(), label=number)
    found = inspect_folder(tmp_path)
    assert keys(as_spec(found, "draft")) == ("image", "mask")
    assert found.said("task") == ""


@pytest.mark.parametrize("number", [1234.0, 0.25])
def test_a_number_that_is_no_class_says_nothing(tmp_path: Path, number: float) -> None:
    for name in ("a1", "a2", "a3"):
        savemat(tmp_path / f"{name}.mat", {"record": view(label=np.array(number))})
    assert inspect_folder(tmp_path).said("task") == "segmentation"


PATIENTS = {"001": ("Normal", 7), "010": ("Type 2", 2), "052": ("Type 2", 2), "186": ("Type 6", 6)}


def fractures(root: Path, columns: Mapping[str, list[str]], *, numbers: bool = True, rows: int = 4) -> Inspection:
    for seed, (patient, (_, kind)) in enumerate(PATIENTS.items()):
        name = f"Patient_ID_{patient}"
        savemat(root / f"{name}.mat", {name: {"im0": view(kind if numbers else None, seed=seed)}})
    table = {"Age": ["10", "1", "186", "52"], "Patient ID": [str(int(patient)) for patient in PATIENTS], **columns}
    pl.DataFrame(table).head(rows).write_csv(root / "clinical.csv")
    return inspect_folder(root)


KINDS = [kind for kind, _ in PATIENTS.values()]
SIDES = ["L", "R", "L", "R"]


def test_images_classified_in_the_container_and_in_a_table_are_for_classification(tmp_path: Path) -> None:
    found = fractures(tmp_path, {"Side": SIDES, "Fracture type": KINDS})
    spec = as_spec(found, "draft")
    (answer,) = [e for e in found.evidence if e.field == "task"]
    assert (answer.said, answer.confidence) == ("classification", 0.4)
    assert "'{stem}/im0/label'" in answer.seen
    assert "column 'Fracture type' of clinical.csv" in answer.seen
    assert keys(spec) == ("{stem}/im0/OriginalImage", "{stem}/im0/BW")
    assert sorted(discover(spec, tmp_path).subjects) == ["1", "10", "186", "52"]
    assert told(spec, discover(spec, tmp_path)) == {"1": "Normal", "10": "Type 2", "52": "Type 2", "186": "Type 6"}
    assert as_yaml(found, "draft").count("{zeros}{subject}") == 2


def test_of_two_columns_called_like_a_class_the_one_that_agrees_with_the_number_is_meant(tmp_path: Path) -> None:
    found = fractures(tmp_path, {"Type of side": SIDES, "Fracture type": KINDS})
    assert found.classes is not None
    assert found.classes.value == "Fracture type"


def test_two_columns_that_agree_are_both_named_and_neither_is_taken(tmp_path: Path) -> None:
    found = fractures(tmp_path, {"Type": [kind[-1] for kind in KINDS], "Fracture type": KINDS})
    assert (found.said("task"), found.classes) == ("", None)
    (why,) = doubts(found, "task")
    assert "column 'Type' of clinical.csv and column 'Fracture type' of clinical.csv agree" in why


def test_a_table_that_contradicts_the_number_leaves_the_task_open(tmp_path: Path) -> None:
    found = fractures(tmp_path, {"Fracture type": ["Normal", "Type 2", "Type 6", "Type 6"]})
    (why,) = doubts(found, "task")
    assert "but not as column 'Fracture type' of clinical.csv does" in why


@pytest.mark.parametrize(("rows", "numbers", "named"), [(3, True, "'{stem}/im0/label'"), (4, False, "column 'Fracture type'")])
def test_where_one_of_the_two_tells_classes_of_all_the_task_is_open(
    tmp_path: Path, rows: int, named: str, *, numbers: bool
) -> None:
    found = fractures(tmp_path, {"Side": SIDES, "Fracture type": KINDS}, numbers=numbers, rows=rows)
    assert (found.said("task"), found.classes) == ("", None)
    (why,) = doubts(found, "task")
    assert named in why


def test_a_table_of_other_numbers_tells_nothing(tmp_path: Path) -> None:
    found = fractures(tmp_path, {"Age": ["1", "10", "52", "186"], "Patient ID": ["a", "b", "c", "d"], "Type": KINDS})
    assert found.said("task") == ""
    (why,) = doubts(found, "task")
    assert "clinical.csv" not in why


@pytest.mark.parametrize(
    "arrays",
    [
        {"g/image_a": noise(), "g/image_b": noise(), "g/mask": mask()},
        {"g/image": noise(), "g/mask": mask(), "g/roi": mask()},
        {"images/t1": noise(), "images/t2": noise(), "labels/seg": mask()},
        {"left/image": noise(), "left/mask": mask(), "right/image": noise(), "right/mask": mask()},
        {"g/image": noise(), "g/mask": noise(12, 10) > 0.5},
        {"g/image": noise(), "g/mask": 900 * noise()},
        {"g/image": noise(), "h/mask": mask()},
    ],
    ids=["two images", "two masks", "two in a group", "two groups", "other extents", "no label map", "groups of no meaning"],
)
def test_arrays_that_nothing_tells_apart_are_named_and_left_open(tmp_path: Path, arrays: Mapping[str, Array]) -> None:
    for number in range(3):
        hdf5(tmp_path / f"s{number}.h5", arrays)
    assert_open(tmp_path, *(f"'{name}'" for name in arrays))


@pytest.mark.parametrize("word", ["patient", "fold_", ""])
def test_numbered_people_shares_and_bare_numbers_are_no_views(tmp_path: Path, word: str) -> None:
    for number in range(3):
        arrays = {f"{word}{n}/{name}": made for n in range(2) for name, made in (("image", noise()), ("mask", mask()))}
        hdf5(tmp_path / f"s{number}.h5", arrays)
    assert_open(tmp_path, f"{word}0/image")


def test_groups_of_a_single_file_are_not_one_image(tmp_path: Path) -> None:
    hdf5(
        tmp_path / "all_1.h5",
        {f"view{n}/{name}": made for n in range(3) for name, made in (("image", noise()), ("mask", mask()))},
    )
    assert_open(tmp_path, "view0/image")


def test_hundreds_of_groups_are_left_open_and_few_of_them_named(tmp_path: Path) -> None:
    for number in range(2):
        with h5py.File(tmp_path / f"s{number}.h5", "w") as file:
            for n in range(600):
                file[f"view{n}/image"], file[f"view{n}/mask"] = np.eye(3), np.eye(3, dtype=np.uint8)
    found = assert_open(tmp_path, "and 1194 more")
    assert len(as_yaml(found, "draft")) < 5000


def test_huge_arrays_are_declared_and_not_read(tmp_path: Path) -> None:
    for number in range(3):
        with h5py.File(tmp_path / f"s{number}.h5", "w") as file:
            for name in ("g/image", "g/mask"):
                file.create_dataset(name, (1 << 20, 1 << 20), np.uint8, chunks=(64, 64))
    found = assert_open(tmp_path, "'g/image'", "'g/mask'")
    assert found.said("task") == ""


def test_a_damaged_file_among_others_is_passed_over(tmp_path: Path) -> None:
    for number in range(5):
        hdf5(tmp_path / f"s{number}.h5", {"g/image": noise(), "g/mask": mask()})
    whole = (tmp_path / "s2.h5").read_bytes()
    (tmp_path / "s2.h5").write_bytes(whole[: len(whole) // 2])
    assert keys(as_spec(inspect_folder(tmp_path), "draft")) == ("g/image", "g/mask")
