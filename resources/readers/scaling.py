"""From stored numbers to true values: slope and intercept, without wrapping and without needless rounding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

_WHOLE = (np.dtype(np.int16), np.dtype(np.int32), np.dtype(np.int64))


@dataclass(frozen=True, slots=True)
class Scaling:
    """true value = slope * stored + intercept, and the type that holds it.

    Whole slope and intercept on integers up to 32 bits give the narrowest of int16, int32, int64 that holds the image
    of the stored type's whole range, so no voxel can wrap. Everything else is computed in float64 and kept as float32
    where the stored type has at most 16 bits, as float64 otherwise (also where the values would leave the normal range
    of float32).

    Attributes:
        slope: Factor, finite and not 0.
        intercept: Summand, finite.
        dtype: Type of the true values, native byte order.
    """

    slope: float
    intercept: float
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, stored: np.dtype[Any], slope: float, intercept: float) -> Scaling | None:
        """The scaling of numbers stored as `stored`; `None` when there is nothing to do."""
        slope, intercept = float(slope), float(intercept)
        if slope == 1 and intercept == 0:
            return None
        return cls(slope, intercept, _scaled_type(stored, slope, intercept))

    def apply(self, stored: npt.NDArray[Any], target: npt.NDArray[Any]) -> None:
        """Write the true values of `stored` to `target` (1-D, same length, `dtype`)."""
        if self.dtype.kind == "i":
            work = target if self._products_fit(stored.dtype) else np.empty(len(target), np.int64)
            np.multiply(stored, int(self.slope), out=work, dtype=work.dtype, casting="unsafe")
            work += int(self.intercept)
            target[...] = work
        else:
            # What no float64 can hold becomes infinite here, and is counted and refused as such further on.
            with np.errstate(over="ignore", invalid="ignore"):
                exact = np.multiply(stored, self.slope, dtype=np.float64, casting="unsafe")
                exact += self.intercept
                target[...] = exact

    def _products_fit(self, stored: np.dtype[Any]) -> bool:
        """Whether slope * stored, before the intercept brings it back, fits the type of the result."""
        ends, held = np.iinfo(stored), np.iinfo(self.dtype)
        return all(held.min <= int(self.slope) * int(end) <= held.max for end in (ends.min, ends.max))


def _scaled_type(stored: np.dtype[Any], slope: float, intercept: float) -> np.dtype[Any]:
    if stored.kind not in "iu" or stored.itemsize > 4:
        return np.dtype(np.float64)
    held = np.iinfo(stored)
    if slope.is_integer() and intercept.is_integer():
        ends = [int(slope) * int(end) + int(intercept) for end in (held.min, held.max)]
        for whole in _WHOLE:
            if np.iinfo(whole).min <= min(ends) and max(ends) <= np.iinfo(whole).max:
                return whole
        return np.dtype(np.float64)
    largest = max(abs(slope) * -float(held.min), abs(slope) * float(held.max)) + abs(intercept)
    narrow = np.finfo(np.float32)
    if stored.itemsize <= 2 and largest < float(narrow.max) and abs(slope) > float(narrow.tiny):
        return np.dtype(np.float32)
    return np.dtype(np.float64)
