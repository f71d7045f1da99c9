"""The tables that the annotation steps make of arbitrary label maps satisfy their suites."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from assets.annotations.boxes import boxes as make_boxes
from assets.annotations.lesion_sizes import lesion_sizes as make_lesion_sizes
from assets.annotations.mask_sizes import mask_sizes as make_mask_sizes
from assets.annotations.planes import LabelMap
from assets.tables import VOLUMES
from expectations import boxes, lesion_sizes, mask_sizes
from expectations.engine import run_suite
from expectations.suite import Suite
from tests.expectations import tables as made
from tests.expectations.tables import A, edit

SPEC = made.spec()


@pytest.mark.parametrize("density", [0.02, 0.3, 0.6, 1.0])
def test_tables_made_of_noise_pass(density: float) -> None:
    """Noise has components of every kind: single pixels, lines, rings, dumbbells, at the border and away from it."""
    shape, spacing = (13, 17, 5), (0.7, 1.1, 4.0)
    noise = np.random.default_rng(5).random(shape)
    labels = np.where(noise < density, 1 + (noise < density * 0.7), 0).astype(np.uint8)
    label_map = LabelMap("toy", A, "0", "ct", "masses", "seg.nii.gz", labels, (0, 0, 0), shape, spacing, synthetic=False)
    volumes = edit(made.volumes(), VOLUMES, {"subject": A, "kind": "labels"}, shape_ijk=shape, spacing_mm=spacing)
    of_boxes, of_masks = make_boxes(SPEC, label_map), make_mask_sizes(SPEC, label_map)
    views: list[tuple[Suite, pl.DataFrame]] = []
    views.append((boxes.suite(SPEC), boxes.view(of_boxes, volumes)))
    views.append((mask_sizes.suite(SPEC, with_boxes=True), mask_sizes.view(of_masks, volumes, of_boxes)))
    views.append((lesion_sizes.suite(SPEC), lesion_sizes.view(make_lesion_sizes(SPEC, label_map), volumes)))
    for suite, view in views:
        assert view.height > 0
        assert [r.message for r in run_suite(suite, view).failed] == []
