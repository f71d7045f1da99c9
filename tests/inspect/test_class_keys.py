"""Classes under a key of JSON: which key a draft takes for one, that it reads it, and that nothing is made of other keys."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from assets.inspect import inspect_folder
from assets.inspect.draft import as_spec, as_yaml
from assets.inspect.inspection import Inspection
from tests.inspect.folders import drafted, picture, told, volume

KINDS = ["benign", "malignant", "benign", "benign", "malignant", "cyst"]
OF_IMAGES = {str(number): kind for number, kind in enumerate(KINDS, start=101)}


def beside(root: Path, entries: Sequence[Any], name: str = "im{}.json") -> None:
    """A picture for every entry, and the entry in a file of its own."""
    for number, entry in enumerate(entries, start=101):
        picture(root / f"im{number}.png", seed=number)
        path = root / name.format(number)
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(json.dumps(entry, indent=1))


def in_one(root: Path, listed: Any, name: str = "labels.json", image: str = "im{}.png") -> None:
    """Six pictures, and one file about them."""
    for number in range(101, 107):
        picture(root / image.format(number), seed=number)
    (root / name).write_text(json.dumps(listed))


def why(found: Inspection, field: str = "classes") -> str:
    return "; ".join(unknown.why for unknown in found.unknown if unknown.field == field)


def said(root: Path) -> tuple[str, bool]:
    """The task, and whether classes are told."""
    found = inspect_folder(root)
    return found.said("task"), found.classes is not None


@pytest.mark.parametrize("name", ["im{}.json", "about/{}.json", "about/{}/info.json"])
def test_a_key_called_like_a_class_in_a_file_beside_every_image(name: str, tmp_path: Path) -> None:
    beside(tmp_path, [{"age": 50 + n, "label": kind, "sex": "mf"[n % 2]} for n, kind in enumerate(KINDS)], name)
    found, spec, tree = drafted(tmp_path)
    assert found.said("task") == "classification"
    assert told(spec, tree) == OF_IMAGES
    assert spec.classes is not None
    assert spec.classes.lines is not None
    assert (spec.classes.lines.file, spec.classes.lines.key) == (name.replace("{}", "{subject}"), "label")
    assert spec.layout.ignore[name.format("*")] == "the classes are taken from it"
    (evidence,) = [e for e in found.evidence if e.field == "classes"]
    assert evidence.confidence == 0.6
    assert evidence.seen.startswith(f"key 'label' of {name.format('<number>')} (benign, cyst, malignant) tells a class")
    assert why(found) == ""


def test_a_key_inside_another_and_one_with_a_point_in_its_name(tmp_path: Path) -> None:
    for name, entry in {"inside": {"meta": {"clinical": {"diagnosis": 0}}}, "flat": {"meta.clinical": {"diagnosis": 0}}}.items():
        text = json.dumps(entry)
        beside(tmp_path / name, [json.loads(text.replace("0", json.dumps(kind))) for kind in KINDS])
        _, spec, tree = drafted(tmp_path / name)
        assert told(spec, tree) == OF_IMAGES
        assert spec.classes is not None
        assert spec.classes.lines is not None
        assert spec.classes.lines.key == "meta.clinical.diagnosis"


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([0, 1, 0, 1, 0, 0], ("0", "1")),
        ([0.0, 1.0, 2.0, 0.0, 1, 0], ("0", "1", "2")),
        ([True, False, True] * 2, ("false", "true")),
    ],
)
def test_numbers_and_flags_are_read_as_they_are_drafted(values: list[Any], names: tuple[str, ...], tmp_path: Path) -> None:
    beside(tmp_path, [{"target": value, "score": 0.25} for value in values])
    _, spec, tree = drafted(tmp_path)
    assert spec.classes is not None
    assert spec.classes.names == names
    assert list(told(spec, tree).values()) == [str(value).removesuffix(".0").lower() for value in values]


def test_of_several_such_keys_none_is_chosen(tmp_path: Path) -> None:
    beside(tmp_path, [{"diagnosis": kind, "grade": n % 3} for n, kind in enumerate(KINDS)])
    found = inspect_folder(tmp_path)
    assert found.said("task") == ""
    assert "several keys" in why(found, "task")
    assert "key 'diagnosis'" in why(found)
    assert "key 'grade'" in why(found)
    assert as_spec(found, "draft").classes is None


def test_a_file_beside_and_one_for_all_are_several(tmp_path: Path) -> None:
    beside(tmp_path, [{"diagnosis": kind} for kind in KINDS])
    in_one(tmp_path, dict(zip(OF_IMAGES, (0, 1, 1, 1, 0, 0), strict=True)), "labels.json")
    (tmp_path / "labels.json").write_text((tmp_path / "labels.json").read_text().replace('"1', '"im1'))
    found = inspect_folder(tmp_path)
    assert (found.said("task"), found.classes) == ("", None)
    assert "im<number>.json" in why(found)
    assert "labels.json (0, 1)" in why(found)


@pytest.mark.parametrize(
    "entry",
    [
        {"operator": "A"},
        {"label": "benign"},
        {"label_date": "2020-01-0{}"},
        {"label": "2020-01-0{}"},
        {"label": "{}"},
        {"label": "im{}.png"},
        {"label": "0.{}1"},
        {"label": "a mass of the upper pole, {} cm large, with a smooth and regular border"},
        {"label": "a" * 300 + "{}"},
        {"age_group": "old{}"},
        {"class_of_age": "old{}"},
        {"SeriesDescription": "t{}"},
        {"patient_group_id": "{}"},
        {"image_type": "kind {}"},
        {"file_category": "kind {}"},
        {"MRAcquisitionType": "{}D"},
        {"ReceiveCoilType": "head {}"},
        {"labels": ["benign"]},
        {"label": {"benign": "{}"}},
    ],
)
def test_keys_that_say_something_else_are_no_classes(entry: dict[str, Any], tmp_path: Path) -> None:
    (key, value), *_ = entry.items()
    each_own = value in ("{}", "im{}.png")
    filled = [{key: value.format(101 + n if each_own else n % 2) if isinstance(value, str) else value} for n in range(6)]
    beside(tmp_path, filled)
    found = inspect_folder(tmp_path)
    assert (found.said("task"), why(found)) == ("", "")


@pytest.mark.parametrize(
    "values", [("train", "test"), ("M", "F"), ("left", "right"), ("CT", "MR"), ("t1", "flair"), (None, None)]
)
@pytest.mark.parametrize("one", [True, False])
def test_values_that_are_no_class(values: tuple[Any, Any], one: bool, tmp_path: Path) -> None:
    said_of = [values[number % 2] for number in range(6)]
    if one:
        in_one(tmp_path, {f"im{number}.png": value for number, value in enumerate(said_of, start=101)})
    else:
        beside(tmp_path, [{"label": value} for value in said_of])
    assert said(tmp_path) == ("", False)


def test_a_key_that_half_of_the_files_have(tmp_path: Path) -> None:
    beside(tmp_path, [{"label": kind} if n % 2 else {"age": 4} for n, kind in enumerate(KINDS)])
    found = inspect_folder(tmp_path)
    assert (why(found), found.classes) == ("", None)


def test_a_few_files_without_the_key_and_a_damaged_one_are_said(tmp_path: Path) -> None:
    beside(tmp_path, [{"label": kind} for kind in KINDS * 5] + [{"age": 4}, {"label": ["benign"]}])
    (tmp_path / "im101.json").write_text("{")
    found = inspect_folder(tmp_path)
    assert why(found) == "3 of 32 files that were read have no single value under the key 'label'"
    spec = as_spec(found, "draft")
    assert spec.classes is not None
    assert spec.classes.missing == "none"


def test_of_many_files_some_are_read_and_that_is_said(tmp_path: Path) -> None:
    beside(tmp_path, [{"label": kind} for kind in KINDS * 8])
    found, spec, tree = drafted(tmp_path)
    assert why(found) == "8 of 48 files with a class were not read, and may say further ones"
    assert list(told(spec, tree).values()) == KINDS * 8
    assert "read in 40 of them" in as_yaml(found, "draft")


@pytest.mark.parametrize("odd", [b"", b"[", b'{"label": ' * 50_000, b"\xff\xfe", b'{"label": NaN}', b" " * (1 << 23)])
def test_one_damaged_file_among_few_leaves_the_key_out(odd: bytes, tmp_path: Path) -> None:
    beside(tmp_path, [{"label": kind} for kind in KINDS])
    (tmp_path / "im103.json").write_bytes(odd)
    assert said(tmp_path) == ("", False)


@pytest.mark.parametrize(
    ("key", "match", "image"),
    [
        ("im{}.png", "{name}", "im{}.png"),
        ("im{}", "{stem}", "im{}.png"),
        ("pics/im{}.png", "{path}", "pics/im{}.png"),
        ("{}", "{subject}", "im{}.png"),
        ("./im{}.png", "./{stem}.png", "im{}.png"),
        ("case_{}", "case_{subject}", "case_{}/image.png"),
    ],
)
@pytest.mark.parametrize("under", ["", "labels"])
def test_one_file_with_an_entry_for_every_image(key: str, match: str, image: str, under: str, tmp_path: Path) -> None:
    listed: Mapping[str, Any] = {key.format(number): kind for number, kind in OF_IMAGES.items()}
    name = "about.json" if under else "labels.json"
    in_one(tmp_path, {"v": 1, under: listed} if under else listed, name, image)
    found, spec, tree = drafted(tmp_path)
    assert found.said("task") == "classification"
    assert told(spec, tree) == OF_IMAGES
    assert spec.classes is not None
    assert spec.classes.table is not None
    table = spec.classes.table
    assert (table.file, table.each, table.key, table.value) == (name, f"{under}{{}}", "", "")
    assert table.match == match
    assert next(e for e in found.evidence if e.field == "classes").confidence == 0.6


def test_one_file_with_an_object_for_every_image(tmp_path: Path) -> None:
    entries = {f"im{n}": {"age": int(n) % 7, "found": {"label": kind, "split": "train"}} for n, kind in OF_IMAGES.items()}
    in_one(tmp_path, entries, "about.json")
    _, spec, tree = drafted(tmp_path)
    assert told(spec, tree) == OF_IMAGES
    assert spec.classes is not None
    assert spec.classes.table is not None
    assert spec.classes.table.value == "found.label"


def test_images_of_one_patient_share_an_entry(tmp_path: Path) -> None:
    kinds = {f"case_{number}": kind for number, kind in OF_IMAGES.items()}
    for case in kinds:
        for name in ("front", "side"):
            picture(tmp_path / f"{case}/{name}.png", seed=len(name))
    (tmp_path / "diagnosis.json").write_text(json.dumps(kinds))
    _, spec, tree = drafted(tmp_path)
    assert told(spec, tree) == OF_IMAGES


@pytest.mark.parametrize(
    ("listed", "name"),
    [
        ({str(number): kind for number, kind in enumerate(KINDS, start=100)}, "labels.json"),
        ({"0": "benign", "1": "malignant"}, "labels.json"),
        (dict(list(OF_IMAGES.items())[:3]), "labels.json"),
        ({f"im{n}.png": f"{n}" for n in OF_IMAGES}, "labels.json"),
        ({f"im{n}.png": 40 + int(n) % 2 for n in OF_IMAGES}, "ages.json"),
        ({f"im{n}.png": kind for n, kind in OF_IMAGES.items()}, "notes.json"),
        ({f"im{n}.png": [kind] for n, kind in OF_IMAGES.items()}, "labels.json"),
        ({"a.b": {f"im{n}.png": kind for n, kind in OF_IMAGES.items()}}, "labels.json"),
        ([[f"im{n}.png", kind] for n, kind in OF_IMAGES.items()], "labels.json"),
    ],
)
def test_one_file_that_tells_no_class_of_images(listed: Any, name: str, tmp_path: Path) -> None:
    in_one(tmp_path, listed, name)
    assert said(tmp_path) == ("", False)


def test_an_entry_for_images_of_several_subjects_is_none_for_either(tmp_path: Path) -> None:
    for hospital in ("Hospital_A", "Hospital_B"):
        for number in OF_IMAGES:
            picture(tmp_path / f"{hospital}/im{number}.png", seed=int(number))
    (tmp_path / "labels.json").write_text(json.dumps({f"im{number}.png": kind for number, kind in OF_IMAGES.items()}))
    assert said(tmp_path) == ("", False)
    paths = [f"Hospital_{name}/im{number}.png" for name in "AB" for number in OF_IMAGES]
    (tmp_path / "labels.json").write_text(json.dumps(dict(zip(paths, KINDS * 2, strict=True))))
    assert said(tmp_path) == ("classification", True)


def test_an_image_that_one_file_leaves_out(tmp_path: Path) -> None:
    in_one(tmp_path, {})
    kinds = dict(OF_IMAGES)
    for number in range(107, 118):
        picture(tmp_path / f"im{number}.png", seed=number)
        kinds[str(number)] = KINDS[number % 6]
    del kinds["117"]
    (tmp_path / "labels.json").write_text(json.dumps({f"im{number}.png": kind for number, kind in kinds.items()}))
    _, spec, tree = drafted(tmp_path)
    assert spec.classes is not None
    assert spec.classes.missing == "none"
    assert told(spec, tree) == kinds


def test_marked_objects_that_no_draft_can_use_leave_the_class_to_a_person(tmp_path: Path) -> None:
    shape = {"label": "mass", "points": [[1, 1], [4, 1], [4, 5]], "shape_type": "polygon"}
    beside(tmp_path, [{"category": kind, "imagePath": "x.png", "shapes": [shape]} for kind in KINDS])
    found = inspect_folder(tmp_path)
    assert (found.said("task"), found.classes) == ("segmentation", None)
    assert "key 'category'" in why(found)
    assert "only a person can say" in why(found)


@pytest.mark.parametrize(
    "places",
    [
        {"bbox": [1, 2, 3, 4]},
        {"x": 1, "y": 2, "width": 3, "height": 4},
        {"xmin": 1, "ymin": 1, "xmax": 2, "ymax": 2},
        {"found": {"polygon": [[1, 1], [2, 2], [3, 1]]}},
        {"annotations": {"regions": {"0": {"shape_attributes": {}}}}},
    ],
)
@pytest.mark.parametrize("one", [True, False])
def test_places_beside_the_class_leave_it_to_a_person(places: dict[str, Any], one: bool, tmp_path: Path) -> None:
    if one:
        in_one(tmp_path, {f"im{number}": {"label": kind, **places} for number, kind in OF_IMAGES.items()})
    else:
        beside(tmp_path, [{"label": kind, **places} for kind in KINDS])
    found = inspect_folder(tmp_path)
    assert (found.said("task"), found.classes) == ("", None)
    assert "marks objects, and which is meant only a person can say" in why(found)


def test_extents_and_empty_lists_of_places_beside_the_class(tmp_path: Path) -> None:
    beside(tmp_path, [{"label": kind, "width": 8, "height": 9, "boxes": [], "region": "arm"} for kind in KINDS])
    assert said(tmp_path) == ("classification", True)


def test_label_maps_stay_the_task(tmp_path: Path) -> None:
    for number, kind in enumerate(KINDS):
        volume(tmp_path / f"img/{number}.nii.gz")
        volume(tmp_path / f"seg/{number}.nii.gz", ids=(1, 2))
        (tmp_path / f"img/{number}.json").write_text(json.dumps({"label": kind}))
    assert said(tmp_path) == ("segmentation", False)


def test_folders_and_tables_of_classes_come_first(tmp_path: Path) -> None:
    for number, kind in enumerate(["cyst", "stone"] * 3):
        picture(tmp_path / f"{kind}/{number:03d}.png")
        (tmp_path / f"{kind}/{number:03d}.json").write_text(json.dumps({"grade": number % 3}))
    _, spec, _ = drafted(tmp_path)
    assert spec.classes is not None
    assert spec.classes.names == ("cyst", "stone")
