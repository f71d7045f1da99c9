"""Label maps in folders and under names that no word calls so, beside images of the same names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
from PIL import Image

from assets.volumes import build_volumes
from tests.inspect.folders import drafted, images, pairs

Pixels = np.ndarray[Any, Any]
SHAPE = (40, 48)


def photo(path: Path, seed: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.random.default_rng(seed).integers(0, 256, (*SHAPE, 3)).astype(np.uint8)).save(path)


def disc(row: int, *, radius: int = 9, value: int = 255) -> Pixels:
    """A disc of one value on 0."""
    y, x = np.ogrid[: SHAPE[0], : SHAPE[1]]
    return np.where((y - 20) ** 2 + (x - row) ** 2 <= radius**2, value, 0).astype(np.uint8)


def save(path: Path, pixels: Pixels) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, **({"quality": 75} if path.suffix == ".jpg" else {}))


def masks(root: Path, form: str, n: int = 6, **how: int) -> None:
    for number in range(n):
        save(root / form.format(n=number), disc(15 + number, **how))


def photos(root: Path, form: str, n: int = 6) -> None:
    for number in range(n):
        photo(root / form.format(n=number), number)


IMAGES = ["images/{n:02d}.png", "{n:02d}.png", "photos/fundus/{n:02d}.png", "zoom/{n:02d}.png", "a/{n:02d}.png"]


@pytest.mark.parametrize("where", IMAGES)
def test_folders_of_structures_are_label_maps_of_the_images_beside(tmp_path: Path, where: str) -> None:
    """Whatever the images' folder is called and wherever it stands in the alphabet."""
    raw = tmp_path / "raw"
    photos(raw, where)
    for name, radius in (("vessel", 4), ("cup", 6), ("disc", 9)):
        masks(raw, name + "/{n:02d}.png", radius=radius)
    found, spec, tree = drafted(raw)
    assert (found.said("task"), found.classes) == ("segmentation", None)
    assert found.labels == {1: "cup", 2: "disc", 3: "vessel"}
    assert images(tree) == {where.format(n=n) for n in range(6)}
    assert len(pairs(spec, tree)) == 18
    assert {name: source.nonzero_is for name, source in spec.layout.labels.items()} == found_ids(found.labels)
    made = build_volumes(spec, raw, tree.subjects["00"], tmp_path / "out", synthetic=True)
    assert [f.detail for f in made.findings if f.severity == "error"] == []
    rows = {row["labels_name"]: row for row in made.table().filter(kind="labels").to_dicts()}
    drawn = {name: int((disc(15, radius=r) > 0).sum()) for name, r in (("vessel", 4), ("cup", 6), ("disc", 9))}
    assert {name: (row["label_ids"], row["label_voxels"]) for name, row in rows.items()} == {
        name: ([number], [drawn[name]]) for number, name in found.labels.items()
    }
    assert any("may be readers" in unknown.why for unknown in found.unknown if unknown.field == "labels")


def found_ids(names: dict[int, str]) -> dict[str, int]:
    return {name: number for number, name in names.items()}


@pytest.mark.parametrize(
    "forms",
    [
        ("expert1/{n:02d}.png", "expert2/{n:02d}.png"),
        ("observer_A/{n:02d}.png", "observer_B/{n:02d}.png"),
        ("expert_smith/{n:02d}.png", "expert_lee/{n:02d}.png"),
        ("{n:02d}_1stHO.png", "{n:02d}_2ndHO.png"),
        ("v1/{n:02d}.png", "v2/{n:02d}.png"),
    ],
)
def test_of_several_readers_one_is_drafted_and_the_others_are_said(tmp_path: Path, forms: tuple[str, str]) -> None:
    photos(tmp_path, "images/{n:02d}.png" if "_1st" not in forms[0] else "{n:02d}.png")
    for form in forms:
        masks(tmp_path, form)
    found, spec, tree = drafted(tmp_path)
    assert found.said("task") == "segmentation"
    assert len(tree.subjects) == len(pairs(spec, tree)) == 6
    assert len({path.format(n=0) for path in forms} & {label for _, label in pairs(spec, tree)}) == 1
    (why,) = (u.why for u in found.unknown if u.field == "layout" and "readers" in u.why)
    assert all(form.format(n=0) in why for form in forms)


@pytest.mark.parametrize(
    ("mask", "image"),
    [
        ("vessel/{n:02d}.png", "images/{n:02d}.png"),
        ("{n:02d}_vessel.png", "{n:02d}.png"),
        ("case{n}/vessel.png", "case{n}/fundus.png"),
        ("binary/{n:02d}.jpg", "rgb/{n:02d}.jpg"),
    ],
)
def test_one_set_of_label_maps(tmp_path: Path, mask: str, image: str) -> None:
    photos(tmp_path, image)
    masks(tmp_path, mask)
    found, spec, tree = drafted(tmp_path)
    assert found.said("task") == "segmentation"
    assert pairs(spec, tree) == {(image.format(n=n), mask.format(n=n)) for n in range(6)}
    assert next(e.confidence for e in found.evidence if e.field == "role") == 0.7


def test_fewer_label_maps_than_images(tmp_path: Path) -> None:
    photos(tmp_path, "eye/{n:02d}.png", 12)
    masks(tmp_path, "vessel/{n:02d}.png", 7)
    found, spec, tree = drafted(tmp_path)
    assert (found.said("task"), spec.layout.unlabelled) == ("segmentation", "leave")
    assert pairs(spec, tree) == {(f"eye/{n:02d}.png", f"vessel/{n:02d}.png") for n in range(7)}


def test_volumes_too(tmp_path: Path) -> None:
    for number in range(3):
        for folder, low in (("scans", True), ("liver", False)):
            path = tmp_path / folder / f"{number:03d}.nii.gz"
            path.parent.mkdir(exist_ok=True)
            noise = np.random.default_rng(number).integers(-900, 900, (20, 20, 8)).astype(np.int16)
            drawn = np.zeros((20, 20, 8), np.int16)
            drawn[5:12, 4:15, 2:6] = 1
            nib.save(nib.Nifti1Image(noise if low else drawn, np.eye(4)), path)
    found, spec, tree = drafted(tmp_path)
    assert found.said("task") == "segmentation"
    assert pairs(spec, tree) == {(f"scans/{n:03d}.nii.gz", f"liver/{n:03d}.nii.gz") for n in range(3)}


def test_label_maps_of_several_numbers_are_not_put_together(tmp_path: Path) -> None:
    photos(tmp_path, "images/{n:02d}.png")
    masks(tmp_path, "vessel/{n:02d}.png")
    for number in range(6):
        drawn = disc(20, value=1)
        drawn[disc(20, radius=4) > 0] = 2
        save(tmp_path / f"nerve/{number:02d}.png", drawn)
    found, spec, _ = drafted(tmp_path)
    assert found.said("task") == "segmentation"
    assert len(spec.layout.labels) == 1
    assert any("vessel/00.png" in u.why and "nerve/00.png" in u.why for u in found.unknown if u.field == "layout")


def test_label_maps_that_are_called_so_come_first(tmp_path: Path) -> None:
    photos(tmp_path, "images/{n:02d}.png", 7)
    masks(tmp_path, "masks/{n:02d}.png", 6)
    masks(tmp_path, "field/{n:02d}.png", 7)
    found, spec, tree = drafted(tmp_path)
    assert {label for _, label in pairs(spec, tree)} == {f"masks/{n:02d}.png" for n in range(6)}
    assert images(tree) == {f"images/{n:02d}.png" for n in range(6)}
    assert any("7 of 13 label maps are not used, such as field/00.png" in u.why for u in found.unknown)


def scattered(number: int) -> Pixels:
    return np.where(np.random.default_rng(number).random(SHAPE) > 0.7, 255, 0).astype(np.uint8)


def of_other_size(number: int) -> Pixels:
    return disc(15 + number)[:-1]


def grey(number: int) -> Pixels:
    return np.linspace(0, 255, SHAPE[0] * SHAPE[1]).reshape(SHAPE).astype(np.uint8)


@pytest.mark.parametrize("draw", [scattered, of_other_size, grey])
def test_what_is_no_label_map_by_what_it_holds_is_none(tmp_path: Path, draw: Callable[[int], Pixels]) -> None:
    photos(tmp_path, "images/{n:02d}.png")
    for number in range(6):
        save(tmp_path / f"other/{number:02d}.png", draw(number))
    found, _, _ = drafted(tmp_path)
    assert found.said("task") == ""


@pytest.mark.parametrize("name", ["edges", "otsu_threshold"])
def test_what_a_program_made_of_an_image_is_no_label_map(tmp_path: Path, name: str) -> None:
    photos(tmp_path, "case{n}/slide.png")
    masks(tmp_path, f"case{{n}}/{name}.png")
    assert drafted(tmp_path)[0].said("task") == ""


def test_black_and_white_images_without_others_stay_images(tmp_path: Path) -> None:
    for name in ("cat", "dog"):
        masks(tmp_path, name + "/{n:02d}.png")
    found, _, tree = drafted(tmp_path)
    assert found.said("task") == "classification"
    assert len(images(tree)) == 12


def test_photographs_in_folders_of_classes_stay_classes(tmp_path: Path) -> None:
    for name in ("benign", "malignant", "normal"):
        photos(tmp_path, name + "/{n:02d}.png")
    found, _, tree = drafted(tmp_path)
    assert found.said("task") == "classification"
    assert len(images(tree)) == 18
