"""The same questions answered by scipy, slice by slice and label by label, for comparison."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from assets.measure import Plane
from assets.measure.components import Components

Table = npt.NDArray[np.int64]


def as_table(components: Components) -> Table:
    """One row per component, one column per field, in the order of the fields."""
    return np.stack([getattr(components, field.name).astype(np.int64) for field in fields(components)], axis=1)


def scipy_components(label_map: npt.NDArray[Any], plane: Plane) -> Table:
    rows = [
        (index, int(label), *component)
        for index, image in enumerate(np.moveaxis(label_map, plane.axis, 0))
        for label in np.unique(image[image != 0])
        for component in _of_one_label(image == label)
    ]
    return np.array(rows, np.int64).reshape(-1, len(fields(Components)))


def _of_one_label(mask: npt.NDArray[np.bool_]) -> list[tuple[int, ...]]:
    labels, n_labels = ndimage.label(mask)
    found: list[tuple[int, ...]] = []
    for number, box in enumerate(ndimage.find_objects(labels), start=1):
        component = labels[box] == number
        r, c = np.nonzero(component)
        edges = (box[0].start, box[0].stop - 1, box[1].start, box[1].stop - 1)
        sums = (r.sum(), c.sum(), (r * r).sum(), (c * c).sum(), (r * c).sum())
        found.append((number, n_labels, *edges, r.size, *sums, count_holes(component)))
    return found


def count_holes(component: npt.NDArray[np.bool_]) -> int:
    """Background regions, joined over edges and corners, other than the one around the component."""
    if min(component.shape) < 3 or component.all():
        return 0
    return int(ndimage.label(~np.pad(component, 1), np.ones((3, 3)))[1]) - 1
