"""Miniatures of the MDS-Bench datasets of the second group's first half that were taken of people, or of what stands for them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from resources.phantoms import draw_ct, draw_labels, draw_values, write_nifti
from tests.data_makers.dicom_files import Instance, slice_of, uid_of, write_dicom
from tests.data_makers.made import MadePicture, MadeScan, MadeSubject
from tests.data_makers.mds_manifest import gathered
from tests.data_makers.metaimage_files import write_metaimage
from tests.data_makers.nifti_sets import nested, small_grid, write_images, write_unread
from tests.data_makers.pictures import (
    as_stored,
    disc,
    masked,
    photo,
    shades,
    write_mat,
    write_npy,
    write_npz,
    write_picture,
)


def mds_lung_nodule_unicorn(raw_root: Path) -> dict[str, MadeSubject]:
    """Cubes of three chest CT; the answer to each lies in a file of its own, in a folder beside theirs."""
    task = raw_root / "data" / "Task02_classifying_lung_nodule_malignancy_in_ct"
    folder = task / "shots-public"
    about = {"task_name": task.name, "task_type": "classification", "domain": "CT", "modality": "vision"}
    scans = {}
    for number, (name, malignant) in enumerate({"100655": 0, "102608": 1, "116266": 0}.items()):
        grid = small_grid(number, (0.7, 0.7, 1.25), shape=(16, 16, 12))
        shapes = nested(grid, 1, [])
        path = folder / name / "images" / "chest-ct-region-of-interest-cropout" / f"{name}.mha"
        write_metaimage(path, draw_ct(shapes, grid, 10, np.random.default_rng(number)), grid.affine, "LPS")
        scans[name] = [MadeScan(grid, shapes, {"ct": path}, {}, "LPS")]
        write_unread(folder / name / "unicorn-task-description.json", content=json.dumps(about).encode())
        listed = [{"interface": {"slug": path.parent.name}, "image": {"name": path.name}}]  # unconfirmed: its keys
        write_unread(folder / name / "inputs.json", content=json.dumps(listed).encode())
        answer = task / "shots-public-labels" / name / "lung-nodule-malignancy-risk.json"
        write_unread(answer, content=json.dumps(malignant).encode())  # unconfirmed: `1`, not `1.0`
    return gathered(raw_root, scans)


def mds_aoslo_granger(raw_root: Path) -> dict[str, MadeSubject]:
    """Three people's retinas: a montage, places with marked cones, and a place where nobody marked them."""
    scans: dict[str, list[MadePicture]] = {}
    for number, name in enumerate(["NOR011", "NOR025", "NOR037"]):
        folder = raw_root / "data" / name
        path = folder / f"{name}_RPE_Montage.tif"
        scans[name] = [photo(path, number, series="montage", scan="RPE_Montage", colours=1, rows=30, columns=25)]
        for place, where in enumerate(["N_1", "N_10", "UL_1"]):
            raw = folder / "PR ROIs - Raw" / f"{where}_PR.tif"
            rows = shades(14, 16, 10 * number + place)
            cones = {"cones": (folder / "PR ROIs - Marked Cones" / f"{where}_cones_bin.tif", rows % 9 == 0, 1)}
            scans[name].append(masked(raw, rows, cones, series="photoreceptors", scan=where))
        raw = folder / "PR ROIs - Raw" / "N_11_PR.tif"
        scans[name].append(photo(raw, 10 * number + 9, series="photoreceptors", scan="N_11", colours=1))
    return gathered(raw_root, scans, ("montage", "cones", "photoreceptors"))


def mds_zenodo_6355622(raw_root: Path) -> dict[str, MadeSubject]:
    """Slices of a label map; the last shows nothing."""
    scans = {}
    for number in (1, 2, 300):
        path = raw_root / "data" / f"GT_Slice_{number:03d}.mat"
        ids = np.zeros((18, 20), np.uint8)
        for label in range(1, 5) if number < 300 else ():
            ids[disc(18, 20, (4.2 * label - 2, 5.1 + number), 2.5)] = label
        write_mat(path, {"GT_Slice": ids})
        stored = as_stored(ids)
        scans[f"{number:03d}"] = [MadePicture({"slice": path}, {"slice": stored}, {"semantic": (path,)}, stored)]
    return gathered(raw_root, scans, ("slice",))


def mds_poag_oct(raw_root: Path) -> dict[str, MadeSubject]:
    """Volumes of optic nerves, and the list that says which are of eyes with glaucoma."""
    folder = raw_root / "data" / "retina-oct-glaucoma"
    scans, rows = {}, []
    for number, sick in {0: 0, 1: 1, 19: 0}.items():
        name = f"POAG_{number:04d}"
        grid = small_grid(number, (0.03, 0.03, 0.005), shape=(10, 10, 16))
        shapes = nested(grid, 1, [])
        path = folder / "imagesTr" / f"{name}_0000.mha"
        write_metaimage(path, draw_values(shapes, grid, background=12).astype(np.uint8), grid.affine, "LPS")
        scans[name] = [MadeScan(grid, shapes, {"oct": path}, {}, "LPS")]
        rows.append({"image": f"./imagesTr/{name}.mha", "POAG": sick})
    listing = {"name": "retina-oct-glaucoma", "training": rows, "test": []}
    (folder / "dataset.json").write_text(json.dumps(listing), encoding="utf-8")
    return gathered(raw_root, scans)


def mds_brain_mri_lgg(raw_root: Path) -> dict[str, MadeSubject]:
    """Slices of three patients; one slice shows no tumour."""
    scans: dict[str, list[MadePicture]] = {}
    for number, (name, date) in enumerate(
        {"TCGA_CS_4941": "19960909", "TCGA_DU_5849": "19950405", "TCGA_HT_8563": "19981209"}.items()
    ):
        folder = raw_root / "data" / "kaggle_3m" / f"{name}_{date}"
        for place in (1, 2, 10):
            stem = f"{name}_{date}_{place}"
            tumour = disc(16, 18, (6.3 + number, 8.1), 2 + 0.2 * place) & ((number, place) != (2, 1))
            files = {"tumour": (folder / f"{stem}_mask.tif", tumour, 1)}
            picture = shades(16, 18, 7 * number + place, channels=3)
            made = masked(folder / f"{stem}.tif", picture, files, series="mr", scan=f"{date}_{place}")
            scans.setdefault(name, []).append(made)
    write_unread(raw_root / "data" / "kaggle_3m" / "data.csv", raw_root / "data" / "kaggle_3m" / "README.md")
    again = raw_root / "data" / "lgg-mri-segmentation" / "kaggle_3m" / "TCGA_CS_4941_19960909"
    write_unread(again / "TCGA_CS_4941_19960909_1.tif")
    return gathered(raw_root, scans)


def mds_brain_tumor(raw_root: Path) -> dict[str, MadeSubject]:
    """Three pictures that differ in their ending alone, and some of healthy brains."""
    folder = raw_root / "data" / "Brain Tumor Data Set" / "Brain Tumor Data Set"
    names = {
        "Cancer (1).jpg": "Brain Tumor",
        "Cancer (1).png": "Brain Tumor",
        "Cancer (1).tif": "Brain Tumor",
        "Cancer (1002).JPG": "Brain Tumor",
        "Not Cancer  (1).jpg": "Healthy",
        "Not Cancer  (12).tif": "Healthy",
    }
    classes = {"Brain Tumor": "tumor", "Healthy": "normal"}
    scans = {
        name: [photo(folder / kind / name, number, series="picture", of_class=classes[kind], colours=3 if number % 2 else 1)]
        for number, (name, kind) in enumerate(names.items())
    }
    write_unread(raw_root / "data" / "metadata.csv", raw_root / "data" / "metadata_rgb_only.csv")
    return gathered(raw_root, scans)


def mds_breast_microwave(raw_root: Path) -> dict[str, MadeSubject]:
    """Measurements as real numbers, beside the pickle that alone says of which phantoms they are."""
    scans = {}
    for number in (0, 1, 199):
        path = raw_root / "data" / f"microwave_sample_{number:03d}.npy"
        rows = write_npy(path, shades(12, 7, number, dtype=np.float64) / 251)
        scans[f"{number:03d}"] = [MadePicture({"scan": path}, {"scan": as_stored(rows)})]
    umbmid = raw_root / "data" / "umbmid" / "g1"
    write_unread(umbmid / "g1_metadata.pickle", umbmid / "g1_s11.pickle", content=b"\x80\x04.")
    return gathered(raw_root, scans)


def mds_capsule_kauhc(raw_root: Path) -> dict[str, MadeSubject]:
    """Frames of three examinations; one of them shows two kinds of things."""
    names = ["AVM_2024-08-07-08-01-08_15875", "AVM_2024-08-07-08-01-08_23124", "Ulcer_2024-08-07-08-01-08_15876"]
    names += ["Normal_2024-08-07-08-01-24_12288", "Ulcer_2024-11-03-10-00-41_4"]
    scans: dict[str, list[MadePicture]] = {}
    for number, name in enumerate(names):
        kind, time, frame = name.split("_")
        made = photo(raw_root / "data" / kind / f"{name}.bmp", number, series="frame", scan=frame, of_class=kind)
        scans.setdefault(time, []).append(made)
    return gathered(raw_root, scans)


def mds_chest_xray_unidata(raw_root: Path) -> dict[str, MadeSubject]:
    """X-rays whose headers lead to the file of their findings; one has two of them, and one of another study has none."""
    data = raw_root / "data"
    findings = {
        "1.2.826.0.1.3680043.2.634.0.1459.20141229.122510.1": [("Petrifications", (3, 4, 9, 12))],
        "1.2.826.0.1.3680043.2.634.0.21450.2018618.103049.2": [
            ("Infiltration/Consolidation", (2, 2, 20, 13)),
            ("Fibrosis", (5.5, 6, 11, 8.25)),
        ],
        "1.2.826.0.1.3680043.2.634.0.48573.201524.163417.4": [],
    }
    ours = {"Petrifications": "petrification", "Infiltration/Consolidation": "infiltration or consolidation"}
    scans = {}
    for number, (name, marked) in enumerate(findings.items()):
        rows = shades(20, 24, number, dtype=np.uint16)
        path = data / "dicoms" / f"{name}.dcm"
        header = slice_of(Instance(name, f"study {number}", "chest", modality="DX"), rows, spacing_mm=None, position_lps_mm=None)
        write_dicom(path, header)
        objects = [_outlined(kind, *box) for kind, box in marked]
        if objects:
            content = {"description": "", "size": {"height": 20, "width": 24}, "objects": objects}
            said = data / "annotations" / f"{uid_of(name, f'study {number}')}.json"
            write_unread(said, content=json.dumps(content).encode())
        boxes = tuple((ours.get(kind, kind.lower()), *map(float, box)) for kind, box in marked)
        scans[name] = [MadePicture({"xray": path}, {"xray": as_stored(rows)}, objects=boxes)]
    write_unread(data / "chest_x-ray.csv", content=b"StudyInstanceUID,Findings\n")
    return gathered(raw_root, scans)


def _outlined(kind: str, x_min: float, y_min: float, x_max: float, y_max: float) -> dict[str, object]:
    """A diamond that touches all four sides of a box."""
    x, y = (x_min + x_max) / 2, (y_min + y_max) / 2
    outline = [[x_min, y], [x, y_min], [x_max, y], [x, y_max]]
    return {"geometryType": "polygon", "classTitle": kind, "points": {"exterior": outline, "interior": []}}


def mds_ct_scoliosis(raw_root: Path) -> dict[str, MadeSubject]:
    """Slices of three people, each as DICOM and as a picture; one slice is a picture alone."""
    scans: dict[str, list[MadePicture]] = {}
    for person in (1, 2, 3):
        for place in (0, 1, 10):
            folder = raw_root / "data" / "files" / str(person)
            files, pixels = {}, {}
            if (person, place) != (3, 10):
                rows = shades(12, 14, 10 * person + place, dtype=np.int16) - 1000
                files["ct"] = folder / f"{place}.dcm"
                instance = Instance(f"p{person}", "study", "ct", place + 1)
                write_dicom(files["ct"], slice_of(instance, rows, position_lps_mm=(0.0, 0.0, 2.0 * place), offset=-1024))
                pixels["ct"] = as_stored(rows)[::-1, ::-1]
            files["picture"] = folder / f"{place}.jpg"
            pixels["picture"] = as_stored(write_picture(files["picture"], shades(12, 14, 10 * person + place, channels=3)))
            classes = dict.fromkeys(files, "scoliosis")
            scans.setdefault(str(person), []).append(MadePicture(files, pixels, classes=classes, scan=str(place)))
    write_unread(raw_root / "data" / "README.md")
    return gathered(raw_root, scans, ("picture",))


def mds_edd2020(raw_root: Path) -> dict[str, MadeSubject]:
    """Frames with one finding, with one within another, and with none."""
    data = raw_root / "data" / "EDD2020"
    inner, outer = disc(20, 24, (9.2, 10.1), 3), disc(20, 24, (9.2, 10.1), 7)
    seen = {
        "EDD2020_ACB0000": {"cancer": outer},
        "EDD2020_ACB0001": {"BE": outer, "HGD": inner},
        "EDD2020_AJ0003": {"suspicious": inner},
        "EDD2020_K0001": {},
        "EDD2020_S0002": {"polyp": outer},
    }
    ids = {"BE": 1, "HGD": 2, "cancer": 3, "polyp": 4, "suspicious": 5}
    scans = {}
    for number, (name, findings) in enumerate(seen.items()):
        masks = {kind.lower(): (data / "masks" / f"{name}_{kind}.tif", part, ids[kind]) for kind, part in findings.items()}
        picture = shades(20, 24, number, channels=3)
        scans[name] = [masked(data / "originalImages" / f"{name}.jpg", picture, masks, series="frame")]
        write_unread(data / "bbox" / f"{name}.txt", content=b"3 2 17 16 cancer\n")
        for kind in findings:
            write_unread(data / "masksPerClass" / kind / f"{name}_{kind}.tif")
    write_unread(data / "class_list.txt")
    return gathered(raw_root, scans)


def mds_fazekas_mri(raw_root: Path) -> dict[str, MadeSubject]:
    """Two series of each of three studies, of which the public sample has the first."""
    scans: dict[str, list[MadePicture]] = {}
    for study in (1, 2, 3):
        for series in (1, 2):
            for place in (1, 2):
                name = f"SE{series:06d}/IM{place:06d}"
                path = raw_root / "data" / f"ST{study:06d}" / f"{name}.dcm"
                rows = shades(14, 12, 20 * study + 5 * series + place, dtype=np.uint16)
                instance = Instance(f"p{study}", "brain", f"s{series}", place, "MR")
                write_dicom(path, slice_of(instance, rows, position_lps_mm=(0.0, 0.0, 5.0 * place)))
                pixels = {"slice": as_stored(rows)[::-1, ::-1]}
                made = MadePicture({"slice": path}, pixels, classes={"slice": "Fazekas_I"}, scan=name)
                scans.setdefault(f"ST{study:06d}", []).append(made)
    write_unread(raw_root / "data" / "brain_mri_5.csv", raw_root / "data" / "README.md")
    return gathered(raw_root, scans)


def mds_fomo_mri(raw_root: Path) -> dict[str, MadeSubject]:
    """People with several contrasts, sessions and repetitions, and what packed files leave beside them."""
    folder = raw_root / "data" / "fomo-60k"
    kept = {
        "sub_1": ["ses_1/t1", "ses_1/t1_2", "ses_2/t1"],
        "sub_10": ["ses_1/dwi", "ses_1/dwi_2", "ses_1/flair", "ses_1/t1"],
        "sub_1000": ["ses_1/t2", "ses_1/pd", "ses_1/swi", "ses_1/scan_3"],
    }
    scans: dict[str, list[MadeScan]] = {}
    for number, (name, contrasts) in enumerate(kept.items()):
        for place, contrast in enumerate(contrasts):
            grid = small_grid(number + place, (1.0, 1.0, 1.0), shape=(12, 14, 10))
            shapes = nested(grid, 1, [])
            files = {"mr": folder / name / f"{contrast}.nii.gz"}
            write_images(files, shapes, grid, "RAS", seed=10 * number + place, contrast="mr")
            scans.setdefault(name, []).append(MadeScan(grid, shapes, files, {}, "RAS", scan=contrast))
    write_unread(folder / "INDEX.tsv", folder / "shard_000.tar", raw_root / "data" / "participants.tsv")
    return gathered(raw_root, scans)


def mds_fundus_chasedb1(raw_root: Path) -> dict[str, MadeSubject]:
    """Eyes of three children, and the fields of view, whose names do not say to which they belong."""
    folder = raw_root / "data" / "CHASEDB1"
    scans = {}
    for number in range(1, 7):
        name = f"{number:02d}"
        rows = shades(18, 20, number, channels=3)
        vessels = {"vessels": (folder / "1st_label" / f"{name}_manual1.tif", rows[..., 1] % 5 == 0, 1)}
        scans[name] = [masked(folder / "images" / f"{name}_test.tif", rows, vessels, series="fundus")]
        side = "L" if number % 2 else "R"
        write_picture(folder / "mask" / f"mask_{(number + 1) // 2:02d}{side}.png", disc(18, 20, (9, 9.5), 8) * np.uint8(255))
    write_unread(raw_root / "data" / "chasedb1.py", folder / "2nd_label" / "01_manual2.tif")
    return gathered(raw_root, scans)


def mds_gi_bleeding(raw_root: Path) -> dict[str, MadeSubject]:
    """Frames of three people; one bleeds on one day and does not on another."""
    names = {
        "72140001224_20211123_00022": "Lesion",
        "72140001224_20220701_00001": "Lesion",
        "72140026681_20220628_00013": "Lesion",
        "72140026681_20220629_00001": "Normal",
        "72140099999_20220629_00002": "Normal",
    }
    scans: dict[str, list[MadePicture]] = {}
    for number, (name, kind) in enumerate(names.items()):
        person, _, frame = name.partition("_")
        path = raw_root / "data" / "GastrointestinalBleeding" / kind / f"{name}.bmp"
        scans.setdefault(person, []).append(photo(path, number, series="frame", scan=frame, of_class=kind))
    return gathered(raw_root, scans)


def mds_isic_npz(raw_root: Path) -> dict[str, MadeSubject]:
    """Skin lesions with their outlines in one file each."""
    scans = {}
    for number in (0, 1, 22):
        name = f"ISIC_{number:07d}"
        path = raw_root / "data" / f"{name}.npz"
        picture, inside = shades(17, 21, number, channels=3), disc(17, 21, (8.1, 9.3), 5.2)
        write_npz(path, image=picture, label=np.where(inside, 255, 0).astype(np.uint8))
        mask = as_stored(inside.astype(np.uint8))
        scans[name] = [MadePicture({"photo": path}, {"photo": as_stored(picture)}, {"lesion": (path,)}, mask)]
    return gathered(raw_root, scans)


def mds_kits23_cancer(raw_root: Path) -> dict[str, MadeSubject]:
    """Cases for training and for testing, each beside its label map."""
    scans = {}
    for number, part in {7: "test", 93: "test", 0: "train", 588: "train"}.items():
        name = f"case_{number:05d}"
        grid = small_grid(number, (1.5, 1.5, 2.5), shape=(24, 22, 18))
        shapes = nested(grid, 1, [2, 3])
        image, labels = raw_root / "data" / "GT" / part / f"{name}.nii.gz", raw_root / "data" / "GT" / part / f"{name}_seg.nii.gz"
        write_nifti(image, draw_ct(shapes, grid, 10, np.random.default_rng(number)), grid.affine, "IPL")
        write_nifti(labels, draw_labels(shapes, grid), grid.affine, "IPL")
        scans[name] = [MadeScan(grid, shapes, {"ct": image}, {"masses": (labels,)}, "IPL")]
    return gathered(raw_root, scans)
