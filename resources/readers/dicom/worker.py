"""The child process that decompresses frames of files nobody vouches for.

It reads jobs from its standard input and writes results to its standard output until the input ends: JSON, four bytes for its
length before it, the frame or its pixels behind it. Its address space is limited before the first decoder runs; what the
decoders print is thrown away.
Nothing it sends is executed or unpickled by the parent.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import warnings
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from pydicom.encaps import encapsulate
from pydicom.pixels.decoders.base import get_decoder
from pydicom.uid import HTJ2K, JPEG2000, UID, HTJ2KLossless, HTJ2KLosslessRPCL, JPEG2000Lossless, JPEGExtended12Bit

_OPENJPEG = frozenset({JPEG2000, JPEG2000Lossless, HTJ2K, HTJ2KLossless, HTJ2KLosslessRPCL})


DECODER_ERRORS = (
    RuntimeError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError, OSError, EOFError, MemoryError,
    struct.error,
)  # fmt: skip
"""What decoders were seen to raise for damaged frames. Anything else ends this process, which the parent takes for a crash."""


def limit_memory(n_bytes: int) -> None:
    """Let this process have no more than `n_bytes` of address space, and leave no core file when it crashes."""
    import resource  # noqa: PLC0415  # not on Windows, where the limit cannot be had

    resource.setrlimit(resource.RLIMIT_AS, (n_bytes, n_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def decode(frame: bytes, job: dict[str, Any]) -> npt.NDArray[Any]:
    """One frame, rows x columns, with a last axis of red, green and blue where it is coloured.

    Args:
        frame: The compressed bytes.
        job: `syntax` (UID), and the options of a pydicom decoder.

    Raises:
        RuntimeError: No decoder can; others of `DECODER_ERRORS` for a job that makes no sense.
    """
    syntax = UID(job["syntax"])
    options = {name: value for name, value in job["options"].items() if value is not None}
    if syntax == JPEGExtended12Bit and options["bits_stored"] > 8:
        return _decode_12_bit(frame)
    decoder = get_decoder(syntax)
    plugins = decoder.available_plugins
    if not plugins:
        missing = "; ".join(decoder.missing_dependencies)
        raise NotImplementedError(f"no decoder for {syntax.name} is installed ({missing})")
    first = "pylibjpeg" if syntax in _OPENJPEG else "gdcm"
    failures = []
    for plugin in sorted(plugins, key=lambda name: name != first):
        try:
            array, _ = decoder.as_array(encapsulate([frame], has_bot=False), index=0, decoding_plugin=plugin, **options)
        except DECODER_ERRORS as error:
            failures.append(f"{plugin}: {' '.join(str(error).split())}")
        else:
            return np.asarray(array)
    raise RuntimeError("; ".join(failures))


def _decode_12_bit(frame: bytes) -> npt.NDArray[Any]:
    import imagecodecs  # noqa: PLC0415  # slow to import, and needed for this one syntax

    return np.asarray(imagecodecs.jpeg8_decode(frame))


def serve(source: BinaryIO, sink: BinaryIO, work: Callable[[bytes, dict[str, Any]], npt.NDArray[Any]]) -> None:
    """Answer jobs until there are no more."""
    _send(sink, {"ready": True})
    while prefix := source.read(4):
        job = json.loads(source.read(int.from_bytes(prefix)))
        frame = source.read(job["length"])
        try:
            array = np.ascontiguousarray(work(frame, job))
            body = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        except DECODER_ERRORS as error:
            _send(sink, {"error": f"{type(error).__name__}: {error}"[:500], "length": 0})
        else:
            _send(sink, {"dtype": array.dtype.newbyteorder("<").str, "shape": array.shape, "length": len(body)}, body)


def _send(sink: BinaryIO, answer: dict[str, Any], body: bytes = b"") -> None:
    line = json.dumps(answer).encode()
    sink.write(len(line).to_bytes(4) + line + body)
    sink.flush()


def main() -> None:
    """Serve with the memory limit given as the first argument."""
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123  # a device, not a path
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
        os.dup2(nowhere.fileno(), sys.stderr.fileno())
    if os.name == "posix":
        limit_memory(int(sys.argv[1]))
    serve(sys.stdin.buffer, answers, decode)


if __name__ == "__main__":
    main()
