"""What the download job does. Apart from the job, because the libraries it needs take a second to load."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import dagster as dg

from assets.fetch import folders_for, request_for
from assets.spec import DatasetSpec
from resources.download.errors import DownloadError
from resources.download.session import LicenceNotAcceptedError, Options, Session, foreign_todos
from resources.layout import Layout


@dataclass(frozen=True, slots=True)
class _LogWatch:
    """Puts what is worth a line into the run's log."""

    log: logging.Logger

    def begin(self, name: str, doing: str, size: int | None) -> None:
        """Nothing is shown: thousands of files would flood the log."""

    def reach(self, name: str, position: int) -> None:
        """Nothing is shown."""

    def end(self, name: str) -> None:
        """Nothing is shown."""

    def say(self, text: str) -> None:
        """Log it."""
        self.log.warning(text)


def fetch(
    spec: DatasetSpec, layout: Layout, log: logging.Logger, *, accept_license: bool, remove_archives: bool
) -> dict[str, Any]:
    """Fetch what is missing; returns what the run shows of it.

    Raises:
        dg.Failure: The licence is not accepted, something failed, or something is left to a person.
    """
    options = Options(remove_archives=remove_archives)
    session = Session(request_for(spec), folders_for(spec, layout), _LogWatch(log), options)
    command = f"medfoundry download {spec.slug}"
    try:
        with session.alone():
            plan = session.plan()
            outcomes = session.run(plan, accept=accept_license)
    except LicenceNotAcceptedError as error:
        raise dg.Failure(f"accept_license is not set, and nothing is fetched before:\n{error}", allow_retries=False) from None
    except DownloadError as error:
        raise dg.Failure(str(error)) from None
    failures = [*plan.failures, *(f"{o.name}: {o.detail}" for o in outcomes if o.state == "failed")]
    if failures:
        raise dg.Failure("\n".join(failures))
    waiting = [(o.source, o.detail) for o in outcomes if o.state == "by hand" and not o.unpack_by_hand]
    todo = session.todo(plan, waiting, command) + foreign_todos(outcomes, command)
    if todo:
        steps = "\n".join(f"{entry.what} ({entry.reason}): {' '.join(entry.steps)}" for entry in todo)
        raise dg.Failure(f"something is left to a person:\n{steps}", allow_retries=False)
    sizes = sum(outcome.size for outcome in outcomes)
    return {"raw_folder": str(session.folders.raw), "files": len(outcomes), "bytes_fetched": sizes}
