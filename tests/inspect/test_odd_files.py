"""A few files that are called otherwise than all others lose neither the pairing of a set nor their own mention."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from assets.inspect import Inspection, inspect_folder
from assets.inspect.draft import as_spec
from assets.spec import DatasetSpec
from tests.inspect.folders import drafted, pairs, picture

_CLASSES = ("benign", "malignant", "normal")
_USUAL = {f"{name}/{name} ({number})_mask.png" for name in _CLASSES for number in range(1, 5)}


def classes_with(root: Path, *, masks: Sequence[str] = (), images: Sequence[str] = ()) -> tuple[Inspection, DatasetSpec]:
    """Four pictures of each class, each with a label map beside it, and further files."""
    for name in _CLASSES:
        for number in range(1, 5):
            picture(root / name / f"{name} ({number}).png")
            picture(root / name / f"{name} ({number})_mask.png", mask=True)
    for path in masks:
        picture(root / path, mask=True)
    for path in images:
        picture(root / path)
    found = inspect_folder(root)
    return found, as_spec(found, "draft")


def labelled(found: Inspection) -> set[str]:
    assert found.plan is not None
    return {path for source in found.plan.labels for part, _ in source.parts for path in part.group.paths}


@pytest.mark.parametrize(
    "odd",
    [
        ["benign/benign (2)_mask_1.png"],
        ["benign/benign (2)_mask_1.png", "normal/normal (3)_mask_1.png"],
        ["benign/benign (2)_mask_1.png", "benign/benign (2)_mask_2.png"],
        ["benign/benign (2)_outline_mask.png"],
        ["benign/benign (9)_mask.png"],
    ],
)
def test_odd_label_maps_stay_apart_and_are_named(tmp_path: Path, odd: list[str]) -> None:
    found, spec = classes_with(tmp_path, masks=odd)
    assert found.said("task") == "segmentation"
    assert labelled(found) == _USUAL
    assert any(why.startswith(f"{len(odd)} of {12 + len(odd)} label maps are not used") for why in _doubts(found))
    assert all("label maps that the draft does not use" in why for why in spec.layout.ignore.values())
    assert spec.layout.ignore


def test_a_draft_with_an_odd_label_map_reads_every_image_with_its_own(tmp_path: Path) -> None:
    classes_with(tmp_path, masks=["benign/benign (2)_mask_1.png"])
    _, spec, tree = drafted(tmp_path)
    assert len(tree.subjects) == 12
    assert pairs(spec, tree) == {(path.replace("_mask", ""), path) for path in _USUAL}


def test_an_image_without_a_label_map_leaves_the_others_theirs(tmp_path: Path) -> None:
    found, spec = classes_with(tmp_path, masks=["benign/benign (2)_mask_1.png"], images=["normal/normal (5).png"])
    assert found.said("task") == "segmentation"
    assert labelled(found) == _USUAL
    assert spec.layout.unlabelled == "leave"


def test_odd_label_maps_of_one_folder_stay_apart(tmp_path: Path) -> None:
    for number in range(1, 7):
        picture(tmp_path / f"scan ({number}).png")
        picture(tmp_path / f"scan ({number})_mask.png", mask=True)
    picture(tmp_path / "scan (2)_mask_1.png", mask=True)
    found = inspect_folder(tmp_path)
    assert found.said("task") == "segmentation"
    assert labelled(found) == {f"scan ({number})_mask.png" for number in range(1, 7)}
    assert any(why.startswith("1 of 7 label maps are not used, such as scan (2)_mask_1.png") for why in _doubts(found))


def test_names_with_several_texts_behind_as_often_as_one_another_are_not_paired(tmp_path: Path) -> None:
    """No text is the usual one, so that none is chosen."""
    odd = [path.replace("_mask", "_mask_1") for path in sorted(_USUAL)]
    found, _ = classes_with(tmp_path, masks=odd)
    assert any("24 of 24 label maps are not used" in why for why in _doubts(found))


def _doubts(found: Inspection) -> list[str]:
    return [unknown.why for unknown in found.unknown if unknown.field == "layout"]
