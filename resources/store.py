"""The only module that commits volumes and tables.

Products are made in a staging folder, synced, and moved into place by renaming; only then is the manifest written that makes them
visible. Where older products are replaced, the manifest forgets them first. A crash at any point therefore leaves the old product,
the new one, or none: never a mixture, and the next run makes good what is missing.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import ValidationError

from resources import durable
from resources.layout import Layout, manifest_path, subject_table_path
from resources.manifest import FileRecord, Manifest

DATASET_RECORD = "dataset.json"
_STAGING = ".staging"
_LOCK = ".lock"


@dataclass(frozen=True)
class Staging:
    """A folder in which one subject's products are made; its paths mirror those of the products folder."""

    folder: Path

    def write_table(self, path: str, table: pl.DataFrame) -> None:
        """Write a table into the staging folder."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(parquet_bytes(table))

    def write_bytes(self, path: str, content: bytes) -> None:
        """Write a file into the staging folder."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)

    def seal(self, paths: Sequence[str]) -> tuple[FileRecord, ...]:
        """Sync the files and folders at `paths` and record what they hold."""
        records = []
        for path in paths:
            durable.sync_tree(self.folder / path) if (self.folder / path).is_dir() else durable.sync_file(self.folder / path)
            records += [_record(self.folder, file) for file in _files(self.folder / path)]
        return tuple(records)


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            yield Path(folder) / name


def _record(root: Path, file: Path) -> FileRecord:
    with file.open("rb") as content:
        digest = file_digest(content, "sha256").hexdigest()
    return FileRecord(path=file.relative_to(root).as_posix(), size=file.stat().st_size, sha256=digest)


def parquet_bytes(table: pl.DataFrame) -> bytes:
    """A table as Parquet; the same table is always the same bytes."""
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd", compression_level=3, statistics=True)
    return buffer.getvalue()


@dataclass(frozen=True)
class DatasetRecord:
    """What is recorded of the dataset's own tables.

    Attributes:
        tables: Table name -> its rows, size, sha256.
        keys: Step -> the key its tables were made under.
        facts: The gate's verdict and the like.
    """

    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)


class DatasetStore:
    """The products of one dataset."""

    def __init__(self, layout: Layout, slug: str) -> None:
        self.root = layout.products(slug)
        self.slug = slug

    @contextmanager
    def staging(self) -> Iterator[Staging]:
        """A fresh staging folder, removed at the end; a lock on it tells the living from what a crash left behind."""
        parent = self.root / _STAGING
        parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=parent))
        with (folder / _LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                yield Staging(folder)
            finally:
                shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def _committing(self) -> Iterator[None]:
        """One writer of manifests at a time, across processes."""
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / ".commit.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def publish(self, staging: Staging, manifest: Manifest, replaced: Sequence[str], moved: Sequence[str]) -> None:
        """Make a subject's sealed products visible.

        Args:
            staging: Holds the products.
            manifest: The subject's new manifest, complete.
            replaced: The steps whose products are new.
            moved: Files and folders to move into place, relative to the staging folder.
        """
        with self._committing():
            self._forget(manifest.subject, replaced)
            for path in moved:
                self._put(staging, path)
            for parent in sorted({(self.root / path).parent for path in moved}):
                durable.sync_folder(parent)
            durable.write_bytes(self.root / manifest_path(manifest.subject), manifest.to_bytes())

    def quarantine(self, manifest: Manifest) -> None:
        """Record a subject as quarantined and withdraw what had been made of it."""
        with self._committing():
            before = self.manifest(manifest.subject)
            durable.write_bytes(self.root / manifest_path(manifest.subject), manifest.to_bytes())
            self._remove_products(before)

    def withdraw(self, subject: str) -> None:
        """Forget a subject whose raw data are gone, and remove its products."""
        with self._committing():
            before = self.manifest(subject)
            path = self.root / manifest_path(subject)
            if path.exists():
                path.unlink()
                durable.sync_folder(path.parent)
            self._remove_products(before)

    def _forget(self, subject: str, steps: Sequence[str]) -> None:
        before = self.manifest(subject)
        if before is None or not any(before.steps[s].files for s in steps if s in before.steps):
            return
        kept = {name: record for name, record in before.steps.items() if name not in steps}
        manifest = before.model_copy(update={"steps": kept})
        durable.write_bytes(self.root / manifest_path(subject), manifest.to_bytes())

    def _put(self, staging: Staging, path: str) -> None:
        target = self.root / path
        if target.is_dir():
            durable.rename(target, staging.folder / ".replaced" / path)
        durable.rename(staging.folder / path, target)

    def _remove_products(self, manifest: Manifest | None) -> None:
        if manifest is None:
            return
        for record in manifest.steps.values():
            for file in record.files:
                (self.root / file.path).unlink(missing_ok=True)
                _prune((self.root / file.path).parent, self.root)

    def manifest(self, subject: str) -> Manifest | None:
        """A subject's manifest; None when there is none or it is damaged, which makes the subject stale."""
        return _load(self.root / manifest_path(subject))

    def manifests(self) -> dict[str, Manifest]:
        """All manifests by subject."""
        found = (_load(path) for path in sorted((self.root / "manifest").glob("*.json")))
        return {m.subject: m for m in found if m is not None}

    def is_intact(self, manifest: Manifest, step: str) -> bool:
        """Whether every file of a step is there with its recorded size."""
        return all(_has_size(self.root / f.path, f.size) for f in manifest.steps[step].files)

    def read_subject_table(self, table: str, subject: str) -> pl.DataFrame:
        """A published subject's rows of a table."""
        return pl.read_parquet(self.root / subject_table_path(table, subject))

    def dataset_record(self) -> DatasetRecord:
        """What is recorded of the dataset's tables; empty when there is nothing or it is damaged."""
        try:
            content = json.loads((self.root / DATASET_RECORD).read_text(encoding="utf-8"))
            return DatasetRecord(**content)
        except (OSError, ValueError, TypeError):
            return DatasetRecord()

    def write_tables(self, step: str, key: str, tables: Mapping[str, pl.DataFrame], facts: Mapping[str, Any]) -> None:
        """Commit the tables of a dataset-level step, with the facts that belong to them."""
        with self._committing():
            before = self.dataset_record()
            keys = {name: old for name, old in before.keys.items() if name != step}
            self._write_record(DatasetRecord(before.tables, keys, before.facts))
            records = dict(before.tables)
            for name, table in tables.items():
                content = parquet_bytes(table)
                durable.write_bytes(self.root / f"{name}.parquet", content)
                records[name] = {"rows": table.height, "size": len(content), "sha256": sha256(content).hexdigest()}
            self._write_record(DatasetRecord(records, {**keys, step: key}, {**before.facts, **facts}))

    def _write_record(self, record: DatasetRecord) -> None:
        content = {"tables": record.tables, "keys": record.keys, "facts": record.facts}
        text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False)
        durable.write_bytes(self.root / DATASET_RECORD, text.encode() + b"\n")

    def tables_current(self, step: str, key: str, names: Sequence[str]) -> bool:
        """Whether a step's tables were made under `key` and are there with their recorded sizes."""
        record = self.dataset_record()
        sizes = {name: record.tables.get(name, {}).get("size") for name in names}
        return record.keys.get(step) == key and all(
            size is not None and _has_size(self.root / f"{name}.parquet", size) for name, size in sizes.items()
        )

    def read_table(self, name: str) -> pl.DataFrame:
        """A dataset-level table."""
        return pl.read_parquet(self.root / f"{name}.parquet")

    def verify(self) -> Iterator[str]:
        """Re-read every byte that a manifest names and yield what is wrong with it."""
        for manifest in self.manifests().values():
            for record in manifest.steps.values():
                for file in record.files:
                    yield from _damage(self.root, file)
        for name, table in self.dataset_record().tables.items():
            yield from _damage(self.root, FileRecord(path=f"{name}.parquet", size=table["size"], sha256=table["sha256"]))

    def clean(self) -> list[str]:
        """Remove what no manifest names: staging folders whose process is gone, and files that a crash left behind."""
        removed = [path.name for path in self._dead_staging()]
        for path in list(self._dead_staging()):
            shutil.rmtree(path)
        with self._committing():
            for path in self._orphans():
                removed.append(path.relative_to(self.root).as_posix())
                path.unlink()
                _prune(path.parent, self.root)
        return removed

    def _dead_staging(self) -> Iterator[Path]:
        for folder in sorted((self.root / _STAGING).glob("*")):
            lock = folder / _LOCK
            if not lock.exists():
                yield folder
                continue
            with lock.open("r+") as handle:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                yield folder

    def _orphans(self) -> list[Path]:
        kept = {DATASET_RECORD, ".commit.lock", *(f"{name}.parquet" for name in self.dataset_record().tables)}
        for manifest in self.manifests().values():
            kept.add(manifest_path(manifest.subject))
            kept.update(f.path for record in manifest.steps.values() for f in record.files)
        inside = (p for p in _files(self.root) if _STAGING not in p.relative_to(self.root).parts)
        return [p for p in inside if p.relative_to(self.root).as_posix() not in kept]


def _load(path: Path) -> Manifest | None:
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except FileNotFoundError:
        return False


def _damage(root: Path, file: FileRecord) -> Iterator[str]:
    path = root / file.path
    if not path.exists():
        yield f"{file.path} is missing"
    elif _record(root, path) != file:
        yield f"{file.path} is not what was written (size or SHA-256 differs)"


def _prune(folder: Path, root: Path) -> None:
    """Remove a folder and its parents below `root` while they are empty."""
    while folder != root and folder.is_dir() and next(folder.iterdir(), None) is None:
        folder.rmdir()
        folder = folder.parent
