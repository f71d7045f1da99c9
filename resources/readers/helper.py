"""The process that `process` starts: does tasks that come through a socket until the other end is closed.

It is bounded and quiet: a task may let the address space grow by so much and no more, a crash leaves no core file, and what
libraries print is thrown away. When the process it works for is gone it is ended by a signal, even in the midst of a decoder
that never returns.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import resource
import signal
import socket
import sys
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from resources.findings import BadInputError
from resources.readers.image import RawImage
from resources.readers.wire import Answer, ArrayHead, Failure, SlabHead, Task, received, send, send_voxels

WORN_BYTES = 4 << 30
"""Address space, above that at the start, with which a helper is better replaced: something in it does not give back."""


def serve(line: socket.socket) -> None:
    """Do tasks until the other end is closed."""
    start = address_space()
    send(line, Answer(None))
    while True:
        try:
            task = pickle.loads(received(partial(_fill, line)))  # noqa: S301  # whoever started this process is to be believed
            _do(line, task, start + WORN_BYTES)
        except ConnectionError:
            return


def address_space() -> int:
    """Bytes of address space of this process; 0 where the system does not tell."""
    try:
        pages = Path("/proc/self/statm").read_bytes().split()[0]
    except OSError:
        return 0
    return int(pages) * resource.getpagesize()


def _fill(line: socket.socket, target: memoryview) -> None:
    while target:
        count = line.recv_into(target)
        if not count:
            raise ConnectionResetError
        target = target[count:]


def _do(line: socket.socket, task: Task, worn_at: int) -> None:
    try:
        function = getattr(import_module(task.call.module), task.call.function)
        _bound_memory(task.memory_bytes)
        result = function(*task.call.arguments)
        if task.bounds is not None:
            _stream(line, result, task.bounds)
            result = None
        elif isinstance(result, RawImage):
            result = replace(result, stream=None)  # type: ignore[arg-type]  # the other side puts one of its own there
        elif isinstance(result, np.ndarray):
            result = np.ascontiguousarray(result, result.dtype.newbyteorder("="))
    except ConnectionError:
        raise
    except BadInputError as refusal:
        send(line, Failure("refusal", refusal=refusal.finding, worn=address_space() > worn_at))
    except MemoryError:
        send(line, Failure("memory", worn=True))
    except Exception:  # noqa: BLE001  # whatever it is, the other side raises it
        send(line, Failure("fault", fault=traceback.format_exc(), worn=address_space() > worn_at))
    else:
        worn = address_space() > worn_at
        if isinstance(result, np.ndarray):
            send_voxels(line, ArrayHead(result.dtype.str, result.shape, worn), result)
        else:
            send(line, Answer(result, worn))


def _stream(line: socket.socket, image: RawImage, bounds: Sequence[tuple[int, int]]) -> None:
    for slab in image.slabs(bounds):
        voxels: Any = np.asfortranarray(slab.voxels)
        head = SlabHead(slab.channel, slab.start, voxels.shape, tuple(image.sources), tuple(image.stream_findings))
        send_voxels(line, head, voxels)


def _bound_memory(growth: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = address_space() + growth
    resource.setrlimit(resource.RLIMIT_AS, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def _leave_with_parent() -> None:
    """Have the system end this process when the other end of its standard input, which nobody writes to, is closed."""
    if hasattr(os, "O_ASYNC"):
        stdin = sys.stdin.fileno()
        fcntl.fcntl(stdin, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(stdin, fcntl.F_SETFL, fcntl.fcntl(stdin, fcntl.F_GETFL) | os.O_ASYNC)


def main() -> None:
    """Serve the socket whose number is the first argument."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # Dagster gives it the way of SIGINT, which `nohup` has processes ignore
    _leave_with_parent()
    serve(socket.socket(fileno=int(sys.argv[1])))


if __name__ == "__main__":
    main()
