"""Downloads one address in a process of its own, for tests that kill it: driver.py DATA_ROOT URL."""

from __future__ import annotations

import sys
from pathlib import Path

from resources.download import members
from resources.download.folders import Folders
from resources.download.policy import Policy
from resources.download.session import Options, Session
from resources.download.values import DatasetRequest, SourceRequest
from resources.download.watch import Unwatched

members._BATCH_FILES = 5


def main(root: Path, url: str) -> None:
    folders = Folders(root / "downloads" / "d", root / "raw" / "d")
    dataset = DatasetRequest("d", "Dataset", "1", "CC0-1.0", "open", sources=(SourceRequest("http", url),))
    session = Session(dataset, folders, Unwatched(), Options(policy=Policy(checkpoint_bytes=10_000)))
    with session.alone():
        for outcome in session.run(session.plan(), accept=True):
            sys.stdout.write(f"{outcome.state} {outcome.detail}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
