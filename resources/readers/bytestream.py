"""One pass over the bytes of a file, plain or gzip, that proves the file whole on the way.

The bytes as stored are hashed while they are read. At the end stands a fingerprint, or a `BadInputError`: truncated,
damaged, unreadable, changed meanwhile. What lies behind the promised bytes is no error but is reported.
"""

from __future__ import annotations

import hashlib
import io
import os
from concurrent.futures import Future
from dataclasses import dataclass
from gzip import BadGzipFile
from types import TracebackType
from typing import BinaryIO, Self, cast

from isal import isal_zlib

from resources.findings import BadInputError, Code, Finding, finding
from resources.readers.gzipmembers import MemberReader
from resources.readers.image import SourceFile
from resources.readers.source import Mark, RawFile, open_regular, unreadable
from resources.workers import Workers

PIECE = 1 << 20
"""Bytes asked for at once: one huge request makes isal build a huge temporary."""

MAX_SURPLUS = 64 << 20
"""Bytes behind the promised ones that are still read to reach the file's end; beyond that the header is not
believed."""

INFLATE_ERROR = cast("type[Exception]", isal_zlib.error)
"""What isal raises for damaged data (its type stubs call the class an instance)."""

_LONG_PIECE = 1 << 18
"""Shorter pieces are hashed at once: another thread would take longer to be told."""

EXPANSION = 1032
"""Deflate cannot expand further than this (RFC 1951: 258 bytes from two bits)."""


@dataclass(frozen=True, slots=True)
class Ending:
    """What was found at the end of a file.

    Attributes:
        source: The fingerprint of the file.
        findings: A `TRAILING_BYTES` warning when something follows the promised bytes.
    """

    source: SourceFile
    findings: tuple[Finding, ...]


_hashers = Workers("source-hash")


class _HashedFile(io.RawIOBase):
    """A raw file whose bytes are hashed as they pass: long pieces from a copy, in another thread, while they are inflated."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file
        self._sha256 = hashlib.sha256()
        self._copies = [bytearray(), bytearray()]
        self._hashing: Future[None] | None = None
        self.taken = 0

    def readable(self) -> bool:
        return True

    def readinto(self, target: memoryview) -> int:  # type: ignore[override]  # every caller here passes a memoryview
        view = memoryview(target)
        count = int(self._file.readinto(view) or 0)  # type: ignore[attr-defined]  # FileIO has it
        self._hash(view[:count])
        self.taken += count
        return count

    def _hash(self, view: memoryview) -> None:
        if len(view) < _LONG_PIECE:
            self._wait()
            self._sha256.update(view)
            return
        if len(self._copies[0]) < len(view):
            self._copies[0] = bytearray(len(view))
        copy = memoryview(self._copies[0])[: len(view)]
        copy[:] = view
        self._wait()
        self._hashing = _hashers.submit(self._sha256.update, copy)
        self._copies.reverse()

    def _wait(self) -> None:
        if self._hashing is not None:
            self._hashing.result()
            self._hashing = None

    def hexdigest(self) -> str:
        """SHA-256 of what was read so far."""
        self._wait()
        return self._sha256.hexdigest()


class ByteStream:
    """The bytes of a file from its start to its end, inflated when it is gzip.

    Args:
        file: The file, as `examine` found it.
        promised: How many (inflated) bytes its header says it holds.
        inflate: Whether to inflate; the file's own nature when not given.
        start: Stored bytes to pass over (they are hashed too) before the first byte delivered.

    Raises:
        BadInputError: UNREADABLE or FILE_CHANGED, already when it is opened.
    """

    def __init__(self, file: RawFile, promised: int, *, inflate: bool | None = None, start: int = 0) -> None:
        self.file = file
        self.promised = promised
        self.position = 0
        self._start = start
        self._inflates = file.compressed if inflate is None else inflate
        self._raw, mark = open_regular(file.path, file.name)
        self._stored = _HashedFile(self._raw)
        self._reader: _HashedFile | isal_zlib._GzipReader | MemberReader = self._stored
        try:
            file.check_mark(mark)
            self._pass_over(start)
        except BadInputError:
            self._raw.close()
            raise
        if self._inflates:
            # `igzip.open` puts a buffer before this, which costs a copy.
            self._reader = isal_zlib._GzipReader(self._stored, PIECE)  # type: ignore[arg-type]  # it only calls readinto

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._raw.close()

    def fill(self, target: memoryview) -> None:
        """Fill `target` (bytes) from the stream.

        Raises:
            BadInputError: TRUNCATED, CHECKSUM_MISMATCH, UNREADABLE or FILE_CHANGED.
        """
        done = 0
        while done < len(target):
            count = self._read(target[done : done + PIECE])
            if not count:
                self._same_now()
                raise self._too_short(self.position)
            done += count

    def skip(self, count: int) -> None:
        """Pass over `count` bytes; raises as `fill` does."""
        waste = memoryview(bytearray(min(count, PIECE)))
        while count > 0:
            self.fill(waste[:count])
            count -= min(count, len(waste))

    def finish(self) -> Ending:
        """Read to the end of the file and say what it is.

        Raises:
            BadInputError: As `fill`; TOO_LARGE when it goes on for more than `MAX_SURPLUS` bytes beyond the promised
                ones.
        """
        self.skip(self.promised - self.position)
        waste = memoryview(bytearray(PIECE))
        while self._read(waste):
            if self.position > self.promised + MAX_SURPLUS:
                raise self.file.bad(
                    Code.TOO_LARGE, f"the file goes on more than {MAX_SURPLUS} bytes beyond the {self.promised} promised"
                )
        self._drain_stored(waste)
        self._same_now()
        if self._stored.taken != self.file.mark.size:
            raise self.file.bad(
                Code.UNREADABLE, f"{self._stored.taken} bytes came out of a file of {self.file.mark.size}: read it again"
            )
        mark = self.file.mark
        source = SourceFile(self.file.path, mark.size, mark.mtime_ns, self._stored.hexdigest())
        return Ending(source, tuple(finding(Code.TRAILING_BYTES, what, file=self.file.name) for what in self._surplus()))

    def _surplus(self) -> list[str]:
        """What lies behind the promised bytes."""
        if self.position > self.promised:
            return [f"{self.position - self.promised} bytes follow the {self.promised} that the header promises"]
        if isinstance(self._reader, MemberReader):
            return [f"behind {self.position} bytes of sound gzip data follows something that is none"]
        return []

    def _read(self, target: memoryview) -> int:
        try:
            count = int(self._reader.readinto(target) or 0)
        except (EOFError, BadGzipFile, INFLATE_ERROR) as fault:
            self._same_now()
            self._turn_to_slow_reader(fault)
            return self._read(target)
        except OSError as error:
            raise unreadable(self.file.name, error) from error
        self.position += count
        return count

    def _turn_to_slow_reader(self, fault: Exception) -> None:
        """Go on behind the bytes already delivered, when the fault lies behind the promised ones.

        The fast reader looks ahead, and so loses sound bytes that something foreign follows.
        """
        try:
            verdict = self._slow_reader()
            verdict.skip(self.promised + MAX_SURPLUS + 2 * PIECE)
            if verdict.proven < self.promised or verdict.end == "whole":
                raise self._explained(verdict, fault) from fault
            self._reader = self._slow_reader()
            self._reader.skip(self.position)
        except OSError as error:
            raise unreadable(self.file.name, error) from error

    def _slow_reader(self) -> MemberReader:
        self._raw.seek(self._start)
        return MemberReader(self._raw)

    def _pass_over(self, start: int) -> None:
        self.skip(start)
        self.position = 0

    def _drain_stored(self, waste: memoryview) -> None:
        """Hash what gzip left unread, which is something only behind a foreign tail."""
        try:
            self._raw.seek(self._stored.taken)
            while self._stored.readinto(waste):
                pass
        except OSError as error:
            raise unreadable(self.file.name, error) from error

    def _same_now(self) -> None:
        try:
            self.file.check_mark(Mark.of(os.fstat(self._raw.fileno())))
        except OSError as error:
            raise unreadable(self.file.name, error) from error
        self.file.check_unchanged()

    def _too_short(self, held: int) -> BadInputError:
        what = "its gzip stream inflates to" if self._inflates else "the file holds"
        return self.file.bad(
            Code.TRUNCATED, f"truncated: the header promises {self.promised} bytes, {what} {held}; download it again"
        )

    def _explained(self, verdict: MemberReader, fault: Exception) -> BadInputError:
        if verdict.end == "damaged":
            return self.file.bad(
                Code.CHECKSUM_MISMATCH,
                f"damaged gzip data: {verdict.reason} (CRC, length or structure); download it again",
            )
        if verdict.end == "cut":
            return self.file.bad(
                Code.TRUNCATED,
                f"truncated: the gzip stream breaks off at the end of the file ({self.file.mark.size} bytes), after "
                f"{verdict.inflated} of {self.promised} promised bytes; download it again",
            )
        if verdict.end == "foreign":
            return self._too_short(verdict.inflated)
        return self.file.bad(
            Code.UNREADABLE,
            f"reading failed ({fault}) where a second look finds no fault: unreliable storage, or an odd gzip",
        )


def fingerprint(file: RawFile) -> SourceFile:
    """Read a small file, such as a separate header, from start to end.

    Raises:
        BadInputError: As `ByteStream`.
    """
    with ByteStream(file, 0) as stream:
        return stream.finish().source
