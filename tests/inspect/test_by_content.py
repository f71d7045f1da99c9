"""Files whose names do not say what they are: their first bytes do."""

from __future__ import annotations

import random
import re
import shutil
import string
from collections.abc import Callable
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
from PIL import Image
from pydicom.fileset import FileSet
from typer.testing import CliRunner

from assets.inspect import content, formats, inspect_folder
from assets.inspect.content import told_by_content
from assets.inspect.formats import IMAGES, UNTOLD, family
from assets.inspect.grouping import regex_of_bare
from assets.inspect.tokens import ending_of
from orchestration.cli import app
from resources.readers.registry import READERS, open_image
from tests.data_makers.dicom_files import uid_of
from tests.inspect.folders import drafted, images, instance, pairs, picture, told, volume


def mgz(path: Path, *, ids: tuple[int, ...] = ()) -> None:
    """A volume, or a label map, by nibabel."""
    path.parent.mkdir(parents=True, exist_ok=True)
    voxels = np.random.default_rng(7).integers(0, 900, (6, 7, 5)).astype(np.int16)
    if ids:
        voxels[:] = 0
        for number, value in enumerate(ids):
            voxels[number + 1] = value
    nib.save(nib.MGHImage(voxels, np.diag([1.0, 1.0, 2.0, 1.0])), path)


def test_every_ending_of_a_reader_has_a_family() -> None:
    endings = {ending for reader in READERS for ending in reader.suffixes if ending}
    assert {ending for ending in endings if family(ending) == "other"} == set()
    assert {family(ending) for ending in (".mgh", ".mgz", ".MGZ", ".mnc", ".par", ".nii", ".hdr")} == {"volume"}
    assert {family(ending) for ending in (".jfif", ".dib", ".pbm", ".svs", ".lsm")} == {"picture"}
    assert (family(".dic"), family(".mkv"), family(".he5"), family("")) == ("dicom", "video", "container", "other")
    assert {family(ending) for ending in (".img", ".dat", ".rec")} == {"raw"}


@pytest.mark.parametrize(
    ("name", "ending"),
    [
        ("IM0000", ""),
        ("MR.1.2.840.113619.2", ""),
        ("1.2.840.10008", ""),
        ("a.001", ""),
        ("a.1.dcm", ".dcm"),
        ("x/y.z/a.ima", ".ima"),
    ],
)
def test_digits_behind_a_dot_are_no_ending(name: str, ending: str) -> None:
    assert ending_of(name) == ending


NAMES: dict[str, Callable[[str, int], str]] = {
    "IM": lambda _, n: f"IM{n:04d}",
    "digits": lambda _, n: f"{n:08d}",
    "uid": lambda patient, n: str(uid_of(patient, n)),
    "long uid": lambda patient, n: f"1.2.840.113619.2.{n}.{patient[-1]}.77",
    "MR and uid": lambda patient, n: f"MR.1.2.840.113619.2.{n}.{patient[-1]}",
    "img": lambda _, n: f"slice_{n}.img",
    "odd ending": lambda _, n: f"slice_{n}.MRDC",
}


@pytest.mark.parametrize("naming", sorted(NAMES))
def test_instances_in_folders_of_patients(tmp_path: Path, naming: str) -> None:
    want = {f"{patient}/{NAMES[naming](patient, n)}" for patient in ("PA-01", "PA-02", "PA-03") for n in (1, 2, 3)}
    for path in sorted(want):
        instance(tmp_path / path, path[:5], len(path), modality="MR")
    found, _, tree = drafted(tmp_path)
    assert found.dicom is not None
    assert images(tree) == want
    assert set(tree.subjects) == {"PA-01", "PA-02", "PA-03"}
    assert found.said("modality") == "MR"


@pytest.mark.parametrize("naming", sorted(NAMES))
def test_instances_in_one_folder(tmp_path: Path, naming: str) -> None:
    want = {NAMES[naming]("PA-01", n) for n in range(1, 6)}
    for n, path in enumerate(sorted(want)):
        instance(tmp_path / path, "PA-01", n)
    found, _, tree = drafted(tmp_path)
    assert found.dicom is not None
    assert images(tree) == want
    assert len(tree.subjects) == 5


def test_a_medium_with_its_directory_and_texts(tmp_path: Path) -> None:
    """As burners write it: the list of files is no image, nor are the texts beside it."""
    medium = FileSet()
    for patient in ("A1", "A2"):
        for n in (1, 2):
            made = instance(tmp_path / "made" / f"{patient}{n}.dcm", patient, n, study=patient)
            made.StudyID = patient
            medium.add(made)
    medium.write(tmp_path / "raw")
    medium._stage["t"].cleanup()  # pydicom leaves that to the garbage collector, which complains
    for name in ("README", "LICENSE", "VERSION"):
        (tmp_path / "raw" / name).write_text("P2 of the text says that BM is no picture\n")
    found, _, tree = drafted(tmp_path / "raw")
    assert found.dicom is not None
    assert images(tree) == {p.relative_to(tmp_path / "raw").as_posix() for p in (tmp_path / "raw").rglob("IM*")}
    assert len(images(tree)) == 4
    states = {f.path: f.state for f in tree.files}
    assert {states[name] for name in ("DICOMDIR", "README", "LICENSE", "VERSION")} == {"ignored"}


@pytest.mark.parametrize("naming", sorted(NAMES))
def test_other_files_beside_instances_are_not_taken_for_instances(tmp_path: Path, naming: str) -> None:
    want = {f"{patient}/{NAMES[naming](patient, n)}" for patient in ("PA-01", "PA-02") for n in (1, 2, 3)}
    for path in sorted(want):
        instance(tmp_path / path, path[:5], len(path))
    for name in ("VERSION", "notes.txt", "DICOMDIR.txt", "list.csv"):
        (tmp_path / "PA-01" / name).write_text("a,b\n1,2\n")
        (tmp_path / name).write_text("a,b\n1,2\n")
    _, _, tree = drafted(tmp_path)
    assert images(tree) == want


@pytest.mark.parametrize(
    ("names", "more", "other"),
    [
        (["IM0001", "IM0002"], "IM10000", "VERSION"),
        (["00000001", "00000002"], "123456789", "a1"),
        (["1.2.840.1", "1.2.840.10.7"], "2.25.123456", "1.2.txt"),
        (["MR.1.2.3", "CT.1.2.4"], "CT.1.2.4.5", "PET.1.2"),
        (["3f2b8c1d9e", "a0b1c2d3e4"], "00ff00ff00", "notes"),
        (["9f1c2d3e-1111-4222-8333-444455556666"], "0a1c2d3e-1111-4222-8333-444455556667", "x"),
        (["2024-01-01_a", "2024-01-02_a"], "2025-12-31_a", "2024-01_a"),
        ([f"{a}{b}x" for a in "qrstuvwxyz" for b in "ghijkl"], "another", "notes.txt"),
    ],
)
def test_expressions_of_bare_names(names: list[str], more: str, other: str) -> None:
    expression = regex_of_bare(names)
    assert all(re.fullmatch(expression, name) for name in [*names, more])
    assert re.fullmatch(expression, other) is None


def test_some_instances_have_an_ending_and_some_have_none(tmp_path: Path) -> None:
    want = {f"{patient}/{name}" for patient in ("P1", "P2") for name in ("IM0001", "IM0002", "IM0003.dcm")}
    for n, path in enumerate(sorted(want)):
        instance(tmp_path / path, path[:2], n)
    _, _, tree = drafted(tmp_path)
    assert images(tree) == want


def test_classes_of_instances_without_endings(tmp_path: Path) -> None:
    for number, kind in enumerate(("benign", "malignant")):
        for n in range(3):
            instance(tmp_path / kind / f"{10 * number + n:06d}", f"X{number}{n}", n)
    _, spec, tree = drafted(tmp_path)
    assert sorted(told(spec, tree).values()) == ["benign"] * 3 + ["malignant"] * 3


def test_real_instances_without_endings(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "dicom" / "wg04"
    if not source.is_dir():
        pytest.skip("no DICOM test images of working group 4 there")
    for folder in ("RLE", "JPLL", "J2KR"):
        shutil.copytree(source / folder, tmp_path / folder)
    found, _, tree = drafted(tmp_path)
    assert found.dicom is not None
    assert images(tree) == {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*_*")}


@pytest.mark.parametrize(
    ("files", "called"),
    [
        (("small.mnc",), "small.mnc"),
        (("small.mnc",), "scan"),
        (("minc2_1_scale.mnc",), "minc2_1_scale.mnc"),
        (("minc2_1_scale.mnc",), "scan"),
        (("phantom_EPI_asc_CLEAR_2_1.PAR", "phantom_EPI_asc_CLEAR_2_1.REC"), "phantom_EPI_asc_CLEAR_2_1.PAR"),
    ],
)
def test_real_volumes_of_other_formats(shared_data: Path, tmp_path: Path, files: tuple[str, ...], called: str) -> None:
    for n in range(3):
        (tmp_path / f"sub-{n:02d}").mkdir()
        for file in files:
            shutil.copy(shared_data / "volumes/nibabel" / file, tmp_path / f"sub-{n:02d}" / (called if len(files) == 1 else file))
    _, _, tree = drafted(tmp_path)
    assert images(tree) == {f"sub-{n:02d}/{called}" for n in range(3)}
    assert set(tree.subjects) == {"00", "01", "02"}


def test_label_maps_without_endings(tmp_path: Path) -> None:
    for n in range(3):
        volume(tmp_path / f"images/c{n}.nii")
        volume(tmp_path / f"masks/c{n}.nii", ids=(1, 2))
        for folder in ("images", "masks"):
            (tmp_path / folder / f"c{n}.nii").rename(tmp_path / folder / f"c{n}")
    _, spec, tree = drafted(tmp_path)
    assert pairs(spec, tree) == {(f"images/c{n}", f"masks/c{n}") for n in range(3)}


@pytest.mark.parametrize("folder", ["", "P1/"])
def test_instances_of_names_without_any_form(tmp_path: Path, folder: str) -> None:
    draw = random.Random(1)
    want = {folder + "".join(draw.choices(string.ascii_letters + string.digits, k=8)) for _ in range(100)}
    for n, path in enumerate(sorted(want)):
        instance(tmp_path / path, "P1", n)
    (tmp_path / folder / "notes.txt").write_text("x")
    found, _, tree = drafted(tmp_path)
    assert found.dicom is not None
    assert images(tree) == want


def test_volumes_of_freesurfer(tmp_path: Path) -> None:
    for n in range(3):
        mgz(tmp_path / f"sub-{n:02d}/mri/orig.mgz")
        mgz(tmp_path / f"sub-{n:02d}/mri/brain_seg.mgz", ids=(2, 41))
    found, spec, tree = drafted(tmp_path)
    assert pairs(spec, tree) == {(f"sub-{n:02d}/mri/orig.mgz", f"sub-{n:02d}/mri/brain_seg.mgz") for n in range(3)}
    assert list(found.labels) == [2, 41]


def test_aseg_is_what_it_is_as_nifti(tmp_path: Path) -> None:
    for n in range(3):
        mgz(tmp_path / f"mgz/sub-{n:02d}/orig.mgz")
        mgz(tmp_path / f"mgz/sub-{n:02d}/aseg.mgz", ids=(2, 41))
        volume(tmp_path / f"nii/sub-{n:02d}/orig.nii.gz")
        volume(tmp_path / f"nii/sub-{n:02d}/aseg.nii.gz", ids=(2, 41))
    _, _, tree = drafted(tmp_path / "mgz")
    _, _, other = drafted(tmp_path / "nii")
    assert {f.path.replace(".mgz", ".nii.gz"): f.role for f in tree.files} == {f.path: f.role for f in other.files}
    assert {f"sub-{n:02d}/orig.mgz" for n in range(3)} <= images(tree)
    for path in images(tree):
        assert open_image(tmp_path / "mgz" / path).shape == (6, 7, 5)


def test_volumes_and_pictures_without_endings(tmp_path: Path) -> None:
    for n in range(3):
        volume(tmp_path / "volumes" / f"v{n}.nii")
        (tmp_path / "volumes" / f"v{n}.nii").rename(tmp_path / "volumes" / f"scan{n}")
        picture(tmp_path / "pictures" / f"p{n}.png", seed=n)
        (tmp_path / "pictures" / f"p{n}.png").rename(tmp_path / "pictures" / f"p{n}")
    for folder, name in (("volumes", "scan"), ("pictures", "p")):
        _, _, tree = drafted(tmp_path / folder)
        assert images(tree) == {f"{name}{n}" for n in range(3)}


def test_texts_and_numbers_without_endings_are_no_images(tmp_path: Path) -> None:
    for n in range(3):
        picture(tmp_path / f"p{n}.png", seed=n)
        (tmp_path / f"notes{n}").write_text("P2 is the second patient, BM is bone marrow, ENVI is none\n")
        (tmp_path / f"k{n}.raw").write_bytes(bytes(4000))
    _, _, tree = drafted(tmp_path)
    assert images(tree) == {"p0.png", "p1.png", "p2.png"}


def test_a_damaged_file_does_not_spoil_a_group(tmp_path: Path) -> None:
    for n in range(9):
        instance(tmp_path / f"IM{n:04d}", "A", n)
    (tmp_path / "IM0000").write_text("not what it is called")
    found, _, tree = drafted(tmp_path)
    assert found.dicom is not None
    assert images(tree) == {f"IM{n:04d}" for n in range(9)}


def test_few_files_are_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of thousands of one shape three, and of many shapes no more than is said; the rest are taken for what those are."""
    made = instance(tmp_path / "first", "A")
    made.save_as(tmp_path / "one")
    looked: list[Path] = []
    inside = formats.family_inside

    def counted(path: Path) -> formats.Family:
        looked.append(path)
        return inside(tmp_path / "one")

    monkeypatch.setattr(content, "family_inside", counted)
    names = [f"IM{n:05d}" for n in range(3000)]
    assert set(told_by_content(tmp_path, names, {})) == set(names)
    assert len(looked) == 3
    looked.clear()
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = [f"q{a}{b}" for a in letters for b in letters]
    assert set(told_by_content(tmp_path, words, {}).values()) == {"dicom"}
    assert len(looked) == content.IN_ALL


def test_names_that_say_what_they_are_are_not_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "family_inside", lambda path: pytest.fail(f"{path} was opened"))
    names = ["a.nii.gz", "b.png", "c.csv", "d.txt", "e.dcm", "README", "t.parquet/image/3/x", "g.dat"]
    assert told_by_content(tmp_path, names, {"g.dat": "g.hdr"}) == {}
    assert UNTOLD.isdisjoint(IMAGES)


def test_nothing_to_look_at(tmp_path: Path) -> None:
    for name in ("empty", "folders/of/none", "zeros"):
        (tmp_path / name).mkdir(parents=True)
    for n in range(3):
        (tmp_path / "zeros" / f"{n}.nii.gz").touch()
    for name, why in (("empty", "no files"), ("folders", "no files"), ("zeros", "3 files"), ("absent", "is no folder")):
        for options in ([], ["--json"]):
            result = CliRunner().invoke(app, ["inspect", str(tmp_path / name), *options])
            assert result.exit_code == 2, name
            assert why in result.output
            assert "slug" not in result.output


def test_a_text_can_be_looked_at(tmp_path: Path) -> None:
    (tmp_path / "README").write_text("nothing here yet")
    assert CliRunner().invoke(app, ["inspect", str(tmp_path)]).exit_code == 1
    assert inspect_folder(tmp_path).n_files == 1


def test_a_png_in_a_name_of_another_ending_stays_a_picture(tmp_path: Path) -> None:
    for n in range(3):
        Image.fromarray(np.arange(64, dtype=np.uint8).reshape(8, 8)).save(tmp_path / f"a{n}.png")
        (tmp_path / f"a{n}.png").rename(tmp_path / f"a{n}.scan")
    _, _, tree = drafted(tmp_path)
    assert images(tree) == {f"a{n}.scan" for n in range(3)}
