from __future__ import annotations

from pathlib import Path

import numpy as np
import SimpleITK as sitk  # noqa: N813  # its usual name

from resources.findings import Code
from tests.datasets.built import CATALOG, build, check_built, check_found, check_label, make


def test_the_dataset_is_found_as_made(tmp_path: Path) -> None:
    check_found(make("toothfairy2", tmp_path), {"Dataset112_ToothFairy2/dataset.json": "nnU-Net"})


def test_it_is_built_as_drawn(tmp_path: Path) -> None:
    miniature = make("toothfairy2", tmp_path)
    built = build(miniature.spec, tmp_path)
    check_built(built, miniature.made)
    for subject, made in miniature.made.items():
        drawn = {shape.label for shape in made.only_scan.shapes}
        for label in drawn:
            assert label is not None
            check_label(built, subject, made.only_scan, label)
    assert {label for label in CATALOG["toothfairy2"].labels if label > 10} == {
        10 * a + b for a in (1, 2, 3, 4) for b in range(1, 9)
    }


def test_an_id_that_is_no_structure_quarantines_its_subject(tmp_path: Path) -> None:
    miniature = make("toothfairy2", tmp_path)
    (path,) = miniature.made["ToothFairy2F_001"].only_scan.labels["jaws"]
    image = sitk.ReadImage(str(path))
    voxels = sitk.GetArrayFromImage(image)
    voxels[0, 0, 0] = 40
    changed = sitk.GetImageFromArray(voxels)
    changed.CopyInformation(image)
    sitk.WriteImage(changed, str(path))
    built = build(miniature.spec, tmp_path)
    assert {s for s, m in built.manifests.items() if m.state == "quarantined"} == {"ToothFairy2F_001"}
    assert Code.UNKNOWN_LABEL in built.codes("ToothFairy2F_001")


def test_images_are_stored_as_itk_reads_them(tmp_path: Path) -> None:
    miniature = make("toothfairy2", tmp_path, n=1)
    built = build(miniature.spec, tmp_path)
    ((subject, made),) = miniature.made.items()
    image = sitk.DICOMOrient(sitk.ReadImage(str(made.only_scan.series["cbct"])), "RAS")
    voxels = sitk.GetArrayFromImage(image).transpose(2, 1, 0)
    np.testing.assert_array_equal(built.voxels(subject, "image", "0", "cbct"), voxels)
