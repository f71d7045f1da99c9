"""A real patient of ProstateX through the chain, against what picai_prep made of the same files."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import SimpleITK as sitk  # noqa: N813  # the name its manual uses

from assets.raw import discover
from assets.spec import DatasetSpec
from resources.geometry import spacing_mm
from tests.chain.checks import check_ledger
from tests.chain.dicom import dicom_spec
from tests.chain.product import Product, run_chain

SUBJECT = "ProstateX-0000"
SERIES = {
    "sag": "t2_tse_sag*",
    "cor": "t2_tse_cor*",
    "adc": "*_ADC",
    "hbv": "*CALC_BVAL",
}
"""As picai_prep calls them -> what their series descriptions look like."""


@pytest.fixture(scope="module")
def prostate(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Product:
    root = tmp_path_factory.mktemp("prostate")
    shutil.copytree(shared_data / "layouts/ProstateX", root / "raw/prostate")
    moved = root / f"raw/prostate/{SUBJECT}/07-07-2011/3.000000-t2tsesag-87368/1-01.dcm"
    moved.rename(root / f"raw/prostate/{SUBJECT}/elsewhere")
    return run_chain(prostate_spec(*SERIES), root)


def prostate_spec(*names: str) -> DatasetSpec:
    chosen = {name: {"where": {"SeriesDescription": SERIES[name]}} for name in names}
    return dicom_spec("prostate", chosen, subject=r"ProstateX-\d{4}")


@pytest.mark.parametrize("name", SERIES)
def test_series_equal_those_of_picai_prep(prostate: Product, shared_data: Path, name: str) -> None:
    path = shared_data / f"reference/picai_prep_expected/mha/{SUBJECT}_07-07-2011_{name}.mha"
    # In ITK's words too, the indices of RAS grow to the right, the front and the head; its coordinates do not.
    expected = sitk.DICOMOrient(sitk.ReadImage(str(path)), "RAS")
    stored = prostate.image(SUBJECT, name)
    np.testing.assert_array_equal(stored.voxels(), sitk.GetArrayFromImage(expected).T)
    affine = stored.affine_ras_mm
    lps = np.array([-1.0, -1.0, 1.0])
    np.testing.assert_allclose(affine[:3, 3], lps * expected.GetOrigin(), atol=1e-3)
    np.testing.assert_allclose(spacing_mm(affine), expected.GetSpacing(), atol=1e-5)
    direction = np.array(expected.GetDirection()).reshape(3, 3)
    np.testing.assert_allclose(affine[:3, :3] / spacing_mm(affine), lps[:, None] * direction, atol=1e-5)


def test_every_file_is_used_and_nothing_is_said(prostate: Product) -> None:
    check_ledger(prostate, [SUBJECT])
    assert prostate.findings(SUBJECT) == []
    assert set(prostate.tables["ledger"]["state"]) == {"used"}
    assert f"{SUBJECT}/elsewhere" in prostate.row(SUBJECT, "image", "sag")["source_paths"]


def test_what_is_not_asked_for_is_left_with_the_reason(shared_data: Path) -> None:
    tree = discover(prostate_spec("sag", "cor", "adc"), shared_data / "layouts/ProstateX")
    left = [file for file in tree.files if file.state != "used"]
    assert {(file.state, file.reason, file.subject) for file in left} == {
        ("ignored", "series 8, ep2d_diff_tra_DYNDISTCALC_BVAL (MR), is not asked for", "")
    }
    assert (len(left), len(tree.files)) == (19, 19 + 15 + 19 + 19)
    assert {name: len(files) for name, files in tree.subjects[SUBJECT].scans[0].series_files.items()} == {
        "sag": 19, "cor": 15, "adc": 19,
    }  # fmt: skip
