"""Where a slice of a stored array lies in its picture: which way the axes run, and how large a pixel is.

Picture coordinates are (x, y): x counts columns rightward, y rows downward, pixel centres at whole numbers. Stored coordinates
are those of the array, `[i, j, k]`. Images in a patient are seen as radiologists see them: the patient's right is on the left of
the picture, front (or head) up, and in sagittal pictures the front is on the left. Pictures are seen as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from assets.measure import Plane

Array = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float64]

MOST_PIXELS = 1 << 26
"""No picture is made larger than this by making its pixels square; beyond it they are coarser than the finer side. Of a slice
that is larger itself as many pixels are shown, each with the value of the nearest stored one."""

_TIE = 1e-9
"""Of two stored pixels that are equally near the left or upper one is taken, whatever the rounding."""

_TOWARDS = (("R", "L"), ("A", "P"), ("S", "I"))


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a picture.

    Attributes:
        axis: The stored axis that runs along it.
        n_stored: Pixels of the stored slice.
        n_shown: Pixels of the picture.
        step: Stored pixels to one pixel of the picture.
        flipped: Whether the stored axis runs the other way.
    """

    axis: int
    n_stored: int
    n_shown: int
    step: float
    flipped: bool

    def stored(self, shown: FloatArray) -> FloatArray:
        """Picture coordinates -> stored ones; the middles of both coincide."""
        from_middle = self.step * (shown - (self.n_shown - 1) / 2)
        return (self.n_stored - 1) / 2 + (-from_middle if self.flipped else from_middle)

    def shown(self, stored: float) -> float:
        """Stored coordinate -> picture coordinate."""
        from_middle = (stored - (self.n_stored - 1) / 2) / self.step
        return (self.n_shown - 1) / 2 + (-from_middle if self.flipped else from_middle)

    def shown_edge(self, edge: float) -> float:
        """The same for edges, where 0 is the beginning of the first pixel and not its centre."""
        return self.shown(edge - 0.5) + 0.5

    @property
    def resampled(self) -> bool:
        """Whether the pixels of the picture are not those of the slice."""
        return self.n_shown != self.n_stored

    def nearest(self, values: Array) -> Array:
        """A slice's values along axis 0 (axis already first), taken over to the pixels of this side."""
        ordered = values[::-1] if self.flipped else values
        if not self.resampled:
            return ordered
        return ordered[np.clip(np.ceil(self._places() - 0.5 - _TIE), 0, self.n_stored - 1).astype(np.intp)]

    def linear(self, values: FloatArray) -> FloatArray:
        """The same by linear interpolation; beyond the outermost centres the outermost value holds."""
        ordered = values[::-1] if self.flipped else values
        if not self.resampled:
            return ordered
        places = np.clip(self._places(), 0, self.n_stored - 1)
        low = np.minimum(np.floor(places).astype(np.intp), max(self.n_stored - 2, 0))
        high = np.minimum(low + 1, self.n_stored - 1)
        share = (places - low).reshape(-1, *(1,) * (values.ndim - 1))
        return np.asarray(ordered[low] * (1 - share) + ordered[high] * share)

    def _places(self) -> FloatArray:
        """Where the pixels of the picture lie in the slice once it runs the right way."""
        from_middle = self.step * (np.arange(self.n_shown) - (self.n_shown - 1) / 2)
        return np.asarray((self.n_stored - 1) / 2 + from_middle)


@dataclass(frozen=True, slots=True)
class View:
    """A slice and its place in the picture.

    Attributes:
        axis: The stored axis that counts the slices; for a picture in colour its colours.
        index: The slice.
        across: The picture's width.
        down: Its height.
        pixel_mm: Width and height of a pixel of the picture; None where the source does not state them.
        in_patient: Whether the stored axes are directions in a patient.
    """

    axis: int
    index: int
    across: Side
    down: Side
    pixel_mm: tuple[float, float] | None
    in_patient: bool

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the picture in pixels."""
        return self.across.n_shown, self.down.n_shown

    @property
    def resampled(self) -> bool:
        """Whether pixels were made square, or fewer."""
        return self.across.resampled or self.down.resampled

    @property
    def thinned(self) -> bool:
        """Whether the slice has more pixels than a picture may have."""
        return self.across.n_stored * self.down.n_stored > MOST_PIXELS

    @property
    def grows(self) -> str | None:
        """Letters of the directions in the patient in which x and y grow, e.g. `LP`; None where there is no patient."""
        if not self.in_patient:
            return None
        return "".join(_TOWARDS[side.axis][side.flipped] for side in (self.across, self.down))

    def place(self, ijk: npt.ArrayLike) -> tuple[float, float]:
        """Stored coordinates -> (x, y); what lies in another slice is seen through this one."""
        at = np.asarray(ijk, np.float64)
        return self.across.shown(float(at[self.across.axis])), self.down.shown(float(at[self.down.axis]))

    def matrix(self) -> list[list[float]]:
        """(2, 4) matrix from stored (i, j, k, 1) to (x, y)."""
        rows = []
        for side in (self.across, self.down):
            row = [0.0, 0.0, 0.0, side.shown(0.0)]
            row[side.axis] = (-1 if side.flipped else 1) / side.step
            rows.append(row)
        return rows

    def labels(self, values: Array) -> Array:
        """A slice of ids, its axes those of the array in order, as `[y, x]`."""
        return self.down.nearest(self.across.nearest(values).swapaxes(0, 1))

    def grey(self, values: FloatArray) -> FloatArray:
        """A slice of grey values or colours, as `[y, x]` or `[y, x, colour]`."""
        return self.down.linear(self.across.linear(values).swapaxes(0, 1))


def view_of(
    shape_ijk: tuple[int, int, int],
    spacing_mm: tuple[float | None, float | None, float | None],
    axis: int,
    index: int,
    *,
    in_patient: bool,
) -> View:
    """How a slice is seen: square pixels of the finer spacing, as many as the slice's extent in mm holds.

    Where the longer side would not change by one pixel, or the spacing is not known, the pixels stay as they are, unless they are
    more than `MOST_PIXELS`.

    Args:
        shape_ijk: Shape of the stored array.
        spacing_mm: Along i, j, k; None where the source states no length.
        axis: The axis that counts the slices.
        index: The slice.
        in_patient: Whether the axes are directions in a patient.
    """
    a, b = list(Plane)[axis].in_plane
    shape, spacing = (shape_ijk[a], shape_ijk[b]), (spacing_mm[a], spacing_mm[b])
    if spacing[0] is None or spacing[1] is None:
        sides, pixel_mm = _squared(shape, (1.0, 1.0))[0], None
    else:
        sides, pixel_mm = _squared(shape, (spacing[0], spacing[1]))
    across, down = (
        Side(stored_axis, n, shown, step, in_patient) for stored_axis, n, (shown, step) in zip((a, b), shape, sides, strict=True)
    )
    return View(axis, index, across, down, pixel_mm, in_patient)


def _squared(shape: tuple[int, int], spacing: tuple[float, float]) -> tuple[list[tuple[int, float]], tuple[float, float]]:
    """Number of pixels and step of both sides, and the sides of a pixel in mm."""
    extents = [n * mm for n, mm in zip(shape, spacing, strict=True)]
    finest = (extents[0] * extents[1] / MOST_PIXELS) ** 0.5
    pixel = max(min(spacing), finest)
    shown = [max(1, round(extent / pixel)) for extent in extents]
    if tuple(shown) == shape:
        return [(n, 1.0) for n in shape], spacing
    return [(n, pixel / mm) for n, mm in zip(shown, spacing, strict=True)], (pixel, pixel)
