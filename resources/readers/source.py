"""A raw file before any format is known: is it there, is it plainly something else, what are its first bytes.

A file is told by its content, never by its name: names in public datasets lie (gzip called `.nii`, plain called
`.nii.gz`), and a download that failed leaves a page, a pointer or nothing at all under the right name.
"""

from __future__ import annotations

import os
import stat
import zlib
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from resources.findings import BadInputError, Code

HEAD_BYTES = 4096
"""How much of the (inflated) beginning is looked at to tell the format."""

GZIP_MAGIC = b"\x1f\x8b"
MAX_IMAGE_BYTES = 64 << 30
"""Largest amount of voxel bytes a header may promise; public volumes stay far below, header bombs far above."""

_AXIS_PAIRS = ("RL", "AP", "SI")
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_PAGE_STARTS = (b"<!doctype", b"<html", b"<?xml", b"<head", b"<error")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What a dataset's spec may say about the reading of its files.

    Attributes:
        assume_orientation: Direction in which each stored index grows, e.g. `LPS`, for files that say nothing about
            it; `None` refuses such files.
        max_bytes: Most voxel bytes a header may promise.
        key: Name of the array inside a container (HDF5 path, NPZ member, MAT variable, table column).
        axes: What each axis of the array is, in the order in which the format's own library indexes it: one letter each
            of `x` `y` `z` (space), `t` (time), `c` (channel). For containers that do not say, and for files that say it
            wrongly, such as a film stored as a NIfTI volume (`xyt`).
        spacing_mm: Spacing along x, y and z, or x and y, for files that do not say.
    """

    assume_orientation: str | None = None
    max_bytes: int = MAX_IMAGE_BYTES
    key: str | None = None
    axes: str | None = None
    spacing_mm: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        code = self.assume_orientation
        if code is not None and sorted("".join(pair for pair in _AXIS_PAIRS if letter in pair) for letter in code) != sorted(
            _AXIS_PAIRS
        ):
            raise ValueError(f"an orientation names each of R/L, A/P and S/I once, such as LPS; not {code!r}")


@dataclass(frozen=True, slots=True)
class Mark:
    """What must stay the same while a file is read: its size in bytes, modification time and inode."""

    size: int
    mtime_ns: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> Mark:
        """The mark of a file whose status was just asked for."""
        return cls(status.st_size, status.st_mtime_ns, status.st_ino)


@dataclass(frozen=True, slots=True)
class RawFile:
    """A file that exists, is not empty and is not a pointer or a page.

    Attributes:
        path: Where it lies.
        name: How findings call it: its path under the raw root, with forward slashes.
        mark: Its size and times at the first look.
        compressed: Whether its content is gzip.
        head: Its first bytes, inflated when it is gzip; shorter than `HEAD_BYTES` only when the file is.
    """

    path: Path
    name: str
    mark: Mark
    compressed: bool
    head: bytes

    def bad(self, code: Code, detail: str) -> BadInputError:
        """The error that says so about this file."""
        return BadInputError(code, detail, file=self.name)

    def check_mark(self, mark: Mark) -> None:
        """Refuse a mark that is not the one of the first look.

        Raises:
            BadInputError: FILE_CHANGED.
        """
        if mark != self.mark:
            raise self.bad(
                Code.FILE_CHANGED,
                f"the file changed while it was read: {self.mark.size} bytes at first, {mark.size} now; read it again "
                "when it is complete",
            )

    def check_unchanged(self) -> None:
        """Refuse a file that is not what it was at the first look.

        Raises:
            BadInputError: FILE_CHANGED, or UNREADABLE when it is gone.
        """
        try:
            self.check_mark(Mark.of(self.path.stat()))
        except OSError as error:
            raise unreadable(self.name, error) from error

    def sibling(self, path: Path) -> RawFile:
        """Examine another file of the same folder; raises as `examine` does."""
        return examine(path, renamed(self.name, path))


def renamed(name: str, path: Path) -> str:
    """How findings call the file at `path` when they call one of the same folder `name`."""
    return str(PurePosixPath(name).with_name(path.name)) if name else path.name


def unreadable(name: str, error: OSError) -> BadInputError:
    """The error for a file the system will not hand out."""
    reason = error.strerror or str(error)
    return BadInputError(Code.UNREADABLE, f"the file cannot be read: {reason}", file=name)


def open_regular(path: Path, name: str) -> tuple[BinaryIO, Mark]:
    """Open a file unbuffered, and its mark at that moment.

    Raises:
        BadInputError: It does not exist, may not be read, or is no regular file (UNREADABLE).
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise BadInputError(Code.UNREADABLE, "this is no regular file (a folder, pipe or device)", file=name)
        file = path.open("rb", buffering=0)
    except OSError as error:
        raise unreadable(name, error) from error
    return file, Mark.of(os.fstat(file.fileno()))


def examine(path: Path, name: str) -> RawFile:
    """Look at the beginning of a file.

    Args:
        path: The file.
        name: How findings are to call it.

    Raises:
        BadInputError: EMPTY_FILE, GIT_LFS_POINTER, HTML_PAGE, UNREADABLE, or CHECKSUM_MISMATCH when it begins like
            gzip but does not inflate.
    """
    file, mark = open_regular(path, name)
    with file:
        try:
            start = file.read(16 * HEAD_BYTES)
        except OSError as error:
            raise unreadable(name, error) from error
    found = RawFile(path, name, mark, compressed=start.startswith(GZIP_MAGIC), head=start[:HEAD_BYTES])
    if not start:
        raise found.bad(Code.EMPTY_FILE, "the file is empty (0 bytes); download it again")
    if found.compressed:
        found = replace(found, head=_inflated_head(found, start))
    _refuse_stand_ins(found)
    return found


def _inflated_head(file: RawFile, start: bytes) -> bytes:
    member = zlib.decompressobj(wbits=31)
    try:
        head = member.decompress(start, HEAD_BYTES)
    except zlib.error as error:
        raise file.bad(
            Code.CHECKSUM_MISMATCH, f"damaged gzip data: {error} (CRC, length or structure); download it again"
        ) from error
    if not head and member.eof:
        raise file.bad(Code.EMPTY_FILE, "the file is a gzip of nothing: it inflates to an empty stream; download it again")
    return head


def _refuse_stand_ins(file: RawFile) -> None:
    text = file.head.lstrip(b"\xef\xbb\xbf \t\r\n")[:256].lower()
    if text.startswith(_LFS_POINTER):
        raise file.bad(
            Code.GIT_LFS_POINTER,
            "a Git LFS pointer stands in for the file; run `git lfs pull` in the source repository",
        )
    if text.startswith(_PAGE_STARTS):
        beginning = text[:60].decode("ascii", "replace")
        raise file.bad(
            Code.HTML_PAGE,
            f"an HTML or XML page stands in for the file (it begins with {beginning!r}); download it again",
        )
