"""Runs readers in a process of their own, because the libraries they stand on can crash on a damaged file.

A crash then refuses the one file; without this it would end the run. The helper processes are kept and used again: each does
one reading at a time, and leaves with the process it works for.
"""

from __future__ import annotations

import atexit
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Pipe
from typing import Any, cast

import numpy as np

from resources.findings import BadInputError, Code, Finding
from resources.readers.image import RawImage, Slab, SourceFile
from resources.readers.slabs import check_bounds
from resources.readers.source import RawFile

PATIENCE_S = 1800.0
"""How long a helper may be silent before its file is given up: decoders can also go round in circles."""

_LEAVING_S = 5.0


@dataclass(frozen=True, slots=True)
class Call:
    """A function of a reader module and what it is called with.

    Attributes:
        module: Full name of the module.
        function: Name of the function; its first argument is the `RawFile` that a crash is blamed on.
        arguments: They are pickled.
    """

    module: str
    function: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class SlabHead:
    """Announces the voxels of one slab, whose bytes follow in Fortran order.

    Attributes:
        channel: See `Slab`.
        start: See `Slab`.
        shape: Of its voxels.
        sources: As known when it was made.
        findings: As known when it was made.
    """

    channel: int
    start: int
    shape: tuple[int, int, int]
    sources: tuple[SourceFile, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """What a helper says instead of an answer: a finding about the file, or the text of an error that is our fault."""

    refusal: Finding | None
    fault: str = ""


class ReaderFaultError(RuntimeError):
    """A reader failed in its own process with something else than a `BadInputError`."""


def isolated(module: str, function: str) -> Callable[..., Any]:
    """A function of a module beside this one that runs in a helper process.

    It takes what the function takes and gives what it gives. A `RawImage` streams its voxels from a helper, too.

    Raises (the function that is returned):
        BadInputError: What the function raises; BAD_HEADER when the helper crashes or falls silent.
    """

    def call(*arguments: Any) -> Any:
        task = Call(f"resources.readers.{module}", function, arguments)
        with _borrowed() as helper:
            helper.send(task, None)
            answer = helper.answer(last=True)
        if not isinstance(answer, RawImage):
            return answer
        return replace(answer, stream=_RemoteVoxels(task, answer))

    return call


@dataclass(frozen=True, slots=True)
class _RemoteVoxels:
    """The voxels of an image that a helper reads; serves as a `SlabStream`."""

    task: Call
    image: RawImage

    def __call__(self, bounds: Sequence[tuple[int, int]]) -> Iterator[Slab]:
        image = self.image
        check_bounds(bounds, image.shape[image.slab_axis])
        plane = math.prod(image.shape) // image.shape[image.slab_axis]
        memory = np.empty(plane * max(stop - start for start, stop in bounds), image.dtype)
        with _borrowed() as helper:
            helper.send(self.task, tuple(bounds))
            while (head := helper.answer(last=False)) is not None:
                voxels = memory[: math.prod(head.shape)]
                helper.fill(voxels.view(np.uint8).data)
                image.sources[:] = head.sources
                image.stream_findings[:] = head.findings
                yield Slab(head.channel, head.start, voxels.reshape(head.shape, order="F"))


class _Helper:
    """A process that reads files for this one."""

    def __init__(self) -> None:
        self._file: RawFile | None = None
        self._line, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603  # our own module under our own interpreter
                [sys.executable, "-m", "resources.readers.helper", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)},
                pass_fds=[theirs.fileno()],
            )

    @property
    def idle(self) -> bool:
        """Whether it waits for the next call."""
        return self._file is None

    def send(self, task: Call, bounds: Sequence[tuple[int, int]] | None) -> None:
        """Have it answer a call or, where bounds are given, stream the slabs of the image that the call gives."""
        self._file = task.arguments[0]
        self._line.send((task, bounds))

    def answer(self, *, last: bool) -> Any:
        """What it says next; raises what it raises.

        Args:
            last: Whether nothing follows; otherwise nothing follows `None`.
        """
        answer = self._received(self._line.recv)
        if last or answer is None or isinstance(answer, Failure):
            self._file = None
        if not isinstance(answer, Failure):
            return answer
        if answer.refusal is None:
            raise ReaderFaultError(answer.fault)
        raise BadInputError(answer.refusal.code, answer.refusal.detail, file=answer.refusal.file)

    def fill(self, target: memoryview) -> None:
        """Fill `target` with the bytes that follow."""
        self._received(lambda: self._line.recv_bytes_into(target))

    def dismiss(self) -> None:
        """Send it away, whatever it is doing."""
        self._line.close()
        self._process.kill()
        self._process.wait()

    def leave(self) -> None:
        """Let it go when it is idle."""
        self._line.close()
        try:
            self._process.wait(_LEAVING_S)
        except subprocess.TimeoutExpired:
            self.dismiss()

    def _received(self, receive: Callable[[], Any]) -> Any:
        file = cast("RawFile", self._file)
        try:
            if self._line.poll(PATIENCE_S):
                return receive()
        except (EOFError, ConnectionError) as error:
            raise file.bad(Code.BAD_HEADER, f"the decoder broke down on the file ({self._end()}); it is damaged") from error
        raise file.bad(Code.BAD_HEADER, f"the decoder was silent for {PATIENCE_S:g} s and was stopped; the file is damaged")

    def _end(self) -> str:
        code = self._process.wait()
        return signal.Signals(-code).name if code < 0 else f"exit status {code}"


_idle: list[_Helper] = []
_lock = threading.Lock()
_owner = os.getpid()


def _take() -> _Helper:
    global _owner  # noqa: PLW0603  # helpers belong to the process that started them, not to its forks
    with _lock:
        if _owner != os.getpid():
            _idle.clear()
            _owner = os.getpid()
        if _idle:
            return _idle.pop()
    return _Helper()


@contextmanager
def _borrowed() -> Iterator[_Helper]:
    """A helper for one task; one that did not come to its end is sent away."""
    helper = _take()
    try:
        yield helper
    finally:
        if helper.idle:
            with _lock:
                _idle.append(helper)
        else:
            helper.dismiss()


@atexit.register
def _let_all_go() -> None:
    with _lock:
        while _idle:
            _idle.pop().leave()
