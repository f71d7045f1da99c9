"""Lengths and angles between points, in the unit and frame of the points.

A line is directed: the angle between two lines, unfolded, is that between their directions, 0 to 180 degrees; folded, that
between the lines whichever way they run, 0 to 90.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def distance(first: npt.ArrayLike, second: npt.ArrayLike) -> FloatArray:
    """Straight distance of points; in mm where they are.

    Args:
        first: (..., n) points of n coordinates.
        second: (..., n).

    Returns:
        (...) distances; NaN where a coordinate is.
    """
    return np.asarray(np.linalg.norm(np.subtract(second, first, dtype=np.float64), axis=-1))


def unfolded_angle_deg(first: npt.ArrayLike, second: npt.ArrayLike) -> FloatArray:
    """Angle between the directions of two lines.

    By Kahan's formula, which is as exact near 0 and 180 degrees as elsewhere, where an arc cosine loses half of its digits or,
    its argument rounded to beyond 1, fails.

    Args:
        first: (..., n) vectors along the first line, from its first to its second point; their length does not matter.
        second: (..., n), of the second line.

    Returns:
        (...) degrees in [0, 180]; NaN where a line has no length, or a coordinate is not finite.
    """
    a, b = _unit(first), _unit(second)
    apart, together = np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1)
    return np.asarray(np.degrees(2 * np.arctan2(apart, together)))


def folded_angle_deg(first: npt.ArrayLike, second: npt.ArrayLike) -> FloatArray:
    """Angle between two lines, whichever way they run; arguments as for `unfolded_angle_deg`.

    Returns:
        (...) degrees in [0, 90]; NaN where a line has no length, or a coordinate is not finite.
    """
    angle = unfolded_angle_deg(first, second)
    return np.asarray(np.minimum(angle, 180 - angle))


def _unit(vectors: npt.ArrayLike) -> npt.NDArray[Any]:
    """The vectors at length 1, NaN where they have none; scaled first, so that no square leaves the range of numbers."""
    v = np.asarray(vectors, np.float64)
    with np.errstate(invalid="ignore"):
        v = v / np.abs(v).max(axis=-1, keepdims=True)
        return np.asarray(v / np.linalg.norm(v, axis=-1, keepdims=True))
