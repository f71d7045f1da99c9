"""Miniatures of MDS-Bench datasets of slices and radiographs with masks, boxes or classes, as they lie in its public copy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from resources.phantoms import Grid
from tests.data_makers.dicom_files import Instance, slice_of, write_axial, write_dicom
from tests.data_makers.made import MadePicture, MadeSubject, by_name
from tests.data_makers.nifti_sets import write_unread
from tests.data_makers.pictures import as_stored, disc, shades, write_mat, write_picture
from tests.data_makers.workbook import write_workbook

Array = npt.NDArray[Any]

SCHATZKER = {1: "Normal", 10: "Type 2", 186: "Type 6"}
"""Patient -> what the table of PlaTiF says of the fracture."""

GREYS = {"liver": 63, "right kidney": 126, "left kidney": 189, "spleen": 252}
"""Grey levels of the masks of MR in CHAOS."""

CELLS = (("Tumor cell", 2.0, 3.0, 9.0, 8.0), ("Lymphocyte", 12.0, 1.0, 15.0, 5.0), ("Neutrophil", 4.0, 10.0, 8.0, 13.0))
OPACITIES = (("lung opacity", 3.0, 4.0, 9.0, 14.0), ("lung opacity", 11.0, 4.0, 16.0, 12.5))
HEARTS = ((1, 0.5, 2, 2.5), (0.5, 1, 3, 2.5))
"""x0, y0, w, h on pictures of 224 x 224."""

UUIDS = tuple(f"{n:04x}cfab-14fd-4e49-80ba-63a80b6bddd{n}" for n in range(1, 4))


def mds_tibial_plateau(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Patients of three archives: one view, two views, and a view with a CT slice besides."""
    data = raw_root / "data"
    made = []
    for part, (number, said) in enumerate(list(SCHATZKER.items())[:n], start=1):
        name = f"Patient_ID_{number:03d}"
        folder = f"Patient Data_Part {part}"
        picture, bone = shades(20 + part, 17, number) / 255, disc(20 + part, 17, (12, 8), 5)
        label = {"Normal": 7}.get(said, int(said[-1]) if said[-1].isdigit() else 0)
        views = {"im0": _view(picture, bone, label)}
        if part == 2:
            views["im1"] = _view(shades(15, 12, 99) / 255, disc(15, 12, (7, 6), 3), label)
        extra = {"Coronal_CT": shades(10, 10, 3) / 255} if part == 3 else {}
        path = data / folder / folder / f"{name}.mat"
        write_mat(path, {name: views | extra})  # type: ignore[dict-item]  # structures are mappings
        shown = "Schatzker_Type_" + said[-1] if said != "Normal" else said
        series = {"radiograph": path}
        ids = as_stored(bone.astype(np.uint8))
        scan = MadePicture(series, {"radiograph": as_stored(picture)}, {"tibia": (path,)}, ids, {"radiograph": shown})
        made.append(MadeSubject(str(number), (scan,)))
    columns = ["Patient ID", "Age", "Fracture of the Right (R) or Left (L) Tibia", "Fracture Type of  Schatzker Classification"]
    rows: list[list[str | float]] = [[number, 40.5, "R", said] for number, said in SCHATZKER.items()]
    write_workbook(data / "Tibial Plateau Fracture Metadata.xlsx", [columns, *rows])
    write_unread(data / "Load_Data.m")
    return by_name(made)


def _view(picture: Array, bone: npt.NDArray[np.bool_], label: int) -> dict[str, Array]:
    return {
        "OriginalImage": picture,
        "BW": bone.astype(np.uint8),
        "maskedImage": picture * bone,
        "label": np.array(label, np.uint8),
    }


def mds_chaos(raw_root: Path, n: int = 5) -> dict[str, MadeSubject]:
    """CT and MR of training and test; the masks of MR bear the names of their slices, those of CT do not."""
    root = raw_root / "data"
    made = [
        MadeSubject("CT/1", _ct(root / "Train_Sets" / "CT" / "1", with_masks=True)),
        MadeSubject("CT/3", _ct(root / "Test_Sets" / "CT" / "3", with_masks=False)),
        MadeSubject("MR/1", _mr(root / "Train_Sets" / "MR" / "1", 1, with_masks=True)),
        MadeSubject("MR/4", _mr(root / "Test_Sets" / "MR" / "4", 4, with_masks=False)),
        MadeSubject("MR/10", _mr(root / "Train_Sets" / "MR" / "10", 10, with_masks=True)),
    ]
    return by_name(made[:n])


def _ct(folder: Path, *, with_masks: bool) -> tuple[MadePicture, ...]:
    scans = []
    for k in range(2):
        path = folder / "DICOM_anon" / f"i{k:04d},0000b.dcm"
        scans.append(_dicom(path, Instance(folder.name, "ct", "ct", k + 1), "ct", seed=k, offset=-1200))
        if with_masks:
            write_picture(folder / "Ground" / f"liver_GT_{k:03d}.png", np.where(disc(14, 16, (6, 6), 3), 255, 0).astype(np.uint8))
    return tuple(scans)


def _mr(folder: Path, number: int, *, with_masks: bool) -> tuple[MadePicture, ...]:
    """Two slices of every sequence: those of T1DUAL in and out of phase count on in turn."""
    scans = []
    for k in range(2):
        names = {
            ("T1DUAL", "InPhase", "t1_in_phase"): f"IMG-0004-{2 * k + 2:05d}",
            ("T1DUAL", "OutPhase", "t1_out_phase"): f"IMG-0004-{2 * k + 1:05d}",
            ("T2SPIR", "", "t2_spir"): f"IMG-0002-{k + 1:05d}",
        }
        for (sequence, phase, series), name in names.items():
            path = folder / sequence / "DICOM_anon" / phase / f"{name}.dcm"
            instance = Instance(folder.name, "mr", series, k + 1, "MR")
            ground = folder / sequence / "Ground" / f"{name}.png" if with_masks and series != "t1_out_phase" else None
            scans.append(_dicom(path, instance, series, seed=number + k, ground=ground))
    return tuple(sorted(scans, key=lambda scan: scan.scan))


def _dicom(path: Path, instance: Instance, series: str, *, seed: int, offset: int = 0, ground: Path | None = None) -> MadePicture:
    """Write an axial slice and, as PNG beside it, four organs in it."""
    grid = Grid.centred((16, 14, 1), (1.6, 1.5, 5.0), (2.0, 3.0, 5.0 * instance.number))
    pixels = as_stored(shades(14, 16, seed, dtype=np.int16)) + offset
    write_axial(path, instance, pixels, grid.affine, offset=offset)
    if ground is None:
        return MadePicture({series: path}, {series: pixels}, scan=path.stem)
    ids = np.zeros((14, 16), np.uint8)
    for label, centre in enumerate([(3, 4), (3, 11), (10, 4), (9, 11)], start=1):
        ids[disc(14, 16, centre, 1.5 + 0.4 * label)] = label
    grey = np.array([0, *GREYS.values()], np.uint8)[ids]
    write_picture(ground, grey)
    # A PNG is drawn over the slice as it is stored, columns to the left and rows to the back; RAS+ is the other way round.
    mask = as_stored(ids)[::-1, ::-1]
    return MadePicture({series: path}, {series: pixels}, {"organs": (ground,)}, np.ascontiguousarray(mask), scan=path.stem)


def mds_monusac_cells(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Sections with the boxes of one reader, of the consensus of three, and with no cell in it."""
    data = raw_root / "data"
    made = []
    for name, marks in list({"GC_01": CELLS, "Lung_12": CELLS[:1], "TNBC_03": ()}.items())[:n]:
        path = data / f"{name}.tif"
        stored = write_picture(path, shades(16, 18, len(name), channels=3))
        table = "\n".join(["class,XMin,YMin,XMax,YMax", *(",".join(map(str, mark)) for mark in marks), ""]).encode()
        if name == "Lung_12":
            write_unread(data / f"{name}_consensus.csv", content=table)
            for reader in "ABC":
                write_unread(data / f"{name}_rater{reader}.csv", content=b"class,XMin,YMin,XMax,YMax\nMacrophage,1,1,3,3\n")
        else:
            write_unread(data / f"{name}.csv", content=table)
        objects = tuple((cell.lower(), x0, y0, x1, y1) for cell, x0, y0, x1, y1 in marks)
        made.append(MadeSubject(name, (MadePicture({"section": path}, {"section": as_stored(stored)}, objects=objects),)))
    return by_name(made)


def mds_rsna_pneumonia(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Radiographs in sub-folders, one with two boxes, two without; a test image."""
    data = raw_root / "data"
    made, rows = [], ["patientId,x,y,width,height,Target"]
    for number, name in enumerate(UUIDS[:n]):
        marks = OPACITIES if number == 1 else ()
        path = data / "stage_2_train_images" / f"part_{number % 2}" / f"{name}.dcm"
        made.append(MadeSubject(name, (_radiograph(path, name, number, marks),)))
        rows += [f"{name},{x0},{y0},{x1 - x0},{y1 - y0},1" for _, x0, y0, x1, y1 in marks] or [f"{name},,,,,0"]
    write_unread(data / "stage_2_train_labels.csv", content="\n".join([*rows, ""]).encode())
    write_unread(data / "stage_2_test_images" / "part_0" / f"{'f' * 8}-ffff-ffff-ffff-{'f' * 12}.dcm")
    write_unread(data / "stage_2_detailed_class_info.csv", data / "stage_2_sample_submission.csv")
    write_unread(data / "GCP Credits Request Link - RSNA.txt")
    return by_name(made)


def mds_rsna_heart(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Radiographs, all but the last with a box that was drawn on a smaller picture."""
    data = raw_root / "data"
    made, rows = [], ["name,x0,y0,w,h"]
    for number, name in enumerate(UUIDS[:n]):
        boxes = HEARTS[number : number + 1]
        marks = [("heart", *(1024 / 224 * v for v in (x, y, x + w, y + h))) for x, y, w, h in boxes]
        made.append(MadeSubject(name, (_radiograph(data / f"{name}.dcm", name, number, marks),)))
        rows += [f"{name},{x},{y},{w},{h}" for x, y, w, h in boxes]
    write_unread(data / "rsna_heart_detection_withbboxes.csv", content="\n".join([*rows, ""]).encode())
    return by_name(made)


def _radiograph(path: Path, name: str, seed: int, marks: Sequence[tuple[Any, ...]]) -> MadePicture:
    """Write a radiograph without a place in a patient."""
    rows = shades(18, 20, seed, dtype=np.int16)
    instance = Instance(name, "study", "radiograph", modality="CR")
    write_dicom(path, slice_of(instance, rows, spacing_mm=(0.168, 0.168), position_lps_mm=None, BodyPartExamined="CHEST"))
    return MadePicture({"radiograph": path}, {"radiograph": as_stored(rows)}, objects=tuple(marks))


def mds_siim(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Slices as DICOM and as TIFF, with and without contrast medium."""
    data = raw_root / "data"
    made = []
    for number, (age, contrast) in list({0: (60, 1), 1: (69, 1), 99: (61, 0)}.items())[:n]:
        name = f"ID_{number:04d}_AGE_{age:04d}_CONTRAST_{contrast}_CT"
        picture = shades(14, 16, number, dtype=np.int16)
        grid = Grid.centred((16, 14, 1), (0.7, 0.7, 5.0), (0.0, 0.0, -30.0))
        files = {"dicom": data / "dicom_dir" / f"{name}.dcm", "tiff": data / "tiff_images" / f"{name}.tif"}
        pixels = as_stored(picture)
        write_axial(files["dicom"], Instance("TCGA-17-Z034", name, "ct"), pixels, grid.affine, offset=-1024)
        write_picture(files["tiff"], picture)
        classes = dict.fromkeys(files, ("No_contrast", "Contrast")[contrast])
        scan = MadePicture(files, {"dicom": pixels, "tiff": pixels}, classes=classes)
        made.append(MadeSubject(f"ID_{number:04d}", (scan,)))
    write_unread(data / "overview.csv", data / "full_archive.npz")
    return by_name(made)
