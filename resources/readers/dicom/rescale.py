"""From the stored numbers of a DICOM plane to the values they stand for: rescale slope and intercept, or a look-up table.

They may differ from plane to plane (PET does that), so the planes of one image are looked at together to find a type that
holds all of them. MONOCHROME1 changes nothing: the values are the ones the modality means, and a finding says that low ones
are shown white.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from resources.readers.dicom.elements import Elements
from resources.readers.dicom.layout import PixelLayout
from resources.readers.scaling import Scaling

_WHOLE = (np.dtype(np.int16), np.dtype(np.int32), np.dtype(np.int64))


@dataclass(frozen=True, slots=True)
class Table:
    """A modality look-up table (PS3.3 C.11.1): stored number -> value.

    Attributes:
        first: The stored number of the first entry; numbers below it take that entry, numbers beyond the last one the last.
        entries: The values.
    """

    first: int
    entries: tuple[int, ...]

    def apply(self, stored: npt.NDArray[Any]) -> npt.NDArray[np.uint16]:
        """The values of `stored`."""
        place = np.clip(stored.astype(np.int64) - self.first, 0, len(self.entries) - 1)
        return np.asarray(self.entries, np.uint16)[place]


@dataclass(frozen=True, slots=True)
class Rescale:
    """How the stored numbers of one plane become values.

    Attributes:
        slope: Factor.
        intercept: Summand.
        stated: Whether the header says so, or 1 and 0 stand in for missing elements.
    """

    slope: float = 1.0
    intercept: float = 0.0
    stated: bool = False


UNSCALED = Rescale()


def read_rescale(elements: Elements) -> Rescale:
    """The slope and intercept a data set (or functional group) states.

    Raises:
        BadInputError: BAD_HEADER for a slope of 0 or what is no number.
    """
    slope, intercept = elements.number("RescaleSlope"), elements.number("RescaleIntercept")
    if slope is None and intercept is None:
        return UNSCALED
    if slope == 0:
        raise elements.bad("RescaleSlope is 0: every voxel would have one value")
    return Rescale(1.0 if slope is None else slope, intercept or 0.0, stated=True)


def read_table(elements: Elements, layout: PixelLayout) -> Table | None:
    """The modality look-up table of a data set, if it has one.

    Raises:
        BadInputError: BAD_HEADER when it is shorter than it says.
    """
    item = elements.item("ModalityLUTSequence")
    if item is None:
        return None
    descriptor = item.numbers("LUTDescriptor", 3)
    if descriptor is None:
        raise elements.bad("ModalityLUTSequence has no LUTDescriptor")
    count, first, bits = (int(number) for number in descriptor)
    count = count or 1 << 16
    if layout.signed and first >= 1 << 15:
        first -= 1 << 16
    data = item.words("LUTData")
    if len(data) < count or not 1 <= bits <= 16:
        raise elements.bad(f"the modality look-up table has {len(data)} entries of {bits} bits where {count} are stated")
    return Table(first, data[:count])


def stored_range(layout: PixelLayout) -> tuple[int, int]:
    """Lowest and highest number that the stated bits can hold."""
    return (-(1 << layout.stored - 1), (1 << layout.stored - 1) - 1) if layout.signed else (0, (1 << layout.stored) - 1)


def value_type(planes: Sequence[tuple[PixelLayout, Rescale]]) -> np.dtype[Any]:
    """The type that holds the values of all planes without wrapping.

    Numbers nothing is done to keep their type. Whole slopes and intercepts give the narrowest of int16, int32 and int64
    that holds what the stated bits can become; everything else float32 up to 16 stored bits, float64 beyond.
    """
    kinds = set(planes)
    containers = {layout.container for layout, _ in kinds}
    if all(rescale.slope == 1 and rescale.intercept == 0 for _, rescale in kinds):
        if len(containers) == 1:
            return containers.pop()
        if all(container.kind in "iu" for container in containers):
            return _narrowest([end for layout, _ in kinds for end in stored_range(layout)])
    whole = all(rescale.slope.is_integer() and rescale.intercept.is_integer() for _, rescale in kinds)
    if whole and all(not layout.floating and layout.stored <= 32 for layout, _ in kinds):
        ends = [int(rescale.slope) * end + int(rescale.intercept) for layout, rescale in kinds for end in stored_range(layout)]
        return _narrowest(ends)
    narrow = all(layout.allocated <= 16 or (layout.floating and layout.allocated == 32) for layout, _ in kinds)
    return np.dtype(np.float32 if narrow and _fits_float32(kinds) else np.float64)


def apply_rescale(stored: npt.NDArray[Any], rescale: Rescale, target: npt.NDArray[Any]) -> None:
    """Write the values of `stored` to `target`, of the same shape and of the type `value_type` gave."""
    if rescale.slope == 1 and rescale.intercept == 0:
        target[...] = stored
        return
    flat = np.ascontiguousarray(stored).reshape(-1)
    in_place = target.flags.c_contiguous
    values = target.reshape(-1) if in_place else np.empty(flat.shape, target.dtype)
    Scaling(rescale.slope, rescale.intercept, target.dtype).apply(flat, values)
    if not in_place:
        target[...] = values.reshape(stored.shape)


def _narrowest(ends: list[int]) -> np.dtype[Any]:
    for whole in _WHOLE:
        if np.iinfo(whole).min <= min(ends) and max(ends) <= np.iinfo(whole).max:
            return whole
    return np.dtype(np.float64)


def _fits_float32(kinds: set[tuple[PixelLayout, Rescale]]) -> bool:
    limits = np.finfo(np.float32)
    integral = [(layout, rescale) for layout, rescale in kinds if not layout.floating]
    largest = [abs(rescale.slope) * 2.0**layout.stored + abs(rescale.intercept) for layout, rescale in integral]
    return all(size < float(limits.max) for size in largest) and all(abs(r.slope) > float(limits.tiny) for _, r in kinds)
