"""What decompresses frames of files nobody vouches for; `guard` calls it in a helper process."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt
from pydicom.encaps import encapsulate
from pydicom.pixels.decoders.base import get_decoder
from pydicom.uid import HTJ2K, JPEG2000, UID, HTJ2KLossless, HTJ2KLosslessRPCL, JPEG2000Lossless, JPEGExtended12Bit

from resources.findings import BadInputError, Code

_OPENJPEG = frozenset({JPEG2000, JPEG2000Lossless, HTJ2K, HTJ2KLossless, HTJ2KLosslessRPCL})


DECODER_ERRORS = (
    RuntimeError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError, OSError, EOFError, MemoryError,
    struct.error,
)  # fmt: skip
"""What decoders were seen to raise for damaged frames. Anything else is told of by its name alone."""


def decompress(frame: bytes, syntax: str, options: dict[str, Any]) -> npt.NDArray[Any]:
    """One frame, as `decode` gives it.

    Raises:
        BadInputError: DECODER_FAILED, with what the decoders say.
    """
    try:
        return decode(frame, syntax, options)
    except DECODER_ERRORS as error:
        said = str(error) if type(error) is RuntimeError else f"{type(error).__name__}: {error}"
        raise BadInputError(Code.DECODER_FAILED, said[:500]) from error


def decode(frame: bytes, syntax: str, options: dict[str, Any]) -> npt.NDArray[Any]:
    """One frame, rows x columns, with a last axis of red, green and blue where it is coloured.

    Args:
        frame: The compressed bytes.
        syntax: UID of the transfer syntax.
        options: Options of a pydicom decoder; those that are `None` are left out.

    Raises:
        RuntimeError: No decoder can; others of `DECODER_ERRORS` for a job that makes no sense.
    """
    uid = UID(syntax)
    options = {name: value for name, value in options.items() if value is not None}
    if uid == JPEGExtended12Bit and options["bits_stored"] > 8:
        return _decode_12_bit(frame)
    decoder = get_decoder(uid)
    plugins = decoder.available_plugins
    if not plugins:
        missing = "; ".join(decoder.missing_dependencies)
        raise NotImplementedError(f"no decoder for {uid.name} is installed ({missing})")
    first = "pylibjpeg" if uid in _OPENJPEG else "gdcm"
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
