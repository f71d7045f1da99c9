"""DICOM against the shared trouble cases; every expected number comes from their `expected.json`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from resources.findings import BadInputError, Code
from resources.geometry import spacing_mm
from resources.readers.dicom.series import DicomSeries, open_series
from resources.readers.image import RawImage
from resources.readers.registry import open_image
from tests.readers.conftest import CaseKind
from tests.readers.dicom.makers import in_ras, only, scan, series_refusal
from tests.readers.makers import codes, read_all

Indices = npt.NDArray[np.int64]
RAMP: Callable[[Indices, Indices, Indices], npt.NDArray[Any]] = lambda i, j, k: i + 16 * j + 256 * k  # noqa: E731


def check(image: RawImage, expect: dict[str, Any], formula: Callable[..., npt.NDArray[Any]] = RAMP) -> None:
    values, affine = in_ras(image)
    assert list(values.shape) == expect["shape_ras"]
    if "spacing_ras_mm" in expect:
        np.testing.assert_allclose(spacing_mm(affine), expect["spacing_ras_mm"], atol=expect.get("tolerance_mm", 1e-6))
    if "voxel0_world_ras_mm" in expect:
        np.testing.assert_allclose(affine[:3, 3], expect["voxel0_world_ras_mm"], atol=1e-6)
    i, j, k = np.meshgrid(*(np.arange(n) for n in values.shape), indexing="ij")
    np.testing.assert_array_equal(values, formula(i, j, k))


@pytest.mark.parametrize(
    "id_",
    ["reverse_instance_number", "same_instance_number", "no_instance_number", "no_extension", "unpadded_names", "sagittal"],
)
def test_slices_are_ordered_by_position(case_kind: CaseKind, id_: str) -> None:
    folder, cases = case_kind("dcm_slice_order")
    series = only(folder / cases[id_]["inputs"]["folder"])
    image = open_series(series)
    check(image, cases[id_]["expect"])
    assert codes(image) == set()


def test_a_dump_of_many_series_is_sorted_out(case_kind: CaseKind) -> None:
    folder, cases = case_kind("dcm_series_mix")
    case = cases["one_folder"]
    dump = folder / case["inputs"]["folder"]
    found = scan(dump)
    names = {path.relative_to(dump).as_posix() for path in dump.rglob("*") if path.is_file()}
    listed = [name for series in found for name in series.files]
    assert len(listed) == len(set(listed))
    assert len(names) - len(listed) == case["expect"]["ignored_non_dicom"]
    by_size = {series.shape: series for series in found if series.shape}
    assert {size: len(series.files) for size, series in by_size.items()} == {(7, 9, 6): 6, (7, 9, 4): 4}
    check(open_series(by_size[7, 9, 6]), case["expect"]["volumes"]["A"])
    check(open_series(by_size[7, 9, 4]), case["expect"]["volumes"]["B"])
    assert "raw_export_17" in by_size[7, 9, 6].files
    refusals = {series.files[0][:3]: series.refusal for series in found if series.refusal}
    assert {name: refusal.code for name, refusal in refusals.items()} == {"c0.": Code.TRUNCATED, "loc": Code.MIXED_SERIES}
    assert refusals["c0."].file == "c1.dcm"
    assert all(word in refusals["c0."].detail for word in ("truncat", "pixel", "length"))
    assert "orientations differ" in refusals["loc"].detail
    assert [series.kind for series in found if not series.shape and not series.refusal] == ["report"]


@pytest.mark.parametrize(
    ("id_", "said"),
    [("overlapping", {Code.SPACING_IGNORED}), ("gap_between", set()), ("rounding", set()), ("row_column_spacing", set())],
)
def test_the_distance_of_slices_is_that_of_their_positions(case_kind: CaseKind, id_: str, said: set[Code]) -> None:
    folder, cases = case_kind("dcm_spacing")
    image = open_series(only(folder / cases[id_]["inputs"]["folder"]))
    check(image, cases[id_]["expect"])
    assert codes(image) == said
    assert bool(said) == (cases[id_]["outcome"] == "value_with_warning")


@pytest.mark.parametrize(("id_", "code"), [("one_missing", Code.MISSING_SLICE), ("uneven", Code.UNEVEN_SPACING)])
def test_uneven_and_incomplete_stacks_are_refused(case_kind: CaseKind, id_: str, code: Code) -> None:
    folder, cases = case_kind("dcm_spacing")
    finding = series_refusal(folder / cases[id_]["inputs"]["folder"])
    assert finding.code == code
    assert any(word in finding.detail for word in cases[id_]["error_must_mention_one_of"])
    if id_ == "one_missing":
        low, high = cases[id_]["expect"]["gap_between_mm"]
        assert f"between {low} and {high} mm" in finding.detail


def test_two_passes_are_two_volumes(case_kind: CaseKind) -> None:
    folder, cases = case_kind("dcm_spacing")
    expect = cases["two_passes_one_series"]["expect"]
    image = open_series(only(folder / cases["two_passes_one_series"]["inputs"]["folder"]))
    assert (image.n_channels, image.fourth_axis) == (expect["volumes"], "time")
    values, affine = in_ras(image)
    np.testing.assert_allclose(spacing_mm(affine), expect["each"]["spacing_ras_mm"], atol=1e-6)
    i, j, k = np.meshgrid(*(np.arange(n) for n in expect["each"]["shape_ras"]), indexing="ij")
    for volume in range(2):
        np.testing.assert_array_equal(values[..., volume], RAMP(i, j, k))


@pytest.mark.parametrize(
    ("id_", "formula", "said"),
    [
        ("rescale_per_slice", lambda i, j, k: 0.5 * (k + 1) * RAMP(i, j, k) - 10 * k, set()),
        ("no_rescale", RAMP, {Code.RESCALE_MISSING}),
        ("slope_quarter", lambda i, j, k: 0.25 * RAMP(i, j, k) + 0.5, set()),
        ("negative_slope", lambda i, j, k: 3000 - 10 * RAMP(i, j, k), set()),
        ("unsigned_high", lambda i, j, k: 40 * RAMP(i, j, k) - 1024, set()),
        ("signed_12_in_16", lambda i, j, k: RAMP(i, j, k) - 600, set()),
    ],
)
def test_stored_numbers_become_values(
    case_kind: CaseKind, id_: str, formula: Callable[..., npt.NDArray[Any]], said: set[Code]
) -> None:
    folder, cases = case_kind("dcm_pixel_values")
    image = open_series(only(folder / cases[id_]["inputs"]["folder"]))
    check(image, cases[id_]["expect"], formula)
    assert codes(image) == said
    assert bool(said) == (cases[id_]["outcome"] == "value_with_warning")


def test_padding_is_kept_and_told(case_kind: CaseKind) -> None:
    folder, cases = case_kind("dcm_pixel_values")
    expect = cases["padding_value"]["expect"]
    image = open_series(only(folder / cases["padding_value"]["inputs"]["folder"]))
    values, _ = in_ras(image)
    assert list(values.shape) == expect["shape_ras"]
    assert int((values == -2000).sum()) == expect["padding_voxels"]
    assert int(values[values != -2000].min()) == expect["min_without_padding"]
    assert codes(image) == {Code.PADDING_VALUE}
    assert "-2000" in image.findings[0].detail


def test_monochrome1_is_kept_and_told(case_kind: CaseKind) -> None:
    folder, cases = case_kind("dcm_pixel_values")
    image = open_image(folder / cases["monochrome1"]["inputs"]["image"])
    assert read_all(image)[:, 0, 0].tolist() == cases["monochrome1"]["expect"]["stored_row0"]
    assert Code.MONOCHROME1 in codes(image)


def test_spacing_of_x_rays(case_kind: CaseKind) -> None:
    folder, cases = case_kind("landmark_coords")
    plain = open_image(folder / cases["xr_points"]["inputs"]["image"])
    assert np.diag(plain.affine_ras_mm)[:2].tolist() == [0.1, 0.2]
    assert plain.spacing_known == (True, True, False)
    assert plain.space == "picture"
    magnified = open_image(folder / cases["xray_spacing_imager"]["inputs"]["image"])
    size = cases["xray_spacing_imager"]["expect"]["effective_spacing_mm"]
    np.testing.assert_allclose(np.diag(magnified.affine_ras_mm)[:2], size)
    assert magnified.spacing_known[:2] == (True, True)
    for id_ in ("xray_spacing_imager_only", "xray_spacing_none"):
        image = open_image(folder / cases[id_]["inputs"]["image"])
        assert image.spacing_known[:2] == (False, False)
        (said,) = [finding for finding in image.findings if finding.code == Code.SPACING_ESTIMATED]
        assert any(word in said.detail for word in cases[id_]["error_must_mention_one_of"])
    assert "detector plane" in open_image(folder / "xr_imager_only.dcm").findings[-1].detail


def test_nothing_is_lost(case_kind: CaseKind) -> None:
    """Every file of every DICOM case is in exactly one series, and every refused series says why."""
    for kind in ("dcm_slice_order", "dcm_series_mix", "dcm_spacing", "dcm_pixel_values"):
        folder, _ = case_kind(kind)
        for case in sorted(path for path in folder.iterdir() if path.is_dir()):
            found: list[DicomSeries] = scan(case)
            listed = sorted(name for series in found for name in series.files)
            assert len(listed) == len(set(listed))
            for series in found:
                if series.shape is None and series.kind == "image":
                    assert series.refusal is not None
                    with pytest.raises(BadInputError) as caught:
                        open_series(series)
                    assert caught.value.finding.code == series.refusal.code
