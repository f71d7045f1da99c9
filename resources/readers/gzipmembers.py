"""Reads gzip slowly and exactly: which bytes are proven, and how the file ends.

The fast reader of isal says the same for a file cut in its checksum and for one with a few bytes behind it, and it
loses the sound bytes before either. This one is used to tell what is wrong with a file that the fast one refused.
"""

from __future__ import annotations

import zlib
from typing import BinaryIO, Literal

_STORED_PIECE = 1 << 16
_GZIP = 31


class MemberReader:
    """Inflates the members of a gzip file one after the other.

    Attributes:
        inflated: Bytes inflated so far.
        proven: Those of them whose member's CRC and length have been checked.
        end: How the data ends, once `readinto` has returned 0: `whole`; `cut` within a member; `damaged`; or
            `foreign`, when something follows a member that is neither zero padding nor another member.
        reason: What zlib says of damage.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.inflated = 0
        self.proven = 0
        self.end: Literal["", "whole", "cut", "damaged", "foreign"] = ""
        self.reason = ""
        self._file = file
        self._member = zlib.decompressobj(_GZIP)
        self._stored = b""

    def readinto(self, target: memoryview) -> int:
        """Inflate some bytes into `target`; 0 at the end, whatever kind of end it is."""
        while not self.end:
            piece = self._inflate(len(target))
            if piece:
                target[: len(piece)] = piece
                return len(piece)
        return 0

    def skip(self, count: int) -> None:
        """Inflate and drop `count` bytes, or what is left."""
        waste = memoryview(bytearray(min(count, 1 << 20)))
        while count > 0 and (got := self.readinto(waste[:count])):
            count -= got

    def _inflate(self, limit: int) -> bytes:
        stored = self._stored or self._file.read(_STORED_PIECE)
        if not stored:
            self.end = "cut"
            return b""
        try:
            piece = self._member.decompress(stored, limit)
        except zlib.error as error:
            self.end, self.reason = "damaged", str(error)
            return b""
        self.inflated += len(piece)
        self._stored = self._member.unconsumed_tail
        if self._member.eof:
            self.proven = self.inflated
            self._next_member()
        return piece

    def _next_member(self) -> None:
        rest = self._member.unused_data.lstrip(b"\0")
        while len(rest) < 2 and (more := self._file.read(_STORED_PIECE)):
            rest = (rest + more).lstrip(b"\0")
        self._member, self._stored = zlib.decompressobj(_GZIP), rest
        if not rest:
            self.end = "whole"
        elif not rest.startswith(b"\x1f\x8b"):
            self.end = "foreign"
