"""Memory that is lent out again, freed memory that is kept, and a heap that is not walked again.

Fresh pages, which the system has to clear, cost as much as a copy. Whoever borrows must be done with the memory when it is given
back: views of it show what the next borrower writes.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Final

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

KEPT_BYTES: Final = 256 << 20
"""At most so much waits for the next borrower: the slabs of two common CTs side by side."""

_SMALLEST: Final = 1 << 20
"""Less than this is not worth keeping."""


_MAPPED: Final = 32 << 20
"""Larger pieces are still mapped each on its own; glibc accepts no more than this."""


class Lender:
    """Keeps memory that was given back, as much as `kept_bytes`, for those who ask for as much or a little less."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._most = kept_bytes
        self._free: list[Bytes] = []
        self._lock = Lock()

    @property
    def kept(self) -> int:
        """Bytes that wait for a borrower."""
        return sum(memory.nbytes for memory in self._free)

    @contextmanager
    def lend(self, count: int, size: int) -> Iterator[list[Bytes]]:
        """`count` stretches of `size` bytes, of any content, until the context is left."""
        whole = [self._take(size) for _ in range(count)]
        try:
            yield [memory[:size] for memory in whole]
        finally:
            self._give_back(whole)

    def _take(self, size: int) -> Bytes:
        with self._lock:
            fitting = [n for n, memory in enumerate(self._free) if size <= memory.nbytes <= 2 * size]
            if fitting:
                return self._free.pop(min(fitting, key=lambda n: self._free[n].nbytes))
        return np.empty(size, np.uint8)

    def _give_back(self, whole: list[Bytes]) -> None:
        with self._lock:
            self._free += [memory for memory in whole if memory.nbytes >= _SMALLEST]
            while self.kept > self._most:
                self._free.pop(0)


@contextmanager
def heap_at_rest() -> Iterator[None]:
    """Keep the objects there are out of the walks of the garbage collector, until the context is left.

    A process that has loaded much would walk it again for every subject. Those that are dropped meanwhile, and refer to one
    another, are freed at the end. Where somebody has frozen the heap already it is left as it is.
    """
    ours = gc.get_freeze_count() == 0
    if ours:
        gc.freeze()
    try:
        yield
    finally:
        if ours:
            gc.unfreeze()


_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
"""Names of parameters in glibc's malloc.h."""


@cache
def keep_freed_memory() -> bool:
    """Let malloc keep what codecs free for what they ask for next; for the whole process, and for as long as it lives.

    A codec asks for some hundred kB per chunk. glibc maps such memory anew each time, and every thread of the process is told
    when it is unmapped. Fewer arenas, as each keeps its own. Says whether malloc took it: only glibc can be told.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    wanted = ((_M_MMAP_THRESHOLD, _MAPPED), (_M_TRIM_THRESHOLD, KEPT_BYTES), (_M_ARENA_MAX, max(2, os.cpu_count() or 1)))
    return mallopt is not None and all(mallopt(what, value) == 1 for what, value in wanted)


slabs = Lender()
"""For the slabs of images."""
