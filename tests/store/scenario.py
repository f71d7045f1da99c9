"""A run over a small dataset that does everything the store can do, and what must hold wherever it was cut off.

As a program (`python -m tests.store.scenario TEMPLATE FOLDER calls|moments`) it lets child processes be killed in that run: at
every single call that changes the disk, or at chance moments. Each leaves its tree in a folder of its own.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from resources import durable
from resources.findings import Code, finding
from resources.layout import RECORDS
from resources.manifest import FindingRecord
from resources.store import DatasetStore, NotPublishedError
from tests.store.products import manifest_of, publish, store_at, table, versions_of


def first_run(store: DatasetStore) -> None:
    """What was there before."""
    for subject in ("renewed", "partly", "spoiled", "vanished", "untouched"):
        publish(store, subject, 1)
    store.write_tables("index", "1", {"boxes": table(1), "ledger": table(1)}, {"verdict": 1})
    write_records(store, 1)


def second_run(store: DatasetStore) -> None:
    """Brings everything to version 2, whatever an interrupted run left."""
    store.recover()
    publish(store, "new", 2, pause=_between_slabs)
    publish(store, "renewed", 2, pause=_between_slabs)
    if store.manifest("partly") is None:
        publish(store, "partly", 1)
    publish(store, "partly", 2, ("boxes",))
    record = FindingRecord.of(finding(Code.TRUNCATED, "cut short", file="a.nii.gz"))
    store.quarantine(manifest_of("spoiled", {}, "quarantined").model_copy(update={"findings": (record,)}))
    store.withdraw("vanished")
    store.write_tables("index", "2", {"boxes": table(2), "ledger": table(2)}, {"verdict": 2}, outdated=[RECORDS])
    write_records(store, 2)


def write_records(store: DatasetStore, version: int) -> None:
    """A folder of the dataset; some of its files have the same names in both versions, some have not."""
    with store.staging() as staging:
        for name in ("meta.json", "images/0.png", f"images/{version}.png"):
            staging.write_bytes(f"{RECORDS}/{name}", f"{name} of version {version}".encode())
        store.write_folder(RECORDS, str(version), staging, RECORDS, {RECORDS: version})


def _between_slabs() -> None:
    durable.observe("slab", Path())


def check(store: DatasetStore) -> None:
    """Whatever is recorded is whole and of one version."""
    assert list(store.verify()) == []
    whole = {"volumes", "boxes"}
    assert versions_of(store, "untouched") == dict.fromkeys(whole, 1)
    for subject, allowed in (("new", {2}), ("renewed", {1, 2})):
        versions = versions_of(store, subject)
        assert set(versions) in (set(), whole)
        assert len(set(versions.values())) <= 1
        assert set(versions.values()) <= allowed
    assert versions_of(store, "partly") in ({"volumes": 1, "boxes": 1}, {"volumes": 1}, {"volumes": 1, "boxes": 2})
    for subject in ("spoiled", "vanished"):
        assert versions_of(store, subject) in ({}, dict.fromkeys(whole, 1))
    check_tables(store)
    check_records(store)


def check_records(store: DatasetStore) -> None:
    """The folder is whole and of one version, or not there; its key and facts are those of that version."""
    record = store.dataset_record()
    if not (files := [file.path for file in record.folder_files(RECORDS)]):
        assert RECORDS not in record.facts
        assert RECORDS not in record.keys
        with pytest.raises(NotPublishedError):
            store.read_file(f"{RECORDS}/meta.json")
        return
    version = int(record.keys[RECORDS])
    assert record.facts[RECORDS] == version
    assert files == [f"{RECORDS}/{name}" for name in ("meta.json", "images/0.png", f"images/{version}.png")]
    for path in files:
        assert store.read_file(path) == f"{path.removeprefix(f'{RECORDS}/')} of version {version}".encode()
    assert store.folder_current(RECORDS, str(version), RECORDS)
    assert not store.folder_current(RECORDS, str(3 - version), RECORDS)


def check_tables(store: DatasetStore) -> None:
    """The dataset's tables are those of one run, and the verdict is theirs."""
    record = store.dataset_record().without((), (RECORDS,), (RECORDS,))
    if not record.tables:
        assert record.facts == {}
        assert record.keys == {}
        for name in ("boxes", "ledger"):
            try:
                store.read_table(name)
            except NotPublishedError:
                continue
            raise AssertionError(f"{name} was served without a record")
        return
    version = record.facts["verdict"]
    assert record.keys == {"index": str(version)}
    for name in ("boxes", "ledger"):
        assert_frame_equal(store.read_table(name), table(version))


def _in_child(root: Path, template: Path, watch: Callable[[str, Path], None] | None) -> int:
    shutil.copytree(template, root)
    child = os.fork()
    if child == 0:
        if watch is not None:
            durable.observe = watch
        second_run(store_at(root))
        os._exit(0)
    return child


def _kill_at(call: int) -> Callable[[str, Path], None]:
    calls = itertools.count()

    def watch(_operation: str, _path: Path) -> None:
        if next(calls) == call:
            os.kill(os.getpid(), signal.SIGKILL)

    return watch


def kill_at_every_call(template: Path, folder: Path) -> None:
    """Kill at the first call, the second, and so on, until a run comes through."""
    for call in itertools.count():
        child = _in_child(folder / str(call), template, _kill_at(call))
        status = os.waitpid(child, 0)[1]
        if not os.WIFSIGNALED(status):
            assert os.waitstatus_to_exitcode(status) == 0
            return


def kill_at_chance_moments(template: Path, folder: Path) -> None:
    """Kill at moments spread over the time that an undisturbed run takes."""
    started = time.monotonic()
    os.waitpid(_in_child(folder / "undisturbed", template, None), 0)
    length, moments = time.monotonic() - started, random.Random(5)
    for n in range(25):
        child = _in_child(folder / str(n), template, None)
        time.sleep(moments.uniform(0, length))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


if __name__ == "__main__":
    vars(os)["fsync"] = lambda _handle: None  # what a killed process wrote is there, synced or not
    {"calls": kill_at_every_call, "moments": kill_at_chance_moments}[sys.argv[3]](Path(sys.argv[1]), Path(sys.argv[2]))
