"""Two processes at the same subject, readers and cleaners in between: every reader sees one whole product or none."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from polars.testing import assert_frame_equal

from resources.layout import series_path
from resources.ome_zarr import StoreDamagedError
from tests.store.products import image, publish, store_at, table, tree, versions_of

REPOSITORY = Path(__file__).resolve().parents[2]
IMAGE = series_path("s", "0", "ct")

_PUBLISHER = """
import sys
from pathlib import Path
from tests.store.products import publish, store_at, table

store, version = store_at(Path(sys.argv[1])), int(sys.argv[2])
for _ in range(int(sys.argv[3])):
    publish(store, "s", version)
    store.write_tables("index", str(version), {"boxes": table(version), "ledger": table(version)}, {"verdict": version})
"""

_DYING = """
import os, signal, sys
from pathlib import Path
from tests.store.products import make, store_at

with store_at(Path(sys.argv[1])).staging() as staging:
    make(staging, "s", 1, ("volumes",))
    if sys.argv[2] == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    print(staging.folder.name, flush=True)
    sys.stdin.readline()
"""


def start(program: str, *arguments: object, **pipes: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.Popen(command, cwd=REPOSITORY, text=True, **pipes)


@pytest.mark.slow
def test_two_processes_publish_one_subject_while_others_read_and_clean(tmp_path: Path) -> None:
    store = store_at(tmp_path / "shared")
    publish(store, "s", 1)
    store.write_tables("index", "1", {"boxes": table(1), "ledger": table(1)}, {"verdict": 1})
    publishers = [start(_PUBLISHER, tmp_path / "shared", version, 15) for version in (1, 2)]
    n_whole, overtaken = 0, list[str]()
    while any(publisher.poll() is None for publisher in publishers):
        assert store.clean() == []
        ledger = store.read_table("ledger")
        assert_frame_equal(ledger, table(ledger["version"][0]))
        volume = store.open_volume("s", IMAGE)
        try:
            voxels = volume.voxels()
        except StoreDamagedError as error:
            overtaken.append(str(error))
        else:
            n_whole += 1
            np.testing.assert_array_equal(voxels, image(int(voxels[0, 0, 0]) // 1000))
    assert [publisher.wait() for publisher in publishers] == [0, 0]
    assert n_whole > 5
    assert all(re.search("replaced while it was read|No such file|missing", error) for error in overtaken)
    outcomes = []
    for version in (1, 2):
        alone = store_at(tmp_path / f"alone {version}")
        publish(alone, "s", version)
        alone.write_tables("index", str(version), {"boxes": table(version), "ledger": table(version)}, {"verdict": version})
        outcomes.append(tree(alone.root))
    subject = {path: digest for path, digest in tree(store.root).items() if "/" in path}
    tables = {path: digest for path, digest in tree(store.root).items() if "/" not in path}
    assert subject in [{path: digest for path, digest in o.items() if "/" in path} for o in outcomes]
    assert tables in [{path: digest for path, digest in o.items() if "/" not in path} for o in outcomes]


def test_threads_publish_many_subjects_side_by_side(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: publish(store, f"s{n % 6}", n % 6 + 1), range(18)))
    assert {subject: versions_of(store, subject) for subject in store.manifests()} == {
        f"s{n}": {"volumes": n + 1, "boxes": n + 1} for n in range(6)
    }
    assert list(store.verify()) == []
    assert store.clean() == []


def test_staging_of_a_living_process_stays_and_that_of_a_killed_one_goes(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    with start(_DYING, tmp_path, "die") as dying:
        assert dying.wait(60) == -signal.SIGKILL
    (dead,) = [path.name for path in (store.root / ".staging").iterdir() if path.is_dir()]
    with start(_DYING, tmp_path, "live", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as living:
        assert living.stdout is not None
        name = living.stdout.readline().strip()
        assert store.recover() == [f".staging/{dead}"]
        assert [path.name for path in (store.root / ".staging").iterdir() if path.is_dir()] == [name]
        living.communicate("\n", timeout=60)
    assert [path.name for path in (store.root / ".staging").iterdir()] == [".lock"]


def test_a_cleaner_never_takes_a_folder_that_is_being_made_or_removed(tmp_path: Path) -> None:
    store, stop = store_at(tmp_path), threading.Event()
    removed: list[str] = []

    def keep_cleaning() -> None:
        while not stop.is_set():
            removed.extend(store.recover())

    cleaner = threading.Thread(target=keep_cleaning)
    cleaner.start()
    try:
        for _ in range(200):
            with store.staging() as staging:
                staging.write_bytes("a/b", b"x")
    finally:
        stop.set()
        cleaner.join()
    assert removed == []
