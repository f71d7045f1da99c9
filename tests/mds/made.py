"""Small datasets with an `mds` block, taken through volumes, index and records as the chain does it, without Dagster."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import numpy.typing as npt
from PIL import Image

from assets.build import build_subjects
from assets.dataset import Dataset, survey
from assets.index import index_key, index_tables, make_index
from assets.mds.write import Published, publish_records
from assets.spec import DatasetSpec
from expectations.gate import GreatExpectationsGates
from resources.layout import Layout

Json = dict[str, Any]
Array = npt.NDArray[Any]

FOLDER = "some_group/a folder, with: all"


def spec_of(layout: Mapping[str, Any], mds: Mapping[str, Any], **more: Any) -> DatasetSpec:
    """A made-up dataset; `mds` is laid over a segmentation of volumes."""
    block = {
        "name": "Made_Up", "folder": FOLDER, "task": "segmentation", "variant": "3d_mask", "dimension": "3D", "modality": "CT",
        "classes": ["background", "organ", "tumour"], **mds,
    }  # fmt: skip
    content = {
        "slug": "made_up", "name": "Made up", "version": "1", "licence": "CC0-1.0", "access": "open", "modality": "CT",
        "anatomy": "liver", "description": "made up", "sources": [], "layout": layout, "mds": block,
        "expect": {"quarantined_share": 1.0},
    }  # fmt: skip
    return DatasetSpec.model_validate(content | more)


@dataclass(frozen=True)
class Records:
    """What was published of a dataset."""

    dataset: Dataset
    published: Published

    @property
    def folder(self) -> Path:
        return self.dataset.store.root / "records"

    def record(self, index: int) -> Json:
        content: Json = json.loads(self.dataset.store.read_file(f"records/standardized_annotations/{index}.json"))
        return content

    def pixels(self, index: int) -> Array:
        """(height, width, 3)."""
        with Image.open(io.BytesIO(self.dataset.store.read_file(f"records/images/{index}.png"))) as picture:
            assert picture.mode == "RGB"
            return np.asarray(picture)

    def meta(self) -> Json:
        content: Json = json.loads(self.dataset.store.read_file("records/data_meta.json"))
        return content

    def block(self, index: int) -> Json:
        """The inner field `picture`, wherever it is."""
        branches = self.record(index)["media_geometry"]["spatial"].values()
        (block,) = [branch["picture"] for branch in branches if branch]
        return dict(block)

    def files(self) -> dict[str, bytes]:
        return {p.relative_to(self.folder).as_posix(): p.read_bytes() for p in sorted(self.folder.rglob("*")) if p.is_file()}


def publish(spec: DatasetSpec, root: Path) -> Records:
    """Take the raw folder under `root` through everything records are made from, and make them."""
    dataset = Dataset(spec, Layout(root))
    index(dataset)
    assert spec.mds is not None
    return Records(dataset, publish_records(dataset, spec.mds, GreatExpectationsGates().records))


def index(dataset: Dataset) -> None:
    """What the chain does before the records."""
    found = survey(dataset)
    list(build_subjects(found, found.stale, lambda _tables, _volumes: {}, lambda _line: None))
    store = dataset.store
    if not store.tables_current("raw", found.raw_key(), ["raw"]):
        store.write_tables("raw", found.raw_key(), {"raw": found.raw_table()}, {})
    if not store.tables_current("index", index_key(dataset), index_tables(dataset)):
        made = make_index(dataset, [])
        store.write_tables("index", made.key, made.tables, {}, outdated=("splits", "records"))


def write_volume(path: Path, voxels: Array, spacing_mm: tuple[float, float, float] = (1, 1, 1)) -> None:
    """Write `[i, j, k]` RAS+ voxels as NIfTI."""
    path.parent.mkdir(parents=True, exist_ok=True)
    nib.Nifti1Image(voxels, np.diag([*spacing_mm, 1.0])).to_filename(path)


def write_picture(path: Path, pixels: Array) -> None:
    """Write (height, width) or (height, width, 3) pixels."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def decoded(annotation: Json) -> npt.NDArray[np.bool_]:
    """(height, width) of COCO's uncompressed run lengths, by walking over the pixels column by column."""
    height, width = annotation["segmentation"]["size"]
    mask = np.zeros((height, width), bool)
    place, value = 0, False
    for run in annotation["segmentation"]["counts"]:
        for n in range(place, place + run):
            mask[n % height, n // height] = value
        place, value = place + run, not value
    assert place == height * width
    return mask
