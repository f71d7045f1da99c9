"""Single DICOM objects as the images of a dataset."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from resources.readers.registry import open_image
from tests.data_makers.dicom_files import Instance, segmentation, slice_of, write_dicom
from tests.readers.makers import read_all


def test_a_segmentation_is_opened_as_the_map_of_its_segments_on_its_own_grid(tmp_path: Path) -> None:
    images = [
        slice_of(Instance("p", "s", "ct", k + 1), np.full((6, 5), k), position_lps_mm=(10.0, 20.0, 2.0 * k)) for k in range(4)
    ]
    masks = np.zeros((4, 6, 5, 2), bool)
    masks[1, 1:3, 2:4, 0] = True
    masks[2, 4, 0, 1] = True
    path = write_dicom(tmp_path / "seg.dcm", segmentation(Instance("p", "s", "seg"), images, masks, ["a", "b"]))
    image = open_image(path)
    voxels = read_all(image)
    expected = np.zeros((5, 6, 2))
    expected[2:4, 1:3, 0] = 1
    expected[0, 4, 1] = 2
    assert image.format == "DICOM SEG"
    np.testing.assert_array_equal(voxels, expected)
    np.testing.assert_allclose(image.affine_ras_mm @ [0, 0, 0, 1], [-10, -20, 2, 1])
    np.testing.assert_allclose(np.diag(image.affine_ras_mm), [-0.5, -0.75, 2, 1])
