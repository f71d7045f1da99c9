"""Copying voxels into RAS+ order at close to memory speed, and what can be said of them on the way.

numpy copies a transposed array along the lines of one side and misses the cache on the other; here tiles of 16 x 16
voxels, turned 4 x 4 at a time, keep both in reach. A kernel serves every permutation and every flip, because it is
told steps, and every type of one size, because it moves bits. Its indices are unsigned: with signed ones numba adds, to
every access, what makes a[-1] the last item.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from assets.measure.jit import kernel

Array = npt.NDArray[Any]

Steps = tuple[int, int, int, int]
"""Where a 3-D array begins in a stretch of memory, and its step along each axis, counted in items."""

_TILE: Final = 16


@dataclass(frozen=True, slots=True)
class SlabStatistics:
    """What the finite voxels of some slabs come to.

    Attributes:
        minimum: Smallest finite value, in the type of the voxels; inf where there is none.
        maximum: Largest finite value; -inf where there is none.
        total: Sum of the finite values: exact for integers, float64 for floats.
        n_finite: How many values are finite; all of them for integers.
        n_nonfinite: How many are NaN or infinite.
    """

    minimum: int | float
    maximum: int | float
    total: int | float
    n_finite: int
    n_nonfinite: int

    @property
    def mean(self) -> float:
        """Mean of the finite values; NaN where there is none."""
        return self.total / self.n_finite if self.n_finite else float("nan")

    def __add__(self, other: SlabStatistics) -> SlabStatistics:
        return SlabStatistics(
            min(self.minimum, other.minimum),
            max(self.maximum, other.maximum),
            self.total + other.total,
            self.n_finite + other.n_finite,
            self.n_nonfinite + other.n_nonfinite,
        )


NO_VOXELS: Final = SlabStatistics(float("inf"), float("-inf"), 0, 0, 0)
"""Statistics of nothing: the start of a sum over slabs."""


def gather_ras(slab: Array, axes: Sequence[int], flips: Sequence[bool], out: Array) -> SlabStatistics:
    """Copy a slab into RAS+ order and take its statistics.

    Args:
        slab: `[s0, s1, s2]` in stored voxel order; any strides, native byte order, integers or floats of 1 to 8 bytes.
        axes: For each RAS+ axis (i, j, k), the stored axis it is taken from.
        flips: For each RAS+ axis, whether the stored axis runs the other way.
        out: `[k, j, i]`, C-contiguous, of the slab's type; all of it is written.

    Raises:
        ValueError: `out` has not the shape, type or memory order that this slab needs.
    """
    steps = tuple(slice(None, None, -1) if flip else slice(None) for flip in flips)
    source = slab.transpose(tuple(axes))[steps].transpose(2, 1, 0)
    if out.shape != source.shape or out.dtype != slab.dtype or not out.flags.c_contiguous:
        met = f"{out.dtype} {out.shape} with strides {out.strides}"
        raise ValueError(f"out must be C-contiguous {slab.dtype} {source.shape}, not {met}")
    copy_strided(source, out)
    return statistics(out)


def copy_strided(source: Array, target: Array) -> None:
    """`target[...] = source` for two 3-D arrays of one shape and type, with any strides, that do not overlap.

    Raises:
        ValueError: Shapes, types or the number of axes do not fit.
    """
    if source.shape != target.shape or source.dtype != target.dtype or source.ndim != 3:
        raise ValueError(f"cannot copy {source.dtype} {source.shape} to {target.dtype} {target.shape} as three axes")
    if not source.size:
        return
    fast, along = _fastest_axis(source), _fastest_axis(target)
    outer = [axis for axis in range(3) if axis not in {fast, along}]
    order = (*outer, along) if fast == along else (*outer, fast, along)
    flips = [
        (axis == along and target.strides[axis] < 0) or (axis == fast != along and source.strides[axis] < 0) for axis in order
    ]
    ahead = tuple(slice(None, None, -1) if flip else slice(None) for flip in flips)
    from_planes, to_planes = source.transpose(order)[ahead], target.transpose(order)[ahead]
    step = from_planes.strides[order.index(fast)]
    contiguous = abs(step) == to_planes.strides[2] == source.itemsize
    if not contiguous or (fast == along and step > 0) or source.itemsize not in {1, 2, 4, 8}:
        np.copyto(target, source)
        return
    copy = _copy_reversed if fast == along else _copy_tiles
    copy(*_memory(from_planes, writeable=False), *_memory(to_planes, writeable=True), from_planes.shape)


def statistics(voxels: Array) -> SlabStatistics:
    """Minimum, maximum, sum and number of the finite values of a C-contiguous array of integers or floats.

    Raises:
        ValueError: The array is not C-contiguous in native byte order, or holds neither integers nor floats.
    """
    if not voxels.flags.c_contiguous or not voxels.dtype.isnative or voxels.dtype.kind not in "iuf":
        raise ValueError(f"statistics need C-contiguous native integers or floats, not {voxels.dtype} {voxels.strides}")
    flat = _locked(voxels.reshape(-1))
    if not flat.size:
        return NO_VOXELS
    if flat.dtype.kind == "f":
        return _float_statistics(flat)
    if flat.itemsize == 8:
        low, high, upper, lower = _wide_integer_sums(flat)
        return SlabStatistics(int(low), int(high), (int(upper) << 32) + int(lower), flat.size, 0)
    low, high, total = _integer_sums(flat)
    return SlabStatistics(int(low), int(high), int(total), flat.size, 0)


def _float_statistics(flat: Array) -> SlabStatistics:
    n_values = flat.size
    with np.errstate(invalid="ignore"):
        low, high = flat.min(), flat.max()  # NaN, or infinite, when any value is
    if not (np.isfinite(low) and np.isfinite(high)):
        flat = _locked(flat[np.isfinite(flat)])
        if not flat.size:
            return SlabStatistics(float("inf"), float("-inf"), 0.0, 0, n_values)
        low, high = flat.min(), flat.max()
    return SlabStatistics(float(low), float(high), float(_float_sum(flat)), flat.size, n_values - flat.size)


def _locked(flat: Array) -> Array:
    """A read-only view: numba compiles once more for each mix of writeable and not, so there is to be no mix."""
    view = flat.view()
    view.flags.writeable = False
    return view


def _fastest_axis(array: Array) -> int:
    """The axis along which neighbours lie closest in memory; the last of equals, one of extent 1 only if all are."""
    far = np.iinfo(np.int64).max
    steps = [abs(step) if extent > 1 else far for step, extent in zip(array.strides, array.shape, strict=True)]
    return 2 - int(np.argmin(steps[::-1]))


def _memory(array: Array, *, writeable: bool) -> tuple[Array, Steps]:
    """The stretch of memory an array lies in, as unsigned integers of its item size, and its place therein."""
    lowest = array[tuple(slice(None, None, -1) if step < 0 else slice(None) for step in array.strides)]
    steps = [step // array.itemsize for step in array.strides]
    reach = [(extent - 1) * step for extent, step in zip(array.shape, steps, strict=True)]
    bits = lowest.view(np.dtype(f"u{array.itemsize}"))
    flat = as_strided(bits, (1 + sum(map(abs, reach)),), (array.itemsize,), writeable=writeable)
    return flat, (-sum(step for step in reach if step < 0), steps[0], steps[1], steps[2])


@kernel
def _copy_reversed(source: Array, from_steps: Steps, target: Array, to_steps: Steps, shape: tuple[int, ...]) -> None:
    """Copy line by line along the last axis, which is contiguous in the target and runs backwards in the source."""
    for plane in range(shape[0]):
        for line in range(shape[1]):
            at = np.uint64(from_steps[0] + plane * from_steps[1] + line * from_steps[2])
            to = np.uint64(to_steps[0] + plane * to_steps[1] + line * to_steps[2])
            for n in range(np.uint64(shape[2])):
                target[to + n] = source[at - n]


@kernel
def _copy_tiles(source: Array, from_steps: Steps, target: Array, to_steps: Steps, shape: tuple[int, ...]) -> None:
    """Transpose planes `[outer, fast, along]`: `fast` is contiguous in the source, `along` in the target."""
    n_outer, n_fast, n_along = shape
    for outer in range(n_outer):
        plane, to_plane = from_steps[0] + outer * from_steps[1], to_steps[0] + outer * to_steps[1]
        for fast in range(0, n_fast - 3, _TILE):
            for along in range(0, n_along - 3, _TILE):
                for row in range(fast, min(fast + _TILE, n_fast - 3), 4):
                    for col in range(along, min(along + _TILE, n_along - 3), 4):
                        at, to = plane + row + col * from_steps[3], to_plane + row * to_steps[2] + col
                        _turn(source, at, target, to, (from_steps[3], to_steps[2]))
        for row in range(n_fast):
            for col in range(n_along // 4 * 4 if row < n_fast // 4 * 4 else 0, n_along):
                target[to_plane + row * to_steps[2] + col] = source[plane + row + col * from_steps[3]]


@kernel
def _turn(source: Array, first: int, target: Array, to_first: int, steps: tuple[int, int]) -> None:
    """Transpose 4 x 4 items: all are read before any is written, so that the reads wait for memory together."""
    at, step, to, to_step = np.uint64(first), np.uint64(steps[0]), np.uint64(to_first), np.uint64(steps[1])
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    a0, a1, a2, a3 = source[at], source[at + one], source[at + two], source[at + three]
    at += step
    b0, b1, b2, b3 = source[at], source[at + one], source[at + two], source[at + three]
    at += step
    c0, c1, c2, c3 = source[at], source[at + one], source[at + two], source[at + three]
    at += step
    d0, d1, d2, d3 = source[at], source[at + one], source[at + two], source[at + three]
    target[to], target[to + one], target[to + two], target[to + three] = a0, b0, c0, d0
    to += to_step
    target[to], target[to + one], target[to + two], target[to + three] = a1, b1, c1, d1
    to += to_step
    target[to], target[to + one], target[to + two], target[to + three] = a2, b2, c2, d2
    to += to_step
    target[to], target[to + one], target[to + two], target[to + three] = a3, b3, c3, d3


@kernel
def _integer_sums(flat: Array) -> tuple[Any, Any, Any]:
    low = flat[0]
    high = flat[0]
    total = np.int64(0)
    for n in range(flat.size):
        value = flat[n]
        low = min(low, value)
        high = max(high, value)
        total += np.int64(value)
    return low, high, total


@kernel
def _wide_integer_sums(flat: Array) -> tuple[Any, Any, Any, Any]:
    """Minimum, maximum, and the sums of the upper and the lower 32 bits, either of which fits."""
    low = flat[0]
    high = flat[0]
    upper = np.int64(0)
    lower = np.int64(0)
    for n in range(flat.size):
        value = flat[n]
        low = min(low, value)
        high = max(high, value)
        upper += np.int64(value >> 32)
        lower += np.int64(value & 0xFFFFFFFF)
    return low, high, upper, lower


@kernel
def _float_sum(flat: Array) -> float:
    """Sum in float64, in eight fixed lanes: the last digit does not depend on how wide the machine's vectors are."""
    a = b = c = d = e = f = g = h = 0.0
    whole = flat.size // 8 * 8
    for n in range(0, whole, 8):
        a += flat[n]
        b += flat[n + 1]
        c += flat[n + 2]
        d += flat[n + 3]
        e += flat[n + 4]
        f += flat[n + 5]
        g += flat[n + 6]
        h += flat[n + 7]
    for n in range(whole, flat.size):
        a += flat[n]
    return ((a + b) + (c + d)) + ((e + f) + (g + h))
