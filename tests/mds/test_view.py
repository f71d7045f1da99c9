"""Where a voxel lands in a picture, told in millimetres from the edges of the grid and never by our own transform."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.mds.choice import Choice, LabelledPart, plane_axis
from assets.mds.picture import Style, draw_image, labels_on
from assets.mds.view import MOST_PIXELS, Side, view_of
from assets.raw import discover
from assets.volumes import build_volumes
from resources.ome_zarr import open_volume
from resources.phantoms import write_nifti
from tests.mds.made import spec_of

CODES = ["".join(c) for c in (
    (a, b, c) for a in "RLAPSI" for b in "RLAPSI" for c in "RLAPSI"
) if sorted("RLAPSI".index(x) // 2 for x in c) == [0, 1, 2]]  # fmt: skip
PLANES = {"axial": (2, 0, 1), "coronal": (1, 0, 2), "sagittal": (0, 1, 2)}
"""Plane -> axis of the slices, axis across, axis down."""

LAYOUT = {"subject": "s", "series": {"img": "{subject}.nii.gz"}, "labels": {"seg": "{subject}_seg.nii.gz"}}
LABELS = {1: "organ", 2: "tumour"}


def edge_mm(index: int, n: int, spacing: float) -> float:
    """Distance of a voxel's centre from the edge of the grid on the side that a picture begins with: right, front, head."""
    return (n - 1 - index + 0.5) * spacing


def place_px(index: int, n: int, spacing: float, n_shown: int, pixel: float) -> float:
    """The same as a place in the picture, whose extent lies in the middle of that of the grid."""
    surplus = (n_shown * pixel - n * spacing) / 2
    return (edge_mm(index, n, spacing) + surplus) / pixel - 0.5


@settings(max_examples=60)
@given(
    code=st.sampled_from(CODES),
    shape=st.tuples(*[st.integers(3, 9)] * 3),
    spacing=st.tuples(*[st.sampled_from([0.7, 1.0, 1.5, 2.0, 3.3])] * 3),
    plane=st.sampled_from(sorted(PLANES)),
    data=st.data(),
)
def test_a_bright_voxel_lands_at_its_place_in_the_patient_however_it_is_stored(
    tmp_path_factory: pytest.TempPathFactory,
    code: str,
    shape: tuple[int, int, int],
    spacing: tuple[float, float, float],
    plane: str,
    data: st.DataObject,
) -> None:
    voxel = tuple(data.draw(st.integers(0, n - 1)) for n in shape)
    root = tmp_path_factory.mktemp("marker")
    image, labels = np.full(shape, 10, np.int16), np.zeros(shape, np.uint8)
    image[voxel], labels[voxel] = 1000, 2
    affine = np.diag([*spacing, 1.0])
    write_nifti(root / "raw" / "s.nii.gz", image, affine, code)
    write_nifti(root / "raw" / "s_seg.nii.gz", labels, affine, code)
    spec = spec_of(LAYOUT, {}, labels=LABELS)
    made = build_volumes(spec, root / "raw", discover(spec, root / "raw").subjects["s"], root / "out", synthetic=False)
    stored = {row["kind"]: open_volume(root / "out" / row["path"]) for row in made.rows}

    axis, across, down = PLANES[plane]
    picture = draw_image(stored["image"], Choice(axis, voxel[axis], "here"), Style("MR", ["brain"], (0, 2000)), None)
    height, width, _ = picture.pixels.shape
    pixel = min(spacing[across], spacing[down])
    assert width == pytest.approx(shape[across] * spacing[across] / pixel, abs=0.5)
    assert height == pytest.approx(shape[down] * spacing[down] / pixel, abs=0.5)
    pixel_mm = picture.view.pixel_mm
    assert pixel_mm is not None
    x = place_px(voxel[across], shape[across], spacing[across], width, pixel_mm[0])
    y = place_px(voxel[down], shape[down], spacing[down], height, pixel_mm[1])
    assert picture.view.place(voxel) == pytest.approx((x, y), abs=1e-5)
    assert np.array(picture.view.matrix()) @ [*voxel, 1] == pytest.approx((x, y), abs=1e-5)
    brightest = np.argwhere(picture.pixels[..., 0] == picture.pixels.max())
    at_border = any(voxel[n] in {0, shape[n] - 1} for n in (across, down))  # beyond its centre such a voxel's value holds
    assert np.abs(brightest - (y, x)).max(axis=1).min() <= (1.0 if at_border else 0.5) + 1e-4

    start, stop = stored["labels"].attributes["labelled_box"]
    part = LabelledPart(stored["labels"].crop(tuple(start), tuple(stop)), tuple(start))
    mask = labels_on(picture.view, part) == 2
    rows, columns = np.mgrid[:height, :width]
    half_x, half_y = spacing[across] / pixel_mm[0] / 2, spacing[down] / pixel_mm[1] / 2
    inside = (np.abs(columns - x) < half_x - 1e-4) & (np.abs(rows - y) < half_y - 1e-4)
    around = (np.abs(columns - x) <= half_x + 1e-4) & (np.abs(rows - y) <= half_y + 1e-4)
    assert not (inside & ~mask).any()
    at_edge = {0, width - 1} & set(columns[mask].tolist()) or {0, height - 1} & set(rows[mask].tolist())
    assert at_edge or not (mask & ~around).any()


@pytest.mark.parametrize(
    ("plane", "grows"), [("axial", "LP"), ("coronal", "LI"), ("sagittal", "PI")]
)  # fmt: skip
def test_pictures_grow_to_the_patients_left_back_and_foot(plane: str, grows: str) -> None:
    view = view_of((4, 5, 6), (1.0, 1.0, 1.0), PLANES[plane][0], 0, in_patient=True)
    assert view.grows == grows
    assert view_of((4, 5, 6), (None, None, None), 2, 0, in_patient=False).grows is None


def test_pictures_outside_of_a_patient_are_seen_as_they_are() -> None:
    view = view_of((4, 3, 1), (None, None, None), 2, 0, in_patient=False)
    values = np.arange(12).reshape(4, 3)
    assert np.array_equal(view.labels(values), values.T)
    assert view.pixel_mm is None
    assert not view.resampled
    assert view.place((3, 2, 0)) == (3, 2)
    assert view.across.shown_edge(1.5) == 1.5


@given(
    n=st.integers(1, 200), shown=st.integers(1, 400), flipped=st.booleans(), at=st.floats(-10, 500, allow_nan=False)
)  # fmt: skip
def test_picture_and_stored_coordinates_are_each_others_inverse(n: int, shown: int, at: float, *, flipped: bool) -> None:
    side = Side(0, n, shown, n / shown, flipped)
    assert side.stored(np.array([side.shown(at)]))[0] == pytest.approx(at, abs=1e-6)


def test_interpolation_is_exact_on_a_ramp_and_holds_the_ends() -> None:
    view = view_of((5, 4, 1), (1.0, 3.0, 1.0), 2, 0, in_patient=True)
    i, j = np.meshgrid(np.arange(5.0), np.arange(4.0), indexing="ij")
    grey = view.grey(2 * i + 30 * j)
    assert grey.shape == (12, 5)
    x, y = np.meshgrid(np.arange(5), np.arange(12))
    at_i, at_j = view.across.stored(x.astype(float)), np.clip(view.down.stored(y.astype(float)), 0, 3)
    np.testing.assert_allclose(grey, 2 * at_i + 30 * at_j, atol=1e-9)


def test_ties_between_stored_pixels_go_to_the_left_or_upper_one() -> None:
    view = view_of((10, 2, 1), (1.5, 1.0, 1.0), 2, 0, in_patient=False)
    columns = view.labels(np.repeat(np.arange(10)[:, None], 2, axis=1))[0]
    assert columns.tolist() == [0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7, 8, 8, 9]


def test_sizes_that_would_not_change_by_a_pixel_leave_the_pixels_alone() -> None:
    view = view_of((100, 100, 3), (0.7, 0.7000001, 5.0), 2, 0, in_patient=True)
    assert not view.resampled
    assert view.size == (100, 100)
    assert view.pixel_mm == (0.7, 0.7000001)


def test_making_pixels_square_never_makes_a_picture_boundless() -> None:
    view = view_of((4000, 100, 3), (0.001, 50.0, 5.0), 2, 0, in_patient=True)
    assert view.size[0] * view.size[1] <= 1.01 * MOST_PIXELS
    assert view.pixel_mm is not None
    assert view.pixel_mm[0] == view.pixel_mm[1]


@pytest.mark.parametrize(
    ("shape", "declared", "axis"),
    [((5, 5, 5), "", 2), ((5, 5, 1), "", 2), ((5, 1, 5), "", 1), ((1, 5, 5), "", 0), ((5, 5, 5), "sagittal", 0)],
)
def test_volumes_are_seen_axially_unless_they_cannot_or_the_spec_says_otherwise(
    shape: tuple[int, int, int], declared: str, axis: int
) -> None:
    assert plane_axis(shape, declared) == axis


def test_there_are_48_orientations() -> None:
    assert len(CODES) == 48
