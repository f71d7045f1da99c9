"""A miniature ACDC in its true raw layout."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import nibabel as nib
import numpy as np

from tests.data_makers.made import MadeScan, MadeSubject, by_name
from tests.data_makers.nifti_sets import lattice, small_grid, write_scan, write_unread

_FRAMES = {1: (1, 12), 2: (1, 9), 101: (1, 14), 90: (11, 4)}
"""Patient -> frames of the end of diastole and of systole; those of the last are not in the usual order."""

GROUPS = {1: "DCM", 2: "NOR", 101: "RV", 90: "HCM"}
"""Patient -> diagnosis, as the files call it."""

UNSCALED = "patient002"
"""Its headers have the fault of some real ones: an sform with columns of length 1."""

RIGHT, MUSCLE, LEFT = 1, 2, 3


def acdc(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Patients of real numbers: two of the training part, one of the testing part, then one whose frames are in reverse."""
    database = raw_root / "ACDC/database"
    made = [_patient(database, number) for number in list(_FRAMES)[:n]]
    write_unread(database / "MANDATORY_CITATION.md")
    return by_name(sorted(made, key=lambda one: one.subject))


def _patient(database: Path, number: int) -> MadeSubject:
    name = f"patient{number:03d}"
    folder = database / ("training" if number <= 100 else "testing") / name
    frames = dict(zip(("ed", "es"), _FRAMES[number], strict=True))
    scans = [_frame(folder, name, frame, scan, number) for scan, frame in frames.items()]
    lines = [
        *(f"{scan.upper()}: {frame}" for scan, frame in frames.items()),
        f"Group: {GROUPS[number]}",
        "Height: 184.0",
        "NbFrame: 30",
    ]
    (folder / "Info.cfg").write_text("\n".join([*lines, "Weight: 95.0", ""]), encoding="utf-8")
    write_unread(folder / f"{name}_4d.nii.gz")
    return MadeSubject(name, tuple(scans))


def _frame(folder: Path, name: str, frame: int, scan: str, seed: int) -> MadeScan:
    image, labels = (folder / f"{name}_frame{frame:02d}{end}.nii.gz" for end in ("", "_gt"))
    grid = small_grid(seed, (1.4, 1.4, 8.0), shape=(34, 32, 24))
    muscle, right = lattice(grid, (MUSCLE, RIGHT))
    a, b, c = (half * (0.7 if scan == "ed" else 0.55) for half in muscle.semi_axes_mm)
    left = replace(muscle, semi_axes_mm=(a, b, c), label=LEFT, value=200)
    made = write_scan(grid, (right, muscle, left), {"cine": image}, ("heart", labels), "LPS", seed=seed, contrast="mr")
    if name == UNSCALED:
        for path in (image, labels):
            _lose_scale(path)
    return replace(made, scan=scan)


def _lose_scale(path: Path) -> None:
    stored = nib.load(path)
    affine = stored.affine.copy()
    affine[:3, :3] /= np.linalg.norm(affine[:3, :3], axis=0)
    stored.header.set_sform(affine, code=1)
    changed = nib.Nifti1Image(np.asarray(stored.dataobj), None, stored.header)
    path.write_bytes(gzip.compress(changed.to_bytes(), 6, mtime=0))
