"""Miniatures of the MDS-Bench datasets of DICOM files in its second and third group, and of Lung-PET-CT-Dx."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import highdicom
import numpy as np
from pydicom import dcmread
from pydicom.dataset import Dataset
from pydicom.sr.codedict import codes
from pydicom.uid import UID, EnhancedMRImageStorage

from tests.data_makers.dicom_files import Instance, slice_of, uid_of, write_dicom
from tests.data_makers.made import MadePicture, MadeSubject, by_name
from tests.data_makers.mds_manifest import write_manifest
from tests.data_makers.mds_tcia import Series, patient, uuid_of
from tests.data_makers.nifti_sets import write_unread
from tests.data_makers.pictures import Array, as_stored, photo, shades

MAMMOGRAM = UID("1.2.840.10008.5.1.4.1.1.1.2")
"""Digital mammography X-ray image, for presentation."""


def _listed(raw_root: Path, made: dict[str, MadeSubject]) -> dict[str, MadeSubject]:
    files = {path for one in made.values() for scan in one.scans for path in scan.series.values()}
    write_manifest(raw_root, sorted(files, key=lambda path: path.parts)[:20])
    return made


def _axial(path: Path, instance: Instance, rows: Array, **elements: Any) -> Array:
    """Write an axial slice of `[row, column]` true values; `[i, j, 1]` the same in RAS+ order."""
    write_dicom(path, slice_of(instance, rows, **elements))
    return np.ascontiguousarray(rows.T[::-1, ::-1, None])


def mds_mri_rd(raw_root: Path) -> dict[str, MadeSubject]:
    """The three files of the real set: a picture beside the DICOM file of its name."""
    data = raw_root / "data"
    scans: dict[str, list[MadePicture]] = {}
    for number, name in enumerate(["test2", "test"]):
        path = data / f"{name}.dcm"
        stored = _axial(path, Instance(name, "study", "T2", 1, "MR"), shades(14, 16, number, dtype=np.int32))
        scans.setdefault(name, []).append(MadePicture({"mr": path}, {"mr": stored}, classes={"mr": "DICOM"}, scan="dcm"))
    scans["test"].append(photo(data / "test.jpg", 5, series="mr", scan="jpg", of_class="JPEG"))
    return _listed(raw_root, by_name(MadeSubject(name, tuple(found)) for name, found in scans.items()))


def mds_pancreas_mri(raw_root: Path, n: int = 8) -> dict[str, MadeSubject]:
    """Volumes in one file each, of studies under several spellings of one name; the published twenty are of five classes."""
    files = {
        "Powers_000000_05_01_12_44_07_WIP_T2W_SPAIR_BH": "Powers",
        "Virostko_115687_04_01_10_53_56_(WIP_T2W_SPAIR_BH_SENSE)": "Virostko",
        "Moore_142733_06_01_11_30_49_WIP_T2W_SPAIR_bh.01": "Moore",
        "Moore_150122_06_01_10_02_31_WIP_T2W_SPAIR_bh.01": "Moore",
        "Powers_161507_05_01_15_20_18_WIP_T2W_SPAIR_BH": "Powers",
        "VIROSTKO_233256_04_01_13_18_45_WIP_T2W_SPAIR_BH": "Virostko",
        "Viroskto_233873_04_01_09_11_10_WIP_T2W_SPAIR_BH": "Viroskto",
        "Viroskto_234001_04_01_08_57_26_WIP_T2W_SPAIR_BH": "Viroskto",
    }
    made = []
    for number, (stem, of_class) in enumerate(list(files.items())[:n]):
        _, name, scan = stem.split("_", 2)
        path = raw_root / "data" / "images" / f"{stem}.DCM"
        frames = np.stack([shades(12, 14, 9 * number + k, dtype=np.int32) * 3 for k in range(4)])
        write_dicom(path, _multi_frame(Instance(name, "study", "T2W_SPAIR", 1, "MR"), frames))
        stored = {"t2w": np.ascontiguousarray(frames.transpose(2, 1, 0)[::-1, ::-1])}
        made.append(MadeSubject(name, (MadePicture({"t2w": path}, stored, classes={"t2w": of_class}, scan=scan),)))
    return _listed(raw_root, by_name(made))


def _multi_frame(instance: Instance, frames: Array) -> Dataset:
    """An enhanced MR file of axial frames `[frame, row, column]`, each 3 mm above the one before."""
    ds = slice_of(instance, frames.reshape(-1, frames.shape[2]), spacing_mm=None, position_lps_mm=None)
    ds.SOPClassUID, ds.Rows, ds.NumberOfFrames = EnhancedMRImageStorage, frames.shape[1], len(frames)
    measures = _item(PixelSpacing=[1.5, 1.25], SliceThickness=3, SpacingBetweenSlices=3)
    orientation = _item(ImageOrientationPatient=[1, 0, 0, 0, 1, 0])
    ds.SharedFunctionalGroupsSequence = [_item(PixelMeasuresSequence=[measures], PlaneOrientationSequence=[orientation])]
    ds.PerFrameFunctionalGroupsSequence = [
        _item(
            PlanePositionSequence=[_item(ImagePositionPatient=[-8, -9, 3 * k])],
            FrameContentSequence=[_item(StackID="1", InStackPositionNumber=k + 1)],
        )
        for k in range(len(frames))
    ]
    return ds


def _item(**elements: Any) -> Dataset:
    item = Dataset()
    for keyword, value in elements.items():
        setattr(item, keyword, value)
    return item


def mds_ct_of_the_brain(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Three slices in each folder."""
    made = []
    for number, name in enumerate(["aneurysm", "cancer", "tumor"][:n]):
        scans = []
        for place in (0, 1, 10):
            path = raw_root / "data" / "files" / name / f"{place}.dcm"
            rows = shades(15, 13, 7 * number + place, dtype=np.int32) - 100
            instance = Instance("anonymous", name, name, place + 1)
            stored = _axial(path, instance, rows, offset=-1024, position_lps_mm=(1.0, 2.0, 3.0 * place))
            scans.append(MadePicture({"ct": path}, {"ct": stored}, classes={"ct": name}, scan=str(place)))
        made.append(MadeSubject(name, tuple(scans)))
    write_unread(raw_root / "data" / "dataset.csv")
    return _listed(raw_root, by_name(made))


def mds_cmmd(raw_root: Path, n: int = 4) -> dict[str, MadeSubject]:
    """Women with one breast taken or both; of the last each breast is of another class, so that no picture is."""
    root = raw_root / "data" / "TheChineseMammographyDatabase"
    women = {
        "D1-0001": ("07-18-2010-NA-NA-79377/1.000000-NA-70244", "Benign"),
        "D1-0002": ("07-18-2010-NA-NA-49231/1.000000-NA-45313", "Malignant"),
        "D1-1304": ("07-18-2011-NA-NA-25491/1.000000-NA-24283", ""),
        "D2-0001": ("07-18-2011-NA-NA-14914/1.000000-NA-36301", "Malignant"),
    }
    made = []
    lines = ["ID1,LeftRight,Age,number,abnormality,classification,subtype"]
    for number, (name, (folder, of_class)) in enumerate(list(women.items())[:n]):
        scans = []
        for place in (1, 2):
            path = root / "CMMD" / name / folder / f"1-{place}.dcm"
            rows = shades(20, 14, 6 * number + place, dtype=np.int32)
            instance = Instance(name, folder.partition("/")[0], "", place, "MG")
            more: dict[str, Any] = {"SOPClassUID": MAMMOGRAM, "ImagerPixelSpacing": [0.094, 0.094], "ImageLaterality": "R"}
            write_dicom(path, slice_of(instance, rows, spacing_mm=None, position_lps_mm=None, **more))
            classes = {"instance": of_class} if of_class else {}
            pixels = {"instance": as_stored(rows)}
            scans.append(MadePicture({"instance": path}, pixels, classes=classes, scan=f"{folder}/1-{place}"))
        made.append(MadeSubject(name, tuple(scans)))
        kinds = [of_class] * 2 if of_class else ["Benign", "Malignant"]
        lines += [f"{name},{side},51,2,mass,{kind}," for side, kind in zip("LR", kinds, strict=True)]
    write_unread(root / "CMMD_clinicaldata_revision.csv", content="\n".join([*lines, ""]).encode())
    write_unread(root / "metadata.csv")
    return _listed(raw_root, by_name(made))


def mds_prostate_mri(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Two series of each patient, in folders with blanks."""
    root = raw_root / "data" / "PROSTATE_MRI"
    study = "04-30-2006-NA-MRI Prostate ERC-40831"
    series = [
        Series(f"{study}/1101.000000-DCE 262 pre-24908", ("1-01", "1-02"), "MR"),
        Series(f"{study}/1201.000000-DCE 262 3.1-71656", ("1-0001", "1-0002"), "MR"),
    ]
    made = []
    for number, name in enumerate(["MIP-PROSTATE-01-0001", "MIP-PROSTATE-01-0002", "MIP-PROSTATE-01-0031"][:n]):
        made.append(_of_class(patient(root / "PROSTATE-MRI" / name, name, series, seed=number), lambda _: "class_0"))
    write_unread(root / "metadata.csv", root / "PROSTATE-MRI" / "LICENSE")
    return _listed(raw_root, by_name(made))


def _of_class(made: MadeSubject, class_of: Callable[[MadePicture], str]) -> MadeSubject:
    """The subject with other classes of its pictures."""
    scans = [scan for scan in made.scans if isinstance(scan, MadePicture)]
    return replace(made, scans=tuple(replace(scan, classes=dict.fromkeys(scan.series, class_of(scan))) for scan in scans))


LUNG_TUMOURS: Mapping[str, tuple[str, tuple[float, float, float, float]]] = {
    "A0031": ("lung adenocarcinoma", (4.0, 3.0, 9.5, 8.0)),
    "B0040": ("small cell lung carcinoma", (2.5, 5.0, 8.0, 11.0)),
    "G0035": ("squamous cell lung carcinoma", (6.0, 2.0, 12.0, 7.5)),
}
"""Patient -> tumour and its box, x_min, y_min, x_max, y_max, in the second slice."""


def mds_lung_pet_ct_dx(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """CT and, of the first, PET of three patients; a report boxes the tumour in the second slice, and those are the targets."""
    root = raw_root / "data" / "lung_pet_ct_dx"
    made, reports = [], []
    for number, (name, (label, box)) in enumerate(list(LUNG_TUMOURS.items())[:n]):
        folder, study = root / f"Lung_Dx-{name}", str(uid_of(name, "study"))
        ct = Series(f"{study}/CT_{uid_of(name, 'ct')}", tuple(uuid_of(name, "ct", k) for k in range(3)))
        pet = Series(f"{study}/PT_{uid_of(name, 'pt')}", (uuid_of(name, "pt"),), "PT")
        one = patient(folder, name, [ct, pet][: 2 if number == 0 else 1], seed=number)
        image = dcmread(folder / ct.folder / f"{ct.names[1]}.dcm")
        path = folder / study / f"SR_{uid_of(name, 'sr')}" / f"{uuid_of(name, 'sr')}.dcm"
        write_dicom(path, _box_report(image, box))
        reports.append(path)
        boxed = f"{ct.folder}/{ct.names[1]}"
        scans = [scan for scan in one.scans if isinstance(scan, MadePicture)]
        made.append(replace(one, subject=name, scans=tuple(_as_lung(scan, (label, *box), boxed) for scan in scans)))
    write_manifest(raw_root, reports[::-1])
    return by_name(made)


def _as_lung(scan: MadePicture, mark: tuple[str, float, float, float, float], boxed: str) -> MadePicture:
    return replace(scan, classes={}, objects=(mark,) if scan.scan == boxed else ())


def _box_report(image: Dataset, box: tuple[float, float, float, float]) -> Dataset:
    """A TID 1500 report with a box on an image, as the Imaging Data Commons has made of the XML files."""
    x_min, y_min, x_max, y_max = box
    corners = np.array([[x_min, y_min], [x_max, y_min], [x_max, y_max], [x_min, y_max], [x_min, y_min]])
    region = highdicom.sr.ImageRegion(
        graphic_type=highdicom.sr.GraphicTypeValues.POLYLINE,
        graphic_data=corners,
        source_image=highdicom.sr.SourceImageForRegion(image.SOPClassUID, image.SOPInstanceUID),
    )
    tracked = highdicom.sr.TrackingIdentifier(uid_of(image.SOPInstanceUID, "tumour"), "tumour")
    group = highdicom.sr.PlanarROIMeasurementsAndQualitativeEvaluations(
        tracking_identifier=tracked, referenced_region=region, finding_type=codes.SCT.Neoplasm
    )
    observer = highdicom.sr.ObserverContext(codes.DCM.Person, highdicom.sr.PersonObserverIdentifyingAttributes("Made^Up"))
    content = highdicom.sr.MeasurementReport(
        observation_context=highdicom.sr.ObservationContext(observer),
        procedure_reported=codes.LN.CTUnspecifiedBodyRegion,
        imaging_measurements=[group],
    )
    made = highdicom.sr.ComprehensiveSR(
        [image], content, uid_of(image.SOPInstanceUID, "series"), 1, uid_of(image.SOPInstanceUID, "report"), 1, "none",
        is_complete=True, series_description="Tumor bounding box",
    )  # fmt: skip
    for keyword in ("ContentDate", "InstanceCreationDate", "SeriesDate"):
        if keyword in made:
            setattr(made, keyword, "20000101")
    for keyword in ("ContentTime", "InstanceCreationTime", "SeriesTime"):
        if keyword in made:
            setattr(made, keyword, "000000")
    return made
