"""What our MDS-Bench records are worth on the miniatures: from the catalog's specs, and from `medfoundry inspect` drafts alone.

    python benchmarks/records_score.py --facts FOLDER [--only SLUG ...] [--markdown FILE] [--json FILE]

Every miniature of an MDS-Bench layout is made anew. Its ground truth is in the public form and comes from what the maker wrote
and from the table of published conventions in FOLDER (`datasets.csv`), see `public_truths.py`; no spec has a part in it. The
records are made without Dagster, and scored by our own scorer. A draft sees the raw folder and the list of targets, as an agent
does, and neither the ground truth nor the catalog.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl
from inspect_layouts import specs
from public_truths import Row, Truth, TruthMaker, read_rows

from assets.benchmark.mdsbench.files import Folder
from assets.benchmark.mdsbench.metrics import METRICS, macro
from assets.benchmark.mdsbench.report import tables
from assets.benchmark.mdsbench.score import ScoreReport, score_dataset
from assets.benchmark.mdsbench.truth import parse_truth
from assets.inspect.draft import as_spec
from assets.inspect.inspection import inspect_folder
from assets.mds.score import largest_losses
from assets.raw import SYNTHETIC_MARKER, RawDataMissingError, discover
from assets.spec import DatasetSpec
from assets.strategies.candidate import CandidateError, make_candidate
from assets.strategies.place import Place, PlaceError, place_of
from tests import data_makers

PREFIX = "mds_"
WORTH_TELLING = 0.002
"""Losses below this share of a metric are left out of the table."""


@dataclass(frozen=True)
class Line:
    """What one dataset got.

    Attributes:
        slug: The dataset.
        group: Its collection.
        samples: How many targets it has.
        metrics: The eleven, of records made by the catalog's spec.
        drafted: The same of records made by inspection's draft.
        lost: Metric, item, share of the metric and example, of the first.
        lost_by_draft: The same of the second.
        left_out: What the ground truth does not ask, for want of knowledge.
        trouble: Why there is no draft, or there are no records.
    """

    slug: str
    group: str
    samples: int
    metrics: Mapping[str, float]
    drafted: Mapping[str, float]
    lost: tuple[Mapping[str, Any], ...]
    lost_by_draft: tuple[Mapping[str, Any], ...]
    left_out: tuple[str, ...]
    trouble: str


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--facts", type=Path, required=True, help="folder with datasets.csv")
    options.add_argument("--only", nargs="*", default=[])
    options.add_argument("--no-drafts", action="store_true", help="leave out the second column")
    options.add_argument("--markdown", type=Path)
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    rows = read_rows(chosen.facts / "datasets.csv")
    lines = []
    for slug, spec in specs().items():
        if not slug.startswith(PREFIX) or (chosen.only and slug not in chosen.only):
            continue
        lines.append(line_of(spec, rows[spec.raw_name.removeprefix("mdsbench/")], drafts=not chosen.no_drafts))
        print(text_of(lines[-1]), flush=True)
    print(summary(lines))
    if chosen.markdown:
        chosen.markdown.write_text(markdown(lines), encoding="utf-8")
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(line) for line in lines], indent=1), encoding="utf-8")


def line_of(spec: DatasetSpec, row: Row, *, drafts: bool) -> Line:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "made" / row.folder
        truth = TruthMaker(row, root, getattr(data_makers, spec.slug)(root)).truth()
        place = Place(root, row.tail, row.folder)
        metrics, lost, trouble = scored(spec, place, Path(folder) / "work", truth)
        drafted, lost_by_draft, problem = ({}, (), "") if not drafts else by_draft(root, row, Path(folder), truth)
        return Line(
            spec.slug, row.group, len(truth.targets), metrics, drafted, lost, lost_by_draft, truth.left_out, trouble or problem
        )


Scored = tuple[Mapping[str, float], tuple[Mapping[str, Any], ...], str]


def by_draft(root: Path, row: Row, folder: Path, truth: Truth) -> Scored:
    """The score of what inspection drafts from the raw folder and the list of targets alone."""
    raw = folder / "raw" / row.folder
    shutil.copytree(root, raw, ignore=lambda _, names: {name for name in names if name in ("VLM", SYNTHETIC_MARKER)})
    try:
        place = place_of(raw)
        draft = as_spec(inspect_folder(place.raw), "draft")
        if "" in discover(draft, place.raw).subjects:
            return scored(None, None, folder, truth, "the draft names a subject without a name")
        return scored(draft, place, folder / "drafted", truth)
    except (ValueError, PlaceError, RawDataMissingError) as error:
        return scored(None, None, folder, truth, " ".join(str(error).split())[:200])


def scored(spec: DatasetSpec | None, place: Place | None, work: Path, truth: Truth, trouble: str = "") -> Scored:
    """The eleven, what was lost, and why there are no records."""
    records = None
    if spec is not None and place is not None:
        try:
            made = make_candidate(spec, place, work)
            records = Folder(made.folder, made.folder.resolve())
        except CandidateError as error:
            trouble = str(error)[:200]
    report = ScoreReport((score_dataset(parse_truth(truth.content), records, key="dataset"),))
    frames = tables(report)
    lost = largest_losses(frames["deductions"], frames["samples"].height)
    return report.datasets[0].metrics, tuple(lost), trouble


def text_of(line: Line) -> str:
    numbers = " ".join(f"{name} {line.metrics[name]:.3f}" for name in METRICS)
    draft = f" | draft E2E {line.drafted['E2E']:.2f}" if line.drafted else ""
    return f"{line.slug:28} {line.samples:2} {numbers}{draft} {line.trouble}"


def summary(lines: list[Line]) -> str:
    parts = []
    for title, metrics in (("from specs", [line.metrics for line in lines]), ("from drafts", [line.drafted for line in lines])):
        if all(metrics):
            means = macro(metrics)
            parts.append(f"{title}: " + " ".join(f"{name} {means[name]:.4f}" for name in METRICS))
    return "\n".join(parts)


def markdown(lines: list[Line]) -> str:
    """The page of the table."""
    head = ["# MDS-Bench records on the miniatures", "", _INTRODUCTION, ""]
    columns = ["dataset", "n", *METRICS, "E2E of the draft"]
    head += [f"| {' | '.join(columns)} |", f"|{'|'.join(['---', *['---:'] * (len(columns) - 1)])}|"]
    body = [_cells(line.slug.removeprefix(PREFIX), line.samples, line.metrics, line.drafted) for line in lines]
    total = sum(line.samples for line in lines)
    drafts = macro(line.drafted for line in lines) if all(line.drafted for line in lines) else {}
    body.append(_cells("**mean**", total, macro(line.metrics for line in lines), drafts))
    if drafts:
        body.append(_cells("**mean of the drafts**", total, drafts, drafts))
    why = [
        "",
        "## What was lost",
        "",
        _REASONS,
        "",
        "| dataset | lost by the spec's records | not asked | the draft fails |",
        "|---|---|---|---|",
    ]
    for line in lines:
        cells = (line.slug.removeprefix(PREFIX), told(line), ", ".join(line.left_out), told_of_draft(line))
        why.append(f"| {' | '.join(map(_escaped, cells))} |")
    return "\n".join([*head, *body, *why, *_frequent(lines), ""])


_INTRODUCTION = """\
Written by `python benchmarks/records_score.py --facts FOLDER --markdown docs/mdsbench-miniatures.md`. Made-up data of a few files
in the true layouts, not the real sets, and layouts that the specs were written for; read [scoring.md](scoring.md) before quoting
a figure. Ground truths come from what the makers of the miniatures wrote and from the published conventions as far as they are
known; what is not known is not asked."""
_REASONS = """\
Metric, item, and what it took from the dataset's metric; an example of what was met and expected. INR is left out: it falls
wherever a ground truth has equal strings in several keys."""


def _cells(name: str, samples: int, metrics: Mapping[str, float], drafted: Mapping[str, float]) -> str:
    numbers = [_number(metrics[metric]) for metric in METRICS]
    return f"| {' | '.join([name, str(samples), *numbers, _number(drafted['E2E']) if drafted else '-'])} |"


def _number(value: float) -> str:
    return "1" if value >= 0.99995 else f"{value:.3f}"


def told(line: Line) -> str:
    """The reasons in a few words, the costliest first."""
    worth = [row for row in line.lost if row["metric"] != "INR" and row["lost"] >= WORTH_TELLING]
    return "; ".join(f"{row['metric']} `{row['item']}` {row['lost']:.3f}: {_cut(row['detail'])}" for row in worth[:4])


def told_of_draft(line: Line) -> str:
    """Why samples of the draft fail, where some do."""
    if not line.drafted or line.drafted["E2E"] == 1:
        return ""
    if line.trouble:
        return _cut(line.trouble)
    gates = [row for row in line.lost_by_draft if row["metric"] in ("all", "E2E")]
    return "; ".join(f"{row['times']} of {line.samples}: {_cut(row['detail'])}" for row in gates[:2])


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _cut(text: str, most: int = 90) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _frequent(lines: list[Line]) -> list[str]:
    """What costs most over all datasets, of both ways."""
    found = []
    for title, lists in (("from specs", [line.lost for line in lines]), ("from drafts", [line.lost_by_draft for line in lines])):
        rows = [{"metric": r["metric"], "item": r["item"], "lost": r["lost"]} for one in lists for r in one]
        if not rows:
            continue
        summed = pl.DataFrame(rows).group_by("metric", "item").agg(pl.len().alias("datasets"), pl.col("lost").sum() / len(lines))
        found += [
            "",
            f"## Costliest over all datasets, {title}",
            "",
            "| metric | item | datasets | of the mean |",
            "|---|---|---:|---:|",
        ]
        for row in summed.sort("lost", "item", descending=[True, False]).head(20).to_dicts():
            found.append(f"| {row['metric']} | `{row['item']}` | {row['datasets']} | {row['lost']:.4f} |")
    return found


if __name__ == "__main__":
    main()
