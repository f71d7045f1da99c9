"""Runs readers in a process of their own, because the libraries they stand on can crash on a damaged file.

A crash then refuses the one file; without this it would end the run. See `process`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from resources.findings import Code
from resources.readers.image import RawImage, Slab
from resources.readers.process import Helper, HelperError, Limits, Loss, borrowed
from resources.readers.slabs import check_bounds
from resources.readers.source import RawFile
from resources.readers.wire import Call

PATIENCE_S = 1800.0
"""How long a helper may be silent before its file is given up: decoders can also go round in circles."""

MEMORY_BYTES = 4 << 30
TIMES = 3
TIMES_PACKED = 30
"""Address space a reading may take: so much, and so many times the bytes of the file (the latter where it is packed in gzip as a
whole) and of the voxels, of which readers hold no more than some copies."""

_CODES = {
    Loss.CRASH: (Code.BAD_HEADER, "the file is damaged"),
    Loss.SILENCE: (Code.BAD_HEADER, "the file is damaged"),
    Loss.MEMORY: (Code.TOO_LARGE, "the file is damaged, or made to take memory"),
    Loss.STOPPED: (Code.UNREADABLE, "run again"),
}


def isolated(module: str, function: str) -> Callable[..., Any]:
    """A function of a module beside this one that runs in a helper process.

    It takes what the function takes, first of all the `RawFile` that a crash is blamed on, and gives what it gives. A `RawImage`
    streams its voxels from a helper, too.

    Raises (the function that is returned):
        BadInputError: What the function raises; BAD_HEADER when the helper crashes or falls silent, TOO_LARGE when it wants more
            memory than it may have, UNREADABLE when somebody ends it.
    """
    return remote(f"resources.readers.{module}", function)


def remote(module: str, function: str) -> Callable[..., Any]:
    """The same for a function of any module."""

    def call(*arguments: Any) -> Any:
        task = Call(module, function, arguments)
        with _helper_for(arguments[0]) as helper:
            helper.send(task, _limits(arguments[0]))
            answer = helper.answer()
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
        image, file = self.image, self.task.arguments[0]
        check_bounds(bounds, image.shape[image.slab_axis])
        plane = math.prod(image.shape) // image.shape[image.slab_axis]
        memory = np.empty(plane * max(stop - start for start, stop in bounds), image.dtype)
        voxel_bytes = math.prod(image.shape) * image.n_channels * image.dtype.itemsize
        with _helper_for(file) as helper:
            helper.send(self.task, _limits(file, voxel_bytes), bounds)
            while (head := helper.slab(memory)) is not None:
                image.sources[:] = head.sources
                image.stream_findings[:] = head.findings
                yield Slab(head.channel, head.start, memory[: math.prod(head.shape)].reshape(head.shape, order="F"))


@contextmanager
def _helper_for(file: RawFile) -> Iterator[Helper]:
    """A helper whose loss is blamed on a file."""
    try:
        with borrowed() as helper:
            yield helper
    except HelperError as error:
        code, advice = _CODES[error.loss]
        raise file.bad(code, f"{error}; {advice}") from error


def _limits(file: RawFile, voxel_bytes: int = 0) -> Limits:
    times = TIMES_PACKED if file.compressed else TIMES
    return Limits(MEMORY_BYTES + times * file.mark.size + TIMES * voxel_bytes, PATIENCE_S)
