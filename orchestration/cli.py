"""The `medfoundry` command: what `dagster` lacks. `dagster asset materialize` and `dagster dev` stay the front door."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from assets.dataset import Dataset, survey
from assets.demo import FEWEST_SUBJECTS, RawDataPresentError, make_kits23
from assets.overview import lines, markdown, overview
from assets.raw import RawDataMissingError
from assets.spec import read_catalog
from orchestration import score
from orchestration import status as reports
from orchestration.download import download
from orchestration.inspect import inspect
from orchestration.known import WRONG, refuse, spec_of, warn_of_broken
from orchestration.refused import told
from orchestration.standardize import standardize
from resources.layout import Layout

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Standardized, checked, measured medical-imaging data.")
app.add_typer(score.app, name="score")

Slug = Annotated[str, typer.Argument(help="Dataset, as `medfoundry list` names it.", metavar="DATASET")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]

app.command()(download)
app.command()(inspect)
app.command()(standardize)


def main() -> None:
    """Run the command; what the file system refuses is one line on standard error and exit code 2.

    Who is asked to end removes what was half made, as by Ctrl-C.
    """
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    try:
        app()
    except OSError as error:
        line = told(error)
        if line is None:
            raise
        typer.echo(line, err=True)
        sys.exit(WRONG)


def _dataset(slug: str) -> Dataset:
    return Dataset(spec_of(slug), Layout.from_environment())


def _stop(message: str, code: int = 1) -> None:
    typer.echo(message, err=True)
    raise typer.Exit(code)


def _print(content: object, lines: Iterator[str], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(content, indent=1, ensure_ascii=False))
        return
    for line in lines:
        typer.echo(line)


@app.command("list")
def list_datasets(
    *, as_json: AsJson = False, as_markdown: Annotated[bool, typer.Option("--markdown", help="Print docs/datasets.md.")] = False
) -> None:
    """List the datasets that are known."""
    catalog = read_catalog()
    if as_markdown:
        for error in catalog.broken.values():
            refuse(error)
        typer.echo(markdown(catalog.specs), nl=False)
        return
    _print([overview(spec) for spec in catalog.specs.values()], iter(lines(catalog.specs)), as_json=as_json)
    warn_of_broken(catalog)


@app.command()
def demo(*, subjects: Annotated[int, typer.Option(help="How many phantoms to make.", min=FEWEST_SUBJECTS, max=50)] = 8) -> None:
    """Make a small synthetic KiTS23 in its true raw layout; never where raw data already lie."""
    dataset = _dataset("kits23")
    try:
        summary = make_kits23(dataset.raw_root, subjects)
    except RawDataPresentError as error:
        _stop(str(error))
        return
    typer.echo(str(summary))


@app.command()
def status(slug: Slug, *, as_json: AsJson = False) -> None:
    """Say what a dataset has: subjects published, quarantined and why, rows, findings, the gate, splits, records, counts."""
    dataset = _dataset(slug)
    content = reports.status(dataset)
    _print(content, reports.status_lines(content), as_json=as_json)


@app.command()
def why(
    slug: Slug,
    subject: Annotated[str | None, typer.Argument(help="One subject; all that are not current when left out.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Say what is stale and why, and whose raw files are gone; exit code 1 when something is to be done."""
    dataset = _dataset(slug)
    try:
        found = survey(dataset, (subject,) if subject is not None else None)
    except RawDataMissingError as error:
        _stop(str(error))
        return
    content = reports.why(found, subject)
    if subject is not None and not content:
        _stop(f"{slug} has no subject {subject!r} under {found.tree.root}", 2)
    if subject is None:
        content += reports.why_dataset(dataset)
    _print(content, reports.why_lines(content), as_json=as_json)
    if any(entry["stale"] for entry in content):
        sys.exit(1)


@app.command()
def verify(slug: Slug, *, as_json: AsJson = False) -> None:
    """Read every byte of a dataset's products again and compare it with what was written; exit code 1 on damage."""
    store = _dataset(slug).store
    if not store.root.is_dir():
        _stop(f"nothing has been made of {slug} under {store.root}", 2)
    problems = [str(problem) for problem in store.verify()]
    heal = f"damaged tables and records are made anew by the next run; for a volume, `medfoundry forget {slug} SUBJECT` first"
    _print(problems, iter([*problems, heal] if problems else ["every file is as it was written"]), as_json=as_json)
    if problems:
        sys.exit(1)


@app.command()
def forget(slug: Slug, subject: Annotated[str, typer.Argument(help="The subject to make anew.")]) -> None:
    """Remove a subject's products, so that the next run makes them anew; raw files are not touched."""
    store = _dataset(slug).store
    if not store.has_manifest(subject):
        _stop(f"nothing has been made of {slug} {subject!r}", 2)
    store.withdraw(subject)
    typer.echo(f"the products of {subject} are removed; the next run of {slug} makes them anew, until then its tables name it")


@app.command()
def clean(slug: Slug, *, as_json: AsJson = False) -> None:
    """Remove what no manifest names: the leavings of a crash."""
    removed = [str(path) for path in _dataset(slug).store.clean()]
    _print(removed, iter([f"removed {path}" for path in removed] or ["nothing to remove"]), as_json=as_json)
