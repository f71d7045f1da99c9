"""The process that `isolated` starts: takes calls from a pipe and answers them until the pipe is closed."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from resources.findings import BadInputError
from resources.readers.image import RawImage
from resources.readers.isolated import Call, Failure, SlabHead

Bounds = Sequence[tuple[int, int]]


def serve(line: Connection) -> None:
    """Answer calls until the other end is closed."""
    while True:
        try:
            task, bounds = line.recv()
        except (EOFError, ConnectionError):
            return
        _answer(line, task, bounds)


def _answer(line: Connection, task: Call, bounds: Bounds | None) -> None:
    try:
        result = getattr(import_module(task.module), task.function)(*task.arguments)
        if bounds is None:
            line.send(_without_stream(result) if isinstance(result, RawImage) else result)
        else:
            _stream(line, result, bounds)
            line.send(None)
    except ConnectionError:
        return
    except BadInputError as refusal:
        line.send(Failure(refusal.finding))
    except Exception:  # noqa: BLE001  # whatever it is, the other side raises it
        line.send(Failure(None, traceback.format_exc()))


def _without_stream(image: RawImage) -> RawImage:
    return replace(image, stream=None)  # type: ignore[arg-type]  # the other side puts one of its own there


def _stream(line: Connection, image: RawImage, bounds: Bounds) -> None:
    for slab in image.slabs(bounds):
        voxels: Any = np.asfortranarray(slab.voxels)
        line.send(SlabHead(slab.channel, slab.start, voxels.shape, tuple(image.sources), tuple(image.stream_findings)))
        line.send_bytes(voxels.reshape(-1, order="F").view(np.uint8).data)


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
