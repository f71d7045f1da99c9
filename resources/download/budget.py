"""How much an archive may unpack to."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from resources.download.errors import ArchiveError, DiskError

_LOOK_EVERY = 256 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """What is refused as an attack or an accident.

    Attributes:
        members: Most members, those of nested archives included.
        ratio: Most bytes unpacked for each byte of the archive ...
        ratio_floor: ... beyond this many bytes.
        reserve: Bytes that stay free on the disk.
    """

    members: int = 1_000_000
    ratio: int = 200
    ratio_floor: int = 1 << 30
    reserve: int = 256 << 20


class Budget:
    """Counts what an archive, and the archives in it, unpack to.

    Attributes:
        spent: Bytes so far.
        members: Members so far.
    """

    def __init__(self, folder: Path, packed: int, limits: Limits, declared: int | None = None) -> None:
        self.spent = 0
        self.members = 0
        self._folder = folder
        self._limits = limits
        self._most = max(limits.ratio_floor, packed * limits.ratio, declared or 0)
        self._looked_at = 0

    def add_member(self) -> None:
        """Count a member.

        Raises:
            ArchiveError: There are too many.
        """
        self.members += 1
        if self.members > self._limits.members:
            raise ArchiveError(f"it has more than {self._limits.members:,} members")

    def foresee(self, size: int, to_write: int) -> None:
        """Refuse a size that is declared before it is met.

        Args:
            size: Bytes that are to come.
            to_write: How many of them are not on the disk yet.

        Raises:
            ArchiveError: It would unpack to implausibly much.
            DiskError: The disk has no room for it.
        """
        self._check(self.spent + size)
        self._look(to_write)

    def spend(self, size: int) -> None:
        """Count bytes that are about to be written.

        Raises:
            ArchiveError: They are implausibly many.
            DiskError: The disk has no room for them.
        """
        self.spent += size
        self._check(self.spent)
        if self.spent - self._looked_at >= _LOOK_EVERY:
            self._looked_at = self.spent
            self._look(0)

    def _check(self, total: int) -> None:
        if total > self._most:
            raise ArchiveError(
                f"it would unpack to more than {self._most:,} bytes, over {self._limits.ratio} times its size; if that is right, "
                "the spec says so with `unpacked_bytes`"
            )

    def _look(self, size: int) -> None:
        free = shutil.disk_usage(self._folder).free - self._limits.reserve
        if size > free:
            raise DiskError(
                f"what it holds needs {size:,} bytes, but only {max(free, 0):,} may be used in {self._folder} "
                f"({self._limits.reserve:,} stay free); make room and run again"
            )
