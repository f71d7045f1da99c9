"""The only module that commits volumes and tables.

Products are made in a staging folder, synced, and moved into place by renaming; only then is the manifest written that makes
them visible. Where older products are replaced, the manifest forgets them first. A crash at any point therefore leaves the old
product, the new one, or none: never a mixture, and the next run makes good what is missing. `docs/adr/001-store.md` has the
argument.
"""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from resources import durable
from resources.dataset_record import DatasetRecord, table_file
from resources.files import has_size, xxh128_of
from resources.layout import MANIFESTS, Layout, manifest_path, safe_name, subject_table_path
from resources.manifest import FileRecord, Manifest, StepRecord, manifest_at
from resources.ome_zarr import StoreDamagedError, StoredVolume, open_volume
from resources.staging import Staging, parquet_bytes
from resources.upkeep import LOCK, Damage, bearing, damages, dead_staging, orphans, proven_bytes, remove

__all__ = ["DatasetRecord", "DatasetStore", "NotPublishedError", "PublishConflictError", "Staging", "parquet_bytes"]

DATASET_RECORD = "dataset.json"
STAGING = ".staging"
COMMIT_LOCK = ".commit.lock"
_REPLACED = ".replaced"
UNREADABLE = "cannot be read: damaged, or written by another version"


class NotPublishedError(LookupError):
    """What was asked for is not recorded: never made, withdrawn, or about to be replaced."""


class PublishConflictError(Exception):
    """Another run published a subject in between; what was derived from the older products must be computed again."""


class DatasetStore:
    """The products of one dataset. Safe to use from several threads and processes at once."""

    def __init__(self, layout: Layout, slug: str) -> None:
        self.root = layout.products(slug)
        self.slug = slug

    @contextmanager
    def staging(self) -> Iterator[Staging]:
        """A fresh staging folder, removed at the end; a lock on it tells the living from what a crash left behind."""
        parent = self.root / STAGING
        with self._staging_lock():
            folder = Path(tempfile.mkdtemp(dir=parent))
            lock = (folder / LOCK).open("w")
            fcntl.flock(lock, fcntl.LOCK_EX)
        with lock:
            try:
                yield Staging(folder)
            finally:
                with self._staging_lock():
                    shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def _staging_lock(self) -> Iterator[None]:
        """Held while a staging folder is made or removed, so that a cleaner never meets one between the two."""
        with self._locked(self.root / STAGING / LOCK):
            yield

    @contextmanager
    def _locked(self, path: Path) -> Iterator[None]:
        durable.make_folder(path.parent)
        with path.open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @contextmanager
    def _committing(self) -> Iterator[None]:
        """One writer of records at a time, across processes."""
        with self._locked(self.root / COMMIT_LOCK):
            yield

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """No writer of records meanwhile; nothing to wait for where nothing was ever committed."""
        try:
            lock = (self.root / COMMIT_LOCK).open("r")
        except FileNotFoundError:
            yield
            return
        with lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
            yield

    def publish(self, staging: Staging, manifest: Manifest, replaced: Sequence[str], moved: Sequence[str]) -> None:
        """Make a subject's sealed products visible, and remove those of its older ones that the new manifest does not name.

        Args:
            staging: Holds the products.
            manifest: The subject's new manifest, complete: steps that are not `replaced` as they are recorded now.
            replaced: The steps whose products are new.
            moved: Files and folders to move into place, relative to the staging folder.

        Raises:
            PublishConflictError: A step that is to be kept is recorded otherwise by now; nothing was changed.
            OSError: The disk failed; the subject has its old products, or none of those that were to be replaced.
        """
        with self._committing():
            before = self.manifest(manifest.subject)
            older = self._products(manifest.subject, before)
            kept = {name: record for name, record in manifest.steps.items() if name not in replaced}
            _require_as_recorded(before, manifest.subject, kept)
            if before is not None and any(s.files for name, s in before.steps.items() if name not in kept):
                self._record(before.model_copy(update={"steps": kept}))
            for path in moved:
                self._put(staging, path)
            for folder in sorted({(self.root / path).parent for path in moved}):
                durable.sync(folder)
            self._record(manifest)
            self._remove_files(older - {file.path for step in manifest.steps.values() for file in step.files})

    def _record(self, manifest: Manifest) -> None:
        durable.write_bytes(self.root / manifest_path(manifest.subject), manifest.to_bytes())

    def _put(self, staging: Staging, path: str) -> None:
        target = self.root / path
        if target.is_dir():
            durable.rename(target, staging.folder / _REPLACED / path)
        durable.rename(staging.folder / path, target)

    def quarantine(self, manifest: Manifest) -> None:
        """Record a subject as quarantined and remove what had been made of it."""
        with self._committing():
            older = self._products(manifest.subject, self.manifest(manifest.subject))
            self._record(manifest)
            self._remove_files(older)

    def withdraw(self, subject: str) -> None:
        """Forget a subject whose raw data are gone, and remove its products."""
        with self._committing():
            older = self._products(subject, self.manifest(subject))
            path = self.root / manifest_path(subject)
            if path.exists():
                durable.remove_file(path)
                durable.sync(path.parent)
            self._remove_files(older)

    def _products(self, subject: str, manifest: Manifest | None) -> set[str]:
        """The files that a subject's manifest names; if it is there and cannot be read, those that bear the subject's name."""
        if manifest is not None:
            return {file.path for step in manifest.steps.values() for file in step.files}
        return set(bearing(self.root, safe_name(subject))) if self.has_manifest(subject) else set()

    def has_manifest(self, subject: str) -> bool:
        """Whether anything is recorded of a subject, readable or not."""
        with suppress(FileNotFoundError):
            return bool((self.root / manifest_path(subject)).stat())
        return False

    def _remove_files(self, paths: Iterable[str]) -> None:
        """A crash in between is `clean`'s to mend."""
        for path in sorted(paths):
            durable.remove_file(self.root / path)
            durable.prune((self.root / path).parent, self.root)

    def manifest(self, subject: str) -> Manifest | None:
        """A subject's manifest; None when there is none or it is damaged, which makes the subject stale."""
        found = manifest_at(self.root / manifest_path(subject))
        return found if found is not None and found.subject == subject else None

    def manifests(self) -> dict[str, Manifest]:
        """All manifests by subject; damaged ones are left out."""
        found = (manifest_at(path) for path in sorted((self.root / MANIFESTS).glob("*.json")))
        return {m.subject: m for m in found if m is not None}

    def damaged_manifests(self) -> list[Path]:
        """Manifests that cannot be read: damaged, or written by another version."""
        return [path for path in sorted((self.root / MANIFESTS).glob("*.json")) if manifest_at(path) is None]

    def unreadable(self, readable: Iterable[str]) -> frozenset[str]:
        """The names, without their ending, of the manifests that are none of the `readable` subjects'."""
        return frozenset(path.stem for path in (self.root / MANIFESTS).glob("*.json")) - {safe_name(s) for s in readable}

    @property
    def record_is_damaged(self) -> bool:
        """Whether the dataset's own record is there and cannot be read: damaged, or written by another version."""
        return (self.root / DATASET_RECORD).exists() and self._dataset_record() is None

    def is_intact(self, manifest: Manifest, step: str) -> bool:
        """Whether every file of a step is there with its recorded size."""
        return all(has_size(self.root / f.path, f.size) for f in manifest.steps[step].files)

    def read_subject_table(self, table: str, subject: str) -> pl.DataFrame:
        """A published subject's rows of a table.

        Raises:
            NotPublishedError: The subject's manifest does not name the table.
            StoreDamagedError: The file is missing or not what was written.
        """
        path = subject_table_path(table, subject)
        with self._reading():
            manifest = self.manifest(subject)
            steps = manifest.steps.values() if manifest else ()
            recorded = next((f for step in steps for f in step.files if f.path == path), None)
            if recorded is None:
                raise NotPublishedError(f"{self.slug} has no {table} of subject {subject}; materialize it first")
            return pl.read_parquet(proven_bytes(self.root, recorded))

    def open_volume(self, subject: str, path: str) -> StoredVolume:
        """A published volume; `path` is that of its group, as the `volumes` table gives it.

        Raises:
            NotPublishedError: The subject's manifest does not name the volume.
            StoreDamagedError: A file is missing, has another size, or cannot be read.
        """
        with self._reading():
            manifest = self.manifest(subject)
            steps = manifest.steps.values() if manifest else ()
            files = [f for step in steps for f in step.files if f.path.startswith(f"{path}/")]
            if not files:
                raise NotPublishedError(f"{self.slug} has no volume {path}; materialize it first")
            lost = next((f for f in files if not has_size(self.root / f.path, f.size)), None)
            if lost is not None:
                raise StoreDamagedError(f"{self.root / lost.path} is missing or not {lost.size} bytes; it must be rebuilt")
            return open_volume(self.root / path)

    def dataset_record(self) -> DatasetRecord:
        """What is recorded of the dataset's tables; empty when there is nothing or it is damaged."""
        return self._dataset_record() or DatasetRecord()

    def _dataset_record(self) -> DatasetRecord | None:
        try:
            return DatasetRecord.from_bytes((self.root / DATASET_RECORD).read_bytes())
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def write_tables(
        self,
        step: str,
        key: str,
        tables: Mapping[str, pl.DataFrame],
        facts: Mapping[str, Any],
        outdated: Sequence[str] = (),
    ) -> None:
        """Commit the tables of a dataset-level step, with the facts that belong to them.

        Args:
            step: The step.
            key: What the tables were made under.
            tables: Table name -> rows.
            facts: What else is recorded.
            outdated: Tables and folders that were made from the older ones; they, and the keys and facts of the same name, are
                forgotten, and they are removed.

        Raises:
            OSError: The disk failed; the step has its old tables and facts, or none.
        """
        with self._committing():
            before = self.dataset_record()
            rest = before.without({*tables, *outdated}, {step, *outdated}, {*facts, *outdated})
            if rest != before:
                self._record_dataset(rest)
            for name in outdated:
                durable.remove_file(self.root / f"{name}.parquet")
                self._remove_files(file.path for file in before.folder_files(name))
            records = {name: self._write_table(name, table) for name, table in tables.items()}
            self._record_dataset(replace(rest, tables={**rest.tables, **records}).with_step(step, key, facts))

    def write_folder(
        self, step: str, key: str, staging: Staging, folder: str, facts: Mapping[str, Any], outdated: Sequence[str] = ()
    ) -> None:
        """Commit a folder of a dataset-level step in place of the one that is there, with the facts that belong to it.

        Args:
            step: The step.
            key: What the folder was made under.
            staging: Holds the folder; it is synced and recorded here, and nothing in it may change meanwhile.
            folder: Its path, the same in the staging folder and in the products folder.
            facts: What else is recorded.
            outdated: Keys and facts that are forgotten.

        Raises:
            OSError: The disk failed; the step has its old folder and facts, or none.
        """
        files = staging.seal([folder])
        with self._committing():
            before = self.dataset_record()
            rest = before.without({folder}, {step, *outdated}, {*facts, *outdated})
            if rest != before:
                self._record_dataset(rest)
            self._put(staging, folder)
            durable.sync((self.root / folder).parent)
            self._record_dataset(rest.with_folder(folder, files).with_step(step, key, facts))

    def _write_table(self, name: str, table: pl.DataFrame) -> dict[str, Any]:
        content = parquet_bytes(table)
        durable.write_bytes(self.root / f"{name}.parquet", content)
        return {"rows": table.height, "size": len(content), "xxh128": xxh128_of(content)}

    def _record_dataset(self, record: DatasetRecord) -> None:
        durable.write_bytes(self.root / DATASET_RECORD, record.to_bytes())

    def tables_current(self, step: str, key: str, names: Sequence[str]) -> bool:
        """Whether a step's tables were made under `key` and are there with their recorded sizes."""
        record = self.dataset_record()
        sizes = {name: record.tables.get(name, {}).get("size") for name in names}
        return record.keys.get(step) == key and all(
            size is not None and has_size(self.root / f"{name}.parquet", size) for name, size in sizes.items()
        )

    def read_table(self, name: str) -> pl.DataFrame:
        """A dataset-level table.

        Raises:
            NotPublishedError: There is none, or it is being replaced.
            StoreDamagedError: The file is missing or not what was written.
        """
        with self._reading():
            recorded = self.dataset_record().tables.get(name)
            if recorded is None:
                raise NotPublishedError(f"{self.slug} has no table {name}; materialize the step that writes it first")
            return pl.read_parquet(proven_bytes(self.root, table_file(name, recorded)))

    def folder_current(self, step: str, key: str, folder: str) -> bool:
        """Whether a step's folder was made under `key` and every file of it is there with its recorded size."""
        record = self.dataset_record()
        files = record.folder_files(folder)
        return (
            record.keys.get(step) == key and folder in record.folders and all(has_size(self.root / f.path, f.size) for f in files)
        )

    def read_file(self, path: str) -> bytes:
        """A file of a dataset-level folder; `path` is relative to the products folder.

        Raises:
            NotPublishedError: It is not recorded, or its folder is being replaced.
            StoreDamagedError: It is missing or not what was written.
        """
        with self._reading():
            recorded = next((f for f in self.dataset_record().files() if f.path == path), None)
            if recorded is None:
                raise NotPublishedError(f"{self.slug} has no {path}; materialize the step that writes it first")
            return proven_bytes(self.root, recorded)

    def recorded_files(self) -> Iterator[FileRecord]:
        """Every file that a manifest or the dataset's record names."""
        for manifest in self.manifests().values():
            for step in manifest.steps.values():
                yield from step.files
        yield from self.dataset_record().files()

    def verify(self, progress: Callable[[int, int], None] = lambda _done, _total: None) -> Iterator[Damage]:
        """Re-read every byte that is recorded, decode every voxel, and yield what is not as it was written.

        Args:
            progress: Called with the bytes read so far and the bytes in all.
        """
        for path in self.damaged_manifests():
            yield Damage(path.relative_to(self.root).as_posix(), UNREADABLE)
        if self.record_is_damaged:
            yield Damage(DATASET_RECORD, UNREADABLE)
        yield from damages(self.root, list(self.recorded_files()), progress)

    def recover(self) -> list[str]:
        """Remove the staging folders whose process is gone; what another run works in stays. Writes nothing if there is none."""
        if not any(path.is_dir() for path in (self.root / STAGING).glob("*")):
            return []
        with self._staging_lock():
            dead = list(dead_staging(self.root / STAGING))
            for folder in dead:
                durable.remove_tree(folder)
        return [folder.relative_to(self.root).as_posix() for folder in dead]

    def clean(self) -> list[str]:
        """Remove what nothing records, dead staging folders and leavings of a crash; writes nothing if there is none."""
        removed = self.recover()
        found = self._orphans()  # without the lock, which a read-only disk does not give
        if found:
            with self._committing():
                found = self._orphans()
                remove(self.root, found)
        return removed + [path.relative_to(self.root).as_posix() for path in found]

    def _orphans(self) -> list[Path]:
        readable = self.manifests()
        recorded = {file.path for file in self.recorded_files()} | {manifest_path(subject) for subject in readable}
        return orphans(self.root, recorded, self.unreadable(readable), spare_dataset=self.record_is_damaged)


def _require_as_recorded(before: Manifest | None, subject: str, kept: Mapping[str, StepRecord]) -> None:
    recorded = before.steps if before else {}
    for name, record in kept.items():
        if name not in recorded or recorded[name].model_dump(mode="json") != record.model_dump(mode="json"):
            raise PublishConflictError(f"{name} of subject {subject} was published anew meanwhile; run it again")
