"""Shows how far a download is: bars on a terminal, lines elsewhere, nothing where a program reads."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from resources.download.watch import Unwatched, Watch

_LINE_EVERY_S = 30.0
_LONGEST_NAME = 44


def readable(size: int | None) -> str:
    """A number of bytes for people."""
    if size is None:
        return "size unknown"
    amount, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"


@dataclass
class Bars:
    """A bar for each file at work."""

    progress: Progress
    tasks: dict[str, TaskID] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, name: str, doing: str, size: int | None) -> None:
        """Show a bar."""
        with self.lock:
            if name in self.tasks:
                self.progress.update(self.tasks[name], total=size)
            else:
                self.tasks[name] = self.progress.add_task(f"{doing} {_short(name)}", total=size)

    def reach(self, name: str, position: int) -> None:
        """Move it."""
        with self.lock:
            if name in self.tasks:
                self.progress.update(self.tasks[name], completed=position)

    def end(self, name: str) -> None:
        """Take it away."""
        with self.lock:
            if name in self.tasks:
                self.progress.remove_task(self.tasks.pop(name))

    def say(self, text: str) -> None:
        """Print a line above the bars."""
        self.progress.console.print(text, markup=False, highlight=False)


@dataclass
class Lines:
    """A line for each file, and one now and then for what takes long."""

    print_line: Callable[[str], None]
    work: dict[str, tuple[str, int | None, float]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, name: str, doing: str, size: int | None) -> None:
        """Print what is begun."""
        with self.lock:
            if name not in self.work:
                self.print_line(f"{doing} {name} ({readable(size)})" if size is not None else f"{doing} {name}")
            self.work[name] = (doing, size, self.work[name][2] if name in self.work else time.monotonic())

    def reach(self, name: str, position: int) -> None:
        """Print how far it is, when the last line about it is old."""
        with self.lock:
            doing, size, last = self.work.get(name, ("", None, time.monotonic()))
            if doing and time.monotonic() - last >= _LINE_EVERY_S:
                of = f" of {readable(size)}" if size is not None else ""
                self.print_line(f"{doing} {name}: {readable(position)}{of}")
                self.work[name] = (doing, size, time.monotonic())

    def end(self, name: str) -> None:
        """Forget it."""
        with self.lock:
            self.work.pop(name, None)

    def say(self, text: str) -> None:
        """Print it."""
        with self.lock:
            self.print_line(text)


@contextmanager
def watching(*, silent: bool) -> Iterator[Watch]:
    """Whatever suits where standard error goes; `silent` shows nothing."""
    if silent:
        yield Unwatched()
    elif sys.stderr.isatty():
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            yield Bars(progress)
    else:
        yield Lines(lambda text: typer.echo(text, err=True))


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"...{name[3 - _LONGEST_NAME :]}"
