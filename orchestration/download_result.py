"""`medfoundry download`: fetch the raw files of a dataset, or say what a person must do to get them.

Exit codes: 0 everything is in place, 1 something failed, 2 the command was wrong, 3 the licence is not accepted yet, 4 something
is left that a person must do, 130 interrupted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import typer

from assets.fetch import folders_for, request_for
from orchestration.download_watch import readable, watching
from orchestration.known import WRONG, spec_of
from resources.download.errors import DownloadError, StoppedError
from resources.download.licence import is_accepted, terms
from resources.download.plan import ArchiveItem, Plan
from resources.download.run import Outcome
from resources.download.session import LicenceNotAcceptedError, Options, Pending, Session, Todo, foreign_todos
from resources.layout import Layout

FAILED, NOT_ACCEPTED, BY_HAND, INTERRUPTED = 1, 3, 4, 130
_MOST_LINES = 30


def fetch_and_tell(
    slug: str,
    *,
    accept_license: bool,
    dry_run: bool,
    sources: tuple[int, ...],
    jobs: int,
    remove_archives: bool,
    as_json: bool,
) -> None:
    """Fetch what is missing of a dataset, or only say what is, and print what came of it.

    Raises:
        typer.Exit: With one of the exit codes above, when something is not in place.
    """
    options = Options(sources=sources, jobs=jobs, remove_archives=remove_archives)
    with watching(silent=as_json) as watch:
        session = _session(slug, watch, options)
        try:
            result = _Result(session, f"medfoundry download {slug}")
            if dry_run:
                result.plan_only()
            else:
                result.run(accept=accept_license)
        except LicenceNotAcceptedError as error:
            result.refuse(str(error))
        except (KeyboardInterrupt, StoppedError):
            session.network.halt()
            result.fail("stopped; what was fetched is kept, and the same command goes on", INTERRUPTED)
        except DownloadError as error:
            result.fail(str(error), FAILED)
    if as_json:
        typer.echo(json.dumps(result.content, indent=1, ensure_ascii=False))
    else:
        for line in result.lines:
            typer.echo(line)
    if result.code:
        raise typer.Exit(result.code)


def _session(slug: str, watch: Any, options: Options) -> Session:
    spec = spec_of(slug)
    try:
        session = Session(request_for(spec), folders_for(spec, Layout.from_environment()), watch, options)
        _ = session.sources
    except ValueError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(WRONG) from None
    return session


class _Result:
    """What is printed in the end, as text and as JSON.

    Attributes:
        lines: As text.
        content: As JSON.
        code: Exit code.
    """

    def __init__(self, session: Session, command: str) -> None:
        self.session = session
        self.command = command
        self.lines: list[str] = []
        self.code = 0
        dataset = session.dataset
        self.content: dict[str, Any] = {
            "dataset": dataset.slug,
            "licence": dataset.licence,
            "access": dataset.access,
            "raw": str(session.folders.raw),
            "downloads": str(session.folders.downloads),
        }

    def plan_only(self) -> None:
        plan = self.session.plan()
        pending = self.session.pending(plan)
        accepted = is_accepted(self.session.dataset, self.session.journal)
        self.lines += terms(self.session.dataset).splitlines()
        self.lines.append("Accepted before." if accepted else "Not accepted yet: --accept-license")
        unlisted = f"; {len(plan.by_hand)} of the sources cannot be listed yet, see below" if plan.by_hand else ""
        self.lines += ["", *self._sources(), "", *_plan_lines(pending, unlisted), f"into {self.session.folders.raw}"]
        self.content |= {
            "accepted": accepted,
            "sources": [{"kind": s.kind, "id": s.id, "mirror": s.mirror, "note": s.note} for s in self.session.dataset.sources],
            "files": [_pending_entry(entry) for entry in pending],
        }
        waiting = [(entry.item.source, "its files are fetched by hand") for entry in pending if entry.by_hand]
        self._close(plan, self.session.todo(plan, waiting, self.command), [])

    def run(self, *, accept: bool) -> None:
        if not accept and not is_accepted(self.session.dataset, self.session.journal):
            raise LicenceNotAcceptedError(terms(self.session.dataset))
        with self.session.alone():
            plan = self.session.plan()
            outcomes = self.session.run(plan, accept=accept)
        failed = [outcome for outcome in outcomes if outcome.state == "failed"]
        waiting = [(o.source, o.detail) for o in outcomes if o.state == "by hand" and not o.unpack_by_hand]
        todo = self.session.todo(plan, waiting, self.command) + foreign_todos(outcomes, self.command)
        self.content["files"] = [_outcome_entry(outcome) for outcome in outcomes]
        self.lines.append(_summary(outcomes))
        self._close(plan, todo, [f"{outcome.name}: {outcome.detail}" for outcome in failed])
        if self.code == 0:
            chain = f"dagster asset materialize --select '{self.session.dataset.slug}*'"
            self.lines.append(f"Everything is in place below {self.session.folders.raw}; next: {chain}")

    def refuse(self, text: str) -> None:
        self.code = NOT_ACCEPTED
        self.content["accepted"] = False
        self.lines += [*text.splitlines(), "", f"Nothing is fetched before you agree to this: {self.command} --accept-license"]

    def fail(self, text: str, code: int) -> None:
        self.code = code
        self.content["error"] = text
        self.lines.append(text)

    def _close(self, plan: Plan, todo: Sequence[Todo], failures: Sequence[str]) -> None:
        failures = [*plan.failures, *failures]
        self.content["by_hand"] = [{"what": t.what, "reason": t.reason, "steps": list(t.steps)} for t in todo]
        self.content["failures"] = failures
        for entry in todo:
            self.lines += ["", f"Left to you: {entry.what} ({entry.reason})"]
            self.lines += [f"  {number}. {step}" for number, step in enumerate(entry.steps, 1)]
        if failures:
            self.lines += ["", "Failed:", *(f"  {failure}" for failure in failures[:_MOST_LINES])]
            self.lines += [f"  ... and {len(failures) - _MOST_LINES} more"] if len(failures) > _MOST_LINES else []
            self.lines.append(f"Run the command again to go on: {self.command}")
        self.code = FAILED if failures else BY_HAND if todo else 0

    def _sources(self) -> Iterator[str]:
        chosen = self.session.sources
        for number, source in enumerate(self.session.dataset.sources, 1):
            skipped = "" if source in chosen else "  (not chosen: a mirror)" if source.mirror else "  (not chosen)"
            revision = f" at {source.revision}" if source.revision else ""
            yield f"source {number}: {source.kind} {source.id}{revision}{skipped}"
            if source.note:
                yield f"  note: {source.note}"


def _plan_lines(pending: Sequence[Pending], unlisted: str) -> Iterator[str]:
    for entry in pending[:_MOST_LINES]:
        kind = "unpack" if isinstance(entry.item, ArchiveItem) else "fetch"
        yield f"  {_standing(entry):<10} {kind:<6} {entry.item.name}  {readable(entry.size)}"
    if len(pending) > _MOST_LINES:
        yield f"  ... and {len(pending) - _MOST_LINES} more"
    missing = [entry for entry in pending if not entry.done]
    total = sum((entry.size or 0) - min(entry.begun, entry.size or 0) for entry in missing)
    unknown = sum(entry.size is None for entry in missing)
    more = f" and {unknown} of unknown size" if unknown else ""
    yield f"{len(pending)} files, {len(pending) - len(missing)} in place, {readable(total)}{more} to fetch{unlisted}"


def _standing(entry: Pending) -> str:
    if entry.done:
        return "in place"
    if entry.by_hand:
        return "by hand"
    return f"{100 * entry.begun // entry.size} % here" if entry.begun and entry.size else "missing"


def _pending_entry(entry: Pending) -> dict[str, Any]:
    return {
        "name": entry.item.name,
        "state": "here" if entry.done else "by hand" if entry.by_hand else "missing",
        "size": entry.size,
        "here": entry.begun,
        "unpacked": isinstance(entry.item, ArchiveItem),
    }


def _outcome_entry(outcome: Outcome) -> dict[str, Any]:
    return {"name": outcome.name, "state": outcome.state, "size": outcome.size, "detail": outcome.detail}


def _summary(outcomes: Sequence[Outcome]) -> str:
    counts = {state: sum(outcome.state == state for outcome in outcomes) for state in ("here", "fetched", "unpacked", "failed")}
    size = sum(outcome.size for outcome in outcomes if outcome.state in {"fetched", "unpacked"})
    return (
        f"{counts['here']} in place before, {counts['fetched']} fetched, {counts['unpacked']} archives unpacked "
        f"({readable(size)}), {counts['failed']} failed"
    )
