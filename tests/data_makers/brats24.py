"""Miniatures of the four BraTS 2024 sets in their true raw layouts: four name grammars, corrected releases, junk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from resources.phantoms import Grid, rotation
from tests.data_makers.made import MadeScan, MadeSubject, by_name
from tests.data_makers.nifti_sets import APPLE_DOUBLE, lattice, small_grid, write_scan, write_unread

SEQUENCES = ("t1c", "t1n", "t2f", "t2w")
_ATLAS = Grid.centred((32, 36, 30), (1.0, 1.0, 1.0), (-0.5, 3.5, 12))


def brats24_gli(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Patients `BraTS-GLI-02060` and on, every second with two time points, those of the third number in the additional part.

    The first scan of the first patient is in both parts, in the older one without its resection cavity.
    """
    first, additional = raw_root / "training_data1_v2", raw_root / "training_data_additional"
    made = []
    for number in range(2060, 2060 + n):
        subject = f"BraTS-GLI-{number:05d}"
        scans = [
            _scan(additional if number % 3 == 2 else first, subject, f"{time}", (1, 2, 3, 4), number + time)
            for time in (100, 101)[: 1 + number % 2]
        ]
        if number == 2060:
            _scan(first, subject, "100", (1, 2, 3), 7)
            scans = [_scan(additional, subject, "100", (1, 2, 3, 4), number)]
        made.append(MadeSubject(subject, tuple(scans)))
    write_unread(
        raw_root / "validation_data/BraTS-GLI-00003-100/BraTS-GLI-00003-100-t1c.nii.gz",
        raw_root / "BraTS-PTG supplementary demographic information and metadata.xlsx",
        raw_root / "CITATIONS.bib",
        raw_root / "SYNAPSE_METADATA_MANIFEST.tsv",
    )
    return by_name(made)


def brats24_met(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Patients `BraTS-MET-00231` and on: the first in the first part, the others in the second.

    One of those, `00232`, is given three times, the last time in a folder of its own; the next ones are corrected once.
    """
    stem = "MICCAI-BraTS2024-MET-Challenge-Training"
    made = []
    for number in range(231, 231 + n):
        subject = f"BraTS-MET-{number:05d}"
        if number == 231:
            made.append(MadeSubject(subject, (_scan(raw_root / f"{stem}_1", subject, "000", (1, 2, 3), number),)))
            continue
        roots = [raw_root / f"{stem}Data_2", raw_root / f"{stem}Data_2-fixed-cases"]
        roots += [raw_root / "BraTS-MET-00232-000"] if number == 232 else []
        scans = [_scan(root, subject, "000", (1, 2, 3), number + step) for step, root in enumerate(roots)]
        made.append(MadeSubject(subject, (scans[-1],)))
    write_unread(raw_root / "BraTS-MET-00232-000.rar", content=b"Rar!")
    return by_name(made)


def brats24_ped(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Patients `BraTS-PED-00253` and on; `00255` is broken in the release and given anew beside it."""
    root = raw_root / "BraTS-PEDs2024_Training"
    made = []
    for number in range(253, 253 + n):
        subject = f"BraTS-PED-{number:05d}"
        scan = _scan(root, subject, "000", (1, 2, 3, 4), number)
        if number == 255:
            broken = root / f"{subject}-000" / f"{subject}-000-t1c.nii.gz"
            broken.write_bytes(broken.read_bytes()[:50])
            scan = _scan(raw_root, subject, "000", (1, 2, 3, 4), number + 1)
        made.append(MadeSubject(subject, (scan,)))
    twin = "BraTS-PEDs2024_Training/BraTS-PED-00253-000/._BraTS-PED-00253-000-seg.nii.gz"
    write_unread(raw_root / "__MACOSX" / twin, raw_root / twin, content=APPLE_DOUBLE)
    return by_name(made)


def brats24_men_rt(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Patients `BraTS-MEN-RT-0401` and on, each on a grid of its own, some oblique; `0402` is given anew, corrected."""
    made = []
    for number in range(401, 401 + n):
        subject = f"BraTS-MEN-RT-{number:04d}"
        grid = small_grid(number, (1.1, 1.1, 1.5 + 0.1 * (number % 2)), turn=rotation(0, 9 * (number % 3)))
        for root in [raw_root / "BraTS-MEN-RT-Train-v2", *([raw_root] if number == 402 else [])]:
            files = {name: root / f"{subject}-1" / f"{subject}-1_{name}.nii.gz" for name in ("t1c", "gtv")}
            tumour = lattice(grid, (1,), size=0.9 if root == raw_root else 1)
            scan = write_scan(
                grid, tumour, {"t1c": files["t1c"]}, ("tumour", files["gtv"]), "LPS", seed=number, contrast="mr"
            )  # fmt: skip
        made.append(MadeSubject(subject, (replace(scan, scan="1"),)))
    write_unread(
        raw_root / "BraTS-MEN-RT-Val-v1/BraTS-MEN-RT-0001-1/BraTS-MEN-RT-0001-1_t1c.nii.gz",
        raw_root / "BraTS2024_MEN_RT_clinical.xlsx",
    )
    return by_name(made)


def _scan(root: Path, subject: str, time: str, labels: Sequence[int], seed: int) -> MadeScan:
    folder = root / f"{subject}-{time}"
    lesions = lattice(_ATLAS, labels, size=1 - 0.04 * (seed % 3))
    series = {name: folder / f"{subject}-{time}-{name}.nii.gz" for name in SEQUENCES}
    label_file = folder / f"{subject}-{time}-seg.nii.gz"
    return replace(
        write_scan(_ATLAS, lesions, series, ("tumour", label_file), "LPS", seed=seed, contrast="mr"), scan=time
    )  # fmt: skip
