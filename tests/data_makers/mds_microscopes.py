"""Miniatures of the MDS-Bench datasets of the second group's first half that were taken under a microscope."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from PIL import Image

from tests.data_makers.made import MadePicture, MadeSubject, by_name
from tests.data_makers.mds_manifest import gathered, write_manifest
from tests.data_makers.nifti_sets import APPLE_DOUBLE, write_unread
from tests.data_makers.pictures import as_stored, disc, pages_as_stored, photo, shades, write_picture


def mds_slimfast4c(raw_root: Path) -> dict[str, MadeSubject]:
    """Films of three cells with the antibody and of one without."""
    dyes = "HeLa tfx meGFP-MBP-TMD (aGFBnb pas5-Rho11, Dy647 2nM)"
    names = {f"{dyes}+mAB-MBP(20nM)cell{n}": "20 nM mAb" for n in (1, 2, 10)} | {f"{dyes} neg MBP cell1": "neg MBP"}
    scans = {}
    for number, (name, of_class) in enumerate(names.items()):
        path = raw_root / "data" / f"{name}.tif"
        film = np.stack([shades(12, 15, 10 * number + k, dtype=np.uint16) for k in range(3)])
        write_picture(path, film)
        scans[name] = [MadePicture({"film": path}, {"film": pages_as_stored(film)}, classes={"film": of_class})]
    return gathered(raw_root, scans)


def mds_multiplex_tissue(raw_root: Path) -> dict[str, MadeSubject]:
    """Markers of three cores, beside the twins that macOS left; the list of targets names the twins."""
    folder = raw_root / "data" / "CP_output_tiff"
    scans: dict[str, list[MadePicture]] = {}
    twins = []
    for number, core in enumerate(["s1_p2_r10_a10_ac_H7", "s1_p2_r12_a12_ac_H5", "s1_p3_r18_a18_ac_C8"]):
        for place, marker in enumerate(["127I_I127", "B-Catenin_Ho165", "CD45_Sm152"]):
            name = f"20181207BioMax_{core}"
            path = folder / name / f"{marker}.tiff"
            counts = shades(13, 11, 10 * number + place, dtype=np.uint16)
            write_picture(path, counts)
            scans.setdefault(name, []).append(MadePicture({"marker": path}, {"marker": as_stored(counts)}, scan=marker))
            twins.append(path.with_name(f"._{path.name}"))
            write_unread(twins[-1], content=APPLE_DOUBLE)
    made = gathered(raw_root, scans)
    write_manifest(raw_root, twins[:3])
    return made


def mds_bach(raw_root: Path) -> dict[str, MadeSubject]:
    """A picture of each class, and the whole slides and test pictures that nobody reads."""
    folder = raw_root / "data" / "ICIAR2018_BACH_Challenge" / "ICIAR2018_BACH_Challenge"
    names = {"b001": "Benign", "b020": "Benign", "is001": "InSitu", "iv100": "Invasive", "n002": "Normal"}
    scans = {
        name: [photo(folder / "Photos" / of_class / f"{name}.tif", number, series="slide", of_class=of_class)]
        for number, (name, of_class) in enumerate(names.items())
    }
    write_unread(
        folder / "Photos" / "microscopy_ground_truth.csv",
        folder / "WSI" / "A01.svs",
        folder / "WSI" / "A01.xml",
        raw_root / "data" / "ICIAR2018_BACH_Challenge_TestDataset" / "Photos" / "test0.tif",
    )
    return gathered(raw_root, scans)


def mds_bach_icar(raw_root: Path) -> dict[str, MadeSubject]:
    """Pictures for training and for testing."""
    folder = raw_root / "data" / "main_folder"
    names = {
        "b001": "testing_folder/Benign",
        "is010": "testing_folder/InSitu",
        "b031": "training_folder/Benign",
        "iv002": "training_folder/Invasive",
        "n077": "training_folder/Normal",
    }
    scans = {
        name: [photo(folder / place / f"{name}.tif", number, series="slide", of_class=place.partition("/")[2])]
        for number, (name, place) in enumerate(names.items())
    }
    return gathered(raw_root, scans)


def mds_cervical_cancer(raw_root: Path) -> dict[str, MadeSubject]:
    """Slides of each class, all of them with the same numbers, their cells cut out, and outlines."""
    scans = {}
    kinds = ["Dyskeratotic", "Koilocytotic", "Metaplastic", "Parabasal", "Superficial-Intermediate"]
    for number, kind in enumerate(kinds):
        folder = raw_root / "data" / f"im_{kind}" / f"im_{kind}"
        for slide in ("001", "002"):
            made = photo(folder / f"{slide}.bmp", 10 * number + int(slide), series="slide", of_class=kind)
            scans[f"im_{kind}/{slide}"] = [made]
        write_unread(folder / "001_cyt01.dat", folder / "001_nuc01.dat", folder / "CROPPED" / "001_01_cyt.dat")
        photo(folder / "CROPPED" / "001_01.bmp", number, rows=6, columns=5)
    return gathered(raw_root, scans)


def mds_colorectal_mnist(raw_root: Path) -> dict[str, MadeSubject]:
    """Tiles of three patients' slides; one number stands for tiles of two of them."""
    images = raw_root / "data" / "images"
    folder = images / "Kather_texture_2016_image_tiles_5000" / "Kather_texture_2016_image_tiles_5000"
    tiles = {
        "01_TUMOR": ["103F_CRC-Prim-HE-02_025.tif_Row_1_Col_301", "103F_CRC-Prim-HE-10_013.tif_Row_151_Col_1"],
        "02_STROMA": ["10062_CRC-Prim-HE-02_003b.tif_Row_1_Col_301"],
        "05_DEBRIS": ["1A2B_CRC-Prim-HE-03_009.tif_Row_301_Col_151"],
        "08_EMPTY": ["FFF_CRC-Prim-HE-03_010.tif_Row_451_Col_1"],
    }
    scans: dict[str, list[MadePicture]] = {}
    for number, (kind, names) in enumerate(tiles.items()):
        for place, name in enumerate(names):
            _, slide, scan = name.split("_", 2)
            path = folder / kind / f"{name}.tif"
            made = photo(path, 10 * number + place, series="tile", scan=scan, of_class=kind[3:], rows=15, columns=15)
            scans.setdefault(slide, []).append(made)
    large = "Kather_texture_2016_larger_images_10"
    write_unread(images / large / large / "CRC-Prim-HE-01_APPLICATION.tif", images / "hmnist_28_28_L.csv")
    return gathered(raw_root, scans)


def mds_expansion_microscopy(raw_root: Path) -> dict[str, MadeSubject]:
    """Two pairs for registration and two volumes of axons, whose folders are called like files."""
    folder = raw_root / "data" / "data"
    scans: dict[str, list[MadePicture]] = {}
    for number in (1, 2):
        for place, when in enumerate(["post_expansion", "pre_expansion"]):
            path = folder / "registration" / when / f"example{number}.tif"
            made = photo(path, 10 * number + place, series="registration", scan=when, colours=1)
            scans.setdefault(f"example{number}", []).append(made)
        for plane in (1, 2, 10):
            name = f"seg-example{number}"
            path = folder / "trailmap_volumes" / f"{name}.tif" / f"{name}-{plane}.tif"
            made = photo(path, 20 * number + plane, series="axons", scan=str(plane), colours=1)
            scans.setdefault(name, []).append(made)
    return gathered(raw_root, scans)


def mds_leukemia_cnmc(raw_root: Path) -> dict[str, MadeSubject]:
    """Cells of two patients and of a healthy person, and cells for validation and testing."""
    data = raw_root / "data"
    scans: dict[str, list[MadePicture]] = {}
    for number, (fold, name) in enumerate({0: "1_1_1_all", 1: "1_2_3_all", 2: "12_1_1_all", 3: "H10_1_1_hem"}.items()):
        person, picture, cell, kind = name.split("_")
        path = data / "C-NMC_training_data" / f"fold_{fold % 3}" / kind / f"UID_{name}.bmp"
        made = photo(path, number, series="cell", scan=f"{picture}_{cell}", of_class=kind.upper())
        scans.setdefault(person, []).append(made)
    for place, phase in enumerate(["C-NMC_test_final_phase_data", "C-NMC_test_prelim_phase_data"]):
        for cell in ("1", "10", "100"):
            path = data / phase / f"{cell}.bmp"
            of_class = "unlabeled" if "final" in phase else ""
            scans.setdefault(phase, []).append(photo(path, 10 * place + int(cell), series="cell", scan=cell, of_class=of_class))
    labels = data / "C-NMC_test_prelim_phase_data_labels.csv"
    write_unread(labels, content=b"Patient_ID,new_names,labels\nUID_57_29_1_all.bmp,1.bmp,1\n")
    return gathered(raw_root, scans)


def mds_hpa_cells(raw_root: Path) -> dict[str, MadeSubject]:
    """One table of cells in up to three colours, those of the second between those of the first, with a mask for each."""
    table = raw_root / "data" / "train-00000-of-00001.parquet"
    cells = ["1001_D8_2_blue", "1001_D8_2_red", "1002_A11_1_blue", "1001_D8_2_green", "1003_H1_10_green"]
    scans: dict[str, list[MadePicture]] = {}
    rows: dict[str, list[dict[str, Any]]] = {"image": [], "label": []}
    for number, cell in enumerate(cells):
        subject, _, colour = cell.rpartition("_")
        picture, inside = shades(14, 14 + number, number), disc(14, 14 + number, (6, 7), 4)
        names = {"image": f"{cell}_maxcrop_convolved.png", "label": f"{cell}_maxcrop_gt.png"}
        for column, pixels in (("image", picture), ("label", np.where(inside, 255, 0).astype(np.uint8))):
            content = io.BytesIO()
            Image.fromarray(pixels).save(content, "PNG")
            rows[column].append({"bytes": content.getvalue(), "path": names[column]})
        paths = {column: table / column / str(number) / name for column, name in names.items()}
        mask = as_stored(inside.astype(np.uint8))
        made = MadePicture({"cell": paths["image"]}, {"cell": as_stored(picture)}, {"mask": (paths["label"],)}, mask, scan=colour)
        scans.setdefault(subject, []).append(made)
    table.parent.mkdir(parents=True)
    pl.DataFrame(rows).write_parquet(table)
    write_manifest(raw_root, [table] * len(cells))
    return by_name([MadeSubject(name, tuple(sorted(made, key=lambda scan: scan.scan))) for name, made in scans.items()])
