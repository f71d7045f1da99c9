"""One channel of a file that holds as many as it likes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assets.raw import discover
from assets.spec import DatasetSpec
from assets.volumes import build_volumes
from resources.findings import Code
from resources.ome_zarr import open_volume
from tests.data_makers.nifti_sets import small_grid, write_channels


def spec(**series: Any) -> DatasetSpec:
    content = {
        "slug": "toy", "name": "Toy", "version": "1", "licence": "CC0-1.0", "access": "open", "modality": "MR", "anatomy": "none",
        "description": "made up", "sources": [],
        "layout": {"subject": r"p\d", "series": {"dti": {"path": "{subject}.nii.gz"} | series}},
    }  # fmt: skip
    return DatasetSpec.model_validate(content)


def test_one_channel_of_any_number_is_stored(tmp_path: Path) -> None:
    raw, out = tmp_path / "raw", tmp_path / "out"
    grid = small_grid(1, (2.0, 2.0, 2.0), shape=(7, 6, 5))
    random = np.random.default_rng(1)
    films = {name: random.integers(0, 900, (n, *grid.shape)).astype(np.int16) for name, n in (("p1", 3), ("p2", 5))}
    for name, volumes in films.items():
        write_channels(raw / f"{name}.nii.gz", list(volumes), grid, "RAS")
    declared = spec(channel=1, channels="any")
    tree = discover(declared, raw)
    for name, volumes in films.items():
        made = build_volumes(declared, raw, tree.subjects[name], out, synthetic=False)
        (row,) = made.rows
        np.testing.assert_array_equal(open_volume(out / row["path"]).voxels(), volumes[1])
    made = build_volumes(spec(channel=1, channels=3), raw, tree.subjects["p2"], out, synthetic=False)
    assert [f.code for f in made.findings] == [Code.UNEXPECTED_DIMENSIONS]


def test_which_channel_must_be_said() -> None:
    with pytest.raises(ValueError, match="`channel` says which one is taken"):
        spec(channels="any")
