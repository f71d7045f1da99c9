"""A miniature HNTS-MRG 2024 in its true raw layout."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.data_makers.made import MadeScan, MadeSubject, by_name
from tests.data_makers.nifti_sets import lattice, small_grid, write_scan, write_unread

_LEFT = {"preRT": (1, 2), "midRT": (2,)}
_NUMBERS = (2, 8, 77, 103)


def hntsmrg24(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Patients of the first real numbers. The primary tumour is gone at the second scan, and in the third patient all is."""
    top = raw_root / "HNTSMRG24_train"
    made = []
    for place, number in enumerate(_NUMBERS[:n]):
        scans = [_scan(top, number, scan, () if scan == "midRT" and place == 2 else _LEFT[scan]) for scan in ("midRT", "preRT")]
        made.append(MadeSubject(str(number), tuple(scans)))
        registered = [top / f"{number}/midRT/{number}_preRT_{what}_registered.nii.gz" for what in ("T2", "mask")]
        write_unread(*registered)
    return by_name(made)


def _scan(top: Path, number: int, scan: str, labels: tuple[int, ...]) -> MadeScan:
    folder = top / str(number) / scan
    image, mask = folder / f"{number}_{scan}_T2.nii.gz", folder / f"{number}_{scan}_mask.nii.gz"
    seed = number + len(scan) + (scan == "preRT")
    grid = small_grid(seed, (0.5, 0.5, 2.0))
    shapes = lattice(grid, labels) if labels else ()
    return replace(write_scan(grid, shapes, {"t2": image}, ("tumours", mask), "LPS", seed=seed, contrast="mr"), scan=scan)
