"""Phantoms: numbers from closed forms, files as nibabel reads them."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resources.geometry import closest_ras, obliquity_deg
from resources.phantoms import (
    PLANE_NORMALS,
    Ellipsoid,
    Grid,
    as_matrix,
    draw_ct,
    draw_labels,
    draw_values,
    rotation,
    stored_as,
    to_stored,
    write_nifti,
)

ORIENTATIONS = [
    "".join(letters)
    for pairs in itertools.permutations(("RL", "AP", "SI"))
    for letters in itertools.product(*pairs)
]  # fmt: skip
LENGTH = st.floats(8, 15)
ANGLE = st.floats(-180, 180)
SHIFT = st.tuples(*[st.floats(-0.5, 0.5)] * 3)


def _centres(grid: Grid) -> np.ndarray:
    indices = np.stack(np.meshgrid(*[np.arange(n) for n in grid.shape], indexing="ij"), axis=-1)
    return indices @ grid.affine[:3, :3].T + grid.affine[:3, 3]


@settings(max_examples=25)
@given(semi_axes=st.tuples(LENGTH, LENGTH, LENGTH), angles=st.tuples(ANGLE, ANGLE, ANGLE), centre=SHIFT)
def test_the_voxels_of_an_ellipsoid_fill_its_volume(
    semi_axes: tuple[float, float, float], angles: tuple[float, float, float], centre: tuple[float, float, float]
) -> None:
    turn = as_matrix(np.linalg.multi_dot([np.array(rotation(axis, angle)) for axis, angle in enumerate(angles)]))
    shape = Ellipsoid(centre, semi_axes, label=1, rotation=turn)
    grid = Grid.centred((52, 40, 36), (0.7, 0.9, 1.0), turn=rotation(1, 17))
    filled = draw_labels([shape], grid).sum() * grid.voxel_mm3()
    assert filled == pytest.approx(4 / 3 * math.pi * math.prod(semi_axes), rel=0.02)


@settings(max_examples=25)
@given(semi_axes=st.tuples(LENGTH, LENGTH, LENGTH), angle=ANGLE, centre=SHIFT)
def test_a_voxel_is_drawn_exactly_when_its_centre_is_inside(
    semi_axes: tuple[float, float, float], angle: float, centre: tuple[float, float, float]
) -> None:
    shape = Ellipsoid(centre, semi_axes, label=7, rotation=rotation(0, angle))
    grid = Grid.centred((15, 14, 9), (1.9, 2.1, 4.0), turn=rotation(2, 25))
    own_axes = (_centres(grid) - centre) @ np.array(rotation(0, angle))
    distance = np.square(own_axes / semi_axes).sum(-1)
    clear = np.abs(distance - 1) > 1e-9
    assert np.array_equal((draw_labels([shape], grid) == 7)[clear], (distance < 1)[clear])


def test_an_ellipsoid_off_the_grid_draws_nothing() -> None:
    grid = Grid.centred((5, 5, 5), (1, 1, 1))
    assert not draw_labels([Ellipsoid((40, 0, 0), (3, 3, 3), label=1)], grid).any()


def test_a_later_shape_covers_an_earlier_one_and_none_leaves_it() -> None:
    grid = Grid.centred((21, 21, 21), (1, 1, 1))
    kidney = Ellipsoid((0, 0, 0), (9, 9, 9), 190, 1)
    tumour = Ellipsoid((5, 0, 0), (4, 4, 4), 100, 2)
    core = Ellipsoid((5, 0, 0), (2, 2, 2), 40)
    labels = draw_labels([kidney, tumour, core], grid)
    values = draw_values([kidney, tumour, core], grid, background=-1000)
    assert [labels[4, 10, 10], labels[15, 10, 10], labels[0, 0, 0]] == [1, 2, 0]
    assert [values[4, 10, 10], values[15, 10, 10], values[0, 0, 0]] == [190, 40, -1000]


def test_the_largest_sections_of_an_upright_ellipsoid_are_its_own_axes() -> None:
    shape = Ellipsoid((1, 2, 3), (5, 7, 11))
    assert shape.section_axes_mm(PLANE_NORMALS["sagittal"]) == pytest.approx((22, 14))
    assert shape.section_axes_mm(PLANE_NORMALS["coronal"]) == pytest.approx((22, 10))
    assert shape.section_axes_mm(PLANE_NORMALS["axial"]) == pytest.approx((14, 10))


def test_a_section_off_the_centre_shrinks_as_the_circle_does() -> None:
    shape = Ellipsoid((0, 0, 0), (5, 7, 10))
    assert shape.section_axes_mm(PLANE_NORMALS["axial"], 6) == pytest.approx((14 * 0.8, 10 * 0.8))
    assert shape.section_axes_mm(PLANE_NORMALS["axial"], -10.1) is None


@settings(max_examples=25)
@given(angles=st.tuples(ANGLE, ANGLE), plane=st.sampled_from(sorted(PLANE_NORMALS)), height=st.floats(-7, 7))
def test_the_section_of_a_turned_ellipsoid_has_the_area_and_axes_of_its_pixels(
    angles: tuple[float, float], plane: str, height: float
) -> None:
    turn = as_matrix(np.array(rotation(0, angles[0])) @ np.array(rotation(1, angles[1])))
    shape = Ellipsoid((0, 0, 0), (8, 12, 17), label=1, rotation=turn)
    axes = shape.section_axes_mm(PLANE_NORMALS[plane], height)
    assert axes is not None
    normal = np.array(PLANE_NORMALS[plane])
    step = 0.25
    fine = np.where(normal == 1, 1.0, step)
    size = np.where(normal == 1, 1, 140)
    x, y, z = normal * height
    grid = Grid.centred((size[0], size[1], size[2]), (fine[0], fine[1], fine[2]), (x, y, z))
    places = np.argwhere(draw_labels([shape], grid).squeeze()) * step
    assert len(places) * step**2 == pytest.approx(math.pi / 4 * axes[0] * axes[1], rel=0.02)
    moments = np.linalg.eigvalsh(np.cov(places.T))
    assert 4 * np.sqrt(moments[::-1]) == pytest.approx(axes, rel=0.02)


def test_lengths_that_are_not_positive_and_turns_that_stretch_are_refused() -> None:
    with pytest.raises(ValueError, match="positive lengths"):
        Ellipsoid((0, 0, 0), (1, 0, 1))
    with pytest.raises(ValueError, match="orthogonal"):
        Ellipsoid((0, 0, 0), (1, 1, 1), rotation=((2, 0, 0), (0, 1, 0), (0, 0, 1)))


def test_a_ct_has_the_value_and_noise_asked_for() -> None:
    grid = Grid.centred((60, 60, 40), (1, 1, 1))
    image = draw_ct([Ellipsoid((0, 0, 0), (25, 25, 400), 60)], grid, 12, np.random.default_rng(5))
    middle = image[20:40, 20:40].astype(float)
    assert image.dtype == np.int16
    assert middle.mean() == pytest.approx(60, abs=1.5)
    assert middle.std() == pytest.approx(12, rel=0.05)
    assert image[:4, :4].mean() == pytest.approx(-1000, abs=3)


@pytest.mark.parametrize("tilt", [0.0, 12.0])
@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_every_orientation_keeps_each_voxel_at_its_place(tmp_path: Path, orientation: str, tilt: float) -> None:
    grid = Grid.centred((4, 5, 6), (0.78, 0.8, 3.5), (12.5, -31.25, 900.0), rotation(0, tilt))
    voxels = np.arange(120, dtype=np.int16).reshape(grid.shape)
    path = tmp_path / "volume.nii.gz"
    write_nifti(path, voxels, grid.affine, orientation)
    image = nib.load(path)
    assert "".join(nib.aff2axcodes(image.affine)) == orientation
    canonical = nib.as_closest_canonical(image)
    assert np.array_equal(np.asarray(canonical.dataobj), voxels)
    assert np.abs(canonical.affine - grid.affine).max() < 1e-4
    assert np.abs(image.get_qform() - image.get_sform()).max() < 1e-3
    assert (int(image.header["sform_code"]), int(image.header["qform_code"])) == (1, 1)
    assert image.header.get_xyzt_units()[0] == "mm"
    assert obliquity_deg(canonical.affine) == pytest.approx(tilt, abs=1e-3)


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_storing_is_the_exact_inverse_of_the_closest_reorientation(orientation: str) -> None:
    grid = Grid.centred((4, 5, 6), (0.5, 1.25, 3.5), (12.5, -31.25, 900.0))
    voxels = np.arange(120).reshape(grid.shape)
    stored, affine = to_stored(voxels, grid.affine, orientation)
    back = closest_ras(affine)
    assert back == stored_as(orientation)
    assert back.code() == orientation
    assert np.array_equal(back.view(stored), voxels)
    assert np.array_equal(back.affine(affine, stored.shape), grid.affine)


def test_the_same_call_writes_the_same_bytes_and_a_plain_file_the_same_volume(tmp_path: Path) -> None:
    voxels = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    names = ("a.nii.gz", "b.nii.gz", "c.nii")
    for name in names:
        write_nifti(tmp_path / name, voxels, np.eye(4), "ASR")
    first, second, plain = (tmp_path / name for name in names)
    assert first.read_bytes() == second.read_bytes()
    assert np.array_equal(np.asarray(nib.load(plain).dataobj), np.asarray(nib.load(first).dataobj))


def test_slope_and_intercept_leave_the_stored_numbers(tmp_path: Path) -> None:
    voxels = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    write_nifti(tmp_path / "a.nii.gz", voxels, np.eye(4), "RAS", slope=0.5, intercept=-20)
    image = nib.load(tmp_path / "a.nii.gz")
    assert np.array_equal(image.dataobj.get_unscaled(), voxels)
    assert np.array_equal(image.get_fdata(), voxels * 0.5 - 20)


@pytest.mark.parametrize("orientation", ["", "RA", "RAA", "RLS", "XYZ", "ras", "RASS"])
def test_a_code_that_is_no_orientation_is_refused(orientation: str) -> None:
    with pytest.raises(ValueError, match="names each of"):
        stored_as(orientation)


def test_other_endings_and_other_dimensions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"ends in \.nii"):
        write_nifti(tmp_path / "a.mha", np.zeros((2, 2, 2), np.uint8), np.eye(4))
    with pytest.raises(ValueError, match="3 axes"):
        write_nifti(tmp_path / "a.nii", np.zeros((2, 2), np.uint8), np.eye(4))
