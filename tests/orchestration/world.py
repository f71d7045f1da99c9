"""A data root, a spec and an event log, and runs over them as the command line and the UI start them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import dagster as dg
import nibabel as nib
import numpy as np
import pytest

from assets.chain import build_chain
from assets.dataset import Dataset
from assets.raw.seen import CACHE_NAME
from assets.spec import DatasetSpec, load_catalog
from expectations.gate import GreatExpectationsGates
from resources.layout import Layout

RANGE_START, RANGE_END = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"
NOT_PRODUCTS = (".staging/", ".commit.lock", CACHE_NAME)


@cache
def catalog() -> dict[str, DatasetSpec]:
    """Every spec, read once a process; none is ever changed."""
    return load_catalog()


def catalog_spec(slug: str = "kits23") -> DatasetSpec:
    return catalog()[slug]


def altered(spec: DatasetSpec, **fields: Any) -> DatasetSpec:
    """The spec with other values of some fields; a mapping replaces only the keys it has."""
    content = spec.model_dump()
    for name, value in fields.items():
        content[name] = {**content[name], **value} if isinstance(value, Mapping) else value
    return DatasetSpec.model_validate(content)


@dataclass(frozen=True)
class World:
    """One dataset, its folders and an event log."""

    root: Path
    spec: DatasetSpec
    instance: dg.DagsterInstance

    @property
    def dataset(self) -> Dataset:
        return Dataset(self.spec, Layout(self.root))

    @property
    def subjects(self) -> Path:
        """The folder that holds a folder per subject in KiTS23's layout."""
        return self.root / "raw" / self.spec.slug / "dataset"

    def key(self, step: str) -> dg.AssetKey:
        return dg.AssetKey([self.spec.slug, step])

    def run(
        self,
        *steps: str,
        partition: str | None = None,
        through: tuple[str, str] | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> dg.ExecuteInProcessResult:
        """Materialize the given steps, or the whole chain; by subject when a partition or a range of them is given."""
        keyed = partition is not None or through is not None or tags is not None
        chain = build_chain(self.dataset, GreatExpectationsGates(), by_subject=keyed)
        if through is not None:
            tags = {RANGE_START: through[0], RANGE_END: through[1]}
        return dg.materialize(
            list(chain.assets),
            selection=[self.key(step) for step in steps] if steps else None,
            partition_key=partition,
            tags=tags,
            instance=self.instance,
            raise_on_error=False,
        )

    def register(self, *subjects: str) -> None:
        """Make partitions of subjects, as the root asset and the sensor do."""
        self.instance.add_dynamic_partitions(f"{self.spec.slug}_subjects", list(subjects))

    def partitions(self) -> list[str]:
        return sorted(self.instance.get_dynamic_partitions(f"{self.spec.slug}_subjects"))

    def logged(self, step: str) -> set[str]:
        """The subjects that the event log knows as materialized."""
        return set(self.instance.get_materialized_partitions(self.key(step)))

    def files(self) -> dict[str, tuple[int, bytes]]:
        """Path -> modification time and content of every product."""
        root = self.dataset.store.root
        paths = {p.relative_to(root).as_posix(): p for p in root.rglob("*") if p.is_file()}
        kept = {name: path for name, path in paths.items() if not name.startswith(NOT_PRODUCTS)}
        return {name: (path.stat().st_mtime_ns, path.read_bytes()) for name, path in sorted(kept.items())}

    def states(self) -> dict[str, str]:
        """Subject -> its state in the ledger."""
        ledger = self.dataset.store.read_table("ledger").filter(kind="subject")
        return dict(ledger.select("name", "state").iter_rows())

    def rewrite_mask(self, subject: str) -> None:
        """Give a subject's label map one voxel more of the cyst."""
        path = self.subjects / subject / "segmentation.nii.gz"
        image = nib.load(path)
        voxels = np.asarray(image.dataobj).copy()
        voxels[tuple(np.argwhere(voxels == 0)[0])] = 3
        nib.save(nib.Nifti1Image(voxels, None, image.header), path)

    def truncate_image(self, subject: str) -> None:
        """Cut a subject's image to half of its bytes."""
        path = self.subjects / subject / "imaging.nii.gz"
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])


@contextmanager
def copied(built: World, root: Path, spec: DatasetSpec | None = None) -> Iterator[World]:
    """A copy of a data root, modification times included, with an event log that knows nothing."""
    shutil.copytree(built.root, root)
    with dg.DagsterInstance.ephemeral() as instance:
        yield World(root, spec or built.spec, instance)


def changed(before: Mapping[str, object], now: Mapping[str, object]) -> set[str]:
    """The paths that are not as they were."""
    return {path for path in before.keys() | now.keys() if before.get(path) != now.get(path)}


def computed(result: dg.ExecuteInProcessResult) -> dict[str, int]:
    """Step -> how many subjects a run over the whole dataset says it computed."""
    found = {}
    for event in result.get_asset_materialization_events():
        made = event.step_materialization_data.materialization
        if "subjects_computed" in made.metadata:
            found[made.asset_key.path[-1]] = int(made.metadata["subjects_computed"].value)  # type: ignore[arg-type]
    return found


def failed_checks(result: dg.ExecuteInProcessResult) -> list[dg.AssetCheckEvaluation]:
    """The failed check evaluations of single subjects."""
    events = [e for e in result.all_events if e.event_type is dg.DagsterEventType.ASSET_CHECK_EVALUATION]
    found = [e.event_specific_data for e in events]
    return [e for e in found if isinstance(e, dg.AssetCheckEvaluation) and e.partition is not None and not e.passed]


def reasons(result: dg.ExecuteInProcessResult) -> str:
    """Why the steps of a run failed."""
    events: Sequence[Any] = [e for e in result.all_events if e.is_step_failure]
    parts = []
    for event in events:
        data = event.step_failure_data
        parts += [str(data.user_failure_data.description) if data.user_failure_data else "", str(data.error)]
    return "\n".join(parts)


def hide(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Refuse to list a folder."""
    listed = os.scandir

    def refuse(path: Any) -> Any:
        if not isinstance(path, int) and Path(path) == folder:
            raise PermissionError(13, "Permission denied", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", refuse)
