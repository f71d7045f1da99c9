"""One subject, our way against the others' on the same machine at the same time: `python benchmarks/subject.py [RAW_TREE]`.

RAW_TREE is the `dataset/` folder of KiTS23; without it the benchmark draws a subject of its own. Everything is made in a
temporary folder. Read `benchmarks/README.md` for what each line means.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from pathlib import Path

import cases
import measures
import overhead
from timing import HEADING


def main() -> int:
    """Measure and print; exit code 1 when a target is missed."""
    arguments = _arguments()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}; {arguments.rounds} rounds, medians")
    missed = False
    with tempfile.TemporaryDirectory(prefix="medfoundry-benchmark-", dir=arguments.scratch) as folder:
        scratch = Path(folder)
        chosen = (
            cases.from_tree(arguments.raw_tree, scratch, arguments.cases)
            if arguments.raw_tree
            else [cases.phantom(scratch / "own")]
        )
        for case in chosen:
            print(f"\n{case.name}: {measures.describe(case)}\n{HEADING}", flush=True)
            for line in measures.subject(case, scratch / f"{case.name}-out", arguments.rounds):
                print(line, flush=True)
                missed |= not line.met
        print(f"\nthe machine and the chain\n{HEADING}", flush=True)
        for line in overhead.everything(chosen[0], scratch):
            print(line, flush=True)
            missed |= not line.met
    print("\na target was missed" if missed else "\nall targets met")
    return int(missed)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("raw_tree", nargs="?", type=Path, help="KiTS23's dataset/ folder")
    parser.add_argument("--cases", type=int, default=1, help="how many subjects of it (default 1)")
    parser.add_argument(
        "--rounds", type=int, default=5, help="rounds of the fast ways; the published way gets a third (default 5)"
    )
    parser.add_argument("--scratch", type=Path, help="where to make the temporary folder")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
