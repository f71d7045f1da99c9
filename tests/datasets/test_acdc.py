from __future__ import annotations

from pathlib import Path

import pytest

from assets.classes import classes_table
from assets.official_split import official_split
from resources.findings import Code
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
