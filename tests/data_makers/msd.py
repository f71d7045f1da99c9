"""Miniatures of the tasks of the Medical Segmentation Decathlon in their true raw layout."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from resources.phantoms import Ellipsoid, Grid, Vector
from tests.data_makers.made import MadeSubject, by_name
from tests.data_makers.nifti_sets import APPLE_DOUBLE, Contrast, lattice, nested, small_grid, write_scan, write_unread

Draw = Callable[[Grid, float], tuple[Ellipsoid, ...]]


@dataclass(frozen=True, slots=True)
class Task:
    """One task.

    Attributes:
        folder: Its folder.
        prefix: Names of its files, before the number.
        digits: To how many digits the number is padded.
        numbers: Some of the real numbers; they have gaps.
        test_number: Of an image without labels.
        series: Names of its channels in our spec.
        labels_name: Name of its label map in our spec.
        modality: As its dataset.json has it.
        labels: As its dataset.json has them, without the background.
        spacing_mm: Along i, j, k.
        draw: Draws its labels on a grid, at a size.
        contrast: What its images look like.
        dtype: Of its images.
        label_dtype: Of its label maps.
        orientations: Stored orientations, taken in turn.
    """

    folder: str
    prefix: str
    digits: int
    numbers: tuple[int, ...]
    test_number: int
    series: tuple[str, ...]
    labels_name: str
    modality: tuple[str, ...]
    labels: tuple[str, ...]
    spacing_mm: Vector
    draw: Draw
    contrast: Contrast = "ct"
    dtype: type[np.generic] = np.int16
    label_dtype: type[np.generic] = np.uint8
    orientations: tuple[str, ...] = ("RAS",)

    def file(self, folder: str, number: int) -> str:
        """Path of a file under the task's folder."""
        return f"{folder}/{self.prefix}_{number:0{self.digits}d}.nii.gz"


def write_task(raw_root: Path, task: Task, n: int) -> dict[str, MadeSubject]:
    """Write the first subjects of a task, a test image, the AppleDouble twins and the listing."""
    root = raw_root / task.folder
    made = []
    for number in task.numbers[:n]:
        image, labels = root / task.file("imagesTr", number), root / task.file("labelsTr", number)
        grid = small_grid(number, task.spacing_mm)
        scan = write_scan(
            grid, task.draw(grid, 1 - 0.05 * (number % 3)), dict.fromkeys(task.series, image), (task.labels_name, labels),
            task.orientations[number % len(task.orientations)], seed=number, contrast=task.contrast, dtype=task.dtype,
            label_dtype=task.label_dtype,
        )  # fmt: skip
        made.append(MadeSubject(image.name.removesuffix(".nii.gz"), (scan,)))
    write_test_images(root, [task.file("imagesTs", task.test_number)])
    listing = {
        "name": task.folder.partition("_")[2],
        "licence": "CC-BY-SA 4.0",
        "tensorImageSize": "4D" if len(task.modality) > 1 else "3D",
        "modality": {str(c): name for c, name in enumerate(task.modality)},
        "labels": {"0": "background", **{str(i): name for i, name in enumerate(task.labels, start=1)}},
    }
    write_listing(root, listing, [f"./{task.file('imagesTs', task.test_number)}"])
    return by_name(made)


def write_test_images(root: Path, paths: Sequence[str]) -> None:
    """Write images that come without labels, and the AppleDouble twin of every image and label map."""
    write_unread(*(root / path for path in paths))
    for path in [p for p in root.glob("*/*.nii.gz") if not p.name.startswith("._")]:
        write_unread(path.with_name(f"._{path.name}"), content=APPLE_DOUBLE)


def write_listing(root: Path, listing: Mapping[str, Any], test: Sequence[str]) -> None:
    """Write the dataset.json of a task, which lists what the folder holds."""
    names = sorted(path.name for path in (root / "labelsTr").glob("*.nii.gz") if not path.name.startswith("._"))
    training = [{"image": f"./imagesTr/{name}", "label": f"./labelsTr/{name}"} for name in names]
    counts = {"numTraining": len(names), "numTest": len(test)}
    content = {**listing, **counts, "training": training, "test": list(test)}
    (root / "dataset.json").write_text(json.dumps(content), encoding="utf-8")


def _alone(*labels: int) -> Draw:
    return lambda grid, size: lattice(grid, labels, size=size)


def _inside(outer: int, *inner: int) -> Draw:
    return lambda grid, size: nested(grid, outer, inner, size=size)


_CT: Mapping[str, Any] = {"series": ("ct",), "modality": ("CT",)}
_MR: Mapping[str, Any] = {"contrast": "mr", "dtype": np.float32}

_BRAIN_TUMOUR = Task(
    "Task01_BrainTumour", "BRATS", 3, (1, 2, 4, 485), 490, ("flair", "t1w", "t1gd", "t2w"), "tumour",
    modality=("FLAIR", "T1w", "t1gd", "T2w"), labels=("edema", "non-enhancing tumor", "enhancing tumour"),
    spacing_mm=(1, 1, 1), draw=_inside(1, 2, 3), **_MR,
)  # fmt: skip
_HEART = Task(
    "Task02_Heart", "la", 3, (3, 4, 7, 30), 1, ("mr",), "atrium", modality=("MRI",), labels=("left atrium",),
    spacing_mm=(1.25, 1.25, 1.37), draw=_alone(1), **_MR,
)  # fmt: skip
_LIVER = Task(
    "Task03_Liver", "liver", 0, (0, 1, 10, 130), 131, labels_name="liver", labels=("liver", "cancer"),
    spacing_mm=(0.7, 0.7, 5), draw=_inside(1, 2), dtype=np.float32, orientations=("RAS", "LAS", "RAI"), **_CT,
)  # fmt: skip
_PROSTATE = Task(
    "Task05_Prostate", "prostate", 2, (0, 1, 2, 47), 3, ("t2w", "adc"), "zones", modality=("T2", "ADC"), labels=("PZ", "TZ"),
    spacing_mm=(0.6, 0.6, 4), draw=_inside(1, 2), label_dtype=np.float32, **_MR,
)  # fmt: skip
_LUNG = Task(
    "Task06_Lung", "lung", 3, (1, 3, 4, 96), 2, labels_name="tumour", labels=("cancer",),
    spacing_mm=(0.8, 0.8, 1.25), draw=_alone(1), dtype=np.float32, **_CT,
)  # fmt: skip
_PANCREAS = Task(
    "Task07_Pancreas", "pancreas", 3, (1, 4, 5, 421), 2, labels_name="pancreas", labels=("pancreas", "cancer"),
    spacing_mm=(0.8, 0.8, 2.5), draw=_inside(1, 2), orientations=("RAS", "LPS"), **_CT,
)  # fmt: skip
_HEPATIC_VESSEL = Task(
    "Task08_HepaticVessel", "hepaticvessel", 3, (1, 2, 4, 456), 3, labels_name="vessels", labels=("Vessel", "Tumour"),
    spacing_mm=(0.8, 0.8, 5), draw=_alone(1, 2), **_CT,
)  # fmt: skip
_SPLEEN = Task(
    "Task09_Spleen", "spleen", 0, (2, 3, 6, 63), 1, labels_name="spleen", labels=("spleen",),
    spacing_mm=(0.8, 0.8, 5), draw=_alone(1), **_CT,
)  # fmt: skip
_COLON = Task(
    "Task10_Colon", "colon", 3, (1, 5, 6, 224), 2, labels_name="tumour", labels=("colon cancer primaries",),
    spacing_mm=(0.75, 0.75, 5), draw=_alone(1), **_CT,
)  # fmt: skip


def msd_brain_tumour(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Four sequences in one 4-D file; both tumours in the edema."""
    return write_task(raw_root, _BRAIN_TUMOUR, n)


def msd_heart(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """A left atrium."""
    return write_task(raw_root, _HEART, n)


def msd_liver(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """A liver and a lesion in it; numbers without padding."""
    return write_task(raw_root, _LIVER, n)


def msd_prostate(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """T2 and ADC in one 4-D file; the label map is stored as floating point."""
    return write_task(raw_root, _PROSTATE, n)


def msd_lung(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """A lesion."""
    return write_task(raw_root, _LUNG, n)


def msd_pancreas(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """A pancreas and a lesion in it."""
    return write_task(raw_root, _PANCREAS, n)


def msd_hepatic_vessel(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """A vessel and a lesion beside it."""
    return write_task(raw_root, _HEPATIC_VESSEL, n)


def msd_spleen(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """A spleen; numbers without padding."""
    return write_task(raw_root, _SPLEEN, n)


def msd_colon(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """A lesion."""
    return write_task(raw_root, _COLON, n)
