"""The content of a file that a library is to decode: proven unchanged and, where it is packed in gzip, unpacked in memory."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from gzip import BadGzipFile
from typing import BinaryIO, cast

from isal import igzip

from resources.findings import Code
from resources.readers.bytestream import INFLATE_ERROR, PIECE, ByteStream
from resources.readers.image import SourceFile
from resources.readers.source import Mark, RawFile, ReadOptions, open_regular

MAX_UNPACKED = 4 << 30
"""Bytes that a gzip around a file that is not streamed may inflate to: they are held in memory."""


def whole(file: RawFile) -> SourceFile:
    """Read a file of any size from its first to its last byte, as it is stored.

    Raises:
        BadInputError: UNREADABLE, TRUNCATED or FILE_CHANGED.
    """
    with ByteStream(file, file.mark.size, inflate=False) as stream:
        return stream.finish().source


@contextmanager
def opened(file: RawFile, options: ReadOptions) -> Iterator[BinaryIO]:
    """The content as a file that can be read and sought in.

    Raises:
        BadInputError: UNREADABLE or FILE_CHANGED; TRUNCATED, CHECKSUM_MISMATCH or TOO_LARGE, where it is gzip.
    """
    raw, mark = open_regular(file.path, file.name)
    with raw:
        file.check_mark(mark)
        if file.compressed:
            yield _inflated(file, raw, min(options.max_bytes, MAX_UNPACKED))
        else:
            yield cast("BinaryIO", io.BufferedReader(cast("io.RawIOBase", raw)))


def content_size(content: BinaryIO) -> int:
    """Bytes of an opened content; its position is at the start afterwards."""
    size = content.seek(0, io.SEEK_END)
    content.seek(0)
    return size


def refuse_gzip(file: RawFile) -> None:
    """Refuse a file packed in gzip, for a library that reads plain files alone.

    Raises:
        BadInputError: UNSUPPORTED_DATA.
    """
    if file.compressed:
        raise file.bad(Code.UNSUPPORTED_DATA, "the file is packed in gzip as a whole, which its format does not know; unpack it")


def _inflated(file: RawFile, raw: BinaryIO, limit: int) -> BinaryIO:
    content = io.BytesIO()
    try:
        with igzip.open(raw) as packed:
            while piece := packed.read(PIECE):
                content.write(piece)
                if content.tell() > limit:
                    raise file.bad(Code.TOO_LARGE, f"the gzip inflates to more than the {limit} bytes that are taken; unpack it")
    except EOFError as error:
        raise file.bad(
            Code.TRUNCATED, f"truncated: the gzip stream breaks off after {content.tell()} inflated bytes; download it again"
        ) from error
    except (BadGzipFile, INFLATE_ERROR) as error:
        raise file.bad(Code.CHECKSUM_MISMATCH, f"damaged gzip data: {error} (CRC, length or structure)") from error
    file.check_mark(Mark.of(file.path.stat()))
    content.seek(0)
    return content
