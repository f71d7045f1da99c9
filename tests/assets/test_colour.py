"""Pictures in colour and label maps stored as colours, through the volumes step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from PIL import Image
from pydantic import ValidationError

from assets.raw import discover
from assets.spec import DatasetSpec
from assets.volumes import SubjectVolumes, build_volumes
from resources.findings import Code
from resources.ome_zarr import open_volume

WIDTH, HEIGHT = 20, 14


def spec(labels: dict[str, Any] | None = None, names: dict[int, str] | None = None) -> DatasetSpec:
    return DatasetSpec.model_validate(
        {
            "slug": "toy", "name": "Toy", "version": "1", "licence": "CC0-1.0", "access": "open", "modality": "Fundus",
            "anatomy": "eye", "description": "made up", "sources": [],
            "layout": {
                "subject": r"\d+",
                "series": {"photo": "{subject}.png"},
                "labels": labels or {"vessels": {"path": "{subject}_mask.png", "nonzero_is": 1}},
            },
            "labels": names or {1: "vessel"},
        }
    )  # fmt: skip


def build(tmp_path: Path, photo: np.ndarray[Any, Any], mask: np.ndarray[Any, Any]) -> SubjectVolumes:
    raw = tmp_path / "raw"
    raw.mkdir()
    Image.fromarray(photo).save(raw / "1.png")
    Image.fromarray(mask).save(raw / "1_mask.png")
    return build_volumes(spec(), raw, discover(spec(), raw).subjects["1"], tmp_path / "out", synthetic=True)


@pytest.fixture
def photo() -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)


@pytest.mark.parametrize("colours", [(), (3,)])
def test_a_photograph_keeps_its_colours_and_a_grey_mask_in_colours_is_one_map(
    tmp_path: Path, photo: np.ndarray[Any, Any], colours: tuple[int, ...]
) -> None:
    mask = np.zeros((HEIGHT, WIDTH), np.uint8)
    mask[3:6, 10:17] = 255
    stored = np.repeat(mask[..., None], 3, axis=2) if colours else mask
    made = build(tmp_path, photo, stored)
    assert [f.code for f in made.findings if f.severity == "error"] == []
    image, labels = made.table().sort("kind").iter_rows(named=True)
    assert (image["space"], image["third_axis"], image["shape_ijk"]) == ("picture", "colour", [WIDTH, HEIGHT, 3])
    assert (image["spacing_mm"], image["affine_ras_mm"]) == ([None] * 3, None)
    voxels = open_volume(tmp_path / "out" / image["path"]).voxels()
    assert np.array_equal(voxels.transpose(1, 0, 2), photo)
    assert (labels["label_ids"], labels["label_voxels"]) == ([1], [21])
    (label_map,) = made.label_maps
    assert (label_map.offset_ijk, label_map.crop.shape) == ((10, 3, 0), (7, 3, 1))
    assert list(label_map.components) == ["axial"]


def test_a_label_map_in_true_colours_is_refused(tmp_path: Path, photo: np.ndarray[Any, Any]) -> None:
    made = build(tmp_path, photo, photo)
    assert [f.code for f in made.findings if f.severity == "error"] == [Code.UNKNOWN_LABEL]


def test_a_mask_of_another_size_is_refused(tmp_path: Path, photo: np.ndarray[Any, Any]) -> None:
    made = build(tmp_path, photo, np.zeros((HEIGHT + 1, WIDTH), np.uint8))
    assert [f.code for f in made.findings if f.severity == "error"] == [Code.GRID_MISMATCH]


RED, GREEN = (255, 0, 0), (0, 255, 0)


def drawn(*, ground: tuple[int, int, int] = (0, 0, 0)) -> np.ndarray[Any, Any]:
    """21 red pixels and 8 green ones on a ground of one colour."""
    mask = np.full((HEIGHT, WIDTH, 3), ground, np.uint8)
    mask[3:6, 10:17] = RED
    mask[8:10, 2:6] = GREEN
    return mask


def build_coloured(
    tmp_path: Path, photo: np.ndarray[Any, Any], mask: np.ndarray[Any, Any], colours: dict[int, tuple[int, int, int]]
) -> SubjectVolumes:
    raw = tmp_path / "raw"
    raw.mkdir()
    Image.fromarray(photo).save(raw / "1.png")
    Image.fromarray(mask).save(raw / "1_mask.png")
    told = spec({"parts": {"path": "{subject}_mask.png", "colours": colours}}, {1: "disc", 2: "cup"})
    return build_volumes(told, raw, discover(told, raw).subjects["1"], tmp_path / "out", synthetic=True)


@pytest.mark.parametrize("ground", [(0, 0, 0), (255, 255, 255)])
def test_colours_stand_for_the_labels_that_the_spec_says(
    tmp_path: Path, photo: np.ndarray[Any, Any], ground: tuple[int, int, int]
) -> None:
    own = {0: ground} if any(ground) else {}
    made = build_coloured(tmp_path, photo, drawn(ground=ground), {1: RED, 2: GREEN, **own})
    assert [f.code for f in made.findings if f.severity == "error"] == []
    labels = made.table().filter(kind="labels").row(0, named=True)
    assert (labels["label_ids"], labels["label_voxels"]) == ([1, 2], [21, 8])
    (label_map,) = made.label_maps
    assert (label_map.offset_ijk, label_map.crop.shape) == ((2, 3, 0), (15, 7, 1))
    assert (label_map.crop[8, 0, 0], label_map.crop[0, 5, 0]) == (1, 2)


def test_a_black_mask_stored_in_grey_has_no_colours(tmp_path: Path, photo: np.ndarray[Any, Any]) -> None:
    made = build_coloured(tmp_path, photo, np.zeros((HEIGHT, WIDTH), np.uint8), {1: RED, 2: GREEN})
    assert [f.code for f in made.findings] == [Code.EMPTY_MASK]


def test_a_colour_that_stands_for_nothing_is_refused_with_its_value_and_place(
    tmp_path: Path, photo: np.ndarray[Any, Any]
) -> None:
    made = build_coloured(tmp_path, photo, drawn(), {1: RED})
    (error,) = (f for f in made.findings if f.severity == "error")
    assert error.code == Code.UNKNOWN_LABEL
    assert error.detail.startswith(
        "8 pixels have a colour that stands for no label, such as [0, 255, 0] at [2, 8, 0]; known are 0"
    )


@pytest.mark.parametrize("more", [{"nonzero_is": 1}, {"at_least": 0.5}, {"values": {255: 1}}, {"one_hot": True}])
def test_colours_go_with_no_other_way_of_saying_what_values_mean(more: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="without another way"):
        spec({"parts": {"path": "{subject}_mask.png", "colours": {1: RED}, **more}})


def test_two_labels_have_two_colours() -> None:
    with pytest.raises(ValidationError, match="a colour of its own"):
        spec({"parts": {"path": "{subject}_mask.png", "colours": {1: RED, 2: RED}}})


@pytest.mark.parametrize("pages", [2, 3, 5])
@pytest.mark.parametrize("grey", [False, True])
def test_a_label_map_of_pages_on_a_single_picture_is_refused_and_said(tmp_path: Path, pages: int, grey: bool) -> None:
    """Three pages are no colours: the record would tell of all of them and the picture show the first."""
    told = in_pages(tmp_path, pages, grey=grey, labels={"parts": {"path": "{subject}_mask.tif", "nonzero_is": 1}})
    (error,) = (f for f in told.findings if f.severity == "error")
    assert error.code == Code.GRID_MISMATCH
    assert f"has {pages} pages" in error.detail
    assert "`plane`" in error.detail


def test_each_page_may_be_a_label_map_of_its_own(tmp_path: Path) -> None:
    labels = {name: {"path": "{subject}_mask.tif", "plane": n, "nonzero_is": n + 1} for n, name in enumerate(("disc", "cup"))}
    made = in_pages(tmp_path, 2, grey=False, labels=labels)
    assert [f.code for f in made.findings if f.severity == "error"] == []
    rows = made.table().filter(kind="labels").sort("labels_name").to_dicts()
    assert [(row["labels_name"], row["label_ids"], row["label_voxels"]) for row in rows] == [
        ("cup", [2], [8]),
        ("disc", [1], [4]),
    ]


def in_pages(tmp_path: Path, pages: int, *, grey: bool, labels: dict[str, Any]) -> SubjectVolumes:
    """A picture with a mask whose page n marks 4 (n + 1) pixels."""
    raw = tmp_path / "raw"
    raw.mkdir()
    noise = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH) if grey else (HEIGHT, WIDTH, 3), np.uint8)
    Image.fromarray(noise).save(raw / "1.png")
    stack = np.zeros((pages, HEIGHT, WIDTH), np.uint8)
    for page in range(pages):
        stack[page, : page + 1, :4] = 255
    tifffile.imwrite(raw / "1_mask.tif", stack, photometric="minisblack")
    told = spec(labels, {1: "disc", 2: "cup"})
    return build_volumes(told, raw, discover(told, raw).subjects["1"], tmp_path / "out", synthetic=True)
