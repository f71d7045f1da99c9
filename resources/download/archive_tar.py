"""Members of a tar archive, compressed or not, and the one file of a bare .gz, .bz2 or .xz.

A tar is read once from its beginning to its end: the library under it may neither go back, which damaged headers make it do for
ever, nor read a header of any size.
"""

from __future__ import annotations

import bz2
import lzma
import tarfile
import zlib
from typing import BinaryIO, cast

from isal import igzip, isal_zlib

from resources.download.errors import ArchiveError, DamagedError
from resources.download.sink import CHUNK, FILE, FOLDER, Choice, Member, Sink

_ISAL_ERROR = cast("type[Exception]", isal_zlib.error)
BROKEN: tuple[type[Exception], ...] = (
    tarfile.TarError, zlib.error, _ISAL_ERROR, lzma.LZMAError, EOFError, OSError, ValueError, KeyError, IndexError, OverflowError,
)  # fmt: skip
"""What the libraries raise over a damaged archive."""

_GZIP, _BZIP2, _XZ, _ZSTANDARD = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"
_END_MARK = bytes(tarfile.BLOCKSIZE)


def unpack(file: BinaryIO, sink: Sink, choice: Choice) -> None:
    """Unpack the chosen members.

    Raises:
        ArchiveError: The archive is damaged or cut off, or a member must not be unpacked.
        DownloadError: The disk does not take it, or somebody asked to stop.
    """
    stream = _Forward(_decompressed(file), sink)
    with tarfile.TarFile(fileobj=cast("BinaryIO", stream), mode="r") as archive:
        while (info := archive.next()) is not None:
            _unpack_one(archive, info, sink, choice)
            archive.members = []  # type: ignore[attr-defined]  # it would keep every member ever read
        if stream.last != _END_MARK:
            raise DamagedError("it ends without the mark of its end: it is cut off, or damaged within")
    stream.drain()


def unpack_single(file: BinaryIO, path: str, sink: Sink, choice: Choice) -> None:
    """Unpack a compressed file that is no archive, to `path`.

    Raises:
        ArchiveError: It is damaged or cut off.
        DownloadError: The disk does not take it, or somebody asked to stop.
    """
    target = sink.admit(Member(path, FILE), choice)
    if not target or sink.has(target):
        return
    source = _decompressed(file)
    if source is file:
        raise DamagedError("it is not compressed the way its name says")
    with sink.writer(target, None) as writer:
        while chunk := source.read(CHUNK):
            writer.write(chunk)


def _unpack_one(archive: tarfile.TarFile, info: tarfile.TarInfo, sink: Sink, choice: Choice) -> None:
    path = sink.admit(Member(info.name, _kind(info), info.size), choice)
    if not path:
        return
    if sink.has(path):
        sink.skip(path)
        return
    sink.foresee([(path, info.size)])
    content = archive.extractfile(info)
    if content is None:
        raise ArchiveError(f"{info.name[:200]!r} has no content")
    with content, sink.writer(path, info.size) as writer:
        while chunk := content.read(CHUNK):
            writer.write(chunk)


def _kind(info: tarfile.TarInfo) -> str:
    if info.issparse():
        return "a file with holes"
    if info.isreg():
        return FILE
    if info.isdir():
        return FOLDER
    if info.issym() or info.islnk():
        return f"a link to {info.linkname[:200]!r}"
    return "a device or pipe"


def _decompressed(file: BinaryIO) -> BinaryIO:
    file.seek(0)
    start = file.read(6)
    file.seek(0)
    if start.startswith(_GZIP):
        return cast("BinaryIO", igzip.IGzipFile(fileobj=file, mode="rb"))
    if start.startswith(_BZIP2):
        return cast("BinaryIO", bz2.BZ2File(file))
    if start.startswith(_XZ):
        return cast("BinaryIO", lzma.LZMAFile(file))
    if start.startswith(_ZSTANDARD):
        raise ArchiveError("it is compressed with Zstandard, which is not read here; unpack it by hand")
    return file


class _Forward:
    """A stream that is read forwards only, in small pieces.

    Attributes:
        last: The piece read last.
    """

    def __init__(self, source: BinaryIO, sink: Sink) -> None:
        self.last = b""
        self._source = source
        self._sink = sink
        self._position = 0

    def read(self, size: int = -1) -> bytes:
        """The next bytes; fewer than asked for only at the end."""
        if not 0 <= size <= CHUNK:
            raise tarfile.ReadError(f"a header of {size} bytes")
        self.last = self._source.read(size)
        self._position += len(self.last)
        return self.last

    def tell(self) -> int:
        """Bytes read so far."""
        return self._position

    def seek(self, position: int) -> int:
        """Read on to a later position."""
        if position < self._position:
            raise tarfile.ReadError("a header that leads back")
        while self._position < position:
            self._sink.proceed()
            if not self.read(min(CHUNK, position - self._position)):
                break
        return self._position

    def drain(self) -> None:
        """Read to the end, where the checksum of a compressed stream stands."""
        while self.read(CHUNK):
            self._sink.proceed()
