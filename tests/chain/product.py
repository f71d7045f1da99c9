"""Runs a dataset through its whole chain, as `dagster asset materialize` does, and reads what it published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import numpy.typing as npt
import polars as pl

from assets.chain import build_chain
from assets.dataset import Dataset
from assets.spec import DatasetSpec
from expectations.gate import GreatExpectationsGates
from resources.findings import Code
from resources.layout import Layout, labels_path, series_path
from resources.ome_zarr import StoredVolume

ONLY_SCAN = "0"
PLANES = ("sagittal", "coronal", "axial")
"""By the axis along which a plane slices."""


def spec_of(slug: str, layout: Mapping[str, Any], labels: Mapping[int, str], **more: Any) -> DatasetSpec:
    """A spec of made-up cases; however many of them are refused, the gate stays open."""
    return DatasetSpec.model_validate(
        {
            "slug": slug,
            "name": slug,
            "version": "1",
            "licence": "CC0-1.0",
            "access": "open",
            "modality": "CT",
            "anatomy": "none",
            "description": "made-up cases",
            "sources": [],
            "layout": layout,
            "labels": labels,
            "expect": {"quarantined_share": 1.0},
            **more,
        }
    )


def materialize(dataset: Dataset) -> dg.ExecuteInProcessResult:
    """Materialize every asset of the chain in the scope of a whole-dataset command; a closed gate raises."""
    chain = build_chain(dataset, GreatExpectationsGates(), by_subject=False)
    with dg.DagsterInstance.ephemeral(settings={"python_logs": {"python_log_level": "ERROR"}}) as instance:
        return dg.materialize(list(chain.assets), instance=instance)


def run_chain(spec: DatasetSpec, root: Path) -> Product:
    """Run the chain of the dataset under `root/raw/<slug>` and hand over its products."""
    dataset = Dataset(spec, Layout(root))
    materialize(dataset)
    return Product(dataset)


@dataclass(frozen=True)
class Product:
    """What a chain published, read through the store as any user would."""

    dataset: Dataset

    def __hash__(self) -> int:
        return id(self)

    @cached_property
    def tables(self) -> dict[str, pl.DataFrame]:
        names = sorted(self.dataset.store.dataset_record().tables)
        return {name: self.dataset.store.read_table(name) for name in names}

    def rows(self, table: str, subject: str) -> pl.DataFrame:
        return self.tables[table].filter(pl.col("subject") == subject)

    def state(self, subject: str) -> str:
        (state,) = self.rows("ledger", subject).filter(kind="subject")["state"]
        return str(state)

    def findings(self, subject: str) -> list[dict[str, Any]]:
        """What is said of a case by itself: most are one image, stored in many ways."""
        return self.rows("findings", subject).filter(pl.col("code") != Code.SAME_IMAGE_TWICE.value).to_dicts()

    def image(self, subject: str, series: str = "img") -> StoredVolume:
        return self._open(subject, series_path(subject, ONLY_SCAN, series))

    def labels(self, subject: str, series: str = "img", name: str = "seg") -> StoredVolume:
        return self._open(subject, labels_path(subject, ONLY_SCAN, series, name))

    def _open(self, subject: str, path: str) -> StoredVolume:
        assert path in self.rows("volumes", subject)["path"].to_list()
        return self.dataset.store.open_volume(subject, path)

    def row(self, subject: str, kind: str, series: str = "img") -> dict[str, Any]:
        """The one `volumes` row of a kind."""
        (row,) = self.rows("volumes", subject).filter(kind=kind, series=series).to_dicts()
        return row

    def label_row(self, subject: str, series: str, name: str) -> dict[str, Any]:
        """The `volumes` row of one of several label maps."""
        (row,) = self.rows("volumes", subject).filter(kind="labels", series=series, labels_name=name).to_dicts()
        return row

    def files(self) -> dict[str, bytes]:
        """Every file of the products folder but its locks, by path."""
        root = self.dataset.store.root
        paths = (p for p in root.rglob("*") if p.is_file() and not p.name.endswith(".lock"))
        return {p.relative_to(root).as_posix(): p.read_bytes() for p in paths}

    def raw_paths(self) -> list[str]:
        root = self.dataset.raw_root
        return sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file())


def world(affine: npt.NDArray[np.float64], ijk: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    return np.asarray(affine[:3, :3] @ ijk + affine[:3, 3])


def grid(shape: tuple[int, int, int]) -> tuple[npt.NDArray[np.int64], ...]:
    """The index arrays i, j, k of a volume."""
    return tuple(np.meshgrid(*(np.arange(n) for n in shape), indexing="ij"))
