"""What is measured once: memory, cold start, a false header, two subjects at once, and what Dagster itself costs."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import tracemalloc
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import cases
import dagster as dg
import ours
from timing import Line, cost, interleaved

from assets.chain import build_chain
from assets.dataset import Dataset
from assets.spec import load_catalog
from assets.verdict import Verdict
from resources.findings import BadInputError
from resources.layout import Layout
from resources.readers.registry import open_image

PAIR_ROUNDS = 5
SMALL_SUBJECTS = 24
SMALL_SHAPE = (32, 32, 16)


def everything(case: cases.Case, scratch: Path) -> Iterator[Line]:
    """All of it."""
    yield from _fresh_processes(case, scratch)
    yield _bomb(scratch)
    yield _pair(case, scratch)
    yield from _dagster(scratch)


def _fresh_processes(case: cases.Case, scratch: Path) -> Iterator[Line]:
    ours.forget(case.root)
    yield Line("cold start: a new process builds the first subject", _child(case.root)["seconds"], "s")
    long = cases.prolonged(case, scratch / "long")
    peak = _child(long.root)["peak_bytes"] / 1e9
    ours.forget(long.root)
    yield Line(f"peak memory of a subject of {cases.LONG_SLICES} slices", peak, "GB", 1.2, "less")


def _child(root: Path) -> dict[str, float]:
    command = [sys.executable, str(Path(ours.__file__)), str(root)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def _bomb(scratch: Path) -> Line:
    path = cases.header_bomb(scratch)
    tracemalloc.start()
    start = time.perf_counter()
    try:
        open_image(path, name=path.name)
    except BadInputError as error:
        taken, (_, peak) = time.perf_counter() - start, tracemalloc.get_traced_memory()
        note = f"{error.finding.code}, {peak / 1e3:.0f} kB allocated"
        if peak > 10_000_000:
            raise AssertionError(f"{peak} bytes were allocated for a header that lies") from error
        return Line("a header that promises 30,000^3 voxels is refused in", taken * 1e3, "ms", 50, "less", note)
    finally:
        tracemalloc.stop()
    raise AssertionError("a header that promises 30,000^3 voxels was believed")


def _pair(case: cases.Case, scratch: Path) -> Line:
    root = scratch / "pair"
    for name in ("case_00000", "case_00001"):
        cases.add(root, name, case.image, case.labels)

    ours.build(root)
    tasks = {name: partial(ours.build, root, workers=n) for n, name in enumerate(("one by one", "side by side"), 1)}
    taken = interleaved(tasks, dict.fromkeys(tasks, PAIR_ROUNDS), before=partial(ours.forget, root))
    one, two = taken["one by one"].wall, taken["side by side"].wall
    note = f"{one * 1e3:.0f} / {two * 1e3:.0f} ms; one subject alone already uses two threads"
    return Line("two subjects: one after another / side by side", one / two, "x", note=note)


_QUIET = {"loggers": {"console": {"config": {"log_level": "ERROR"}}}}


class _OpenGates:
    """Let everything through, so that the time is Dagster's."""

    def subjects(self, _spec: Any) -> Any:
        return lambda _tables, _volumes: {}

    def raw(self, _spec: Any, *_tables: Any) -> Verdict:
        return Verdict(())

    index = splits = records = raw


def _dagster(scratch: Path) -> Iterator[Line]:
    root = scratch / "small"
    first = cases.phantom(root, SMALL_SHAPE, "case_00000")
    for number in range(1, SMALL_SUBJECTS):
        cases.add(root, f"case_{number:05d}", first.image, first.labels)
    ours.build(root)
    ours.forget(root)
    build = cost(lambda: ours.build(root)).wall
    ours.forget(root)
    warnings.filterwarnings("ignore", category=dg.BetaWarning)
    warnings.filterwarnings("ignore", category=dg.PreviewWarning)
    chain = build_chain(Dataset(load_catalog()[cases.SLUG], Layout(root)), _OpenGates(), by_subject=False)
    (scratch / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(scratch / "dagster")) as instance:
        run = partial(dg.materialize, chain.assets, instance=instance, run_config=_QUIET)
        whole, again = cost(run).wall, cost(run).wall
    note = f"{SMALL_SUBJECTS} small subjects: {whole:.2f} s, {build:.2f} s of them the build"
    yield Line("Dagster, index and splits: per subject", (whole - build) / SMALL_SUBJECTS * 1e3, "ms", note=note)
    note = "the same, less a run in which nothing changed"
    yield Line("... what each further subject adds", (whole - build - again) / SMALL_SUBJECTS * 1e3, "ms", note=note)
    yield Line("... a run in which nothing changed", again, "s")
