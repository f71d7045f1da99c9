"""The datasets of DICOM instances of MDS-Bench's forth and fifth group."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pydicom
import pytest

from assets.classes import classes_table
from resources.findings import Code
from resources.readers.dicom.tags import read_tag
from tests.data_makers.dicom_files import Instance, slice_of, write_dicom
from tests.datasets.built import Miniature, build, check_built, check_classes, check_found, check_pictures, make, reasons

STRUCTURES, SEGMENTATION, REPORT = (f"its DICOM Modality is {kind}, and instance is of CT" for kind in ("RTSTRUCT", "SEG", "SR"))
MANIFEST = {"random.txt": "targets of MDS-Bench", "VLM/*": "answered"}
SUBJECTS = {
    "mds_cptac_ccrcc": ["C3L-00004", "C3L-00010", "C3N-00194"],
    "mds_cptac_pda": ["C3L-00017", "C3L-00189", "C3N-02010"],
    "mds_cptac_ucec": ["C3L-00006", "C3L-00136", "C3N-00858"],
    "mds_lctsc": ["LCTSC-Test-S2-101", "LCTSC-Train-S1-001", "LCTSC-Train-S3-012"],
    "mds_ricord_1a": ["MIDRC-RICORD-1A-419639-000082", "MIDRC-RICORD-1A-419639-001015", "MIDRC-RICORD-1A-SITE2-000296"],
    "mds_plethora": ["LUNG1-001", "LUNG1-008", "LUNG1-256"],
    "mds_sarcoma": ["STS_001", "STS_002", "STS_051"],
    "mds_spine_mets": ["10250", "11101", "15094"],
    "mds_qin_breast": ["QIN-BREAST-01-0001", "QIN-BREAST-01-0002", "QIN-BREAST-01-0068"],
    "mds_tcga_luad": ["TCGA-17-Z031", "TCGA-38-4625", "TCGA-50-8460"],
    "mds_breast_nact": ["UCSF-BR-01", "UCSF-BR-02", "UCSF-BR-64"],
    "mds_dicom_brain": ["ST000001", "ST000002", "ST000003"],
    "mds_lidc_idri": ["LIDC-IDRI-0001", "LIDC-IDRI-0002", "LIDC-IDRI-1012"],
}
IGNORED: Mapping[str, Mapping[str, str]] = {
    "mds_cptac_ccrcc": {"*.dcm": STRUCTURES, "*/metadata.csv": "downloader", "*/LICENSE": "readers"},
    "mds_cptac_pda": {"*.dcm": STRUCTURES, "*/metadata.csv": "downloader", "*/LICENSE": "readers"},
    "mds_cptac_ucec": {"*.dcm": STRUCTURES},
    "mds_lctsc": {"*.dcm": STRUCTURES} | MANIFEST,
    "mds_ricord_1a": {"*annotations_labelgroup_all*.json": "MD.ai"},
    "mds_plethora": {"*/3.000000*.dcm": STRUCTURES, "*/300.000000*.dcm": SEGMENTATION, "*_thor_cav_*.nii.gz": "thoracic cavity"},
    "mds_sarcoma": {"*.dcm": STRUCTURES},
    "mds_spine_mets": {"*.dcm": SEGMENTATION, "*.xlsx": "kind of the lesion"},
    "mds_qin_breast": {},
    "mds_tcga_luad": {"*.dcm": SEGMENTATION},
    "mds_breast_nact": {"*/1.000000*.dcm": REPORT, "*/31000*.dcm": SEGMENTATION, "data/clinical.csv": "classes are taken"},
    "mds_dicom_brain": {"*.jpg": "eight bits", "*/DICOMDIR": "list", "*.pdf": "report", "*.csv": "number of instances"},
    "mds_lidc_idri": {"*evaluations*.dcm": "reports of how a reader"} | MANIFEST,
}
PICTURES = [slug for slug in SUBJECTS if slug != "mds_lidc_idri"]


def ignored_files(miniature: Miniature, patterns: Mapping[str, str]) -> dict[str, str]:
    """Path -> the expected reason of every made file that is in no scan; every pattern is of use."""
    scans = [scan for made in miniature.made.values() for scan in made.scans]
    used = [file for scan in scans for files in (tuple(scan.series.values()), *scan.labels.values()) for file in files]
    in_scans = {miniature.path(file) for file in used}
    every = {file.relative_to(miniature.raw_root).as_posix() for file in miniature.raw_root.rglob("*") if file.is_file()}
    found = {p: next(why for glob, why in patterns.items() if fnmatch(p, glob)) for p in sorted(every - in_scans)}
    assert set(found.values()) == set(patterns.values())
    return found


@pytest.mark.parametrize("slug", SUBJECTS)
def test_a_dataset_is_found_as_made(slug: str, tmp_path: Path) -> None:
    miniature = make(slug, tmp_path)
    assert list(miniature.made) == SUBJECTS[slug]
    check_found(miniature, ignored_files(miniature, IGNORED[slug]))


@pytest.mark.parametrize("slug", PICTURES)
def test_every_instance_is_built_as_a_slice(slug: str, tmp_path: Path) -> None:
    miniature = make(slug, tmp_path)
    built = build(miniature.spec, tmp_path)
    check_pictures(built, miniature.made)
    for subject, made in miniature.made.items():
        for row in built.rows("volumes", subject).to_dicts():
            (scan,) = [scan for scan in made.scans if scan.scan == row["scan"]]
            ds = pydicom.dcmread(scan.series["instance"])
            assert (row["space"], row["shape_ijk"]) == ("patient", [ds.Columns, ds.Rows, 1])
            affine = np.reshape(row["affine_ras_mm"], (4, 4))
            last = affine @ [ds.Columns - 1, ds.Rows - 1, 0, 1]  # the pixel stored first, at the left and the back's other end
            x, y, z = ds.ImagePositionPatient
            np.testing.assert_allclose(last[:3], [-x, -y, z], atol=1e-6)


@pytest.mark.parametrize("slug", ["mds_qin_breast", "mds_tcga_luad"])
def test_the_modality_of_an_instance_is_its_class(slug: str, tmp_path: Path) -> None:
    miniature = make(slug, tmp_path)
    check_classes(build(miniature.spec, tmp_path), miniature.made)
    assert len({of_class for made in miniature.made.values() for scan in made.scans for of_class in classes_of(scan)}) > 1


def classes_of(scan: object) -> list[str]:
    return list(getattr(scan, "classes", {}).values())


def test_a_sequence_that_was_not_seen_is_told_and_has_no_class(tmp_path: Path) -> None:
    miniature = make("mds_dicom_brain", tmp_path)
    table, findings = classes_table(miniature.spec, miniature.tree(), set(miniature.made), read_tag)
    assert table.filter(subject="ST000001").select("scan", "class_id", "class").rows() == [
        ("SE000001/IM000001", 0, "Survey_MST"),
        ("SE000001/IM000002", 0, "Survey_MST"),
        ("SE000002/IM000001", 1, "DWI"),
        ("SE000003/IM000001", 2, "T2W_TSE"),
    ]
    assert [(f.code, f.file) for f in findings] == [
        (Code.CLASS_UNKNOWN, f"data/{study}/SE000004/IM000001.dcm") for study in miniature.made
    ]
    assert all("'T1W_IR'" in f.detail for f in findings)


def test_outcomes_come_from_a_table_and_those_that_are_not_there_are_told(tmp_path: Path) -> None:
    miniature = make("mds_breast_nact", tmp_path)
    table, findings = classes_table(miniature.spec, miniature.tree(), set(miniature.made), read_tag)
    assert set(table.select("subject", "class").rows()) == {("UCSF-BR-01", "NED, no evidence of disease")}
    assert len(findings) == 4
    (miniature.raw_root / "data" / "clinical.csv").unlink()
    table, findings = classes_table(miniature.spec, miniature.tree(), set(miniature.made), read_tag)
    assert (table.height, [f.code for f in findings]) == (0, [Code.CLASS_UNKNOWN])


def test_the_nodules_of_lidc_are_their_own_pictures(tmp_path: Path) -> None:
    miniature = make("mds_lidc_idri", tmp_path)
    built = build(miniature.spec, tmp_path)
    check_built(built, miniature.made)
    for subject, made in miniature.made.items():
        assert len(made.scans) == 2
        for scan in made.scans:
            np.testing.assert_array_equal(built.voxels(subject, "image", scan.scan, "segmentation"), scan.label_map())
        assert set(built.rows("lesion_sizes", subject)["label"]) == {"lung nodule"}


def test_the_ct_of_who_has_the_whole_collection_is_left_with_a_reason(tmp_path: Path) -> None:
    miniature = make("mds_lidc_idri", tmp_path)
    found = {name: [scan.scan for scan in subject.scans] for name, subject in miniature.tree().subjects.items()}
    for name in miniature.made:
        path = miniature.raw_root / f"data/{name}/01-01-2000-NA-NA-30178/3000566.000000-NA-03192/1-001.dcm"
        write_dicom(path, slice_of(Instance(name, "study", "ct"), np.zeros((9, 8))))
    tree = miniature.tree()
    ct = [file for file in tree.files if "3000566" in file.path]
    reason = "CT and radiographs, which are no targets of MDS-Bench"
    assert [(file.state, file.reason) for file in ct] == 3 * [("ignored", reason)]
    assert {name: [scan.scan for scan in subject.scans] for name, subject in tree.subjects.items()} == found


def test_an_instance_that_is_damaged_is_told_and_not_taken_for_something_else(tmp_path: Path) -> None:
    miniature = make("mds_tcga_luad", tmp_path)
    path = miniature.made["TCGA-38-4625"].scans[0].series["instance"]
    path.write_bytes(path.read_bytes()[:900])
    built = build(miniature.spec, tmp_path)
    states = {subject: manifest.state for subject, manifest in built.manifests.items()}
    assert states == dict.fromkeys(miniature.made, "published") | {"TCGA-38-4625": "quarantined"}, reasons(built)
