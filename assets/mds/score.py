"""The score of a dataset's records, where the user has the benchmark's ground truth of it: computed and stored as tables.

The arithmetic is in `assets/benchmark/mdsbench`. A ground truth is read here and nowhere in what makes the records.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from assets.benchmark.mdsbench.files import Folder
from assets.benchmark.mdsbench.layout import truth_in
from assets.benchmark.mdsbench.metrics import METRICS
from assets.benchmark.mdsbench.report import tables
from assets.benchmark.mdsbench.score import ScoreReport, score_dataset
from assets.benchmark.mdsbench.truth import GroundTruthError, load_truth
from assets.dataset import Dataset
from assets.incremental import digest
from assets.index import NotReadyError
from assets.mds.key import STEP as RECORDS_STEP
from assets.mds.key import records_key
from assets.spec_mds import Mds
from resources.layout import RECORDS

STEP = "score"
CODE_VERSION = 1
"""Raised by hand when the same records and ground truth get other tables."""

SAMPLES, DEDUCTIONS = "score_samples", "score_deductions"
TABLES = (STEP, SAMPLES, DEDUCTIONS)
_OF_REPORT = {STEP: "datasets", SAMPLES: "samples", DEDUCTIONS: "deductions"}

TRUTHS_VARIABLE = "MEDFOUNDRY_GROUND_TRUTHS"
"""Names a folder of ground truths, `[datasets/]<group>/<folder>/VLM/ground_truth*.json`; goes before what lies with the data."""


@dataclass(frozen=True)
class NoScore:
    """Why there is no score.

    Attributes:
        problem: In one line.
        has_truth: Whether there is a ground truth, which cannot be used.
    """

    problem: str
    has_truth: bool = False


@dataclass(frozen=True)
class RecordsScore:
    """What the records of a dataset are worth.

    Attributes:
        truth: The ground truth.
        key: What the tables were made under; changes with the records, the ground truth and the arithmetic.
        metrics: The eleven.
        samples: The table of samples.
        deductions: The table of what was lost.
        unchanged: Whether the tables were current already.
    """

    truth: str
    key: str
    metrics: Mapping[str, float]
    samples: pl.DataFrame
    deductions: pl.DataFrame
    unchanged: bool


def truth_folders(dataset: Dataset, mds: Mds) -> tuple[Path, ...]:
    """Where the ground truth of a dataset may lie, the first choice first.

    A folder that is named; the raw folder; the folder it is the `data` of; and the benchmark's folder under the data root, for
    raw data that lie elsewhere.
    """
    raw = dataset.raw_root
    named = os.environ.get(TRUTHS_VARIABLE, "")
    folders = [Path(named) / mds.folder, Path(named) / "datasets" / mds.folder] if named else []
    folders.append(raw)
    if raw.resolve().name == mds.prefix.strip("/"):
        folders.append(raw.resolve().parent)
    folders.append(dataset.layout.raw(f"mdsbench/{mds.folder}"))
    return tuple(dict.fromkeys(folders))


def publish_score(dataset: Dataset, mds: Mds) -> RecordsScore | NoScore:
    """Bring the tables of the score up to date; where nothing can be scored, older tables go, and the reason is said.

    Raises:
        NotReadyError: The records are not current.
        OSError: The disk failed.
    """
    store = dataset.store
    if not store.folder_current(RECORDS_STEP, records_key(dataset, mds), RECORDS):
        raise NotReadyError(f"the records of {dataset.spec.slug} are not current; materialize {dataset.spec.slug}/records first")
    folders = truth_folders(dataset, mds)
    path = next((found for found in map(truth_in, folders) if found is not None), None)
    if path is None:
        _withdraw(dataset)
        looked = ", ".join(str(folder / "VLM") for folder in folders)
        return NoScore(f"nothing to score: no ground_truth*.json in {looked}; or name a folder of them in {TRUTHS_VARIABLE}")
    try:
        key = _key(dataset, path)
        if store.tables_current(STEP, key, TABLES):
            return _stored(dataset, str(path), key, unchanged=True)
        made = _score(dataset, path)
    except (GroundTruthError, OSError) as error:
        _withdraw(dataset)
        return NoScore(f"nothing to score: {error}", has_truth=True)
    store.write_tables(STEP, key, made, {})
    return _stored(dataset, str(path), key, unchanged=False)


def score_current(dataset: Dataset, mds: Mds) -> bool:
    """Whether there is nothing to do: no ground truth, or tables made of it, of the records as they are, by this arithmetic."""
    path = next((found for found in map(truth_in, truth_folders(dataset, mds)) if found is not None), None)
    return path is None or dataset.store.tables_current(STEP, _key(dataset, path), TABLES)


def _key(dataset: Dataset, path: Path) -> str:
    truth = hashlib.sha256(path.read_bytes()).hexdigest()
    return digest([CODE_VERSION, dataset.store.dataset_record().keys[RECORDS_STEP], truth])[:32]


def _score(dataset: Dataset, path: Path) -> dict[str, pl.DataFrame]:
    folder = dataset.store.root / RECORDS
    score = score_dataset(load_truth(path), Folder(folder, folder.resolve()), key=dataset.spec.slug)
    found = tables(ScoreReport((score,)))
    return {name: found[of_report] for name, of_report in _OF_REPORT.items()}


def _stored(dataset: Dataset, truth: str, key: str, *, unchanged: bool) -> RecordsScore:
    (row,) = dataset.store.read_table(STEP).to_dicts()
    samples, deductions = dataset.store.read_table(SAMPLES), dataset.store.read_table(DEDUCTIONS)
    return RecordsScore(truth, key, {name: row[name] for name in METRICS}, samples, deductions, unchanged)


def _withdraw(dataset: Dataset) -> None:
    if STEP in dataset.store.dataset_record().tables:
        dataset.store.write_tables(STEP, "", {}, {}, outdated=TABLES)


def largest_losses(deductions: pl.DataFrame, n_samples: int) -> list[dict[str, Any]]:
    """What was lost, by metric and item, the costliest first: how often, and how much of the dataset's metric on average.

    What is about the metadata of the dataset happens once and counts whole.
    """
    counted = deductions.filter(pl.col("cost") > 0)
    share = pl.when(pl.col("sample") == "").then(pl.col("cost")).otherwise(pl.col("cost") / max(n_samples, 1))
    grouped = counted.with_columns(share.alias("lost")).group_by("metric", "item", maintain_order=True)
    summed = grouped.agg(pl.len().alias("times"), pl.col("lost").sum().round(4), pl.col("detail").first())
    return summed.sort("lost", "metric", "item", descending=[True, False, False]).to_dicts()
