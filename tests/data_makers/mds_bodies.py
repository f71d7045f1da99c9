"""Miniatures of the MDS-Bench datasets of pictures, films and arrays of the body in its second and third group."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import h5py
import numpy as np

from tests.data_makers.made import MadePicture, MadeSubject, by_name
from tests.data_makers.mds_manifest import write_manifest
from tests.data_makers.nifti_sets import write_unread
from tests.data_makers.pictures import (
    Array,
    as_stored,
    disc,
    pages_as_stored,
    photo,
    shades,
    write_mat,
    write_npy,
    write_picture,
)


def _masked(image: Path, picture: Array, mask: Path, inside: Array, **more: Any) -> MadePicture:
    """Write a picture and the mask of label 1 on it, 255 inside; the one series and the one label map take their names."""
    write_picture(image, picture)
    write_picture(mask, np.where(inside, 255, 0).astype(np.uint8))
    series, labels = more.pop("series"), more.pop("labels")
    ids = inside.astype(np.uint8).T[:, :, None]
    return MadePicture({series: image}, {series: as_stored(picture)}, {labels: (mask,)}, ids, **more)


def _listed(raw_root: Path, made: dict[str, MadeSubject]) -> dict[str, MadeSubject]:
    files = {path for one in made.values() for scan in one.scans for path in scan.series.values()}
    write_manifest(raw_root, sorted(files, key=lambda path: path.parts)[:20])
    return made


def mds_medical_7_2020(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Three acquisitions under four of the nine settings."""
    made = []
    for number, name in enumerate(["3DMR_Chest", "Brain_data1", "Heart"][:n]):
        scans = []
        for place, setting in enumerate(["radial_128_2/5", "radial_128_2/10", "radial_128_4/15", "radial_128_8/10"]):
            path = raw_root / "data" / setting / f"{name}.mat"
            array = np.stack([shades(10, 12, 20 * number + 4 * place + k) for k in range(3)], axis=-1).astype(np.float64) / 7
            write_mat(path, {"recon": array})
            stored = array.transpose(1, 0, 2)
            scans.append(MadePicture({"mr": path}, {"mr": stored}, classes={"mr": name}, scan=setting))
        made.append(MadeSubject(name, tuple(scans)))
    return _listed(raw_root, by_name(made))


def mds_melanoma_train(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Masks of lesions, which are images as well."""
    made = []
    for number, name in enumerate(["IMD058", "IMD063", "IMD240"][:n]):
        path = raw_root / "data" / "PH2_Labelled_Images" / f"{name}.bmp"
        inside = disc(20, 24, (9.3, 11.0 + number), 5.2 + number)
        mask = np.where(inside, 255, 0).astype(np.uint8)
        write_picture(path, mask)
        ids = inside.astype(np.uint8).T[:, :, None]
        made.append(MadeSubject(name, (MadePicture({"mask": path}, {"mask": as_stored(mask)}, {"lesion": (path,)}, ids),)))
    return _listed(raw_root, by_name(made))


def mds_tcga_llg_mribrats(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Slices of three patients; one slice of the last shows no tumour."""
    made = []
    patients = {"TCGA_CS_4941": "19960909", "TCGA_DU_5849": "19950405", "TCGA_HT_8563": "19981209"}
    for number, (name, date) in enumerate(list(patients.items())[:n]):
        folder = raw_root / "data" / f"{name}_{date}"
        scans = []
        for place in (1, 2, 10):
            stem = f"{name}_{date}_{place}"
            inside = disc(16, 16, (7.2, 6.1 + number), 0 if (number, place) == (2, 10) else 2.5 + 0.1 * place)
            inside &= (number, place) != (2, 10)
            picture = shades(16, 16, 11 * number + place, channels=3)
            files = folder / f"{stem}.tif", folder / f"{stem}_mask.tif"
            scans.append(_masked(files[0], picture, files[1], inside, series="mr", labels="tumour", scan=f"{date}_{place}"))
        made.append(MadeSubject(name, tuple(scans)))
    write_unread(raw_root / "data" / "data.csv")
    return _listed(raw_root, by_name(made))


def mds_adenocarcima(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """A cube around a nodule of each class."""
    made = []
    for number, name in enumerate(["sample11_MIA", "sample60_AAH", "sample206_AIS"][:n]):
        kind = name.partition("_")[2]
        path = raw_root / "data" / kind / kind / f"{name}.npy"
        cube = np.stack([shades(9, 11, number + 5 * k, dtype=np.int16) * 4 - 800 for k in range(7)]).astype(np.int16)
        write_npy(path, cube)
        made.append(MadeSubject(name, (MadePicture({"ct": path}, {"ct": pages_as_stored(cube)}, classes={"ct": kind}),)))
    return _listed(raw_root, by_name(made))


def mds_brats2020_h5(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Three volumes, two slices of each, of four contrasts with three masks; one slice lies in a sub-folder, as in the copy."""
    folder = raw_root / "data" / "BraTS2020_training_data" / "content" / "data"
    made = []
    for number, name in enumerate(["volume_1", "volume_41", "volume_100"][:n]):
        scans = []
        for place in (9, 77):
            path = folder / ("part_1" if name == "volume_41" else "") / f"{name}_slice_{place}.h5"
            path.parent.mkdir(parents=True, exist_ok=True)
            image = shades(20, 22, 13 * number + place, channels=4).astype(np.float64) / 50 - 2
            outer, core = disc(20, 22, (9.4, 10.2), 6 + number), disc(20, 22, (9.4, 10.2), 3.5)
            middle = disc(20, 22, (9.4, 10.2), 1.6)
            masks = np.stack([core & ~middle, outer & ~core, middle], axis=-1).astype(np.uint8)
            with h5py.File(path, "w") as file:
                file.create_dataset("image", data=image)
                file.create_dataset("mask", data=masks)
            names = ("flair", "t1", "t1ce", "t2")
            pixels = {series: image[:, :, channel].T[:, :, None] for channel, series in enumerate(names)}
            ids = (masks * np.array([1, 2, 3], np.uint8)).sum(axis=-1).astype(np.uint8).T[:, :, None]
            series = dict.fromkeys(names, path)
            scans.append(MadePicture(series, pixels, {"tumour": (path,)}, ids, scan=f"slice_{place}"))
        made.append(MadeSubject(name, tuple(scans)))
    write_unread(*(folder / f"{name}.csv" for name in ("meta_data", "name_mapping", "survival_info")))
    # The list is of the time before the files were moved into sub-folders.
    write_manifest(raw_root, sorted(folder / scan.series["flair"].name for one in made for scan in one.scans))
    return by_name(made)


def mds_dmid(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Three mammograms with a mass each, and the same pictures and reports beside them."""
    data = raw_root / "data"
    made = []
    for number, name in enumerate(["IMG001", "IMG002", "IMG300"][:n]):
        picture = shades(24, 18, 3 * number, dtype=np.uint16) * 200
        files = data / "TIFF Images" / "TIFF Images" / f"{name}.tif", data / "ROI Masks" / "ROI Masks" / f"{name}.tif"
        inside = disc(24, 18, (11.3, 7.0 + number), 3.3)
        made.append(MadeSubject(name, (_masked(files[0], picture, files[1], inside, series="mammogram", labels="masses"),)))
        write_unread(data / "DICOM Images" / "DICOM Images" / f"{name}.dcm", data / "Reports" / f"{name}.txt")
    write_unread(data / "Metadata.xlsx")
    return _listed(raw_root, by_name(made))


def mds_drive(raw_root: Path, n: int = 4) -> dict[str, MadeSubject]:
    """Two pictures for testing, without vessels, and two for training."""
    made = []
    for number, name in enumerate(["01", "02", "21", "40"][:n]):
        part = "test" if number < 2 else "training"
        folder = raw_root / "data" / "DRIVE" / part
        image, picture = folder / "images" / f"{name}_{part}.tif", shades(20, 24, 6 * number, channels=3)
        if part == "test":
            write_picture(image, picture)
            scan = MadePicture({"fundus": image}, {"fundus": as_stored(picture)})
        else:
            vessels = disc(20, 24, (10.2, 12.1), 7) & ~disc(20, 24, (10.2, 12.1), 5.4 + 0.2 * number)
            mask = folder / "1st_manual" / f"{name}_manual1.gif"
            scan = _masked(image, picture, mask, vessels, series="fundus", labels="vessels")
        write_unread(folder / "mask" / f"{name}_{part}_mask.gif")
        made.append(MadeSubject(name, (scan,)))
    return _listed(raw_root, by_name(made))


def mds_echonet_pediatric(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Films of three children, of the first in both views."""
    data = raw_root / "data" / "Dataset"
    films = {
        "CR32a7555": {"PSAX": "CR32a97af-000033", "A4C": "CR32a7582-000039"},
        "CR32a7556": {"A4C": "CR32a7583-000032"},
        "CR32a7558": {"A4C": "CR32a7585-000056"},
    }
    made = []
    for number, (name, views) in enumerate(list(films.items())[:n]):
        scans = []
        for view, rest in views.items():
            path = data / view / "Videos" / f"{name}-{rest}.avi"
            film = np.stack([shades(16, 20, 7 * number + 2 * k + len(view)) for k in range(5)])
            _write_film(path, film)
            scans.append(MadePicture({"echo": path}, {"echo": pages_as_stored(film)}, classes={"echo": "class_0"}, scan=rest))
        made.append(MadeSubject(name, tuple(scans)))
    for view in ("A4C", "PSAX"):
        write_unread(data / view / "FileList.csv", data / view / "VolumeTracings.csv")
    return _listed(raw_root, by_name(made))


def _write_film(path: Path, film: Array) -> None:
    """Write `[frame, row, column]` in grey as a lossless film in colours."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(path, "w") as container:
        stream: Any = container.add_stream("ffv1", rate=Fraction(30))
        stream.height, stream.width, stream.pix_fmt = film.shape[1], film.shape[2], "bgr0"
        for values in film:
            frame = av.VideoFrame.from_ndarray(np.stack([values] * 3, axis=-1), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def mds_finding_lungs(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """A slice of each of three people with the lungs, and volumes that no list joins to them."""
    data = raw_root / "data"
    made = []
    for number, (name, scan) in enumerate(list({"ID_0000": "Z_0142", "ID_0001": "Z_0146", "ID_0266": "Z_0088"}.items())[:n]):
        picture = (shades(20, 24, 5 * number, dtype=np.int16) * 6 - 1000).astype(np.int16)
        lungs = disc(20, 24, (10.1, 6.2), 4.1) | disc(20, 24, (10.1, 17.2), 3.6 + 0.3 * number)
        files = data / "2d_images" / f"{name}_{scan}.tif", data / "2d_masks" / f"{name}_{scan}.tif"
        made.append(MadeSubject(name, (_masked(files[0], picture, files[1], lungs, series="ct", labels="lungs", scan=scan),)))
    write_unread(data / "3d_images" / "IMG_0002.nii.gz", data / "3d_images" / "MASK_0002.nii.gz", data / "lung_stats.csv")
    return _listed(raw_root, by_name(made))


MIAS_INFO = (
    "This file lists the films in the MIAS database and gives appropriate details as follows:",
    "1st column: MIAS database reference number.",
    "",
    "mdb001 G CIRC B 535 425 197",
    "mdb002 G CIRC B 522 280 69",
    "mdb003 D NORM ",
    "mdb004 D NORM ",
    "mdb005 F CIRC B 477 133 30",
    "mdb005 F CIRC B 500 168 26",
    "mdb006 F NORM",
    "mdb219 G CALC B 546 756 29",
    "mdb249 D CALC M 544 508 48",
    "mdb249 D ASYM M 575 639 64",
)
"""Lines like those of the real list; the last film has abnormalities of two kinds."""


def mds_mias(raw_root: Path) -> dict[str, MadeSubject]:
    """Both breasts of three women and one each of two more; the last film is of no one class."""
    classes = {"001": "CIRC", "002": "CIRC", "003": "NORM", "004": "NORM", "005": "CIRC", "006": "NORM", "219": "CALC", "249": ""}
    made = []
    for number, of_class in classes.items():
        path = raw_root / "data" / "all-mias" / f"mdb{number}.pgm"
        scan = photo(path, int(number), series="film", of_class=of_class, colours=1)
        made.append(MadeSubject(f"mdb{number}", (scan,)))
    write_unread(raw_root / "data" / "Info.txt", content="\n".join(MIAS_INFO).encode())
    write_unread(raw_root / "data" / "all-mias" / "README")
    return _listed(raw_root, by_name(made))
