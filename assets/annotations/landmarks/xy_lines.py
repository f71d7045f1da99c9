"""Landmarks as text, one `x,y` per line, in pixels of the picture they were set on.

x counts the stored columns, y the stored rows. Both are taken to count from 0, pixel centres at whole numbers; the text cannot
say whether its author counted from 1, so that a position may be one pixel off along both axes. No length or angle depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from assets.annotations.landmarks.grid import SeriesGrid
from assets.annotations.landmarks.points import Points
from resources.findings import BadInputError, Code

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,2})?"
_POINT = re.compile(rf"\s*({_NUMBER})\s*,\s*({_NUMBER})\s*")


def points_of_xy_lines(text: str, file: str, names: Sequence[str], grid: SeriesGrid) -> Points:
    """The landmarks of a file.

    Args:
        text: Its content; blank lines do not count, and what stands behind the points is left.
        file: What errors call it.
        names: The landmarks, in order of the lines.
        grid: The series; one stored plane of columns and rows.

    Raises:
        BadInputError: BAD_LANDMARKS for too few or too many points or a line that is none; UNEXPECTED_DIMENSIONS where the
            series has more than one plane.
    """
    if grid.stored_shape[2] != 1:
        detail = f"points of two coordinates are set on {grid.series}, which has {grid.stored_shape[2]} planes"
        raise BadInputError(Code.UNEXPECTED_DIMENSIONS, detail, file=file)
    xy = np.array(_parsed(text, file, names), np.float64)
    ijk = grid.ijk_of_stored(np.column_stack([xy, np.zeros(len(xy))]))
    ras = grid.ras_of_ijk(ijk)
    where = tuple(f"pixel ({x:g}, {y:g})" for x, y in xy)
    return Points(tuple(names), ras, ijk, ras, (0,) * len(xy), where)


def _parsed(text: str, file: str, names: Sequence[str]) -> list[tuple[float, float]]:
    lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    points = []
    for (number, line), name in zip(lines, names, strict=False):
        match = _POINT.fullmatch(line)
        if match is None:
            detail = f"line {number} should give {name} as x,y in pixels, but reads {line[:40]!r}"
            raise BadInputError(Code.BAD_LANDMARKS, detail, file=file)
        points.append((float(match[1]), float(match[2])))
    n_points = len(points) + sum(_POINT.fullmatch(line) is not None for _, line in lines[len(names) :])
    if n_points != len(names):
        detail = f"the file has {n_points} points, but the spec names {len(names)} landmarks"
        raise BadInputError(Code.BAD_LANDMARKS, detail, file=file)
    return points
