"""A miniature CrossMoDA 2021 in its true raw layout."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.data_makers.made import MadeSubject, by_name
from tests.data_makers.nifti_sets import lattice, small_grid, write_scan, write_unread


def crossmoda(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Source scans, each with a schwannoma and a cochlea, and target scans without labels; numbers without padding."""
    source = raw_root / "crossmoda_training" / "source_training"
    made = []
    for number in (1, 2, 10, 105)[:n]:
        name, grid = f"crossmoda_{number}", small_grid(number, (0.41, 0.41, 1.5))
        files = {"t1c": source / f"{name}_ceT1.nii.gz"}, ("schwannoma", source / f"{name}_Label.nii.gz")
        scan = write_scan(grid, lattice(grid, (1, 2)), *files, "LPS", seed=number, contrast="mr", dtype=np.uint16)
        made.append(MadeSubject(name, (scan,)))
    write_unread(
        raw_root / "crossmoda_training/target_training/crossmoda_106_hrT2.nii.gz",
        raw_root / "crossmoda_validation/target_validation/crossmoda_211_hrT2.nii.gz",
    )
    return by_name(made)
