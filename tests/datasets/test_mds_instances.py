"""MDS-Bench datasets of DICOM files, second and third group, and Lung-PET-CT-Dx."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pydicom import dcmread

from assets.classes import classes_table
from assets.objects import objects_table
from resources.findings import Code
from resources.readers.dicom.tags import read_tag
from tests.data_makers.mds_instances import LUNG_TUMOURS
from tests.datasets.built import make
from tests.datasets.mds import check

SLUGS = [
    "mds_mri_rd", "mds_pancreas_mri", "mds_ct_of_the_brain", "mds_cmmd", "mds_prostate_mri", "mds_lung_pet_ct_dx",
]  # fmt: skip


@pytest.mark.parametrize("slug", SLUGS)
def test_everything_is_found_told_and_built_as_made(slug: str, tmp_path: Path) -> None:
    check(slug, tmp_path)


def test_a_file_of_many_frames_is_a_volume_in_the_patient(tmp_path: Path) -> None:
    built = check("mds_pancreas_mri", tmp_path)
    (row,) = built.rows("volumes", "142733").to_dicts()
    assert (row["space"], row["shape_ijk"], row["spacing_mm"]) == ("patient", [14, 12, 4], [1.25, 1.5, 3.0])
    # The first pixel lies at L -8, P -9; columns run to the left, rows to the back.
    expected = np.array([[1.25, 0, 0, 8 - 13 * 1.25], [0, 1.5, 0, 9 - 11 * 1.5], [0, 0, 3, 0], [0, 0, 0, 1]])
    np.testing.assert_allclose(np.reshape(row["affine_ras_mm"], (4, 4)), expected)


def test_women_whose_breasts_differ_have_no_class(tmp_path: Path) -> None:
    miniature = make("mds_cmmd", tmp_path)
    table, findings = classes_table(miniature.spec, miniature.tree(), set(miniature.made), read_tag)
    told = set(table.select("subject", "class").iter_rows())
    assert (told, findings) == ({("D1-0001", "Benign"), ("D1-0002", "Malignant"), ("D2-0001", "Malignant")}, [])


def test_boxes_of_reports_lie_on_the_instances_they_refer_to(tmp_path: Path) -> None:
    miniature = make("mds_lung_pet_ct_dx", tmp_path)
    table, findings = objects_table(miniature.spec, miniature.tree(), set(miniature.made))
    assert (findings, table.height) == ([], len(LUNG_TUMOURS))
    for row in table.to_dicts():
        label, box = LUNG_TUMOURS[row["subject"]]
        (report,) = miniature.raw_root.glob(f"data/lung_pet_ct_dx/Lung_Dx-{row['subject']}/*/SR_*/*.dcm")
        (scan,) = (scan for scan in miniature.tree().subjects[row["subject"]].scans if scan.scan == row["scan"])
        image = dcmread(miniature.raw_root / scan.series["instance"])
        evidence = dcmread(report).CurrentRequestedProcedureEvidenceSequence[0].ReferencedSeriesSequence[0]
        assert evidence.ReferencedSOPSequence[0].ReferencedSOPInstanceUID == image.SOPInstanceUID
        assert (row["label"], *row["min_px"], *row["max_px"]) == (label, *box)


def test_a_damaged_report_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    miniature = make("mds_lung_pet_ct_dx", tmp_path)
    report = next(miniature.raw_root.glob("data/lung_pet_ct_dx/Lung_Dx-A0031/*/SR_*/*.dcm"))
    report.write_bytes(report.read_bytes()[:400])
    table, findings = objects_table(miniature.spec, miniature.tree(), set(miniature.made))
    assert set(table["subject"]) == {"B0040", "G0035"}
    assert [(f.code, f.file) for f in findings] == [(Code.OBJECT_UNUSABLE, miniature.path(report))]
