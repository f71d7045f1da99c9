"""A miniature ISLES 2024 in its true raw layout."""

from __future__ import annotations

from pathlib import Path

from resources.phantoms import rotation
from tests.data_makers.made import MadeSubject, by_name
from tests.data_makers.nifti_sets import lattice, small_grid, write_scan, write_unread

_NUMBERS = (1, 14, 142, 189)


def isles24(raw_root: Path, n: int = 3, *, raw: str = "raw_data", registered: str = "space-ncct_") -> dict[str, MadeSubject]:
    """Patients of real numbers on CT grids with a tilted gantry; `0142` has a second mask, without gzip.

    Args:
        raw_root: The dataset's raw folder.
        n: How many.
        raw: Name of the folder of the images as acquired; `rawdata` before version 7.
        registered: What the names of masks have before `lesion-msk`; nothing before version 7.
    """
    top = raw_root / "train"
    made = []
    for number in _NUMBERS[:n]:
        subject = f"sub-stroke{number:04d}"
        first, later = (top / "derivatives" / subject / f"ses-{day:02d}" for day in (1, 2))
        series = {name: later / f"{subject}_ses-02_space-ncct_{name}.nii.gz" for name in ("dwi", "adc")}
        mask = later / f"{subject}_ses-02_{registered}lesion-msk.nii.gz"
        grid = small_grid(number, (0.6, 0.6, 2.0), turn=rotation(0, 11))
        scan = write_scan(grid, lattice(grid, (1,)), series, ("infarct", mask), "LAS", seed=number, contrast="mr")
        made.append(MadeSubject(subject, (scan,)))
        write_unread(
            *(first / f"{subject}_ses-01_space-ncct_{name}.nii.gz" for name in ("cta", "ctp", "lvo-msk", "cow-msk")),
            *(first / "perfusion-maps" / f"{subject}_ses-01_space-ncct_{name}.nii.gz" for name in ("tmax", "mtt", "cbf", "cbv")),
            *(top / raw / subject / "ses-01" / f"{subject}_ses-01_{name}.nii.gz" for name in ("ncct", "cta", "ctp")),
            *(top / raw / subject / "ses-02" / f"{subject}_ses-02_{name}.nii.gz" for name in ("dwi", "adc")),
            top / "phenotype" / subject / "ses-01" / f"{subject}_ses-01_demographic_baseline.xlsx",
            top / "phenotype" / subject / "ses-02" / f"{subject}_ses-02_outcome.xlsx",
        )
        if number == 142:
            write_unread(later / f"{subject}_ses-02_lesion-msk.nii")
    write_unread(top / "clinical_data-description.xlsx", top / "derivatives/.DS_Store")
    return by_name(made)
