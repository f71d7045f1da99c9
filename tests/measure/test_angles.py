"""Angles and distances against closed forms, rotations by scipy, and exact arithmetic near the ends of the range."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from assets.measure.angles import distance, folded_angle_deg, unfolded_angle_deg

COORDINATE = st.floats(-1000, 1000, allow_nan=False)
VECTOR = st.tuples(COORDINATE, COORDINATE, COORDINATE).filter(lambda v: math.hypot(*v) > 1e-3)
TURN = st.tuples(*[st.floats(-math.pi, math.pi)] * 3).map(lambda a: Rotation.from_euler("xyz", a))


@pytest.mark.parametrize(
    ("second", "unfolded", "folded"),
    [
        ((5, 0, 0), 0, 0),
        ((1, 1, 0), 45, 45),
        ((0, 0, 2), 90, 90),
        ((-1, math.sqrt(3), 0), 120, 60),
        ((-3, 0, 3), 135, 45),
        ((-0.1, 0, 0), 180, 0),
    ],
)
def test_angles_of_known_directions(second: tuple[float, ...], unfolded: float, folded: float) -> None:
    assert unfolded_angle_deg((2, 0, 0), second) == pytest.approx(unfolded, abs=1e-12)
    assert folded_angle_deg((2, 0, 0), second) == pytest.approx(folded, abs=1e-12)


@given(VECTOR, st.floats(-300, 300).filter(lambda f: abs(f) > 1e-3))
def test_parallel_lines_have_an_angle(vector: tuple[float, ...], factor: float) -> None:
    """Here the arc cosine of a rounded quotient is NaN for some vectors."""
    other = [factor * c for c in vector]
    assert unfolded_angle_deg(vector, other) == pytest.approx(0 if factor > 0 else 180, abs=1e-6)
    assert folded_angle_deg(vector, other) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("angle", [1e-12, 1e-9, 1e-6, 1e-3, 179.999, 179.999999])
def test_small_and_nearly_straight_angles_keep_their_digits(angle: float) -> None:
    radians = math.radians(min(angle, 180 - angle))
    second = (math.cos(radians) * (1 if angle < 90 else -1), math.sin(radians), 0)
    assert unfolded_angle_deg((1, 0, 0), second) == pytest.approx(angle, rel=1e-13)
    assert folded_angle_deg((1, 0, 0), second) == pytest.approx(min(angle, 180 - angle), rel=1e-9)


@given(VECTOR, VECTOR, TURN, st.floats(1e-3, 1e3))
def test_neither_turning_nor_scaling_changes_an_angle(
    first: tuple[float, ...], second: tuple[float, ...], turn: Rotation, scale: float
) -> None:
    turned = unfolded_angle_deg(scale * turn.apply(first), turn.apply(second))
    assert turned == pytest.approx(unfolded_angle_deg(first, second), abs=1e-7)


@given(VECTOR, VECTOR)
def test_reversing_a_line_supplements_the_unfolded_angle_and_leaves_the_folded(
    first: tuple[float, ...], second: tuple[float, ...]
) -> None:
    back = tuple(-c for c in second)
    assert unfolded_angle_deg(first, back) == pytest.approx(180 - unfolded_angle_deg(first, second), abs=1e-9)
    assert folded_angle_deg(first, back) == pytest.approx(folded_angle_deg(first, second), abs=1e-9)
    assert folded_angle_deg(second, first) == pytest.approx(folded_angle_deg(first, second), abs=1e-9)


@given(VECTOR, VECTOR)
def test_the_cosine_is_that_of_the_dot_product(first: tuple[float, ...], second: tuple[float, ...]) -> None:
    cosine = np.dot(first, second) / (math.hypot(*first) * math.hypot(*second))
    angle = math.radians(unfolded_angle_deg(first, second))
    assert math.cos(angle) == pytest.approx(cosine, abs=1e-9)
    assert 0 <= folded_angle_deg(first, second) <= 90


@pytest.mark.parametrize("second", [(0, 0, 0), (math.nan, 1, 0), (math.inf, 1, 0)])
def test_a_line_without_length_or_end_has_no_angle(second: tuple[float, ...]) -> None:
    assert math.isnan(unfolded_angle_deg((1, 0, 0), second))
    assert math.isnan(folded_angle_deg(second, (1, 0, 0)))


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1e200, 1e308])
def test_the_length_of_a_line_does_not_matter(size: float) -> None:
    assert unfolded_angle_deg((size, 0, 0), (size, size, 0)) == pytest.approx(45, abs=1e-12)


def test_many_pairs_at_once() -> None:
    first = np.array([[[1, 0], [0, 1]], [[1, 0], [1, 0]]])
    second = np.array([[[0, 1], [0, 1]], [[-1, 0], [1, 1]]])
    np.testing.assert_allclose(unfolded_angle_deg(first, second), [[90, 0], [180, 45]], atol=1e-12)
    np.testing.assert_allclose(folded_angle_deg(first, second), [[90, 0], [0, 45]], atol=1e-12)
    np.testing.assert_allclose(distance(first, second), np.sqrt([[2, 0], [4, 1]]))


def test_distances_of_known_points() -> None:
    assert distance((1, 2, 3), (3, 5, 9)) == 7
    assert distance((1, 2), (4, 6)) == 5
    assert distance((1, 2, 3), (1, 2, 3)) == 0
    assert math.isnan(distance((1, 2, 3), (1, 2, math.nan)))


@given(VECTOR, VECTOR, TURN)
def test_neither_turning_nor_shifting_changes_a_distance(
    first: tuple[float, ...], second: tuple[float, ...], turn: Rotation
) -> None:
    moved = distance(np.add(turn.apply(first), (7, -5, 3)), np.add(turn.apply(second), (7, -5, 3)))
    assert moved == pytest.approx(distance(first, second), abs=1e-9)
