"""DICOM against what other programs made of the same files: dcm2niix, dicom2nifti, picai_prep, and uncompressed twins."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import imagecodecs
import nibabel as nib
import numpy as np
import numpy.typing as npt
import pydicom
import pytest
import SimpleITK

from resources.findings import Code
from resources.readers.dicom.series import DicomSeries, open_series
from resources.readers.registry import open_image
from tests.readers.dicom.makers import in_ras, scan
from tests.readers.makers import codes, read_all

REFUSED = {
    "dicom/dicom2nifti/failing/sliceincrement/001": Code.MISSING_SLICE,
    "dicom/dicom2nifti/failing/notavolume/001": Code.DUPLICATE_SLICE,
}
PHILIPS = "dicom/dcm_qa_enh/In/Philips"
MIXED_KINDS = {"seg/dcmqi"}
"""Series of one kind below another folder of the list; they are compared there."""
MOSAICS = {
    "dcm_qa/In/Orientation/ax/axasc35": "dcm_qa/Ref/ax_asc_35sl_6.nii",
    "dcm_qa/In/Orientation/ax/axdesc35": "dcm_qa/Ref/ax_desc_35sl_7.nii",
    "dcm_qa/In/Orientation/sag/sagasc35": "dcm_qa/Ref/sag_asc_35sl_22.nii",
    "dcm_qa/In/Orientation/sag/sagdesc36": "dcm_qa/Ref/sag_desc_36sl_20.nii",
    "dcm_qa/In/Orientation/sag/sagint36": "dcm_qa/Ref/sag_int_36sl_21.nii",
}
PROSTATEX = {
    "3.000000-t2tsesag-87368": "sag",
    "5.000000-t2tsecor-03471": "cor",
    "7.000000-ep2ddifftraDYNDISTADC-48780": "adc",
    "8.000000-ep2ddifftraDYNDISTCALCBVAL-83202": "hbv",
}


def images(folder: Path) -> list[DicomSeries]:
    return [series for series in scan(folder) if series.kind == "image"]


def digest(values: npt.NDArray[Any]) -> str:
    return hashlib.sha256(np.asarray(values, "<f8").tobytes(order="F")).hexdigest()


def canonical(path: Path) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
    image = nib.as_closest_canonical(nib.load(path))
    return np.asarray(image.dataobj), image.affine


def test_every_series_equals_dcm2niix_or_is_refused_as_its_folder_says(shared_data: Path) -> None:
    reference = json.loads((shared_data / "reference/dcm2niix_ras.json").read_text(encoding="utf-8"))["series"]
    assert len(reference) > 25
    equal, refused = [], []
    for folder, expected in reference.items():
        if folder == PHILIPS:
            continue
        for series in images(shared_data / folder):
            if folder in REFUSED:
                assert series.refusal is not None
                assert series.refusal.code == REFUSED[folder]
                refused.append(folder)
                continue
            values, affine = in_ras(open_series(series))
            same = [out for out in expected["outputs"] if out["sha256_float64_F"] == digest(values)]
            assert same, f"{folder}: no output of dcm2niix has these voxels"
            assert same[0]["shape_ras"] == list(values.shape)
            np.testing.assert_allclose(affine, same[0]["affine_ras"], atol=1e-3)
            equal.append(folder)
    assert sorted(refused) == sorted(REFUSED)
    assert set(equal) == set(reference) - set(REFUSED) - {PHILIPS} - {"seg/dcmqi/23x38x3/seg"}


@pytest.mark.parametrize(("folder", "nifti"), MOSAICS.items())
def test_mosaics_equal_their_nifti(shared_data: Path, folder: str, nifti: str) -> None:
    (series,) = images(shared_data / "dicom" / folder)
    image = open_series(series)
    values, affine = in_ras(image)
    expected, expected_affine = canonical(shared_data / "dicom" / nifti)
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_allclose(affine, expected_affine, atol=1e-3)
    assert image.fourth_axis == "time"
    assert codes(image) == set()


def test_one_image_in_five_transfer_syntaxes(shared_data: Path) -> None:
    expected, expected_affine = canonical(shared_data / "dicom/dcm_qa_ts/Ref/1.nii")
    found = images(shared_data / "dicom/dcm_qa_ts/In")
    assert [series.number for series in found] == ["1", "2", "3", "4", "5"]
    for series in found:
        values, affine = in_ras(open_series(series))
        np.testing.assert_array_equal(values, expected)
        np.testing.assert_allclose(affine, expected_affine, atol=1e-3)


@pytest.mark.parametrize(
    "folder",
    [
        "anatomical/001", "failing/slicecount/001", "ge/anatomical/001", "ge/dti/001", "ge/fmri/001", "generic/anatomical/001",
        "generic/compressed/001", "generic/compressed_jpeg/001", "generic/compressed_rle/001", "philips/anatomical/001",
        "siemens/anatomical/001", "siemens/fmri_classic/001", "siemens_multiframe/anatomical/001",
    ],
)  # fmt: skip
def test_series_equal_the_ground_truth_beside_them(shared_data: Path, folder: str) -> None:
    (series,) = images(shared_data / "dicom/dicom2nifti" / folder)
    values, affine = in_ras(open_series(series))
    expected, expected_affine = canonical(shared_data / f"dicom/dicom2nifti/{folder}_ground_truth.nii.gz")
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_allclose(affine, expected_affine, atol=1e-3)


def test_a_single_slice_lies_where_the_ground_truth_says(shared_data: Path) -> None:
    folder = shared_data / "dicom/dicom2nifti/ge/anatomical"
    (series,) = images(folder / "001_single_slice")
    image = open_series(series)
    values, affine = in_ras(image)
    expected, expected_affine = canonical(folder / "001_single_slice_ground_truth.nii.gz")
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_allclose(affine, expected_affine, atol=1e-3)
    assert image.spacing_known == (True, True, False)  # the file states no thickness


def test_enhanced_philips_holds_two_volumes_in_the_units_of_the_standard(shared_data: Path) -> None:
    """dcm2niix undoes a private scaling (x / (rescale slope * private slope)); ours is that of PixelValueTransformation."""
    path = shared_data / PHILIPS / "IM.dcm"
    image = open_image(path)
    values, affine = in_ras(image)
    assert (image.n_channels, image.fourth_axis) == (2, "channel")
    frames = pydicom.dcmread(path, stop_before_pixels=True).PerFrameFunctionalGroupsSequence
    for channel, name in enumerate(["Philips_WIP_B0_NS_801_e1", "Philips_WIP_B0_NS_801_e2_fieldmaphz"]):
        expected, expected_affine = canonical(shared_data / f"dicom/dcm_qa_enh/Ref/{name}.nii")
        frame = frames[32 * channel]
        factor = frame.PixelValueTransformationSequence[0].RescaleSlope * frame[0x2005, 0x140F].value[0][0x2005, 0x100E].value
        # dcm2niix computes the scaling in single precision, on stored numbers up to 4095.
        np.testing.assert_allclose(
            values[..., channel], expected * float(factor), rtol=1e-6, atol=1e-5 * np.ptp(values[..., channel])
        )
        np.testing.assert_allclose(affine, expected_affine, atol=1e-3)


@pytest.mark.parametrize(("folder", "name"), PROSTATEX.items())
def test_prostatex_equals_the_mha_of_picai_prep(shared_data: Path, folder: str, name: str) -> None:
    (series,) = images(shared_data / "layouts/ProstateX/ProstateX-0000/07-07-2011" / folder)
    values, affine = in_ras(open_series(series))
    expected = shared_data / f"reference/picai_prep_expected/mha/ProstateX-0000_07-07-2011_{name}.mha"
    expected_values, expected_affine = in_ras(open_image(expected))
    np.testing.assert_array_equal(values, expected_values)
    np.testing.assert_allclose(affine, expected_affine, atol=1e-3)


def twin(shared_data: Path, name: str) -> pydicom.Dataset:
    """The uncompressed original of a WG04 picture."""
    packed = (shared_data / f"dicom/wg04/REF/{name}_UNC.zst").read_bytes()
    return pydicom.dcmread(io.BytesIO(imagecodecs.zstd_decode(packed)))


@pytest.mark.parametrize("syntax", ["RLE", "JPLL", "J2KR"])
@pytest.mark.parametrize("name", ["CT1", "MR2", "NM1", "US1"])
def test_losslessly_compressed_twins_are_equal(shared_data: Path, name: str, syntax: str) -> None:
    path = shared_data / f"dicom/wg04/{syntax}/{name}_{syntax}"
    if not path.exists():
        pytest.skip(f"{path.name} is not among the reference files")
    original = twin(shared_data, name)
    stored = original.pixel_array
    values = read_all(open_image(path))[:, :, 0]
    slope, intercept = float(original.get("RescaleSlope", 1)), float(original.get("RescaleIntercept", 0))
    np.testing.assert_allclose(np.swapaxes(values, 0, 1), stored * slope + intercept, rtol=1e-6, atol=0)
    if slope == 1:
        np.testing.assert_array_equal(np.swapaxes(values, 0, 1), stored + int(intercept))


def test_series_lie_where_simpleitk_puts_them(shared_data: Path) -> None:
    folder = shared_data / "seg/dcmqi/ct-3slice"
    reader = SimpleITK.ImageSeriesReader()
    reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(folder)))
    other = reader.Execute()
    (series,) = images(folder)
    image = open_series(series)
    np.testing.assert_array_equal(read_all(image), SimpleITK.GetArrayFromImage(other).T)
    np.testing.assert_allclose(image.affine_ras_mm[:3, 3], np.multiply(other.GetOrigin(), (-1, -1, 1)), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(image.affine_ras_mm[:3, :3], axis=0), other.GetSpacing(), atol=1e-6)
