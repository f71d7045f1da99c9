"""Our way, as the product runs it; as a program it builds one data root in a fresh process and prints what that took."""

from __future__ import annotations

import time

START = time.perf_counter()

import json  # noqa: E402
import resource  # noqa: E402
import shutil  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

from assets.build import build_subjects  # noqa: E402
from assets.dataset import Dataset, survey  # noqa: E402
from assets.spec import load_catalog  # noqa: E402
from resources.layout import Layout  # noqa: E402

SPEC = load_catalog()["kits23"]


def build(root: Path, *, workers: int | None = None) -> Any:
    """Survey a data root and build, judge and publish all its subjects; earlier products are removed by `forget`."""
    found = survey(Dataset(SPEC, Layout(root)))
    plans = list(found.plans.values())
    outcomes = list(build_subjects(found, plans, lambda _tables, _volumes: {}, lambda _line: None, workers=workers))
    bad = [str(error.finding()) for outcome in outcomes for error in outcome.manifest.errors()]
    if bad or len(outcomes) != len(plans):
        raise SystemExit(f"the benchmark's own subject was not published: {bad}")
    return outcomes


def forget(root: Path) -> None:
    """Remove a data root's products."""
    shutil.rmtree(root / "products", ignore_errors=True)


def peak_bytes() -> int:
    """The most memory this process has held; `getrusage` would count what the parent held when it started us."""
    status = Path("/proc/self/status")
    if not status.exists():
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    line = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    build(Path(sys.argv[1]))
    print(json.dumps({"seconds": time.perf_counter() - START, "peak_bytes": peak_bytes()}))
