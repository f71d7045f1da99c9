"""A miniature autoPET III in its true raw layout."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from tests.data_makers.made import MadeScan, MadeSubject, by_name
from tests.data_makers.nifti_sets import lattice, small_grid, write_images, write_scan, write_unread

TOP = "2024-05-10_Autopet_v1.1"
_FIRST = "PET-CT Ganzkoerper  primaer mit KM"
_STUDIES = {
    "fdg_74bbceaeeb": (f"06-03-2005-NA-{_FIRST}-94697", "11-12-2005-NA-unklar-00017"),
    "fdg_01140d52d8": (f"08-13-2005-NA-{_FIRST}-10352",),
    "psma_95b833d46f153cd2": ("2017-11-18", "2018-04-16"),
    "psma_0e61a5b7c2d3f489": ("2015-02-09",),
}
_WITHOUT = frozenset({"11-12-2005-NA-unklar-00017", "2018-04-16"})


def autopet_iii(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Patients of either tracer with real kinds of study names; the later study of a patient shows no tumour any more."""
    top = raw_root / TOP
    names = dict(list(_STUDIES.items())[:n])
    made = [
        MadeSubject(subject, tuple(_study(top, subject, study, seed) for seed, study in enumerate(studies, 1)))
        for subject, studies in names.items()
    ]
    cases = [f"{subject}_{study}" for subject, studies in names.items() for study in studies]
    folds = [{"train": [c for c in cases if c != case], "val": [case]} for case in cases]
    (top / "splits_final.json").write_text(json.dumps(folds), encoding="utf-8")
    write_unread(*(top / name for name in ("dataset_fingerprint.json", "psma_metadata.csv", "fdg_metadata.csv", "dataset.json")))
    return by_name(made)


def _study(top: Path, subject: str, study: str, seed: int) -> MadeScan:
    case = f"{subject}_{study}"
    series = {name: top / "imagesTr" / f"{case}_{n:04d}.nii.gz" for n, name in enumerate(("ct", "pet"))}
    grid = small_grid(len(subject) + seed, (2.04, 2.04, 3.0))
    shapes = () if study in _WITHOUT else lattice(grid, (1,))
    ct = {"ct": series["ct"]}
    scan = write_scan(grid, shapes, ct, ("tumours", top / "labelsTr" / f"{case}.nii.gz"), "LAS", seed=seed)
    write_images({"pet": series["pet"]}, shapes, grid, "LAS", seed=seed, contrast="mr", dtype=np.float32)
    return replace(scan, scan=study, series=series)
