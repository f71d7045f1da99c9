"""Copying voxels into RAS+ order at close to memory speed, and what can be said of them on the way.

numpy copies a transposed array line by line of one side and misses the cache on the other; here 64 x 64 tiles, turned
4 x 4 items at a time, keep both in reach. One kernel serves every permutation and every flip, because it is told strides, and every type of one size, because it
moves bits.
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

_TILE: Final = 64


@dataclass(frozen=True, slots=True)
class SlabStatistics:
    """What the finite voxels of some slabs come to.

    Attributes:
        minimum: Smallest finite value, in the type of the voxels; inf where there is none.
        maximum: Largest finite value; -inf where there is none.
        total: Sum of the finite values: exact for integers, float64 for floats (in an order that is the same everywhere).
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
        raise ValueError(
            f"out must be C-contiguous {slab.dtype} {source.shape}, not {out.dtype} {out.shape} with strides {out.strides}"
        )
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
    if fast == along or source.itemsize not in {1, 2, 4, 8}:
        np.copyto(target, source)
        return
    order = (3 - fast - along, fast, along)
    backwards = (1, source.strides[fast], target.strides[along])
    ahead = tuple(slice(None, None, -1) if step < 0 else slice(None) for step in backwards)
    from_planes, to_planes = source.transpose(order)[ahead], target.transpose(order)[ahead]
    if from_planes.strides[1] != source.itemsize or to_planes.strides[2] != source.itemsize:
        np.copyto(target, source)
        return
    from_memory, from_first, from_steps = _memory(from_planes, writeable=False)
    to_memory, to_first, to_steps = _memory(to_planes, writeable=True)
    _copy_tiles(from_memory, from_first, from_steps, to_memory, to_first, to_steps, from_planes.shape)


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
    """The axis along which neighbours lie closest in memory; the last of equals, axes of one voxel aside."""
    steps = [abs(step) if extent > 1 else np.iinfo(np.int64).max for step, extent in zip(array.strides, array.shape)]
    return 2 - int(np.argmin(steps[::-1]))


def _memory(array: Array, *, writeable: bool) -> tuple[Array, int, tuple[int, int, int]]:
    """The stretch of memory an array lies in, as unsigned integers of its item size, with first item and steps therein."""
    lowest = array[tuple(slice(None, None, -1) if step < 0 else slice(None) for step in array.strides)]
    steps = [step // array.itemsize for step in array.strides]
    reach = [(extent - 1) * step for extent, step in zip(array.shape, steps, strict=True)]
    bits = lowest.view(np.dtype(f"u{array.itemsize}"))
    flat = as_strided(bits, (1 + sum(map(abs, reach)),), (array.itemsize,), writeable=writeable)
    return flat, -sum(step for step in reach if step < 0), (steps[0], steps[1], steps[2])


@kernel
def _copy_tiles(
    source: Array,
    first: int,
    steps: tuple[int, int, int],
    target: Array,
    to_first: int,
    to_steps: tuple[int, int, int],
    shape: tuple[int, int, int],
) -> None:
    """Transpose plane by plane `[outer, fast, along]`, where neighbours lie together along `fast` in the source, `along` in the target."""
    n_outer, n_fast, n_along = shape
    halves = source.itemsize == 2
    step, to_step = np.uint64(steps[2]), np.uint64(to_steps[1])
    for outer in range(n_outer):
        plane, to_plane = first + outer * steps[0], to_first + outer * to_steps[0]
        for fast in range(0, n_fast - 3, _TILE):
            for along in range(0, n_along - 3, _TILE):
                for row in range(fast, min(fast + _TILE, n_fast - 3), 4):
                    for col in range(along, min(along + _TILE, n_along - 3), 4):
                        at = np.uint64(plane + row + col * steps[2])
                        to = np.uint64(to_plane + row * to_steps[1] + col)
                        if halves:
                            _turn_halves(source, at, step, target, to, to_step)
                        else:
                            _turn(source, at, step, target, to, to_step)
        for row in range(n_fast):
            for col in range(n_along // 4 * 4 if row < n_fast // 4 * 4 else 0, n_along):
                target[to_plane + row * to_steps[1] + col] = source[plane + row + col * steps[2]]


@kernel
def _turn(source: Array, at: int, step: int, target: Array, to: int, to_step: int) -> None:
    """Transpose 4 x 4 items: all are read before any is written, so that the reads wait for memory together."""
    # Indices are unsigned: for signed ones numba adds, to every access, what makes a[-1] the last item.
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
def _turn_halves(source: Array, at: int, step: int, target: Array, to: int, to_step: int) -> None:
    """`_turn` for two-byte items, four of them at a time in one register."""
    even, low = np.uint64(0x0000FFFF0000FFFF), np.uint64(0x00000000FFFFFFFF)
    one, two = np.uint64(16), np.uint64(32)
    a = _four(source, at)
    b = _four(source, at + step)
    c = _four(source, at + step + step)
    d = _four(source, at + step + step + step)
    ab_even, ab_odd = (a & even) | ((b & even) << one), ((a >> one) & even) | (b & ~even)
    cd_even, cd_odd = (c & even) | ((d & even) << one), ((c >> one) & even) | (d & ~even)
    _put_four(target, to, (ab_even & low) | (cd_even << two))
    _put_four(target, to + to_step, (ab_odd & low) | (cd_odd << two))
    _put_four(target, to + to_step + to_step, (ab_even >> two) | (cd_even & ~low))
    _put_four(target, to + to_step + to_step + to_step, (ab_odd >> two) | (cd_odd & ~low))


@kernel
def _four(items: Array, at: int) -> int:
    """Four two-byte items, the first in the lowest bits; the compiler makes one load of it."""
    first = np.uint64(items[at])
    second = np.uint64(items[at + np.uint64(1)]) << np.uint64(16)
    third = np.uint64(items[at + np.uint64(2)]) << np.uint64(32)
    return first | second | third | (np.uint64(items[at + np.uint64(3)]) << np.uint64(48))


@kernel
def _put_four(items: Array, to: int, word: int) -> None:
    """Write four two-byte items, the first from the lowest bits; the compiler makes one store of it."""
    items[to] = np.uint16(word)
    items[to + np.uint64(1)] = np.uint16(word >> np.uint64(16))
    items[to + np.uint64(2)] = np.uint16(word >> np.uint64(32))
    items[to + np.uint64(3)] = np.uint16(word >> np.uint64(48))


@kernel
def _integer_sums(flat: Array) -> tuple[int, int, int]:
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
def _wide_integer_sums(flat: Array) -> tuple[int, int, int, int]:
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
    """Sum in float64 in eight fixed lanes, so that the width of the machine's vectors does not change the last digit."""
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
