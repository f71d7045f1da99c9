"""Classes under a key of JSON, which no draft can read: they are named, and nothing is made of other keys."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from assets.inspect import inspect_folder
from assets.inspect.draft import as_spec, as_yaml
from assets.inspect.inspection import Inspection
from tests.inspect.folders import picture, volume

KINDS = ["benign", "malignant", "benign", "benign", "malignant", "cyst"]


def beside(root: Path, entries: Sequence[Any], name: str = "im{}.json") -> None:
    """A picture for every entry, and the entry in a file of its own."""
    for number, entry in enumerate(entries, start=101):
        picture(root / f"im{number}.png", seed=number)
        path = root / name.format(number)
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(entry, indent=1))


def why(found: Inspection, field: str = "classes") -> str:
    return "; ".join(unknown.why for unknown in found.unknown if unknown.field == field)


@pytest.mark.parametrize("name", ["im{}.json", "about/{}.json"])
def test_a_key_called_like_a_class_in_a_file_beside_every_image(name: str, tmp_path: Path) -> None:
    beside(tmp_path, [{"age": 50 + n, "label": kind, "sex": "mf"[n % 2]} for n, kind in enumerate(KINDS)], name)
    found = inspect_folder(tmp_path)
    assert (found.said("task"), found.classes) == ("classification", None)
    assert why(found).startswith(f"key 'label' of {name.format('<number>')} (benign, cyst, malignant) tells a class")
    assert f"# unknown: classes: {why(found)}" in as_yaml(found, "draft")
    assert as_spec(found, "draft").classes is None


def test_a_key_inside_another(tmp_path: Path) -> None:
    beside(tmp_path, [{"meta": {"clinical": {"diagnosis": kind, "age_approx": 40}}} for kind in KINDS])
    assert "key 'meta.clinical.diagnosis'" in why(inspect_folder(tmp_path))


def test_of_several_such_keys_none_is_chosen(tmp_path: Path) -> None:
    beside(tmp_path, [{"diagnosis": kind, "grade": n % 3} for n, kind in enumerate(KINDS)])
    found = inspect_folder(tmp_path)
    assert found.said("task") == ""
    assert "key 'diagnosis'" in why(found)
    assert "key 'grade'" in why(found)


@pytest.mark.parametrize(
    "entry",
    [
        {"operator": "A"},
        {"label": "benign"},
        {"label_date": "2020-01-0{}"},
        {"label": "{}"},
        {"age_group": "old{}"},
        {"SeriesDescription": "t{}"},
        {"labels": ["benign"]},
    ],
)
def test_keys_that_say_something_else_are_no_classes(entry: dict[str, Any], tmp_path: Path) -> None:
    (key, value), *_ = entry.items()
    filled = [{key: value.format(101 + n if key == "label" else n % 2) if isinstance(value, str) else value} for n in range(6)]
    beside(tmp_path, filled)
    found = inspect_folder(tmp_path)
    assert (found.said("task"), why(found)) == ("", "")


def test_a_key_that_half_of_the_files_have(tmp_path: Path) -> None:
    beside(tmp_path, [{"label": kind} if n % 2 else {"age": 4} for n, kind in enumerate(KINDS)])
    assert why(inspect_folder(tmp_path)) == ""


@pytest.mark.parametrize("ending", [".png", ""])
@pytest.mark.parametrize("under", ["", "labels"])
def test_one_file_with_an_entry_for_every_image(ending: str, under: str, tmp_path: Path) -> None:
    beside(tmp_path, KINDS, "away/{}.json")
    for path in (tmp_path / "away").iterdir():
        path.unlink()
    listed = {f"im{number}{ending}": kind for number, kind in enumerate(KINDS, start=101)}
    (tmp_path / ("about.json" if under else "labels.json")).write_text(json.dumps({under: listed, "v": 1} if under else listed))
    found = inspect_folder(tmp_path)
    assert found.said("task") == "classification"
    assert "labels.json (benign" in why(found) or "about.json (benign" in why(found)


def test_label_maps_stay_the_task(tmp_path: Path) -> None:
    for number, kind in enumerate(KINDS):
        volume(tmp_path / f"img/{number}.nii.gz")
        volume(tmp_path / f"seg/{number}.nii.gz", ids=(1, 2))
        (tmp_path / f"img/{number}.json").write_text(json.dumps({"label": kind}))
    assert inspect_folder(tmp_path).said("task") == "segmentation"
