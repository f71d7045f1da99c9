"""Miniatures of the MDS-Bench datasets of DICOM instances, as they lie in its public copy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import numpy as np
import numpy.typing as npt
from pydicom.dataset import Dataset

from assets.raw import natural_key
from resources.phantoms import Ellipsoid, Grid, draw_values
from tests.data_makers.dicom_files import (
    Instance,
    report,
    segmentation,
    slice_of,
    structure_set,
    uid_of,
    write_axial,
    write_dicom,
)
from tests.data_makers.made import MadePicture, MadeScan, MadeSubject, by_name
from tests.data_makers.mds_manifest import write_manifest
from tests.data_makers.nifti_sets import write_unread

STUDY, OTHER_STUDY = "01-01-2000-NA-CT ABDOMEN-30178", "06-15-2001-NA-PELVIS WITHOUT-11002"
"""Folders as NBIA's downloader calls them: date, description, end of the UID."""


@dataclass(frozen=True)
class Series:
    """A folder of one patient and what lies in it.

    Attributes:
        folder: Below the patient's.
        names: Files without their ending.
        modality: Of all of them; `CT`, `MR`, `PT` and `OT` are images.
        description: Of the series.
    """

    folder: str
    names: tuple[str, ...]
    modality: str = "CT"
    description: str = ""

    @property
    def are_images(self) -> bool:
        """Whether its files have pixels that are taken."""
        return self.modality in {"CT", "MR", "PT", "OT"}


def patient(folder: Path, name: str, series: Iterable[Series], *, seed: int, drawn_on: Sequence[str] = ("GTV",)) -> MadeSubject:
    """Write all series of a patient: one round structure in every slice, brighter from slice to slice."""
    scans = []
    for number, one in enumerate(series):
        for slice_number, file in enumerate(one.names, start=1):
            path = folder / one.folder / f"{file}.dcm"
            description = one.description or one.folder.split("/")[-1][:64]
            instance = Instance(name, one.folder.split("/")[0], one.folder, slice_number, one.modality, description)
            if one.are_images:
                pixels = _write_slice(path, instance, seed=seed + 10 * number + slice_number)
                of_class = {"instance": one.description or one.modality}
                scans.append(MadePicture({"instance": path}, {"instance": pixels}, classes=of_class, scan=f"{one.folder}/{file}"))
            elif one.modality == "RTSTRUCT":
                write_dicom(path, structure_set(instance, drawn_on))
            elif one.modality == "SEG":
                write_dicom(path, _segmentation(instance, drawn_on))
            else:
                write_dicom(path, report(instance))
    return MadeSubject(name, tuple(sorted(scans, key=lambda scan: natural_key(scan.scan))))


def _write_slice(path: Path, instance: Instance, *, seed: int) -> npt.NDArray[np.int16]:
    """Write a slice; [i, j, 1] its values in RAS+ order."""
    grid = Grid.centred((16 + seed % 3, 14 + seed % 2, 1), (0.8, 0.9, 2.5), (4.0 + seed, -7.0, 3.0 * instance.number))
    x, y, z, _ = (grid.affine @ [*(np.array(grid.shape) - 1) / 2, 1]).tolist()
    is_ct = instance.modality == "CT"
    drawn = draw_values([Ellipsoid((x, y + 1, z), (4.1, 3.3, 2.0), 60.0 + seed)], grid, -900 if is_ct else 3).astype(np.int16)
    drawn[0, 0, 0] += 1  # tells where right and back are
    write_axial(path, instance, drawn, grid.affine, offset=-1024 if is_ct else 0)
    return drawn


def _segmentation(instance: Instance, names: Sequence[str]) -> Dataset:
    image = slice_of(Instance(instance.patient, instance.study, "drawn on"), np.zeros((14, 16)))
    masks = np.zeros((1, 14, 16, len(names)), bool)
    for number in range(len(names)):
        masks[0, 2 + number, 3:6, number] = True
    return segmentation(instance, [image], masks, names)


def uuid_of(*names: object) -> str:
    """The same UUID for the same names, as the Imaging Data Commons calls its files."""
    return str(UUID(int=int(uid_of(*names).rpartition(".")[2]) % 2**128))


def mds_cptac_ccrcc(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Patients in two bundles; CT, one MR, and structure sets that are called like images."""
    return _cptac(raw_root, "CPTAC-CCRCC", ("C3L-00004", "C3L-00010", "C3N-00194")[:n], ["RIGHT KIDNEY", "RENAL TUMOR"])


def mds_cptac_pda(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """As the renal ones."""
    return _cptac(raw_root, "CPTAC-PDA", ("C3L-00017", "C3L-00189", "C3N-02010")[:n], ["PANCREAS", "LIVER"])


def _cptac(raw_root: Path, collection: str, names: Sequence[str], structures: Sequence[str]) -> dict[str, MadeSubject]:
    made = []
    for number, name in enumerate(names):
        bundle = raw_root / "data" / f"manifest-{1700000000 + number % 2}"
        series = [
            Series(f"{STUDY}/4.000000-ARTERIAL-27412", ("1-001", "1-002")),
            Series(f"{STUDY}/1.000000-Pre-Dose RIGHT KIDNEY - 1-83325", ("1-1",), "RTSTRUCT"),
            Series(f"{STUDY}/2.000000-Pre-Dose RIGHT KIDNEY - 1 - SEED POINT-11223", ("1-1",), "RTSTRUCT"),
        ]
        if number == 1:
            series.append(Series(f"{OTHER_STUDY}/3.000000-T2 AX-00871", ("1-01",), "MR"))
        made.append(patient(bundle / collection / name, name, series, seed=number, drawn_on=structures))
        write_unread(bundle / "metadata.csv", bundle / collection / "LICENSE")
    return by_name(made)


def mds_cptac_ucec(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Patients right under the data folder."""
    made = []
    for number, name in enumerate(("C3L-00006", "C3L-00136", "C3N-00858")[:n]):
        series = [
            Series(f"{STUDY}/2.000000-Portal-76812", ("1-001", "1-100")),
            Series(f"{STUDY}/1.000000-UTERUS - 1-55071", ("1-1",), "RTSTRUCT"),
        ]
        made.append(patient(raw_root / "data" / name, name, series, seed=number, drawn_on=["UTERUS", "PELVIC MASS"]))
    return by_name(made)


def mds_lctsc(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """UIDs and UUIDs for names, two targets of one series, a colon behind the indices of the list."""
    root = raw_root / "data" / "lctsc"
    made = []
    for number, name in enumerate(("LCTSC-Test-S2-101", "LCTSC-Train-S1-001", "LCTSC-Train-S3-012")[:n]):
        study = str(uid_of(name, "study"))
        series = [
            Series(f"{study}/{uid_of(name, 'ct')}", tuple(sorted(uuid_of(name, "ct", k) for k in range(3)))),
            Series(f"{study}/{uid_of(name, 'rois')}", (uuid_of(name, "rois"),), "RTSTRUCT", ".simplified"),
        ]
        made.append(patient(root / name, name, series, seed=number, drawn_on=["Esophagus", "Heart", "Lung_L"]))
    files = [file for one in made for scan in one.scans[:2] for file in scan.series.values()]
    write_manifest(raw_root, files, colon=True)
    return by_name(made)


def mds_ricord_1a(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Patients of both sites; the outlines of the readers."""
    made = []
    names = ("MIDRC-RICORD-1A-419639-000082", "MIDRC-RICORD-1A-419639-001015", "MIDRC-RICORD-1A-SITE2-000296")
    for number, name in enumerate(names[:n]):
        series = [Series(f"{STUDY}/2.000000-AXIAL-90011", ("1-001", "1-002")), Series(f"{STUDY}/1.000000-SCOUT-12345", ("1-1",))]
        made.append(patient(raw_root / "data" / name, name, series, seed=number))
    write_unread(raw_root / "data" / "MIDRC-RICORD-1a_annotations_labelgroup_all_2020-Dec-8.json", content=b"{}")
    return by_name(made)


def mds_plethora(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """CT of lung cancer with the segmentations and structure sets of that collection, and masks in NIfTI beside."""
    made = []
    for number, name in enumerate(("LUNG1-001", "LUNG1-008", "LUNG1-256")[:n]):
        series = [
            Series("09-18-2008-StudyID-NA-69331/0.000000-NA-82046", ("1-001", "1-002")),
            Series("09-18-2008-StudyID-NA-69331/3.000000-NA-78236", ("1-1",), "RTSTRUCT"),
            Series("09-18-2008-StudyID-NA-69331/300.000000-Segmentation-9.554", ("1-1",), "SEG"),
        ]
        made.append(patient(raw_root / "data" / "NSCLC-Radiomics" / name, name, series, seed=number, drawn_on=["GTV-1", "Heart"]))
        write_unread(raw_root / "data" / "Thoracic_Cavities" / name / f"{name}_thor_cav_primary_reviewer.nii.gz")
    return by_name(made)


def mds_sarcoma(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """PET, CT and MR of every patient, with a structure set each."""
    root = raw_root / "data" / "soft_tissue_sarcoma"
    made = []
    for number, name in enumerate(("STS_001", "STS_002", "STS_051")[:n]):
        series = []
        for modality, study in (("PT", "PET CT"), ("CT", "PET CT"), ("MR", "anatomy")):
            folder = str(uid_of(name, study))
            series.append(Series(f"{folder}/{uid_of(name, modality)}", (uuid_of(name, modality),), modality))
            series.append(Series(f"{folder}/{uid_of(name, modality, 'rois')}", (uuid_of(name, modality, "rois"),), "RTSTRUCT"))
        made.append(patient(root / name, name, series, seed=number, drawn_on=["GTV_Mass", "GTV_Edema"]))
    return by_name(made)


def mds_spine_mets(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """One segmentation of all vertebrae per patient."""
    made = []
    for number, name in enumerate(("10250", "11101", "15094")[:n]):
        series = [
            Series(f"{STUDY}/5.000000-SpineSPC Sag 2-43421", ("1-001", "1-002")),
            Series(f"{STUDY}/300.000000-Spine Segmentation-00112", ("1-1",), "SEG"),
        ]
        made.append(patient(raw_root / "data" / name, name, series, seed=number, drawn_on=["T7 vertebra", "L1 vertebra"]))
    write_unread(raw_root / "data" / "Spine-Mets-CT-SEG_Clinical.xlsx")
    return by_name(made)


def mds_qin_breast(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Modalities differ from patient to patient; each is a class."""
    modalities = {"QIN-BREAST-01-0001": ("MR",), "QIN-BREAST-01-0002": ("CT", "PT"), "QIN-BREAST-01-0068": ("MR", "OT")}
    made = []
    for number, (name, kinds) in enumerate(list(modalities.items())[:n]):
        series = [
            Series(f"{STUDY}/{k}.000000-{kind}-{10000 + k}", ("1-001", "1-002"), kind) for k, kind in enumerate(kinds, start=1)
        ]
        made.append(patient(raw_root / "data" / name, name, series, seed=number))
    return by_name(made)


def mds_tcga_luad(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """CT, and PET of one patient, with a segmentation that somebody else made."""
    made = []
    kinds: Mapping[str, Sequence[str]] = {"TCGA-17-Z031": ("CT",), "TCGA-38-4625": ("CT", "PT"), "TCGA-50-8460": ("CT", "SEG")}
    for number, (name, modalities) in enumerate(list(kinds.items())[:n]):
        study = str(uid_of(name, "study"))
        series = [Series(f"{study}/{uid_of(name, kind)}", (uuid_of(name, kind),), kind) for kind in modalities]
        made.append(patient(raw_root / "data" / "tcga_luad" / name, name, series, seed=number))
    return by_name(made)


def mds_breast_nact(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Breasts with segmentations and a report; outcomes of two patients, one of them of a class that was not seen."""
    made = []
    for number, name in enumerate(("UCSF-BR-01", "UCSF-BR-02", "UCSF-BR-64")[:n]):
        series = [
            Series(f"{STUDY}/2.000000-Dynamic-3dfgre-58321", ("1-01", "1-60"), "MR"),
            Series(f"{STUDY}/31000.000000-VOI PE Segmentation thresh70-77001", ("1-1",), "SEG"),
            Series(f"{STUDY}/1.000000-Standard Breast Imaging Report-00001", ("1-1",), "SR"),
        ]
        made.append(patient(raw_root / "data" / name, name, series, seed=number))
    rows = ["PatientID,outcome", 'UCSF-BR-01,"NED, no evidence of disease"', "UCSF-BR-02,deceased", ""]
    write_unread(raw_root / "data" / "clinical.csv", content="\n".join(rows).encode())
    return by_name(made)


def mds_dicom_brain(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Series of one study after another; the release has one study, of seven series."""
    sequences = {"SE000001": "Survey_MST", "SE000002": "DWI", "SE000003": "T2W_TSE", "SE000004": "T1W_IR"}
    made = []
    for number in range(1, n + 1):
        name = f"ST{number:06d}"
        series = [
            Series(folder, ("IM000001", "IM000002") if folder == "SE000001" else ("IM000001",), "MR", said)
            for folder, said in sequences.items()
        ]
        made.append(patient(raw_root / "data" / name, name, series, seed=number))
        write_unread(raw_root / "data" / name / "SE000001" / "IM000001.jpg")
    write_unread(raw_root / "data" / "DICOMDIR", raw_root / "data" / "Brain MRI_4.pdf", raw_root / "data" / "brain_mri_4.csv")
    return by_name(made)


def mds_lidc_idri(raw_root: Path, n: int = 3) -> dict[str, MadeSubject]:
    """Two readers of one nodule and reports on them; the list names a segmentation and a report.

    There is no CT: the published list is a random draw of twenty files, and all of them are segmentations or reports, where a
    patient's CT has hundreds of instances. So the public copy is TCIA's analysis result DICOM-LIDC-IDRI-Nodules, without the
    collection it was drawn on.
    """
    root = raw_root / "data"
    made, targets = [], []
    for number, name in enumerate(("LIDC-IDRI-0001", "LIDC-IDRI-0002", "LIDC-IDRI-1012")[:n]):
        grid = Grid.centred((16, 14, 3), (0.7, 0.7, 1.25), (10.0 + number, -5.0, 30.0))
        study = f"01-01-2000-NA-NA-{30178 + number}"
        scans = []
        for reader, annotation in enumerate(("0", "IL057_127364")):
            shapes = (Ellipsoid(_middle(grid, reader), (3.2 + reader, 2.6, 2.0), 1.0, 1),)
            folder = f"{1000 + reader}.000000-Segmentation of Nodule 1 - Annotation {annotation}-{63001 + reader}"
            path = root / name / study / folder / "1-1.dcm"
            _write_nodule(path, Instance(name, study, folder, modality="SEG"), grid, shapes)
            scans.append(MadeScan(grid, shapes, {"segmentation": path}, {"nodule": (path,)}, "LPS", scan=f"{study}/{folder}"))
            rated = root / name / study / f"{2000 + reader}.000000-Nodule 1 - Annotation {annotation} evaluations-{900 + reader}"
            write_dicom(rated / "1-1.dcm", report(Instance(name, study, rated.name, modality="SR")))
            targets += [path, rated / "1-1.dcm"]
        made.append(MadeSubject(name, tuple(sorted(scans, key=lambda scan: natural_key(scan.scan)))))
    write_manifest(raw_root, targets)
    return by_name(made)


def _middle(grid: Grid, reader: int) -> tuple[float, float, float]:
    x, y, z, _ = grid.affine @ [7.0 + reader, 6.0, 1.0, 1.0]
    return float(x), float(y), float(z)


def _write_nodule(path: Path, instance: Instance, grid: Grid, shapes: tuple[Ellipsoid, ...]) -> None:
    """A segmentation of all slices of the grid, drawn on CT slices that are not kept."""
    mask = MadeScan(grid, shapes, {}, {}, "LPS").label_map() > 0
    images, planes = [], []
    for k in range(grid.shape[2]):
        affine = grid.affine.copy()
        affine[:3, 3] += k * affine[:3, 2]
        stored = mask[:, :, k : k + 1]
        image = Instance(instance.patient, instance.study, "drawn on", k + 1)
        images.append(write_axial(path.with_name("unused.dcm"), image, stored.astype(np.int16), affine))
        planes.append(stored[::-1, ::-1, 0].T)
    path.with_name("unused.dcm").unlink()
    write_dicom(path, segmentation(instance, images, np.stack(planes)[..., np.newaxis], [f"Nodule of {instance.patient}"]))
