"""The record of what an archive was unpacked to: one line for every member that is safe on the disk.

It lies beside the archive and outlives it. After a crash, what it names is not unpacked again; what it does not name is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resources import durable
from resources.download.safe import make_safe

RECORD = ".members.jsonl"
"""What the record of an archive is called, behind the archive's name."""

_BATCH_FILES = 1000
_BATCH_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A file that came out of an archive.

    Attributes:
        path: Below the folder the archive is put in.
        size: Bytes.
        sha256: Of its content.
        inside: The nested archive it came out of; empty for the outer one.
    """

    path: str
    size: int
    sha256: str
    inside: str = ""


class MemberRecord:
    """What of an archive is unpacked.

    Attributes:
        path: The record.
        files: Path -> file, for all that are recorded.
        opened: Nested archives whose members are all recorded; they themselves are gone.
        listed: Whether all members of the outer archive are recorded.
        complete: Whether everything is recorded, nested archives included.
    """

    def __init__(self, path: Path, identity: str) -> None:
        self.path = path
        self.files: dict[str, Unpacked] = {}
        self.opened: set[str] = set()
        self.listed = False
        self.complete = False
        self._identity = identity
        self._pending: list[tuple[Unpacked, Path]] = []
        self._pending_bytes = 0
        self._known = self._read()

    @property
    def archive(self) -> str:
        """Name of the archive."""
        return self.path.name.removesuffix(RECORD)

    @property
    def is_of_this(self) -> bool:
        """Whether there is a record, and it is of the same archive unpacked by the same rule."""
        return self._known

    def begin(self) -> None:
        """Start the record anew."""
        self.files, self.opened, self.listed, self.complete = {}, set(), False, False
        durable.write_bytes(self.path, _line({"unpacking": self._identity}))
        self._known = True

    def forget(self, paths: set[str]) -> None:
        """Drop files that are no longer where they were; they are to be unpacked again."""
        self.files = {path: file for path, file in self.files.items() if path not in paths}
        self.opened, self.listed, self.complete = set(), False, False
        lines = [_line({"unpacking": self._identity}), *(_line(_said(file)) for file in self.files.values())]
        durable.write_bytes(self.path, b"".join(lines))

    def add(self, file: Unpacked, root: Path) -> None:
        """Note a file that is written below `root`; it counts once a batch is safe."""
        self._pending.append((file, root / file.path))
        self._pending_bytes += file.size
        if len(self._pending) >= _BATCH_FILES or self._pending_bytes >= _BATCH_BYTES:
            self.flush(root)

    def flush(self, root: Path) -> None:
        """Make the noted files, which lie below `root`, safe, then record them."""
        if not self._pending:
            return
        make_safe([lies for _, lies in self._pending], root)
        append_lines(self.path, b"".join(_line(_said(file)) for file, _ in self._pending))
        self.files |= {file.path: file for file, _ in self._pending}
        self._pending, self._pending_bytes = [], 0

    def note_opened(self, path: str) -> None:
        """Record that a nested archive is unpacked; it may be removed after this."""
        append_lines(self.path, _line({"opened": path}))
        self.opened.add(path)
        self.files.pop(path, None)

    def note_listed(self) -> None:
        """Record that all members of the outer archive are recorded."""
        append_lines(self.path, _line({"listed": len(self.files)}))
        self.listed = True

    def finish(self) -> None:
        """Record that this is all."""
        append_lines(self.path, _line({"complete": len(self.files)}))
        self.complete = True

    def _read(self) -> bool:
        lines = list(read_lines(self.path))
        if not lines or lines[0].get("unpacking") != self._identity:
            return False
        for said in lines[1:]:
            self._take(said)
        return True

    def _take(self, said: dict[str, Any]) -> None:
        if "path" in said:
            self.files[said["path"]] = Unpacked(said["path"], said["size"], said["sha256"], said.get("inside", ""))
        elif "opened" in said:
            self.opened.add(said["opened"])
            self.files.pop(said["opened"], None)
        self.listed = self.listed or "listed" in said
        self.complete = self.complete or "complete" in said


def append_lines(path: Path, content: bytes) -> None:
    """Append whole lines to a file and make them safe; what a crash left of a last line is closed first."""
    durable.observe("append", path)
    with path.open("a+b") as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            content = content if file.read(1) == b"\n" else b"\n" + content
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file that grows by lines; a line that a crash cut off is passed over."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    for line in content.splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict):
            yield said


def _said(file: Unpacked) -> dict[str, Any]:
    said = {"path": file.path, "size": file.size, "sha256": file.sha256}
    return said | {"inside": file.inside} if file.inside else said


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode() + b"\n"
