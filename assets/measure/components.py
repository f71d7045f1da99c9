"""2-D components of every label, in all slices of a plane, by one pass over runs.

A run is a stretch of one label in a row. Runs of neighbouring rows that share a column and a label belong together; a
union-find over provisional components joins them, and every number asked for is a sum over runs in closed form. Memory
grows with the components of the result, time with the runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from assets.measure import Plane
from assets.measure.jit import kernel
from assets.measure.reorient import copy_strided

__all__ = ["Components", "Plane", "label_components"]

Array = npt.NDArray[Any]
Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]

_BLOCK_BYTES: Final = 1 << 23
"""Slices are laid out row by row in blocks of about this size, which the cache still holds when they are scanned."""

_LEAST_SLICES: Final = 16
"""But a block has this many slices, because slices that lie interleaved in memory are read by whole cache lines."""

_WORD_BYTES: Final = 8

# Columns of the kernel's table, one row per component. The Euler number (components minus holes) is counted as runs
# minus contacts of runs. From _COUNT on, joining two components means adding.
_SLICE, _LABEL, _PARENT, _ROW_MIN, _ROW_MAX, _COL_MIN, _COL_MAX, _COUNT = range(8)
_SUM_R, _SUM_C, _SUM_RR, _SUM_CC, _SUM_RC, _EULER, _N_COLUMNS = range(8, 15)

# Columns of the kernel's lists of runs.
_START, _STOP, _ID, _OWNER = range(4)


@dataclass(frozen=True, slots=True)
class Components:
    """Components of all slices of one plane: arrays of equal length, sorted by slice, label, component.

    Rows and columns run along the first and second of the two remaining axes of `[i, j, k]`. Slices, rows and columns
    are indices of the full volume; pixel centres lie at whole numbers.

    Attributes:
        slice_index: The slice, along the plane's axis.
        label_id: The label.
        component: 1, 2, ... within slice and label, in the order in which a scan by rows, then columns meets them.
        n_components: How many there are in this slice of this label.
        row_min: First row of the component.
        row_max: Last row, inclusive.
        col_min: First column.
        col_max: Last column, inclusive.
        pixel_count: Number of pixels.
        sum_r: Sum over the pixels of r = row - row_min.
        sum_c: Sum of c = col - col_min.
        sum_rr: Sum of r * r.
        sum_cc: Sum of c * c.
        sum_rc: Sum of r * c.
        n_holes: Number of holes: background regions, joined over edges and corners, that the component encloses.
    """

    slice_index: Int32Array
    label_id: Int32Array
    component: Int32Array
    n_components: Int32Array
    row_min: Int32Array
    row_max: Int32Array
    col_min: Int32Array
    col_max: Int32Array
    pixel_count: Int64Array
    sum_r: Int64Array
    sum_c: Int64Array
    sum_rr: Int64Array
    sum_cc: Int64Array
    sum_rc: Int64Array
    n_holes: Int32Array

    def __len__(self) -> int:
        return len(self.slice_index)

    def select(self, rows: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> Components:
        """The components at `rows` (a mask or indices), in that order."""
        return Components(*(getattr(self, field.name)[rows] for field in fields(self)))


def label_components(label_map: Array, plane: Plane, offset: Sequence[int] = (0, 0, 0)) -> Components:
    """Find the 4-connected components of every label but 0 in every slice of a plane.

    Args:
        label_map: `[i, j, k]` RAS+, bool, uint8 or uint16, any strides; best a tight crop around the labels.
        plane: How to slice.
        offset: (i, j, k) of the crop's first voxel in the full volume.

    Raises:
        TypeError: The label map has another type (`compact_labels` makes a fitting one).
        ValueError: The label map has not three axes, or its slices are so large that the sums would overflow.
    """
    if label_map.ndim != 3:
        raise ValueError(f"a label map has three axes [i, j, k], not the shape {label_map.shape}")
    if label_map.dtype not in {np.dtype(np.bool_), np.dtype(np.uint8), np.dtype(np.uint16)}:
        raise TypeError(f"labels must be uint8 or uint16 in native byte order, not {label_map.dtype}; compact them first")
    slices = plane.slices(label_map.view(np.uint8) if label_map.dtype == np.bool_ else label_map)
    _, n_rows, n_cols = slices.shape
    if n_rows * n_cols * max(n_rows, n_cols) ** 2 >= 1 << 62:
        raise ValueError(f"slices of {n_rows} x {n_cols} pixels are too large for sums in 64 bits; crop to the labels")
    table, used = np.empty((256, _N_COLUMNS), np.int64), 0
    for first, rows in _blocks(slices):
        table, used = _scan(rows, rows.view(np.uint64), first, table, used)
    row_axis, col_axis = plane.in_plane
    return _arranged(table[:used], (offset[plane.axis], offset[row_axis], offset[col_axis]))


def _blocks(slices: Array) -> Iterator[tuple[int, Array]]:
    """Some slices at a time, C-contiguous, each row filled up with zeros to whole words; with the number of the first.

    The memory is reused.
    """
    n_slices, n_rows, n_cols = slices.shape
    per_word = _WORD_BYTES // slices.itemsize
    width = -(-n_cols // per_word) * per_word
    per_block = max(_LEAST_SLICES, _BLOCK_BYTES // max(1, n_rows * width * slices.itemsize))
    buffer = np.zeros((min(per_block, n_slices), n_rows, width), slices.dtype)
    for first in range(0, n_slices if slices.size else 0, per_block):
        block = slices[first : first + per_block]
        copy_strided(block, buffer[: len(block), :, :n_cols])
        yield first, buffer[: len(block)]


def _arranged(table: Int64Array, first_ijk: tuple[int, int, int]) -> Components:
    """Sort the kernel's table, number the components, move the sums to each component's own corner."""
    table = table[np.argsort((table[:, _SLICE] << 16) + table[:, _LABEL], kind="stable")]
    group_changes = np.flatnonzero((np.diff(table[:, :_PARENT], axis=0) != 0).any(axis=1)) + 1
    starts = np.concatenate([np.zeros(min(1, len(table)), np.int64), group_changes])
    sizes = np.diff(np.append(starts, len(table)))
    r, c, n = table[:, _ROW_MIN], table[:, _COL_MIN], table[:, _COUNT]
    sum_r, sum_c = table[:, _SUM_R], table[:, _SUM_C]
    first_slice, first_row, first_col = first_ijk
    return Components(
        slice_index=(table[:, _SLICE] + first_slice).astype(np.int32),
        label_id=table[:, _LABEL].astype(np.int32),
        component=(np.arange(1, len(table) + 1) - np.repeat(starts, sizes)).astype(np.int32),
        n_components=np.repeat(sizes, sizes).astype(np.int32),
        row_min=(r + first_row).astype(np.int32),
        row_max=(table[:, _ROW_MAX] + first_row).astype(np.int32),
        col_min=(c + first_col).astype(np.int32),
        col_max=(table[:, _COL_MAX] + first_col).astype(np.int32),
        pixel_count=n.copy(),
        sum_r=sum_r - n * r,
        sum_c=sum_c - n * c,
        sum_rr=table[:, _SUM_RR] - 2 * r * sum_r + n * r * r,
        sum_cc=table[:, _SUM_CC] - 2 * c * sum_c + n * c * c,
        sum_rc=table[:, _SUM_RC] - r * sum_c - c * sum_r + n * r * c,
        n_holes=(1 - table[:, _EULER]).astype(np.int32),
    )


@kernel
def _scan(rows: Array, words: Array, first: int, table: Int64Array, used: int) -> tuple[Int64Array, int]:
    """Append the components of the slices `rows` (`words` is the same memory) to the table, which grows as needed."""
    n_slices, n_rows, n_cols = rows.shape
    ones = np.uint64(0x0101010101010101) if rows.itemsize == 1 else np.uint64(0x0001000100010001)
    runs = np.empty((2, n_cols + 1, 4), np.int32)  # of this row and of the row above, by turns
    for index in range(n_slices):
        image, image_words = rows[index], words[index]
        base, n_above = used, 0
        for row in range(n_rows):
            n_here = _find_runs(image, image_words, row, ones, runs)
            if n_here > 0:
                if used + n_here > len(table):
                    table = _grown(table, used, 2 * (used + n_here))
                used = _join(runs, (n_here, n_above), row, table, used)
            n_above = n_here
        used = _settle(table, base, used, first + index)
    return table, used


@kernel
def _grown(table: Int64Array, used: int, length: int) -> Int64Array:
    # Loops, here and below, where a slice would do: to check that two slices fit numba compiles for seconds.
    grown = np.empty((length, _N_COLUMNS), np.int64)
    for n in range(used):
        for column in range(_N_COLUMNS):
            grown[n, column] = table[n, column]
    return grown


@kernel
def _find_runs(image: Array, words: Array, row: int, ones: np.uint64, runs: Int32Array) -> int:
    """List the runs of a row; a word that goes on as the last item began is passed over whole."""
    per_word = image.shape[1] // words.shape[1]
    turn, n_runs = row % 2, 0
    label = image.dtype.type(0)
    unchanged = np.uint64(0)
    for word in range(words.shape[1]):
        if words[row, word] == unchanged:
            continue
        for col in range(word * per_word, (word + 1) * per_word):
            if image[row, col] != label:
                if label != 0:
                    runs[turn, n_runs, _STOP] = col - 1
                    n_runs += 1
                label = image[row, col]
                runs[turn, n_runs, _START] = col
                runs[turn, n_runs, _ID] = label
        unchanged = np.uint64(label) * ones
    if label != 0:
        runs[turn, n_runs, _STOP] = image.shape[1] - 1
        n_runs += 1
    return n_runs


@kernel
def _join(runs: Int32Array, n_runs: tuple[int, int], row: int, table: Int64Array, used: int) -> int:
    """Give every run of a row the component of the runs it touches above, or a new one; returns how many there are."""
    here, above = row % 2, (row + 1) % 2
    n_here, n_above = n_runs
    first = 0
    for n in range(n_here):
        start, stop, label = runs[here, n, _START], runs[here, n, _STOP], runs[here, n, _ID]
        owner, contacts = -1, 0
        while first < n_above and runs[above, first, _STOP] < start:
            first += 1
        m = first
        while m < n_above and runs[above, m, _START] <= stop:
            if runs[above, m, _ID] == label:
                owner = _united(table, owner, _root(table, runs[above, m, _OWNER]))
                contacts += 1
            m += 1
        first = max(first, m - 1)
        if owner < 0:
            owner = used
            used += 1
            _open(table, owner, label, row, start)
        runs[here, n, _OWNER] = owner
        _add_run(table, owner, row, start, stop)
        table[owner, _EULER] += 1 - contacts
    return used


@kernel
def _root(table: Int64Array, n: int) -> int:
    while table[n, _PARENT] != n:
        table[n, _PARENT] = table[table[n, _PARENT], _PARENT]
        n = table[n, _PARENT]
    return n


@kernel
def _united(table: Int64Array, one: int, other: int) -> int:
    """Join two roots (the first may be -1, none): the older one, met first in the scan, stays."""
    if one < 0:
        return other
    older, newer = min(one, other), max(one, other)
    table[newer, _PARENT] = older
    return older


@kernel
def _open(table: Int64Array, n: int, label: int, row: int, col: int) -> None:
    for column in range(_N_COLUMNS):
        table[n, column] = 0
    table[n, _LABEL] = label
    table[n, _PARENT] = n
    table[n, _ROW_MIN] = row
    table[n, _COL_MIN] = col


@kernel
def _add_run(table: Int64Array, n: int, row: int, start: int, stop: int) -> None:
    count = np.int64(stop - start + 1)
    cols = (np.int64(start) + stop) * count // 2
    below, upto = np.int64(start) - 1, np.int64(stop)
    squares = (upto * (upto + 1) * (2 * upto + 1) - below * (below + 1) * (2 * below + 1)) // 6
    table[n, _ROW_MAX] = row
    table[n, _COL_MIN] = min(table[n, _COL_MIN], start)
    table[n, _COL_MAX] = max(table[n, _COL_MAX], stop)
    table[n, _COUNT] += count
    table[n, _SUM_R] += row * count
    table[n, _SUM_C] += cols
    table[n, _SUM_RR] += row * row * count
    table[n, _SUM_CC] += squares
    table[n, _SUM_RC] += row * cols


@kernel
def _settle(table: Int64Array, base: int, used: int, slice_index: int) -> int:
    """Add the provisional components of a slice to the ones they were joined to, and close the gaps."""
    for n in range(base, used):
        root = _root(table, n)
        if root != n:
            table[root, _ROW_MAX] = max(table[root, _ROW_MAX], table[n, _ROW_MAX])
            table[root, _COL_MIN] = min(table[root, _COL_MIN], table[n, _COL_MIN])
            table[root, _COL_MAX] = max(table[root, _COL_MAX], table[n, _COL_MAX])
            for column in range(_COUNT, _N_COLUMNS):
                table[root, column] += table[n, column]
    kept = base
    for n in range(base, used):
        if table[n, _PARENT] == n:
            for column in range(_N_COLUMNS):
                table[kept, column] = table[n, column]
            table[kept, _SLICE] = slice_index
            kept += 1
    return kept
