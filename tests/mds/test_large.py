"""Slices with more pixels than are shown: what of them is, and that the others are untouched."""

from __future__ import annotations

import numpy as np
import pytest

from assets import preview
from assets.annotations.planes import LabelMap
from assets.mds import view as views
from assets.mds import window as windows
from assets.mds.view import view_of
from assets.mds.window import window_of
from assets.measure import Plane
from resources.grid import image_grid


@pytest.mark.parametrize("spacing", [None, 0.5])
def test_a_picture_has_no_more_pixels_than_the_most(spacing: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "MOST_PIXELS", 100 * 50)
    whole = view_of((100, 50, 1), (spacing, spacing, None), 2, 0, in_patient=False)
    assert (whole.thinned, whole.resampled, whole.size) == (False, False, (100, 50))
    view = view_of((400, 200, 1), (spacing, spacing, None), 2, 0, in_patient=False)
    assert (view.thinned, view.resampled, view.size) == (True, True, (100, 50))
    assert view.pixel_mm == (None if spacing is None else (4 * spacing, 4 * spacing))
    i, j = np.meshgrid(np.arange(400), np.arange(200), indexing="ij")
    # The middle of four stored pixels lies between two of them: the first of these is taken.
    np.testing.assert_array_equal(view.labels(i)[0], np.arange(1, 400, 4))
    np.testing.assert_array_equal(view.labels(j)[:, 0], np.arange(1, 200, 4))
    assert view.place((1.5, 5.5, 0)) == (0.0, 1.0)


def test_levels_are_the_same_however_many_are_made_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).normal(0, 500, (37, 11, 3)).astype(np.float32)
    values[3, 4] = np.nan, np.inf, -np.inf
    window = window_of("MR", (), None, values, None, in_patient=True)
    whole = window.levels(values)
    monkeypatch.setattr(windows, "_AT_ONCE", 70)
    np.testing.assert_array_equal(window.levels(values), whole)


def test_percentiles_of_a_large_slice_are_those_of_some_pixels_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).integers(0, 1000, (60, 40)).astype(np.uint16)
    monkeypatch.setattr(windows, "_MOST_COUNTED", 60 * 40)
    assert window_of("MR", (), None, values, None, in_patient=True).kind == "percentiles"
    monkeypatch.setattr(windows, "_MOST_COUNTED", 60 * 40 // 4)
    window = window_of("MR", (), None, values, None, in_patient=True)
    assert window.kind == "percentiles of one pixel in 4"
    assert (window.low, window.high) == tuple(np.percentile(values[::2, ::2], (0.5, 99.5)))


@pytest.mark.parametrize("offset", [0, 1, 2, 5])
def test_labels_lie_where_they_do_on_a_thinned_preview(offset: int) -> None:
    crop = np.ones((7, 8, 1), np.uint8)
    place, shape, mm = (offset, offset + 1, 0), (20, 20, 1), (1.0, 1.0, 1.0)
    labels = LabelMap("d", "s", "0", "img", "seg", "f", crop, place, shape, mm, synthetic=False, space="picture")
    whole, thin = (np.zeros((n, n, 3), np.uint8) for n in (20, 7))
    preview._paint(whole, np.zeros((20, 20, 1)), labels, Plane.AXIAL, 0, 1)
    preview._paint(thin, np.zeros((7, 7, 1)), labels, Plane.AXIAL, 0, 3)
    np.testing.assert_array_equal(thin, whole[::3, ::3])


def test_slices_up_to_4096_squared_are_shown_whole_in_previews() -> None:
    steps = [preview._step((n, n, 1), Plane.AXIAL) for n in (1, 512, 4096, 4097, 8192, 30_000)]
    assert steps == [1, 1, 1, 2, 2, 8]


@pytest.mark.parametrize("slab_axis", [0, 1, 2])
def test_a_large_plane_is_stored_in_flat_chunks_that_fill_shards(slab_axis: int) -> None:
    grid = image_grid((1, 30_000, 29_999), np.dtype(np.uint8), slab_axis)
    assert grid.chunk == (1, 64, 64)
    assert all(shard % chunk == 0 for shard, chunk in zip(grid.shard, grid.chunk, strict=True))
    assert image_grid((1, 4096, 4096), np.dtype(np.uint8), slab_axis).chunk == (8, 32, 32)
