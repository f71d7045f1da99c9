"""Archives for tests: honest ones of every kind, and single members that no honest archive has."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import inflate64
import py7zr

KINDS = ("a.zip", "a.tar", "a.tar.gz", "a.tgz", "a.tar.bz2", "a.tar.xz", "a.7z")

Entry = tuple[tarfile.TarInfo, bytes]


def pack(path: Path, files: Mapping[str, bytes]) -> Path:
    """An archive of the kind its name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
    elif path.suffix == ".7z":
        with py7zr.SevenZipFile(path, "w") as seven:
            for name, content in files.items():
                seven.writestr(content, name)
    else:
        mode = "w:" + {".gz": "gz", ".tgz": "gz", ".bz2": "bz2", ".xz": "xz", ".tar": ""}[path.suffix]
        tar_of(path, (regular(name, content) for name, content in files.items()), mode)
    return path


def tar_of(path: Path, entries: Iterable[Entry], mode: str = "w:") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for info, content in entries:
            archive.addfile(info, io.BytesIO(content))
    return path


def regular(name: str, content: bytes) -> Entry:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    return info, content


def special(name: str, kind: bytes, link: str = "") -> Entry:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info, b""


def zip_of(path: Path, members: Iterable[tuple[zipfile.ZipInfo, bytes]]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for info, content in members:
            archive.writestr(info, content)
    return path


def zip_member(name: str, *, mode: int = 0) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("x" * len(name))
    info.filename = name  # as it is, which the constructor would cut at a NUL
    info.external_attr = mode << 16
    return info


def deflate64_zip(path: Path, name: str, content: bytes, crc: int | None = None) -> Path:
    """What Windows writes for large files; byte by byte after PKWARE's APPNOTE, because nothing here writes it."""
    deflater = inflate64.Deflater()
    packed = deflater.deflate(content) + deflater.flush()
    check = zlib.crc32(content) if crc is None else crc
    facts = struct.pack("<HHHHHIIIHH", 21, 0, 9, 0, 0x21, check, len(packed), len(content), len(name), 0)
    local = b"PK\x03\x04" + facts + name.encode() + packed
    central = b"PK\x01\x02" + struct.pack("<H", 21) + facts + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name.encode()
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)
    path.write_bytes(local + central + end)
    return path
