"""Miniatures of the MDS-Bench datasets of NIfTI volumes in its second and third group, and the first two of its fourth."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from resources.phantoms import draw_labels, write_nifti
from tests.data_makers.made import MadeScan, MadeSubject, by_name
from tests.data_makers.mds_manifest import write_manifest
from tests.data_makers.nifti_sets import lattice, nested, small_grid, write_images, write_scan, write_unread


def mds_tumorsimulations(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Simulations whose tumour fades out: its label map holds shares between 0 and 1."""
    root = raw_root / "data" / "Dataset800_Brain"
    made = []
    for number, name in enumerate(["BRAIN_p100", "BRAIN_p1000", "BRAIN_p10000"][:n]):
        grid = small_grid(number, (1.2, 1.2, 1.2), shape=(20, 22, 18))
        shapes = nested(grid, 0, [1], size=1.6)
        files = {"mr": root / "imagesTr" / f"{name}_0000.nii.gz"}
        write_images(files, shapes, grid, "LPS", seed=number, contrast="mr", dtype=np.float32)
        labels = root / "labelsTr" / f"{name}.nii.gz"
        inside = draw_labels(shapes, grid) > 0
        shares = np.where(inside, 0.5 + 0.1 * (number + 1), 0.4 / (number + 1)).astype(np.float32)
        write_nifti(labels, shares, grid.affine, "LPS")
        made.append(MadeSubject(name, (MadeScan(grid, shapes, files, {"tumour": (labels,)}, "LPS"),)))
    write_unread(root / "dataset.json", root / "imagesTs" / "BRAIN_p7_0000.nii.gz", root / "labelsTs" / "BRAIN_p7.nii.gz")
    write_manifest(raw_root, [one.scans[0].series["mr"] for one in list(made)[::-1]])
    return by_name(made)


def mds_brats2020_nii(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Cases of four contrasts with labels 1, 2 and 4, one under its older name, and a case for validation."""
    root = raw_root / "data" / "BraTS2020_TrainingData" / "MICCAI_BraTS2020_TrainingData"
    made = []
    for number, name in enumerate(["BraTS20_Training_001", "BraTS20_Training_002", "BraTS20_Training_355"][:n]):
        grid = small_grid(number, (1.0, 1.0, 1.0), shape=(22, 20, 18))
        folder = root / name
        series = {contrast: folder / f"{name}_{contrast}.nii" for contrast in ("flair", "t1", "t1ce", "t2")}
        labels = folder / ("W39_1998.09.19_Segm.nii" if name.endswith("355") else f"{name}_seg.nii")
        scan = write_scan(grid, lattice(grid, [1, 2, 4]), series, ("tumour", labels), "LPS", seed=number, contrast="mr")
        made.append(MadeSubject(name, (scan,)))
    write_unread(root / "name_mapping.csv", root / "survival_info.csv")
    validation = raw_root / "data" / "BraTS2020_ValidationData" / "MICCAI_BraTS2020_ValidationData" / "BraTS20_Validation_001"
    write_unread(validation / "BraTS20_Validation_001_flair.nii")
    write_manifest(raw_root, [path for one in made for path in one.scans[0].series.values()])
    return by_name(made)


MOSMED = {"CT-0": (1, 254), "CT-1": (255, 938), "CT-2": (939, 1063), "CT-3": (1064, 1108), "CT-4": (1109, 1110)}
"""Grade -> the first and the last study of that grade, as the original numbers them."""


def mds_mosmed(raw_root: Path) -> dict[str, MadeSubject]:
    """The first and the last study of each grade; the first of CT-1 has a mask, as the first fifty of the original have."""
    data = raw_root / "data"
    made = []
    grades = {f"study_{study:04d}": grade for grade, ends in MOSMED.items() for study in ends}
    for number, (name, grade) in enumerate(grades.items()):
        grid = small_grid(number, (0.9, 0.9, 8.0), shape=(24, 22, 8))
        shapes = nested(grid, 0, [1], size=1.8)
        files = {"ct": data / grade / f"{name}.nii"}
        write_images(files, shapes, grid, "LPS", seed=number)
        labels: dict[str, tuple[Path, ...]] = {}
        if name == "study_0255":
            mask = data / "masks" / f"{name}_mask.nii"
            write_nifti(mask, (draw_labels(shapes, grid) > 0).astype(np.float64), grid.affine, "LPS")
            labels = {"opacities": (mask,)}
        made.append(MadeSubject(name, (MadeScan(grid, shapes, files, labels, "LPS"),)))
    write_unread(data / "dataset_registry.xlsx")
    write_manifest(raw_root, [data / grade / f"study_{MOSMED[grade][0]:04d}.nii" for grade in ("CT-2", "CT-3", "CT-4")])
    return by_name(made)


def mds_btcv_tcia(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Label maps without images; a number is in both sets."""
    made = []
    for number, name in enumerate(["btcv_multiorgan/label0003", "btcv_multiorgan/label0040", "tcia_multiorgan/label0040"][:n]):
        grid = small_grid(number, (2.0, 2.0, 3.0), shape=(33, 32, 31))
        shapes = lattice(grid, range(1, 15))
        path = raw_root / "data" / f"label_{name}.nii.gz"
        write_nifti(path, draw_labels(shapes, grid).astype(np.uint8), grid.affine, "LAS")
        made.append(MadeSubject(name, (MadeScan(grid, shapes, {"organs": path}, {"organs": (path,)}, "LAS"),)))
    write_manifest(raw_root, [one.scans[0].series["organs"] for one in made[::-1]])
    return by_name(made)


def mds_comprehensive_3d(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Volumes and what is marked in them, whatever its number."""
    folder = raw_root / "data" / "A comprehensive dataset"
    made = []
    for number, name in enumerate(["11", "86", "105"][:n]):
        grid = small_grid(number, (1.0, 1.1, 2.5), shape=(20, 18, 16))
        shapes = nested(grid, 0, [1], size=1.7)
        files = {"ct": folder / f"{name}_data.nii.gz"}
        write_images(files, shapes, grid, "RAS", seed=number)
        labels = folder / f"{name}_label.nii.gz"
        write_nifti(labels, (draw_labels(shapes, grid) * (number + 1)).astype(np.uint8), grid.affine, "RAS")
        made.append(MadeSubject(name, (MadeScan(grid, shapes, files, {"marked": (labels,)}, "RAS"),)))
    write_manifest(raw_root, [one.scans[0].series["ct"] for one in made[::-1]])
    return by_name(made)
