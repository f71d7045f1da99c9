"""Members of a zip archive."""

from __future__ import annotations

import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from itertools import pairwise
from typing import BinaryIO

import inflate64

from resources.download.errors import ArchiveError
from resources.download.sink import CHUNK, FILE, FOLDER, Choice, Member, Sink

BROKEN: tuple[type[Exception], ...] = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError, ValueError, KeyError, IndexError,
    OverflowError, struct.error,
)  # fmt: skip
"""What the library raises over a damaged archive."""

_END, _END_SIZE = b"PK\x05\x06", 22
_END64, _LOCATOR64 = b"PK\x06\x06", b"PK\x06\x07"
_LONGEST_COMMENT = 65_535
_ENTRY_SIZE = 46
_LOCAL_SIZE = 30
_DEFLATE64 = 9


def unpack(file: BinaryIO, sink: Sink, choice: Choice, most_members: int) -> None:
    """Unpack the chosen members.

    Raises:
        ArchiveError: The archive is damaged, or a member must not be unpacked; nothing of it is written then.
        DownloadError: The disk does not take it, or somebody asked to stop.
    """
    entries = directory_bytes(file) // _ENTRY_SIZE
    if entries > most_members:
        raise ArchiveError(f"its directory has room for {entries:,} members; at most {most_members:,} are unpacked")
    with zipfile.ZipFile(file) as archive:
        listed = archive.infolist()
        _refuse_overlaps(listed)
        chosen = [(info, path) for info in listed if (path := sink.admit(_member(info), choice))]
        sink.foresee((path, info.file_size) for info, path in chosen)
        for info, path in chosen:
            if sink.has(path):
                sink.skip(path)
                continue
            with sink.writer(path, info.file_size) as writer:
                for chunk in _content(archive, file, info):
                    writer.write(chunk)


def directory_bytes(file: BinaryIO) -> int:
    """Size of the central directory as the end record gives it; 0 when there is none, which the library then says."""
    size = file.seek(0, 2)
    start = max(0, size - _END_SIZE - _LONGEST_COMMENT)
    file.seek(start)
    tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or at + _END_SIZE > len(tail):
        return 0
    listed: int = struct.unpack_from("<I", tail, at + 12)[0]
    if at >= 20 and tail[at - 20 : at - 16] == _LOCATOR64:
        file.seek(struct.unpack_from("<Q", tail, at - 12)[0])
        record = file.read(56)
        if len(record) == 56 and record.startswith(_END64):
            listed = struct.unpack_from("<Q", record, 40)[0]
    return min(listed, size)


def _member(info: zipfile.ZipInfo) -> Member:
    kind = FOLDER if info.is_dir() else FILE
    mode = info.external_attr >> 16
    if stat.S_IFMT(mode) and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        kind = "a link" if stat.S_ISLNK(mode) else "a device or pipe"
    return Member(info.orig_filename, kind, info.file_size, encrypted=bool(info.flag_bits & 0x1))


def _refuse_overlaps(listed: list[zipfile.ZipInfo]) -> None:
    """Members that share bytes are how a small archive unpacks to petabytes."""
    for one, other in pairwise(sorted(listed, key=lambda info: info.header_offset)):
        if one.header_offset + _LOCAL_SIZE + one.compress_size > other.header_offset:
            raise ArchiveError(f"{one.filename[:200]!r} and {other.filename[:200]!r} overlap in the archive")


def _content(archive: zipfile.ZipFile, file: BinaryIO, info: zipfile.ZipInfo) -> Iterator[bytes]:
    if info.compress_type == _DEFLATE64:
        yield from _deflate64(file, info)
        return
    with archive.open(info) as stream:
        while chunk := stream.read(CHUNK):
            yield chunk


def _deflate64(file: BinaryIO, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """Windows packs files over 2 GB so; the standard library does not read it."""
    file.seek(info.header_offset)
    header = file.read(_LOCAL_SIZE)
    file.seek(sum(struct.unpack_from("<HH", header, 26)), 1)
    inflater = inflate64.Inflater()
    left, check = info.compress_size, 0
    while left:
        packed = file.read(min(CHUNK, left))
        if not packed:
            raise EOFError("the archive ends within a member")
        left -= len(packed)
        chunk = inflater.inflate(packed)
        check = zlib.crc32(chunk, check)
        if chunk:
            yield chunk
    if check != info.CRC:
        raise zipfile.BadZipFile(f"Bad CRC-32 for file {info.filename!r}")
