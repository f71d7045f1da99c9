"""Turns planar contours into voxels: a voxel belongs to a structure when its centre lies inside an odd number of contours.

The odd-even rule gives holes to rings, whether the inner contour is one of its own or joined to the outer by a key-hole, and
it needs no direction of drawing. Edges are half-open (a centre on a left or upper edge is inside, on a right or lower one it is
not), so neighbouring contours share no voxel and leave none out.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from resources.geometry import FloatArray


def fill_polygon(mask: npt.NDArray[np.bool_], points: FloatArray) -> int:
    """Flip the pixels whose centres lie inside a closed polygon.

    Args:
        mask: [column, row] of one slice; changed in place.
        points: (n, 2) corners as column and row coordinates, where pixel centres are whole numbers.

    Returns:
        How many pixels were flipped.
    """
    n_columns, n_rows = mask.shape
    ends = np.roll(points, -1, axis=0)
    low, high = np.minimum(points[:, 1], ends[:, 1]), np.maximum(points[:, 1], ends[:, 1])
    first, last = max(int(np.ceil(low.min())), 0), min(int(np.ceil(high.max())) - 1, n_rows - 1)
    flipped = 0
    for row in range(first, last + 1):
        crossing = (low <= row) & (row < high)
        start, end = points[crossing], ends[crossing]
        columns = start[:, 0] + (row - start[:, 1]) * (end[:, 0] - start[:, 0]) / (end[:, 1] - start[:, 1])
        bounds = np.clip(np.ceil(np.sort(columns)), 0, n_columns).astype(int)
        for left, right in zip(bounds[::2], bounds[1::2], strict=True):
            mask[left:right, row] ^= True
            flipped += int(right - left)
    return flipped
