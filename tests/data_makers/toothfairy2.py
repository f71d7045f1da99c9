"""A miniature ToothFairy2 in its true raw layout."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from resources.phantoms import draw_ct
from tests.data_makers.made import MadeScan, MadeSubject, by_name
from tests.data_makers.metaimage_files import write_metaimage
from tests.data_makers.nifti_sets import lattice, small_grid

_NAMES = ("F_001", "P_077", "P_113", "P_356")
_WITHOUT = {"P_077": {1}, "P_113": set(range(11, 49)), "P_356": set(range(11, 49))}
"""What is missing in the real subjects too: the mandible, all teeth."""

LABELS = (*range(1, 19), *range(21, 29), *range(31, 39), *range(41, 49))


def toothfairy2(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Subjects of both sources, under real names."""
    top = raw_root / "Dataset112_ToothFairy2"
    made = []
    for number, short in enumerate(_NAMES[:n]):
        name = f"ToothFairy2{short}"
        grid = small_grid(number, (0.3, 0.3, 0.3), shape=(36, 36, 34))
        shapes = lattice(grid, [label for label in LABELS if label not in _WITHOUT.get(short, set())])
        image, labels = top / "imagesTr" / f"{name}_0000.mha", top / "labelsTr" / f"{name}.mha"
        scan = MadeScan(grid, shapes, {"cbct": image}, {"jaws": (labels,)}, "LPS")
        write_metaimage(image, draw_ct(shapes, grid, 20, np.random.default_rng(number)), grid.affine, "LPS")
        write_metaimage(labels, scan.label_map(), grid.affine, "LPS")
        made.append(MadeSubject(name, (scan,)))
    content = {"name": "ToothFairy 2", "numTraining": 480, "file_ending": ".mha", "labels": {"background": 0, "NA": 40}}
    (top / "dataset.json").write_text(json.dumps(content), encoding="utf-8")
    return by_name(made)
