"""What of a plan is here already, told without reading more than is needed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from resources.download.folders import Folders
from resources.download.journal import FetchedEntry, Journal
from resources.download.members import MemberRecord
from resources.download.part import Digests, disk_error
from resources.download.plan import ArchiveItem, Item, Piece, PlainItem
from resources.download.tokens import public_address
from resources.download.transfer import differences, proofs
from resources.download.values import Published

_BLOCK = 1 << 20


def identity_of(item: ArchiveItem, entries: Sequence[FetchedEntry]) -> str:
    """What an unpacked archive is of: the content of its parts and the rule it was unpacked by."""
    joined = hashlib.sha256("".join(entry.checksums["sha256"] for entry in entries).encode()).hexdigest()
    return f"{joined}/{item.rule.digest()}"


@dataclass(frozen=True, slots=True)
class Have:
    """Looks at the journal and the disk.

    Attributes:
        folders: Where to look.
        journal: What was done.
        replaced: Paths below the raw folder that a later archive has put in place of an earlier one's.
    """

    folders: Folders
    journal: Journal
    replaced: frozenset[str] = frozenset()

    def plain(self, item: PlainItem) -> bool:
        """Whether a file is in place, as it was fetched."""
        entry = self.journal.fetched.get(f"raw/{item.target}")
        return entry is not None and entry.is_of(item.piece.remote) and _has_size(self.folders.raw / item.target, entry.size)

    def unpacked(self, item: ArchiveItem) -> bool:
        """Whether an archive's files are in place, as they were unpacked; the archive itself may be gone."""
        entries = [self.recorded(piece) for piece in item.pieces]
        known = [entry for entry in entries if entry is not None]
        done = self.journal.unpacked.get(item.local)
        if len(known) != len(entries) or done is None or done.identity != identity_of(item, known):
            return False
        record = MemberRecord(self.folders.members(item.local), done.identity)
        return record.complete and not self.missing(item, record)

    def missing(self, item: ArchiveItem, record: MemberRecord) -> set[str]:
        """Paths of an archive that are recorded as unpacked, but lie neither in place nor where they wait to be put there."""
        target, staging = self.folders.raw / item.rule.into, self.folders.staging(item.local)
        gone = set()
        for path, file in record.files.items():
            placed = target / path
            if _has_size(placed, file.size) or _has_size(staging / path, file.size):
                continue
            if not (_under(item.rule.into, path) in self.replaced and placed.is_file()):
                gone.add(path)
        return gone

    def recorded(self, piece: Piece) -> FetchedEntry | None:
        """What the journal knows of an archive's part, if it is the file that is asked for."""
        entry = self.journal.fetched.get(f"downloads/{piece.local}")
        return entry if entry is not None and entry.is_of(piece.remote) else None

    def kept(self, piece: Piece) -> FetchedEntry | None:
        """The same, if the part itself is still here."""
        entry = self.recorded(piece)
        return entry if entry is not None and _has_size(self.folders.here(piece.local), entry.size) else None

    def begun(self, piece: Piece) -> int:
        """Bytes that an earlier attempt left."""
        part = self.folders.part(piece.local)
        return part.stat().st_size if part.is_file() else 0


def replaced_paths(items: Sequence[Item], folders: Folders, journal: Journal) -> frozenset[str]:
    """Paths below the raw folder that archives with `replace` were unpacked to."""
    found: set[str] = set()
    for item in items:
        if isinstance(item, ArchiveItem) and item.rule.replace and (done := journal.unpacked.get(item.local)):
            record = MemberRecord(folders.members(item.local), done.identity)
            found |= {_under(item.rule.into, path) for path in record.files}
    return frozenset(found)


def adopt(path: Path, piece: Piece, name: str) -> FetchedEntry | str:
    """What lies at `path` without being in the journal: an entry for it when it is as published, else how it differs.

    Raises:
        DiskError: It cannot be read.
    """
    published = piece.remote.published
    try:
        size = path.stat().st_size
        wrong = differences(Published(size_bytes=published.size_bytes), size, {})
        made = {} if wrong else _digests(path, published)
    except OSError as error:
        raise disk_error(path, error) from None
    wrong = wrong or differences(published, size, made)
    if wrong:
        return wrong
    return FetchedEntry(name, public_address(piece.remote.url), size, made, proofs(published, made), piece.local)


def _digests(path: Path, published: Published) -> dict[str, str]:
    digests = Digests(published)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digests.update(block)
    return digests.values()


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.is_file() and path.stat().st_size == size
    except OSError:
        return False


def _under(folder: str, path: str) -> str:
    return f"{folder}/{path}" if folder else path
