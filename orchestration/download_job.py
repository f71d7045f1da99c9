"""The job that fetches a dataset's raw files from within Dagster: `dagster job launch -j download_dataset`, or the launchpad."""

# Dagster reads the annotation of an op's configuration as it stands, so it must not be a text.

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import dagster as dg

from assets.fetch import folders_for, request_for
from assets.spec import DatasetSpec
from resources.download.errors import DownloadError
from resources.download.session import LicenceNotAcceptedError, Options, Session, foreign_todos
from resources.layout import Layout


class DownloadConfig(dg.Config):
    """What to download.

    Attributes:
        slug: The dataset.
        accept_license: Whether its licence and terms are agreed to; once is enough.
        remove_archives: Whether an archive is removed once its files are in place.
    """

    slug: str
    accept_license: bool = False
    remove_archives: bool = False


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


def download_job(specs: Mapping[str, DatasetSpec], layout: Layout) -> dg.JobDefinition:
    """The job over these datasets."""

    @dg.op(description="Fetch, prove and unpack the raw files of a dataset; what is here already is left alone.")
    def download(context: dg.OpExecutionContext, config: DownloadConfig) -> None:
        if config.slug not in specs:
            raise dg.Failure(f"there is no dataset {config.slug!r}; known: {', '.join(specs)}", allow_retries=False)
        spec = specs[config.slug]
        options = Options(remove_archives=config.remove_archives)
        session = Session(request_for(spec), folders_for(spec, layout), _LogWatch(context.log), options)
        context.add_output_metadata(_run(session, config))

    @dg.job(description="Fetch the raw files of the dataset that the run configuration names.")
    def download_dataset() -> None:
        download()

    return download_dataset


def _run(session: Session, config: DownloadConfig) -> dict[str, Any]:
    command = f"medfoundry download {config.slug}"
    try:
        with session.alone():
            plan = session.plan()
            outcomes = session.run(plan, accept=config.accept_license)
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
