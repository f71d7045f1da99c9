from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from assets.classes import classes_table
from assets.official_split import official_split
from resources.findings import Code, Severity
from tests.data_makers.acdc import LEFT, MUSCLE, RIGHT, UNSCALED
from tests.datasets.built import Miniature, build, check_built, check_found, check_label, make

DATABASE = "ACDC/database"


def folder(subject: str) -> str:
    return f"{DATABASE}/{'training' if int(subject[-3:]) <= 100 else 'testing'}/{subject}"


def find(miniature: Miniature) -> None:
    films = {f"{folder(s)}/{s}_4d.nii.gz": "two of its frames" for s in miniature.made}
    tables = [f"{folder(s)}/Info.cfg" for s in miniature.made]
    check_found(miniature, films | {f"{DATABASE}/MANDATORY_CITATION.md": "readers"}, also_used=tables)


def test_the_dataset_is_found_as_made(tmp_path: Path) -> None:
    find(make("acdc", tmp_path))


def test_frames_are_called_by_their_phase_whatever_their_numbers(tmp_path: Path) -> None:
    miniature = make("acdc", tmp_path, n=4)
    find(miniature)
    ed, es = miniature.tree().subjects["patient090"].scans
    assert (ed.scan, ed.series["cine"].rsplit("_", 1)[1]) == ("ed", "frame11.nii.gz")
    assert (es.scan, es.series["cine"].rsplit("_", 1)[1]) == ("es", "frame04.nii.gz")


def test_it_is_built_as_drawn(tmp_path: Path) -> None:
    miniature = make("acdc", tmp_path)
    built = build(miniature.spec, tmp_path)
    check_built(built, miniature.made)
    for subject, made in miniature.made.items():
        assert [scan.scan for scan in made.scans] == ["ed", "es"]
        for scan in made.scans:
            check_label(built, subject, scan, RIGHT)
            check_label(built, subject, scan, LEFT)
            check_label(built, subject, scan, MUSCLE, holes=[LEFT])


def test_an_sform_without_scale_is_not_believed(tmp_path: Path) -> None:
    built = build(make("acdc", tmp_path).spec, tmp_path)
    assert {s for s in built.manifests if Code.FORMS_DISAGREE in built.codes(s)} == {UNSCALED}
    for row in built.rows("volumes", UNSCALED).to_dicts():
        assert row["spacing_mm"] == pytest.approx([1.4, 1.4, 8.0])


def test_the_folders_are_the_official_split(tmp_path: Path) -> None:
    miniature = make("acdc", tmp_path)
    files = {name: [f.path for f in raw.files] for name, raw in miniature.tree().subjects.items()}
    split = official_split(miniature.spec, miniature.raw_root, files)
    assert split == {"patient001": "train", "patient002": "train", "patient101": "test"}


def test_the_diagnosis_of_a_patient_is_the_class_of_its_frames(tmp_path: Path) -> None:
    miniature = make("acdc", tmp_path, n=4)
    lost = miniature.raw_root / folder("patient090") / "Info.cfg"
    lost.write_text(lost.read_text(encoding="utf-8").replace("Group: HCM", "Group: none"), encoding="utf-8")
    table, findings = classes_table(miniature.spec, miniature.tree(), set(miniature.made), lambda _path, _keyword: None)
    assert {(row["subject"], row["scan"]): row["class"] for row in table.to_dicts()} == {
        (subject, scan): name
        for subject, name in (
            ("patient001", "dilated cardiomyopathy"),
            ("patient002", "normal"),
            ("patient101", "abnormal right ventricle"),
        )
        for scan in ("ed", "es")
    }
    assert {(f.code, Path(f.file).parent.name) for f in findings} == {(Code.CLASS_UNKNOWN, "patient090")}
    assert all("the class is 'none'" in f.detail and "Info.cfg, Group" in f.detail for f in findings)


def rewrite(info: Path, **lines: str) -> None:
    """Give keys of an Info.cfg other values."""
    text = info.read_text(encoding="utf-8")
    kept = [line for line in text.splitlines() if line.partition(":")[0] not in lines]
    info.write_text("\n".join([*kept, *(f"{key}: {value}" for key, value in lines.items())]), encoding="utf-8")


def given_twice(tmp_path: Path) -> Miniature:
    """A patient of the testing part lies under the training part too, with other phases and another diagnosis."""
    miniature = make("acdc", tmp_path)
    shutil.copytree(miniature.raw_root / DATABASE / "testing/patient101", miniature.raw_root / DATABASE / "training/patient101")
    rewrite(miniature.raw_root / DATABASE / "training/patient101/Info.cfg", ED="14", ES="1", Group="NOR")
    return miniature


def test_nothing_is_read_of_a_copy_that_is_superseded(tmp_path: Path) -> None:
    miniature = given_twice(tmp_path)
    tree = miniature.tree()
    ed, es = tree.subjects["patient101"].scans
    assert (ed.scan, ed.series["cine"]) == ("ed", f"{DATABASE}/testing/patient101/patient101_frame01.nii.gz")
    assert (es.scan, es.series["cine"]) == ("es", f"{DATABASE}/testing/patient101/patient101_frame14.nii.gz")
    assert {f.code for f in tree.subjects["patient101"].findings} == {Code.SUPERSEDED}
    table, findings = classes_table(miniature.spec, tree, {"patient101"}, lambda _path, _keyword: None)
    assert table["class"].to_list() == ["abnormal right ventricle"] * 2
    assert "testing/patient101/Info.cfg" in table["source"][0]
    assert findings == []


def test_the_ledger_says_of_every_file_of_a_superseded_copy_why_it_does_not_count(tmp_path: Path) -> None:
    copied = {f.path: f for f in given_twice(tmp_path).tree().files if "/training/patient101/" in f.path}
    assert {f.state for f in copied.values()} == {"ignored"}
    assert {Path(path).name for path, f in copied.items() if f.reason.startswith("superseded: ")} == {
        "Info.cfg",
        *(f"patient101_frame{frame}{end}.nii.gz" for frame in ("01", "14") for end in ("", "_gt")),
    }


def test_a_superseded_copy_is_in_no_official_split(tmp_path: Path) -> None:
    miniature = given_twice(tmp_path)
    files = {name: [f.path for f in raw.files] for name, raw in miniature.tree().subjects.items()}
    assert official_split(miniature.spec, miniature.raw_root, files)["patient101"] == "test"


def test_a_superseded_copy_that_cannot_be_read_does_no_harm(tmp_path: Path) -> None:
    miniature = given_twice(tmp_path)
    copy = miniature.raw_root / DATABASE / "training/patient101"
    (copy / "Info.cfg").write_bytes(b"\xff\xfe\xfd")
    (copy / "patient101_frame01.nii.gz").unlink()
    (copy / "patient101_frame01.nii.gz").symlink_to("nowhere")
    tree = miniature.tree()
    assert {f.code for f in tree.subjects["patient101"].findings} == {Code.SUPERSEDED}
    assert [scan.scan for scan in tree.subjects["patient101"].scans] == ["ed", "es"]
    assert classes_table(miniature.spec, tree, {"patient101"}, lambda _path, _keyword: None)[1] == []


def test_a_stray_info_under_the_other_part_names_nothing(tmp_path: Path) -> None:
    miniature = given_twice(tmp_path)
    for image in (miniature.raw_root / DATABASE / "training/patient101").glob("*.nii.gz"):
        image.unlink()
    tree = miniature.tree()
    assert [scan.series["cine"][-10:-7] for scan in tree.subjects["patient101"].scans] == ["e01", "e14"]
    assert [scan.scan for scan in tree.subjects["patient101"].scans] == ["ed", "es"]
    (stray,) = [f for f in tree.files if f.path.endswith("training/patient101/Info.cfg")]
    assert stray.state == "ignored"
    assert stray.reason.startswith("superseded: ")


def test_a_frame_that_is_named_and_not_there_is_a_warning_with_both(tmp_path: Path) -> None:
    miniature = make("acdc", tmp_path)
    rewrite(miniature.raw_root / folder("patient002") / "Info.cfg", ED="5")
    subject = miniature.tree().subjects["patient002"]
    (found,) = subject.findings
    assert (found.code, found.severity) == (Code.SCAN_NAME_ASTRAY, Severity.WARNING)
    assert found.file == f"{folder('patient002')}/Info.cfg"
    assert all(word in found.detail for word in ("ED: 5", "frame05", "frame01, frame09", "called ed"))
    assert [scan.scan for scan in subject.scans] == ["es", "frame01"]


def test_one_frame_that_is_named_for_both_phases_is_a_warning(tmp_path: Path) -> None:
    miniature = make("acdc", tmp_path)
    rewrite(miniature.raw_root / folder("patient002") / "Info.cfg", ES="1")
    subject = miniature.tree().subjects["patient002"]
    assert [(f.code, "frame01, which is called ed already" in f.detail) for f in subject.findings] == [
        (Code.SCAN_NAME_ASTRAY, True)
    ]
    assert [scan.scan for scan in subject.scans] == ["ed", "frame09"]


def test_of_two_frames_for_one_phase_the_part_that_counts_is_believed(tmp_path: Path) -> None:
    miniature = given_twice(tmp_path)
    copy = miniature.raw_root / DATABASE / "training/patient101"
    for end in ("", "_gt"):
        (copy / f"patient101_frame14{end}.nii.gz").rename(copy / f"patient101_frame11{end}.nii.gz")
    rewrite(copy / "Info.cfg", ED="1", ES="11")
    subject = miniature.tree().subjects["patient101"]
    assert [scan.scan for scan in subject.scans] == ["ed", "es", "frame11"]
    said = [f.detail for f in subject.findings if f.code is Code.SCAN_NAME_ASTRAY]
    assert len(said) == 2
    assert "frame01, which is taken from testing, not from training" in said[0]
    assert "frame11, but frame14 is called es already" in said[1]
    table, _ = classes_table(miniature.spec, miniature.tree(), {"patient101"}, lambda _path, _keyword: None)
    assert dict(table.select("scan", "class").iter_rows()) == {
        "ed": "abnormal right ventricle",
        "es": "abnormal right ventricle",
        "frame11": "normal",
    }
