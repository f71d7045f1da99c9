"""Names of label ids in tables and lists beside the data: taken where they name what the label maps hold, and never else."""

from __future__ import annotations

import json
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
from PIL import Image

from assets.inspect import inspect_folder
from assets.inspect.inspection import Inspection
from tests.inspect.folders import drafted, picture, volume

NAMES = {1: "Spinal cord", 4: "Lesion"}

SNAP = """
################################################
# ITK-SnAP Label Description File
################################################
    0     0    0    0        0  0  0    "Clear Label"
    1   255    0    0        1  1  1    "Spinal cord"
    4     0  255    0      0.5  1  1    "Lesion"
"""


def scans(root: Path, ids: tuple[int, ...] = (1, 4)) -> None:
    for number in range(3):
        volume(root / f"images/scan_{number}.nii.gz")
        volume(root / f"labels/scan_{number}.nii.gz", ids=ids)


def masks(root: Path, *values: int) -> None:
    """Pictures with masks that hold 0 and these values."""
    for number in range(4):
        picture(root / f"img/{number}.png", seed=number)
        pixels = np.zeros((9, 8), np.uint8)
        for row, value in enumerate(values):
            pixels[row] = value
        (root / "mask").mkdir(exist_ok=True)
        Image.fromarray(pixels).save(root / f"mask/{number}.png")


def why(found: Inspection) -> str:
    return "; ".join(unknown.why for unknown in found.unknown if unknown.field == "labels")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "derivatives/dseg.tsv",
            "index\tname\tabbreviation\tmapping\n1\tSpinal cord\tSC\t7\n4\tLesion\tL\t7\n",
        ),
        ("classes.csv", "id,name\n0,background\n1,Spinal cord\n4,Lesion\n"),
        ("labels.csv", "r,g,b,structure,value\n9,9,9,Spinal cord,1\n8,9,9,Lesion,4\n"),
        ("names.csv", "label;class_id\nSpinal cord;1\nLesion;4\n"),
        ("labels.txt", SNAP),
        ("organs.label", SNAP),
        ("lut.txt", "# a comment\n0 background 0 0 0 0\n1 Spinal_cord 1 2 3 0\n4 Lesion 4 5 6 0\n"),
        ("labels.txt", "0 background\n1 Spinal cord\n4 Lesion\n"),
        ("labels.txt", "1: Spinal cord\n4: Lesion\n"),
        ("classes.csv", "0,background\n1,Spinal cord\n4,Lesion\n"),
        ("classes.json", json.dumps({"background": 0, "Spinal cord": 1, "Lesion": 4})),
        ("about.csv", "index,name\n1,Spinal cord\n4,Lesion\n"),
    ],
)
def test_a_file_that_names_the_ids(name: str, text: str, tmp_path: Path) -> None:
    scans(tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    found, spec, _ = drafted(tmp_path)
    assert {number: said.replace("_", " ") for number, said in found.labels.items()} == NAMES
    assert next(e.seen for e in found.evidence if e.field == "labels") == f"{name} names the ids"
    assert spec.layout.ignore[name] == "the names of label ids are taken from it"
    assert why(found) == ""


def test_ids_that_the_table_does_not_name_are_said(tmp_path: Path) -> None:
    scans(tmp_path, ids=(1, 2, 3))
    (tmp_path / "dseg.tsv").write_text("index\tname\n1\tliver\n2\tspleen\n")
    found, _, _ = drafted(tmp_path)
    assert found.labels == {1: "liver", 2: "spleen", 3: "label 3"}
    assert why(found) == "label maps hold 3, and dseg.tsv does not name that"


def test_a_table_counted_from_zero_does_not_name_ids_from_one(tmp_path: Path) -> None:
    scans(tmp_path, ids=(1, 2, 3))
    (tmp_path / "classes.csv").write_text("id,name\n0,liver\n1,spleen\n2,kidney\n")
    found, _, _ = drafted(tmp_path)
    assert found.labels == {1: "label 1", 2: "label 2", 3: "label 3"}
    assert why(found).startswith("classes.csv names 0, 1, 2, which does not fit the values of")


def test_a_name_of_zero_that_is_no_background_is_said(tmp_path: Path) -> None:
    scans(tmp_path, ids=(1, 2))
    (tmp_path / "classes.csv").write_text("id,name\n0,liver\n1,spleen\n2,kidney\n")
    found, _, _ = drafted(tmp_path)
    assert found.labels == {1: "spleen", 2: "kidney"}
    assert "calls 0 'liver'" in why(found)


def test_two_tables_that_contradict_each_other_name_nothing(tmp_path: Path) -> None:
    scans(tmp_path, ids=(1, 2))
    (tmp_path / "classes.csv").write_text("id,name\n1,spleen\n2,kidney\n")
    (tmp_path / "dseg.tsv").write_text("index\tname\n1\tkidney\n2\tspleen\n")
    found, _, _ = drafted(tmp_path)
    assert found.labels == {1: "label 1", 2: "label 2"}
    assert "call the ids otherwise" in why(found)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("participants.csv", "id,name\n" + "".join(f"{n},Person {chr(65 + n)}\n" for n in range(1, 9))),
        ("labels.csv", "id,name\n" + "".join(f"{n},img_{n}.png\n" for n in range(1, 9))),
        ("labels.csv", "id,label\n" + "".join(f"{n},{'ab'[n % 2]}\n" for n in range(1, 9))),
        ("labels.csv", "id,name\n" + "".join(f"{n},thing {n}\n" for n in range(1, 40))),
        ("README.txt", "1. Unpack.\n2. Read.\n"),
        ("README.txt", "1 scan per person\n2 readers per scan\n3 centres\n"),
        ("values.csv", "id,name\n1,0.5\n2,0.7\n"),
    ],
)
def test_other_tables_of_numbers_and_words_name_no_ids(name: str, text: str, tmp_path: Path) -> None:
    scans(tmp_path, ids=(1, 2))
    (tmp_path / name).write_text(text)
    found = inspect_folder(tmp_path)
    assert (found.labels, found.named_by) == ({1: "label 1", 2: "label 2"}, "")


@pytest.mark.parametrize("row", ["1,polyp", "255,polyp"])
def test_the_name_of_the_one_structure_of_black_and_white_masks(row: str, tmp_path: Path) -> None:
    masks(tmp_path, 255)
    (tmp_path / "classes.csv").write_text(f"id,name\n0,background\n{row}\n")
    found, spec, _ = drafted(tmp_path)
    assert (found.labels, spec.layout.labels["mask"].nonzero_is) == ({1: "polyp"}, 1)


def test_white_is_neither_of_two_structures(tmp_path: Path) -> None:
    masks(tmp_path, 255)
    (tmp_path / "classes.csv").write_text("id,name\n1,polyp\n2,tool\n")
    found, _, _ = drafted(tmp_path)
    assert found.labels == {1: "label 1"}
    assert "classes.csv names 1, 2, which does not fit the values of 4 label map(s)" in why(found)


def test_masks_that_hold_one_of_two_named_ids_are_not_made_one_structure(tmp_path: Path) -> None:
    masks(tmp_path, 2)
    (tmp_path / "classes.csv").write_text("id,name\n1,polyp\n2,tool\n")
    found, spec, _ = drafted(tmp_path)
    assert (found.labels, spec.layout.labels["mask"].nonzero_is) == ({1: "polyp", 2: "tool"}, None)


@pytest.mark.parametrize("ids", [(1, 2, 3), (85, 170, 255)])
def test_names_of_grey_levels(ids: tuple[int, int, int], tmp_path: Path) -> None:
    masks(tmp_path, 85, 170, 255)
    (tmp_path / "classes.csv").write_text("id,name\n" + "".join(f"{n},{w}\n" for n, w in zip(ids, "xyz", strict=True)))
    found, spec, _ = drafted(tmp_path)
    assert found.labels == dict(zip(ids, "xyz", strict=True))
    assert spec.layout.labels["mask"].values == ({85: 1, 170: 2, 255: 3} if ids[0] == 1 else {})


def test_a_table_beside_every_label_map_that_says_the_same(tmp_path: Path) -> None:
    scans(tmp_path)
    for number in range(3):
        (tmp_path / f"labels/scan_{number}.tsv").write_text("index\tname\n1\tSpinal cord\n4\tLesion\n")
    assert drafted(tmp_path)[0].labels == NAMES


def test_label_maps_hold_what_the_draft_names(tmp_path: Path) -> None:
    """The ids of the draft are those that nibabel reads."""
    scans(tmp_path)
    (tmp_path / "dseg.tsv").write_text("index\tname\n1\tSpinal cord\n4\tLesion\n")
    found, _, tree = drafted(tmp_path)
    paths = [file.path for s in tree.subjects.values() for scan in s.scans for files in scan.labels.values() for file in files]
    held = {int(value) for path in paths for value in np.unique(np.asanyarray(nib.load(tmp_path / path).dataobj))}
    assert held - {0} == set(found.labels)


@pytest.mark.parametrize(("around", "inside"), [(255, (128, 0)), (0, (128, 255))])
def test_a_number_around_everything_may_be_the_background(tmp_path: Path, around: int, inside: tuple[int, int]) -> None:
    """As in masks of disc and cup that are dark on white."""
    for number in range(4):
        picture(tmp_path / f"images/{number:03}.jpg", seed=number, rows=20, columns=24)
        pixels = np.full((20, 24), around, np.uint8)
        pixels[4:14, 5:16] = inside[0]
        pixels[7:11, 8:12] = inside[1]
        (tmp_path / "masks").mkdir(exist_ok=True)
        Image.fromarray(pixels).save(tmp_path / f"masks/{number:03}.png")
    doubts = [u.why for u in inspect_folder(tmp_path).unknown if u.field == "labels" and "may be the background" in u.why]
    assert len(doubts) == (around > 0)
