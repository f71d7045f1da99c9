"""Names of archives and of their parts, and the parts of one read as one file."""

from __future__ import annotations

import bisect
import io
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

ArchiveKind = Literal["zip", "tar", "7z", "single"]

_TAR = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_SINGLE = (".gz", ".bz2", ".xz")
_PART = re.compile(r"(?P<base>.+?)\.(?:part)?(?P<order>\d{1,4}|[a-z]{2})", re.IGNORECASE | re.DOTALL)
_FOREIGN = re.compile(r".*\.(rar|r\d\d|z\d\d|tar\.zst|tzst|zst|lha|arj|iso|dmg)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class PartName:
    """A part of an archive: the archive's name and the part's place in it, which sorts."""

    base: str
    order: str


def archive_kind(name: str) -> ArchiveKind | None:
    """How a whole archive of this name is read, or None. A `.gz` that is no tar holds a single file."""
    low = name.lower()
    if low.endswith(".zip"):
        return "zip"
    if low.endswith(".7z"):
        return "7z"
    if low.endswith(_TAR):
        return "tar"
    return "single" if low.endswith(_SINGLE) else None


def part_name(name: str) -> PartName | None:
    """What `name` is a part of: `x.zip.001`, `x.7z.002`, `x.tar.gz.part1`, `x.tar.aa`; None when it is none."""
    found = None if archive_kind(name) else _PART.fullmatch(name)
    if found is None or archive_kind(found["base"]) in {None, "single"}:
        return None
    order = found["order"].lower()
    return PartName(found["base"], order.zfill(4) if order.isdigit() else order)


def unpacked_by_default(name: str) -> bool:
    """Whether a file of this name is an archive that is unpacked unless its spec says otherwise."""
    part = part_name(name)
    return archive_kind(part.base if part else name) in {"zip", "tar", "7z"}


def is_foreign(name: str) -> bool:
    """Whether it is an archive that is not read here: rar, split zip (`.z01`), Zstandard and other rare ones."""
    return _FOREIGN.fullmatch(name) is not None


def stem(name: str) -> str:
    """An archive's name without the endings that make it one."""
    low = name.lower()
    endings = (*_TAR, ".zip", ".7z", *_SINGLE)
    return next((name[: -len(end)] for end in sorted(endings, key=len, reverse=True) if low.endswith(end)), name)


def missing_parts(orders: Iterable[str]) -> bool:
    """Whether a part is missing among the first ones or between the others; whether the last is there, only the archive tells."""
    found = sorted(orders)
    if all(order.isdigit() for order in found):
        numbers = [int(order) for order in found]
        return numbers[0] not in {0, 1} or numbers != list(range(numbers[0], numbers[0] + len(numbers)))
    letters = [first + second for first, second in itertools.product("abcdefghijklmnopqrstuvwxyz", repeat=2)]
    return found != letters[: len(found)]


class _Joined(io.RawIOBase):
    """Several files, one after the other, as one."""

    def __init__(self, paths: Sequence[Path]) -> None:
        super().__init__()
        self._files: list[BinaryIO] = []
        for path in paths:
            self._files.append(path.open("rb"))
        sizes = [path.stat().st_size for path in paths]
        self._starts = [0, *itertools.accumulate(sizes)]
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._starts[-1]}[whence]
        if base + offset < 0:
            raise ValueError(f"position {base + offset} is before the start")
        self._position = base + offset
        return self._position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if self._position >= self._starts[-1]:
            return 0
        index = bisect.bisect_right(self._starts, self._position) - 1
        file = self._files[index]
        file.seek(self._position - self._starts[index])
        room = min(len(buffer), self._starts[index + 1] - self._position)
        content = file.read(room)
        buffer[: len(content)] = content
        self._position += len(content)
        return len(content)

    def close(self) -> None:
        for file in self._files:
            file.close()
        super().close()


def open_joined(paths: Sequence[Path]) -> BinaryIO:
    """One file to read, made of all the parts in their order."""
    return io.BufferedReader(_Joined(paths), buffer_size=256 << 10)
