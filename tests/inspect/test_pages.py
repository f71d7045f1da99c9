"""Pictures of several pages or channels, and label maps that number objects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile

from assets.inspect import inspect_folder
from tests.inspect.folders import drafted, pairs


def pages(path: Path, stack: np.ndarray[Any, Any], *, imagej: bool = False) -> None:
    """A picture, or pages, which ImageJ calls channels."""
    path.parent.mkdir(parents=True, exist_ok=True)
    how: dict[str, Any] = {"imagej": True, "metadata": {"axes": "CYX"}} if imagej else {"metadata": None}
    tifffile.imwrite(path, stack, photometric="minisblack", **how)


def cells(count: int) -> np.ndarray[Any, Any]:
    """Squares of 4 x 4 with the numbers from 1, on a ground of 0."""
    side = int(np.ceil(np.sqrt(count)))
    numbers = np.zeros((side, side), np.uint16)
    numbers.flat[:count] = np.arange(1, count + 1)
    return np.kron(np.pad(numbers, 1), np.pad(np.ones((4, 4), np.uint16), ((0, 1), (0, 2))))


def test_numbered_objects_are_label_maps_of_one_structure(tmp_path: Path) -> None:
    noise = np.random.default_rng(3)
    for number, count in enumerate((90, 7, 140)):
        drawn = cells(count)
        pages(tmp_path / f"s{number}.tif", noise.integers(0, 900, drawn.shape).astype(np.uint16))
        pages(tmp_path / f"s{number}_Mask.tif", drawn)
    found, spec, tree = drafted(tmp_path)
    assert (found.said("task"), found.labels) == ("segmentation", {1: "label 1"})
    assert [source.nonzero_is for source in spec.layout.labels.values()] == [1]
    assert len(pairs(spec, tree)) == 3


def test_photographs_that_are_called_masks_are_none(tmp_path: Path) -> None:
    noise = np.random.default_rng(3)
    for number in range(3):
        for name in (f"s{number}.tif", f"s{number}_Mask.tif"):
            pages(tmp_path / name, noise.integers(0, 300, (40, 50)).astype(np.uint16))
    assert inspect_folder(tmp_path).said("task") == ""


@pytest.mark.parametrize("imagej", [(False, False), (True, False), (False, True), (True, True)])
def test_pages_of_another_number_are_said(tmp_path: Path, imagej: tuple[bool, bool]) -> None:
    """Whichever of the two files calls them channels; and pages are no slices then."""
    noise = np.random.default_rng(3)
    for number in range(3):
        pages(tmp_path / f"s{number}.tif", noise.integers(0, 900, (6, 24, 28)).astype(np.uint16), imagej=imagej[0])
        stack = np.stack([np.eye(24, 28), np.zeros((24, 28))]).astype(np.uint8)
        pages(tmp_path / f"s{number}_Mask.tif", stack, imagej=imagej[1])
    found, spec, tree = drafted(tmp_path)
    assert len(pairs(spec, tree)) == 3
    seen = "s0.tif and others have 6 page(s) or channel(s), label maps such as s0_Mask.tif 2"
    (why,) = (unknown.why for unknown in found.unknown if unknown.field == "layout")
    assert why == f"{seen}; `axes`, `channel` and `plane` must say which are meant"
    assert found.said("dimension") == ""
    assert seen in next(unknown.why for unknown in found.unknown if unknown.field == "dimension")


def test_channels_with_a_label_map_of_one_page_are_said(tmp_path: Path) -> None:
    noise = np.random.default_rng(3)
    for number in range(3):
        pages(tmp_path / f"s{number}.tif", noise.integers(0, 900, (7, 24, 28)).astype(np.uint16), imagej=True)
        pages(tmp_path / f"s{number}_Mask.tif", np.eye(24, 28, dtype=np.uint8))
    (why,) = (unknown.why for unknown in inspect_folder(tmp_path).unknown if unknown.field == "layout")
    assert "have 7 page(s) or channel(s), label maps such as s0_Mask.tif 1;" in why


def test_colours_are_no_pages(tmp_path: Path) -> None:
    noise = np.random.default_rng(3)
    for number, colours in enumerate((3, 3, 4)):
        tifffile.imwrite(
            tmp_path / f"s{number}.tif", noise.integers(0, 255, (24, 28, colours)).astype(np.uint8), photometric="rgb"
        )
        pages(tmp_path / f"s{number}_Mask.tif", np.eye(24, 28, dtype=np.uint8))
    found, _, _ = drafted(tmp_path)
    assert [unknown.why for unknown in found.unknown if unknown.field == "layout"] == []
    assert (found.said("task"), found.said("dimension")) == ("segmentation", "2D")


def test_objects_may_be_numbered_in_channels(tmp_path: Path) -> None:
    noise = np.random.default_rng(3)
    for number in range(3):
        drawn = cells(90 + number)
        pages(tmp_path / f"s{number}.tif", noise.integers(0, 900, (6, *drawn.shape)).astype(np.uint16), imagej=True)
        pages(tmp_path / f"s{number}_Mask.tif", np.stack([drawn, np.zeros_like(drawn)]), imagej=True)
    found, spec, _ = drafted(tmp_path)
    assert (found.said("task"), found.labels) == ("segmentation", {1: "label 1"})
    assert [source.nonzero_is for source in spec.layout.labels.values()] == [1]


def test_pages_over_other_rows_are_not_paired(tmp_path: Path) -> None:
    for number in range(3):
        pages(tmp_path / f"s{number}.tif", np.arange(6 * 24 * 28).reshape(6, 24, 28).astype(np.uint16))
        pages(tmp_path / f"s{number}_Mask.tif", np.eye(12, 14, dtype=np.uint8))
    assert inspect_folder(tmp_path).said("task") == ""
