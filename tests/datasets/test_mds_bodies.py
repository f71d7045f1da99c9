"""MDS-Bench datasets of pictures, films and arrays of the body, second and third group."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image

from assets.official_split import official_split
from assets.people import people
from tests.datasets.built import CATALOG, make
from tests.datasets.mds import check

SLUGS = [
    "mds_medical_7_2020", "mds_melanoma_train", "mds_tcga_llg_mribrats", "mds_adenocarcima", "mds_brats2020_h5", "mds_dmid",
    "mds_drive", "mds_echonet_pediatric", "mds_finding_lungs", "mds_mias",
]  # fmt: skip


@pytest.mark.parametrize("slug", SLUGS)
def test_everything_is_found_told_and_built_as_made(slug: str, tmp_path: Path) -> None:
    check(slug, tmp_path)


def test_both_breasts_are_of_one_woman(tmp_path: Path) -> None:
    names = ["mdb001", "mdb002", "mdb003", "mdb321", "mdb322"]
    assert list(people(CATALOG["mds_mias"], tmp_path, names).values()) == ["1", "1", "2", "161", "161"]


def test_a_film_is_told_apart_from_its_spacing(tmp_path: Path) -> None:
    built = check("mds_mias", tmp_path)
    (row,) = built.rows("volumes", "mdb001").to_dicts()
    assert (row["space"], row["spacing_mm"]) == ("picture", [0.2, 0.2, None])


def test_three_masks_of_a_slice_are_one_label_map(tmp_path: Path) -> None:
    built = check("mds_brats2020_h5", tmp_path)
    (row,) = built.rows("volumes", "volume_1").filter(kind="labels", scan="slice_9").to_dicts()
    with h5py.File(tmp_path / "raw" / CATALOG["mds_brats2020_h5"].raw_name / row["source_paths"][0]) as file:
        counts = np.asarray(file["mask"]).sum(axis=(0, 1))
    assert dict(zip(row["label_ids"], row["label_voxels"], strict=True)) == dict(zip((1, 2, 3), counts.tolist(), strict=True))


def test_the_folders_of_drive_are_its_official_split(tmp_path: Path) -> None:
    miniature = make("mds_drive", tmp_path)
    files = {name: [f.path for f in raw.files] for name, raw in miniature.tree().subjects.items()}
    split = official_split(miniature.spec, miniature.raw_root, files)
    assert split == {"01": "test", "02": "test", "21": "train", "40": "train"}


def test_boxes_lie_around_the_mask_of_a_lesion(tmp_path: Path) -> None:
    built = check("mds_melanoma_train", tmp_path)
    folder = tmp_path / "raw" / CATALOG["mds_melanoma_train"].raw_name / "data" / "PH2_Labelled_Images"
    rows, columns = np.nonzero(np.asarray(Image.open(folder / "IMD058.bmp")))
    (box,) = built.rows("boxes", "IMD058").to_dicts()
    assert (box["min_px"], box["max_px"]) == ([columns.min(), rows.min()], [columns.max(), rows.max()])
