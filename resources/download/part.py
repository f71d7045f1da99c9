"""The part of a file that is here: its bytes beside a small record of what they are part of.

`<name>.part` holds the bytes, `<name>.part.json` the version of the remote file and how many bytes are safe on the disk. Bytes
beyond that are dropped when the download goes on, so that neither a killed process nor a lost power supply leaves a hole.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from resources import durable
from resources.download.errors import DiskError
from resources.download.values import Published

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Version:
    """Which version of a remote file its bytes belong to, as far as the host says.

    Attributes:
        etag: The host's tag, quotes included; empty when it gives none.
        last_modified: Its time, as the host writes it.
        size: Size of the whole file, None when unknown.
    """

    etag: str = ""
    last_modified: str = ""
    size: int | None = None

    @classmethod
    def of(cls, headers: Mapping[str, str], size: int | None) -> Version:
        """The version an answer's headers speak of."""
        return cls(headers.get("ETag", ""), headers.get("Last-Modified", ""), size)

    @property
    def validator(self) -> str:
        """What `If-Range` may carry: a strong tag, or the time; empty when there is neither."""
        strong = self.etag if self.etag and not self.etag.startswith("W/") else ""
        return strong or ("" if self.etag else self.last_modified)

    def differs(self, other: Version) -> bool:
        """Whether the two are known to be of different content."""
        if self.size is not None and other.size is not None and self.size != other.size:
            return True
        if self.etag and other.etag:
            return self.etag.removeprefix("W/") != other.etag.removeprefix("W/")
        return bool(self.last_modified and other.last_modified and self.last_modified != other.last_modified)


class Digests:
    """Checksums of the bytes so far."""

    def __init__(self, published: Published) -> None:
        self.count = 0
        self._hashes = {"sha256": hashlib.sha256()}
        if published.md5:
            self._hashes["md5"] = hashlib.md5(usedforsecurity=False)
        if published.git_sha1 and published.size_bytes is not None:
            header = f"blob {published.size_bytes}\0".encode()
            self._hashes["git_sha1"] = hashlib.sha1(header, usedforsecurity=False)

    def update(self, chunk: bytes) -> None:
        """Take in the next bytes."""
        self.count += len(chunk)
        for made in self._hashes.values():
            made.update(chunk)

    def values(self) -> dict[str, str]:
        """Kind of checksum -> hexadecimal digits; always with `sha256`."""
        return {kind: made.hexdigest() for kind, made in self._hashes.items()}


class Part:
    """Bytes of one file on their way.

    Attributes:
        path: Where they lie.
        kept: How many of them are safe on the disk.
        version: What they are part of; None before anything has come.
    """

    def __init__(self, path: Path, published: Published, checkpoint_bytes: int) -> None:
        self.path = path
        self.kept = 0
        self.version: Version | None = None
        self._published = published
        self._checkpoint_bytes = checkpoint_bytes
        self._digests = Digests(published)
        self._file: BinaryIO | None = None
        self._read_state()

    @property
    def state_path(self) -> Path:
        """Where the record lies."""
        return self.path.with_name(f"{self.path.name}.json")

    @property
    def position(self) -> int:
        """How many bytes there are."""
        return self._digests.count

    def resume(self, proceed: Callable[[int], None]) -> int:
        """Make ready to go on, and say from which byte: 0 when nothing here can be trusted to be of the same file.

        Args:
            proceed: Called with the position while what is here is read; may raise to stop.

        Raises:
            DiskError: The bytes cannot be read or cut.
        """
        proven = self._published.has_checksum or bool(self.version and self.version.validator)
        size = self.path.stat().st_size if self.path.is_file() else 0
        if not proven or self.version is None or size < self.kept:
            self.kept = 0
        with _disk(self.path):
            if self.kept == 0:
                self._reset()
                return 0
            if self._file is None:
                self._file = self.path.open("r+b")
            self._file.truncate(self.kept)
            if self._digests.count != self.kept:
                self._read_again(self._file, proceed)
            self._file.seek(self.kept)
        return self.kept

    def begin(self, version: Version) -> None:
        """Start over with another version, from the first byte.

        Raises:
            DiskError: There is no room, or the folder cannot be written to.
        """
        self._reset()
        self.version = version
        with _disk(self.path):
            durable.make_folder(self.path.parent)
            durable.remove_file(self.state_path)
            self._file = self.path.open("wb")

    def write(self, chunk: bytes) -> None:
        """Append bytes.

        Raises:
            DiskError: The disk does not take them.
        """
        if self._file is None:
            raise ValueError(f"{self.path} was written to before it was begun or resumed")
        with _disk(self.path):
            self._file.write(chunk)
            self._digests.update(chunk)
            if self.position - self.kept >= self._checkpoint_bytes:
                self.checkpoint()

    def checkpoint(self, *, record: bool = True) -> None:
        """Make the bytes so far safe, and record how many they are, which a file that is whole does not need."""
        if self._file is None or self.version is None:
            return
        with _disk(self.path):
            self._file.flush()
            os.fsync(self._file.fileno())
            self.kept = self.position
            if record:
                self._write_state()

    def close(self) -> None:
        """Let go of the file; what is on the disk stays."""
        if self._file is not None:
            file, self._file = self._file, None
            with _disk(self.path):
                file.close()

    def discard(self) -> None:
        """Remove the bytes and their record."""
        self._reset()
        for path in (self.path, self.state_path):
            durable.remove_file(path)

    def digests(self) -> dict[str, str]:
        """Checksums of all bytes so far."""
        return self._digests.values()

    def check_room(self, size: int | None) -> None:
        """Refuse early what the disk cannot hold.

        Raises:
            DiskError: A file of this size does not fit.
        """
        check_room(self.path.parent, 0 if size is None else size - self.kept, self.path.name)

    def _reset(self) -> None:
        self.close()
        self.kept = 0
        self.version = None
        self._digests = Digests(self._published)

    def _read_again(self, file: BinaryIO, proceed: Callable[[int], None]) -> None:
        self._digests = Digests(self._published)
        file.seek(0)
        while self._digests.count < self.kept:
            self._digests.update(file.read(min(_BLOCK, self.kept - self._digests.count)))
            proceed(self._digests.count)

    def _read_state(self) -> None:
        try:
            with _disk(self.path):
                said = json.loads(self.state_path.read_bytes() if self.state_path.exists() else b"{}")
            self.version = Version(**said["version"])
            self.kept = int(said["kept"])
        except (ValueError, KeyError, TypeError):
            self.version, self.kept = None, 0

    def _write_state(self) -> None:
        if self.version is not None:
            state = {"version": asdict(self.version), "kept": self.kept}
            durable.write_bytes(self.state_path, json.dumps(state).encode())


def check_room(folder: Path, size: int, name: str) -> None:
    """Refuse what the disk of a folder, which need not exist yet, cannot hold.

    Raises:
        DiskError: Fewer than `size` bytes are free.
    """
    there = next(place for place in (folder, *folder.parents) if place.exists())
    free = shutil.disk_usage(there).free
    if size > free:
        raise DiskError(f"{name} needs {size:,} bytes more, but only {free:,} are free in {there}; make room and run again")


@contextmanager
def _disk(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise disk_error(path, error) from None


def disk_error(path: Path, error: OSError) -> DiskError:
    """What a failed write means, and what to do."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return DiskError(f"no room left to write {path}: {error.strerror}; what is here is kept, make room and run again")
    return DiskError(f"{path} cannot be written: {error.strerror or error}; what is here is kept")
