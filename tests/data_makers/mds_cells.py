"""Miniatures of the MDS-Bench datasets of cells and tissue in its second and third group, as they lie in its public copy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import h5py
import numpy as np

from tests.data_makers.made import MadePicture, MadeSubject, by_name
from tests.data_makers.mds_manifest import write_manifest
from tests.data_makers.nifti_sets import APPLE_DOUBLE, write_unread
from tests.data_makers.pictures import as_stored, disc, masked, pages_as_stored, photo, shades, write_npz, write_picture


def _gathered(raw_root: Path, scans: Mapping[str, list[MadePicture]]) -> dict[str, MadeSubject]:
    """The subjects, and the list of targets: every series of every scan in depth-first order of the paths."""
    made = by_name(MadeSubject(name, tuple(found)) for name, found in scans.items())
    files = {path for one in made.values() for scan in one.scans for path in scan.series.values()}
    write_manifest(raw_root, sorted(files, key=lambda path: path.parts)[:20])
    return made


def mds_microscopy_demo(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Two films of nuclei and one of lysosomes, three frames of each."""
    films = {"lyso_1": "lysosomes", "test_1": "dynamicnuclearnet", "test_2": "dynamicnuclearnet"}
    classes = {"dynamicnuclearnet": "DynamicNuclearNet", "lysosomes": "lysosomes"}
    scans: dict[str, list[MadePicture]] = {}
    for number, (film, corpus) in enumerate(list(films.items())[:n]):
        for frame in range(3):
            name = f"frame_{frame:04d}"
            path = raw_root / "data" / corpus / film / f"{name}.tif"
            made = photo(path, 10 * number + frame, series="frame", scan=name, of_class=classes[corpus], colours=1)
            scans.setdefault(film, []).append(made)
    write_unread(raw_root / "data" / "dynamicnuclearnet" / ".DS_Store")
    return _gathered(raw_root, scans)


def mds_npz_histopathology(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Slides of three patients, of one two; the number of patches differs, and the first is the one that counts."""
    slides = {"00122": ["01-02", "02-04"], "00179": ["03-20"], "01413": ["01-02"]}
    scans: dict[str, list[MadePicture]] = {}
    for number, (patient, names) in enumerate(list(slides.items())[:n]):
        for place, name in enumerate(names):
            path = raw_root / "data" / f"MSB-{patient}-{name}.npz"
            patches = np.stack([shades(16, 16, 20 * number + 5 * place + k, channels=3) for k in range(2 + number)])
            write_npz(path, patches=patches)
            first = {"patch": as_stored(patches[0])}
            scans.setdefault(f"MSB-{patient}", []).append(
                MadePicture({"patch": path}, first, classes={"patch": "unlabeled"}, scan=name)
            )
    return _gathered(raw_root, scans)


def mds_brain_organoids(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Three wells, two planes of focus of each, on two chips; the last has not been segmented in one.

    # unconfirmed: what segmentations are called, and the images before augmentation, which are not used; and that one is missing
    """
    folder = raw_root / "data" / "Segmentation" / "Segmentation"
    scans: dict[str, list[MadePicture]] = {}
    for number, well in enumerate(["A2", "B3", "C10"][:n]):
        for place, name in enumerate(["Z=0_chip2_d27", "Z=10_chip_d20"]):
            file = f"{well}.vsi - DIC - {name}.tif"
            pixels, inside = shades(18, 22, 7 * number + place), disc(18, 22, (8.5, 10.2 + number), 4.3 + place)
            if place == 0:
                before = folder / "BO-WoAugmentation"
                masked(before / "img" / file, pixels, {"organoid": (before / "seg" / file, inside, 1)})
            image, seen = folder / "BO-WAugmentation" / "img" / file, folder / "BO-WAugmentation" / "seg" / file
            segmented = {"organoid": (seen, inside, 1)} if (well, place) != ("C10", 1) else {}
            scans.setdefault(well, []).append(masked(image, pixels, segmented, series="dic", scan=name))
    write_unread(folder / "BO-WAugmentation" / "img" / "Thumbs.db")
    return _gathered(raw_root, scans)


def mds_breast_cancer_cells(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Three arrays of tissue, benign and malignant; the last image has no mask."""
    data = raw_root / "data"
    scans: dict[str, list[MadePicture]] = {}
    for number, array in enumerate(["ytma10_010704", "ytma12_010804", "ytma49_042003"][:n]):
        for place, (name, label) in enumerate({"benign1": 1, "malignant1": 2, "malignant2": 2}.items()):
            image = data / "Images" / f"{array}_{name}_ccd.tif"
            picture = shades(18, 22, 9 * number + place, channels=3)
            write_picture(image, picture)
            cells = disc(18, 22, (8.2, 6.5 + place), 4.1) | disc(18, 22, (9.1, 16.3), 2.3 + number)
            labels: dict[str, tuple[Path, ...]] = {}
            if (array, name) != ("ytma49_042003", "malignant2"):
                mask = data / "Masks" / f"{array}_{name}.TIF"
                write_picture(mask, np.where(cells, 255, 0).astype(np.uint8))
                labels = {name.rstrip("0123456789"): (mask,)}
            ids = (cells * label).astype(np.uint8).T[:, :, None] if labels else None
            made = MadePicture({"slide": image}, {"slide": as_stored(picture)}, labels, ids, scan=name)
            scans.setdefault(array, []).append(made)
    return _gathered(raw_root, scans)


def mds_sipakmed(raw_root: Path, n: int = 5) -> dict[str, MadeSubject]:
    """A slide of each class, all of them with the same number, and what lies beside them."""
    kinds = ["im_Dyskeratotic", "im_Koilocytotic", "im_Metaplastic", "im_Parabasal", "im_Superficial-Intermediate"]
    scans = {}
    for number, kind in enumerate(kinds[:n]):
        folder = raw_root / "data" / kind / kind
        scans[f"{kind}/001"] = [photo(folder / "001.bmp", number, series="slide", of_class=kind)]
        write_unread(folder / "001_cyt01.dat", folder / "001_nuc01.dat", folder / "CROPPED" / "001_01_nuc.dat")
        photo(folder / "CROPPED" / "001_01.bmp", number, rows=5, columns=6)
    return _gathered(raw_root, scans)


def mds_electron_microscopy(raw_root: Path, n: int = 2) -> dict[str, MadeSubject]:
    """Three slices of each of two blocks."""
    scans: dict[str, list[MadePicture]] = {}
    for number, block in enumerate(["test", "train"][:n]):
        for place in (0, 1, 10):
            path = raw_root / "data" / block / "data" / f"{block}{place}.tif"
            made = photo(path, 5 * number + place, series="em", scan=str(place), colours=1)
            scans.setdefault(block, []).append(made)
    return _gathered(raw_root, scans)


def mds_fluorescence_denoising(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Stacks of three days, of different strains."""
    folder = raw_root / "data" / "collated_image_data" / "collated_data"
    names = {"20210226": ("denoising", "ZIM504"), "20210421": ("magnify", "ZIM504"), "20210626": ("denoising", "OH16230_20X")}
    scans = {}
    for number, (day, (kind, strain)) in enumerate(list(names.items())[:n]):
        path = folder / f"dataset_{day}_{kind}_{strain}.h5"
        path.parent.mkdir(parents=True, exist_ok=True)
        stack = np.stack([shades(12, 15, number + 3 * k, dtype=np.uint16) * 100 for k in range(4)])
        with h5py.File(path, "w") as file:
            file.create_dataset("images", data=stack, compression="gzip")
        scans[day] = [MadePicture({"stack": path}, {"stack": pages_as_stored(stack)}, scan=strain)]
    return _gathered(raw_root, scans)


def mds_fuse_my_cells_01(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """The first images of the first part."""
    return _fuse_my_cells(raw_root, ["image_0-20/image_0", "image_0-20/image_12", "image_21-40/image_21"][:n])


def mds_fuse_my_cells_02(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Images of the second part, whose numbers begin anew."""
    return _fuse_my_cells(raw_root, ["image_201-220/image_0", "image_201-220/image_12", "image_221-240/image_0"][:n])


def _fuse_my_cells(raw_root: Path, names: list[str]) -> dict[str, MadeSubject]:
    """A stack from one side and the fused one, which has more planes; nuclei where the number is even, as if it mattered."""
    scans = {}
    for number, name in enumerate(names):
        stain = "membrane" if name.endswith("12") else "nucleus"
        series, pixels = {}, {}
        for view, planes in (("angle", 4), ("fused", 6)):
            series[view] = raw_root / "data" / f"{name}_{stain}_{view}.tif"
            stack = np.stack([shades(14, 17, number + 2 * k + planes, dtype=np.uint16) * 50 for k in range(planes)])
            write_picture(series[view], stack)
            pixels[view] = pages_as_stored(stack)
        scans[name] = [MadePicture(series, pixels, classes=dict.fromkeys(series, stain))]
    return _gathered(raw_root, scans)


def mds_kidney_nori(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Three specimens, two images of each in channels; one image has no tubules drawn.

    # unconfirmed: whether ImageJ wrote them (the first of each here) or they are plain pages (the second), that some have six
    # channels, how many pages masks have, and what is on all but the first
    """
    scans: dict[str, list[MadePicture]] = {}
    for number, specimen in enumerate(["S1", "S2", "S10"][:n]):
        for place in (1, 2):
            image = raw_root / "data" / f"Fused_{specimen}_{place}.tif"
            how = {"imagej": True, "metadata": {"axes": "CYX"}} if place == 1 else {}
            seed, count = 6 * number + place, 6 if specimen == "S2" else 7
            channels = np.stack([shades(18, 22, seed + 9 * k, dtype=np.uint16) * 90 for k in range(count)])
            write_picture(image, channels, **how)
            tubules, others = np.zeros((2, 18, 22), np.uint8)
            for n_th, centre in enumerate([(5.0, 5.5), (5.2, 15.0 + number), (13.0, 10.0)], start=1):
                tubules[disc(18, 22, centre, 2.6)] = n_th + 40 * (place - 1)
                others[disc(18, 22, centre, 1.1)] = n_th
            labels: dict[str, tuple[Path, ...]] = {}
            if (specimen, place) != ("S10", 2):
                labels["tubules"] = (image.with_name(f"Fused_{specimen}_{place}_Mask.tif"),)
                write_picture(labels["tubules"][0], np.stack([tubules, others]), **how)
            inside = as_stored((tubules > 0).astype(np.uint8)) if labels else None
            scans.setdefault(specimen, []).append(
                MadePicture({"nori": image}, {"nori": as_stored(channels[2])}, labels, inside, scan=str(place))
            )
    write_unread(raw_root / "data" / "._Fused_S1_1.tif", content=APPLE_DOUBLE)
    return _gathered(raw_root, scans)


def mds_c_nmc(raw_root: Path) -> dict[str, MadeSubject]:
    """Cells of a patient and of a healthy person, and cells for validation and testing, whose class is not in their names."""
    data = raw_root / "data" / "C-NMC_Leukemia"
    scans: dict[str, list[MadePicture]] = {}
    cells = {
        "1": ("training_data/fold_0", "all", ["1_1", "2_3"]),
        "12": ("training_data/fold_2", "all", ["1_1"]),
        "C-NMC_test_final_phase_data": ("testing_data", "", ["1", "10"]),
        "C-NMC_test_prelim_phase_data": ("validation_data", "", ["1", "10"]),
        "H10": ("training_data/fold_1", "hem", ["1_1"]),
    }
    for number, (subject, (folder, kind, names)) in enumerate(cells.items()):
        for place, name in enumerate(names):
            path = data / folder / (f"{kind}/UID_{subject}_{name}_{kind}.bmp" if kind else f"{subject}/{name}.bmp")
            made = photo(path, 4 * number + place, series="cell", scan=name, of_class=kind)
            scans.setdefault(subject, []).append(made)
    labels = data / "validation_data" / "C-NMC_test_prelim_phase_data_labels.csv"
    write_unread(labels, content=b"Patient_ID,new_names,labels\nUID_57_29_1_all.bmp,1.bmp,1\n")
    return _gathered(raw_root, scans)


def mds_malignant_lymphoma(raw_root: Path, n: int = 4) -> dict[str, MadeSubject]:
    """Cases of three lymphomas; one case is in two folders."""
    cases = {
        "CLL/sj-03-476": ["_001"], "CLL/sj-03-2810": ["_001", "_002"], "FL/sj-05-588": ["-R1_001"], "MCL/sj-05-588": ["-R1_001"],
    }  # fmt: skip
    scans: dict[str, list[MadePicture]] = {}
    for number, (case, endings) in enumerate(list(cases.items())[:n]):
        for place, ending in enumerate(endings):
            path = raw_root / "data" / f"{case}{ending}.tif"
            made = photo(path, 8 * number + place, series="slide", scan=ending[1:], of_class=case.partition("/")[0])
            scans.setdefault(case, []).append(made)
    return _gathered(raw_root, scans)
