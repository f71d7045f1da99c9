"""Small files of every kind, for folders whose answer is known."""

from __future__ import annotations

from pathlib import Path

import highdicom
import nibabel as nib
import numpy as np
from PIL import Image
from pydicom import Dataset
from pydicom.sr.codedict import codes

from assets.classes import classes_table
from assets.inspect import Inspection, inspect_folder
from assets.inspect.draft import as_spec
from assets.raw import RawTree, discover
from assets.spec import DatasetSpec
from tests.data_makers.dicom_files import Instance, slice_of, uid_of, write_dicom


def volume(path: Path, *, ids: tuple[int, ...] = (), low: int = 0, scale: float = 1) -> None:
    """A NIfTI volume; a label map where ids are given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    voxels = np.random.default_rng(7).integers(low, 900, (6, 7, 5)).astype(np.float32)
    if ids:
        voxels[:] = 0
        for number, value in enumerate(ids):
            voxels[number + 1] = value
    image = nib.Nifti1Image(voxels * scale if scale != 1 else voxels.astype(np.int16), np.diag([1.0, 1.0, 2.0, 1.0]))
    image.header.set_xyzt_units("mm")
    nib.save(image, path)


def picture(path: Path, *, mask: bool = False, seed: int = 3, rows: int = 9, columns: int = 8) -> None:
    """A grey picture; one of 0 and 255 for a mask."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 255, (rows, columns)).astype(np.uint8)
    Image.fromarray(np.where(pixels > 100, 255, 0).astype(np.uint8) if mask else pixels).save(path)


def instance(path: Path, patient: str, number: int = 1, *, study: str = "study", modality: str = "CT") -> Dataset:
    """A slice of a series."""
    pixels = np.random.default_rng(number).integers(0, 900, (9, 8)).astype(np.uint16)
    made = slice_of(Instance(patient, study, "series", number, modality), pixels, position_lps_mm=(0.0, 0.0, float(number)))
    write_dicom(path, made)
    return made


def box_report(path: Path, image: Dataset) -> None:
    """A report that marks a box in an image, by highdicom."""
    corners = np.array([[1, 1], [5, 1], [5, 4], [1, 4], [1, 1]])
    region = highdicom.sr.ImageRegion(
        graphic_type=highdicom.sr.GraphicTypeValues.POLYLINE,
        graphic_data=corners,
        source_image=highdicom.sr.SourceImageForRegion(image.SOPClassUID, image.SOPInstanceUID),
    )
    group = highdicom.sr.PlanarROIMeasurementsAndQualitativeEvaluations(
        tracking_identifier=highdicom.sr.TrackingIdentifier(uid_of(image.SOPInstanceUID, "mark"), "mark"),
        referenced_region=region,
        finding_type=codes.SCT.Neoplasm,
    )
    observer = highdicom.sr.ObserverContext(codes.DCM.Person, highdicom.sr.PersonObserverIdentifyingAttributes("Made^Up"))
    content = highdicom.sr.MeasurementReport(
        observation_context=highdicom.sr.ObservationContext(observer),
        procedure_reported=codes.LN.CTUnspecifiedBodyRegion,
        imaging_measurements=[group],
    )
    made = highdicom.sr.ComprehensiveSR(
        [image],
        content,
        uid_of(image.SOPInstanceUID, "series"),
        1,
        uid_of(image.SOPInstanceUID, "report"),
        1,
        "none",
        is_complete=True,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    made.save_as(path)


def drafted(root: Path) -> tuple[Inspection, DatasetSpec, RawTree]:
    """What is found, the draft, and what the draft finds; nothing is left without a reason."""
    found = inspect_folder(root)
    spec = as_spec(found, "draft")
    tree = discover(spec, root)
    assert not [f.path for f in tree.files if f.state == "unclaimed"]
    return found, spec, tree


def images(tree: RawTree) -> set[str]:
    """Image files of a draft."""
    return {str(path) for s in tree.subjects.values() for scan in s.scans for path in scan.series.values()}


def pairs(spec: DatasetSpec, tree: RawTree) -> set[tuple[str, str]]:
    """(image, label map) of a draft."""
    found = set()
    for subject in tree.subjects.values():
        for scan in subject.scans:
            for name, files in scan.labels.items():
                of = spec.layout.labels[name].of or tuple(spec.layout.series)
                found |= {(str(scan.series[s]), file.path) for file in files for s in of if s in scan.series}
    return found


def told(spec: DatasetSpec, tree: RawTree) -> dict[str, str]:
    """Subject -> class, as the pipeline reads it by a draft; every image has one."""
    rows, findings = classes_table(spec, tree, set(tree.subjects), lambda _, __: None)
    assert not findings
    return {row["subject"]: row["class"] for row in rows.iter_rows(named=True)}
