"""The datasets of slices and radiographs with masks, boxes or classes of MDS-Bench's forth and fifth group."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from assets.objects import objects_table
from resources.findings import Code
from tests.data_makers.made import MadePicture
from tests.datasets.built import CATALOG, Miniature, build, check_classes, check_found, check_pictures, make
from tests.datasets.test_mds_tcia import ignored_files

SUBJECTS = {
    "mds_tibial_plateau": ["1", "10", "186"],
    "mds_chaos": ["CT/1", "CT/3", "MR/1", "MR/4", "MR/10"],
    "mds_monusac_cells": ["GC_01", "Lung_12", "TNBC_03"],
    "mds_rsna_pneumonia": [f"000{n}cfab-14fd-4e49-80ba-63a80b6bddd{n}" for n in (1, 2, 3)],
    "mds_rsna_heart": [f"000{n}cfab-14fd-4e49-80ba-63a80b6bddd{n}" for n in (1, 2, 3)],
    "mds_siim": ["ID_0000", "ID_0001", "ID_0099"],
}
IGNORED: Mapping[str, Mapping[str, str]] = {
    "mds_tibial_plateau": {"*.m": "how to load", "*.xlsx": "classes are taken"},
    "mds_chaos": {"data/Train_Sets/CT/1/Ground/*": "do not tell which slice"},
    "mds_monusac_cells": {"*_rater?.csv": "single readers", "*.csv": "marked objects"},
    "mds_rsna_pneumonia": {
        "*_labels.csv": "marked objects",
        "*/stage_2_test_images/*": "test images",
        "*_class_info.csv": "normal",
        "*_submission.csv": "participants sent in",
        "*/GCP Credits*": "participants",
    },
    "mds_rsna_heart": {"*.csv": "marked objects"},
    "mds_siim": {"*.csv": "age and contrast", "*.npz": "made smaller"},
}
DETECTION = ("mds_monusac_cells", "mds_rsna_pneumonia", "mds_rsna_heart")


@pytest.mark.parametrize("slug", SUBJECTS)
def test_a_dataset_is_found_and_built_as_made(slug: str, tmp_path: Path) -> None:
    miniature = make(slug, tmp_path)
    assert list(miniature.made) == SUBJECTS[slug]
    check_found(miniature, ignored_files(miniature, IGNORED[slug]))
    check_pictures(build(miniature.spec, tmp_path), miniature.made)


@pytest.mark.parametrize("slug", ["mds_tibial_plateau", "mds_siim"])
def test_classes_are_those_that_were_made(slug: str, tmp_path: Path) -> None:
    miniature = make(slug, tmp_path)
    check_classes(build(miniature.spec, tmp_path), miniature.made)


def marked(miniature: Miniature) -> list[tuple[str, str, list[float], list[float]]]:
    """Subject, label and corners of every object that was made."""
    return [
        (name, label, [x0, y0], [x1, y1])
        for name, made in miniature.made.items()
        for scan in made.scans
        if isinstance(scan, MadePicture)
        for label, x0, y0, x1, y1 in scan.objects
    ]


@pytest.mark.parametrize("slug", DETECTION)
def test_boxes_are_those_that_were_made(slug: str, tmp_path: Path) -> None:
    miniature = make(slug, tmp_path)
    rows, findings = objects_table(miniature.spec, miniature.tree(), set(miniature.made))
    assert findings == []
    found = rows.select("subject", "label", "min_px", "max_px").rows()
    expected = marked(miniature)
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    np.testing.assert_allclose([row[2:] for row in found], [row[2:] for row in expected])
    assert len(found) > 1
    assert {row[0] for row in found} < set(miniature.made)


def test_masks_of_chaos_lie_on_their_slices_in_the_patient(tmp_path: Path) -> None:
    miniature = make("mds_chaos", tmp_path)
    built = build(miniature.spec, tmp_path)
    for subject, n_masks in {"CT/1": 0, "MR/1": 4, "MR/4": 0, "MR/10": 4}.items():
        maps = built.rows("volumes", subject).filter(kind="labels")
        assert maps.height == n_masks
        assert set(maps["series"]) <= {"t1_in_phase", "t2_spir"}
        assert set(maps["space"]) <= {"patient"}
        assert (Code.REPAIRED in built.codes(subject)) == (n_masks > 0)
    (liver, *_) = built.rows("volumes", "MR/1").filter(kind="labels").to_dicts()
    assert liver["label_ids"] == [1, 2, 3, 4]


def test_an_odd_grey_of_a_mask_is_refused(tmp_path: Path) -> None:
    miniature = make("mds_chaos", tmp_path)
    scan = next(scan for scan in miniature.made["MR/1"].scans if scan.labels)
    (path,) = scan.labels["organs"]
    with Image.open(path) as image:
        odd = np.array(image)
    odd[odd == 63] = 64
    Image.fromarray(odd).save(path)
    built = build(miniature.spec, tmp_path)
    assert Code.UNKNOWN_LABEL in built.codes("MR/1")


def test_both_sets_of_the_rsna_name_images_alike() -> None:
    pneumonia, heart = CATALOG["mds_rsna_pneumonia"], CATALOG["mds_rsna_heart"]
    assert pneumonia.people_pool == heart.people_pool == "rsna_pneumonia"
    assert pneumonia.layout.subject == heart.layout.subject
