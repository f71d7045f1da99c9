"""Members of a zip archive."""

from __future__ import annotations

import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from itertools import pairwise
from typing import BinaryIO, cast

import inflate64
from isal import isal_zlib

from resources.download.errors import ArchiveError
from resources.download.sink import CHUNK, FILE, FOLDER, Choice, Member, Sink

BROKEN: tuple[type[Exception], ...] = (
    zipfile.BadZipFile, zlib.error, cast("type[Exception]", isal_zlib.error), lzma.LZMAError, EOFError, OSError, RuntimeError,
    ValueError, KeyError, IndexError, OverflowError, struct.error,
)  # fmt: skip
"""What the libraries raise over a damaged archive."""

_END, _END_SIZE = b"PK\x05\x06", 22
_END64, _END64_SIZE, _LOCATOR64 = b"PK\x06\x06", 56, b"PK\x06\x07"
_LONGEST_COMMENT = 65_535
_ENTRY, _ENTRY_SIZE = b"PK\x01\x02", 46
_LOCAL, _LOCAL_SIZE = b"PK\x03\x04", 30
_UNREADABLE = 0x60  # patched data, strong encryption
_DEFLATE64 = 9


def unpack(file: BinaryIO, sink: Sink, choice: Choice, most_members: int) -> None:
    """Unpack the chosen members.

    Raises:
        ArchiveError: The archive is damaged, or a member must not be unpacked; nothing of it is written then.
        DownloadError: The disk does not take it, or somebody asked to stop.
    """
    _refuse_crowds(file, most_members)
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


def _refuse_crowds(file: BinaryIO, most_members: int) -> None:
    """Count the directory's entries before the library, which trusts no number either, makes an object of each."""
    start, size = _directory(file)
    if size // _ENTRY_SIZE <= most_members:
        return
    file.seek(start)
    count = 0
    while (entry := file.read(_ENTRY_SIZE)).startswith(_ENTRY) and len(entry) == _ENTRY_SIZE:
        count += 1
        if count > most_members:
            raise ArchiveError(f"it has more than {most_members:,} members")
        file.seek(sum(struct.unpack_from("<HHH", entry, 28)), 1)


def _directory(file: BinaryIO) -> tuple[int, int]:
    """Where the central directory begins and its bytes, from the end record; nothing where there is none."""
    length = file.seek(0, 2)
    file.seek(max(0, length - _END_SIZE - _LONGEST_COMMENT))
    tail_start = file.tell()
    tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or at + _END_SIZE > len(tail):
        return 0, 0
    size: int = struct.unpack_from("<I", tail, at + 12)[0]
    end = tail_start + at
    if at >= 20 and tail[at - 20 : at - 16] == _LOCATOR64:
        end -= 20 + _END64_SIZE
        file.seek(max(0, end))
        record = file.read(_END64_SIZE)
        if len(record) == _END64_SIZE and record.startswith(_END64):
            size = struct.unpack_from("<Q", record, 40)[0]
    return max(0, end - size), min(size, length)


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
    if info.compress_type not in {zipfile.ZIP_DEFLATED, _DEFLATE64}:
        with archive.open(info) as stream:
            while chunk := stream.read(CHUNK):
                yield chunk
        return
    inflate = _deflated if info.compress_type == zipfile.ZIP_DEFLATED else _deflated64
    check = 0
    for chunk in inflate(_packed(file, info)):
        check = isal_zlib.crc32(chunk, check)
        yield chunk
    if check != info.CRC:
        raise zipfile.BadZipFile(f"Bad CRC-32 for file {info.filename!r}")


def _packed(file: BinaryIO, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """The bytes of a member as they are stored."""
    file.seek(info.header_offset)
    header = file.read(_LOCAL_SIZE)
    if not header.startswith(_LOCAL) or info.flag_bits & _UNREADABLE:
        raise zipfile.BadZipFile(f"no readable header of {info.filename!r}")
    file.seek(sum(struct.unpack_from("<HH", header, 26)), 1)
    left = info.compress_size
    while left:
        packed = file.read(min(CHUNK, left))
        if not packed:
            raise EOFError("the archive ends within a member")
        left -= len(packed)
        yield packed


def _deflated(stored: Iterator[bytes]) -> Iterator[bytes]:
    """Twice as fast as the standard library, which is what most archives wait for."""
    inflater = isal_zlib.decompressobj(wbits=-15)
    for piece in stored:
        packed = piece
        while packed and not inflater.eof:
            if chunk := inflater.decompress(packed, CHUNK):
                yield chunk
            packed = inflater.unconsumed_tail
    while not inflater.eof:
        if not (chunk := inflater.decompress(b"", CHUNK)):
            raise EOFError("a member ends before its compressed stream does")
        yield chunk


def _deflated64(stored: Iterator[bytes]) -> Iterator[bytes]:
    """Windows packs files over 2 GB so; the standard library does not read it."""
    inflater = inflate64.Inflater()
    for packed in stored:
        if chunk := inflater.inflate(packed):
            yield chunk
