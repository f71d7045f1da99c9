"""Stored numbers, bits, colours and transfer syntaxes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pydicom
import pytest
import SimpleITK
from hypothesis import given
from hypothesis import strategies as st
from pydicom.dataset import Dataset
from pydicom.encaps import encapsulate
from pydicom.uid import (
    DeflatedExplicitVRLittleEndian,
    ExplicitVRBigEndian,
    ExplicitVRLittleEndian,
    ImplicitVRLittleEndian,
    JPEG2000Lossless,
    RLELossless,
    UltrasoundImageStorage,
)

from resources.findings import BadInputError, Code
from resources.readers.dicom import pixels
from resources.readers.dicom.layout import PixelLayout
from resources.readers.dicom.rescale import UNSCALED, Rescale, apply_rescale, stored_range, value_type
from resources.readers.registry import open_image
from tests.readers.dicom.makers import COLUMNS, ROWS, opened, packed, ramp, series_refusal, slice_of, write, write_stack
from tests.readers.makers import codes, read_all

ODD = "dicom/pydicom_test_files"
NO_SOUND_IMAGE = {
    "MR_truncated.dcm": Code.TRUNCATED, "rtplan_truncated.dcm": Code.TRUNCATED, "badVR.dcm": Code.BAD_HEADER,
    "JPEG2000-embedded-sequence-delimiter.dcm": Code.DECODER_FAILED, "rtdose_1frame.dcm": Code.BAD_HEADER,
    "rtdose_rle_1frame.dcm": Code.BAD_HEADER, "no_meta.dcm": Code.WRONG_MAGIC, "meta_missing_tsyntax.dcm": Code.BAD_HEADER,
    "waveform_ecg.dcm": Code.NOT_A_VOLUME, "rtstruct.dcm": Code.NOT_A_VOLUME, "reportsi.dcm": Code.NOT_A_VOLUME,
    "reportsi_with_empty_number_tags.dcm": Code.NOT_A_VOLUME, "liver_expb_1frame.dcm": Code.BAD_HEADER,
    "empty_charset_LEI.dcm": Code.NOT_A_VOLUME, "no_meta_group_length.dcm": Code.NOT_A_VOLUME,
    "ExplVR_BigEndNoMeta.dcm": Code.NOT_A_VOLUME,
}  # fmt: skip
"""Odd files without pixels, cut ones, and those whose headers contradict themselves or their pixels."""


def layout(allocated: int = 16, stored: int = 16, *, signed: bool = False, shift: int = 0, floating: bool = False) -> PixelLayout:
    return PixelLayout(1, 1, 1, 1, "MONOCHROME2", False, allocated, stored, shift, signed, floating, overlay_bits=False)


@given(
    allocated=st.sampled_from([8, 16, 32]),
    signed=st.booleans(),
    data=st.data(),
    slope=st.one_of(st.integers(-2000, 2000).filter(bool).map(float), st.floats(1e-4, 1e4)),
    intercept=st.one_of(st.integers(-70000, 70000).map(float), st.floats(-1e5, 1e5)),
)
def test_values_never_wrap(allocated: int, signed: bool, data: st.DataObject, slope: float, intercept: float) -> None:
    stored = data.draw(st.integers(1, allocated))
    form = layout(allocated, stored, signed=signed)
    numbers = np.array([*stored_range(form), 0], form.container)
    dtype = value_type([(form, Rescale(slope, intercept))])
    found = np.empty(3, dtype)
    apply_rescale(numbers, Rescale(slope, intercept), found)
    exact = [slope * int(number) + intercept for number in numbers]
    scale = max(abs(value) for value in exact) + abs(intercept) + 1
    np.testing.assert_allclose(found.astype(np.float64), exact, rtol=0, atol=scale * (1e-6 if dtype.kind == "f" else 0))


@pytest.mark.parametrize(
    ("forms", "expected"),
    [
        ([(layout(), UNSCALED)], "uint16"),
        ([(layout(8, 8), UNSCALED)], "uint8"),
        ([(layout(16, 12), Rescale(1.0, -1024.0))], "int16"),
        ([(layout(16, 16, signed=True), Rescale(1.0, -1024.0))], "int32"),
        ([(layout(), UNSCALED), (layout(16, 12, signed=True), UNSCALED)], "int32"),
        ([(layout(), Rescale(0.5, 0.0))], "float32"),
        ([(layout(32, 32), Rescale(0.5, 0.0))], "float64"),
        ([(layout(32, 32, floating=True), UNSCALED)], "float32"),
    ],
)
def test_the_type_of_values(forms: list[tuple[PixelLayout, Rescale]], expected: str) -> None:
    assert value_type(forms) == np.dtype(expected)


@pytest.mark.parametrize(
    "syntax", [ExplicitVRLittleEndian, ImplicitVRLittleEndian, ExplicitVRBigEndian, DeflatedExplicitVRLittleEndian]
)
@pytest.mark.parametrize("dtype", ["u1", "u2", "i2", "u4", "i4"])
def test_every_plain_encoding_gives_the_same_voxels(tmp_path: Path, syntax: pydicom.uid.UID, dtype: str) -> None:
    numbers = np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS).astype(dtype) - (7 if dtype[0] == "i" else 0)
    order: Literal["<", ">"] = ">" if syntax == ExplicitVRBigEndian else "<"
    ds = slice_of(numbers.astype(np.dtype(dtype).newbyteorder(order)))
    if syntax == ExplicitVRBigEndian and dtype == "u1":
        ds.PixelData = np.frombuffer(ds.PixelData, "<u2").astype(">u2").tobytes()  # words, as VR OW has them
        ds["PixelData"].VR = "OW"
    write(tmp_path / "s", ds, syntax)
    np.testing.assert_array_equal(read_all(opened(tmp_path))[..., 0].T, numbers)


@pytest.mark.parametrize("negative", ["clear", "filled"])
def test_the_sign_is_the_topmost_bit_that_counts(tmp_path: Path, negative: str) -> None:
    numbers = np.arange(-10, 10, dtype=np.int16).reshape(ROWS, COLUMNS) * 200
    stored = (numbers & 0x0FFF if negative == "clear" else numbers).astype(np.uint16)
    write(tmp_path / "s", slice_of(stored, BitsStored=12, HighBit=11, PixelRepresentation=1))
    image = opened(tmp_path)
    assert image.dtype == np.int16
    np.testing.assert_array_equal(read_all(image)[..., 0].T, numbers)


def test_bits_need_not_begin_at_the_lowest(tmp_path: Path) -> None:
    write(tmp_path / "s", slice_of(ramp() << 4, BitsStored=12, HighBit=15))
    np.testing.assert_array_equal(read_all(opened(tmp_path))[..., 0].T, ramp())


def test_an_overlay_in_the_unused_bits_is_left_out(tmp_path: Path) -> None:
    ds = slice_of(ramp() | 0x4000, BitsStored=12, HighBit=11)
    ds.add_new(0x60000100, "US", 16)
    ds.add_new(0x60000102, "US", 14)
    write(tmp_path / "s", ds)
    np.testing.assert_array_equal(read_all(opened(tmp_path))[..., 0].T, ramp())


@pytest.mark.parametrize(("signed", "numbers"), [(0, ramp() + 60000), (1, (ramp().astype(np.int16) - 3024).view(np.uint16))])
def test_pixels_beyond_the_bits_that_count_are_refused(tmp_path: Path, signed: int, numbers: npt.NDArray[Any]) -> None:
    write(tmp_path / "s", slice_of(numbers, BitsStored=12, HighBit=11, PixelRepresentation=signed))
    finding = series_refusal(tmp_path)
    assert finding.code == Code.BAD_HEADER
    assert "12 of 16 bits" in finding.detail


def test_slices_of_different_type_lie_in_one_array(tmp_path: Path) -> None:
    write(tmp_path / "a", slice_of(ramp() + 60000, (0, 0, 0), number=1))
    write(tmp_path / "b", slice_of(ramp().astype(np.int16) - 500, (0, 0, 2), number=2))
    image = opened(tmp_path)
    assert image.dtype == np.int32
    assert read_all(image)[0, 0].tolist() == [60000, -500]


def test_a_modality_table_gives_the_values(tmp_path: Path) -> None:
    table = Dataset()
    table.LUTDescriptor = [100, 5, 16]
    table["LUTDescriptor"].VR = "US"
    table.LUTData = [1000 + entry**2 for entry in range(100)]
    table["LUTData"].VR = "US"
    write(tmp_path / "s", slice_of(ramp(), ModalityLUTSequence=[table], RescaleSlope=None, RescaleIntercept=None))
    expected = 1000 + np.clip(ramp().astype(int) - 5, 0, 99) ** 2
    np.testing.assert_array_equal(read_all(opened(tmp_path))[..., 0].T, expected)


def test_floating_point_pixels(tmp_path: Path) -> None:
    numbers = ramp().astype(np.float32) / 3
    ds = slice_of(ramp())
    del ds.PixelData, ds.PixelRepresentation, ds.BitsStored, ds.HighBit
    ds.BitsAllocated, ds.FloatPixelData = 32, numbers.tobytes()
    write(tmp_path / "s", ds)
    image = opened(tmp_path)
    assert image.dtype == np.float32
    np.testing.assert_array_equal(read_all(image)[..., 0].T, numbers)


@pytest.mark.parametrize("planar", [0, 1])
def test_colours_are_channels(tmp_path: Path, planar: int) -> None:
    numbers = np.random.default_rng(1).integers(0, 255, (ROWS, COLUMNS, 3), np.uint8)
    ds = slice_of(numbers, None, Modality="XC", PlanarConfiguration=planar)
    if planar:
        ds.PixelData = np.ascontiguousarray(np.moveaxis(numbers, -1, 0)).tobytes()
    write(tmp_path / "s", ds)
    image = opened(tmp_path)
    assert (image.n_channels, image.fourth_axis, image.space) == (3, "channel", "picture")
    np.testing.assert_array_equal(np.swapaxes(read_all(image)[:, :, 0], 0, 1), numbers)


def test_coloured_slices_of_a_patient(tmp_path: Path) -> None:
    numbers = np.random.default_rng(2).integers(0, 255, (3, ROWS, COLUMNS, 3), np.uint8)
    for k in range(3):
        write(tmp_path / f"{k}", slice_of(numbers[k], (0, 0, k), number=k))
    image = opened(tmp_path)
    assert (image.shape, image.n_channels, image.space) == ((5, 4, 3), 3, "patient")
    np.testing.assert_array_equal(np.moveaxis(read_all(image), (0, 1, 2), (2, 1, 0)), numbers)


def test_a_film_is_read_frame_by_frame(tmp_path: Path) -> None:
    frames = np.random.default_rng(3).integers(0, 255, (6, ROWS, COLUMNS, 3), np.uint8)
    ds = slice_of(frames[0], None, Modality="US", FrameTime=40.0, NumberOfFrames=6, PixelData=frames.tobytes(), PixelSpacing=None)
    ds.SOPClassUID = UltrasoundImageStorage
    region = Dataset()
    region.PhysicalUnitsXDirection = region.PhysicalUnitsYDirection = 3
    region.PhysicalDeltaX, region.PhysicalDeltaY = 0.02, 0.03
    ds.SequenceOfUltrasoundRegions = [region]
    path = write(tmp_path / "us", ds)
    image = open_image(path)
    assert (image.shape, image.n_channels, image.third_axis) == ((5, 4, 6), 3, "time")
    np.testing.assert_allclose(np.diag(image.affine_ras_mm)[:2], (0.2, 0.3))
    assert Code.BURNED_IN_TEXT in codes(image)
    np.testing.assert_array_equal(np.moveaxis(read_all(image), (0, 1, 2), (2, 1, 0)), frames)


@pytest.mark.parametrize("memory", [True, False])
def test_frames_of_large_files_are_read_one_at_a_time(tmp_path: Path, memory: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not memory:
        monkeypatch.setattr(pixels, "IN_MEMORY", 0)
    write_stack(tmp_path, [0, 2, 4])
    assert read_all(opened(tmp_path))[0, 0].tolist() == [0, 256, 512]


def test_one_bit_frames_need_not_begin_with_a_byte(tmp_path: Path) -> None:
    bits = np.random.default_rng(4).integers(0, 2, (7, 3, 5), np.uint8)
    ds = slice_of(bits[0], None, Modality="OT", NumberOfFrames=7, BitsAllocated=1, BitsStored=1, HighBit=0)
    ds.PixelData = np.packbits(bits.ravel(), bitorder="little").tobytes()
    image = open_image(write(tmp_path / "s", ds))
    np.testing.assert_array_equal(np.moveaxis(read_all(image), (0, 1, 2), (2, 1, 0)), bits)


def test_compressed_series_equal_their_plain_twin(tmp_path: Path) -> None:
    for k in range(3):
        ds = slice_of(ramp(k), (0, 0, 2 * k), number=k)
        write(tmp_path / "plain" / f"{k}", ds)
        write(tmp_path / "rle" / f"{k}", packed(ds), RLELossless)
    plain, compressed = opened(tmp_path / "plain"), opened(tmp_path / "rle")
    np.testing.assert_array_equal(read_all(compressed), read_all(plain))
    np.testing.assert_array_equal(compressed.affine_ras_mm, plain.affine_ras_mm)


@pytest.mark.parametrize("pieces", [1, 3])
def test_compressed_frames_may_be_in_several_fragments(tmp_path: Path, shared_data: Path, pieces: int) -> None:
    """With and without an offset table, the frames of a film are told apart."""
    source = pydicom.dcmread(shared_data / "dicom/dicom2nifti/generic/compressed/001/IM-0001-0001-0001.dcm")
    expected = source.pixel_array
    frame = next(pydicom.encaps.generate_frames(source.PixelData, number_of_frames=1))
    for has_table in (True, False):
        ds = slice_of(expected, None, Modality="OT", NumberOfFrames=3, BitsStored=12, HighBit=11)
        ds.PixelData = encapsulate([frame] * 3, fragments_per_frame=pieces, has_bot=has_table)
        ds["PixelData"].VR, ds["PixelData"].is_undefined_length = "OB", True
        image = open_image(write(tmp_path / f"{pieces}{has_table}", ds, JPEG2000Lossless))
        np.testing.assert_array_equal(np.moveaxis(read_all(image), (0, 1, 2), (2, 1, 0)), np.stack([expected] * 3))


@pytest.mark.parametrize(
    "name",
    [
        "MR_small_RLE.dcm", "MR_small_bigendian.dcm", "MR_small_implicit.dcm", "MR_small_jp2klossless.dcm", "693_J2KI.dcm",
        "J2K_pixelrep_mismatch.dcm", "JPEG2000.dcm", "JPEGLSNearLossless_16.dcm", "image_dfl.dcm", "rtdose_expb.dcm",
        "rtdose_rle.dcm", "SC_rgb_rle.dcm", "SC_rgb_rle_2frame.dcm", "SC_rgb_rle_16bit_2frame.dcm", "SC_rgb_rle_32bit_2frame.dcm",
        "SC_rgb_small_odd.dcm", "ExplVR_BigEnd.dcm", "SC_rgb_jpeg_dcmd.dcm",
    ],
)  # fmt: skip
def test_odd_files_give_the_stored_numbers_pydicom_gives(shared_data: Path, name: str) -> None:
    path = shared_data / ODD / name
    ds = pydicom.dcmread(path)
    stored = ds.pixel_array.astype(np.float64)
    scale = float(ds.get("RescaleSlope", ds.get("DoseGridScaling", 1)))
    values = read_all(open_image(path))
    coloured = values.ndim == 4
    values = np.moveaxis(values, (0, 1, 2), (2, 1, 0))
    expected = stored.reshape(values.shape) * scale + float(ds.get("RescaleIntercept", 0))
    np.testing.assert_allclose(values, expected, rtol=1e-6)
    assert coloured == (ds.SamplesPerPixel == 3)


@pytest.mark.parametrize(
    ("name", "tolerance"),
    [
        ("examples_palette.dcm", 0), ("SC_ybr_full_422_uncompressed.dcm", 3), ("SC_rgb_jpeg_dcmtk.dcm", 3),
        ("SC_rgb_gdcm_KY.dcm", 0), ("SC_rgb_dcmtk_+eb+cr.dcm", 3),
        ("SC_rgb_dcmtk_+eb+cy+n2.dcm", 3),
        ("SC_rgb_dcmtk_+eb+cy+s4.dcm", 3),
        ("GDCMJ2K_TextGBR.dcm", 0),
    ],
)  # fmt: skip
def test_colours_equal_those_of_simpleitk(shared_data: Path, name: str, tolerance: int) -> None:
    """Chroma that was stored at half resolution is filled up in more than one way, away from edges to the same colour."""
    path = shared_data / ODD / name
    other = SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(path)))[0].astype(int)
    ours = np.swapaxes(read_all(open_image(path))[:, :, 0], 0, 1).astype(int)
    assert ours.shape == other.shape
    assert np.median(np.abs(ours - other)) <= tolerance
    assert (np.abs(ours - other).max(axis=-1) <= tolerance).mean() > 0.97


def test_12_bit_jpeg_is_read(shared_data: Path) -> None:
    """Of the same sparse picture there is one in lossy JPEG 2000: they agree within their losses."""
    first = read_all(open_image(shared_data / ODD / "JPGExtended.dcm")).astype(int)
    second = read_all(open_image(shared_data / ODD / "JPEG2000.dcm")).astype(int)
    assert np.corrcoef(first.ravel(), second.ravel())[0, 1] > 0.95


@pytest.mark.parametrize(("name", "code"), NO_SOUND_IMAGE.items())
def test_odd_files_that_hold_no_sound_image_say_so(shared_data: Path, name: str, code: Code) -> None:
    with pytest.raises(BadInputError) as caught:
        read_all(open_image(shared_data / ODD / name))
    assert (caught.value.finding.code, caught.value.finding.file) == (code, name)


def test_bytes_behind_the_pixels_are_told(shared_data: Path) -> None:
    padded, plain = (open_image(shared_data / ODD / f"MR_small_{kind}.dcm") for kind in ("padded", "implicit"))
    np.testing.assert_array_equal(read_all(padded), read_all(plain))
    (said,) = padded.findings
    assert said.code == Code.TRAILING_BYTES
    assert "128 bytes" in said.detail


def test_every_odd_file_is_read_or_refused(shared_data: Path) -> None:
    accepted = 0
    for path in sorted((shared_data / ODD).iterdir()):
        try:
            read_all(open_image(path))
            accepted += 1
        except BadInputError as error:
            assert error.finding.detail  # noqa: PT017  # either is right
    assert accepted > 30
