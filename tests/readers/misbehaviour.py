"""What tests have helpers do."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from resources.findings import Code
from resources.readers import isolated
from resources.readers.source import RawFile


def call(function: str, *arguments: Any) -> Any:
    """What a function of this module says in a helper."""
    return isolated.remote(__name__, function)(*arguments)


def pid(file: RawFile) -> int:
    """Where it runs."""
    return os.getpid()


def go_wrong(file: RawFile, how: str) -> object:
    if how == "crash":
        ctypes.string_at(0)
    if how == "abort":
        os.abort()
    if how == "exit":
        os._exit(3)
    if how == "hang":
        time.sleep(60)
    if how == "memory":
        return len(bytes(6 << 30))
    if how == "half":
        line = next(fd for fd in range(3, 64) if _is_socket(fd))
        os.write(line, (1000).to_bytes(8) + b"half of it")
        os._exit(0)
    if how == "noise":
        line = next(fd for fd in range(3, 64) if _is_socket(fd))
        os.write(line, (4).to_bytes(8) + b"noise")
    if how == "class":
        return subprocess.Popen
    if how in {"KILL", "TERM"}:
        os.kill(os.getpid(), signal.Signals[f"SIG{how}"])
        time.sleep(60)  # another thread may take the signal, and this one would go on
    raise {"fault": ZeroDivisionError("ours"), "refusal": file.bad(Code.TRUNCATED, "short")}[how]


def _is_socket(number: int) -> bool:
    try:
        return str(Path(f"/proc/self/fd/{number}").readlink()).startswith("socket:")
    except OSError:
        return False


def hang_without_end(file: RawFile, started: Path) -> None:
    """A loop in C that never gives the interpreter back."""
    started.write_text(str(os.getpid()))
    ctypes.PyDLL(None).pause()


def prints(file: RawFile) -> int:
    print("noise" * 100_000)
    return os.write(2, b"noise")


def decode(how: str) -> npt.NDArray[Any]:
    """A decoder of frames."""
    if how == "crash":
        ctypes.string_at(0)
    if how == "abort":
        os.abort()
    if how == "exit":
        os._exit(3)
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "hang":
        time.sleep(60)
    if how == "memory":
        return np.zeros(3 << 30, np.uint8)
    if how == "long":
        return np.zeros(3 << 20, np.uint8)
    if how == "objects":
        return np.array([None])
    if how == "noise":
        print("noise" * 100_000)
        os.write(2, b"noise")
        return np.ones((4, 5), ">u2").T
    raise {"fault": BufferError("x")}[how]
