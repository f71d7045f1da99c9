"""Members of a 7z archive."""

from __future__ import annotations

import lzma
import struct
import tempfile
import zlib
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import py7zr
from py7zr.exceptions import ArchiveError as SevenZipError
from py7zr.exceptions import PasswordRequired
from py7zr.io import Py7zIO, WriterFactory

from resources.download.errors import ArchiveError
from resources.download.sink import FILE, FOLDER, Choice, Member, Sink, Writer

BROKEN: tuple[type[Exception], ...] = (
    SevenZipError, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, KeyError, IndexError, OverflowError, struct.error,
    TypeError, AttributeError, AssertionError,
)  # fmt: skip
"""What the library raises over a damaged archive."""


def unpack(file: BinaryIO, sink: Sink, choice: Choice) -> None:
    """Unpack the chosen members.

    Raises:
        ArchiveError: The archive is damaged, or a member must not be unpacked; nothing of it is written then.
        DownloadError: The disk does not take it, or somebody asked to stop.
    """
    try:
        with py7zr.SevenZipFile(file) as archive:
            _unpack(archive, sink, choice)
    except PasswordRequired:
        raise ArchiveError("it is encrypted; get the password from the provider and unpack it by hand") from None


def _unpack(archive: py7zr.SevenZipFile, sink: Sink, choice: Choice) -> None:
    chosen = {}
    for info in archive.list():
        kind = FOLDER if info.is_directory else FILE if info.is_file else "a link" if info.is_symlink else "no plain file"
        if path := sink.admit(Member(info.filename, kind, info.uncompressed, archive.needs_password()), choice):
            chosen[info.filename] = (path, info.uncompressed)
    sink.foresee(chosen.values())
    for path, _ in chosen.values():
        sink.skip(path)
    wanted = {name: place for name, place in chosen.items() if not sink.has(place[0])}
    if wanted:
        # The library makes a folder of this name and checks names against it; every byte goes through the factory.
        with tempfile.TemporaryDirectory() as nowhere, _Factory(Path(nowhere), sink, wanted) as factory:
            archive.extract(nowhere, targets=set(wanted), factory=factory)


class _Factory(WriterFactory, ExitStack):
    """Gives the library a writer for each member it asks to write, and closes what it leaves open."""

    def __init__(self, root: Path, sink: Sink, places: Mapping[str, tuple[str, int]]) -> None:
        super().__init__()
        self._sink = sink
        self._places = {(root / name).as_posix(): place for name, place in places.items()}

    def create(self, filename: str) -> _Output:
        """The writer of one member."""
        place = self._places.get(Path(filename).as_posix())
        if place is None:
            raise ArchiveError(f"{filename[:200]!r} was not listed under this name")
        output = _Output(self._sink.writer(*place))
        self.callback(output.abandon)
        return output


class _Output(Py7zIO):
    """Hands bytes on to a writer; the library calls `close` only when a member's checksum was right."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer.__enter__()
        self._size = 0

    def write(self, s: bytes | bytearray) -> int:
        """Take the next bytes."""
        self._writer.write(bytes(s))
        self._size += len(s)
        return len(s)

    def read(self, size: int | None = None) -> bytes:
        """Refused."""
        raise OSError(f"what is unpacked is not read again ({size} bytes)")

    def seek(self, offset: int, whence: int = 0) -> int:
        """Say that it worked: the library rewinds what it has written."""
        return offset + whence

    def flush(self) -> None:
        """Nothing waits here."""

    def size(self) -> int:
        """Bytes so far."""
        return self._size

    def close(self) -> None:
        """Record the member."""
        self._writer.__exit__(None, None, None)

    def abandon(self) -> None:
        """Let go of a member that did not come to its end."""
        self._writer.let_go()
