"""Decompresses frames in child processes: a decoder that crashes, hangs or eats memory costs a finding, not the run.

A child is started when the first compressed frame is met and then used for one frame after another; one that misbehaves is
killed and replaced. Children that are idle wait for the next file of this process, and end when their input closes.
"""

from __future__ import annotations

import atexit
import json
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import numpy.typing as npt

MEMORY_BYTES = 4 << 30
"""Address space of a child; the largest frames that are taken (512 MiB) need two thirds of it in JPEG 2000."""

START_SECONDS = 60.0
FRAME_SECONDS = 30.0
SECONDS_PER_MIB = 2.0
"""Time a frame may take: so much, and so much more for every MiB of its decoded size (JPEG 2000 takes 0.1)."""

MAX_IDLE = 4


class DecoderError(Exception):
    """A frame could not be decompressed; the message says why."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one frame may cost.

    Attributes:
        memory_bytes: Address space of the child.
        frame_seconds: Time for a small frame.
    """

    memory_bytes: int = MEMORY_BYTES
    frame_seconds: float = FRAME_SECONDS


DEFAULT = Limits()


class Worker:
    """One child process; see `worker`."""

    def __init__(self, memory_bytes: int, command: tuple[str, ...] = ("-m", "resources.readers.dicom.worker")) -> None:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "OPENBLAS_NUM_THREADS": "1",
        }
        self.memory_bytes = memory_bytes
        self._process = subprocess.Popen(  # noqa: S603  # our own module, by our own interpreter
            [sys.executable, *command, str(memory_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            bufsize=0,
        )
        self._busy = True
        try:
            self._read_answer(START_SECONDS)
        except (DecoderError, ValueError, OSError) as error:
            self.kill()
            raise DecoderError(f"the process for decompression does not start: {error}") from error
        self._busy = False

    def decode(self, frame: bytes, job: dict[str, Any], most_bytes: int, seconds: float) -> npt.NDArray[Any]:
        """Decompress one frame.

        Raises:
            DecoderError: The decoder refused it, or is no more.
        """
        self._busy = True
        line = json.dumps({**job, "length": len(frame)}).encode()
        try:
            self._write(len(line).to_bytes(4) + line + frame, seconds)
            answer = self._read_answer(seconds)
            length = int(answer["length"])
            if length > most_bytes:
                raise DecoderError(f"the frame decompresses to {length} bytes where {most_bytes} are promised")
            body = self._read(length, seconds)
        except (ValueError, KeyError, OSError) as error:
            raise DecoderError(self._death()) from error
        self._busy = False
        if "error" in answer:
            raise DecoderError(str(answer["error"]))
        return np.frombuffer(body, np.dtype(answer["dtype"])).reshape(answer["shape"])

    @property
    def fit(self) -> bool:
        """Whether it can take another job: alive, and not in the middle of one."""
        return not self._busy and self._process.poll() is None

    def kill(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _write(self, content: bytes, seconds: float) -> None:
        pipe = _opened(self._process.stdin)
        view, until = memoryview(content), time.monotonic() + seconds
        os.set_blocking(pipe.fileno(), False)
        while view:
            self._wait(pipe, selectors.EVENT_WRITE, until)
            view = view[os.write(pipe.fileno(), view[: 1 << 16]) :]

    def _read(self, count: int, seconds: float) -> bytearray:
        pipe, until = _opened(self._process.stdout), time.monotonic() + seconds
        content = bytearray()
        while len(content) < count:
            self._wait(pipe, selectors.EVENT_READ, until)
            piece = os.read(pipe.fileno(), min(count - len(content), 1 << 20))
            if not piece:
                raise DecoderError(self._death())
            content += piece
        return content

    def _read_answer(self, seconds: float) -> dict[str, Any]:
        length = int.from_bytes(self._read(4, seconds))
        return dict(json.loads(self._read(length, seconds)))

    def _wait(self, pipe: IO[bytes], event: int, until: float) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, event)
            if not selector.select(max(until - time.monotonic(), 0)):
                raise DecoderError("the decoder took too long and was stopped")

    def _death(self) -> str:
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "the decoder closed its output"
        return f"the decoder crashed (signal {-code})" if code < 0 else f"the decoder ended (exit code {code})"


def decompress(frame: bytes, syntax: str, options: dict[str, Any], most_bytes: int, limits: Limits = DEFAULT) -> npt.NDArray[Any]:
    """Decompress one frame in a child process.

    Args:
        frame: Its compressed bytes.
        syntax: UID of the transfer syntax.
        options: Options of a pydicom decoder, such as `rows`.
        most_bytes: Size of the decoded frame that the header promises.
        limits: What it may cost.

    Returns:
        Rows x columns, and a last axis of colours where there are some.

    Raises:
        DecoderError: It cannot be decompressed.
    """
    seconds = limits.frame_seconds + SECONDS_PER_MIB * most_bytes / (1 << 20)
    with _borrowed(limits.memory_bytes) as worker:
        return worker.decode(frame, {"syntax": syntax, "options": options}, most_bytes, seconds)


_idle: list[Worker] = []
_idle_lock = threading.Lock()


@contextmanager
def _borrowed(memory_bytes: int) -> Iterator[Worker]:
    with _idle_lock:
        fitting = [worker for worker in _idle if worker.memory_bytes == memory_bytes]
        if fitting:
            _idle.remove(fitting[0])
    worker = fitting[0] if fitting and fitting[0].fit else Worker(memory_bytes)
    try:
        yield worker
    finally:
        leaving = [worker]
        if worker.fit:
            with _idle_lock:
                _idle.append(worker)
                leaving = [_idle.pop(0)] if len(_idle) > MAX_IDLE else []
        for other in leaving:
            other.kill()


def stop_workers() -> None:
    """End all idle children."""
    with _idle_lock:
        workers = list(_idle)
        _idle.clear()
    for worker in workers:
        worker.kill()


def _forget_workers() -> None:
    """A forked process does not own the children of its parent."""
    _idle.clear()


def _opened(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise DecoderError("the process for decompression has no pipes")
    return pipe


atexit.register(stop_workers)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_workers)
