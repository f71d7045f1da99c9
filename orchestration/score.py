"""`medfoundry score`: what a folder of predictions is worth to a benchmark, and where it lost."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from assets.benchmark.mdsbench import GroundTruthError, LayoutError, ScoreReport, payload, score_folder, tables
from assets.benchmark.mdsbench.attribution import failure_kinds
from assets.benchmark.mdsbench.metrics import METRICS, weighted_total
from assets.benchmark.mdsbench.strict import COMPONENTS

app = typer.Typer(no_args_is_help=True, help="Score predictions against the ground truths of a benchmark.")

_PLAIN_WIDTH = 160
"""Columns of the text where there is no terminal to ask."""

_MOST_FREQUENT = 15
"""So many kinds of deduction are summed up."""


@app.command()
def mdsbench(
    predictions: Annotated[
        Path, typer.Argument(help="Folder of predictions, in any public layout; of one dataset also its own.", metavar="PRED")
    ],
    truths: Annotated[Path, typer.Argument(help="Folder of <dataset>/VLM/ground_truth*.json, or one file.", metavar="GT")],
    *,
    model: Annotated[str, typer.Option(help="Which folder below VLM/ holds the predictions.")] = "",
    strict: Annotated[bool, typer.Option("--strict", help="Also compare labels, pixels, masks, boxes with a reference.")] = False,
    reference: Annotated[Path | None, typer.Option(help="Reference standardizations for --strict; GT when left out.")] = None,
    fail_under: Annotated[float, typer.Option(help="Exit with 1 when mean E2E is below this.", min=0, max=1)] = 0.0,
    deductions: Annotated[bool, typer.Option("--deductions", help="List every deduction, not only the most frequent.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Score MDS-Bench predictions by the public evaluator's arithmetic.

    Exit codes: 0 scored; 1 mean E2E is below --fail-under; 2 nothing could be scored.
    """
    wanted = (reference or _default_reference(truths)) if strict or reference else None
    try:
        report = score_folder(predictions, truths, model=model, reference=wanted)
    except (LayoutError, GroundTruthError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from error
    if len(report.taken) == 1:
        typer.echo(f"the predictions of {report.datasets[0].key} are taken from {report.taken[0]}", err=True)
    if as_json:
        typer.echo(json.dumps(payload(report), indent=1, ensure_ascii=True, allow_nan=False))
    else:
        _show(report, every_deduction=deductions)
    if report.macro["E2E"] < fail_under:
        raise typer.Exit(1)


def _default_reference(truths: Path) -> Path:
    """Where the ground truths lie; for a single file its dataset's folder."""
    if not truths.is_file():
        return truths
    folder = truths.resolve().parent
    return folder.parent if folder.name == "VLM" else folder


Frames = Mapping[str, pl.DataFrame]


def _show(report: ScoreReport, *, every_deduction: bool) -> None:
    console = Console(highlight=False, emoji=False)
    if not console.is_terminal:
        console = Console(highlight=False, emoji=False, width=_PLAIN_WIDTH)
    frames = tables(report)
    for table in (_datasets(report), _groups(frames), _attribution(report, frames), _thresholds(frames), *_strict(frames)):
        console.print(table)
    console.print(_deductions(frames) if every_deduction else _frequent(frames))
    answered = sum(dataset.answered for dataset in report.datasets)
    console.print(
        f"{answered} of {len(report.datasets)} datasets have predictions; the others count 0 in the mean. "
        f"Weighted total {weighted_total(report.macro):.4f}, plain mean of the eleven "
        f"{sum(report.macro.values()) / len(METRICS):.4f}."
    )


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    """A table whose cells are printed as they are: what predictions say is never taken for markup."""
    listed = list(rows)
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for number, column in enumerate(columns):
        numeric = all(row[number] is None or isinstance(row[number], int | float) for row in listed)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in listed:
        table.add_row(*(Text(_cell(value)) for value in row))
    return table


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return "-" if value is None else str(value)


def _datasets(report: ScoreReport) -> Table:
    rows = [(dataset.key, *(dataset.metrics[name] for name in METRICS)) for dataset in report.datasets]
    means = [("mean of all", report.macro), ("mean of those answered", report.macro_answered)]
    rows += [(label, *(row[name] for name in METRICS)) for label, row in means]
    return _table("MDS-Bench, by dataset", ("dataset", *METRICS), rows)


def _groups(frames: Frames) -> Table:
    rows = [
        (f"{row['by']}: {row['group']}", row["datasets"], *(row[name] for name in METRICS)) for row in frames["groups"].to_dicts()
    ]
    return _table("by group", ("group", "datasets", *METRICS), rows)


def _attribution(report: ScoreReport, frames: Frames) -> Table:
    listed = list(frames["attribution"].rows())
    listed += [(f"samples with {kind}", None, number, None) for kind, number in failure_kinds(report.datasets).items()]
    return _table("where it failed (datasets below 0.5)", ("category", "mean", "failed", "of"), listed)


def _thresholds(frames: Frames) -> Table:
    return _table("mean E2E by threshold", ("threshold", "value", "E2E"), frames["thresholds"].rows())


def _strict(frames: Frames) -> list[Table]:
    if "strict" not in frames:
        return []
    columns = ("dataset", "samples", "score", "exact", "well-formed", *COMPONENTS)
    return [_table("stricter score, against the reference", columns, frames["strict"].rows())]


def _frequent(frames: Frames) -> Table:
    grouped = frames["deductions"].group_by("metric", "item", maintain_order=True)
    summed = grouped.agg(pl.len().alias("times"), pl.col("cost").sum().round(6), pl.col("detail").first())
    listed = summed.sort("cost", "metric", "item", descending=[True, False, False]).head(_MOST_FREQUENT)
    return _table("costliest deductions (--deductions lists all)", listed.columns, listed.rows())


def _deductions(frames: Frames) -> Table:
    return _table("deductions", frames["deductions"].columns, frames["deductions"].rows())
