"""What a product must show for the closed-form facts of a case, in the volumes and in every table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from resources.ome_zarr import StoredVolume
from tests.chain.product import PLANES, Product, grid, world

Facts = Mapping[str, Any]
Box = Sequence[Sequence[int]]


def formula(facts: Facts, shape: tuple[int, int, int], channel: int = 0) -> npt.NDArray[np.float64]:
    """The voxels of a case in RAS+ order; its closed form is a Python expression of i, j, k (and c)."""
    expression = facts["formula"].split("==")[1].split(" in ")[0]
    i, j, k = grid(shape)
    names = {"i": i, "j": j, "k": k, "c": channel}
    return np.asarray(eval(expression, {"__builtins__": {}}, names), np.float64)  # noqa: S307  # the tests' own data


def check_image(product: Product, subject: str, facts: Facts, *, series: str = "img", channel: int = 0) -> None:
    """Shape, spacing, direction and every voxel, as stored and as tabulated."""
    volume, row = product.image(subject, series), product.row(subject, "image", series)
    shape = (facts["shape_ras"][0], facts["shape_ras"][1], facts["shape_ras"][2])
    assert volume.shape_ijk == shape
    assert row["shape_ijk"] == list(shape)
    expected = formula(facts, shape, channel)
    np.testing.assert_array_equal(volume.voxels().astype(np.float64), expected)
    assert (row["min"], row["max"], row["n_nonfinite"]) == (expected.min(), expected.max(), 0)
    assert row["mean"] == pytest.approx(expected.mean(), rel=1e-12)
    assert row["max"] == facts.get("max_value", row["max"])
    if "spacing_ras_mm" in facts:
        check_spacing(volume, row, facts["spacing_ras_mm"])
    if "direction_ras_columns" in facts:
        columns = volume.affine_ras_mm[:3, :3] / np.linalg.norm(volume.affine_ras_mm[:3, :3], axis=0)
        np.testing.assert_allclose(columns, facts["direction_ras_columns"], atol=1e-6)


def check_spacing(volume: StoredVolume, row: Mapping[str, Any], spacing: Sequence[float]) -> None:
    affine = np.array(row["affine_ras_mm"]).reshape(4, 4)
    np.testing.assert_array_equal(affine, volume.affine_ras_mm)
    for told in (volume.spacing_mm, row["spacing_mm"], np.linalg.norm(affine[:3, :3], axis=0)):
        np.testing.assert_allclose(told, spacing, atol=1e-6)


def check_label(product: Product, subject: str, facts: Facts, *, label: int = 1, series: str = "img") -> None:
    """Voxels, volume, place in the world and boxes of a label."""
    volume, row = product.labels(subject, series), product.row(subject, "labels", series)
    where = np.argwhere(volume.voxels() == label)
    assert len(where) == facts["voxel_count"] == counts(product, subject, series)[label]
    if "volume_mm3" in facts:
        voxel = abs(np.linalg.det(np.array(row["affine_ras_mm"]).reshape(4, 4)[:3, :3]))
        assert len(where) * voxel == pytest.approx(facts["volume_mm3"], rel=1e-5)
        check_areas(product, subject, label, facts, row["spacing_mm"])
    if "centroid_world_ras_mm" in facts:
        np.testing.assert_allclose(world(volume.affine_ras_mm, where.mean(0)), facts["centroid_world_ras_mm"], atol=1e-4)
    if "box_index_inclusive_ras" in facts:
        check_boxes(product, subject, label, [facts["box_index_inclusive_ras"]])
        check_box_sizes(product, subject, label, facts["box_size_mm_edge_to_edge"])


def counts(product: Product, subject: str, series: str = "img") -> dict[int, int]:
    """Voxels of every label, from the `volumes` table."""
    row = product.row(subject, "labels", series)
    return dict(zip(row["label_ids"], row["label_voxels"], strict=True))


def check_counts(product: Product, subject: str, expected: Mapping[int, int]) -> None:
    """Voxels of every label, in the table, in the stored label map, and as the sum over the slices of every plane."""
    assert counts(product, subject) == {n: count for n, count in expected.items() if count}
    values, number = np.unique(product.labels(subject).voxels(), return_counts=True)
    stored = dict(zip(values.tolist(), number.tolist(), strict=True))
    assert {n: stored.get(n, 0) for n in expected} == expected
    assert set(stored) <= {0, *expected}
    for label, count in expected.items():
        for table in ("boxes", "mask_sizes"):
            of_planes = of_label(product, table, subject, label)
            assert [of_planes.filter(plane=plane)["pixel_count"].sum() for plane in PLANES] == [count] * 3


def of_label(product: Product, table: str, subject: str, label: int) -> pl.DataFrame:
    return product.rows(table, subject).filter(pl.col("label_id") == label)


def check_areas(product: Product, subject: str, label: int, facts: Facts, spacing: Sequence[float]) -> None:
    """In every plane the slices' pixels add up to the label's voxels, and their areas to its volume."""
    sizes = of_label(product, "mask_sizes", subject, label)
    assert set(sizes["plane"]) == set(PLANES)
    for axis, plane in enumerate(PLANES):
        rows = sizes.filter(plane=plane)
        assert rows["pixel_count"].sum() == facts["voxel_count"]
        # The edges of a sheared voxel enclose a little less than their product: the rounding shear is the loosest case.
        assert rows["area_mm2"].to_numpy().sum() * spacing[axis] == pytest.approx(facts["volume_mm3"], rel=5e-5)


def rectangles(boxes: Sequence[Box], axes: Sequence[int] = (0, 1, 2)) -> set[tuple[Any, ...]]:
    """The 2-D boxes (plane, slice, first pixel, last pixel) of solid cuboids that nowhere touch within a slice."""
    return {
        (PLANES[axis], index, *zip(*(b for n, b in enumerate(box) if n != axis), strict=True))
        for box in boxes
        for axis in axes
        for index in range(box[axis][0], box[axis][1] + 1)
    }


def check_boxes(product: Product, subject: str, label: int, boxes: Sequence[Box], axes: Sequence[int] = (0, 1, 2)) -> None:
    """The `boxes` rows of a label are those of solid cuboids: none missing, none too many."""
    rows = of_label(product, "boxes", subject, label)
    found = [(r["plane"], r["slice"], tuple(r["min_px"]), tuple(r["max_px"])) for r in rows.iter_rows(named=True)]
    assert len(found) == len(set(found))
    assert set(found) == rectangles(boxes, axes)


def check_box_sizes(product: Product, subject: str, label: int, size_mm: Sequence[float]) -> None:
    """Edge to edge, in mm, in every plane."""
    for row in of_label(product, "boxes", subject, label).iter_rows(named=True):
        in_plane = [size for axis, size in enumerate(size_mm) if PLANES[axis] != row["plane"]]
        np.testing.assert_allclose(row["size_mm"], in_plane, rtol=1e-6)


def check_refusal(product: Product, subject: str, about: Sequence[str]) -> None:
    """Quarantined, gone from every product, and a finding that names a file, or the folder of a series, and says why."""
    assert product.state(subject) == "quarantined"
    for table in ("volumes", "boxes", "mask_sizes", "lesion_sizes", "splits"):
        if table in product.tables:
            assert product.rows(table, subject).is_empty(), table
    assert not any(f"/{subject}/" in path or path.endswith(f"/{subject}.parquet") for path in product.files())
    errors = [f for f in product.findings(subject) if f["severity"] == "error"]
    assert errors
    assert any(word.lower() in f["detail"].lower() for f in errors for word in about), (about, errors)
    files = product.rows("raw", subject)["path"].to_list()
    assert all(any(f"{path}/".startswith(f["file"] + "/") for path in files) for f in errors), errors


def check_ledger(product: Product, subjects: Sequence[str]) -> None:
    """Every raw file and every subject is in the ledger once; what is not used has a reason."""
    ledger = product.tables["ledger"]
    files, people = ledger.filter(kind="file"), ledger.filter(kind="subject")
    assert files["name"].sort().to_list() == product.raw_paths()
    assert people["name"].sort().to_list() == sorted(subjects)
    assert set(ledger["state"]) <= {"used", "ignored", "quarantined", "unclaimed"}
    assert ledger.filter(pl.col("state") != "used")["reason"].null_count() == 0
    published = people.filter(state="used")["name"].to_list()
    assert product.tables["volumes"]["subject"].unique().sort().to_list() == sorted(published)
    assert product.tables["splits"]["subject"].sort().to_list() == sorted(published)
