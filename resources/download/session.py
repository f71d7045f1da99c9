"""A download from the outside: who asks, what is planned, what came of it, and what a person must still do."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from resources.download import instructions, licence
from resources.download.budget import Limits
from resources.download.folders import Folders, source_folder
from resources.download.have import Have
from resources.download.hosts.listing import Asker, Endpoints
from resources.download.journal import Journal, only_one
from resources.download.network import Network
from resources.download.plan import Item, Plan, make_plan
from resources.download.policy import Policy
from resources.download.run import Outcome, Runner, pending
from resources.download.values import DatasetRequest, SourceRequest
from resources.download.watch import Watch


class LicenceNotAcceptedError(Exception):
    """The terms were not agreed to yet; the message is what they are."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to download.

    Attributes:
        sources: Numbers of the sources to fetch, from 1; those that are no mirrors when empty.
        jobs: How many files are fetched at once.
        remove_archives: Whether an archive is removed once its files are in place.
        policy: Limits of patience.
        limits: What the extractor refuses.
        endpoints: Where the hosts are asked.
    """

    sources: tuple[int, ...] = ()
    jobs: int = 4
    remove_archives: bool = False
    policy: Policy = field(default_factory=Policy)
    limits: Limits | None = None
    endpoints: Endpoints = field(default_factory=Endpoints)


@dataclass(frozen=True, slots=True)
class Todo:
    """Something a person must do.

    Attributes:
        what: The source or archive.
        reason: Why a program cannot.
        steps: What to do, in order.
    """

    what: str
    reason: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pending:
    """How an item stands before anything is fetched.

    Attributes:
        item: The item.
        done: Whether it is in place.
        begun: Bytes that are here already.
        size: Its bytes, None where the host does not say.
    """

    item: Item
    done: bool
    begun: int
    size: int | None

    @property
    def by_hand(self) -> bool:
        """Whether a person must bring a file of it."""
        return not self.done and not self.begun and any(not piece.remote.url for piece in self.item.pieces)


class Session:
    """A download of one dataset.

    Attributes:
        dataset: What is fetched.
        folders: Where it goes.
        journal: What was done before.
        network: How it is fetched; its `halt` ends everything.
    """

    def __init__(self, dataset: DatasetRequest, folders: Folders, watch: Watch, options: Options | None = None) -> None:
        self.dataset = dataset
        self.folders = folders
        self.options = options or Options()
        self.journal = Journal(folders.journal)
        self.network = Network(self.options.policy, threading.Event())
        self._watch = watch

    @property
    def sources(self) -> tuple[SourceRequest, ...]:
        """The sources to fetch.

        Raises:
            ValueError: There is no source of a number that was asked for.
        """
        everything = self.dataset.sources
        strangers = [number for number in self.options.sources if not 1 <= number <= len(everything)]
        if strangers:
            raise ValueError(f"{self.dataset.slug} has {len(everything)} sources, none with the number {strangers[0]}")
        if self.options.sources:
            return tuple(everything[number - 1] for number in self.options.sources)
        return tuple(source for source in everything if not source.mirror)

    def plan(self) -> Plan:
        """List the sources.

        Raises:
            StoppedError: Somebody asked to stop.
        """
        return make_plan(self.sources, self.folders, self.journal, Asker(self.network, self._watch, self.options.endpoints))

    def pending(self, plan: Plan) -> list[Pending]:
        """How every item stands."""
        have = Have(self.folders, self.journal)
        found = []
        for item in plan.items:
            sizes = [piece.remote.published.size_bytes for piece in item.pieces]
            known = [size for size in sizes if size is not None]
            found.append(Pending(item, *pending(item, have), sum(known) if len(known) == len(sizes) else None))
        return found

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes out of this dataset's downloads, and read again what they did.

        Raises:
            DownloadError: Another one is at work.
        """
        with only_one(self.folders.downloads):
            self.journal = Journal(self.folders.journal)
            yield

    def run(self, plan: Plan, *, accept: bool) -> list[Outcome]:
        """Do what the plan says; to be called within `alone`.

        Args:
            plan: The plan.
            accept: Whether the terms are agreed to now; once is enough.

        Raises:
            LicenceNotAcceptedError: They are not, and were not before.
            DiskError: The disk does not take what is fetched.
            StoppedError: Somebody asked to stop.
        """
        if accept:
            licence.accept(self.dataset, self.journal)
        if not licence.is_accepted(self.dataset, self.journal):
            raise LicenceNotAcceptedError(licence.terms(self.dataset))
        runner = Runner(
            self.folders,
            self.journal,
            self.network,
            self._watch,
            jobs=self.options.jobs,
            remove_archives=self.options.remove_archives,
            limits=self.options.limits,
        )
        return runner.run(plan)

    def todo(self, plan: Plan, waiting: Sequence[tuple[SourceRequest, str]], command: str) -> list[Todo]:
        """What a person must do.

        Args:
            plan: The plan.
            waiting: Sources of which something is missing, each with the reason.
            command: How to go on afterwards.
        """
        reasons = {hand.source: hand.reason for hand in plan.by_hand if not hand.begun}
        for source, reason in waiting:
            listed = next((hand.reason for hand in plan.by_hand if hand.source == source), reason)
            reasons.setdefault(source, listed)
        return [self._steps(source, reason, command) for source, reason in reasons.items()]

    def _steps(self, source: SourceRequest, reason: str, command: str) -> Todo:
        folder = self.folders.here(source_folder(source))
        steps = instructions.steps(source, folder, self.folders.raw, command)
        return Todo(f"{source.kind} {source.id}", reason, tuple(steps))


def foreign_todos(outcomes: Sequence[Outcome], command: str) -> list[Todo]:
    """What a person must do with archives that are not read here."""
    found = []
    for outcome in outcomes:
        if outcome.unpack_by_hand:
            steps = instructions.foreign(outcome.name, *outcome.unpack_by_hand, command)
            found.append(Todo(outcome.name, outcome.detail, tuple(steps)))
    return found
