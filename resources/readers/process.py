"""Processes that decode files nobody vouches for: a decoder that crashes, hangs or eats memory costs an error, not the run.

There is one kind of helper for all formats. It is started when it is first needed and kept: one task after another, each by one
thread at a time. One that misbehaved is killed and replaced. Helpers are plain child processes under our own interpreter, so they
go with any way of starting processes; they end with the process they work for, however that ends, and leave nothing behind:
all that passes between the two goes through a pair of sockets.
"""

from __future__ import annotations

import atexit
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from resources.findings import BadInputError
from resources.readers.wire import (
    Answer,
    ArrayHead,
    Call,
    Failure,
    NonsenseError,
    SlabHead,
    Task,
    received,
    said_by_helper,
    send,
)

START_SECONDS = 60.0
"""Time in which a helper must have started, and what a task is given on top when the helper has to import its module."""

MAX_IDLE = 4

_SOCKET_BYTES = 1 << 20
_OUTSIDE = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGXCPU})
_QUIET = {"OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
"""Threads reserve address space, which is limited, and there is one frame or file at a time to work at."""


class Loss(Enum):
    """How a task was lost."""

    CRASH = "crash"
    SILENCE = "silence"
    MEMORY = "memory"
    STOPPED = "stopped"
    """Somebody else ended the helper, perhaps the system for want of memory: nothing is said about the file."""


class HelperError(Exception):
    """A helper did not come to the end of a task; the message says why."""

    def __init__(self, loss: Loss, why: str) -> None:
        super().__init__(why)
        self.loss = loss


class ReaderFaultError(RuntimeError):
    """A task failed with something else than a `BadInputError`, or no helper can be started."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one task may cost.

    Attributes:
        memory_bytes: How much address space it may take.
        seconds: How long the helper may be silent; every slab and every answer has as much.
    """

    memory_bytes: int
    seconds: float


class Helper:
    """A process that does tasks for this one; see `borrowed`."""

    def __init__(self) -> None:
        self._busy = True
        self._limits = Limits(0, START_SECONDS)
        self._grace = 0.0
        self._imported: set[str] = set()
        self._line, theirs = socket.socketpair()
        with theirs:
            for end in (self._line, theirs):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SOCKET_BYTES)
            self.process = subprocess.Popen(  # noqa: S603  # our own module under our own interpreter
                [sys.executable, "-P", "-m", "resources.readers.helper", str(theirs.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **_QUIET, "PYTHONPATH": os.pathsep.join(path or os.curdir for path in sys.path)},
                pass_fds=[theirs.fileno()],
                process_group=0,  # Ctrl+C is not meant for it; a session of its own would be scheduled apart, and slower
            )
        try:
            self.answer()
        except HelperError as error:
            self.dismiss()
            if error.loss is Loss.STOPPED:
                raise
            raise ReaderFaultError(f"the process for decoding does not start: {error}") from error

    @property
    def idle(self) -> bool:
        """Whether it waits for the next task and can do it."""
        return not self._busy and self.process.poll() is None

    def send(self, call: Call, limits: Limits, bounds: Sequence[tuple[int, int]] | None = None) -> None:
        """Have it call a function or, where bounds are given, stream the slabs of the image that the call gives.

        Raises:
            HelperError: It is no more, or does not listen.
        """
        self._busy, self._limits = True, limits
        self._grace = 0.0 if call.module in self._imported else START_SECONDS
        self._imported.add(call.module)
        task = Task(call, limits.memory_bytes, None if bounds is None else tuple(bounds))
        self._line.settimeout(limits.seconds + self._grace)
        self._heard(partial(send, self._line, task))

    def answer(self, most_bytes: int = 0) -> Any:
        """What it answers: a value, or an array of at most so many bytes.

        Raises:
            HelperError: It came to no end.
            BadInputError: As the function did.
            ReaderFaultError: The function raised something else.
        """
        message = self._message()
        if isinstance(message, Answer):
            self._busy = message.worn
            return message.value
        if isinstance(message, ArrayHead):
            return self._array(message, most_bytes)
        raise self._nonsense(f"{type(message).__name__} in place of an answer")

    def slab(self, memory: npt.NDArray[Any]) -> SlabHead | None:
        """Put the voxels of the next slab at the beginning of `memory`; `None` when there are no more. Raises as `answer`."""
        message = self._message()
        if isinstance(message, Answer):
            self._busy = message.worn
            return None
        if not isinstance(message, SlabHead) or not 0 < math.prod(message.shape) <= memory.size or min(message.shape) < 1:
            raise self._nonsense("a slab of another size than was asked for")
        self._fill(memory[: math.prod(message.shape)].view(np.uint8).data)
        return message

    def dismiss(self) -> None:
        """End it, whatever it is doing."""
        self.process.kill()
        self.process.wait()
        self.disown()

    def disown(self) -> None:
        """Close this side, without a word to the process."""
        self._line.close()
        if self.process.stdin is not None:
            self.process.stdin.close()

    def _message(self) -> Any:
        try:
            message = said_by_helper(received(self._fill))
        except NonsenseError as error:
            raise self._nonsense(str(error)) from error
        if not isinstance(message, Failure):
            return message
        self._busy = message.worn
        if message.kind == "memory":
            raise HelperError(Loss.MEMORY, f"decoding takes more than the {self._limits.memory_bytes >> 20} MiB it is given")
        if message.refusal is not None:
            raise BadInputError(message.refusal.code, message.refusal.detail, file=message.refusal.file)
        raise ReaderFaultError(message.fault)

    def _array(self, head: ArrayHead, most_bytes: int) -> npt.NDArray[Any]:
        dtype = np.dtype(head.dtype)
        n_bytes = math.prod(head.shape) * dtype.itemsize
        if dtype.hasobject:
            raise self._nonsense("an array of objects")
        if n_bytes > most_bytes:
            raise HelperError(Loss.CRASH, f"decoding gives {n_bytes} bytes where {most_bytes} are promised")
        array = np.empty(head.shape, dtype)
        if n_bytes:
            self._fill(array.reshape(-1).view(np.uint8).data)
        self._busy = head.worn
        return array

    def _fill(self, target: memoryview) -> None:
        until = time.monotonic() + self._limits.seconds + self._grace
        while target:
            self._line.settimeout(max(until - time.monotonic(), 1e-3))
            count = self._heard(partial(self._line.recv_into, target))
            if not count:
                raise self._lost()
            target = target[count:]
        self._grace = 0.0

    def _heard(self, act: Callable[[], Any]) -> Any:
        try:
            return act()
        except TimeoutError as error:
            why = f"the decoder was silent for {self._limits.seconds:g} s and was stopped"
            raise HelperError(Loss.SILENCE, why) from error
        except OSError as error:
            raise self._lost() from error

    def _lost(self) -> HelperError:
        """Why it is no more."""
        try:
            code = self.process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            return self._nonsense("nothing")
        if code >= 0:
            return HelperError(Loss.CRASH, f"the decoder broke down (exit status {code})")
        name = signal.Signals(-code).name
        if -code in _OUTSIDE:
            why = f"the decoder was stopped from outside ({name}), perhaps because the memory of the machine was used up"
            return HelperError(Loss.STOPPED, why)
        return HelperError(Loss.CRASH, f"the decoder broke down ({name})")

    def _nonsense(self, what: str) -> HelperError:
        return HelperError(Loss.CRASH, f"the decoder broke down (it says {what})")


@dataclass(slots=True)
class _Pool:
    """The helpers of one process.

    Attributes:
        idle: Those that wait, the one that was used last at the end.
        every: All there are.
    """

    idle: list[Helper] = field(default_factory=list)
    every: weakref.WeakSet[Helper] = field(default_factory=weakref.WeakSet)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> Helper:
        """One that waits, or a new one."""
        while True:
            with self.lock:
                helper = self.idle.pop() if self.idle else None
            if helper is None:
                helper = Helper()
                with self.lock:
                    self.every.add(helper)
                return helper
            if helper.idle:
                return helper
            helper.dismiss()

    def give_back(self, helper: Helper) -> None:
        """Keep it, if it is fit and there are not enough."""
        with self.lock:
            kept = helper.idle and len(self.idle) < MAX_IDLE
            if kept:
                self.idle.append(helper)
        if not kept:
            helper.dismiss()


_pool = _Pool()


@contextmanager
def borrowed() -> Iterator[Helper]:
    """A helper for one task; one that did not come to its end is ended.

    Raises:
        ReaderFaultError: None can be started.
    """
    pool = _pool
    helper = pool.take()
    try:
        yield helper
    finally:
        pool.give_back(helper)


def stop_helpers() -> None:
    """End the helpers that wait."""
    with _pool.lock:
        leaving = list(_pool.idle)
        _pool.idle.clear()
    for helper in leaving:
        helper.dismiss()


def _end_all() -> None:
    with _pool.lock:
        leaving = list(_pool.every)
        _pool.idle.clear()
    for helper in leaving:
        helper.dismiss()


def _after_fork() -> None:
    """Helpers belong to the process that started them; a fork that held on to their pipes would keep them alive."""
    global _pool  # noqa: PLW0603  # its lock may have been held by a thread that the fork has not
    for helper in list(_pool.every):
        helper.disown()
        helper.process.returncode = 0
    _pool = _Pool()


atexit.register(_end_all)
os.register_at_fork(after_in_child=_after_fork)
