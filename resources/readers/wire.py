"""What a process and its helper say to one another: pickles, each behind its length, and plain bytes behind some of them.

The helper has handled files nobody vouches for. So what it says is unpickled with nothing but the value objects of
`resources` and what they are made of: no function of its choice is ever called on this side.
"""

from __future__ import annotations

import builtins
import importlib
import io
import pathlib
import pickle
import socket
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from enum import Enum
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from resources.findings import Finding
from resources.readers.image import SourceFile

MESSAGE_BYTES = 1 << 30
"""Longest message that is taken; arrays of voxels are no part of them."""

_PREFIX = 8
_BUILTINS = frozenset({"bytearray", "complex", "frozenset", "range", "set", "slice"})
_NUMPY = frozenset({"_reconstruct", "_frombuffer", "scalar", "dtype", "ndarray"})


class NonsenseError(Exception):
    """A message that no helper in its right mind sends."""


@dataclass(frozen=True, slots=True)
class Call:
    """A function and what it is called with.

    Attributes:
        module: Full name of its module.
        function: Its name.
        arguments: They are pickled.
    """

    module: str
    function: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """What a helper is to do.

    Attributes:
        call: The function to call.
        memory_bytes: By how much the address space of the helper may grow meanwhile.
        bounds: Where given, the function gives a `RawImage`, and the slabs of these planes are wanted.
    """

    call: Call
    memory_bytes: int
    bounds: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The last of what a helper says to a task.

    Attributes:
        value: What the function gave; `None` behind slabs.
        worn: Whether the helper has grown so much that it is better replaced.
    """

    value: Any
    worn: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """The last of what a helper says to a task it failed at.

    Attributes:
        kind: The function raised a `BadInputError`, was denied memory, or raised something else, which is our fault.
        refusal: The finding of the `BadInputError`.
        fault: The text of another error.
        worn: As in `Answer`.
    """

    kind: Literal["refusal", "memory", "fault"]
    refusal: Finding | None = None
    fault: str = ""
    worn: bool = False


@dataclass(frozen=True, slots=True)
class ArrayHead:
    """Announces an array that is the whole answer; its bytes follow in C order.

    Attributes:
        dtype: Type of the elements, as numpy writes it.
        shape: Its shape.
        worn: As in `Answer`.
    """

    dtype: str
    shape: tuple[int, ...]
    worn: bool = False


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


def send(line: socket.socket, message: object) -> None:
    """Say something to the other side; raises `OSError`."""
    content = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    line.sendall(len(content).to_bytes(_PREFIX) + content)


def send_voxels(line: socket.socket, head: ArrayHead | SlabHead, voxels: npt.NDArray[Any]) -> None:
    """Send an array that lies in memory without gaps, in the order that its head promises; raises `OSError`."""
    send(line, head)
    line.sendall(voxels.reshape(-1, order="A").view(np.uint8).data)


def received(fill: Callable[[memoryview], None]) -> bytearray:
    """The bytes of one message.

    Args:
        fill: Fills memory with the bytes that come next.

    Raises:
        NonsenseError: It would be longer than messages are.
    """
    prefix = bytearray(_PREFIX)
    fill(memoryview(prefix))
    length = int.from_bytes(prefix)
    if length > MESSAGE_BYTES:
        raise NonsenseError(f"a message of {length} bytes")
    content = bytearray(length)
    fill(memoryview(content))
    return content


def said_by_helper(content: bytearray) -> Any:
    """What a helper said.

    Raises:
        NonsenseError: It is no message, or holds something that is no value.
    """
    try:
        return _Values(io.BytesIO(content)).load()
    except (pickle.UnpicklingError, EOFError, ImportError, LookupError, ValueError, TypeError, AttributeError) as error:
        raise NonsenseError(f"a message that is not understood ({error})") from error


class _Values(pickle.Unpickler):
    """Knows values alone: ours, numpy's, and paths."""

    def find_class(self, module: str, name: str, /) -> Any:
        root = module.partition(".")[0]
        if root == "resources":
            found = getattr(importlib.import_module(module), name)
            if isinstance(found, type) and (is_dataclass(found) or issubclass(found, Enum)):
                return found
        elif root == "numpy" and (name in _NUMPY or module == "numpy.dtypes"):
            return getattr(importlib.import_module(module), name)
        elif root == "pathlib" and name in {"PosixPath", "WindowsPath"}:
            return getattr(pathlib, name)
        elif module == "builtins" and name in _BUILTINS:
            return getattr(builtins, name)
        raise pickle.UnpicklingError(f"{module}.{name} is no value")
