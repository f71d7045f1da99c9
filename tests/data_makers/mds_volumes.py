"""Miniatures of the MDS-Bench datasets of volumes, as they lie in its public copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import numpy.typing as npt

from resources.phantoms import Ellipsoid, Grid, Vector, draw_ct, draw_labels, draw_values, to_stored, write_nifti
from tests.data_makers.made import MadeScan, MadeSubject, by_name
from tests.data_makers.mds_manifest import write_manifest
from tests.data_makers.metaimage_files import write_metaimage
from tests.data_makers.nifti_sets import (
    lattice,
    nested,
    small_grid,
    write_images,
    write_masked_scan,
    write_scan,
    write_unread,
)
from tests.data_makers.nrrd_files import write_nrrd
from tests.data_makers.totalsegmentator import CT_MASKS

Write = Callable[[Path, npt.NDArray[Any], npt.NDArray[np.float64], str], None]

HAN_SEG_ORGANS = (
    "A_Carotid_L", "A_Carotid_R", "Arytenoid", "Bone_Mandible", "Brainstem", "BuccalMucosa", "Cavity_Oral", "Cochlea_L",
    "Cochlea_R", "Cricopharyngeus", "Esophagus_S", "Eye_AL", "Eye_AR", "Eye_PL", "Eye_PR", "Glnd_Lacrimal_L", "Glnd_Lacrimal_R",
    "Glnd_Submand_L", "Glnd_Submand_R", "Glnd_Thyroid", "Glottis", "Larynx_SG", "Lips", "OpticChiasm", "OpticNrv_L",
    "OpticNrv_R", "Parotid_L", "Parotid_R", "Pituitary", "SpinalCord",
)  # fmt: skip
"""Names of the masks, in order of our label ids."""

_HEART = ("heart_myocardium", "heart_atrium_left", "heart_ventricle_left", "heart_atrium_right", "heart_ventricle_right")
LUNA16_SERIES = (
    "1.3.6.1.4.1.14519.5.2.1.6279.6001.100225287222365663678666836860",
    "1.3.6.1.4.1.14519.5.2.1.6279.6001.100332161840553388986847034053",
    "1.3.6.1.4.1.14519.5.2.1.6279.6001.100398138793540579077826395208",
)
LUNA16_NODULES: Mapping[str, Sequence[tuple[Vector, float]]] = {
    LUNA16_SERIES[0]: [((-128.6994211, -175.3192718, -298.3875064), 5.651470635), ((103.75, -211.9, -227.125), 4.22)],
    LUNA16_SERIES[2]: [((69.5, -140.875, 876.25), 9.5)],
}
"""Series -> centre in DICOM's frame and diameter of its nodules; the second series has none."""


def mds_brain_mp2rage(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Two people in MPRAGE and one in MP2RAGE, each with several contrasts, all tissues and the brain in one label map each."""
    made = []
    studies = {"sub-001": "data_mp2rage", "sub-02": "data_mprage", "sub-03": "data_mprage"}
    for number, (name, study) in enumerate(list(studies.items())[:n]):
        made.append(_brain(raw_root / "data" / "segmentation_data" / study, name, number, mp2rage=study == "data_mp2rage"))
    for study in sorted(set(studies.values())):
        table = f"{study.removeprefix('data_').upper()}_participants.tsv"
        write_unread(raw_root / "data" / "segmentation_data" / study / table, content=b"participant_id\tsex\nsub-02\tF\n")
    write_manifest(raw_root, [file for one in made[::-1] for scan in one.scans for file in scan.series.values()])
    return by_name(made)


def _brain(root: Path, name: str, number: int, *, mp2rage: bool) -> MadeSubject:
    """Tissues are numbered from 1; the brain is all of them and what lies between, and 8 in our spec."""
    contrasts = ("inv1", "inv2", "t1", "uni") if mp2rage else ("PD", "T1w", "T2star")
    grid = small_grid(number, (0.7, 0.7, 0.7), shape=(20, 22, 18))
    shapes = (*nested(grid, 8, []), *lattice(grid, range(1, 8)))
    series = {contrast.lower(): root / name / "anat" / f"{name}_{contrast}_defaced.nii.gz" for contrast in contrasts}
    write_images(series, shapes, grid, "LPS", seed=number, contrast="mr")
    of_echoes = {"me_gre": root / name / "anat" / f"{name}_me_gre_defaced.nii.gz"} if mp2rage else {}
    coarse = small_grid(number, (1.1, 1.1, 1.1), shape=(14, 14, 12))
    write_images(of_echoes, shapes, coarse, "LPS", seed=100 + number, contrast="mr")
    derived = root / "derivatives" / name
    brain, tissues = derived / "masks" / f"{name}_brain_mask.nii.gz", derived / "labeled" / f"{name}_labels_v01.nii.gz"
    drawn = draw_labels(shapes, grid)
    maps = {
        brain: drawn > 0,
        tissues: drawn * (drawn < 8),
        derived / "masks" / f"{name}_brain_mask_nosub.nii.gz": (drawn > 0) & (drawn != 5),
        derived / "masks" / f"{name}_nosub_mask.nii.gz": drawn == 5,
    }
    for path, values in maps.items():
        write_nifti(path, values.astype(np.int32 if path == tissues else np.uint8), grid.affine, "LPS")
    further = ("t2s",) if mp2rage else ("T1wDivPD",)
    unbiased = {contrast: derived / "unbiased" / f"{name}_{contrast}_unbiased.nii.gz" for contrast in (*contrasts, *further)}
    write_images(unbiased, shapes, grid, "LPS", seed=200 + number, contrast="mr", dtype=np.float32)
    labels = {"brain": (brain,), "tissues": (tissues,)}
    return MadeSubject(name, (MadeScan(grid, shapes, series | of_echoes, labels, "LPS"),))


def mds_lndb(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """The first scan outlined by two readers who do not agree, the second by the third alone, the third by nobody."""
    data = raw_root / "data"
    made = []
    for number, readers in list({1: (1, 2), 12: (3,), 300: ()}.items())[:n]:
        name = f"LNDb-{number:04d}"
        grid = small_grid(number, (0.8, 0.8, 1.0), shape=(26, 24, 22))
        shapes = lattice(grid, [1, 2, 3, 4, 5])
        image = data / "data" / f"{name}.mhd"
        _write_ct(image, write_metaimage, shapes, grid, seed=number)
        labels = {f"rad{reader}": (data / "masks" / f"{name}_rad{reader}.mhd",) for reader in readers}
        for reader, (path,) in zip(readers, labels.values(), strict=True):
            # A value is the number of a finding; the second reader saw two of the first one's five.
            seen = shapes[3:] if reader == 2 else shapes
            write_metaimage(path, draw_labels(seen, grid).astype(np.uint8), grid.affine, "LPS")
        made.append(MadeSubject(name, (MadeScan(grid, shapes, {"ct": image}, labels, "LPS"),)))
    for table in ("trainNodules.csv", "trainNodules_gt.csv", "trainFolds.csv", "CTs.csv"):
        write_unread(data / "trainset_csv" / table, content=b"LNDbID,RadID\r\n1,1\r\n")
    return by_name(made)


def mds_totalsegmentator(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Every structure of the first release in every subject."""
    names = first_release_masks()
    side = 8 * next(k for k in range(10) if k**3 >= len(names))
    made = []
    for number in [0, 1, 1429][:n]:
        folder = raw_root / "data" / f"s{number:04d}"
        grid = small_grid(number, (1.5, 1.5, 1.5), shape=(side, side, side))
        shapes = lattice(grid, range(1, len(names) + 1))
        masks = {label: folder / "segmentations" / f"{name}.nii.gz" for label, name in enumerate(names, start=1)}
        scan = write_masked_scan(grid, shapes, {"ct": folder / "ct.nii.gz"}, "anatomy", masks, "RAS", seed=number)
        made.append(MadeSubject(folder.name, (scan,)))
    write_unread(raw_root / "data" / "meta.csv", content=b"image_id;split\r\ns0000;train\r\n")
    return by_name(made)


def first_release_masks() -> list[str]:
    """Names of the 104 masks of TotalSegmentator's first release, in order of our label ids."""
    limbs = [name for name in CT_MASKS if name.startswith(("humerus", "scapula", "clavicula", "femur", "hip"))]
    muscles = [name for name in CT_MASKS if name.startswith(("gluteus", "autochthon", "iliopsoas"))]
    ribs = [name for name in CT_MASKS if name.startswith("rib")]
    spine = [name for name in CT_MASKS if name.startswith("vertebrae") and name != "vertebrae_S1"]
    lungs = [name for name in CT_MASKS if name.startswith("lung")]
    iliac = [name for name in CT_MASKS if name.startswith("iliac")]
    return [
        "spleen", "kidney_right", "kidney_left", "gallbladder", "liver", "stomach", "aorta", "inferior_vena_cava",
        "portal_vein_and_splenic_vein", "pancreas", "adrenal_gland_right", "adrenal_gland_left", *lungs, *spine, "esophagus",
        "trachea", *_HEART, "pulmonary_artery", "brain", *iliac, "small_bowel", "duodenum", "colon", *ribs, *limbs, "sacrum",
        "face", *muscles, "urinary_bladder",
    ]  # fmt: skip


def mds_spine_fineseg(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Two or three vertebrae of each person, each in parts of its own numbers."""
    made = []
    for number, (name, levels) in enumerate(list({"1": ("L1", "L5"), "14": ("L2", "L3", "L4"), "sub_7": ("L1",)}.items())[:n]):
        scans = []
        for level in levels:
            grid = small_grid(number, (0.5, 0.5, 1.0), shape=(18, 18, 16))
            files = raw_root / "data" / f"{name}_{level}.nii.gz", raw_root / "data" / f"{name}_{level}_seg.nii.gz"
            scan = write_scan(grid, lattice(grid, [1, 2, 3]), {"ct": files[0]}, ("vertebra", files[1]), "LPS", seed=number)
            scans.append(_renamed(scan, level))
        made.append(MadeSubject(name, tuple(scans)))
    return by_name(made)


def mds_han_seg(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Every organ in the first case; in the second the cochleae are not outlined and there is no MR."""
    root = raw_root / "data"
    made = []
    for number in [1, 2, 42][:n]:
        name = f"case_{number:02d}"
        folder = root / "set_1" / name
        grid, other = small_grid(number, (1.0, 1.0, 2.0)), small_grid(number, (1.2, 1.2, 3.0), shape=(20, 18, 12))
        shapes = lattice(grid, range(1, len(HAN_SEG_ORGANS) + 1))
        series = {"ct": folder / f"{name}_IMG_CT.nrrd"} | ({} if number == 2 else {"mr": folder / f"{name}_IMG_MR_T1.nrrd"})
        _write_ct(series["ct"], write_nrrd, shapes, grid, seed=number)
        if "mr" in series:
            write_nrrd(series["mr"], draw_values(lattice(other, [1]), other, 30).astype(np.int16), other.affine, "LAS")
        masks = []
        for label, organ in enumerate(HAN_SEG_ORGANS, start=1):
            if number != 2 or not organ.startswith("Cochlea"):
                masks.append(folder / f"{name}_OAR_{organ}.seg.nrrd")
                drawn = draw_labels([shape for shape in shapes if shape.label == label], grid) > 0
                write_nrrd(masks[-1], drawn.astype(np.uint8), grid.affine, "LPS")
        kept = tuple(s for s in shapes if number != 2 or not HAN_SEG_ORGANS[(s.label or 1) - 1].startswith("Cochlea"))
        made.append(MadeSubject(name, (MadeScan(grid, kept, series, {"oars": tuple(masks)}, "LPS"),)))
    write_unread(root / "OAR_data.csv", root / "patient_data.csv")
    write_manifest(raw_root, [one.only_scan.labels["oars"][n] for n in (4, 0, 27) for one in made])
    return by_name(made)


def mds_flare22(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Labelled cases of the Zenodo archive."""
    made = []
    for number in [1, 2, 50][:n]:
        name = f"FLARE22_Tr_{number:04d}"
        grid = small_grid(number, (1.5, 1.5, 2.5))
        folder = raw_root / "data" / "FLARE22Train"
        labels = ("organs", folder / "labels" / f"{name}.nii.gz")
        image = folder / "images" / f"{name}_0000.nii.gz"
        scan = write_scan(grid, lattice(grid, range(1, 14)), {"ct": image}, labels, "LAS", seed=number)
        made.append(MadeSubject(name, (scan,)))
    return by_name(made)


def mds_m3d_refseg(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Scans with one to three described regions each."""
    root = raw_root / "data" / "M3D_RefSeg"
    made = []
    for regions, number in enumerate([0, 17, 1402][:n], start=1):
        folder = root / f"s{number:04d}"
        grid = small_grid(number, (1.5, 1.5, 1.5), shape=(20, 20, 18))
        labels = ("regions", folder / "mask.nii.gz")
        scan = write_scan(grid, lattice(grid, range(1, regions + 1)), {"ct": folder / "ct.nii.gz"}, labels, "RAS", seed=number)
        write_unread(folder / "text.json", folder / "text_zh.txt", content=b"{}")
        made.append(MadeSubject(folder.name, (scan,)))
    write_unread(*(raw_root / "data" / f"M3D_RefSeg_{part}.csv" for part in ("all", "test", "train")))
    write_unread(raw_root / "data" / "m3d_refseg_data_prepare.py")
    return by_name(made)


def mds_abdominal_ct(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Scans in folders that are called like files."""
    data = raw_root / "data"
    made = []
    for number in [1, 2, 10][:n]:
        grid = small_grid(number, (1.5, 1.5, 3.0), shape=(20, 22, 16))
        image = data / "images" / f"image_{number}.nii" / f"image_{number}_0000.nii"
        labels = ("organs", data / "labels" / f"label_{number}.nii" / f"image_{number}.nii")
        scan = write_scan(grid, lattice(grid, [1, 2, 3, 4]), {"ct": image}, labels, "LAS", seed=number)
        made.append(MadeSubject(str(number), (scan,)))
    return by_name(made)


def mds_hippocampus(raw_root: Path, n: int = 4) -> dict[str, MadeSubject]:
    """Three labelled cases, and a test case without labels."""
    return _msd(raw_root / "data", "hippocampus_{:03d}", [1, 3, 394, 2][:n], ["t1w"], ("hippocampus", 2), 3)


def mds_prostate_msd(raw_root: Path, n: int = 4) -> dict[str, MadeSubject]:
    """Three labelled cases of two channels, and a test case without labels."""
    return _msd(raw_root / "data" / "Task05_Prostate", "prostate_{:02d}", [0, 4, 47, 3][:n], ["t2w", "adc"], ("zones", 2), 3)


def _msd(
    folder: Path, pattern: str, numbers: Sequence[int], series: Sequence[str], labels: tuple[str, int], labelled: int
) -> dict[str, MadeSubject]:
    made = []
    for place, number in enumerate(numbers):
        name = pattern.format(number)
        grid = small_grid(number, (1.0, 1.0, 1.5), shape=(18, 20, 16))
        shapes = lattice(grid, range(1, labels[1] + 1))
        image = folder / ("imagesTr" if place < labelled else "imagesTs") / f"{name}.nii"
        write_uncompressed(image, shapes, grid, len(series), seed=number)
        files = (folder / "labelsTr" / f"{name}.nii",)
        if place < labelled:
            write_nifti(files[0], draw_labels(shapes, grid), grid.affine, "LAS")
        scan = MadeScan(grid, shapes, dict.fromkeys(series, image), {labels[0]: files} if place < labelled else {}, "LAS")
        made.append(MadeSubject(name, (scan,)))
        write_unread(image.with_name(f"._{name}.nii"), content=b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        ")
    write_unread(folder / "dataset.json", content=b"{}")
    return by_name(sorted(made, key=lambda one: one.subject))


def mds_kits23(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Label maps alone, and the masks they were made of."""
    root = raw_root / "data" / "dataset"
    made = []
    for number in [0, 286, 588][:n]:
        name = f"case_{number:05d}"
        grid = small_grid(number, (1.5, 1.5, 2.5), shape=(22, 20, 18))
        path = root / name / "segmentation.nii.gz"
        scan = MadeScan(grid, nested(grid, 1, [2, 3]), {"segmentation": path}, {"masses": (path,)}, "IPL")
        write_nifti(path, scan.label_map(), grid.affine, "IPL")
        write_unread(root / name / "instances" / "tumor_instance-1_annotation-1.nii.gz")
        made.append(MadeSubject(name, (scan,)))
    write_unread(root / "kits23.json", content=b"[]")
    write_unread(raw_root / "data" / "setup.py")
    write_manifest(raw_root, [one.only_scan.series["segmentation"] for one in made[1:]])
    return by_name(made)


def mds_lits(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Scans of two parts; the label map of the second lies elsewhere than its scan."""
    data = raw_root / "data"
    made = []
    for part, number in list({1: 0, 2: 28, 5: 130}.items())[:n]:
        grid = small_grid(number, (0.9, 0.9, 2.0), shape=(22, 24, 20))
        image, labels = data / f"volume_pt{part}" / f"volume-{number}.nii", data / "segmentations" / f"segmentation-{number}.nii"
        scan = write_scan(grid, nested(grid, 1, [2]), {"ct": image}, ("liver", labels), "LAS", seed=number)
        if number == 28:
            write_nifti(labels, scan.label_map(), np.diag([0.9, 0.9, 2.0, 1.0]), "LAS")
        made.append(MadeSubject(str(number), (scan,)))
    write_unread(data / "lits_df.csv", data / "lits_train.csv")
    return by_name(made)


def mds_luna16(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Masks of lungs and trachea, and nodules of the first and the third series."""
    data = raw_root / "data"
    made = []
    for number, uid in enumerate(LUNA16_SERIES[:n]):
        grid = small_grid(number, (1.5, 1.5, 2.5), shape=(20, 18, 16))
        path = data / "seg-lungs-LUNA16" / "seg-lungs-LUNA16" / f"{uid}.mhd"
        scan = MadeScan(grid, lattice(grid, [3, 4, 5]), {"lungs": path}, {"lungs": (path,)}, "LPS")
        write_metaimage(path, scan.label_map(), grid.affine, "LPS")
        made.append(MadeSubject(uid, (scan,)))
    rows = [
        ",".join([uid, *map(str, centre), str(diameter)]) for uid, marks in LUNA16_NODULES.items() for centre, diameter in marks
    ]
    write_unread(data / "annotations.csv", content="\n".join(["seriesuid,coordX,coordY,coordZ,diameter_mm", *rows, ""]).encode())
    write_unread(data / "candidates.csv", content=b"seriesuid,coordX,coordY,coordZ,class\n")
    return by_name(made)


def mds_lumbar_spine(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """People with one to three series, each outlined on its own."""
    data = raw_root / "data"
    labels = [1, 2, 3, 100, 201, 202, 203]
    made = []
    for number, names in list({1: ("t1", "t2_SPACE", "t2"), 2: ("t2",), 210: ("t1", "t2")}.items())[:n]:
        scans = []
        for name in names:
            grid = small_grid(number, (3.3, 0.6, 0.6) if name != "t2_SPACE" else (0.9, 0.9, 0.9), shape=(16, 20, 22))
            shapes = lattice(grid, labels)
            image, mask = data / "images" / f"{number}_{name}.mha", data / "masks" / f"{number}_{name}.mha"
            write_metaimage(image, draw_values(shapes, grid, 30).astype(np.int16), grid.affine, "PIR")
            write_metaimage(mask, draw_labels(shapes, grid), grid.affine, "PIR")
            scans.append(MadeScan(grid, shapes, {"mr": image}, {"spine": (mask,)}, "PIR", scan=name))
        made.append(MadeSubject(str(number), tuple(scans)))
    write_unread(data / "overview.csv", data / "radiological_gradings.csv")
    return by_name(made)


def _write_ct(path: Path, write: Write, shapes: Sequence[Ellipsoid], grid: Grid, *, seed: int) -> None:
    write(path, draw_ct(shapes, grid, noise_hu=10, random=np.random.default_rng(seed)), grid.affine, "LPS")


def write_uncompressed(path: Path, shapes: Sequence[Ellipsoid], grid: Grid, channels: int, *, seed: int) -> None:
    """Write a NIfTI file without compression, 4-D where it has several channels."""
    images = [
        (draw_values(shapes, grid, 40 + n) + np.random.default_rng(seed + n).integers(0, 17, grid.shape)).astype(np.int16)
        for n in range(channels)
    ]
    stored = [to_stored(image, grid.affine, "LAS") for image in images]
    voxels = stored[0][0] if channels == 1 else np.stack([one for one, _ in stored], axis=-1)
    path.parent.mkdir(parents=True, exist_ok=True)
    nib.save(nib.Nifti1Image(voxels, stored[0][1], dtype=np.int16), path)


def _renamed(scan: MadeScan, name: str) -> MadeScan:
    return MadeScan(scan.grid, scan.shapes, scan.series, scan.labels, scan.orientation, scan=name)
