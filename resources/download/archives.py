"""The only extractor: archives of any kind, whole or in parts, one inside the other, into a folder that nobody reads yet.

Members are judged before they are written (`sink.py`, `names.py`, `budget.py`) and recorded once they are safe (`members.py`), so
that a run that was cut off goes on with the member it was at.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from resources import durable
from resources.download import archive_tar, archive_zip
from resources.download.budget import Budget, Limits
from resources.download.errors import ArchiveError, DamagedError
from resources.download.joined import ArchiveKind, archive_kind, open_joined, stem
from resources.download.members import MemberRecord
from resources.download.part import disk_error
from resources.download.sink import Choice, Sink
from resources.download.values import Rule
from resources.download.watch import Watch

_Unpack = Callable[[BinaryIO, Sink, Choice], None]


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive that is here.

    Attributes:
        name: Its name, without the number of a part.
        paths: Its parts, in order; one where it is whole.
        identity: Differs when its content does.
        rule: What is wanted of it, and where.
    """

    name: str
    paths: Sequence[Path]
    identity: str
    rule: Rule


class Extractor:
    """Unpacks archives.

    Attributes:
        limits: What is refused.
    """

    def __init__(self, watch: Watch, stop: threading.Event, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._watch = watch
        self._stop = stop

    def unpack(self, archive: Archive, folder: Path, record: MemberRecord) -> None:
        """Unpack what the archive's rule asks for into `folder`, and record every member.

        Args:
            archive: The archive.
            folder: Where members go; it holds nothing but what the record names, and remains of a run that was cut off.
            record: What is there already.

        Raises:
            ArchiveError: The archive is damaged or holds what must not be written; folder and record are removed then.
            DiskError: The disk does not take it; what is there is kept.
            StoppedError: Somebody asked to stop; what is there is kept.
        """
        self._watch.begin(record.archive, "unpacking", archive.rule.unpacked_bytes)
        try:
            self._unpack(archive, folder, record)
        except ArchiveError as error:
            self.discard(folder, record)
            raise type(error)(f"{archive.name} cannot be unpacked: {error}") from None
        except OSError as error:
            raise disk_error(folder, error) from None
        finally:
            self._watch.end(record.archive)

    def _unpack(self, archive: Archive, folder: Path, record: MemberRecord) -> None:
        if not record.is_of_this:
            self.discard(folder, record)
            record.begin()
        durable.make_folder(folder)
        packed = sum(path.stat().st_size for path in archive.paths)
        budget = Budget(folder, packed, self.limits, archive.rule.unpacked_bytes)
        sink = Sink(folder, record, budget, self._watch, self._stop)
        if not record.listed:
            with open_joined(archive.paths) as file:
                self._open(archive.name, file, sink, Choice(archive.rule.members, archive.rule.strip))
            record.note_listed()
        self._open_nested(sink, archive.rule.nested)
        record.finish()

    def discard(self, folder: Path, record: MemberRecord) -> None:
        """Remove what was unpacked and its record."""
        durable.remove_file(record.path)
        if folder.exists():
            durable.remove_tree(folder)

    def _open(self, name: str, file: BinaryIO, sink: Sink, choice: Choice) -> None:
        kind = archive_kind(name)
        if kind is None:
            raise ArchiveError("it is no archive that is read here")
        unpack, broken = self._reader(kind, stem(name.rpartition("/")[2]))
        try:
            unpack(file, sink, choice)
        except broken as error:
            raise DamagedError(f"it is damaged, or not what its name says ({type(error).__name__}: {error})") from None
        finally:
            sink.record.flush(sink.folder)

    def _reader(self, kind: ArchiveKind, inside: str) -> tuple[_Unpack, tuple[type[Exception], ...]]:
        """What unpacks an archive of a kind, and what it raises over a damaged one."""
        if kind == "7z":
            from resources.download import archive_7z  # noqa: PLC0415 - loads py7zr, which takes a second

            return archive_7z.unpack, archive_7z.BROKEN
        if kind == "zip":
            return partial(archive_zip.unpack, most_members=self.limits.members), archive_zip.BROKEN
        if kind == "tar":
            return archive_tar.unpack, archive_tar.BROKEN
        return lambda file, sink, choice: archive_tar.unpack_single(file, inside, sink, choice), archive_tar.BROKEN

    def _open_nested(self, sink: Sink, deepest: int) -> None:
        """Open the archives among the members, then those among theirs; each goes into a folder of its name."""
        for depth in range(1, deepest + 1):
            archives = {path for path in sink.record.files if _opens(path)}
            around = archives | sink.record.opened
            for path in sorted(path for path in archives if _depth(path, around) == depth):
                sink.inside = path
                with (sink.folder / path).open("rb") as file:
                    self._open(path, file, sink, Choice(under=stem(path)))
                sink.record.note_opened(path)
        for path in sink.record.opened:
            durable.remove_file(sink.folder / path)


def _opens(path: str) -> bool:
    return archive_kind(path) in {"zip", "tar", "7z"}


def _depth(path: str, archives: set[str]) -> int:
    """How many archives a member lies in, the outer one included."""
    return 1 + sum(path.startswith(f"{stem(other)}/") for other in archives)
