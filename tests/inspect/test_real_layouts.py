"""Folders of real public data, and what a person reads in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.inspect import inspect_folder
from assets.inspect.draft import as_mapping, offered
from tests.inspect.folders import drafted, images, pairs

TOLD = {
    "BCCD": ("detection", 80, 0),
    "BraTS24": ("segmentation", 4, 4),
    "Ceph-Bio-400": ("", 12, 0),
    "DRIVE": ("segmentation", 6, 12),
    "FeTA-like": ("segmentation", 1, 1),
    "HNTSMRG24": ("segmentation", 21, 21),
    "ISLES24": ("segmentation", 1, 1),
    "KiTS23": ("segmentation", 12, 12),
    "MSD": ("segmentation", 174, 174),
    "OAIZIB-CM-like": ("segmentation", 1, 1),
    "ProstateX": ("", 72, 0),
    "TopCoW24": ("segmentation", 3, 3),
    "TotalSegmentator": ("segmentation", 1, 117),
    "autoPET-III": ("segmentation", 1, 1),
}
"""Folder -> task, images, pairs of an image and a label map; label maps without images stand for these too."""


@pytest.mark.parametrize("name", sorted(TOLD))
def test_real_folders(name: str, shared_data: Path) -> None:
    root = shared_data / "layouts" / name
    found, spec, tree = drafted(root)
    assert (found.said("task"), len(images(tree)), len(pairs(spec, tree))) == TOLD[name]


@pytest.mark.parametrize("name", ["LUNA16", "RSNA", "SKM-TEA"])
def test_tables_without_their_images_are_unknown(name: str, shared_data: Path) -> None:
    found = inspect_folder(shared_data / "layouts" / name)
    assert {"layout", "task"} <= {u.field for u in found.unknown}


def test_drive_offers_vessels_apart_from_fields_of_view(shared_data: Path) -> None:
    """No rule tells a field of view from a structure; both are label maps of every image, and each is offered alone."""
    found, spec, tree = drafted(shared_data / "layouts/DRIVE")
    folders = {mask.split("/")[1] for _, mask in pairs(spec, tree)}
    assert folders == {"1st_manual", "mask"}
    alone = [one.fields["layout"]["labels"] for one in offered(found, as_mapping(found, "draft"))]
    assert [one["1st_manual"]["path"] for one in alone if "1st_manual" in one] == ["training/1st_manual/{subject}_manual1.gif"]
