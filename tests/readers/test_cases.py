"""The readers against the shared trouble cases; every expected number comes from their `expected.json`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from resources.findings import BadInputError, Code
from resources.geometry import closest_ras, spacing_mm
from resources.readers.image import RawImage
from resources.readers.registry import open_image
from resources.readers.source import ReadOptions
from tests.readers.conftest import CaseKind
from tests.readers.makers import codes, read_all, refusal


def ras(image: RawImage) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
    """Voxels (channels last where there are several) and affine in RAS+ order."""
    turn = closest_ras(image.affine_ras_mm)
    stored = read_all(image)
    if stored.ndim == 4:
        turned = np.stack([turn.view(stored[..., channel]) for channel in range(stored.shape[3])], axis=-1)
    else:
        turned = turn.view(stored)
    return turned, turn.affine(image.affine_ras_mm, image.shape)


def formula(expect: dict[str, Any], shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """The closed form of a case, which is written as a Python expression of i, j, k."""
    expression = expect["formula"].split("==")[1].split(" in ")[0]
    i, j, k = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij")
    return np.asarray(eval(expression, {}, {"i": i, "j": j, "k": k}), np.float64)  # noqa: S307  # our own test data


def check_image(image: RawImage, expect: dict[str, Any]) -> None:
    values, affine = ras(image)
    assert list(values.shape) == expect["shape_ras"]
    np.testing.assert_allclose(spacing_mm(affine), expect["spacing_ras_mm"], atol=1e-6)
    if "formula" in expect:
        np.testing.assert_array_equal(values, formula(expect, values.shape))
    if "direction_ras_columns" in expect:
        columns = affine[:3, :3] / spacing_mm(affine)
        np.testing.assert_allclose(columns, expect["direction_ras_columns"], atol=1e-6)


def check_label(image: RawImage, expect: dict[str, Any], label: int = 1) -> None:
    values, affine = ras(image)
    where = np.argwhere(values == label)
    assert len(where) == expect["voxel_count"]
    if "box_index_inclusive_ras" in expect:
        box = np.stack([where.min(axis=0), where.max(axis=0)], axis=1).tolist()
        assert box[: len(expect["box_index_inclusive_ras"])] == expect["box_index_inclusive_ras"]
    if "centroid_world_ras_mm" in expect:
        centre = affine[:3, :3] @ where.mean(axis=0) + affine[:3, 3]
        np.testing.assert_allclose(centre, expect["centroid_world_ras_mm"], atol=1e-3)
    if "volume_mm3" in expect:
        volume = len(where) * abs(np.linalg.det(affine[:3, :3]))
        assert volume == pytest.approx(expect["volume_mm3"], rel=1e-4)


def check_case(folder: Path, case: dict[str, Any], *, image_codes: set[Code] | None = None, **options: Any) -> None:
    image = open_image(folder / case["inputs"]["image"], name=case["inputs"]["image"], options=ReadOptions(**options))
    check_image(image, case["expect"])
    if "label" in case["inputs"] and "label" in case["expect"]:
        check_label(open_image(folder / case["inputs"]["label"], options=ReadOptions(**options)), case["expect"]["label"])
    said = codes(image)
    assert said == (image_codes or set())
    assert bool(said) == (case["outcome"] == "value_with_warning") or said == {Code.UNITS_CONVERTED}
    assert all(finding.file == case["inputs"]["image"] for finding in image.findings)


@pytest.mark.parametrize("id_", ["RAS", "LPS", "LAS", "PIR", "ASL", "SAR", "IPL", "RSP", "itk_mha", "itk_nrrd", "oblique"])
def test_same_anatomy_in_every_order_and_format(case_kind: CaseKind, id_: str) -> None:
    folder, cases = case_kind("orientations")
    check_case(folder, cases[id_])


def test_two_file_nifti_is_one_image(case_kind: CaseKind) -> None:
    folder, cases = case_kind("orientations")
    check_case(folder, cases["hdr_img_pair"])


@pytest.mark.parametrize(
    ("id_", "said"),
    [
        ("sform_without_scale", {Code.FORMS_DISAGREE}),
        ("qform_only_left_handed", set()),
        ("pixdim_zero", {Code.PIXDIM_IGNORED}),
        ("identity_affine_suspicious", {Code.IDENTITY_AFFINE}),
    ],
)
def test_form_codes(case_kind: CaseKind, id_: str, said: set[Code]) -> None:
    folder, cases = case_kind("nii_form_codes")
    check_case(folder, cases[id_], image_codes=said)


def test_no_orientation_is_refused_unless_the_spec_states_one(case_kind: CaseKind) -> None:
    folder, cases = case_kind("nii_form_codes")
    case = cases["both_codes_zero"]
    path = folder / case["inputs"]["label"]
    error = refusal(path)
    assert error.finding.code == Code.ORIENTATION_UNKNOWN
    assert all(word in str(error) for word in case["error_must_mention_one_of"])
    image = open_image(path, options=ReadOptions("LPS"))
    assert not image.orientation_known
    assert codes(image) == {Code.ORIENTATION_UNKNOWN}
    assert case["expect"]["must_flag"] in image.findings[0].detail
    np.testing.assert_allclose(spacing_mm(image.affine_ras_mm), case["expect"]["spacing_mm_in_stored_axis_order"])
    assert closest_ras(image.affine_ras_mm).code() == "LPS"
    label = {key: case["expect"][key] for key in ("voxel_count", "volume_mm3")}
    check_label(open_image(path, options=ReadOptions("LPS")), label)


def test_shear_of_rounding_size_is_used_with_a_warning(case_kind: CaseKind) -> None:
    folder, cases = case_kind("nii_shear")
    check_case(folder, cases["rounding_shear"], image_codes={Code.SHEAR})


def test_rotation_is_no_shear(case_kind: CaseKind) -> None:
    folder, cases = case_kind("nii_shear")
    check_case(folder, cases["oblique_is_not_shear"])


def test_gantry_tilt_is_refused(case_kind: CaseKind) -> None:
    folder, cases = case_kind("nii_shear")
    case = cases["gantry_tilt_15"]
    error = refusal(folder / case["inputs"]["image"])
    assert error.finding.code == Code.SHEAR
    assert all(word in str(error) for word in ("shear", "not orthogonal", f"{case['expect']['shear_deg']:.3f} degrees"))


@pytest.mark.parametrize(
    ("id_", "said"),
    [
        ("micron", {Code.UNITS_CONVERTED}),
        ("metre", {Code.UNITS_CONVERTED}),
        ("mm", set()),
        ("unknown", {Code.UNITS_UNKNOWN}),
    ],
)
def test_units_become_millimetres(case_kind: CaseKind, id_: str, said: set[Code]) -> None:
    folder, cases = case_kind("nii_units")
    check_case(folder, cases[id_], image_codes=said)


@pytest.mark.parametrize("id_", ["slope_zero", "slope_nan", "slope_2_inter_-1024", "needs_more_than_int16"])
def test_scaling(case_kind: CaseKind, id_: str) -> None:
    folder, cases = case_kind("nii_scaling")
    check_case(folder, cases[id_])


def test_intercept_beside_a_zero_slope_does_not_count(case_kind: CaseKind) -> None:
    folder, cases = case_kind("nii_scaling")
    case = cases["slope_zero_inter_set"]
    image = open_image(folder / case["inputs"]["image"])
    check_image(image, case["expect"])
    assert codes(image) == {Code.SLOPE_IGNORED}


def test_labels_stored_in_tenths(case_kind: CaseKind) -> None:
    folder, cases = case_kind("nii_scaling")
    case = cases["label_with_slope"]
    image = open_image(folder / case["inputs"]["label"])
    values = read_all(image)
    assert {str(label): int((values == label).sum()) for label in (1, 2)} == case["expect"]["counts"]
    check_label(image, case["expect"]["label"])


@pytest.mark.parametrize("id_", ["trailing_1", "trailing_1_1", "int64", "uint64", "float64", "big_endian"])
def test_dimensions_and_types(case_kind: CaseKind, id_: str) -> None:
    folder, cases = case_kind("nii_dims_dtypes")
    check_case(folder, cases[id_])


def test_four_channels_are_kept_apart(case_kind: CaseKind) -> None:
    folder, cases = case_kind("nii_dims_dtypes")
    case = cases["four_channels"]
    image = open_image(folder / case["inputs"]["image"])
    assert (image.n_channels, image.fourth_axis) == (4, "channel")
    values, _ = ras(image)
    for channel in range(4):
        expect = {**case["expect"], "formula": case["expect"]["formula"].replace("*c", f"*{channel}")}
        np.testing.assert_array_equal(values[..., channel], formula(expect, values.shape[:3]))


def test_time_series_is_told_from_channels(case_kind: CaseKind) -> None:
    folder, cases = case_kind("nii_dims_dtypes")
    case = cases["time_series"]
    image = open_image(folder / case["inputs"]["image"])
    assert (image.n_channels, image.fourth_axis) == (case["expect"]["frames"], "time")


def test_colour_is_refused(case_kind: CaseKind) -> None:
    folder, cases = case_kind("nii_dims_dtypes")
    error = refusal(folder / cases["rgb24"]["inputs"]["image"])
    assert error.finding.code == Code.UNSUPPORTED_DATA
    assert "RGB" in str(error)
    assert "datatype" in str(error)


def test_flat_image_is_one_slice(case_kind: CaseKind) -> None:
    folder, cases = case_kind("nii_dims_dtypes")
    case = cases["two_d"]
    image = open_image(folder / case["inputs"]["image"])
    values, affine = ras(image)
    assert list(values.shape) == case["expect"]["shape_ras"]
    np.testing.assert_allclose(spacing_mm(affine)[:2], case["expect"]["spacing_in_plane_mm"])
    np.testing.assert_array_equal(values, formula(case["expect"], values.shape))
    check_label(open_image(folder / case["inputs"]["label"]), case["expect"]["label"])
    assert codes(image) == set()


def test_corrupt_files_among_good_ones(case_kind: CaseKind) -> None:
    folder, cases = case_kind("corrupt_files")
    expect = cases["dataset_run"]["expect"]
    fine, refused = {}, {}
    for path in sorted(folder.glob("imgs/*")):
        subject = path.name.split(".")[0]
        try:
            image = open_image(path, name=f"imgs/{path.name}")
            check_image(image, expect["ok_each"])
            fine[subject] = codes(image)
        except BadInputError as error:
            refused[subject] = error.finding
    wrong_labels = {"s10", "s11"}
    assert set(fine) == set(expect["subjects_ok"]) | wrong_labels
    assert set(refused) == set(expect["subjects_failed"]) - wrong_labels
    for subject, finding in refused.items():
        assert finding.file.startswith(f"imgs/{subject}.")
        assert any(word.lower() in finding.detail.lower() for word in expect["subjects_failed"][subject])
    assert {subject: finding.code for subject, finding in refused.items()} == {
        "s02": Code.TRUNCATED,
        "s03": Code.CHECKSUM_MISMATCH,
        "s04": Code.EMPTY_FILE,
        "s05": Code.GIT_LFS_POINTER,
        "s06": Code.HTML_PAGE,
        "s07": Code.TRUNCATED,
        "s12": Code.BAD_HEADER,
        "s13": Code.TRUNCATED,
    }
    wrongly_named = {"s08", "s09"}
    assert {subject for subject, said in fine.items() if said == {Code.WRONG_EXTENSION}} == wrongly_named
    assert refusal(folder / "segs/s10.nii.gz").finding.code == Code.TRUNCATED
    check_label(open_image(folder / "segs/s08.nii.gz"), expect["ok_each"]["label"])
    assert math.prod(expect["ok_each"]["shape_ras"]) == 693
