"""Files as pydicom reads them, within a budget: how many bytes and how many requests an untrusted header may cost.

pydicom builds one Python object per data element, so a file of 60 MB can ask for gigabytes and minutes, and it inflates a
deflated data set in one go, whatever comes out. Here every request counts, and inflating stops at a stated size.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol

MAX_READS = 3_000_000
"""Requests for bytes one header may cost (about two per data element); 10,000 frames with their functional groups need
two million."""

MAX_HEADER_BYTES = 256 << 20
"""Bytes of header values taken into memory; the contours of the largest structure sets take 150 MiB."""

_PIECE = 1 << 16


class BudgetExceededError(Exception):
    """A header asks for more than is granted to it."""


@dataclass(slots=True)
class Budget:
    """What may still be spent on one header.

    Attributes:
        reads: Requests left.
        n_bytes: Bytes left.
        exceeded: Why it is used up; empty while it is not. It outlives the exception, which pydicom may swallow.
    """

    reads: int = MAX_READS
    n_bytes: int = MAX_HEADER_BYTES
    exceeded: str = field(default="", init=False)

    def spend(self, n_bytes: int) -> None:
        """Pay for one request of `n_bytes`.

        Raises:
            BudgetExceededError: There is not enough left.
        """
        self.reads -= 1
        self.n_bytes -= n_bytes
        if self.reads < 0:
            raise self.exhaust(f"the header is made of more than {MAX_READS // 2} pieces")
        if self.n_bytes < 0:
            raise self.exhaust(f"the header holds more than {MAX_HEADER_BYTES} bytes")

    def exhaust(self, why: str) -> BudgetExceededError:
        """The error that ends the reading."""
        self.exceeded = why
        return BudgetExceededError(why)


class Seekable(Protocol):
    """What is asked of a file: random access to a known number of bytes."""

    def read(self, count: int, /) -> bytes:
        """At most `count` bytes from the current place."""
        ...

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Move to a place, from the start or (1) from the current one."""
        ...

    def tell(self) -> int:
        """The current place."""
        ...


class BoundedFile:
    """A file whose reading is paid for from a budget; has what pydicom asks of a file."""

    def __init__(self, file: Seekable, budget: Budget, size: int) -> None:
        self._file = file
        self._budget = budget
        self._size = size
        self._position = file.tell()
        self.read_to = self._position

    def read(self, count: int = -1) -> bytes:
        """As `io.BytesIO.read`; raises `BudgetExceededError`."""
        left = max(self._size - self._position, 0)
        count = left if count < 0 else min(count, left)
        self._budget.spend(count)
        content = self._file.read(count)
        self._position += len(content)
        self.read_to = max(self.read_to, self._position)
        return content

    def seek(self, offset: int, whence: int = 0) -> int:
        """As `io.BytesIO.seek`, from the start or the current place; places behind the end are remembered."""
        self._position = self._file.seek(offset if whence == 0 else self._position + offset)
        self.read_to = max(self.read_to, self._position)
        return self._position

    def tell(self) -> int:
        """The current place."""
        return self._position


class InflatedFile:
    """A deflated stream (RFC 1951, no wrapper) as a file of bytes, inflated on demand and never beyond `limit`.

    Args:
        file: Holds the stream from its current place to its end.
        plain: Bytes that stand before the inflated ones, so that places mean the same as in an ordinary file.
        limit: Most bytes, `plain` included, that are ever held.
        budget: Told when the limit is met.
    """

    def __init__(self, file: BinaryIO, plain: bytes, limit: int, budget: Budget) -> None:
        self._file = file
        self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        self._held = bytearray(plain)
        self._limit = limit
        self._budget = budget
        self._position = len(plain)

    @property
    def ended(self) -> bool:
        """Whether the stream came to its own end; one that is cut does not."""
        return self._inflater.eof

    def read(self, count: int) -> bytes:
        """As `io.BytesIO.read`.

        Raises:
            BudgetExceededError: The stream inflates beyond the limit.
            zlib.error: The stream is damaged.
        """
        self._inflate_to(self._position + count)
        content = bytes(self._held[self._position : self._position + count])
        self._position += len(content)
        return content

    def seek(self, offset: int, whence: int = 0) -> int:
        """As `io.BytesIO.seek`; nothing is inflated before it is read."""
        self._position = offset if whence == 0 else self._position + offset
        return self._position

    def tell(self) -> int:
        """The current place."""
        return self._position

    def _inflate_to(self, end: int) -> None:
        while len(self._held) < end and not self._inflater.eof:
            source = self._inflater.unconsumed_tail or self._file.read(_PIECE)
            if not source:
                return
            self._held += self._inflater.decompress(source, _PIECE)
            if len(self._held) > self._limit:
                raise self._budget.exhaust(f"the deflated data set inflates to more than {self._limit} bytes")
