"""Where members of an archive go: each is judged by its name, kind and size before a byte of it is written."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from resources import durable
from resources.download.budget import Budget
from resources.download.errors import ArchiveError, StoppedError
from resources.download.members import MemberRecord, Unpacked
from resources.download.names import Names, UnsafeNameError, safe_path
from resources.download.part import disk_error
from resources.download.watch import Watch

CHUNK = 256 << 10
"""Bytes read from an archive at a time."""

FILE, FOLDER = "file", "folder"


@dataclass(frozen=True, slots=True)
class Member:
    """What an archive says of one of its members.

    Attributes:
        name: As it stands there.
        kind: `file`, `folder`, or in words what else it is.
        size: Bytes it unpacks to; None when the archive does not say.
        encrypted: Whether a password is needed.
    """

    name: str
    kind: str
    size: int | None = None
    encrypted: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """Which members are unpacked, and how much of their paths is dropped.

    Attributes:
        members: Patterns of whole paths; everything when empty.
        strip: Leading folders to drop; a file that lies above is left out.
        under: Folder to put them in.
    """

    members: tuple[re.Pattern[str], ...] = ()
    strip: int = 0
    under: str = ""

    def place(self, path: str) -> str:
        """Where a member goes; empty when it is not wanted."""
        if self.members and not any(pattern.fullmatch(path) for pattern in self.members):
            return ""
        kept = "/".join(path.split("/")[self.strip :])
        return f"{self.under}/{kept}" if kept and self.under else kept


class Sink:
    """A folder that members are unpacked to.

    Attributes:
        folder: The folder.
        record: What it holds for certain.
        budget: What may still come.
        inside: The nested archive whose members come now; empty for the outer one.
    """

    def __init__(self, folder: Path, record: MemberRecord, budget: Budget, watch: Watch, stop: threading.Event) -> None:
        self.folder = folder
        self.record = record
        self.budget = budget
        self.inside = ""
        self._watch = watch
        self._stop = stop
        self._names = Names()
        for path in (*record.files, *record.opened):
            self._names.add_file(path)

    def has(self, path: str) -> bool:
        """Whether a member is unpacked already."""
        return path in self.record.files or path in self.record.opened

    def admit(self, member: Member, choice: Choice) -> str:
        """The path below the folder that a member is to be written to; empty when there is nothing to write.

        Raises:
            ArchiveError: It must not be written.
        """
        self.budget.add_member()
        try:
            path = choice.place(safe_path(member.name))
            if not path:
                return ""
            if member.kind not in {FILE, FOLDER}:
                raise ArchiveError(f"{member.name[:200]!r} is {member.kind}; only files and folders are unpacked")
            if member.kind == FOLDER:
                self._names.add_folder(path)
                return ""
            recorded = self.record.files.get(path)
            if path not in self.record.opened and (recorded is None or recorded.inside != self.inside):
                self._names.add_file(path)
        except UnsafeNameError as error:
            raise ArchiveError(str(error)) from None
        if member.encrypted:
            raise ArchiveError(f"{member.name[:200]!r} is encrypted; get the password from the provider and unpack it by hand")
        if member.size is not None and member.size < 0:
            raise ArchiveError(f"{member.name[:200]!r} says that its size is {member.size}")
        return path

    def foresee(self, sizes: Iterable[tuple[str, int]]) -> None:
        """Refuse what is too much before anything is written.

        Args:
            sizes: Path and size of all that is to come.
        """
        listed = list(sizes)
        self.budget.foresee(sum(size for _, size in listed), sum(size for path, size in listed if not self.has(path)))

    def skip(self, path: str) -> None:
        """Count a member that is unpacked already."""
        if path in self.record.files:
            self.budget.spent += self.record.files[path].size

    def writer(self, path: str, size: int | None) -> Writer:
        """Takes the bytes of a member, and records it when it is left without an error."""
        return Writer(self, path, size)

    def proceed(self) -> None:
        """Show how far it is.

        Raises:
            StoppedError: Somebody asked to stop.
        """
        if self._stop.is_set():
            raise StoppedError("stopped")
        self._watch.reach(self.record.archive, self.budget.spent)


class Writer(AbstractContextManager["Writer"]):
    """Takes the bytes of one member."""

    def __init__(self, sink: Sink, path: str, size: int | None) -> None:
        self._sink = sink
        self._path = path
        self._size = size
        self._target = sink.folder / path
        self._hash = hashlib.sha256()
        self._count = 0
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        self._sink.proceed()
        try:
            durable.observe("write", self._target)
            self._target.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._target.open("wb")
        except OSError as error:
            raise disk_error(self._target, error) from None
        return self

    def write(self, chunk: bytes) -> None:
        """Take the next bytes.

        Raises:
            ArchiveError: They are more than the archive said, or implausibly many.
            DiskError: The disk does not take them.
            StoppedError: Somebody asked to stop.
        """
        self._count += len(chunk)
        self._sink.budget.spend(len(chunk))
        if self._size is not None and self._count > self._size:
            raise ArchiveError(f"{self._path!r} is larger than the {self._size:,} bytes the archive says")
        if self._file is None:
            raise ValueError(f"{self._path} is written to outside its context")
        try:
            self._file.write(chunk)
        except OSError as error:
            raise disk_error(self._target, error) from None
        self._hash.update(chunk)
        self._sink.proceed()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.let_go()
        if kind is not None:
            return
        if self._size is not None and self._count != self._size:
            raise ArchiveError(f"{self._path!r} has {self._count:,} bytes, the archive says {self._size:,}")
        try:
            file = Unpacked(self._path, self._count, self._hash.hexdigest(), self._sink.inside)
            self._sink.record.add(file, self._sink.folder)
        except OSError as failure:
            raise disk_error(self._target, failure) from None

    def let_go(self) -> None:
        """Close the file; what is not recorded is written anew the next time.

        Raises:
            DiskError: The disk does not take the last bytes.
        """
        try:
            if self._file is not None:
                self._file.close()
        except OSError as failure:
            raise disk_error(self._target, failure) from None
