"""Miniatures of MDS-Bench's group `origin_dataset`, as they lie in its public copy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from tifffile import TiffWriter

from resources.phantoms import draw_labels, draw_values, write_nifti
from tests.data_makers.czi_files import write_czi
from tests.data_makers.dicom_files import Instance, slice_of, write_dicom
from tests.data_makers.made import MadePicture, MadeScan, MadeSubject, by_name
from tests.data_makers.mds_manifest import write_manifest
from tests.data_makers.metaimage_files import write_metaimage
from tests.data_makers.nifti_sets import APPLE_DOUBLE, lattice, nested, small_grid, write_images, write_unread
from tests.data_makers.pictures import as_stored, photo, shades, write_envi, write_mat


def mds_microus_prostate(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Prostates under the ultrasound, outlined by an expert and, otherwise, by those whom nobody asks."""
    root = raw_root / "data" / "Micro_Ultrasound_Prostate_Segmentation_Dataset"
    others = {
        "train": {"non_expert_annotations": "nonexpert_annotation"},
        "test": {f"{who}_annotations": f"{who}_annotation" for who in ("clinician", "master_student", "medical_student")},
    }
    made = []
    for number, name in enumerate(["test_01", "test_20", "train_01", "train_55"][: n + 1]):
        part = root / name.partition("_")[0]
        grid = small_grid(number, (0.1, 0.1, 0.8), shape=(24, 22, 14))
        shapes = nested(grid, 1, [])
        image = part / "micro_ultrasound_scans" / f"microUS_{name}.nii"
        labels = part / "expert_annotations" / f"expert_annotation_{name}.nii"
        write_nifti(image, draw_values(shapes, grid, background=30).astype(np.uint8), grid.affine, "RAS")
        write_nifti(labels, draw_labels(shapes, grid).astype(np.uint8), grid.affine, "RAS")
        for folder, stem in others[part.name].items():
            write_unread(part / folder / f"{stem}_{name}.nii")
        made.append(MadeSubject(name, (MadeScan(grid, shapes, {"us": image}, {"expert": (labels,)}, "RAS"),)))
    write_unread(root / "change.py")
    write_manifest(raw_root, [scan.series["us"] for one in made for scan in one.scans])
    return by_name(made)


def mds_bonbid_hie(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Newborns' brains; the lesion of the second is so small that nothing of it is drawn."""
    data = raw_root / "data"
    made = []
    for number, part in list({1: "BONBID2023_Test", 14: "BONBID2023_Train", 454: "BONBID2023_Train"}.items())[:n]:
        name = f"MGHNICU_{number:03d}"
        grid = small_grid(number, (1.5, 1.5, 3.0), shape=(22, 24, 12))
        shapes = nested(grid, 0, [1] if number != 14 else [])
        files = {
            "adc": data / part / "1ADC_ss" / f"{name}-VISIT_01-ADC_ss.mha",
            "zadc": data / part / "2Z_ADC" / f"Zmap_{name}-VISIT_01-ADC_smooth2mm_clipped10.mha",
        }
        adc = draw_values(shapes, grid, background=0) * 10
        write_metaimage(files["adc"], adc.astype(np.int16), grid.affine, "LPS")
        write_metaimage(files["zadc"], np.clip(adc / 90 - 6, -10, 10).astype(np.float32), grid.affine, "LPS")
        labels = data / part / "3LABEL" / f"{name}-VISIT_01_lesion.mha"
        write_metaimage(labels, draw_labels(shapes, grid), grid.affine, "LPS")
        made.append(MadeSubject(name, (MadeScan(grid, shapes, files, {"lesion": (labels,)}, "LPS"),)))
    write_unread(
        data / "BONBID2023_Train" / "BONBID2023_clinicaldata_train.xlsx",
        data / "BONBID2023_clinicaldata_val.xlsx",
        data / "atlases" / "lesion_atlases" / "lesion_atlas.nii",
        data / "atlases" / "lesion_atlases" / "readme.txt",
    )
    write_unread(data / "__MACOSX" / "BONBID2023_Train" / "._BONBID2023_clinicaldata_train.xlsx", content=APPLE_DOUBLE)
    write_manifest(raw_root, [scan.series["adc"] for one in made for scan in one.scans])
    return by_name(made)


def mds_elastography(raw_root: Path) -> dict[str, MadeSubject]:
    """Three maps of each of three phantoms, beside the axis that both sides of a map share."""
    folder = raw_root / "data" / "elastographic map"
    made = []
    for number, name in enumerate(["artery", "inclusion3", "inclusion7"]):
        files, pixels = {}, {}
        for kind, stem in {"bmode": "Bmode", "displacement": "displacement", "velocity": "velocity"}.items():
            array = shades(21, 21, number, dtype=np.float64) * (1 if kind == "bmode" else 0.03)
            files[kind] = folder / f"{stem}_{name}.mat"
            write_mat(files[kind], {"map": array, "xyAxis": np.linspace(0, 40, 21)})
            pixels[kind] = as_stored(array)
        classes = {kind: path.stem for kind, path in files.items()}
        made.append(MadeSubject(name, (MadePicture(files, pixels, classes=classes),)))
    write_unread(raw_root / "data" / "curves_data.xlsx", raw_root / "data" / "README_for_elastographic map.m")
    write_manifest(raw_root, sorted(folder.iterdir()))
    return by_name(made)


def mds_huang_liver(raw_root: Path) -> dict[str, MadeSubject]:
    """Sections of mice's livers in three stains, their names as various as the originals'."""
    folder = raw_root / "data" / "Images for quantification"
    sections = {
        "41M": {
            "cd31": "CD31/IBMI_Huang_liver_CD31_HFD-3M_ND41M.czi",
            "he": "HE/A03836-IBMI_huang_Liver_H-E__HFD41M_.czi",
        },
        "42M": {"cd31": "CD31/IBMI_Huang_liver_CD31_ND42M.czi", "he": "HE/IBMI_huang_Liver_H-E_ND42M.czi"},
        "75-1": {"icg": "ICG/IBMI_Huang_liver_ICG750_HFD75-1.czi"},
        "76": {"icg": "ICG/IBMI_Huang_liver_ICG750_HFD76.czi"},
        "76F": {"he": "HE/A02980-IBMI_huang_Liver_H-E__HFD76F_Hig.czi"},
        "77F": {"he": "HE/IBMI_Huang_Liver_HE_ND77F.czi"},
        "166": {"he": "HE/IBMI_Huang_liver_HFD4M_HE_166.czi"},
        "14": {"icg": "ICG/IBMI_Huang_Liver_tracer_HFD14.czi"},
    }
    made = {}
    for number, (name, files) in enumerate(sections.items()):
        series = {stain: folder / path for stain, path in files.items()}
        pixels = {}
        for stain, path in series.items():
            planes = [shades(14, 17, number, channels=3)]
            if stain == "cd31":
                planes = [shades(14, 17, number + channel, dtype=np.uint16) for channel in range(2)]
            write_czi(path, planes)
            pixels[stain] = as_stored(planes[0] if len(planes) == 1 else np.stack(planes, axis=-1))
        classes = {stain: path.parent.name for stain, path in series.items()}
        made[name] = MadeSubject(name, (MadePicture(series, pixels, classes=classes),))
    write_unread(raw_root / "data" / "Image analysis data.xlsx")
    write_manifest(raw_root, [path for path in sorted(folder.rglob("*.czi")) if path.parent.name != "ICG"])
    order = ["14", "41M", "42M", "75-1", "76", "76F", "77F", "166"]
    return {name: made[name] for name in order}


def mds_retinal_avm(raw_root: Path) -> dict[str, MadeSubject]:
    """Pictures of one patient's eyes; what each shows is told by its number."""
    data = raw_root / "data"
    fundus, angiography = "Fundus photo ({})", "Fluorescein angiography (Right/Left eye, post-surgery)"
    shown = {
        "OCT_OD.png": "OCT of macula (Right eye)",
        "OCT_OS.png": "OCT of macula (Left eye)",
        "ODUSBscan2.png": "Ultrasonography (Right eye, pre-surgery)",
        "ODUSBscan.png": "Ultrasonography (Right eye, pre-surgery)",
        "SymphonyWeb204877_1.TIF": fundus.format("Right eye, post-surgery"),
        "SymphonyWeb204877_10.TIF": fundus.format("Right eye, post-surgery"),
        "SymphonyWeb204877_11.TIF": "Infrared fundus photo (Right eye)",
        "SymphonyWeb204877_13.TIF": fundus.format("Left eye"),
        "SymphonyWeb204877_21.TIF": fundus.format("Left eye"),
        "SymphonyWeb204877_23.TIF": angiography,
        "SymphonyWeb204877_78-2.TIF": angiography,
    }
    made = []
    for number, (name, of_class) in enumerate(shown.items()):
        scan = photo(data / name, number, series="picture", of_class=of_class, colours=3 if "Fundus" in of_class else 1)
        made.append(MadeSubject(Path(name).stem, (scan,)))
    write_unread(data / "change.py", data / "README_file.docx")
    write_manifest(raw_root, sorted(scan.series["picture"] for one in made for scan in one.scans))
    return by_name(made)


def mds_pbc_brain(raw_root: Path, n: int = 4) -> dict[str, MadeSubject]:
    """Two controls and two patients; one has directions of diffusion, but no diffusion, and no two as many directions."""
    data = raw_root / "data"
    made = []
    for number, (name, part) in enumerate(list({"k01": 1, "k17": 2, "p01": 2, "p14": 4}.items())[:n]):
        folder = data / f"Neurophysiological and MRI data {part}" / f"Data {part}" / f"sub-{name}"
        grid = small_grid(number, (1.0, 1.0, 1.2), shape=(16, 18, 14))
        shapes = lattice(grid, [1, 2, 3])
        series = {"t1w": folder / "anat" / f"sub-{name}_T1w.nii.gz"}
        write_images(series, shapes, grid, "LAS", seed=number, contrast="mr")
        if name != "k17":
            series["dti"] = folder / "dti" / f"sub-{name}_dti.nii.gz"
            films = {str(k): series["dti"] for k in range(3 + number)}
            write_images(films, shapes, grid, "LAS", seed=number, contrast="mr")
        bvec = "nii.bvec" if name == "p14" else "bvec"
        write_unread(folder / "dti" / f"sub-{name}_dti.{bvec}", content=b"0 1 0\n0 0 1\n0 0 0\n")
        made.append(MadeSubject(name, (MadeScan(grid, shapes, series, {}, "LAS"),)))
    first = data / "Neurophysiological and MRI data 1" / "Data 1"
    for name in ("dataset_description", "T1_description", "DTI_description", "neurophysiologicaData"):
        write_unread(first / f"{name}.json", content=b"{}")
    write_unread(first / "neurophysiologicalData.tsv", content=b"participant_id\tTAP\n")
    write_manifest(raw_root, sorted(path for one in made for scan in one.scans for path in scan.series.values()))
    return by_name(made)


def mds_organoid_mri(raw_root: Path) -> dict[str, MadeSubject]:
    """Tubes of organoids on three days; on the last, one organoid of the first tube is unlike the others in it."""
    days = {"1-3": ["1805", "0206", "0906"], "4-6": ["1805", "0906"], "7-9": ["1805"]}
    made = []
    for number, (tube, dates) in enumerate(days.items()):
        scans = []
        for date in sorted(dates):
            words = f"DS_organoid2022_{tube.replace('-', 'bis')}"
            study = f"{words}_{words}_2022{date[2:]}{date[:2]}__E2{number}_P1"
            for slice_number in (1, 2):
                name = f"{date}/{study}/MRIm{slice_number:02d}"
                path = raw_root / "data" / "MRI_raw_data" / tube / f"{name}.dcm"
                rows = shades(12, 14, number + slice_number, dtype=np.uint16)
                instance = Instance(tube, date, study, slice_number, "MR")
                write_dicom(path, slice_of(instance, rows, position_lps_mm=(0.0, 0.0, float(slice_number))))
                quality = "High quality" if date == "1805" else "Low quality"
                classes = {} if (tube, date) == ("1-3", "0906") else {"mr": quality}
                scans.append(MadePicture({"mr": path}, {"mr": as_stored(rows)[::-1, ::-1]}, classes=classes, scan=name))
        made.append(MadeSubject(tube, tuple(scans)))
    annotations = raw_root / "data" / "annotations"
    write_unread(
        annotations / "global_cyst_classification_annotations.csv", content=b"org_id,Organoid quality\norg1_0518,High quality\n"
    )
    write_unread(raw_root / "data" / "data_overview.csv", content=b"org_id,org_nr,date,date_readable,day\n")
    write_unread(annotations / "MRI_ground_truth_cyst_locations" / "org1_0518.npy")
    write_manifest(raw_root, [scan.series["mr"] for scan in made[0].scans])
    return by_name(made)


PLACENTA = ["Artery", "Artery, ICG", "Blue dye", "ICG", "Red dye", "Specular reflection", "Stroma", "Stroma, ICG", "Suture",
            "Umbilical cord", "Vein"]  # fmt: skip


def mds_placenta_hsi(raw_root: Path) -> dict[str, MadeSubject]:
    """Two dyes and three placentas; masks of some with a picture before them; the last without what was measured."""
    data = raw_root / "data"
    groups = {
        "DS1": ("Dye samples", ["Blue dye", "Red dye"]),
        "DS2": ("Dye samples", ["ICG"]),
        "P001": ("Placenta P001 - P006 no dye", ["Vein", "Artery", "Specular reflection", "Stroma", "Suture", "Umbilical cord"]),
        "P054": ("Placenta P054 - P077 ICG", ["Artery, ICG", "Stroma, ICG"]),
        "P055": ("Placenta P054 - P077 ICG", ["Vein"]),
    }
    made: dict[str, MadePicture] = {}
    for number, (name, (group, marked)) in enumerate(groups.items()):
        made[name] = scan = _spectral(data / group, name, number, marked, preview=number % 2 == 0)
        if name != "P055":
            rows = shades(16, 20, number + 5, channels=5, dtype=np.uint16)
            series = {**scan.series, "raw": write_envi(data / "Raw measurement data" / f"{name}.dat", rows)}
            made[name] = replace(scan, series=series, pixels={**scan.pixels, "raw": as_stored(rows)})
        write_unread(data / group / f"{name}.csv", content=b"label,x,y\n")
    write_envi(data / "Raw measurement data" / "RP1W1.dat", shades(16, 20, 9, channels=5, dtype=np.uint16))
    for name in ("definitions.json", "definitions.txt", "white reference reflectance.txt", "read_mtiff.m", "read_stiff.m"):
        write_unread(data / name, content=b"{}")
    write_manifest(
        raw_root,
        [made["DS1"].series["preview"], made["DS2"].series["preview"], *(made[name].series["raw"] for name in ("P001", "P054"))],
    )
    return by_name([MadeSubject(name, (scan,)) for name, scan in made.items()])


def _spectral(folder: Path, name: str, number: int, marked: list[str], *, preview: bool) -> MadePicture:
    """An image of four bands as spectral TIFF, and its masks; every third pixel of the first mask belongs to the second, too."""
    rows, columns = 16, 20
    seen = shades(rows, columns, number, channels=3)
    cube = shades(rows, columns, number + 3, channels=4).astype(np.float32) / 250
    inside = {text: np.zeros((rows, columns), bool) for text in marked}
    for place, text in enumerate(marked):
        inside[text][2 * place : 2 * place + 2, 3:17] = True
    if len(marked) > 1:
        inside[marked[1]][0, 3:17:3] = True
    ids = np.zeros((rows, columns), np.uint8)
    for label in sorted((PLACENTA.index(text) + 1 for text in marked), reverse=True):
        ids[inside[PLACENTA[label - 1]]] = label
    folder.mkdir(parents=True, exist_ok=True)
    with TiffWriter(folder / f"{name}.tif") as file:
        file.write(seen, photometric="rgb")
        for band in range(4):
            file.write(cube[..., band], photometric="minisblack")
    with TiffWriter(folder / f"{name}, masks.tif") as file:
        if preview:
            file.write(seen, photometric="rgb")
        for text in marked:
            tags = [(65001, "s", 0, text, True)]
            file.write(inside[text], photometric="minisblack", contiguous=False, extratags=tags)
    image = folder / f"{name}.tif"
    series = {"preview": image, "cube": image}
    pixels = {"preview": as_stored(seen), "cube": as_stored(cube)}
    return MadePicture(series, pixels, {"tissue": (folder / f"{name}, masks.tif",)}, as_stored(ids))
