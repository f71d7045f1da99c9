"""Looking after what is stored: proving every byte, and removing what nothing names."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from resources import durable
from resources.files import files_below, record_of, xxh128_of
from resources.layout import MANIFESTS, RECORDS, is_dataset_product, is_product
from resources.manifest import FileRecord
from resources.ome_metadata import ARRAY, DOCUMENT
from resources.ome_zarr import StoreDamagedError, open_volume

LOCK = ".lock"
"""File in a staging folder that its maker holds locked while it lives."""


@dataclass(frozen=True)
class Damage:
    """Something that is not as it was written.

    Attributes:
        path: File or folder, relative to the products folder.
        detail: What is wrong.
    """

    path: str
    detail: str

    def __str__(self) -> str:
        return f"{self.path} {self.detail}"


def damages(root: Path, files: Sequence[FileRecord], progress: Callable[[int, int], None]) -> Iterator[Damage]:
    """Re-read every byte of `files` and decode every voxel of the volumes among them.

    Args:
        root: The products folder.
        files: What is recorded.
        progress: Called with the bytes read so far and the bytes in all.
    """
    total, done = sum(file.size for file in files), 0
    for file in files:
        yield from _file_damage(root, file)
        done += file.size
        progress(done, total)
    suffix = f"/{ARRAY}/{DOCUMENT}"
    for file in files:
        if file.path.endswith(suffix):
            yield from _volume_damage(root, file.path.removesuffix(suffix))


def _file_damage(root: Path, file: FileRecord) -> Iterator[Damage]:
    try:
        found = record_of(root, root / file.path)
    except FileNotFoundError:
        yield Damage(file.path, "is missing")
        return
    except OSError as error:
        yield Damage(file.path, f"cannot be read: {error}")
        return
    if found.size != file.size:
        yield Damage(file.path, f"has {found.size} bytes, {file.size} were written")
    elif found.xxh128 != file.xxh128:
        yield Damage(file.path, f"is not what was written: XXH128 {found.xxh128}, not {file.xxh128}")


def _volume_damage(root: Path, group: str) -> Iterator[Damage]:
    try:
        volume = open_volume(root / group)
        content = volume.content_xxh128()
    except StoreDamagedError as error:
        yield Damage(group, f"cannot be decoded: {error}")
        return
    expected = volume.attributes.get("content_xxh128", content)
    if content != expected:
        yield Damage(group, f"holds other voxels than were written: {content}, not {expected}")


def dead_staging(parent: Path) -> Iterator[Path]:
    """The staging folders whose maker is gone; the caller keeps others from making or removing any meanwhile."""
    for folder in sorted(path for path in parent.glob("*") if path.is_dir()):
        lock = folder / LOCK
        if not lock.exists():
            yield folder
            continue
        with lock.open("r") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
        yield folder


def orphans(root: Path, recorded: Collection[str], unreadable: Collection[str], *, spare_dataset: bool) -> list[Path]:
    """Files of products that nothing records: a crash left them, or they were replaced.

    Args:
        root: The products folder.
        recorded: Files that are recorded, relative to it.
        unreadable: File names (without suffix) of subjects whose manifest cannot be read; whatever bears them is left alone.
        spare_dataset: Whether the dataset's own record cannot be read, so that its tables and records are left alone too.
    """
    found = []
    for path in files_below(root):
        name = path.relative_to(root).as_posix()
        spared = spare_dataset and is_dataset_product(name)
        if name not in recorded and is_product(name) and not spared and not _bears(name, unreadable):
            found.append(path)
    return found


def _bears(name: str, stems: Collection[str]) -> bool:
    second = name.split("/")[1] if "/" in name else ""
    return second in stems or Path(second).stem in stems


def bearing(root: Path, stem: str) -> Iterator[str]:
    """Files of a subject's products, by their names alone, relative to the products folder; its manifest is none of them."""
    for folder in sorted(path for path in root.glob("[!.]*") if path.is_dir() and path.name not in (MANIFESTS, RECORDS)):
        for path in (folder / stem, folder / f"{stem}.parquet", folder / f"{stem}.png"):
            yield from (file.relative_to(root).as_posix() for file in files_below(path))


def remove(root: Path, paths: Sequence[Path]) -> None:
    """Remove files, and the folders this empties."""
    for path in paths:
        durable.remove_file(path)
        durable.prune(path.parent, root)


def proven_bytes(root: Path, recorded: FileRecord) -> bytes:
    """The content of a file, which is what was recorded.

    Raises:
        StoreDamagedError: It is missing, or not what was recorded.
    """
    try:
        content = (root / recorded.path).read_bytes()
    except FileNotFoundError as error:
        raise StoreDamagedError(f"{root / recorded.path} is missing and must be rebuilt") from error
    if xxh128_of(content) != recorded.xxh128:
        raise StoreDamagedError(f"{root / recorded.path} is damaged and must be rebuilt (XXH128 differs)")
    return content
