"""Decompresses frames in helper processes: a decoder that crashes, hangs or eats memory costs a finding, not the run.

See `resources.readers.process`; one helper decodes one frame after another.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from resources.findings import BadInputError
from resources.readers.process import HelperError, Limits, Loss, ReaderFaultError, borrowed
from resources.readers.wire import Call

SECONDS_PER_MIB = 2.0
"""Time a frame may take on top for every MiB of its decoded size (JPEG 2000 takes 0.1)."""

DEFAULT = Limits(memory_bytes=4 << 30, seconds=30.0)
"""For a small frame; the largest that are taken (512 MiB) need two thirds of the memory in JPEG 2000."""

_WORKER = "resources.readers.dicom.worker"


class DecoderError(Exception):
    """A frame could not be decompressed; the message says why.

    Attributes:
        passing: Whether it says nothing about the frame: somebody ended the decoder.
    """

    def __init__(self, why: str, *, passing: bool = False) -> None:
        super().__init__(why)
        self.passing = passing


def decompress(frame: bytes, syntax: str, options: dict[str, Any], most_bytes: int, limits: Limits = DEFAULT) -> npt.NDArray[Any]:
    """Decompress one frame in a helper process.

    Args:
        frame: Its compressed bytes.
        syntax: UID of the transfer syntax.
        options: Options of a pydicom decoder, such as `rows`.
        most_bytes: Size of the decoded frame that the header promises.
        limits: What it may cost; more time is given to large frames.

    Returns:
        Rows x columns, and a last axis of colours where there are some.

    Raises:
        DecoderError: It cannot be decompressed.
        ReaderFaultError: No helper can be started.
    """
    seconds = limits.seconds + SECONDS_PER_MIB * most_bytes / (1 << 20)
    return ask(Call(_WORKER, "decompress", (frame, syntax, options)), most_bytes, Limits(limits.memory_bytes, seconds))


def ask(call: Call, most_bytes: int, limits: Limits) -> npt.NDArray[Any]:
    """The array of at most so many bytes that a function gives in a helper; raises as `decompress`."""
    with borrowed() as helper:
        try:
            helper.send(call, limits)
            array = helper.answer(most_bytes)
        except HelperError as error:
            raise DecoderError(str(error), passing=error.loss is Loss.STOPPED) from error
        except BadInputError as error:
            raise DecoderError(error.finding.detail) from error
        except ReaderFaultError as error:
            raise DecoderError(str(error).strip().rpartition("\n")[2][:500]) from error
    return np.asarray(array)
