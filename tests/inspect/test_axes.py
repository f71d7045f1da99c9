"""Axes of arrays in containers: said with a reason where extents or values tell them, else unknown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt
import pytest
from scipy.io import savemat

from assets.inspect import Inspection, inspect_folder
from assets.inspect.draft import as_spec, as_yaml
from assets.spec import DatasetSpec
from tests.inspect.folders import instance, picture

Array = npt.NDArray[Any]
Drafted = tuple[Inspection, DatasetSpec]


def _npz(path: Path, image: Array, label: Array) -> None:
    np.savez(path.with_suffix(".npz"), image=image, label=label)


def _mat(path: Path, image: Array, label: Array) -> None:
    savemat(path.with_suffix(".mat"), {"image": image, "label": label})


def _hdf5(path: Path, image: Array, label: Array) -> None:
    with h5py.File(path.with_suffix(".h5"), "w") as file:
        file["image"], file["label"] = image, label


def drafted_of(root: Path, image: Array, label: Array, write: Callable[[Path, Array, Array], None] = _npz) -> Drafted:
    for number in range(4):
        write(root / f"c{number}", image, label)
    found = inspect_folder(root)
    return found, as_spec(found, "draft")


def noise(*shape: int) -> Array:
    return np.random.default_rng(5).random(shape).astype(np.float32)


def blob(*shape: int) -> Array:
    """A small volume of ones in two slices of the last axis."""
    label = np.zeros(shape, np.uint8)
    label[4:9, 5:9, 2:4] = 1
    return label


def axes(spec: DatasetSpec) -> tuple[str | None, str | None, bool]:
    label = spec.layout.labels["mask"]
    return spec.layout.series["image"].axes, label.axes, label.one_hot


def said(found: Inspection) -> list[str]:
    return [evidence.said for evidence in found.evidence if evidence.field == "axes"]


def unknown(found: Inspection, field: str = "axes") -> list[str]:
    return [doubt.why for doubt in found.unknown if doubt.field == field]


@pytest.mark.parametrize("write", [_npz, _mat, _hdf5])
def test_slices_of_a_small_volume_are_no_structures(tmp_path: Path, write: Callable[[Path, Array, Array], None]) -> None:
    found, spec = drafted_of(tmp_path, noise(48, 40, 6), blob(48, 40, 6), write)
    assert axes(spec) == (None, None, False)
    assert list(spec.labels) == [1]
    assert len(unknown(found)) == 2
    assert "# unknown: axes: " in as_yaml(found, "draft")


def test_channels_of_which_every_position_has_one_are_structures(tmp_path: Path) -> None:
    label = np.eye(6, dtype=np.uint8)[np.random.default_rng(1).integers(0, 6, (48, 40))]
    found, spec = drafted_of(tmp_path, noise(48, 40, 6), label)
    assert axes(spec) == ("yxc", "yxc", True)
    assert list(spec.labels) == [1, 2, 3, 4, 5, 6]
    assert said(found) == ["image yxc", "mask yxc", "mask one_hot"]
    assert not unknown(found)


@pytest.mark.parametrize("extents", [(48, 40), (48, 40, 4)])
def test_an_image_of_other_channels_says_that_the_last_axis_is_no_space(tmp_path: Path, extents: tuple[int, ...]) -> None:
    _, spec = drafted_of(tmp_path, noise(*extents), blob(48, 40, 6))
    assert axes(spec) == ("yx" if len(extents) == 2 else "yxc", "yxc", True)


def test_fewer_than_a_third_of_the_channels_tell_nothing(tmp_path: Path) -> None:
    found, spec = drafted_of(tmp_path, noise(48, 40, 4), blob(48, 40, 7))
    assert axes(spec) == ("yxc", None, False)
    assert [why.startswith("'label' of c0.npz") for why in unknown(found)] == [True]


def test_channels_of_several_numbers_are_no_binary_masks(tmp_path: Path) -> None:
    _, spec = drafted_of(tmp_path, noise(48, 40, 4), 2 * blob(48, 40, 3) + blob(48, 40, 3)[::-1])
    assert axes(spec) == ("yxc", None, False)


def test_a_label_map_of_two_axes_says_that_the_images_last_axis_is_no_space(tmp_path: Path) -> None:
    found, spec = drafted_of(tmp_path, noise(48, 40, 31), blob(48, 40, 6)[..., 2])
    assert axes(spec) == ("yxc", "yx", False)
    assert said(found) == ["image yxc", "mask yx"]


def test_three_long_axes_are_a_guess_and_said_to_be_one(tmp_path: Path) -> None:
    found, spec = drafted_of(tmp_path, noise(20, 24, 22), blob(20, 24, 22))
    assert axes(spec) == ("zyx", "zyx", False)
    assert said(found) == ["image zyx", "mask zyx"]
    assert all("a guess" in why for why in unknown(found))
    assert len(unknown(found)) == 2


def test_arrays_that_stand_alone_are_said_to_need_axes(tmp_path: Path) -> None:
    for folder, array in (("images", noise(20, 24, 6)), ("labels", blob(20, 24, 6))):
        (tmp_path / folder).mkdir()
        for number in range(4):
            np.save(tmp_path / folder / f"c{number}.npy", array)
    found = inspect_folder(tmp_path)
    assert len(unknown(found)) == 2
    assert unknown(found, "dimension") == ["the images are arrays of 3 axes whose order nothing says, such as images/c0.npy"]


def test_arrays_of_two_axes_are_pictures(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    for number in range(4):
        np.save(tmp_path / f"images/c{number}.npy", noise(20, 24))
    found = inspect_folder(tmp_path)
    assert found.said("dimension") == "2D"
    assert not unknown(found)


def test_a_slice_is_a_picture_and_the_volume_may_be_meant(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        instance(tmp_path / f"p1/{number}.dcm", "p1", number)
    (why,) = unknown(inspect_folder(tmp_path), "dimension")
    assert why == "the images are DICOM instances; a slice is a picture, and the volume may be meant"


def test_images_that_cannot_be_opened_are_said_to_be_such(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        picture(tmp_path / f"x{number}.png")
        (tmp_path / f"x{number}.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    (why,) = unknown(inspect_folder(tmp_path), "dimension")
    assert why == "none of the images that were tried could be opened, such as x1.png"
