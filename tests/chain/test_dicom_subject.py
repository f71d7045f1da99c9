"""A CT with a segmentation and a structure set through the chain: volumes in closed form, on the grid of the CT."""

from __future__ import annotations

import os
from math import prod

import numpy as np
import pytest

from assets.dataset import survey
from tests.chain.checks import check_ledger
from tests.chain.dicom import dicom_spec
from tests.chain.dicom_subject import (
    BOXES,
    CENTRE,
    COLUMNS,
    DRAWN,
    ORIGIN,
    RADIUS,
    ROWS,
    SLICES,
    STEP,
    area,
    ct,
    dicomdir,
    segmentation,
    structure_set,
    write_patient,
)
from tests.chain.product import Product, run_chain
from tests.readers.dicom.makers import SPACING, write

LABELS = {1: "liver", 2: "tumour", 3: "left heart"}


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Product:
    root = tmp_path_factory.mktemp("patient")
    folder = root / "raw/patient"
    write_patient(folder / "p1", segmentation(ct()), structure_set("Left_Heart"))
    write(folder / "p1/DICOMDIR", dicomdir())
    write_patient(folder / "p2", segmentation(ct()), structure_set("Left_Heart", frame="1.2.3", of=77))
    labels = {
        "cuboids": {"dicom": "{subject}/**", "kind": "seg", "of": ["ct"]},
        "contours": {"dicom": "{subject}/**", "kind": "rtstruct", "of": ["ct"]},
    }
    return run_chain(dicom_spec("patient", {"ct": {"where": {"Modality": "CT"}}}, LABELS, labels=labels), root)


def test_a_segmentation_has_the_voxels_of_its_segments(product: Product) -> None:
    stored, row = product.labels("p1", "ct", "cuboids"), product.label_row("p1", "ct", "cuboids")
    voxels = {n: prod(high - low + 1 for low, high in box) for n, box in enumerate(BOXES.values(), 1)}
    assert dict(zip(row["label_ids"], row["label_voxels"], strict=True)) == voxels
    assert row["shape_ijk"] == [COLUMNS, ROWS, SLICES]
    for number, box in enumerate(BOXES.values(), 1):
        where = np.argwhere(stored.voxels() == number)
        # Columns grow leftward and rows backward in this CT, so that both turn round in RAS+.
        (i, j, k) = box
        assert where.min(0).tolist() == [COLUMNS - 1 - i[1], ROWS - 1 - j[1], k[0]]
        assert where.max(0).tolist() == [COLUMNS - 1 - i[0], ROWS - 1 - j[0], k[1]]


def test_contours_enclose_the_volume_of_their_cylinder(product: Product) -> None:
    stored, row = product.labels("p1", "ct", "contours"), product.label_row("p1", "ct", "contours")
    assert row["label_ids"] == [3]
    where = np.argwhere(stored.voxels() == 3)
    slices, counts = np.unique(where[:, 2], return_counts=True)
    assert slices.tolist() == list(DRAWN)
    assert set(counts.tolist()) == {int(counts[0])}
    volume = len(where) * SPACING[0] * SPACING[1] * STEP
    # A circle of r pixels holds pi r^2 pixels up to some of the 2 pi r at its edge (Gauss's circle problem).
    assert volume == pytest.approx(np.pi * RADIUS**2 * STEP * len(DRAWN), rel=2 / np.sqrt(area()) / 2)
    world = stored.affine_ras_mm[:3, :3] @ where.mean(0) + stored.affine_ras_mm[:3, 3]
    middle = (-ORIGIN[0] - CENTRE[0], -ORIGIN[1] - CENTRE[1], ORIGIN[2] + STEP * float(np.mean(DRAWN)))
    np.testing.assert_allclose(world, middle, atol=0.1)


def test_label_maps_lie_on_the_grid_of_their_series(product: Product) -> None:
    image = product.image("p1", "ct")
    for name in ("cuboids", "contours"):
        np.testing.assert_array_equal(product.labels("p1", "ct", name).affine_ras_mm, image.affine_ras_mm)
    assert {"boxes", "mask_sizes"} <= set(product.tables)
    areas = product.rows("mask_sizes", "p1").filter(label_id=3, plane="axial")["area_mm2"]
    assert areas.to_numpy().sum() * STEP == pytest.approx(np.pi * RADIUS**2 * STEP * len(DRAWN), rel=0.1)


def test_every_file_is_in_the_ledger_and_the_directory_is_left(product: Product) -> None:
    check_ledger(product, ["p1", "p2"])
    assert product.findings("p1") == []
    ignored = product.tables["ledger"].filter(kind="file", state="ignored")
    assert ignored["name"].to_list() == ["p1/DICOMDIR"]
    assert ignored["reason"].to_list() == ["a DICOM directory: the list of a medium's files"]
    roles = product.rows("raw", "p1")["role"].value_counts()
    assert dict(roles.iter_rows()) == {"image": SLICES, "labels": 2}


def test_nothing_is_opened_or_stale_until_a_file_changes(product: Product) -> None:
    again = survey(product.dataset)
    assert again.tree.identities is not None
    assert again.tree.identities.read == 0
    assert again.stale == []
    slice_of_p1 = product.dataset.raw_root / "p1/disc/00"
    status, content = slice_of_p1.stat(), slice_of_p1.read_bytes()
    try:
        slice_of_p1.write_bytes(content)
        assert survey(product.dataset).stale == []
        slice_of_p1.write_bytes(content[:-2] + b"??")
        (plan,) = survey(product.dataset).stale
        assert plan.subject == "p1"
        assert plan.stale["volumes"].startswith("p1/disc/00 changed: content")
    finally:
        slice_of_p1.write_bytes(content)
        os.utime(slice_of_p1, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_contours_of_another_space_are_refused_and_the_sibling_goes_on(product: Product) -> None:
    assert (product.state("p1"), product.state("p2")) == ("used", "quarantined")
    (said,) = product.findings("p2")
    assert (said["code"], said["file"]) == ("grid-mismatch", "p2/disc/x1")
    assert "which lies in another space than ct" in said["detail"]
