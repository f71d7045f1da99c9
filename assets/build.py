"""Builds many subjects side by side: workers compute into staging, chunks are judged by the gate, and what passes is published.

One bad subject never stops its siblings: it is quarantined and the next is taken. What is wrong with the machine rather than with
the data (a full disk, say) does stop the run, after everything that was complete has been published.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from threading import Condition

import polars as pl

from assets.dataset import Survey
from assets.incremental import SubjectPlan
from assets.raw import RawSubject
from assets.subject import SubjectBuild, build_subject, manifest_of
from resources.findings import Finding
from resources.manifest import Manifest
from resources.memory import heap_at_rest, keep_freed_memory
from resources.store import PublishConflictError

CHUNK_SUBJECTS = 64
CHUNK_SECONDS = 20.0
"""A chunk is judged and published when it is this large or this old, whichever comes first."""

Gate = Callable[[Mapping[str, pl.DataFrame], pl.DataFrame], Mapping[str, Sequence[Finding]]]
"""Judges the tables of a chunk of subjects (table -> rows; the `volumes` rows of all): subject -> what is wrong with it."""


@dataclass(frozen=True)
class Outcome:
    """What became of one subject.

    Attributes:
        subject: Subject.
        steps: The steps that were computed.
        manifest: What is recorded now.
        seconds: Time spent, by step.
        preview: Overlay picture, PNG, where one was made.
    """

    subject: str
    steps: tuple[str, ...]
    manifest: Manifest
    seconds: Mapping[str, float]
    preview: bytes

    @property
    def quarantined(self) -> bool:
        """Whether the subject is kept out."""
        return self.manifest.state == "quarantined"


@dataclass
class Progress:
    """How many subjects are computed; `report` is called with one line every few seconds and at the end."""

    total: int
    report: Callable[[str], None]
    every_seconds: float = 5.0
    started: float = field(default_factory=time.monotonic)
    done: int = 0
    _last: float = 0.0

    def step(self) -> None:
        """One more subject is done."""
        self.done += 1
        now = time.monotonic()
        if now - self._last >= self.every_seconds or self.done == self.total:
            self._last = now
            rate = self.done / max(now - self.started, 1e-9)
            left = (self.total - self.done) / rate
            self.report(f"{self.done}/{self.total} subjects, {rate:.2f}/s, {left:.0f} s left")


class MemoryBudget:
    """Lets a worker start only while the bytes that all workers hold stay under a limit; one always may."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._used = 0
        self._changed = Condition()

    def take(self, size: int) -> None:
        """Wait until `size` more bytes fit."""
        with self._changed:
            self._changed.wait_for(lambda: self._used == 0 or self._used + size <= self._limit)
            self._used += size

    def give_back(self, size: int) -> None:
        """Say that they are free again."""
        with self._changed:
            self._used -= size
            self._changed.notify_all()


class BuildFailedError(Exception):
    """Something other than bad input went wrong; the message names the subjects, and what they met."""


def build_subjects(
    survey: Survey,
    plans: Sequence[SubjectPlan],
    gate: Gate,
    report: Callable[[str], None],
    *,
    workers: int | None = None,
) -> Iterator[Outcome]:
    """Build, judge and publish; yields every subject once its products are visible or it is quarantined.

    Raises:
        BuildFailedError: Some subjects could be neither made nor quarantined. Raised last: all others are done.
    """
    progress = Progress(len(plans), report)
    run = _Run(survey, gate, progress)
    order = sorted(plans, key=lambda plan: -_raw_bytes(survey.tree.subjects[plan.subject]))
    n_workers = min(workers or os.cpu_count() or 1, max(len(plans), 1))
    queue = iter(order)
    keep_freed_memory()
    with heap_at_rest(), ThreadPoolExecutor(n_workers, thread_name_prefix="subject") as pool:
        waiting: dict[Future[SubjectBuild], SubjectPlan] = {}
        while True:
            while len(waiting) < 2 * n_workers and not run.is_hopeless and (plan := next(queue, None)) is not None:
                waiting[pool.submit(run.build, plan)] = plan
            if not waiting:
                break
            finished, _ = wait(waiting, timeout=1.0, return_when=FIRST_COMPLETED)
            for future in finished:
                run.collect(waiting.pop(future), future)
            if run.is_due() or (not waiting and run.ready):
                yield from run.publish()
        yield from run.publish()
    if run.failures:
        shown = "; ".join(f"{subject}: {_plain(error)}" for subject, error in run.failures.items())
        error = next(iter(run.failures.values()))
        raise BuildFailedError(f"{len(run.failures)} subjects could not be built: {shown}") from error


def _plain(error: BaseException) -> str:
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "no space left on the disk that holds the products; free some and run again, what is done stays done"
    if isinstance(error, OSError) and error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return f"{error.filename} cannot be written ({error.strerror}); make the data root writable and run again"
    return str(error) if isinstance(error, OSError | LookupError) else repr(error)


def _raw_bytes(raw: RawSubject) -> int:
    return sum(entry.size for entry in raw.files)


@dataclass
class _Run:
    """The state of one call of `build_subjects`."""

    survey: Survey
    gate: Gate
    progress: Progress
    ready: list[tuple[SubjectBuild, ExitStack]] = field(default_factory=list)
    failures: dict[str, BaseException] = field(default_factory=dict)
    chunk_started: float = field(default_factory=time.monotonic)
    stacks: dict[str, ExitStack] = field(default_factory=dict)
    memory: MemoryBudget = field(default_factory=lambda: MemoryBudget(_memory_limit()))

    def build(self, plan: SubjectPlan) -> SubjectBuild:
        """Runs in a worker."""
        raw = self.survey.tree.subjects[plan.subject]
        size = EXPECTED_EXPANSION * _raw_bytes(raw)
        self.memory.take(size)
        try:
            stack = self.stacks[plan.subject] = ExitStack()
            staging = stack.enter_context(self.survey.dataset.store.staging())
            before = self.survey.manifests.get(plan.subject)
            synthetic = self.survey.tree.synthetic
            return build_subject(self.survey.dataset, raw, plan.steps, staging, before, synthetic=synthetic)
        finally:
            self.memory.give_back(size)

    def collect(self, plan: SubjectPlan, future: Future[SubjectBuild]) -> None:
        """Take a worker's result."""
        self.progress.step()
        error = future.exception()
        stack = self.stacks.pop(plan.subject, ExitStack())
        if error is not None:
            self.failures[plan.subject] = error
            stack.close()
            return
        if not self.ready:
            self.chunk_started = time.monotonic()
        self.ready.append((future.result(), stack))

    @property
    def is_hopeless(self) -> bool:
        """Whether the machine, rather than one subject, is at fault: a full disk would meet every other subject too."""
        return any(isinstance(error, OSError) for error in self.failures.values())

    def is_due(self) -> bool:
        """Whether the chunk is large or old enough to be judged."""
        old = time.monotonic() - self.chunk_started > CHUNK_SECONDS
        return len(self.ready) >= CHUNK_SUBJECTS or (bool(self.ready) and old)

    def publish(self) -> Iterator[Outcome]:
        """Judge the chunk, publish what passes, quarantine what does not."""
        chunk, self.ready = self.ready, []
        good = [build for build, _ in chunk if not build.quarantined]
        verdict = self._judge(good)
        for build, stack in chunk:
            with stack:
                build.findings += verdict.get(build.subject, ())
                try:
                    outcome = self._commit(build)
                except (OSError, PublishConflictError) as error:
                    self.failures[build.subject] = error
                else:
                    yield outcome

    def _judge(self, builds: Sequence[SubjectBuild]) -> Mapping[str, Sequence[Finding]]:
        """Ask the gate about builds that computed the same steps together, so that their tables must agree."""
        alike: dict[tuple[str, ...], list[SubjectBuild]] = {}
        for build in builds:
            alike.setdefault(build.steps, []).append(build)
        found: dict[str, Sequence[Finding]] = {}
        for group in alike.values():
            tables = {name: pl.concat([build.tables[name] for build in group]) for name in group[0].tables}
            found.update(self.gate(tables, pl.concat([build.volumes for build in group])))
        return found

    def _commit(self, build: SubjectBuild) -> Outcome:
        store, before = self.survey.dataset.store, self.survey.manifests.get(build.subject)
        manifest = manifest_of(self.survey.dataset, build, before, synthetic=self.survey.tree.synthetic)
        if build.quarantined:
            store.quarantine(manifest)
        else:
            moved = [path for step in build.steps for path in build.moved[step]]
            store.publish(build.staging, manifest, build.steps, moved)
        return Outcome(build.subject, build.steps, manifest, build.seconds, build.preview)


EXPECTED_EXPANSION = 4
"""Bytes in memory per byte of raw file: label maps are held whole, images a few slabs at a time."""


def _memory_limit() -> int:
    """Half of the machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
