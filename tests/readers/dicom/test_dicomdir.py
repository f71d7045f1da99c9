from __future__ import annotations

from pathlib import Path

import pytest
from pydicom.fileset import FileSet

from resources.findings import BadInputError, Code
from resources.readers.dicom.dicomdir import absent_files, read_dicomdir
from resources.readers.dicom.series import open_series
from tests.readers.dicom.makers import ramp, scan, slice_of, uid, write
from tests.readers.makers import read_all


def medium(folder: Path) -> Path:
    """A medium written by pydicom."""
    files = FileSet()
    for k in range(4):
        ds = slice_of(ramp(k), (0, 0, 2 * k), number=k + 1, StudyTime="101010", StudyID="1", AccessionNumber="")
        files.add(write(folder / "in" / f"{k}", ds))
    files.write(folder / "disc")
    files._stage["t"].cleanup()  # pydicom leaves that to the garbage collector, which complains
    return folder / "disc"


def test_the_files_of_a_medium_are_listed_and_read(tmp_path: Path) -> None:
    disc = medium(tmp_path)
    listed = read_dicomdir(disc / "DICOMDIR")
    images = [file for file in listed if file.kind == "IMAGE"]
    assert sorted(file.sop_uid for file in images) == [uid(1, 1, k) for k in range(1, 5)]
    assert all((disc / file.name).is_file() for file in images)
    found = scan(disc)
    assert [series.kind for series in found] == ["directory", "image"]
    assert read_all(open_series(found[1]))[0, 0].tolist() == [0, 256, 512, 768]


def test_files_that_are_not_there_are_told(tmp_path: Path) -> None:
    disc = medium(tmp_path)
    listed = read_dicomdir(disc / "DICOMDIR")
    names = [f"disc/{path.relative_to(disc).as_posix().lower()}" for path in disc.rglob("*") if path.is_file()]
    assert absent_files(listed, names, "disc/DICOMDIR") == ()
    gone = sorted(file.name for file in listed if file.kind == "IMAGE")[2]
    (said,) = absent_files(listed, [name for name in names if name != f"disc/{gone.lower()}"], "disc/DICOMDIR")
    assert (said.code, said.file) == (Code.LISTED_BUT_ABSENT, "disc/DICOMDIR")
    assert gone in said.detail


def test_a_list_that_leads_out_of_its_folder_is_refused(tmp_path: Path) -> None:
    disc = medium(tmp_path)
    content = (disc / "DICOMDIR").read_bytes()
    name = next(file.name for file in read_dicomdir(disc / "DICOMDIR") if file.kind == "IMAGE").replace("/", "\\").encode()
    (disc / "DICOMDIR").write_bytes(content.replace(name, b"..\\..\\passwd".ljust(len(name))))
    with pytest.raises(BadInputError) as caught:
        read_dicomdir(disc / "DICOMDIR")
    assert caught.value.finding.code == Code.BAD_HEADER


def test_an_image_is_no_list(tmp_path: Path) -> None:
    with pytest.raises(BadInputError) as caught:
        read_dicomdir(write(tmp_path / "s", slice_of(ramp())))
    assert caught.value.finding.code == Code.NOT_A_VOLUME
