"""A miniature OAIZIB-CM in its true raw layout."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.data_makers.made import MadeSubject, by_name
from tests.data_makers.nifti_sets import lattice, small_grid, write_scan, write_unread


def oaizib_cm(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Knees, the last one of the official test part, and the tables that tell whose they are."""
    made = []
    numbers = (*(1, 2, 404)[: n - 1], 405)
    for number in numbers:
        name, part = f"oaizib_{number:03d}", "Tr" if number <= 404 else "Ts"
        grid = small_grid(number, (0.7, 0.365, 0.365))
        files = {"dess": raw_root / f"images{part}/{name}_0000.nii.gz"}, ("knee", raw_root / f"labels{part}/{name}.nii.gz")
        scan = write_scan(grid, lattice(grid, range(1, 6)), *files, "RAS", seed=number, contrast="mr", dtype=np.float32)
        made.append(MadeSubject(name, (scan,)))
    for table, train in (("subInfo_train.csv", True), ("subInfo_test.csv", False)):
        rows = [f"{9000000 + number},{number:03d},1,2,1,61,27.5" for number in numbers if (number <= 404) is train]
        text = "\n".join(["SubjectID,CMT-ID,KneeSide,KLGrade,Gender,Age,BMI", *rows])
        write_unread(raw_root / table, content=text.encode())
    return by_name(made)
