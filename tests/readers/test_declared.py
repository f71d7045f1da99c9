"""What a spec declares over what a file says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resources.findings import Code
from resources.readers.registry import open_image
from resources.readers.source import ReadOptions
from tests.readers.makers import AFFINE, codes, voxels, write_nifti
from tests.readers.pictures import collect, opened, refused


@pytest.mark.parametrize(
    "options", [{"axes": "xy q"}, {"axes": "xz"}, {"axes": "xyxz"}, {"spacing_mm": (1.0,)}, {"spacing_mm": (0.0, 1.0)}]
)
def test_options_that_mean_nothing_are_an_error_of_the_spec(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"axes|spacing"):
        open_image(write_nifti(tmp_path / "a.nii", voxels()), options=ReadOptions(**options))


@pytest.mark.parametrize("codes_", [{}, {"sform_code": 0, "qform_code": 0}])
def test_a_film_stored_as_a_nifti_volume(tmp_path: Path, codes_: dict[str, Any]) -> None:
    array = voxels((5, 6, 7))
    image = opened(write_nifti(tmp_path / "a.nii.gz", array, **codes_), axes="xyt")
    np.testing.assert_array_equal(collect(image)[..., 0], array)
    assert (image.space, image.third_axis, image.slab_axis) == ("picture", "time", 2)
    assert image.spacing_known == (True, True, False)
    np.testing.assert_allclose(np.diag(image.affine_ras_mm), [0.8, 1.5, 1, 1], rtol=1e-6)
    assert not image.orientation_known
    assert codes(image) == set()


@pytest.mark.parametrize("axes", ["zyx", "yxz", "xzy"])
def test_a_permutation_keeps_every_voxel_in_its_place(tmp_path: Path, axes: str) -> None:
    array = voxels((5, 6, 7))
    path = write_nifti(tmp_path / "a.nii", array)
    image = opened(path, axes=axes)
    order = [axes.index(letter) for letter in "xyz"]
    np.testing.assert_array_equal(collect(image)[..., 0], array.transpose(order))
    ijk = np.array([1, 2, 3])
    there = image.affine_ras_mm @ [*ijk[order], 1]
    np.testing.assert_allclose(there, AFFINE @ [*ijk, 1], rtol=1e-6)
    assert image.space == "patient"
    assert image.orientation_known


def test_channels_stored_as_slices(tmp_path: Path) -> None:
    array = voxels((5, 6, 3))
    image = opened(write_nifti(tmp_path / "a.nii", array), axes="xyc")
    np.testing.assert_array_equal(collect(image)[:, :, 0], array)
    assert (image.shape, image.n_channels, image.fourth_axis, image.space) == ((5, 6, 1), 3, "channel", "picture")
    assert image.sources


def test_channels_before_time(tmp_path: Path) -> None:
    array = voxels((5, 6, 3, 4))
    image = opened(write_nifti(tmp_path / "a.nii", array), axes="xyct")
    np.testing.assert_array_equal(collect(image), array.transpose(0, 1, 3, 2))
    assert (image.third_axis, image.fourth_axis, image.n_channels) == ("time", "channel", 3)


@pytest.mark.parametrize(("axes", "fourth"), [("xyzt", "time"), ("xyzc", "channel")])
def test_the_fourth_axis_is_what_the_spec_says(tmp_path: Path, axes: str, fourth: str) -> None:
    path = write_nifti(tmp_path / "a.nii", voxels((5, 6, 3, 4)))
    image = opened(path, axes=axes)
    assert image.fourth_axis == fourth
    assert image.space == "patient"
    np.testing.assert_array_equal(image.affine_ras_mm, opened(path).affine_ras_mm)


@pytest.mark.parametrize("axes", ["xy", "xyz", "zyx", "xyt"])
def test_more_axes_than_declared_are_refused(tmp_path: Path, axes: str) -> None:
    error = refused(write_nifti(tmp_path / "a.nii", voxels((5, 6, 3, 4))), axes=axes)
    assert error.finding.code == Code.UNEXPECTED_DIMENSIONS
    assert "5 x 6 x 3 x 4" in str(error)


def test_a_spacing_that_says_the_same_is_no_matter(tmp_path: Path) -> None:
    path = write_nifti(tmp_path / "a.nii", voxels())
    image = opened(path, spacing_mm=(0.8, 1.5001, 3.0))
    np.testing.assert_array_equal(image.affine_ras_mm, opened(path).affine_ras_mm)
    assert codes(image) == set()


def test_a_file_that_states_its_spacing_is_believed(tmp_path: Path) -> None:
    path = write_nifti(tmp_path / "a.nii", voxels())
    image = opened(path, spacing_mm=(0.8, 1.5, 5.0))
    np.testing.assert_array_equal(image.affine_ras_mm, opened(path).affine_ras_mm)
    assert codes(image) == {Code.SPACING_DISAGREES}
    assert "the file's is taken" in image.findings[-1].detail


def test_a_file_that_states_only_ones_is_not(tmp_path: Path) -> None:
    affine = np.diag([-1.0, 1.0, 1.0, 1.0])
    affine[:3, 3] = (10, 20, 30)
    image = opened(write_nifti(tmp_path / "a.nii", voxels(), affine), spacing_mm=(0.5, 0.5, 2.5))
    np.testing.assert_array_equal(image.affine_ras_mm, [[-0.5, 0, 0, 10], [0, 0.5, 0, 20], [0, 0, 2.5, 30], [0, 0, 0, 1]])
    assert codes(image) == {Code.SPACING_DISAGREES}
    assert "the spec's is taken" in image.findings[-1].detail


def test_one_millimetre_declared_and_found_is_agreement(tmp_path: Path) -> None:
    affine = np.diag([-1.0, 1.0, 1.0, 1.0])
    affine[:3, 3] = (10, 20, 30)
    assert codes(opened(write_nifti(tmp_path / "a.nii", voxels(), affine), spacing_mm=(1, 1, 1))) == set()
