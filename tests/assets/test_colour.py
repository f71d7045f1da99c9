"""Pictures in colour and label maps stored as colours, through the volumes step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from assets.raw import discover
from assets.spec import DatasetSpec
from assets.volumes import SubjectVolumes, build_volumes
from resources.findings import Code
from resources.ome_zarr import open_volume

WIDTH, HEIGHT = 20, 14


def spec() -> DatasetSpec:
    return DatasetSpec.model_validate(
        {
            "slug": "toy", "name": "Toy", "version": "1", "licence": "CC0-1.0", "access": "open", "modality": "Fundus",
            "anatomy": "eye", "description": "made up", "sources": [],
            "layout": {
                "subject": r"\d+",
                "series": {"photo": "{subject}.png"},
                "labels": {"vessels": {"path": "{subject}_mask.png", "nonzero_is": 1}},
            },
            "labels": {1: "vessel"},
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
