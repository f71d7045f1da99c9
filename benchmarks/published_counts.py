"""Holds the boxes of a full local copy against those MedVision published: `python benchmarks/published_counts.py [DATA_ROOT]`.

Reads products only. A dataset of which not all subjects are published is shown with what is there and judged by nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from assets.annotations.boxes import sample_rule
from assets.dataset import Dataset
from assets.spec import load_catalog
from resources.layout import Layout

PUBLISHED = Path(__file__).with_name("published_counts.yaml")


def main() -> int:
    """Print a line per publication; exit code 1 where a whole dataset differs and no rule explains it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("data_root", nargs="?", type=Path, help="the data root; $MEDFOUNDRY_DATA or ./data when left out")
    root = parser.parse_args().data_root
    layout = Layout(root.absolute()) if root else Layout.from_environment()
    catalog = load_catalog()
    datasets = {slug: Dataset(spec, layout) for slug, spec in catalog.items()}
    failed = False
    print(f"{'publication':<22} {'published':>12} {'present':>12} {'subjects':>14}  verdict")
    for name, entry in yaml.safe_load(PUBLISHED.read_text(encoding="utf-8")).items():
        present, done, expected = _present(datasets, entry["slugs"])
        whole = expected is not None and done == expected
        same = present == entry["boxes_sample"]
        failed |= whole and not same and "rule" not in entry
        verdict = ("equal" if same else "DIFFERS") if whole else "not whole"
        subjects = f"{done} of {expected if expected is not None else '?'}"
        print(f"{name:<22} {entry['boxes_sample']:>12,} {present:>12,} {subjects:>14}  {verdict}")
        for line in _remarks(datasets, entry, whole=whole):
            print(f"{'':<22} {line}")
    return int(failed)


def _present(datasets: Mapping[str, Dataset], slugs: Mapping[str, int]) -> tuple[int, int, int | None]:
    """Boxes as the publication counts them, subjects published, and subjects of the release (None when not stated)."""
    total, done, expected = 0, 0, 0
    unstated = False
    for slug, times in slugs.items():
        dataset = datasets[slug]
        total += times * sum(_by_plane(dataset).values())
        done += sum(m.state == "published" for m in dataset.store.manifests().values())
        unstated |= dataset.spec.expect.subjects is None
        expected += dataset.spec.expect.subjects or 0
    return total, done, None if unstated else expected


def _by_plane(dataset: Dataset) -> dict[str, int]:
    if "boxes" not in dataset.store.dataset_record().tables:
        return {}
    table: pl.DataFrame = dataset.store.read_table("boxes")
    return dict(table.filter(sample_rule()).group_by("plane").len().sort("plane").iter_rows())


def _remarks(datasets: Mapping[str, Dataset], entry: Mapping[str, Any], *, whole: bool) -> Iterator[str]:
    if "rule" in entry:
        yield f"rule: {entry['rule']}"
    for slug in entry["slugs"]:
        planes = _by_plane(datasets[slug])
        quarantined = sum(m.state == "quarantined" for m in datasets[slug].store.manifests().values())
        if planes:
            told = ", ".join(f"{plane} {n:,}" + _against(entry, plane, n, whole=whole) for plane, n in planes.items())
            yield f"{slug}: {told}" + (f"; {quarantined} subjects are quarantined and not counted" if quarantined else "")


def _against(entry: Mapping[str, Any], plane: str, n: int, *, whole: bool) -> str:
    expected = entry.get("planes", {}).get(plane)
    return "" if expected is None or not whole else f" ({n - expected:+,} against {expected:,})"


if __name__ == "__main__":
    sys.exit(main())
