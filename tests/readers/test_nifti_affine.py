from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resources.findings import Code, Severity
from resources.geometry import spacing_mm
from resources.readers.grid import MAX_SHEAR_DEG, ROUNDING_SHEAR_DEG
from resources.readers.registry import open_image
from resources.readers.source import ReadOptions
from tests.readers.makers import AFFINE, codes, refusal, voxels, write_nifti


def rows(affine: Any) -> dict[str, Any]:
    return {"srow_x": affine[0], "srow_y": affine[1], "srow_z": affine[2]}


def pixdim(x: float, y: float, z: float, qfac: float = 1) -> dict[str, Any]:
    return {"pixdim": [qfac, x, y, z, 1, 0, 0, 0]}


def write(folder: Path, **fields: Any) -> Path:
    return write_nifti(folder / "a.nii", voxels(), **fields)


def test_sform_wins_and_the_disagreement_is_told_with_its_numbers(tmp_path: Path) -> None:
    moved = AFFINE.copy()
    moved[0, 3] += 4
    image = open_image(write(tmp_path, **rows(moved)))
    np.testing.assert_allclose(image.affine_ras_mm, moved, rtol=1e-6)
    assert codes(image) == {Code.FORMS_DISAGREE}
    assert "5 voxels apart" in image.findings[0].detail


def test_rounding_between_the_forms_is_no_disagreement(tmp_path: Path) -> None:
    moved = AFFINE.copy()
    moved[0, 3] += 0.8 * 0.005
    assert codes(open_image(write(tmp_path, **rows(moved)))) == set()


@pytest.mark.parametrize("degrees", [0.01, 0.03, 0.1, 1, 30])
def test_a_half_turn_that_the_quaternion_cannot_hold_exactly_is_no_disagreement(tmp_path: Path, degrees: float) -> None:
    turn = np.radians(degrees)
    affine = np.eye(4)
    affine[1:3, 1:3] = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    affine = np.diag([-0.7, -0.7, 0.7, 1]) @ affine
    affine[:3, 3] = (120, 90, -300)
    path = write_nifti(tmp_path / "a.nii.gz", np.zeros((200, 200, 200), np.uint8), affine)
    image = open_image(path)
    np.testing.assert_allclose(image.affine_ras_mm, affine, rtol=1e-6, atol=1e-9)
    assert codes(image) == set()


@pytest.mark.parametrize("degrees", [0.3, 1])
def test_a_real_turn_between_the_forms_is_told(tmp_path: Path, degrees: float) -> None:
    turn = np.radians(degrees)
    turned = np.eye(4)
    turned[1:3, 1:3] = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    affine = np.diag([-2.0, -2, 2, 1])
    path = write_nifti(tmp_path / "a.nii.gz", np.zeros((100, 100, 100), np.uint8), affine, **rows(affine @ turned))
    assert codes(open_image(path)) == {Code.FORMS_DISAGREE}


def test_sform_of_other_scale_is_told(tmp_path: Path) -> None:
    scaled = AFFINE @ np.diag([2.0, 2, 2, 1])
    image = open_image(write(tmp_path, **rows(scaled)))
    np.testing.assert_allclose(spacing_mm(image.affine_ras_mm), [1.6, 3, 6], rtol=1e-6)
    assert codes(image) == {Code.FORMS_DISAGREE}


@pytest.mark.parametrize("broken", [np.zeros((4, 4)), np.full((4, 4), np.nan), np.diag([1.0, 1, 0, 1])])
def test_unusable_sform_leaves_the_qform(tmp_path: Path, broken: Any) -> None:
    image = open_image(write(tmp_path, **rows(broken)))
    np.testing.assert_allclose(image.affine_ras_mm, AFFINE, atol=1e-5)
    assert codes(image) == {Code.FORMS_DISAGREE}
    assert "sform cannot be used" in image.findings[0].detail


@pytest.mark.parametrize("broken", [np.zeros((4, 4)), np.full((4, 4), np.inf)])
def test_no_usable_form_is_refused(tmp_path: Path, broken: Any) -> None:
    assert refusal(write(tmp_path, qform_code=0, **rows(broken))).finding.code == Code.BAD_AFFINE
    error = refusal(write(tmp_path, **rows(broken), **pixdim(0.8, 0, 3)))
    assert error.finding.code == Code.BAD_AFFINE
    assert "pixdim holds 0.8 x 0 x 3" in str(error)


def test_impossible_quaternion_leaves_the_sform(tmp_path: Path) -> None:
    image = open_image(write(tmp_path, quatern_b=0.9, quatern_c=0.9, quatern_d=0.9))
    np.testing.assert_allclose(image.affine_ras_mm, AFFINE, rtol=1e-6)
    assert codes(image) == {Code.FORMS_DISAGREE}
    assert refusal(write(tmp_path, quatern_b=0.9, quatern_c=0.9, quatern_d=0.9, sform_code=0)).finding.code == Code.BAD_AFFINE


@pytest.mark.parametrize("third", [0.0, -3.0, float("nan"), float("inf"), 5.0])
def test_pixdim_beside_a_sound_sform_is_ignored_aloud(tmp_path: Path, third: float) -> None:
    image = open_image(write(tmp_path, qform_code=0, **pixdim(0.8, 1.5, third)))
    np.testing.assert_allclose(spacing_mm(image.affine_ras_mm), [0.8, 1.5, 3], rtol=1e-6)
    assert codes(image) == {Code.PIXDIM_IGNORED}


@pytest.mark.parametrize("qfac", [0.0, 1.0, 0.5])
def test_qfac_is_right_handed_unless_negative(tmp_path: Path, qfac: float) -> None:
    """As nifti1.h has it: 0 is taken as 1."""
    image = open_image(write(tmp_path, sform_code=0, quatern_b=0, quatern_c=0, quatern_d=0, **pixdim(0.8, 1.5, 3, qfac)))
    np.testing.assert_allclose(image.affine_ras_mm[:3, :3], np.diag([0.8, 1.5, 3]), atol=1e-6)
    assert codes(image) == set()


@pytest.mark.parametrize("bad", [0.0, float("nan")])
def test_assumed_orientation_needs_a_spacing(tmp_path: Path, bad: float) -> None:
    path = write(tmp_path, sform_code=0, qform_code=0, **pixdim(0.8, bad, 3))
    assert refusal(path, assume_orientation="RAS").finding.code == Code.BAD_AFFINE


def test_signs_of_pixdim_are_dropped_aloud_when_nothing_else_is_there(tmp_path: Path) -> None:
    path = write(tmp_path, sform_code=0, qform_code=0, **pixdim(-0.8, 1.5, 3))
    image = open_image(path, options=ReadOptions("PIR"))
    expected = np.array([[0, 0, 3, 0], [-0.8, 0, 0, 0], [0, -1.5, 0, 0], [0, 0, 0, 1]])
    np.testing.assert_allclose(image.affine_ras_mm, expected, rtol=1e-6)
    assert codes(image) == {Code.ORIENTATION_UNKNOWN, Code.PIXDIM_IGNORED}
    assert {finding.severity for finding in image.findings} == {Severity.WARNING}


@pytest.mark.parametrize("code", ["", "LP", "LPSS", "LLS", "lps", "XYZ"])
def test_what_is_no_orientation_is_refused(tmp_path: Path, code: str) -> None:
    path = write(tmp_path)
    with pytest.raises(ValueError, match="orientation"):
        open_image(path, options=ReadOptions(code))


def test_an_assumed_orientation_never_overrules_the_file(tmp_path: Path) -> None:
    image = open_image(write(tmp_path), options=ReadOptions("RAS"))
    np.testing.assert_allclose(image.affine_ras_mm, AFFINE, rtol=1e-6)
    assert image.orientation_known
    assert codes(image) == set()


@pytest.mark.parametrize(
    ("degrees", "said"),
    [(0.0, None), (ROUNDING_SHEAR_DEG * 0.9, None), (ROUNDING_SHEAR_DEG * 1.1, "warning"), (MAX_SHEAR_DEG * 0.99, "warning")],
)
def test_small_shear_by_degrees(tmp_path: Path, degrees: float, said: str | None) -> None:
    affine = np.diag([1.0, 1, 3, 1])
    affine[1, 2] = 3 * np.tan(np.radians(degrees))
    image = open_image(write(tmp_path, qform_code=0, **rows(affine), **pixdim(1, 1, 3)))
    assert [(f.code, f.severity) for f in image.findings] == ([(Code.SHEAR, said)] if said else [])


def test_shear_beyond_rounding_is_refused(tmp_path: Path) -> None:
    affine = np.diag([1.0, 1, 3, 1])
    affine[1, 2] = 3 * np.tan(np.radians(MAX_SHEAR_DEG * 1.01))
    assert refusal(write(tmp_path, qform_code=0, **rows(affine), **pixdim(1, 1, 3))).finding.code == Code.SHEAR


def test_only_the_exact_identity_is_suspicious(tmp_path: Path) -> None:
    for affine, suspicious in (
        (np.eye(4), True),
        (np.diag([-1.0, -1, 1, 1]), True),
        (np.diag([-1.0, 1, 1, 1]), False),
        (np.array([[1.0, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]), False),
        (np.diag([1.0, 1, 1.5, 1]), False),
    ):
        image = open_image(write_nifti(tmp_path / "a.nii", voxels(), affine))
        assert codes(image) == ({Code.IDENTITY_AFFINE} if suspicious else set())


@pytest.mark.parametrize("code", [4, 5, 6, 7])
def test_units_without_meaning_are_unknown(tmp_path: Path, code: int) -> None:
    image = open_image(write(tmp_path, xyzt_units=code | 8))
    assert codes(image) == {Code.UNITS_UNKNOWN}
    np.testing.assert_allclose(image.affine_ras_mm, AFFINE, rtol=1e-6)


def test_flat_image_without_a_third_column_gets_the_normal_of_its_plane(tmp_path: Path) -> None:
    affine = np.diag([0.3, 0.6, 0.0, 1])
    path = write_nifti(tmp_path / "a.nii", voxels((4, 5)), qform_code=0, **rows(affine), **pixdim(0.3, 0.6, 0))
    image = open_image(path)
    np.testing.assert_allclose(image.affine_ras_mm, np.diag([0.3, 0.6, 1, 1]), rtol=1e-6)
    assert (image.shape, codes(image)) == ((4, 5, 1), set())


def test_flat_image_with_a_qform_and_no_third_spacing(tmp_path: Path) -> None:
    path = write_nifti(tmp_path / "a.nii", voxels((4, 5)), np.diag([0.3, 0.6, 1, 1]), sform_code=0, **pixdim(0.3, 0.6, 0))
    np.testing.assert_allclose(open_image(path).affine_ras_mm, np.diag([0.3, 0.6, 1, 1]), rtol=1e-6)
