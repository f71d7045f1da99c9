"""What was fetched, unpacked and agreed to: one JSON object a line, each safe on the disk before the next thing begins.

The journal lies in `downloads/<slug>/`, beside the archives. It holds no address that grants access, and no token.
"""

from __future__ import annotations

import fcntl
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from resources import durable
from resources.download.errors import DownloadError
from resources.download.members import append_lines, read_lines
from resources.download.tokens import public_address
from resources.download.transfer import checksums, differences
from resources.download.values import RemoteFile


@dataclass(frozen=True, slots=True)
class FetchedEntry:
    """A file that was fetched and proven.

    Attributes:
        file: Where it was put, relative to the data root, with forward slashes.
        url: Public form of its address; empty where a person fetched it.
        size: Bytes.
        checksums: Of its content, always with `sha256`.
        proof: What it was compared with.
        local: Its name below the downloads folder, where it was or is kept.
        etag: The host's tag.
    """

    file: str
    url: str
    size: int
    checksums: dict[str, str]
    proof: tuple[str, ...]
    local: str = ""
    etag: str = ""

    def is_of(self, file: RemoteFile) -> bool:
        """Whether it is the file that is asked for: it is as published, or it came from the same address where nothing is."""
        known = all(kind in self.checksums for kind, value in checksums(file.published) if value)
        if not known or differences(file.published, self.size, self.checksums):
            return False
        return file.published.has_checksum or not file.url or self.url == public_address(file.url)


@dataclass(frozen=True, slots=True)
class UnpackedEntry:
    """An archive that was unpacked and whose members are in place.

    Attributes:
        archive: Its name below the downloads folder.
        identity: Of its content and its rule.
        members: How many files came of it.
        size: Their bytes.
    """

    archive: str
    identity: str
    members: int
    size: int


class Journal:
    """The journal of one dataset. Appending is safe from several threads.

    Attributes:
        path: Where it lies.
        fetched: By file.
        unpacked: By archive.
        accepted: What was agreed to: the text that was shown -> when.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fetched: dict[str, FetchedEntry] = {}
        self.unpacked: dict[str, UnpackedEntry] = {}
        self.accepted: dict[str, str] = {}
        self._lock = threading.Lock()
        for said in read_lines(path):
            self._take(said)

    def add_fetched(self, entry: FetchedEntry) -> None:
        """Record a file."""
        self._append({"did": "fetched", **asdict(entry)})

    def add_unpacked(self, entry: UnpackedEntry) -> None:
        """Record an archive."""
        self._append({"did": "unpacked", **asdict(entry)})

    def add_accepted(self, shown: str) -> None:
        """Record that a licence was agreed to, in the words in which it was shown."""
        self._append({"did": "accepted", "shown": shown})

    def _append(self, said: dict[str, Any]) -> None:
        said["at"] = datetime.now(UTC).isoformat(timespec="seconds")
        line = json.dumps(said, ensure_ascii=False).encode() + b"\n"
        with self._lock:
            new = not self.path.exists()
            durable.make_folder(self.path.parent)
            append_lines(self.path, line)
            if new:
                durable.sync(self.path.parent)
            self._take(said)

    def _take(self, said: dict[str, Any]) -> None:
        fields = {key: value for key, value in said.items() if key not in {"did", "at"}}
        try:
            if said.get("did") == "fetched":
                fetched = FetchedEntry(**{**fields, "proof": tuple(fields["proof"])})
                self.fetched[fetched.file] = fetched
            elif said.get("did") == "unpacked":
                unpacked = UnpackedEntry(**fields)
                self.unpacked[unpacked.archive] = unpacked
            elif said.get("did") == "accepted":
                self.accepted[fields["shown"]] = said["at"]
        except (TypeError, KeyError):
            return


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Hold a folder's lock, which the kernel drops when its holder dies, however it dies.

    Raises:
        DownloadError: Another process holds it.
    """
    durable.make_folder(folder)
    with (folder / ".lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DownloadError(f"another process is downloading into {folder}; wait for it or stop it") from None
        yield
