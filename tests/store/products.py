"""Small products in two versions, made the way the pipeline makes them, for the tests of the store."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from resources.layout import Layout, labels_path, scan_path, series_path, subject_table_path
from resources.manifest import Manifest, StepRecord
from resources.ome_zarr import SLAB, ContentHash, ImageWriter, write_hierarchy, write_labels
from resources.store import DatasetStore, Staging

SLUG = "made"
SHAPE = (66, 5, 6)
AFFINE = [[2.0, 0, 0, -5], [0, 3.0, 0, 7], [0, 0, 4.0, 11], [0, 0, 0, 1]]
LABELS_BOX = (3, 2, 1)


def store_at(root: Path) -> DatasetStore:
    return DatasetStore(Layout(root), SLUG)


def image(version: int) -> npt.NDArray[np.int16]:
    """`[i, j, k]`; every voxel tells the version, and none is zero."""
    values = np.arange(np.prod(SHAPE)).reshape(SHAPE) % 1000 + 1
    return np.asarray(values + 1000 * version, np.int16)


def labels(version: int) -> npt.NDArray[np.uint8]:
    return np.full((4, 3, 2), version, np.uint8)


def table(version: int) -> pl.DataFrame:
    return pl.DataFrame({"version": [version] * 3, "n": [1, 2, 3]})


def write_image(group: Path, voxels: npt.NDArray[Any], slab_axis: int = 0, pause: Callable[[], None] = lambda: None) -> str:
    """Store `[i, j, k]` voxels slab by slab; returns their content hash."""
    shape = (voxels.shape[0], voxels.shape[1], voxels.shape[2])
    writer, content = ImageWriter(group, shape, voxels.dtype, slab_axis), ContentHash(shape, voxels.dtype)
    for start in range(0, shape[slab_axis], SLAB):
        pause()
        where = [slice(None)] * 3
        where[slab_axis] = slice(start, start + SLAB)
        block = np.ascontiguousarray(voxels[tuple(where)].transpose(2, 1, 0))
        at = [0, 0, 0]
        at[2 - slab_axis] = start
        content.add((at[0], at[1], at[2]), block)
        writer.write(start, block).result()
    pause()
    digest = content.hexdigest()
    writer.close((2.0, 3.0, 4.0), (-5.0, 7.0, 11.0), {"affine_ras_mm": AFFINE, "content_xxh128": digest})
    return digest


def write_volumes(folder: Path, subject: str, version: int, pause: Callable[[], None] = lambda: None) -> None:
    write_image(folder / series_path(subject, "0", "ct"), image(version), pause=pause)
    group = folder / labels_path(subject, "0", "ct", "masses")
    attributes = {"affine_ras_mm": AFFINE}
    write_labels(group, SHAPE, labels(version), LABELS_BOX, (2.0, 3.0, 4.0), (-5.0, 7.0, 11.0), attributes)
    write_hierarchy(folder / scan_path(subject, "0"), ["ct"], {"subject": subject})


def make(
    staging: Staging, subject: str, version: int, steps: tuple[str, ...], pause: Callable[[], None] = lambda: None
) -> dict[str, list[str]]:
    """Stage a subject's products; step -> what is to be moved."""
    moved: dict[str, list[str]] = {}
    for step in steps:
        path = subject_table_path(step, subject)
        staging.write_table(path, table(version))
        moved[step] = [path]
        if step == "volumes":
            write_volumes(staging.folder, subject, version, pause)
            moved[step].append(scan_path(subject, "0"))
    return moved


def publish(
    store: DatasetStore,
    subject: str,
    version: int,
    steps: tuple[str, ...] = ("volumes", "boxes"),
    pause: Callable[[], None] = lambda: None,
) -> None:
    """Make and publish some of a subject's steps; the others stay as they are recorded."""
    before = store.manifest(subject)
    with store.staging() as staging:
        moved = make(staging, subject, version, steps, pause)
        made = {
            s: StepRecord(key=f"{s}-{version}", code_version=1, parameters={}, files=staging.seal(moved[s]), n_rows=3)
            for s in steps
        }
        manifest = manifest_of(subject, {**(before.steps if before else {}), **made})
        store.publish(staging, manifest, steps, [path for step in steps for path in moved[step]])


def manifest_of(subject: str, steps: Mapping[str, StepRecord], state: Any = "published") -> Manifest:
    return Manifest(subject=subject, state=state, synthetic=True, sources=(), steps=dict(steps))


def versions_of(store: DatasetStore, subject: str) -> dict[str, int]:
    """Which version each recorded step of a subject really is; fails on anything mixed or damaged."""
    found: dict[str, int] = {}
    manifest = store.manifest(subject)
    for step in manifest.steps if manifest else ():
        versions = store.read_subject_table(step, subject)["version"].to_list()
        assert versions == [versions[0]] * 3
        found[step] = versions[0]
        if step == "volumes":
            _check_volumes(store, subject, versions[0])
    return found


def _check_volumes(store: DatasetStore, subject: str, version: int) -> None:
    volume = store.open_volume(subject, series_path(subject, "0", "ct"))
    np.testing.assert_array_equal(volume.voxels(), image(version))
    masses = store.open_volume(subject, labels_path(subject, "0", "ct", "masses"))
    stop = tuple(o + n for o, n in zip(LABELS_BOX, labels(version).shape, strict=True))
    np.testing.assert_array_equal(masses.crop(LABELS_BOX, (stop[0], stop[1], stop[2])), labels(version))


def tree(root: Path) -> dict[str, str]:
    """Every file below a folder and the SHA-256 of its bytes, locks left out."""
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.name.endswith(".lock")
    }
