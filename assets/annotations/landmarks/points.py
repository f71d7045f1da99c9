"""Landmarks with their names and places, whatever file they came from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from resources.geometry import FloatArray


@dataclass(frozen=True)
class Points:
    """The landmarks of one set.

    Attributes:
        names: Their names, n of them.
        source_ras_mm: (n, 3) where they lie in the space of the landmark file, RAS+ mm: lengths and angles are taken there.
        ijk: (n, 3) where they lie in the series, RAS+ voxel indices with fractions.
        ras_mm: (n, 3) where they lie in the series, RAS+ mm.
        together: For each, the number of the group it was set in: a pair, or the whole file.
        where: For each, how the landmark file gives it, for messages.
    """

    names: tuple[str, ...]
    source_ras_mm: FloatArray
    ijk: FloatArray
    ras_mm: FloatArray
    together: tuple[int, ...]
    where: tuple[str, ...]

    def coincident(self) -> Iterator[tuple[str, ...]]:
        """Names of the landmarks that lie in one place, place by place."""
        _, place = np.unique(self.source_ras_mm, axis=0, return_inverse=True)
        for n in range(len(self.names)):
            same = np.flatnonzero(place.ravel() == place.ravel()[n])
            if len(same) > 1 and same[0] == n:
                yield tuple(self.names[m] for m in same)


def no_points() -> Points:
    """A set of none."""
    nowhere = np.empty((0, 3))
    return Points((), nowhere, nowhere, nowhere, (), ())
