"""The benchmarks run: on one small subject, whatever the numbers."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from resources import ome_zarr

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))


@pytest.fixture
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ModuleType]]:
    """All modules of the folder, which lie in no package; forgotten afterwards."""
    monkeypatch.syspath_prepend(str(FOLDER))
    # One benchmark reads without a cache.
    monkeypatch.setattr(ome_zarr, "_reading", ome_zarr._reading)
    before = set(sys.modules)
    yield {name: import_module(name) for name in NAMES}
    for name in set(sys.modules) - before:
        if name in NAMES:
            del sys.modules[name]


def test_every_benchmark_of_a_subject_and_of_the_chain_runs(
    benchmarks: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases, measures, overhead = (benchmarks[name] for name in ("cases", "measures", "overhead"))
    monkeypatch.setattr(measures.os, "sync", lambda: None)
    for module, name, value in ((measures, "KERNEL_ROUNDS", 1), (measures, "SLICES", 1), (overhead, "PAIR_ROUNDS", 1)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(overhead, "SMALL_SUBJECTS", 2)
    case = cases.phantom(tmp_path / "own", overhead.SMALL_SHAPE)
    (tmp_path / "scratch").mkdir()
    lines = [
        *measures.subject(case, tmp_path / "out", 1),
        overhead._bomb(tmp_path / "scratch"),
        overhead._pair(case, tmp_path / "scratch"),
        *overhead._dagster(tmp_path / "scratch"),
    ]
    assert all(math.isfinite(line.value) and str(line) for line in lines)
    assert len({line.what for line in lines}) == len(lines)
