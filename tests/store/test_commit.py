"""What publishing, quarantining and withdrawing leave on the disk and show to readers."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from resources.findings import Code, finding
from resources.layout import Layout, labels_path, scan_path, series_path
from resources.manifest import FindingRecord, Manifest, StepRecord
from resources.ome_zarr import StoreDamagedError
from resources.store import DatasetStore, NotPublishedError, PublishConflictError, parquet_bytes
from tests.store.products import make, manifest_of, publish, store_at, table, tree, versions_of, write_image
from tests.store.scenario import write_records


@pytest.fixture
def store(tmp_path: Path) -> DatasetStore:
    return store_at(tmp_path)


def quarantined(subject: str) -> Manifest:
    record = FindingRecord.of(finding(Code.TRUNCATED, "cut short", file="a.nii.gz"))
    return manifest_of(subject, {}, "quarantined").model_copy(update={"findings": (record,)})


def test_what_was_published_is_there_and_its_staging_is_gone(store: DatasetStore) -> None:
    publish(store, "s", 1)
    assert versions_of(store, "s") == {"volumes": 1, "boxes": 1}
    manifest = store.manifest("s")
    assert manifest is not None
    assert store.is_intact(manifest, "volumes")
    assert [path.name for path in (store.root / ".staging").iterdir()] == [".lock"]
    assert {file.path for file in store.recorded_files()} | {"manifest/s.json"} == set(tree(store.root))


def test_publishing_some_steps_keeps_the_others(store: DatasetStore) -> None:
    publish(store, "s", 1)
    before = tree(store.root)
    publish(store, "s", 2, ("boxes",))
    assert versions_of(store, "s") == {"volumes": 1, "boxes": 2}
    after = tree(store.root)
    assert {path for path in before if before[path] != after.get(path)} == {"boxes/s.parquet", "manifest/s.json"}


def test_publishing_replaces_the_old_products_and_removes_what_the_new_ones_lack(store: DatasetStore) -> None:
    with store.staging() as staging:
        moved = make(staging, "s", 1, ("volumes", "boxes"))
        extra = series_path("s", "follow-up", "ct")
        write_image(staging.folder / extra, pl.DataFrame({"a": range(8)})["a"].to_numpy().reshape(2, 2, 2).astype("int16"))
        moved["volumes"].append(scan_path("s", "follow-up"))
        steps = {s: StepRecord(key="1", code_version=1, parameters={}, files=staging.seal(moved[s])) for s in moved}
        store.publish(staging, manifest_of("s", steps), list(steps), [p for paths in moved.values() for p in paths])
    assert store.open_volume("s", extra).shape_ijk == (2, 2, 2)
    publish(store, "s", 2)
    assert versions_of(store, "s") == {"volumes": 2, "boxes": 2}
    assert not (store.root / scan_path("s", "follow-up")).exists()
    other = store_at(store.root.parent.parent.parent / "other")
    publish(other, "s", 2)
    assert tree(store.root) == tree(other.root)


def test_a_step_that_the_new_manifest_drops_is_withdrawn(store: DatasetStore) -> None:
    publish(store, "s", 1)
    with store.staging() as staging:
        moved = make(staging, "s", 2, ("volumes",))["volumes"]
        step = StepRecord(key="2", code_version=1, parameters={}, files=staging.seal(moved))
        store.publish(staging, manifest_of("s", {"volumes": step}), ["volumes"], moved)
    assert versions_of(store, "s") == {"volumes": 2}
    assert not (store.root / "boxes").exists()


def test_what_was_derived_from_products_that_have_been_replaced_is_refused(store: DatasetStore) -> None:
    publish(store, "s", 1)
    before = store.manifest("s")
    assert before is not None
    with store.staging() as staging:
        moved = make(staging, "s", 1, ("boxes",))["boxes"]
        publish(store, "s", 2)
        published = tree(store.root / "manifest")
        step = StepRecord(key="x", code_version=1, parameters={}, files=staging.seal(moved))
        manifest = before.model_copy(update={"steps": {**before.steps, "boxes": step}})
        with pytest.raises(PublishConflictError, match="volumes of subject s was published anew"):
            store.publish(staging, manifest, ["boxes"], moved)
    assert versions_of(store, "s") == {"volumes": 2, "boxes": 2}
    assert tree(store.root / "manifest") == published


def test_a_quarantined_subject_keeps_its_reason_and_nothing_else(store: DatasetStore) -> None:
    publish(store, "s", 1)
    publish(store, "t", 1)
    store.quarantine(quarantined("s"))
    manifest = store.manifest("s")
    assert manifest is not None
    assert [f.finding() for f in manifest.errors()] == [finding(Code.TRUNCATED, "cut short", file="a.nii.gz")]
    assert not [path for path in tree(store.root) if "/s" in path and path != "manifest/s.json"]
    assert versions_of(store, "t") == {"volumes": 1, "boxes": 1}
    with pytest.raises(NotPublishedError):
        store.read_subject_table("boxes", "s")
    publish(store, "s", 2)
    assert versions_of(store, "s") == {"volumes": 2, "boxes": 2}


def test_a_withdrawn_subject_leaves_no_trace(store: DatasetStore) -> None:
    publish(store, "t", 1)
    before = tree(store.root)
    publish(store, "s", 1)
    store.withdraw("s")
    assert tree(store.root) == before
    assert set(store.manifests()) == {"t"}
    store.withdraw("nobody")


def of_another_version(store: DatasetStore, subject: str) -> None:
    path = store.root / "manifest" / f"{subject}.json"
    path.write_bytes(path.read_bytes().replace(b'"schema_version": 2', b'"schema_version": 3'))
    assert store.manifest(subject) is None
    assert store.has_manifest(subject)


@pytest.fixture
def lost(store: DatasetStore) -> DatasetStore:
    """What is recorded of `s` cannot be read; `s.1` and `t` have names much like it."""
    for subject in ("s", "s.1", "t"):
        publish(store, subject, 1)
    (store.root / "previews").mkdir(exist_ok=True)
    (store.root / "previews" / "s.png").write_bytes(b"png")
    of_another_version(store, "s")
    return store


def of_the_others(store: DatasetStore) -> None:
    assert versions_of(store, "s.1") == versions_of(store, "t") == {"volumes": 1, "boxes": 1}
    assert list(store.verify()) == []
    assert store.clean() == []


def test_a_quarantined_subject_whose_manifest_cannot_be_read_keeps_nothing_else(lost: DatasetStore) -> None:
    lost.quarantine(quarantined("s"))
    assert [path for path in tree(lost.root) if path.split("/")[1].split(".")[0] == "s" and "s.1" not in path] == [
        "manifest/s.json"
    ]
    of_the_others(lost)


def test_a_withdrawn_subject_whose_manifest_cannot_be_read_leaves_no_trace(lost: DatasetStore) -> None:
    assert lost.unreadable(lost.manifests()) == {"s"}
    lost.withdraw("s")
    assert set(lost.manifests()) == {"s.1", "t"}
    assert not lost.has_manifest("s")
    of_the_others(lost)


def test_what_a_manifest_that_cannot_be_read_may_have_named_goes_with_the_next_publication(lost: DatasetStore) -> None:
    with lost.staging() as staging:
        moved = make(staging, "s", 2, ("volumes",))["volumes"]
        step = StepRecord(key="2", code_version=1, parameters={}, files=staging.seal(moved))
        lost.publish(staging, manifest_of("s", {"volumes": step}), ["volumes"], moved)
    assert versions_of(lost, "s") == {"volumes": 2}
    assert not (lost.root / "boxes" / "s.parquet").exists()
    assert not (lost.root / "previews").exists()
    of_the_others(lost)


def test_clean_spares_the_tables_and_records_of_a_dataset_record_that_cannot_be_read(store: DatasetStore) -> None:
    publish(store, "s", 1)
    store.write_tables("index", "k", {"boxes": table(1)}, {})
    (store.root / "records").mkdir()
    (store.root / "records" / "0.json").write_text("{}")
    path = store.root / "dataset.json"
    path.write_bytes(path.read_bytes().replace(b'"rows"', b'"rowz"'))
    assert store.record_is_damaged
    assert store.clean() == []
    store.write_tables("index", "k", {"boxes": table(2)}, {})
    assert not store.record_is_damaged
    assert store.clean() == ["records/0.json"]


def test_a_staging_folder_is_discarded_unless_published(store: DatasetStore) -> None:
    with store.staging() as staging:
        make(staging, "s", 1, ("volumes",))
        assert tree(staging.folder) != {}
    assert tree(store.root) == {}
    assert store.manifest("s") is None


def test_dataset_tables_carry_their_key_and_facts(store: DatasetStore) -> None:
    assert not store.tables_current("index", "k", ["boxes"])
    store.write_tables("index", "k", {"boxes": table(1), "ledger": table(2)}, {"gate": {"passed": True}})
    store.write_tables("splits", "q", {"splits": table(3)}, {})
    assert_frame_equal(store.read_table("ledger"), table(2))
    assert store.tables_current("index", "k", ["boxes", "ledger"])
    assert store.tables_current("splits", "q", ["splits"])
    assert not store.tables_current("index", "other", ["boxes"])
    assert not store.tables_current("index", "k", ["boxes", "never"])
    assert store.dataset_record().facts == {"gate": {"passed": True}}
    (store.root / "ledger.parquet").write_bytes(b"")
    assert not store.tables_current("index", "k", ["boxes", "ledger"])


def test_equal_tables_are_equal_bytes() -> None:
    frame = pl.DataFrame({"s": ["b", "a"] * 50_000, "x": [0.1, None] * 50_000, "p": [[1, 2], []] * 50_000})
    assert parquet_bytes(frame) == parquet_bytes(frame.clone())
    assert parquet_bytes(frame) == parquet_bytes(pl.concat([frame[:70_001], frame[70_001:]], rechunk=False))


def test_odd_identifiers_stay_inside_the_products_folder(store: DatasetStore, tmp_path: Path) -> None:
    subjects = ["../../evil", "a/b", "a b", "a_b", "", "ä", "x.json", "labels"]
    for number, subject in enumerate(subjects):
        publish(store, subject, number + 1)
    for number, subject in enumerate(subjects):
        assert versions_of(store, subject) == {"volumes": number + 1, "boxes": number + 1}
    assert set(store.manifests()) == set(subjects)
    assert [path.name for path in tmp_path.iterdir()] == ["products"]
    assert list(store.verify()) == []


def test_clean_removes_what_nothing_records_and_nothing_else(store: DatasetStore) -> None:
    publish(store, "s", 1)
    store.write_tables("index", "k", {"boxes": table(1)}, {})
    write_records(store, 1)
    (store.root / "report").mkdir()
    (store.root / "report" / "index.html").write_bytes(b"kept by its own step")
    before = tree(store.root)
    shutil.copytree(store.root / "volumes" / "s", store.root / "volumes" / "lost")
    for path in (
        "boxes/lost.parquet",
        "old.parquet",
        ".dataset.json.7.tmp",
        "manifest/.s.json.7.tmp",
        "previews/lost.png",
        "records/images/lost.png",
    ):
        (store.root / path).parent.mkdir(exist_ok=True)
        (store.root / path).write_bytes(b"x")
    (store.root / ".staging" / "dead").mkdir()
    (store.root / ".staging" / "dead" / "half").write_bytes(b"x")
    removed = store.clean()
    assert tree(store.root) == before
    assert set(removed) >= {"boxes/lost.parquet", "old.parquet", ".staging/dead", "records/images/lost.png"}
    assert not (store.root / "volumes" / "lost").exists()
    assert not (store.root / "previews").exists()
    assert store.clean() == []


def test_clean_writes_nothing_where_there_is_nothing_to_remove(
    store: DatasetStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(store, "s", 1)
    shutil.rmtree(store.root / ".staging")
    opened = Path.open

    def read_only(path: Path, mode: str = "r", **more: Any) -> Any:
        if set(mode) & set("wax+"):
            raise OSError(errno.EROFS, "Read-only file system", str(path))
        return opened(path, mode, **more)

    monkeypatch.setattr(Path, "open", read_only)
    before = sorted(store.root.rglob("*"))
    assert store.clean() == []
    assert sorted(store.root.rglob("*")) == before
    assert DatasetStore(Layout(tmp_path / "none"), "s").clean() == []
    assert not (tmp_path / "none").exists()
    (store.root / "boxes" / "lost.parquet").touch()
    with pytest.raises(OSError, match="Read-only"):
        store.clean()


def test_a_folder_that_was_changed_is_damage_and_is_not_served(store: DatasetStore) -> None:
    write_records(store, 1)
    assert list(store.verify()) == []
    (store.root / "records" / "meta.json").write_bytes(b"meta.json of version 2")
    (store.root / "records" / "images" / "1.png").unlink()
    assert {damage.path for damage in store.verify()} == {"records/meta.json", "records/images/1.png"}
    for path in ("records/meta.json", "records/images/1.png"):
        with pytest.raises(StoreDamagedError, match="must be rebuilt"):
            store.read_file(path)
    assert not store.folder_current("records", "1", "records")


def test_a_folder_goes_with_what_it_was_made_from(store: DatasetStore) -> None:
    store.write_tables("index", "k", {"boxes": table(1)}, {})
    write_records(store, 1)
    store.write_tables("index", "l", {"boxes": table(2)}, {}, outdated=["splits", "records"])
    assert not (store.root / "records").exists()
    assert store.dataset_record().keys == {"index": "l"}
    assert store.dataset_record().facts == {}
    assert b"folders" not in (store.root / "dataset.json").read_bytes()
    assert list(store.verify()) == []


def test_clean_spares_the_products_of_a_manifest_it_cannot_read(store: DatasetStore) -> None:
    publish(store, "s.1", 1)
    publish(store, "t", 1)
    before = tree(store.root)
    of_another_version(store, "s.1")
    assert store.clean() == []
    assert set(tree(store.root)) == set(before)
    assert labels_path("s.1", "0", "ct", "masses") + "/zarr.json" in before


def test_live_staging_is_not_taken_for_dead(store: DatasetStore) -> None:
    with store.staging() as staging:
        make(staging, "s", 1, ("volumes",))
        held = tree(staging.folder)
        assert store.recover() == []
        assert store.clean() == []
        assert tree(staging.folder) == held


def test_reading_needs_no_right_to_write(store: DatasetStore) -> None:
    publish(store, "s", 1)
    store.write_tables("index", "k", {"boxes": table(1)}, {})
    before = {path: path.stat().st_mtime_ns for path in store.root.rglob("*")}
    assert versions_of(store, "s") == {"volumes": 1, "boxes": 1}
    assert_frame_equal(store.read_table("boxes"), table(1))
    assert list(store.verify()) == []
    assert {path: path.stat().st_mtime_ns for path in store.root.rglob("*")} == before
