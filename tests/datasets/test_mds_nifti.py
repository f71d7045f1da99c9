"""MDS-Bench datasets of NIfTI volumes, second and third group, and the first two of the fourth."""

from __future__ import annotations

from pathlib import Path

import nibabel as nib
import numpy as np
import pytest

from assets.classes import classes_table
from resources.readers.dicom.tags import read_tag
from tests.data_makers import MadeScan
from tests.datasets.built import build, check_built, check_label, make
from tests.datasets.mds import check_layout

SLUGS = ["mds_tumorsimulations", "mds_brats2020_nii", "mds_mosmed", "mds_btcv_tcia", "mds_comprehensive_3d"]


@pytest.mark.parametrize("slug", SLUGS)
def test_everything_is_found_and_built_as_made(slug: str, tmp_path: Path) -> None:
    miniature = make(slug, tmp_path)
    check_layout(miniature)
    check_built(build(miniature.spec, tmp_path), miniature.made)


def test_a_tumour_is_where_its_share_is_a_half(tmp_path: Path) -> None:
    miniature = make("mds_tumorsimulations", tmp_path)
    built = build(miniature.spec, tmp_path)
    for subject, made in miniature.made.items():
        shares = np.asarray(nib.load(made.only_scan.labels["tumour"][0]).dataobj)
        assert 0 < shares.min() < 0.5 < shares.max() < 1
        (row,) = built.rows("volumes", subject).filter(kind="labels").to_dicts()
        assert (row["label_ids"], row["label_voxels"]) == ([1], [int((shares >= 0.5).sum())])


def test_voxels_and_boxes_of_a_label_follow_from_its_ellipsoid(tmp_path: Path) -> None:
    miniature = make("mds_btcv_tcia", tmp_path)
    built = build(miniature.spec, tmp_path)
    for subject, made in miniature.made.items():
        scan = made.only_scan
        assert isinstance(scan, MadeScan)
        for label in (1, 10, 14):
            check_label(built, subject, scan, label)


def test_the_grade_is_the_folder_and_the_three_of_the_copy_come_first(tmp_path: Path) -> None:
    miniature = make("mds_mosmed", tmp_path)
    table, findings = classes_table(miniature.spec, miniature.tree(), set(miniature.made), read_tag)
    told = {(row["subject"], row["class"], row["class_id"]) for row in table.to_dicts()}
    assert findings == []
    assert told == {
        ("study_0001", "CT-0", 3), ("study_0254", "CT-0", 3), ("study_0255", "CT-1", 4), ("study_0938", "CT-1", 4),
        ("study_0939", "CT-2", 0), ("study_1063", "CT-2", 0), ("study_1064", "CT-3", 1), ("study_1108", "CT-3", 1),
        ("study_1109", "CT-4", 2), ("study_1110", "CT-4", 2),
    }  # fmt: skip
