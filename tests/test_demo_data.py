"""The demo's raw data and the miniature datasets of the tests."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest

from assets import demo
from assets.demo import MARKER, DemoSummary, RawDataPresentError, demo_subject, make_kits23
from assets.raw import discover
from assets.spec import load_catalog
from resources import durable
from resources.findings import Code
from resources.geometry import obliquity_deg, spacing_mm
from resources.phantoms import draw_labels
from tests.data_makers import kits23, msd_hippocampus


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> DemoSummary:
    return make_kits23(tmp_path_factory.mktemp("demo") / "raw" / "kits23")


def _bytes(root: Path) -> dict[str, str]:
    files = [path for path in root.rglob("*") if path.is_file()]
    return {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_the_demo_has_the_layout_of_the_real_set(made: DemoSummary) -> None:
    assert made.made
    assert made.subjects == tuple(f"case_{n:05d}" for n in range(8))
    tree = discover(load_catalog()["kits23"], made.raw_root)
    assert tuple(tree.subjects) == made.subjects
    assert not [f for subject in tree.subjects.values() for f in subject.findings]
    assert [f.code for f in tree.findings] == [Code.SYNTHETIC]
    ignored = {f.path: f.reason for f in tree.files if f.state == "ignored"}
    assert ignored["dataset/case_00000/._imaging.nii.gz"] == "macOS resource fork"
    assert "dataset/case_00000/instances/kidney_instance-1_annotation-1.nii.gz" in ignored
    records = json.loads((made.raw_root / "dataset" / "kits23.json").read_text())
    assert [record["case_id"] for record in records] == list(made.subjects)


def test_the_demo_says_that_it_is_synthetic_and_is_small(made: DemoSummary) -> None:
    marker = json.loads((made.raw_root / MARKER).read_text())
    assert marker["synthetic"] is True
    assert "phantoms" in marker["note"]
    sizes = [path.stat().st_size for path in made.raw_root.rglob("*") if path.is_file()]
    assert (made.files, made.size_bytes) == (len(sizes), sum(sizes))
    assert made.size_bytes < 40e6
    image = nib.load(made.raw_root / "dataset" / "case_00001" / "imaging.nii.gz")
    assert b"not a patient" in image.header["descrip"].item()


def test_images_and_label_maps_share_grids_of_several_kinds(made: DemoSummary) -> None:
    codes, oblique, thick = set(), [], set()
    for name in made.subjects:
        image = nib.load(made.raw_root / "dataset" / name / "imaging.nii.gz")
        labels = nib.load(made.raw_root / "dataset" / name / "segmentation.nii.gz")
        assert image.shape == labels.shape
        assert np.array_equal(image.affine, labels.affine)
        assert (image.get_data_dtype(), labels.get_data_dtype()) == (np.int16, np.uint8)
        codes.add("".join(nib.aff2axcodes(image.affine)))
        thick.add(round(float(max(spacing_mm(image.affine))), 2))
        oblique += [obliquity_deg(image.affine)] if obliquity_deg(image.affine) > 1 else []
    assert codes == {"IPL", "LPS", "RAS", "ASR"}
    assert oblique == pytest.approx([12], abs=0.01)
    assert len(thick) >= 5


def test_the_label_maps_hold_kidneys_tumours_and_cysts_clear_of_the_border(made: DemoSummary) -> None:
    tumours = []
    for number, name in enumerate(made.subjects):
        subject = demo_subject(number, 2023)
        stored = nib.as_closest_canonical(nib.load(made.raw_root / "dataset" / name / "segmentation.nii.gz"))
        labels = np.asarray(stored.dataobj)
        assert np.array_equal(labels, draw_labels(subject.shapes, subject.grid))
        assert np.abs(stored.affine - subject.grid.affine).max() < 1e-4
        for axis in range(3):
            assert not labels.take([0, -1], axis).any()
        present = set(np.unique(labels).tolist())
        drawn = {shape.label for shape in subject.shapes if shape.label is not None}
        assert present == drawn | {0}
        tumours.append(sum(shape.label == 2 for shape in subject.shapes))
    assert tumours == [1, 1, 2, 0, 2, 1, 2, 1]


def test_a_lesion_fills_the_volume_of_its_closed_form(made: DemoSummary) -> None:
    for number in range(8):
        subject = demo_subject(number, 2023)
        labels = draw_labels(subject.shapes, subject.grid)
        for label in (2, 3):
            volume = sum(shape.volume_mm3() for shape in subject.shapes if shape.label == label)
            assert (labels == label).sum() * subject.grid.voxel_mm3() == pytest.approx(volume, rel=0.04)


def test_the_picture_has_the_tissues_of_a_ct(made: DemoSummary) -> None:
    subject = demo_subject(0, 2023)
    folder = made.raw_root / "dataset" / "case_00000"
    image = np.asarray(nib.as_closest_canonical(nib.load(folder / "imaging.nii.gz")).dataobj).astype(float)
    labels = draw_labels(subject.shapes, subject.grid)
    assert image[:3].mean() == pytest.approx(-1000, abs=3)
    assert 140 < np.median(image[labels == 1]) < 200
    assert 40 < np.median(image[labels == 2]) < 110
    assert np.median(image[labels == 3]) == pytest.approx(8, abs=8)
    assert 0.1 < ((image > -150) & (image < -60)).mean() < 0.5


def test_the_damaged_file_cannot_be_read_to_its_end_and_all_others_can(made: DemoSummary) -> None:
    assert made.damaged == ("case_00007",)
    for name in made.subjects:
        path = made.raw_root / "dataset" / name / "imaging.nii.gz"
        if name in made.damaged:
            with pytest.raises(EOFError):
                gzip.decompress(path.read_bytes())
        else:
            assert len(gzip.decompress(path.read_bytes())) > 2_000_000


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(made: DemoSummary, tmp_path: Path) -> None:
    again, other = make_kits23(tmp_path / "again", 4), make_kits23(tmp_path / "other", 4, seed=1)
    first, second, third = _bytes(made.raw_root), _bytes(again.raw_root), _bytes(other.raw_root)
    whole = [path for path in second if path.startswith("dataset/") and "case_00003" not in path and "json" not in path]
    assert len(whole) == 8
    assert all(first[path] == second[path] for path in whole)
    assert third["dataset/case_00000/imaging.nii.gz"] != first["dataset/case_00000/imaging.nii.gz"]


def test_an_earlier_demo_is_left_untouched(made: DemoSummary) -> None:
    before = {path: path.stat().st_mtime_ns for path in made.raw_root.rglob("*")}
    again = make_kits23(made.raw_root, subjects=5, seed=9)
    assert not again.made
    assert "already holds an earlier demo" in str(again)
    assert (again.subjects, again.damaged, again.size_bytes) == (made.subjects, made.damaged, made.size_bytes)
    assert {path: path.stat().st_mtime_ns for path in made.raw_root.rglob("*")} == before


def test_real_data_are_refused_and_kept(tmp_path: Path) -> None:
    kits23(tmp_path / "raw", n=1)
    before = _bytes(tmp_path)
    with pytest.raises(RawDataPresentError, match=r"already holds data that no demo made \(dataset\).*MEDFOUNDRY_DATA"):
        make_kits23(tmp_path / "raw")
    assert _bytes(tmp_path) == before


def _remove(root: Path) -> str:
    (root / "dataset" / "case_00001" / "segmentation.nii.gz").unlink()
    return "case_00001/segmentation.nii.gz is missing"


def _mix(root: Path) -> str:
    kits23(root, n=1, first=12)
    return "case_00012/imaging.nii.gz is not the demo's"


def _cut(root: Path) -> str:
    with (root / "dataset" / "case_00000" / "imaging.nii.gz").open("r+b") as file:
        file.truncate(100)
    return "case_00000/imaging.nii.gz has 100 bytes instead of"


def _foreign_marker(root: Path) -> str:
    (root / MARKER).write_text('{"synthetic": true}')
    return "was not written by this demo"


@pytest.mark.parametrize("change", [_remove, _mix, _cut, _foreign_marker])
def test_a_demo_that_was_changed_is_refused(tmp_path: Path, tiny: None, change: object) -> None:
    make_kits23(tmp_path / "raw", 4)
    assert callable(change)
    expected = change(tmp_path / "raw")
    before = _bytes(tmp_path)
    with pytest.raises(RawDataPresentError, match=expected):
        make_kits23(tmp_path / "raw", 4)
    assert _bytes(tmp_path) == before


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Subjects of few voxels, where only the files' fate is looked at."""
    plans = [demo._Plan(p.orientation, (24, 22, 20), (14.0, 14.0, 12.0), p.lesions) for p in demo._PLANS]
    monkeypatch.setattr(demo, "_PLANS", tuple(plans))


def test_what_systems_leave_does_not_make_a_demo_another(tmp_path: Path, tiny: None) -> None:
    make_kits23(tmp_path / "raw", 4)
    (tmp_path / "raw" / ".DS_Store").write_bytes(b"x")
    assert not make_kits23(tmp_path / "raw", 4).made


def test_an_empty_folder_and_a_link_to_one_are_filled(tmp_path: Path, tiny: None) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    assert make_kits23(tmp_path / "link", 4).made
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "disk" / MARKER).is_file()


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "raw").write_text("")
    with pytest.raises(RawDataPresentError, match="is a file"):
        make_kits23(tmp_path / "raw")


def test_too_few_subjects_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 4"):
        make_kits23(tmp_path / "raw", 3)


def test_a_full_disk_leaves_nothing(tmp_path: Path, tiny: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(operation: str, path: Path) -> None:
        if operation != "make":
            raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(durable, "observe", full)
    with pytest.raises(OSError, match="No space"):
        make_kits23(tmp_path / "raw", 4)
    assert not list(tmp_path.iterdir())


def test_what_a_killed_demo_left_is_swept_and_a_running_ones_is_not(tmp_path: Path, tiny: None) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    (tmp_path / f".raw.demo-{ended.pid}" / "dataset").mkdir(parents=True)
    running = subprocess.Popen(["sleep", "60"])
    try:
        (tmp_path / f".raw.demo-{running.pid}").mkdir()
        make_kits23(tmp_path / "raw", 4)
    finally:
        running.kill()
        running.wait()
    assert sorted(path.name for path in tmp_path.iterdir()) == [f".raw.demo-{running.pid}", "raw"]


def test_two_demos_at_once_leave_one(tmp_path: Path, tiny: None, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "raw"

    def other_is_faster(operation: str, path: Path) -> None:
        if operation == "rename" and path == root:
            monkeypatch.setattr(durable, "observe", lambda _operation, _path: None)
            monkeypatch.setattr("os.getpid", lambda: 1)
            assert make_kits23(root, 5).made

    monkeypatch.setattr(durable, "observe", other_is_faster)
    late = make_kits23(root, 4)
    assert not late.made
    assert len(late.subjects) == 5
    assert [path.name for path in tmp_path.iterdir()] == ["raw"]


def test_the_miniatures_match_their_specs(tmp_path: Path) -> None:
    catalog = load_catalog()
    kidneys = kits23(tmp_path / "k", n=2, orientations=("IPL", "LAS"), synthetic=True)
    kidneys |= kits23(tmp_path / "k", n=1, first=5)
    brains = msd_hippocampus(tmp_path / "h", n=3)
    assert list(kidneys) == ["case_00000", "case_00001", "case_00005"]
    for slug, root, made in (("kits23", "k", kidneys), ("msd_hippocampus", "h", brains)):
        tree = discover(catalog[slug], tmp_path / root)
        assert list(tree.subjects) == list(made)
        assert [f.code for f in tree.findings] == ([Code.SYNTHETIC] if slug == "kits23" else [])
        for scan in (subject.only_scan for subject in made.values()):
            ((file,),) = scan.labels.values()
            stored = nib.load(file)
            assert "".join(nib.aff2axcodes(stored.affine)) == scan.orientation
            labels = np.asarray(nib.as_closest_canonical(stored).dataobj)
            assert np.array_equal(labels, scan.label_map())
            assert [nib.load(image).shape for image in scan.series.values()] == [stored.shape]


def test_the_lesions_of_the_miniatures_are_whole(tmp_path: Path) -> None:
    made = [*kits23(tmp_path / "k", n=4).values(), *msd_hippocampus(tmp_path / "h", n=4).values()]
    for subject in made:
        scan = subject.only_scan
        labels = scan.label_map()
        for label in (2, 3) if subject.subject.startswith("case") else (1, 2):
            (shape,) = scan.of_label(label)
            filled = (labels == label).sum() * scan.grid.voxel_mm3()
            assert filled == pytest.approx(shape.volume_mm3(), rel=0.05)
        for axis in range(3):
            assert not np.isin(labels.take([0, -1], axis), (2, 3)).any()
