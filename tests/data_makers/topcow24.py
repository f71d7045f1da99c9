"""A miniature TopCoW 2024 in its true raw layout: two datasets in one folder."""

from __future__ import annotations

from pathlib import Path

from resources.phantoms import rotation
from tests.data_makers.made import MadeSubject, by_name
from tests.data_makers.nifti_sets import Contrast, lattice, small_grid, write_scan, write_unread

_NUMBERS = (3, 14, 24, 90)
_LABELS = (*range(1, 13), 15)


def topcow24_ct(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """The CT of the first real numbers; the MR is there too. The second person has a third A2, but lacks others."""
    return _halves(raw_root, n)["ct"]


def topcow24_mr(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """The MR of the same people, on oblique grids."""
    return _halves(raw_root, n)["mr"]


def _halves(raw_root: Path, n: int) -> dict[str, dict[str, MadeSubject]]:
    top = raw_root / "TopCoW2024_Data_Release"
    halves = {kind: by_name(_subject(top, kind, number) for number in _NUMBERS[:n]) for kind in ("ct", "mr")}
    for name in (name for half in halves.values() for name in half):
        write_unread(top / "roi_loc_labelsTr" / f"{name}.txt", top / "antpos_edges_labelsTr" / f"{name}.yml")
    return halves


def _subject(top: Path, kind: str, number: int) -> MadeSubject:
    name = f"topcow_{kind}_{number:03d}"
    spacing, turn = ((0.5, 0.5, 0.75), None) if kind == "ct" else ((0.3, 0.3, 0.6), rotation(0, 10 + number % 3))
    grid = small_grid(number, spacing, turn=turn)
    labels = [label for label in _LABELS if (label not in {8, 9} if number == 14 else label != 15)]
    contrast: Contrast = "ct" if kind == "ct" else "mr"
    scan = write_scan(
        grid,
        lattice(grid, labels),
        {"cta" if kind == "ct" else "mra": top / "imagesTr" / f"{name}_0000.nii.gz"},
        ("vessels", top / "cow_seg_labelsTr" / f"{name}.nii.gz"),
        "LPS",
        seed=number,
        contrast=contrast,
    )
    return MadeSubject(name, (scan,))
