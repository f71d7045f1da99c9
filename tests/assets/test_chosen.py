"""One plane of many, and probabilities as a mask."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assets.chosen import at_least, one_plane
from resources.findings import BadInputError, Code
from resources.readers.registry import open_image
from resources.readers.source import ReadOptions
from tests.readers.makers import read_all, write_nifti


@pytest.mark.parametrize(("axes", "order"), [("tyxc", (2, 1, 3)), ("ytxc", (2, 0, 3)), ("xtyc", (0, 2, 3))])
def test_one_of_many_colour_pictures_is_taken_wherever_the_axis_lies(tmp_path: Path, axes: str, order: tuple[int, ...]) -> None:
    array = np.arange(4 * 5 * 6 * 3, dtype=np.uint8).reshape(4, 5, 6, 3)
    path = tmp_path / "a.npz"
    np.savez(path, patches=array)
    image = one_plane(open_image(path, options=ReadOptions(key="patches", axes=axes)), 2, "a.npz")
    place = axes.index("t")
    rest = [n for n in range(4) if n != place]
    expected = np.moveaxis(array, place, 0)[2].transpose([rest.index(n) for n in order])
    assert (image.shape, image.n_channels) == ((expected.shape[0], expected.shape[1], 1), 3)
    np.testing.assert_array_equal(read_all(image)[:, :, 0], expected)
    assert [source.path for source in image.sources] == [path]


def test_a_plane_of_a_volume_stays_where_it_is(tmp_path: Path) -> None:
    array = np.arange(3 * 4 * 5, dtype=np.int16).reshape(3, 4, 5)
    whole = open_image(write_nifti(tmp_path / "a.nii", array))
    image = one_plane(whole, 3, "a.nii")
    np.testing.assert_array_equal(read_all(image)[:, :, 0], array[:, :, 3])
    np.testing.assert_allclose(image.affine_ras_mm @ [1, 2, 0, 1], whole.affine_ras_mm @ [1, 2, 3, 1])


def test_a_plane_that_is_not_there_is_refused(tmp_path: Path) -> None:
    image = open_image(write_nifti(tmp_path / "a.nii", np.zeros((3, 4, 5), np.int16)))
    with pytest.raises(BadInputError, match="plane 5 is asked for, but the file has 5") as told:
        one_plane(image, 5, "a.nii")
    assert told.value.finding.code is Code.UNEXPECTED_DIMENSIONS


def test_probabilities_become_a_mask_at_the_threshold(tmp_path: Path) -> None:
    array = np.linspace(0, 1, 60, dtype=np.float32).reshape(3, 4, 5)
    image = at_least(open_image(write_nifti(tmp_path / "a.nii", array)), 0.5, "a.nii")
    assert image.dtype == np.uint8
    np.testing.assert_array_equal(read_all(image), array >= 0.5)


def test_a_probability_that_is_no_number_is_refused(tmp_path: Path) -> None:
    array = np.full((3, 4, 5), 0.2, np.float32)
    array[1, 1, 1] = np.nan
    image = at_least(open_image(write_nifti(tmp_path / "a.nii", array)), 0.5, "a.nii")
    with pytest.raises(BadInputError, match="1 voxels are no number") as told:
        read_all(image)
    assert told.value.finding.code is Code.NONFINITE_VOXELS
