"""Real public label maps through the real chain, against nibabel and scipy."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import numpy.typing as npt
import pytest
from nibabel.openers import Opener
from scipy import ndimage

from assets.spec import load_catalog
from tests.chain.product import PLANES, Product, run_chain

Row = tuple[Any, ...]
Voxels = npt.NDArray[Any]

FEW_SUBJECTS = 20


def canonical(path: Path) -> tuple[Voxels, npt.NDArray[np.float64]]:
    """Voxels and affine in RAS+ order, by nibabel."""
    image = nibabel.as_closest_canonical(nibabel.load(path))
    return np.asanyarray(image.dataobj), np.asarray(image.affine, np.float64)


def reference(labels: Voxels) -> tuple[list[Row], list[Row]]:
    """Rows of `boxes` and of `mask_sizes` by scipy: 2-D, 4-connected, per slice and label."""
    inside = ndimage.find_objects((labels != 0).astype(np.uint8))[0]
    start = [s.start for s in inside]
    boxes, sizes = [], []
    for axis, plane in enumerate(PLANES):
        first = [n for a, n in enumerate(start) if a != axis]
        for index, image in enumerate(np.moveaxis(labels[inside], axis, 0), start[axis]):
            for label in np.unique(image[image != 0]).tolist():
                found = list(components(image == label, first))
                boxes += [(plane, index, label, len(found), *component) for component in found]
                sizes.append((plane, index, label, len(found), sum(component[-1] for component in found)))
    return sorted(boxes), sorted(sizes)


def components(mask: npt.NDArray[np.bool_], first: list[int]) -> Iterator[Row]:
    """First pixel, last pixel and pixel count of every component; `first` is the place of the mask's own first pixel."""
    numbered, _ = ndimage.label(mask)
    for number, (rows, cols) in enumerate(ndimage.find_objects(numbered), start=1):
        low = (rows.start + first[0], cols.start + first[1])
        high = (rows.stop - 1 + first[0], cols.stop - 1 + first[1])
        yield low, high, int(np.count_nonzero(numbered[rows, cols] == number))


def boxes_of(product: Product, subject: str) -> list[Row]:
    names = ["plane", "slice", "label_id", "n_components", "min_px", "max_px", "pixel_count"]
    rows = product.rows("boxes", subject).select(names).rows()
    return sorted((*row[:4], tuple(row[4]), tuple(row[5]), row[6]) for row in rows)


def sizes_of(product: Product, subject: str) -> list[Row]:
    names = ["plane", "slice", "label_id", "n_components", "pixel_count"]
    return sorted(product.rows("mask_sizes", subject).select(names).rows())


def check_sizes_in_mm(product: Product, subject: str, spacing: npt.NDArray[np.float64]) -> None:
    for axis, plane in enumerate(PLANES):
        in_plane = np.delete(spacing, axis)
        sizes = product.rows("mask_sizes", subject).filter(plane=plane)
        np.testing.assert_allclose(sizes["area_mm2"], sizes["pixel_count"].to_numpy() * in_plane.prod(), rtol=1e-6)
        boxes = product.rows("boxes", subject).filter(plane=plane)
        np.testing.assert_allclose(boxes["size_mm"].to_numpy(), boxes["size_px"].to_numpy() * in_plane, rtol=1e-6)


def check_subject(product: Product, subject: str, series: str, name: str) -> None:
    """Image, label map and annotations of one subject against the raw files read by others."""
    assert product.state(subject) == "used", product.findings(subject)
    raw = product.dataset.raw_root
    kinds = {"image": product.image(subject, series), "labels": product.labels(subject, series, name)}
    for kind, volume in kinds.items():
        (source,) = product.row(subject, kind, series)["source_paths"]
        voxels, affine = canonical(raw / source)
        np.testing.assert_array_equal(volume.voxels(), voxels)
        np.testing.assert_allclose(volume.affine_ras_mm, affine, atol=1e-6)
        np.testing.assert_allclose(product.row(subject, kind, series)["spacing_mm"], np.linalg.norm(affine[:3, :3], axis=0))
    boxes, sizes = reference(voxels)
    assert boxes_of(product, subject) == boxes
    assert sizes_of(product, subject) == sizes
    check_sizes_in_mm(product, subject, np.linalg.norm(affine[:3, :3], axis=0))


def run_hippocampus(source: Path, root: Path, n_subjects: int | None) -> Product:
    """The catalog's spec over copies of the first subjects."""
    task = source / "layouts" / "MSD" / "Task04_Hippocampus"
    target = root / "raw" / "msd_hippocampus" / task.name
    target.mkdir(parents=True)
    shutil.copyfile(task / "dataset.json", target / "dataset.json")
    for folder in ("imagesTr", "labelsTr"):
        (target / folder).mkdir()
        for path in sorted((task / folder).glob("hippocampus_*.nii.gz"))[:n_subjects]:
            shutil.copyfile(path, target / folder / path.name)
    return run_chain(load_catalog()["msd_hippocampus"], root)


def check_hippocampus(product: Product, n_subjects: int) -> None:
    subjects = product.tables["ledger"].filter(kind="subject")["name"].to_list()
    assert len(subjects) == n_subjects
    for subject in subjects:
        check_subject(product, subject, "t1w", "hippocampus")


def test_hippocampus_like_nibabel_and_scipy(shared_data: Path, tmp_path: Path) -> None:
    product = run_hippocampus(shared_data, tmp_path, FEW_SUBJECTS)
    check_hippocampus(product, FEW_SUBJECTS)
    (listed,) = product.tables["findings"].filter(code="listed-but-absent").to_dicts()
    assert listed["file"] == "Task04_Hippocampus/dataset.json"
    assert product.tables["splits"]["split"].n_unique() == 2


@pytest.mark.slow
def test_all_hippocampi_like_nibabel_and_scipy(shared_data: Path, tmp_path: Path) -> None:
    check_hippocampus(run_hippocampus(shared_data, tmp_path, None), 174)


def run_kits23(source: Path, root: Path, n_subjects: int | None) -> Product:
    """The catalog's spec over copies of the smallest real label maps, with made-up images on their grids."""
    tree = source / "layouts" / "KiTS23" / "dataset"
    target = root / "raw" / "kits23" / "dataset"
    target.mkdir(parents=True)
    shutil.copyfile(tree / "kits23.json", target / "kits23.json")
    masks = sorted(tree.glob("case_*/segmentation.nii.gz"), key=lambda path: np.prod(nibabel.load(path).shape))
    for path in masks[:n_subjects]:
        folder = target / path.parent.name
        folder.mkdir()
        shutil.copyfile(path, folder / path.name)
        write_image(nibabel.load(path), folder / "imaging.nii.gz")
    return run_chain(load_catalog()["kits23"], root)


def write_image(mask: Any, path: Path) -> None:
    """An image with other values along every axis, cheap to make and to compress."""
    i, j, k = (np.arange(n, dtype=np.int16) for n in mask.shape)
    voxels = (i % 64)[:, None, None] * 16 + (j % 32)[:, None] * 32 + k - 1000
    header = mask.header.copy()
    header.set_data_dtype(np.int16)
    with Opener(path, "wb", compresslevel=1) as file:
        nibabel.Nifti1Image(voxels.astype(np.int16), None, header).to_stream(file)


def check_kits23(product: Product, n_subjects: int) -> None:
    subjects = product.tables["ledger"].filter(kind="subject")["name"].to_list()
    assert len(subjects) == n_subjects
    for subject in subjects:
        check_subject(product, subject, "ct", "masses")


@pytest.fixture(scope="module")
def kits23(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Product:
    return run_kits23(shared_data, tmp_path_factory.mktemp("kits23"), 3)


def test_kits23_like_nibabel_and_scipy(kits23: Product) -> None:
    check_kits23(kits23, 3)


def test_kits23_tumours_alone_have_sizes(kits23: Product) -> None:
    sizes, boxes = kits23.tables["lesion_sizes"], kits23.tables["boxes"].filter(label_id=2)
    keys = ["subject", "plane", "slice", "label_id", "component", "pixel_count"]
    assert sizes.select(keys).equals(boxes.select(keys))
    measured = sizes.drop_nulls("major_mm")
    assert measured.height
    assert (measured["major_mm"] >= measured["minor_mm"]).all()


@pytest.mark.slow
def test_all_kits23_masks_like_nibabel_and_scipy(shared_data: Path, tmp_path: Path) -> None:
    check_kits23(run_kits23(shared_data, tmp_path, None), 12)
