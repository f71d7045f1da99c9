"""Miniatures of the two TotalSegmentator datasets in their true raw layout: a mask per structure and a table of subjects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from resources.phantoms import Ellipsoid, Vector
from tests.data_makers.made import MadeSubject, by_name
from tests.data_makers.nifti_sets import Contrast, lattice, small_grid, write_masked_scan, write_unread

_COLUMNS = "image_id;age;gender;institute;study_type;split;manufacturer;scanner_model;kvp;pathology;pathology_location"

_SIDES = ("left", "right")
_VERTEBRAE = [f"vertebrae_{part}{n}" for part, count in (("L", 5), ("T", 12), ("C", 7)) for n in range(count, 0, -1)]
_LIMBS = [f"{bone}_{side}" for bone in ("humerus", "scapula", "clavicula", "femur", "hip") for side in _SIDES]
_GLUTEI = [f"gluteus_{part}_{side}" for part in ("maximus", "medius", "minimus") for side in _SIDES]
_TRUNK = [f"{muscle}_{side}" for muscle in ("autochthon", "iliopsoas") for side in _SIDES]
_ILIAC = [f"{vessel}_{side}" for vessel in ("iliac_artery", "iliac_vena") for side in _SIDES]
_UPPER = ["spleen", "kidney_right", "kidney_left", "gallbladder", "liver", "stomach", "pancreas"]
_ADRENALS = ["adrenal_gland_right", "adrenal_gland_left"]

CT_MASKS: Sequence[str] = [
    *_UPPER, *_ADRENALS, "lung_upper_lobe_left", "lung_lower_lobe_left", "lung_upper_lobe_right", "lung_middle_lobe_right",
    "lung_lower_lobe_right", "esophagus", "trachea", "thyroid_gland", "small_bowel", "duodenum", "colon", "urinary_bladder",
    "prostate", "kidney_cyst_left", "kidney_cyst_right", "sacrum", "vertebrae_S1", *_VERTEBRAE, "heart", "aorta",
    "pulmonary_vein", "brachiocephalic_trunk", "subclavian_artery_right", "subclavian_artery_left", "common_carotid_artery_right",
    "common_carotid_artery_left", "brachiocephalic_vein_left", "brachiocephalic_vein_right", "atrial_appendage_left",
    "superior_vena_cava", "inferior_vena_cava", "portal_vein_and_splenic_vein", *_ILIAC, *_LIMBS, "spinal_cord", *_GLUTEI,
    *_TRUNK, "brain", "skull", *(f"rib_{side}_{n}" for side in _SIDES for n in range(1, 13)), "sternum", "costal_cartilages",
]  # fmt: skip
"""Names of the 117 masks, in order of our label ids."""

MR_MASKS: Sequence[str] = [
    *_UPPER, *_ADRENALS, "lung_left", "lung_right", "esophagus", "small_bowel", "duodenum", "colon", "urinary_bladder",
    "prostate", "sacrum", "vertebrae", "intervertebral_discs", "spinal_cord", "heart", "aorta", "inferior_vena_cava",
    "portal_vein_and_splenic_vein", *_ILIAC, *_LIMBS, *_GLUTEI, *_TRUNK, "brain",
]  # fmt: skip
"""Names of the 50 masks, in order of our label ids."""


def totalsegmentator_ct(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Every structure in every subject; in those after the first the mask of the right kidney runs into that of the spleen."""
    splits = {0: "train", 1: "val", 1429: "test", 4: "train"}
    return _write(raw_root, dict(list(splits.items())[:n]), CT_MASKS, ("ct", "ct.nii.gz"), (1.5, 1.5, 1.5))


def totalsegmentator_mr(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Every structure in every subject, of unlike spacing; kidney and spleen as in CT."""
    splits = {1: "train", 2: "train", 616: "test", 7: "train"}
    return _write(raw_root, dict(list(splits.items())[:n]), MR_MASKS, ("mr", "mri.nii.gz"), (0.9, 0.9, 24))


def _write(
    raw_root: Path, splits: Mapping[int, str], names: Sequence[str], series: tuple[Contrast, str], spacing_mm: Vector
) -> dict[str, MadeSubject]:
    side = 8 * next(k for k in range(10) if k**3 >= len(names))
    made = []
    for number in splits:
        folder = raw_root / f"s{number:04d}"
        grid = small_grid(number, spacing_mm, shape=(side, side, side))
        shapes = lattice(grid, range(1, len(names) + 1))
        if number != min(splits):
            shapes = (shapes[0], _towards(shapes[1], shapes[0]), *shapes[2:])
        masks = {label: folder / "segmentations" / f"{name}.nii.gz" for label, name in enumerate(names, start=1)}
        scan = write_masked_scan(
            grid, shapes[::-1], {series[0]: folder / series[1]}, "anatomy", masks, "RAS", seed=number, contrast=series[0]
        )
        made.append(MadeSubject(folder.name, (scan,)))
    rows = [f"s{number:04d};61.0;m;A;ct thorax;{split};siemens;;120.0;;" for number, split in splits.items()]
    write_unread(raw_root / "meta.csv", content=("\ufeff" + "\r\n".join([_COLUMNS, *rows, ""])).encode())
    return by_name(made)


def _towards(shape: Ellipsoid, other: Ellipsoid) -> Ellipsoid:
    """The ellipsoid, moved by half the way to another."""
    x, y, z = ((a + b) / 2 for a, b in zip(shape.centre_ras_mm, other.centre_ras_mm, strict=True))
    return replace(shape, centre_ras_mm=(x, y, z))
