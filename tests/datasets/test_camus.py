from __future__ import annotations

from pathlib import Path

import nibabel as nib
import numpy as np
import polars as pl
import pytest

from assets.classes import classes_table
from assets.official_split import official_split
from tests.data_makers.camus import ATRIUM, CAVITY, MUSCLE, VIEWS
from tests.datasets.built import Built, Miniature, build, check_found, make
from tests.datasets.closed_forms import InVoxels

DATABASE = "CAMUS_public/database_nifti"


@pytest.fixture
def miniature(tmp_path: Path) -> Miniature:
    return make("camus", tmp_path)


@pytest.fixture
def built(miniature: Miniature) -> Built:
    return build(miniature.spec, miniature.root)


def test_the_dataset_is_found_as_made(miniature: Miniature) -> None:
    ignored = {f"CAMUS_public/database_split/subgroup_{s}.txt": "split" for s in ("training", "validation", "testing")}
    for subject in miniature.made:
        for view in VIEWS:
            ignored[f"{DATABASE}/{subject}/Info_{view}.cfg"] = "classes are taken"
            for still in ("ED", "ES", "ED_gt", "ES_gt"):
                ignored[f"{DATABASE}/{subject}/{subject}_{view}_{still}.nii.gz"] = "still of the film"
    check_found(miniature, ignored)


def test_the_quality_of_a_film_is_told_by_the_file_of_its_view(miniature: Miniature) -> None:
    table, findings = classes_table(miniature.spec, miniature.tree(), set(miniature.made), lambda _path, _keyword: None)
    assert not findings
    assert table.height == 2 * len(miniature.made)
    assert {(row["scan"], row["class_id"], row["class"]) for row in table.to_dicts()} == {("2CH", 0, "good"), ("4CH", 2, "poor")}


def test_films_are_pictures_over_time_with_the_pixels_of_their_files(miniature: Miniature, built: Built) -> None:
    assert {m.state for m in built.manifests.values()} == {"published"}
    for subject, made in miniature.made.items():
        for scan in made.scans:
            (image,) = built.rows("volumes", subject).filter(kind="image", scan=scan.scan).to_dicts()
            assert (image["space"], image["third_axis"], image["affine_ras_mm"]) == ("picture", "time", None)
            assert image["shape_ijk"] == list(scan.grid.shape)
            assert image["spacing_mm"][:2] == pytest.approx([0.31, 0.15])
            assert image["spacing_mm"][2] is None
            stored = np.asarray(nib.load(scan.series["us"]).dataobj)
            np.testing.assert_array_equal(built.voxels(subject, "image", scan.scan, "us"), stored)
            np.testing.assert_array_equal(built.voxels(subject, "labels", scan.scan, "us"), scan.label_map())


@pytest.mark.parametrize(("label", "hole"), [(CAVITY, None), (ATRIUM, None), (MUSCLE, CAVITY)])
def test_structures_are_measured_frame_by_frame_and_in_no_other_plane(
    label: int, hole: int | None, miniature: Miniature, built: Built
) -> None:
    for subject, made in miniature.made.items():
        for scan in made.scans:
            (shape,) = scan.of_label(label)
            form = InVoxels.of(shape, scan.grid)
            rows = built.rows("boxes", subject).filter(pl.col("label_id") == label, pl.col("scan") == scan.scan)
            assert set(rows["plane"]) == {"picture"}
            found = {row["slice"]: (tuple(row["min_px"]), tuple(row["max_px"])) for row in rows.to_dicts()}
            assert found == {frame: form.box(2, frame) for frame in range(scan.grid.shape[2])}
            pixels = (scan.label_map() == label).sum((0, 1))
            sizes = built.rows("mask_sizes", subject).filter(pl.col("label_id") == label, pl.col("scan") == scan.scan)
            assert sizes.sort("slice")["pixel_count"].to_list() == pixels.tolist()
            np.testing.assert_allclose(sizes.sort("slice")["area_mm2"], pixels * 0.31 * 0.15, rtol=1e-6)


def test_the_cavity_is_what_the_muscle_encloses(miniature: Miniature) -> None:
    names = {miniature.spec.label_name(label): label for label in miniature.spec.labels}
    assert (names["left ventricle"], names["left ventricular myocardium"]) == (CAVITY, MUSCLE)
    labels = next(iter(miniature.made.values())).scans[0].label_map()
    row = labels[:, np.argwhere(labels == CAVITY)[0][1], 0]
    inside = np.flatnonzero(row == CAVITY)
    assert row[inside[0] - 1] == row[inside[-1] + 1] == MUSCLE


def test_the_lists_are_the_official_split(miniature: Miniature) -> None:
    files: dict[str, list[str]] = {name: [] for name in miniature.made}
    split = official_split(miniature.spec, miniature.raw_root, files)
    assert split == {"patient0001": "train", "patient0006": "val", "patient0010": "test"}
