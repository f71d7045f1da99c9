from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from resources.findings import Code
from resources.readers.registry import READERS, companions, open_image
from tests.readers.dicom import makers as dicom
from tests.readers.makers import codes, nifti_bytes, read_all, refusal, voxels, write_nifti


@pytest.mark.parametrize(
    ("name", "packed", "said"),
    [
        ("a.nii", False, set()),
        ("a.nii.gz", True, set()),
        ("A.NII.GZ", True, set()),
        ("a.nii", True, {Code.WRONG_EXTENSION}),
        ("a.nii.gz", False, {Code.WRONG_EXTENSION}),
        ("a.mha", False, {Code.WRONG_EXTENSION}),
        ("a", True, {Code.WRONG_EXTENSION}),
        ("a.dcm", False, {Code.WRONG_EXTENSION}),
    ],
)
def test_content_decides_and_a_lying_name_is_told(tmp_path: Path, name: str, packed: bool, said: set[Code]) -> None:
    content = b"".join(nifti_bytes(voxels()))
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if packed else content)
    image = open_image(path)
    np.testing.assert_array_equal(read_all(image), voxels())
    assert codes(image) == said


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("IM000001", set()),
        ("1.3.6.1.4.1.14519.5.2.1.6279.6001.179049373636438705059720603192", set()),
        ("MR.1.3.12.2.1107.5.2.32.35131", set()),
        ("1.2.840.10008.dcm", set()),
        ("1.2.840.nii", {Code.WRONG_EXTENSION}),
        ("1.2.840.gz", {Code.WRONG_EXTENSION}),
    ],
)
def test_a_dicom_file_needs_no_ending_and_may_be_called_by_its_uid(tmp_path: Path, name: str, said: set[Code]) -> None:
    path = dicom.write(tmp_path / name, dicom.slice_of(dicom.ramp()))
    assert {f.code for f in open_image(path).findings} & {Code.WRONG_EXTENSION} == said


def test_findings_and_errors_carry_the_callers_name(tmp_path: Path) -> None:
    path = write_nifti(tmp_path / "a.nii.gz", voxels(), np.eye(4), xyzt_units=0)
    image = open_image(path, name="case_1/a.nii.gz")
    assert {finding.file for finding in image.findings} == {"case_1/a.nii.gz"}
    assert {finding.file for finding in open_image(path).findings} == {"a.nii.gz"}
    path.write_bytes(path.read_bytes() + b"tail")
    image = open_image(path, name="case_1/a.nii.gz")
    read_all(image)
    assert [finding.file for finding in image.stream_findings] == ["case_1/a.nii.gz"]


@pytest.mark.parametrize("ends", [(".hdr", ".img"), (".HDR", ".IMG"), (".hdr.gz", ".img.gz"), (".hdr", ".img.gz")])
def test_either_file_of_a_pair_opens_the_image(tmp_path: Path, ends: tuple[str, str]) -> None:
    header, body = nifti_bytes(voxels(), pair=True)
    first, second = tmp_path / f"a{ends[0]}", tmp_path / f"a{ends[1]}"
    first.write_bytes(gzip.compress(header) if ends[0].endswith("gz") else header)
    second.write_bytes(gzip.compress(body) if ends[1].endswith("gz") else body)
    assert companions(first) == (second,)
    assert companions(second) == (first,)
    for path in (first, second):
        image = open_image(path, name=f"s/{path.name}")
        np.testing.assert_array_equal(read_all(image), voxels())
        assert [source.path for source in image.sources] == [first, second]
        assert codes(image) == set()


def test_single_files_have_no_companions(tmp_path: Path) -> None:
    for name in ("a.nii", "a.nii.gz", "a.mha", "a.nrrd", "a.gipl", "a.txt", "a.hdr", "a.mhd", "a.nhdr"):
        (tmp_path / name).write_bytes(b"whatever this is")
        assert companions(tmp_path / name) == ()


def test_companions_of_missing_files_are_none(tmp_path: Path) -> None:
    assert companions(tmp_path / "a.mhd") == ()
    assert companions(tmp_path / "a.hdr") == ()


def test_unknown_content_names_what_is_known(tmp_path: Path) -> None:
    (tmp_path / "a.nii").write_bytes(b"no image at all, but long enough to be one" * 30)
    error = refusal(tmp_path / "a.nii")
    assert error.finding.code == Code.WRONG_MAGIC
    assert all(reader.name in str(error) for reader in READERS)


def test_simpleitk_is_not_loaded_for_nifti(tmp_path: Path) -> None:
    path = write_nifti(tmp_path / "a.nii", voxels())
    program = (
        "import sys; from pathlib import Path; from resources.readers.registry import open_image;"
        f"list(open_image(Path({str(path)!r})).slabs([(0, 7)])); sys.exit('SimpleITK' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])
