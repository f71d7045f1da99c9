"""Damaged DICOM files of every kind end in an object or a finding, never in another error."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from resources.findings import BadInputError
from resources.readers.dicom.rtstruct import read_rtstruct
from resources.readers.dicom.seg import open_seg
from resources.readers.dicom.series import open_series, scan_folder
from resources.readers.dicom.sr import read_sr_measurements
from tests.readers.makers import read_all


def read_anything(path: Path) -> None:
    for series in scan_folder(path.parent, [path.name]):
        for part in series.parts:
            assert part.source.name == path.name
        try:
            if series.kind == "segmentation":
                read_all(open_seg(path).layers())
            elif series.kind == "structure set":
                read_rtstruct(path)
            elif series.kind == "report":
                read_sr_measurements(path)
            else:
                read_all(open_series(series))
        except BadInputError as error:
            assert error.finding.detail  # noqa: PT017  # either is right


SMALL = [
    "dicom/dicom2nifti/ge/fmri/001/IM-0001-0001-0001.dcm",
    "dicom/pydicom_test_files/MR_small_RLE.dcm",
    "seg/dcmqi/23x38x3/seg/label.seg",
    "dicom/pydicom_test_files/rtstruct.dcm", "dicom/pydicom_test_files/reportsi.dcm", "seg/dcmqi/23x38x3/multiframe/mf.dcm",
    "seg/highdicom/seg_image_ct_true_fractional.dcm", "dicom/pydicom_test_files/image_dfl.dcm", "seg/rt-utils/mock_data/rt.dcm",
    "dicom/pydicom_test_files/MR_small_bigendian.dcm", "dicom/pydicom_test_files/rtdose_expb.dcm",
]  # fmt: skip


@pytest.mark.parametrize("name", SMALL, ids=lambda name: name.rsplit("/", 1)[-1])
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_damaged_files_are_read_or_refused(shared_data: Path, tmp_path: Path, name: str, data: st.DataObject) -> None:
    content = bytearray((shared_data / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 12))):
        # Most bytes are pixels; headers are where damage matters.
        place = data.draw(st.integers(132, min(len(content), 6000) - 1))
        content[place] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content))) :]
    path = tmp_path / "damaged.dcm"
    path.write_bytes(content)
    read_anything(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL, ids=lambda name: name.rsplit("/", 1)[-1])
def test_every_byte_may_be_wrong(shared_data: Path, tmp_path: Path, name: str) -> None:
    original = (shared_data / name).read_bytes()
    path = tmp_path / "damaged.dcm"
    for place in range(132, min(len(original), 2500), 3):
        content = bytearray(original)
        content[place] ^= 0xFF
        path.write_bytes(content)
        read_anything(path)
