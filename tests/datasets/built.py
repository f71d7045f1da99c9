"""A miniature dataset, found and built as the product does it, and what must hold of it whichever dataset it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
import pytest

from assets.build import build_subjects
from assets.classes import classes_table
from assets.dataset import Dataset, Survey, survey
from assets.raw import RawSubject, RawTree, discover
from assets.spec import DatasetSpec, load_catalog
from resources.findings import Code
from resources.layout import Layout
from resources.manifest import Manifest
from resources.readers.dicom.tags import read_tag
from tests import data_makers
from tests.data_makers import MadePicture, MadeScan, MadeSubject
from tests.datasets.closed_forms import InVoxels

PLANES = ("sagittal", "coronal", "axial")
CATALOG = load_catalog()


@dataclass(frozen=True)
class Miniature:
    """A made raw folder and its spec."""

    spec: DatasetSpec
    root: Path
    made: Mapping[str, MadeSubject]

    @property
    def raw_root(self) -> Path:
        return Layout(self.root).raw(self.spec.raw_name)

    def tree(self) -> RawTree:
        return discover(self.spec, self.raw_root)

    def path(self, file: Path) -> str:
        return file.relative_to(self.raw_root).as_posix()


def make(slug: str, root: Path, **more: Any) -> Miniature:
    spec = CATALOG[slug]
    return Miniature(spec, root, getattr(data_makers, slug)(Layout(root).raw(spec.raw_name), **more))


@dataclass(frozen=True)
class Built:
    """What was published of a raw folder."""

    spec: DatasetSpec
    survey: Survey
    manifests: Mapping[str, Manifest]

    def rows(self, table: str, subject: str) -> pl.DataFrame:
        return self.survey.dataset.store.read_subject_table(table, subject)

    def voxels(self, subject: str, kind: str, scan: str, series: str) -> Any:
        (row,) = self.rows("volumes", subject).filter(kind=kind, scan=scan, series=series).to_dicts()
        return self.survey.dataset.store.open_volume(subject, row["path"]).voxels()

    def codes(self, subject: str) -> set[Code]:
        return {record.finding().code for record in self.manifests[subject].findings}


def build(spec: DatasetSpec, root: Path) -> Built:
    """Survey and build everything of the dataset's raw folder under `root/raw`."""
    found = survey(Dataset(spec, Layout(root)))
    outcomes = build_subjects(found, list(found.plans.values()), lambda _tables, _volumes: {}, lambda _line: None)
    return Built(spec, found, {outcome.subject: outcome.manifest for outcome in outcomes})


def check_found(
    miniature: Miniature,
    ignored: Mapping[str, str],
    codes: Sequence[Code] = (),
    *,
    said: Mapping[str, Sequence[Code]] = MappingProxyType({}),
    also_used: Iterable[str] = (),
) -> None:
    """Every made file is where the spec says; all others are ignored for the given reasons, path -> a part of the reason.

    Args:
        miniature: The made raw folder.
        ignored: What is not used.
        codes: Findings about the dataset.
        said: Findings about subjects that have any.
        also_used: Files that are neither images nor labels, such as landmarks and tables.
    """
    tree = miniature.tree()
    assert list(tree.subjects) == list(miniature.made)
    assert [f.code for f in tree.findings] == list(codes)
    for subject, made in miniature.made.items():
        assert [f.code for f in tree.subjects[subject].findings] == list(said.get(subject, ()))
        _check_files(miniature, tree.subjects[subject], made)
    used = {miniature.path(f) for made in miniature.made.values() for scan in made.scans for f in _files(scan)}
    used.update(also_used)
    reasons = {f.path: f.reason for f in tree.files if f.state == "ignored"}
    assert {f.path: f.state for f in tree.files if f.state != "ignored"} == dict.fromkeys(used, "used")
    assert reasons.keys() == ignored.keys()
    assert not {path: reason for path, reason in reasons.items() if ignored[path] not in reason}


def _files(scan: MadeScan | MadePicture) -> list[Path]:
    return [*scan.series.values(), *(file for files in scan.labels.values() for file in files)]


def _check_files(miniature: Miniature, raw: RawSubject, made: MadeSubject) -> None:
    assert [scan.scan for scan in raw.scans] == [scan.scan for scan in made.scans]
    for found, drawn in zip(raw.scans, made.scans, strict=True):
        assert found.series == {name: miniature.path(file) for name, file in drawn.series.items()}
        labels = {name: [f.path for f in files] for name, files in found.labels.items()}
        assert labels == {name: [miniature.path(f) for f in files] for name, files in drawn.labels.items()}


def check_built(built: Built, made: Mapping[str, MadeSubject]) -> None:
    """Every subject is published; its label map is what was drawn, voxel by voxel, on the grid it was drawn on."""
    assert {s: m.state for s, m in built.manifests.items()} == dict.fromkeys(made, "published"), reasons(built)
    for subject, scan in ((name, scan) for name, one in made.items() for scan in one.scans if isinstance(scan, MadeScan)):
        volumes = built.rows("volumes", subject).filter(scan=scan.scan)
        assert set(volumes.filter(kind="image")["series"]) == set(scan.series)
        for row in volumes.to_dicts():
            assert row["shape_ijk"] == list(scan.grid.shape)
            np.testing.assert_allclose(np.reshape(row["affine_ras_mm"], (4, 4)), scan.grid.affine, atol=1e-5)
        maps = volumes.filter(kind="labels").to_dicts()
        assert {row["labels_name"] for row in maps} == set(scan.labels)
        for row in maps:
            np.testing.assert_array_equal(built.voxels(subject, "labels", scan.scan, row["series"]), scan.label_map())


def check_pictures(built: Built, made: Mapping[str, MadeSubject]) -> None:
    """Every subject is published; its images hold the made pixels, its label maps the made ids."""
    assert {s: m.state for s, m in built.manifests.items()} == dict.fromkeys(made, "published"), reasons(built)
    for subject, scan in ((name, scan) for name, one in made.items() for scan in one.scans if isinstance(scan, MadePicture)):
        volumes = built.rows("volumes", subject).filter(scan=scan.scan)
        assert set(volumes.filter(kind="image")["series"]) == set(scan.series)
        for series, pixels in scan.pixels.items():
            np.testing.assert_array_equal(built.voxels(subject, "image", scan.scan, series), pixels)
        maps = volumes.filter(kind="labels").to_dicts()
        assert {row["labels_name"] for row in maps} == set(scan.labels)
        for row in maps:
            np.testing.assert_array_equal(built.voxels(subject, "labels", scan.scan, row["series"]), scan.mask)


def check_classes(built: Built, made: Mapping[str, MadeSubject]) -> None:
    """Every image is of the class it was made as, and those that were made without have none."""
    table, findings = classes_table(built.spec, built.survey.tree, set(made), read_tag)
    assert findings == []
    found = {(row["subject"], row["scan"], row["series"]): row["class"] for row in table.to_dicts()}
    assert found == {
        (name, scan.scan, series): of_class
        for name, one in made.items()
        for scan in one.scans
        if isinstance(scan, MadePicture)
        for series, of_class in scan.classes.items()
    }


def reasons(built: Built) -> list[str]:
    return [str(record.finding()) for manifest in built.manifests.values() for record in manifest.findings]


def check_lesion_axes(built: Built, subject: str, scan: MadeScan, label: int) -> None:
    """In every plane the axes of a lesion's largest section are, within half a pixel, those of the ellipse cut by the slice."""
    (shape,) = scan.of_label(label)
    form = InVoxels.of(shape, scan.grid)
    sizes = built.rows("lesion_sizes", subject).filter(pl.col("label_id") == label, pl.col("scan") == scan.scan)
    for axis, plane in enumerate(PLANES):
        index = round(float(form.centre[axis]))
        ((major, minor),) = sizes.filter(plane=plane, slice=index)["major_mm", "minor_mm"].rows()
        step = scan.grid.affine[:3, axis]
        x, y, z = step / np.linalg.norm(step)
        offset = float((index - form.centre[axis]) * np.linalg.norm(step))
        pixel = max(s for n, s in enumerate(np.linalg.norm(scan.grid.affine[:3, :3], axis=0)) if n != axis)
        assert (major, minor) == pytest.approx(shape.section_axes_mm((x, y, z), offset), abs=0.5 * pixel)


def check_label(built: Built, subject: str, scan: MadeScan, label: int, *, holes: Sequence[int] = ()) -> None:
    """Voxels and boxes of a label against the formula of its ellipsoid; `holes` are labels drawn wholly inside it."""
    (shape,) = scan.of_label(label)
    form = InVoxels.of(shape, scan.grid)
    inside = [InVoxels.of(s, scan.grid).count() for hole in holes for s in scan.of_label(hole)]
    (row,) = built.rows("volumes", subject).filter(kind="labels", scan=scan.scan).to_dicts()
    counts = dict(zip(row["label_ids"], row["label_voxels"], strict=True))
    assert counts[label] == form.count() - sum(inside)
    boxes = built.rows("boxes", subject).filter(pl.col("label_id") == label, pl.col("scan") == scan.scan)
    expected = {
        (plane, index): box
        for axis, plane in enumerate(PLANES)
        for index in range(scan.grid.shape[axis])
        if (box := form.box(axis, index)) is not None
    }
    found = {(r["plane"], r["slice"]): (tuple(r["min_px"]), tuple(r["max_px"])) for r in boxes.to_dicts()}
    assert boxes.height == len(found)
    assert found == expected
    assert set(boxes["label"]) == {built.spec.label_name(label)}
