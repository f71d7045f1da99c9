"""Does what a plan says: fetches, proves, unpacks, puts in place, records. Whatever cuts it off, the next run goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Literal, TypeVar

from resources import durable
from resources.download.archives import Archive, Extractor
from resources.download.budget import Limits
from resources.download.errors import (
    ByHandError,
    ContentError,
    DamagedError,
    DiskError,
    DownloadError,
    NotThereError,
    StoppedError,
)
from resources.download.folders import Folders
from resources.download.have import Have, adopt, identity_of, replaced_paths
from resources.download.journal import FetchedEntry, Journal, UnpackedEntry
from resources.download.members import MemberRecord
from resources.download.network import Network
from resources.download.part import check_room, disk_error
from resources.download.place import InTheWayError, put_file, put_tree, sha256_of
from resources.download.plan import ArchiveItem, Item, Piece, PlainItem, Plan
from resources.download.tokens import public_address
from resources.download.transfer import fetch
from resources.download.values import SourceRequest
from resources.download.watch import Watch

State = Literal["here", "fetched", "unpacked", "failed", "by hand"]

_T = TypeVar("_T")
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an item.

    Attributes:
        name: The file or archive.
        state: What became of it.
        source: Where it comes from.
        size: Its bytes, where it was fetched.
        detail: Why it failed, or why a person must see to it.
        unpack_by_hand: The archive that a person must unpack, and the folder to unpack it into.
    """

    name: str
    state: State
    source: SourceRequest
    size: int = 0
    detail: str = ""
    unpack_by_hand: tuple[Path, Path] | None = None


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs plans of one dataset.

    Attributes:
        folders: Where everything goes.
        journal: Where it is recorded.
        network: How it is fetched.
        watch: Who is told.
        jobs: How many files are fetched at once.
        remove_archives: Whether an archive is removed once its files are in place.
        limits: What the extractor refuses.
        refusals: Sources that want a person first, and why; they are not asked again.
    """

    folders: Folders
    journal: Journal
    network: Network
    watch: Watch
    jobs: int = 4
    remove_archives: bool = False
    limits: Limits | None = None
    refusals: dict[SourceRequest, str] = field(default_factory=dict)

    def run(self, plan: Plan) -> list[Outcome]:
        """Do everything that can be done; what fails does not hinder the rest, but a full disk ends it.

        Raises:
            DiskError: The disk does not take what is fetched.
            StoppedError: Somebody asked to stop.
        """
        self._check_room(plan)
        outcomes: list[Outcome] = []
        for together, items in groupby(plan.items, key=lambda item: isinstance(item, PlainItem)):
            if together:
                outcomes += self._at_once(self._plain, [item for item in items if isinstance(item, PlainItem)])
            else:
                have = Have(self.folders, self.journal, replaced_paths(plan.items, self.folders, self.journal))
                outcomes += [self._archive(item, have) for item in items if isinstance(item, ArchiveItem)]
        return outcomes

    def _at_once(self, work: Callable[[_T], _R], items: Iterable[_T]) -> list[_R]:
        """Do several things side by side; when one cannot go on, or the caller is interrupted, all stop."""
        done = False
        with ThreadPoolExecutor(self.jobs) as pool:
            futures = [pool.submit(work, item) for item in items]
            try:
                for future in as_completed(futures):
                    future.result()
                done = True
            finally:
                if not done:
                    self.network.halt()
                    pool.shutdown(cancel_futures=True)
        return [future.result() for future in futures]

    def _check_room(self, plan: Plan) -> None:
        have = Have(self.folders, self.journal)
        missing = 0
        for item in plan.items:
            done, begun = pending(item, have)
            if not done:
                missing += max(0, sum(piece.remote.published.size_bytes or 0 for piece in item.pieces) - begun)
        check_room(self.folders.downloads, missing, "what is still to be fetched")

    def _settled(self, item: Item, work: Callable[[], Outcome]) -> Outcome:
        """What came of an item, whatever came of it."""
        if reason := self.refusals.get(item.source):
            return Outcome(item.name, "by hand", item.source, detail=reason)
        try:
            return work()
        except (DiskError, StoppedError):
            raise
        except ByHandError as error:
            if not isinstance(error, NotThereError):
                self.refusals[item.source] = str(error)
            return Outcome(item.name, "by hand", item.source, detail=str(error))
        except DownloadError as error:
            return Outcome(item.name, "failed", item.source, detail=str(error))

    def _plain(self, item: PlainItem) -> Outcome:
        if Have(self.folders, self.journal).plain(item):
            return Outcome(item.name, "here", item.source)
        return self._settled(item, lambda: self._fetch_plain(item))

    def _fetch_plain(self, item: PlainItem) -> Outcome:
        target, name = self.folders.raw / item.target, f"raw/{item.target}"
        stranger = target.exists() and not self._is_ours(name, target)
        if stranger and (found := self._adopt(target, item, name)) is not None:
            self.journal.add_fetched(found)
            return Outcome(item.name, "here", item.source, found.size)
        entry, source = self._get(item.piece, name)
        if stranger and not item.rule.replace and sha256_of(target) != entry.checksums["sha256"]:
            raise InTheWayError(f"{target} was there before and is another file than the one fetched; move it away and run again")
        put_file(source, target)
        self._forget_part(item.piece)
        self.journal.add_fetched(entry)
        return Outcome(item.name, "fetched", item.source, entry.size)

    def _get(self, piece: Piece, name: str) -> tuple[FetchedEntry, Path]:
        """A file, whole and proven, and where it lies: put there by a person, or fetched."""
        here = self.folders.here(piece.local)
        if here.is_file() or not piece.remote.url:
            return self._take_given(here, piece, name), here
        part = self.folders.part(piece.local)
        made = fetch(piece.remote, part, self.network, self.watch)
        url = public_address(piece.remote.url)
        return FetchedEntry(name, url, made.size, made.checksums, made.proof, piece.local, made.etag), part

    def _is_ours(self, name: str, target: Path) -> bool:
        """Whether a file in the raw folder is one we fetched earlier, so that a newer version may take its place."""
        entry = self.journal.fetched.get(name)
        return entry is not None and target.is_file() and target.stat().st_size == entry.size

    def _adopt(self, target: Path, item: PlainItem, name: str) -> FetchedEntry | None:
        """A file that lies in place, where it is proven to be the published one; None where only fetching it can tell."""
        if not target.is_file():
            raise InTheWayError(f"{target} is a folder, where a file belongs")
        found = adopt(target, item.piece, name)
        if isinstance(found, FetchedEntry):
            return found if found.proof else None
        if item.rule.replace:
            return None
        raise InTheWayError(f"{target} was there before and is not the published file: {found}; move it away and run again")

    def _archive(self, item: ArchiveItem, have: Have) -> Outcome:
        if have.unpacked(item):
            return Outcome(item.name, "here", item.source)
        return self._settled(item, lambda: self._fetch_archive(item, have))

    def _fetch_archive(self, item: ArchiveItem, have: Have) -> Outcome:
        entries = self._parts(item, have)
        if not item.foreign:
            return self._unpack(item, entries, have)
        target = self.folders.raw / item.rule.into
        if item.rule.into and target.is_dir() and any(target.iterdir()):
            return Outcome(item.name, "here", item.source)
        places = (self.folders.here(item.local), target)
        return Outcome(item.name, "by hand", item.source, detail="a person must unpack it", unpack_by_hand=places)

    def _parts(self, item: ArchiveItem, have: Have) -> list[FetchedEntry]:
        """Every part of an archive, fetched where it is not here."""
        entries: dict[str, FetchedEntry] = {}
        failures: list[DownloadError] = []

        def bring(piece: Piece) -> None:
            try:
                entries[piece.local] = have.kept(piece) or self._bring(piece)
            except (DiskError, StoppedError):
                raise
            except DownloadError as error:
                failures.append(error)

        self._at_once(bring, item.pieces)
        if failures:
            raise failures[0]
        return [entries[piece.local] for piece in item.pieces]

    def _bring(self, piece: Piece) -> FetchedEntry:
        entry, lies = self._get(piece, f"downloads/{piece.local}")
        here = self.folders.here(piece.local)
        if lies != here:
            put_file(lies, here)
            self._forget_part(piece)
        self.journal.add_fetched(entry)
        return entry

    def _take_given(self, path: Path, piece: Piece, name: str) -> FetchedEntry:
        """A file that a person put there, or that a run which was cut off had not yet recorded."""
        if not path.is_file():
            raise NotThereError(f"{path} is not there yet")
        found = adopt(path, piece, name)
        if isinstance(found, str):
            raise ContentError(f"{path} is not the published file: {found}; move it away and run again")
        return found

    def _forget_part(self, piece: Piece) -> None:
        part = self.folders.part(piece.local)
        durable.remove_file(part.with_name(f"{part.name}.json"))

    def _unpack(self, item: ArchiveItem, entries: list[FetchedEntry], have: Have) -> Outcome:
        identity = identity_of(item, entries)
        record = MemberRecord(self.folders.members(item.local), identity)
        staging = self.folders.staging(item.local)
        extractor = Extractor(self.watch, self.network.stop, self.limits)
        archive = Archive(item.name, [self.folders.here(piece.local) for piece in item.pieces], identity, item.rule)
        try:
            if record.is_of_this and (gone := have.missing(item, record)):
                record.forget(gone)
            if not record.complete:
                extractor.unpack(archive, staging, record)
        except DamagedError as error:
            raise DamagedError(f"{error}. {self._let_go(entries)}") from None
        except OSError as error:
            raise disk_error(staging, error) from None
        target = self.folders.raw / item.rule.into
        keep = set() if item.rule.replace else {path for path in record.files if self._under(item, path) in have.replaced}
        put_tree(staging, target, record.files, replace=item.rule.replace, keep=keep)
        size = sum(file.size for file in record.files.values())
        self.journal.add_unpacked(UnpackedEntry(item.local, identity, len(record.files), size))
        if self.remove_archives:
            for path in archive.paths:
                durable.remove_file(path)
        return Outcome(item.name, "unpacked", item.source, sum(entry.size for entry in entries), f"{len(record.files):,} files")

    def _let_go(self, entries: list[FetchedEntry]) -> str:
        """Remove the parts of a damaged archive that nothing proves to be the published ones; returns what a person is told."""
        fetched = [entry for entry in entries if entry.url]
        doubtful = [entry for entry in fetched if not {"sha256", "md5", "git_sha1"} & set(entry.proof)]
        for entry in doubtful:
            durable.remove_file(self.folders.here(entry.local))
        if doubtful:
            return "No checksum is published that would prove it, so it was removed: the next run fetches it anew"
        if fetched:
            return "Its checksum is the published one, so that fetching it anew would not help; see the dataset's homepage"
        return f"Put another copy in its place: {', '.join(str(self.folders.here(entry.local)) for entry in entries)}"

    def _under(self, item: ArchiveItem, path: str) -> str:
        return f"{item.rule.into}/{path}" if item.rule.into else path


def pending(item: Item, have: Have) -> tuple[bool, int]:
    """Whether an item is done, and how many of its bytes an earlier attempt left."""
    if isinstance(item, PlainItem):
        return have.plain(item), have.begun(item.piece)
    if have.unpacked(item):
        return True, 0
    sizes = [entry.size if (entry := have.kept(piece)) else have.begun(piece) for piece in item.pieces]
    return False, sum(sizes)
