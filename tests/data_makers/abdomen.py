"""Miniatures of datasets of abdominal scans in their true raw layouts: one label map per scan, each with its own spellings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from resources.phantoms import Vector, draw_labels, write_nifti
from tests.data_makers.made import MadeSubject, by_name
from tests.data_makers.nifti_sets import APPLE_DOUBLE, Contrast, lattice, nested, small_grid, write_scan, write_unread

AMOS_NAMES = (
    "background", "spleen", "right kidney", "left kidney", "gall bladder", "esophagus", "liver", "stomach", "arota", "postcava",
    "pancreas", "right adrenal gland", "left adrenal gland", "duodenum", "bladder", "prostate/uterus",
)  # fmt: skip
ATLAS_NAMES = ("aorta", "gall_bladder", "kidney_left", "kidney_right", "liver", "pancreas", "postcava", "spleen", "stomach")


def _organs(
    subject: str,
    seed: int,
    n_labels: int,
    series: Mapping[str, Path],
    labels: Path,
    *,
    spacing_mm: Vector = (1.2, 1.2, 3),
    orientations: Sequence[str] = ("LAS",),
    contrast: Contrast = "ct",
    dtype: type[np.generic] = np.int16,
    label_dtype: type[np.generic] = np.uint8,
) -> MadeSubject:
    """A subject with an ellipsoid for each of the labels from 1 on, and its label map `organs`."""
    grid = small_grid(seed, spacing_mm)
    shapes = lattice(grid, range(1, n_labels + 1), size=1 - 0.04 * (seed % 3))
    orientation = orientations[seed % len(orientations)]
    scan = write_scan(
        grid, shapes, series, ("organs", labels), orientation,
        seed=seed, contrast=contrast, dtype=dtype, label_dtype=label_dtype,
    )  # fmt: skip
    return MadeSubject(subject, (scan,))


def amos22_ct(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """CT among the MR of the same archive; the last subject is in the validation part."""
    return _amos22(raw_root, (1, 4, 500, 10)[:n], (507,), "ct")


def amos22_mr(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """MR among the CT of the same archive; the last subject is in the validation part."""
    return _amos22(raw_root, (507, 540, 600, 510)[:n], (6,), "mr")


def _amos22(raw_root: Path, numbers: Sequence[int], others: Sequence[int], modality: Contrast) -> dict[str, MadeSubject]:
    root = raw_root / "amos22"
    made = []
    for number in (*numbers, *others):
        name, part = f"amos_{number:04d}", "Va" if number == max(numbers) else "Tr"
        image, labels = (root / f"{folder}{part}" / f"{name}.nii.gz" for folder in ("images", "labels"))
        of = modality if number in numbers else "other"
        contrast: Contrast = "ct" if number <= 500 else "mr"
        dtype = np.int16 if contrast == "ct" else np.float32
        made.append(_organs(name, number, 15, {of: image}, labels, contrast=contrast, dtype=dtype, orientations=("LAS", "RAS")))
    write_unread(
        root / "imagesTs/amos_0002.nii.gz",
        root / "readme.md",
        raw_root / "labeled_data_meta_0000_0599.csv",
        raw_root / "__MACOSX/amos22/._dataset.json",
        content=APPLE_DOUBLE,
    )
    listed = {
        part: [
            {"image": f"./images{folder}/{p.name}", "label": f"./labels{folder}/{p.name}"}
            for p in _found(root / f"labels{folder}")
        ]
        for part, folder in (("training", "Tr"), ("validation", "Va"))
    }
    content = {
        "name": "AMOS",
        "licence": "CC-BY-SA 4.0",
        "labels": {str(i): name for i, name in enumerate(AMOS_NAMES)},
        **listed,
        "test": [{"image": "./imagesTs/amos_0002.nii.gz"}],
    }
    (root / "dataset.json").write_text(json.dumps(content), encoding="utf-8")
    return by_name(sorted((m for m in made if modality in m.only_scan.series), key=lambda m: m.subject))


def _found(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.nii.gz"))


def bcv15_abdomen(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Images `img0001` and on, labels `label0001` and on; there are none from 0011 to 0020."""
    made = []
    for number in (1, 10, 21, 40)[:n]:
        name, root = f"{number:04d}", raw_root / "RawData" / "Training"
        files = {"ct": root / "img" / f"img{name}.nii.gz"}, root / "label" / f"label{name}.nii.gz"
        made.append(_organs(name, number, 13, *files, dtype=np.int32))
    write_unread(raw_root / "RawData/Testing/img/img0061.nii.gz")
    return by_name(made)


def bcv15_cervix(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Images `0507688-Image`, labels `0507688-Mask`; the last subject has no small bowel."""
    names = ("0507688", "0566968", "0706542", "1000543")[:n]
    made = []
    for seed, name in enumerate(names):
        root = raw_root / "RawData" / "Training"
        files = {"ct": root / "img" / f"{name}-Image.nii.gz"}, root / "label" / f"{name}-Mask.nii.gz"
        made.append(_organs(name, seed, 3 if name == names[-1] else 4, *files))
    write_unread(raw_root / "RawData/Testing/img/1258230-Image.nii.gz")
    return by_name(made)


def flare22(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Labelled cases among unlabelled ones and those for tuning and testing, whose names overlap."""
    labelled = raw_root / "Training" / "FLARE22_LabeledCase50"
    made = []
    for number in (1, 2, 50, 3)[:n]:
        name = f"FLARE22_Tr_{number:04d}"
        files = {"ct": labelled / "images" / f"{name}_0000.nii.gz"}, labelled / "labels" / f"{name}.nii.gz"
        made.append(_organs(name, number, 13, *files, orientations=("LPS", "RAS")))
    write_unread(
        raw_root / "Training/FLARE22_UnlabeledCase1-1000/Case_00001_0000.nii.gz",
        raw_root / "Training/FLARE22_UnlabeledCase1001-2000/Case_01001_0000.nii.gz",
        raw_root / "Tuning/images/FLARETs_0001_0000.nii.gz",
        raw_root / "Tuning/labels/FLARETs_0001.nii.gz",
        raw_root / "Validation/FLARETs_0002_0000.nii.gz",
        raw_root / "Testing/FLARETs_0001_0000.nii.gz",
    )
    return by_name(made)


def abdomenct_1k(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Images in three parts, stored in unlike axis orders, some in few thick slices; one scan without labels."""
    made = []
    for index, number in enumerate((1, 362, 1062, 5)[:n]):
        name, part = f"Case_{number:05d}", index % 3 + 1
        image = raw_root / f"AbdomenCT-1K-ImagePart{part}" / f"{name}_0000.nii.gz"
        made.append(
            _organs(
                name, number, 4, {"ct": image}, raw_root / "Mask" / f"{name}.nii.gz",
                spacing_mm=(0.9, 0.9, 5), orientations=("RAS", "LPS", "IPL"),
            )
        )  # fmt: skip
    write_unread(raw_root / "AbdomenCT-1K-ImagePart3/Case_01063_0000.nii.gz")
    return by_name(sorted(made, key=lambda m: m.subject))


def abdomenatlas10mini(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """A folder per scan with combined labels and one mask per organ.

    The labels of every second scan lie elsewhere by their header, voxel by voxel in the order of the scan's; some are stored
    as floating point.
    """
    made = []
    for index, number in enumerate((1, 2, 5195, 7)[:n]):
        name = f"BDMAP_{number:08d}"
        folder = raw_root / name
        labels, orientation = folder / "combined_labels.nii.gz", ("RAS", "LPS", "IRP")[index % 3]
        label_dtype = np.float32 if index == 2 else np.uint8
        subject = _organs(
            name, number, 9, {"ct": folder / "ct.nii.gz"}, labels, orientations=(orientation,), label_dtype=label_dtype
        )
        scan = subject.only_scan
        if index % 2 == 1:
            elsewhere = np.array(scan.grid.affine)
            elsewhere[:3, 3] += (17.5, -4, 230)
            write_nifti(labels, scan.label_map(), elsewhere, orientation)
        for shape, organ in zip(scan.shapes, ATLAS_NAMES, strict=True):
            mask = (draw_labels([shape], scan.grid) > 0).astype(np.uint8)
            write_nifti(folder / "segmentations" / f"{organ}.nii.gz", mask, scan.grid.affine, orientation)
        made.append(subject)
    return by_name(sorted(made, key=lambda m: m.subject))


def kipa22(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Isotropic crops around a kidney with its vessels and a tumour in it; numbers without padding, one name for both files."""
    made = []
    for number in (0, 2, 10, 69)[:n]:
        grid = small_grid(number, (0.66, 0.66, 0.66))
        outer, tumour = nested(grid, 2, (4,), size=1.5 - 0.05 * (number % 3))
        vein, *_, artery = lattice(grid, (1, 4, 4, 4, 4, 4, 4, 3), size=0.4)
        files = {"ct": raw_root / f"train/image/{number}.nii.gz"}, ("structures", raw_root / f"train/label/{number}.nii.gz")
        scan = write_scan(grid, (outer, vein, artery, tumour), *files, "RAI", seed=number)
        made.append(MadeSubject(str(number), (scan,)))
    write_unread(raw_root / "test/image/70.nii.gz")
    return by_name(made)
