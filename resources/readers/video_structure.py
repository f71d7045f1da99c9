"""Walks through the outermost parts of AVI and MP4 files: FFmpeg plays what is left of a cut one and says nothing.

Structures after the AVI RIFF file reference (Microsoft) with the OpenDML extension, and ISO/IEC 14496-12, section 4.2.
"""

from __future__ import annotations

import struct
from typing import BinaryIO

from resources.findings import BadInputError, Code
from resources.readers.content import content_size
from resources.readers.source import RawFile


def check_avi(content: BinaryIO, file: RawFile) -> None:
    """Refuse an AVI file that ends before its RIFF lists do.

    Raises:
        BadInputError: TRUNCATED.
    """
    size, at = content_size(content), 0
    while at + 8 <= size:
        content.seek(at)
        kind, length = struct.unpack("<4sI", content.read(8))
        if kind != b"RIFF" or not length:
            return
        at += 8 + length
    if at > size:
        raise _cut(file, size, f"a list of the AVI file ends at byte {at}")


def check_mp4(content: BinaryIO, file: RawFile) -> None:
    """Refuse an MP4 or MOV file that ends before its boxes do, or has no index.

    Raises:
        BadInputError: TRUNCATED or BAD_HEADER.
    """
    size, at, kinds = content_size(content), 0, set()
    while at < size:
        content.seek(at)
        head = content.read(16)
        length, kind = struct.unpack(">I4s", head[:8].ljust(8, b"\0"))
        if length == 1:
            length = int.from_bytes(head[8:16], "big")
        length = length or size - at
        if at + length > size:
            raise _cut(file, size, f"the box {kind!r} at byte {at} has {length} bytes")
        if length < 8:
            raise file.bad(Code.BAD_HEADER, f"the box {kind!r} at byte {at} of the MP4 file has {length} bytes")
        kinds.add(kind)
        at += length
    if b"moov" not in kinds:
        raise _cut(file, size, "the index (moov) of the MP4 file is missing")


def _cut(file: RawFile, size: int, what: str) -> BadInputError:
    return file.bad(Code.TRUNCATED, f"truncated: {what}, the file has {size}; download it again")
