"""Masks that are the pages of one TIFF file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from pydantic import ValidationError

from assets.pages import open_pages
from assets.spec import DatasetSpec
from assets.spec_layout import LabelsSource
from resources.findings import BadInputError, Code
from tests.readers.makers import read_all

ROWS, COLUMNS, TAG = 5, 7, 65001


def spec(**labels: Any) -> DatasetSpec:
    layout = {
        "subject": "s1", "series": {"photo": "{subject}.tif"},
        "labels": {"all": {"path": "{subject}, masks.tif", "page_tag": TAG, **labels}},
    }  # fmt: skip
    content = {
        "slug": "toy", "name": "Toy", "version": "1", "licence": "CC0-1.0", "access": "open", "modality": "Microscopy",
        "anatomy": "none", "description": "made up", "sources": [], "layout": layout,
        "labels": {1: "vein", 2: {"name": "stroma", "file": "Stroma, ICG"}, 300: "suture"},
    }  # fmt: skip
    return DatasetSpec.model_validate(content)


def write(root: Path, *masks: tuple[str, Any]) -> str:
    with tifffile.TiffWriter(root / "s1, masks.tif") as file:
        file.write(np.zeros((ROWS, COLUMNS, 3), np.uint8), photometric="rgb")
        for text, inside in masks:
            page = np.zeros((ROWS, COLUMNS), bool)
            page[inside] = True
            tags = [(TAG, "s", 0, text, True)] if text else []
            file.write(page, photometric="minisblack", contiguous=False, extratags=tags)
    return "s1, masks.tif"


def test_every_page_is_the_mask_of_the_label_that_it_names(tmp_path: Path) -> None:
    left, right, low = np.s_[:, :2], np.s_[:, 4:], np.s_[4:, :]
    path = write(tmp_path, ("VEIN", left), ("", low), ("Stroma, ICG", right), ("vein", low))
    source = spec().layout.labels["all"]
    found = list(open_pages(spec(), tmp_path, path, source))
    assert [(file.path, file.label_id) for file, _ in found] == [(path, 1), (path, 2), (path, 1)]
    for (_, image), inside in zip(found, (left, right, low), strict=True):
        expected = np.zeros((ROWS, COLUMNS), bool)
        expected[inside] = True
        np.testing.assert_array_equal(read_all(image)[..., 0] > 0, expected.T)


def test_a_page_that_names_no_label_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, ("vein", np.s_[:1]), ("Artery", np.s_[2:]))
    with pytest.raises(BadInputError, match=r"pages are named 'Artery'; the labels of the spec are vein, Stroma, ICG") as told:
        list(open_pages(spec(), tmp_path, path, spec().layout.labels["all"]))
    assert told.value.finding.code is Code.UNKNOWN_LABEL


def test_a_file_without_names_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, ("", np.s_[:1]))
    with pytest.raises(BadInputError, match="no page of the file has the tag 65001") as told:
        list(open_pages(spec(), tmp_path, path, spec().layout.labels["all"]))
    assert told.value.finding.code is Code.MISSING_LABELS


@pytest.mark.parametrize("more", [{"key": "1"}, {"plane": 1}, {"one_hot": True}, {"nonzero_is": 1}, {"values": {1: 2}}])
def test_what_says_the_same_twice_does_not_go_with_it(more: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="`page_tag` goes with `path`"):
        LabelsSource(path=("{subject}.tif",), page_tag=TAG, **more)
