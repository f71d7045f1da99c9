"""Stacks of pictures in TIFF files: what a draft says of their dimension is what their records say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tifffile

from assets.inspect import inspect_folder
from assets.strategies.place import place_of
from assets.strategies.run import standardize


def stack(path: Path, axes: str, *, mask: bool = False) -> None:
    """Seven pictures, with ImageJ's word on what they are; without axes with none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    voxels = np.random.default_rng(len(path.stem)).integers(0, 255, (7, 24, 20)).astype(np.uint8)
    if mask:
        voxels[:] = 0
        voxels[2:5, 4:9, 3:9] = 255
    more = {"imagej": True, "metadata": {"axes": axes}} if axes else {"photometric": "minisblack"}
    tifffile.imwrite(path, voxels, **more)


@pytest.mark.parametrize(("axes", "said", "recorded"), [("ZYX", "3D", "3D"), ("TYX", "video", "video"), ("", "", "2D")])
def test_what_pages_are_is_said_as_far_as_the_file_says_it(tmp_path: Path, axes: str, said: str, recorded: str) -> None:
    for n in range(3):
        stack(tmp_path / f"Some_Set/images/a{n}.tif", axes)
        stack(tmp_path / f"Some_Set/masks/a{n}.tif", axes, mask=True)
    found = inspect_folder(tmp_path / "Some_Set")
    assert found.said("task") == "segmentation"
    assert found.said("dimension") == said
    done = standardize(place_of(tmp_path / "Some_Set"), "s0", tmp_path / "work", None)
    done.chosen.write(tmp_path / "out")
    records = [json.loads(path.read_text()) for path in (tmp_path / "out/standardized_annotations").glob("*.json")]
    assert {record["media_geometry"]["media"]["dimension"] for record in records} == {recorded}
    why = [one.why for one in found.unknown if one.field == "dimension"]
    assert len(why) == (not said)
    assert all("several pages (7 in one that was opened)" in one for one in why)
