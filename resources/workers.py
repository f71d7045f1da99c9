"""Threads for what releases the interpreter lock: hashing, compressing, syncing.

The tasks of a pool must not wait for one another: there are no more threads than processors. A process that was forked has
none of its parent's threads, so that a pool is made again there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Workers:
    """A pool of threads that is made when it is first used.

    Args:
        name: What its threads are called.
        least: There are as many threads as processors, but no fewer than this.
    """

    def __init__(self, name: str, least: int = 2) -> None:
        self._name = name
        self._count = max(least, os.cpu_count() or 1)
        self._pool: ThreadPoolExecutor | None = None
        os.register_at_fork(after_in_child=self._forget)

    def submit(self, task: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a task in one of the threads."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._count, thread_name_prefix=self._name)
        return self._pool.submit(task, *args, **kwargs)

    def _forget(self) -> None:
        self._pool = None
