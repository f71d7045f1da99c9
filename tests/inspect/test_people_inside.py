"""Files that hold who they are of beside the image: no spec reads it, so no draft says that the file's name is a subject."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat

from tests.inspect.folders import volume
from tests.inspect.test_nested_arrays import hdf5, mask, noise
from tests.inspect.test_people import table, together, untold

Write = Callable[[Path, Mapping[str, Any]], None]


def nested(path: Path, arrays: Mapping[str, Any]) -> None:
    """MATLAB's structure, compressed."""
    savemat(path, {"slice": dict(arrays)}, do_compression=True)


def archive(path: Path, arrays: Mapping[str, Any]) -> None:
    np.savez(path, **arrays)


def grouped(path: Path, arrays: Mapping[str, Any]) -> None:
    """HDF5, which knows texts as bytes."""
    hdf5(path, {name: np.bytes_(value) if isinstance(value, str) else value for name, value in arrays.items()})


WAYS = [
    pytest.param(nested, "mat", "PID", "slice/PID", id="text in MATLAB 5"),
    pytest.param(nested, "mat", "patientID", "slice/patientID", id="other words"),
    pytest.param(grouped, "h5", "patient_id", "patient_id", id="text in HDF5"),
    pytest.param(archive, "npz", "subject", "subject", id="text in NPZ"),
]


def folder(root: Path, write: Write, ending: str, beside: str) -> None:
    for n in range(6):
        write(root / f"{n + 1}.{ending}", {"image": noise(seed=n), "mask": mask(), beside: f"A{n // 2}"})


@pytest.mark.parametrize(("write", "ending", "beside", "key"), WAYS)
def test_who_stands_in_the_file_is_told_and_names_are_no_subjects(
    write: Write, ending: str, beside: str, key: str, tmp_path: Path
) -> None:
    folder(tmp_path, write, ending, beside)
    found, spec, _ = together(tmp_path)
    (line,) = untold(found)
    assert line.startswith(f"1.{ending} holds '{key}', which is called like a person, and no spec can read it")
    assert spec.people.unit == "image"
    assert not found.said("layout.subject")
    assert spec.layout.labels


@pytest.mark.parametrize("beside", ["patient_age", "pattern", "scanner", "label_source", "rapid"])
def test_other_texts_say_nothing_of_people(beside: str, tmp_path: Path) -> None:
    folder(tmp_path, nested, "mat", beside)
    found, _, _ = together(tmp_path)
    assert untold(found) == ["every image has its own name; whether two are of one person is not said"]


def test_a_table_that_says_the_same_is_used(tmp_path: Path) -> None:
    folder(tmp_path, nested, "mat", "PID")
    table(tmp_path / "t.csv", "file,patient_id", [f"{n + 1}.mat,A{n // 2}" for n in range(6)])
    found, spec, people = together(tmp_path)
    assert spec.people.table is not None
    assert people == {frozenset((str(k), str(k + 1))) for k in (1, 3, 5)}
    assert not untold(found)


def test_a_word_for_a_person_before_the_number_is_believed(tmp_path: Path) -> None:
    for n in range(4):
        nested(tmp_path / f"patient_{n}.mat", {"image": noise(seed=n), "mask": mask(), "PID": f"A{n}"})
    found, _, _ = together(tmp_path)
    assert found.said("layout.subject") == "person"
    assert not untold(found)


def test_names_of_volumes_do_not_say_who_is_one_person(tmp_path: Path) -> None:
    for n in range(4):
        volume(tmp_path / f"images/img_{n}.nii.gz")
        volume(tmp_path / f"labels/img_{n}.nii.gz", ids=(1, 2))
    found, _, _ = together(tmp_path)
    assert "whether two are of one person is not said" in "".join(untold(found))
