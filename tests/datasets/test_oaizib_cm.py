from __future__ import annotations

import shutil
from pathlib import Path

import nibabel as nib
import numpy as np

from assets.official_split import official_split
from assets.people import people
from tests.datasets.built import CATALOG, build, check_built, check_found, check_label, make

TABLES = {"subInfo_train.csv": "the people behind", "subInfo_test.csv": "the people behind"}


def test_both_official_parts_are_found(tmp_path: Path) -> None:
    miniature = make("oaizib_cm", tmp_path)
    assert list(miniature.made) == ["oaizib_001", "oaizib_002", "oaizib_405"]
    check_found(miniature, TABLES)


def test_the_folders_say_the_official_split(tmp_path: Path) -> None:
    miniature = make("oaizib_cm", tmp_path)
    files = {name: [f.path for f in raw.files] for name, raw in miniature.tree().subjects.items()}
    split = official_split(miniature.spec, miniature.raw_root, files)
    assert split == {"oaizib_001": "train", "oaizib_002": "train", "oaizib_405": "test"}
    assert miniature.spec.split.official is not None
    assert miniature.spec.split.official.follow


def test_people_have_their_numbers_in_the_osteoarthritis_initiative(tmp_path: Path) -> None:
    miniature = make("oaizib_cm", tmp_path)
    who = people(miniature.spec, miniature.raw_root, list(miniature.made))
    assert who == {"oaizib_001": "9000001", "oaizib_002": "9000002", "oaizib_405": "9000405"}
    assert miniature.spec.people_pool == "oai"


def test_it_is_built_as_drawn(tmp_path: Path) -> None:
    miniature = make("oaizib_cm", tmp_path)
    built = build(miniature.spec, tmp_path)
    check_built(built, miniature.made)
    for label in miniature.spec.labels:
        check_label(built, "oaizib_405", miniature.made["oaizib_405"].only_scan, label)


def test_the_template_of_its_authors_is_found_and_built(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "layouts" / "OAIZIB-CM-like"
    shutil.copytree(source, tmp_path / "raw" / "oaizib_cm")
    built = build(CATALOG["oaizib_cm"], tmp_path)
    assert built.survey.tree.findings == ()
    assert {s: m.state for s, m in built.manifests.items()} == {"oaizib_901": "published"}
    for kind, path in (("image", "imagesTr/oaizib_901_0000.nii.gz"), ("labels", "labelsTr/oaizib_901.nii.gz")):
        voxels = np.asarray(nib.as_closest_canonical(nib.load(source / path)).dataobj)
        np.testing.assert_array_equal(built.voxels("oaizib_901", kind, "0", "dess"), voxels)
    (row,) = built.rows("volumes", "oaizib_901").filter(kind="labels").to_dicts()
    assert row["label_ids"] == [1, 2, 3, 4, 5]
