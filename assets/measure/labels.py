"""What is asked of a label map while it streams past: whole ids in a small type, how many of each, where they lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from assets.measure.jit import kernel

Array = npt.NDArray[Any]
Box = tuple[tuple[int, int], tuple[int, int], tuple[int, int]]

WHOLE_TOLERANCE: Final = 1e-6
"""A label counts as whole when it lies within this share of itself (of 1, when smaller) from a whole number.

That spans what rounding in float32 does to a scaled id (0.99999997, 2.0000002), and stays well below 1/65535, the value
of a foreground that some writer normalised away: such a mask is refused, not read as empty.
"""

LARGEST_ID: Final = 65535

MOST_EXAMPLES: Final = 5

_CHUNK: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Offenders:
    """Values that cannot be label ids.

    Attributes:
        n_not_whole: How many are not whole numbers, NaN and infinities among them.
        n_out_of_range: How many are whole, but negative or beyond `LARGEST_ID`.
        examples: Up to `MOST_EXAMPLES` different values of either kind, each with how often it was met.
    """

    n_not_whole: int = 0
    n_out_of_range: int = 0
    examples: tuple[tuple[float, int], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.n_not_whole or self.n_out_of_range)


NO_OFFENDERS: Final = Offenders()


def compact_labels(slab: Array, before: Offenders = NO_OFFENDERS) -> tuple[Array, Offenders]:
    """Label ids in the smallest unsigned type that holds them, uint8 or uint16.

    Args:
        slab: Label ids of any shape and memory order, stored as bool, integers or floats in native byte order.
        before: Offenders of the slabs that came before.

    Returns:
        The ids, in the slab's shape and memory order; 0 stands where a value cannot be an id. They may share the slab's
        memory. And the offenders of the slabs so far.
    """
    if slab.dtype.kind == "b" or slab.dtype == np.uint8:
        return slab.view(np.uint8), before
    if slab.dtype.kind in "iu" and slab.size and slab.min() >= 0 and slab.max() <= LARGEST_ID:
        narrow = np.dtype(np.uint8 if slab.max() <= 255 else np.uint16)
        same_bits = slab.itemsize == narrow.itemsize
        return (slab.view(narrow) if same_bits else slab.astype(narrow)), before
    if not slab.dtype.isnative or slab.dtype.kind not in "iuf":
        raise TypeError(f"label ids are stored as bool, integers or floats in native byte order, not {slab.dtype}")
    return _checked(slab, before)


def id_counts(label_map: Array) -> dict[int, int]:
    """How many voxels carry each id that occurs, 0 included, in rising order; uint8, uint16 or bool of any shape.

    Raises:
        TypeError: The label map has another type.
    """
    if label_map.dtype not in {np.dtype(np.bool_), np.dtype(np.uint8), np.dtype(np.uint16)}:
        raise TypeError(f"ids are counted in uint8 or uint16 in native byte order, not {label_map.dtype}")
    item = np.dtype(f"u{label_map.itemsize}")
    bits = _bytes(_in_memory_order(label_map)[0])
    head, words = _words(bits)
    counts = np.zeros(1 << (8 * item.itemsize), np.int64)
    _count_words(words, 8 * item.itemsize, counts)
    for rest in (bits[:head], bits[head + words.nbytes :]):
        counts += np.bincount(rest.view(item), minlength=counts.size)
    return {int(label): int(counts[label]) for label in np.flatnonzero(counts)}


def tight_box(label_map: Array) -> Box | None:
    """Half-open index ranges along the three axes that just hold every voxel that is not 0; None where there is none.

    Fastest for arrays that fill their memory in some order of the axes; others are copied first.

    Raises:
        TypeError: The array holds neither bool nor integers.
        ValueError: The array has not three axes.
    """
    if label_map.ndim != 3:
        raise ValueError(f"a label map has three axes, not the shape {label_map.shape}")
    if label_map.dtype.kind not in "biu":
        raise TypeError(f"a box is found in bool or integers, not {label_map.dtype}")
    ordered, order, flipped = _in_memory_order(label_map)
    planes, rows, items = ordered.shape
    bits = _bytes(ordered)
    head, words = _words(bits)
    first_last = _box(bits, words, head, (planes, rows, items * ordered.itemsize))
    if first_last[0] > first_last[1]:
        return None
    pairs = [first_last[0:2], first_last[2:4], tuple(byte // ordered.itemsize for byte in first_last[4:6])]
    ranges = [(0, 0)] * 3
    for (first, last), axis in zip(pairs, order, strict=True):
        extent = label_map.shape[axis]
        ranges[axis] = (extent - 1 - last, extent - first) if flipped[axis] else (first, last + 1)
    return ranges[0], ranges[1], ranges[2]


def _checked(slab: Array, before: Offenders) -> tuple[Array, Offenders]:
    ordered, order, flipped = _in_memory_order(slab)
    flat = ordered.reshape(-1)
    ids = np.empty(flat.size, np.uint16)
    offenders = before
    with np.errstate(invalid="ignore"):
        for start in range(0, flat.size, _CHUNK):
            values, chunk = flat[start : start + _CHUNK], ids[start : start + _CHUNK]
            np.copyto(chunk, values, casting="unsafe")
            if not np.array_equal(chunk, values):
                offenders = _round(values.astype(np.float64), chunk, offenders)
    if ids.max(initial=0) <= 255:
        ids = ids.astype(np.uint8)
    stored = ids.reshape(ordered.shape).transpose(np.argsort(order))
    return stored[tuple(slice(None, None, -1) if flip else slice(None) for flip in flipped)], offenders


def _round(values: npt.NDArray[np.float64], ids: Array, before: Offenders) -> Offenders:
    """Write the nearest whole numbers to `ids`, 0 for values that cannot be ids; add those to the offenders."""
    nearest = np.rint(values)
    whole = np.abs(values - nearest) <= WHOLE_TOLERANCE * np.maximum(1, np.abs(values))
    good = whole & (nearest >= 0) & (nearest <= LARGEST_ID)
    ids[...] = np.where(good, nearest, 0)
    if good.all():
        return before
    return Offenders(
        before.n_not_whole + int(np.count_nonzero(~whole)),
        before.n_out_of_range + int(np.count_nonzero(whole & ~good)),
        _examples(values[~good], before.examples),
    )


def _examples(values: npt.NDArray[np.float64], known: tuple[tuple[float, int], ...]) -> tuple[tuple[float, int], ...]:
    """Count the known examples in `values` too; while there is room, take in new ones, smallest first."""
    counted = []
    for value, count in known:
        same = np.isnan(values) if np.isnan(value) else values == value
        counted.append((value, count + int(np.count_nonzero(same))))
        values = values[~same]
    if len(counted) < MOST_EXAMPLES:
        new, counts = np.unique(values, return_counts=True)
        counted += zip(new.tolist(), counts.tolist(), strict=True)
    return tuple(counted[:MOST_EXAMPLES])


def _in_memory_order(array: Array) -> tuple[Array, tuple[int, ...], tuple[bool, ...]]:
    """The same voxels C-contiguous, a view if they fill their memory; which axis each was, and which were flipped."""
    flipped = tuple(step < 0 for step in array.strides)
    forward = array[tuple(slice(None, None, -1) if flip else slice(None) for flip in flipped)]
    order = tuple(sorted(range(array.ndim), key=lambda axis: (-forward.strides[axis], axis)))
    return np.require(forward.transpose(order), requirements=["C", "ALIGNED"]), order, flipped


def _bytes(ordered: Array) -> Array:
    """The bytes of a C-contiguous array, read-only: numba compiles anew for each mix of writeable and not."""
    view = ordered.reshape(-1).view(np.uint8)
    view.flags.writeable = False
    return view


def _words(bits: Array) -> tuple[int, Array]:
    """How many bytes lie before the first whole, aligned word of a stretch of bytes, and its words."""
    head = min(-bits.ctypes.data % 8, bits.size)
    return head, bits[head : head + (bits.size - head) // 8 * 8].view(np.uint64)


@kernel
def _count_words(words: Array, bits: int, counts: npt.NDArray[np.int64]) -> None:
    """Add to `counts` the items, of so many bits each, of all words; equal neighbours are taken apart once."""
    mask, width = np.uint64(len(counts) - 1), np.uint64(bits)
    word, repeats = np.uint64(0), 0
    for n in range(len(words) + 1):
        if n < len(words) and words[n] == word:
            repeats += 1
            continue
        for item in range(64 // bits):
            counts[(word >> (np.uint64(item) * width)) & mask] += repeats
        if n < len(words):
            word, repeats = words[n], 1


@kernel
def _box(bits: Array, words: Array, head: int, shape: tuple[int, int, int]) -> tuple[int, int, int, int, int, int]:
    """First and last plane, row and byte of a row that are not 0; first > last where all are."""
    planes, rows, row_bytes = shape
    first_plane, last_plane = planes, -1
    first_row, last_row = rows, -1
    first_byte, last_byte = row_bytes, -1
    found = _first(bits, words, head, 0, bits.size)
    while found >= 0:
        line = found // row_bytes
        start, stop = line * row_bytes, (line + 1) * row_bytes
        plane, row = line // rows, line % rows
        first_plane, last_plane = min(first_plane, plane), plane
        first_row, last_row = min(first_row, row), max(last_row, row)
        first_byte = min(first_byte, found - start)
        last_byte = max(last_byte, _last(bits, words, head, start + last_byte + 1, stop) - start)
        found = _first(bits, words, head, stop, bits.size)
    return first_plane, last_plane, first_row, last_row, first_byte, last_byte


@kernel
def _first(bits: Array, words: Array, head: int, start: int, stop: int) -> int:
    """Place of the first byte in [start, stop) that is not 0; -1 where there is none."""
    at = start
    while at < stop:
        if (at - head) % 8 == 0:
            word = (at - head) // 8
            while head + 8 * word + 64 <= stop and _no_bits(words, word):
                word += 8
            while head + 8 * word + 8 <= stop and words[word] == 0:
                word += 1
            at = head + 8 * word
        if at < stop and bits[at] != 0:
            return at
        at += 1
    return -1


@kernel
def _no_bits(words: Array, first: int) -> bool:
    """Whether eight words are all 0: one branch where eight would cost more than the memory does."""
    one = words[first] | words[first + 1] | words[first + 2] | words[first + 3]
    other = words[first + 4] | words[first + 5] | words[first + 6] | words[first + 7]
    return bool((one | other) == 0)


@kernel
def _last(bits: Array, words: Array, head: int, start: int, stop: int) -> int:
    """Place of the last byte in [start, stop) that is not 0; -1 where there is none."""
    at = stop - 1
    while at >= start:
        if (at + 1 - head) % 8 == 0:
            word = (at + 1 - head) // 8
            while head + 8 * word - 8 >= start and words[word - 1] == 0:
                word -= 1
            at = head + 8 * word - 1
        if at >= start and bits[at] != 0:
            return at
        at -= 1
    return -1
