"""Which file stands behind every index of the sample: lists in both forms, no list, and files that cannot be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from assets.mds.listing import after_folder, find_listings, read_listing
from assets.mds.targets import Targets, targets_of
from assets.raw import discover
from assets.spec import DatasetSpec
from assets.tables import OBJECTS, frame
from resources.findings import Code
from tests.mds.made import FOLDER, spec_of

THERE = f"/data3/someone/Agent_test/{FOLDER}"
LABELS = {1: "organ", 2: "tumour"}
LAYOUT = {
    "subject": r"[a-z]\d*",
    "series": {"ct": "scans, raw/{subject}  1.nii.gz"},
    "labels": {"seg": "masks/{subject}.nii.gz"},
    "ignore": {"README": "text"},
}


def touch(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"x")


def make(root: Path, *subjects: str) -> None:
    for subject in subjects:
        touch(root, f"scans, raw/{subject}  1.nii.gz", f"masks/{subject}.nii.gz")


def targets(spec: DatasetSpec, root: Path, refused: dict[str, str] | None = None) -> Targets:
    assert spec.mds is not None
    return targets_of(spec, spec.mds, discover(spec, root), read_listing(spec.mds, root), refused or {})


def spec(layout: dict[str, Any] = LAYOUT, **mds: Any) -> DatasetSpec:
    return spec_of(layout, mds, labels=LABELS)


def found(of: Targets) -> list[tuple[int, str, str, str]]:
    return [(t.index, t.subject, t.role, t.source) for t in of.usable]


@pytest.mark.parametrize("colon", ["", ":", " :"])
def test_lists_name_targets_in_both_forms_with_blanks_and_commas_kept(tmp_path: Path, colon: str) -> None:
    make(tmp_path, "a", "b1")
    lines = [f"7{colon} {THERE}/data/scans, raw/b1  1.nii.gz", "", f"0{colon} {THERE}/data/masks/a.nii.gz\r"]
    (tmp_path / "random.txt").write_text("\n".join(lines), newline="")
    sample = targets(spec(), tmp_path)
    assert found(sample) == [
        (0, "a", "labels", "data/masks/a.nii.gz"),
        (7, "b1", "series", "data/scans, raw/b1  1.nii.gz"),
    ]
    assert (sample.listed, sample.findings, sample.listing) == (2, (), "random.txt")
    entry = next(f for f in discover(spec(), tmp_path).files if f.path == "random.txt")
    assert (entry.state, entry.reason) == ("ignored", "the targets of MDS-Bench are taken from it")


def test_the_list_may_lie_beside_a_raw_folder_that_is_the_data_of_a_dataset(tmp_path: Path) -> None:
    make(tmp_path / "copy" / "data", "a")
    (tmp_path / "copy" / "random.txt").write_text(f"0 {THERE}/data/masks/a.nii.gz\n")
    assert found(targets(spec(), tmp_path / "copy" / "data")) == [(0, "a", "labels", "data/masks/a.nii.gz")]
    (tmp_path / "made_up").symlink_to(tmp_path / "copy" / "data")
    assert found(targets(spec(), tmp_path / "made_up")) == [(0, "a", "labels", "data/masks/a.nii.gz")]


def test_a_list_of_something_else_beside_the_raw_folder_is_not_taken(tmp_path: Path) -> None:
    make(tmp_path / "made_up", "a")
    (tmp_path / "random.txt").write_text(f"0 {THERE}/data/masks/a.nii.gz\n")
    mds = spec().mds
    assert mds is not None
    assert find_listings(mds, tmp_path / "made_up") == ()


def test_the_list_may_lie_with_the_ground_truth_and_that_of_the_root_goes_first(tmp_path: Path) -> None:
    make(tmp_path, "a", "b")
    of_a, of_b = (f"0 {THERE}/data/masks/{name}.nii.gz\n" for name in "ab")
    touch(tmp_path, "VLM/random.txt")
    (tmp_path / "VLM/random.txt").write_text(of_b)
    alone = targets(spec(), tmp_path)
    assert (found(alone), alone.findings, alone.listing) == (
        [(0, "b", "labels", "data/masks/b.nii.gz")], (), "VLM/random.txt",
    )  # fmt: skip
    (tmp_path / "random.txt").write_text(of_b.replace(" ", ": ", 1))
    same = targets(spec(), tmp_path)
    assert (found(same), same.findings, same.listing) == (found(alone), (), "random.txt")
    (tmp_path / "random.txt").write_text(of_a)
    both = targets(spec(), tmp_path)
    assert found(both) == [(0, "a", "labels", "data/masks/a.nii.gz")]
    (said,) = both.findings
    assert (said.code, said.file) == (Code.NO_RECORD, "VLM/random.txt")
    assert said.detail == (
        "it names other targets than random.txt, which is taken: target 0 is data/masks/b.nii.gz, there it is data/masks/a.nii.gz"
    )


def test_records_are_out_of_date_when_a_second_list_changes(tmp_path: Path) -> None:
    make(tmp_path, "a")
    touch(tmp_path, "VLM/random.txt")
    mds = spec().mds
    assert mds is not None
    (tmp_path / "random.txt").write_text(f"0 {THERE}/data/masks/a.nii.gz\n")
    before = read_listing(mds, tmp_path)
    (tmp_path / "VLM/random.txt").write_text(f"1 {THERE}/data/masks/a.nii.gz\n")
    after = read_listing(mds, tmp_path)
    assert before.paths == after.paths
    assert before.content != after.content


def test_a_raw_folder_that_holds_the_copy_has_the_prefix_in_its_paths(tmp_path: Path) -> None:
    layout = {**LAYOUT, "series": {"ct": "data/data/{subject}.mhd"}, "labels": {"seg": "data/masks/{subject}.mhd"}}
    touch(tmp_path, "data/data/a.mhd", "data/masks/a.mhd")
    (tmp_path / "random.txt").write_text(f"0 {THERE}/data/data/a.mhd\n")
    assert found(targets(spec(layout), tmp_path)) == [(0, "a", "series", "data/data/a.mhd")]


def test_without_a_list_targets_are_the_first_files_depth_first(tmp_path: Path) -> None:
    layout = {**LAYOUT, "series": {"ct": "**/{subject}.nii.gz"}, "labels": {}}
    names = ["x/a.nii.gz", "x y/a1.nii.gz", "x/b/a2.nii.gz", "10/a3.nii.gz", "9/a4.nii.gz", "x/a10.nii.gz"]
    touch(tmp_path, *names)
    plain = spec_of(layout, {"targets": 5, "classes": ["vessel"]})
    sources = [t.source for t in targets(plain, tmp_path).usable]
    assert sources == [f"data/{n}" for n in ("10/a3.nii.gz", "9/a4.nii.gz", "x/a.nii.gz", "x/a10.nii.gz", "x/b/a2.nii.gz")]


def test_without_a_list_the_first_series_is_taken_or_what_the_spec_names(tmp_path: Path) -> None:
    make(tmp_path, "a", "b")
    assert [t.role for t in targets(spec(), tmp_path).usable] == ["series", "series"]
    assert [t.name for t in targets(spec(target="seg"), tmp_path).usable] == ["seg", "seg"]
    both = targets(spec(target=["seg", "ct"], targets=3), tmp_path)
    assert [(t.name, t.subject) for t in both.usable] == [("seg", "a"), ("seg", "b"), ("ct", "a")]


def test_what_cannot_be_used_is_told_and_moves_no_index(tmp_path: Path) -> None:
    make(tmp_path, "a", "b", "c")
    touch(tmp_path, "README", "stray.bin")
    paths = ["masks/c.nii.gz", "masks/gone.nii.gz", "README", "stray.bin", "masks/b.nii.gz", "masks/a.nii.gz"]
    lines = [f"{n} {THERE}/data/{path}" for n, path in enumerate(paths)]
    lines += ["6 /somewhere/else/masks/a.nii.gz", f"5 {THERE}/data/masks/c.nii.gz", "no target"]
    (tmp_path / "random.txt").write_text("\n".join(lines))
    sample = targets(spec(), tmp_path, {"b": "quarantined, [truncated] cut short"})
    assert [(t.index, t.subject) for t in sample.usable] == [(0, "c"), (5, "a")]
    assert sample.listed == 7
    assert {f.code for f in sample.findings} == {Code.NO_RECORD}
    told = "\n".join(f"{f.file}: {f.detail}" for f in sample.findings)
    for text in (
        "gives index 5 again", "line 9 is 'no target'", "data/masks/gone.nii.gz: target 1 has no record: there is no such file",
        "target 2 has no record: the file is ignored: text", "target 3 has no record: the file is unclaimed",
        "target 4 has no record: nothing of subject b is published: quarantined, [truncated] cut short",
        f"target 6 has no record: its path does not lead through /{FOLDER}/",
    ):  # fmt: skip
        assert text in told
    assert len(sample.findings) == 7


def test_a_quarantined_subject_keeps_its_place_without_a_list_too(tmp_path: Path) -> None:
    make(tmp_path, "a", "b", "c")
    sample = targets(spec(targets=2), tmp_path, {"a": "quarantined, damaged"})
    assert [(t.index, t.subject) for t in sample.usable] == [(1, "b")]
    assert sample.listed == 2


@pytest.mark.parametrize("content", [b"\xff\xfe\x00bad", b"not one line of it is a target\n"])
def test_a_list_that_says_nothing_is_told_and_the_first_files_are_taken(tmp_path: Path, content: bytes) -> None:
    make(tmp_path, "a", "b")
    (tmp_path / "random.txt").write_bytes(content)
    sample = targets(spec(), tmp_path)
    assert [t.index for t in sample.usable] == [0, 1]
    assert "the first files in order of their paths are taken" in sample.findings[-1].detail
    assert sample.listing == ""


def test_one_mask_of_many_is_a_target_and_says_which(tmp_path: Path) -> None:
    layout = {**LAYOUT, "series": {"ct": "{subject}/ct.nrrd"}, "labels": {"oars": {"masks": "{subject}/{label}.seg.nrrd"}}}
    touch(tmp_path, "a/ct.nrrd", "a/organ.seg.nrrd", "a/tumour.seg.nrrd")
    (tmp_path / "random.txt").write_text(f"3: {THERE}/data/a/tumour.seg.nrrd\n")
    (target,) = targets(spec(layout), tmp_path).usable
    assert (target.index, target.name, target.label_id) == (3, "oars", 2)


def test_a_public_copy_laid_out_otherwise_is_matched_by_its_own_paths(tmp_path: Path) -> None:
    make(tmp_path, "a", "b")
    (tmp_path / "random.txt").write_text(f"0 {THERE}/data/imagesTr/b.nii\n1 {THERE}/data/imagesTs/z.nii\n")
    sample = targets(spec(source="imagesTr/{subject}.nii"), tmp_path)
    assert found(sample) == [(0, "b", "series", "data/imagesTr/b.nii")]
    assert sample.usable[0].path == "scans, raw/b  1.nii.gz"
    assert [f.file for f in sample.findings] == ["data/imagesTs/z.nii"]


def test_a_table_that_is_listed_again_and_again_stands_for_its_rows_in_turn(tmp_path: Path) -> None:
    names = ["c1.png", "x.txt", "a1.png", "b1.png"]
    pl.DataFrame({"image": [{"bytes": b"x", "path": name} for name in names]}).write_parquet(tmp_path / "t.parquet")
    layout = {
        "subject": r"[a-z]\d", "rows": {"t.parquet": "image"}, "series": {"ct": "t.parquet/image/*/{subject}.png"},
        "ignore": {"t.parquet/image/*/*.txt": "text"},
    }  # fmt: skip
    table = "data/t.parquet"
    assert found(targets(spec(layout), tmp_path)) == [(n, s, "series", table) for n, s in enumerate(["c1", "a1", "b1"])]
    (tmp_path / "random.txt").write_text("".join(f"{n} {THERE}/{table}\n" for n in (0, 1, 2, 5, 9)))
    sample = targets(spec(layout), tmp_path)
    assert found(sample) == [(0, "c1", "series", table), (2, "a1", "series", table), (5, "b1", "series", table)]
    assert [f.detail.partition(":")[0] for f in sample.findings] == ["target 1 has no record", "target 9 has no record"]
    assert sample.usable[0].path == "t.parquet/image/0/c1.png"


def test_a_list_that_names_a_folder_means_the_first_target_in_it(tmp_path: Path) -> None:
    layout = {**LAYOUT, "scan": r"\d+", "series": {"ct": "people/{subject}/{scan}.nii.gz"}, "labels": {}}
    touch(tmp_path, *(f"people/{name}.nii.gz" for name in ("a/2", "a/10", "a1/1")))
    (tmp_path / "random.txt").write_text(f"0 {THERE}/data/people/a1\n1 {THERE}/data/people/a/\n2 {THERE}/data/people/b\n")
    sample = targets(spec(layout), tmp_path)
    assert found(sample) == [(0, "a1", "series", "data/people/a1"), (1, "a", "series", "data/people/a")]
    assert [t.path for t in sample.usable] == ["people/a1/1.nii.gz", "people/a/10.nii.gz"]
    assert [f.detail for f in sample.findings] == ["target 2 has no record: there is no such file in the raw folder"]


def test_a_report_stands_for_what_it_is_about(tmp_path: Path) -> None:
    layout = {
        **LAYOUT,
        "fields": {"nodule": r"\d+"},
        "series": {"ct": "{subject}/drawing of {nodule} - x.nii.gz"},
        "labels": {},
        "ignore": {"*/*.sr": "reports"},
    }
    touch(tmp_path, "a/drawing of 1 - x.nii.gz", "b/drawing of 11 - x.nii.gz", "a/about 1.sr", "b/about 1.sr", "b/notes.sr")
    names = ["a/about 1.sr", "b/about 1.sr", "b/notes.sr"]
    (tmp_path / "random.txt").write_text("".join(f"{n} {THERE}/data/{name}\n" for n, name in enumerate(names)))
    rule = {"{subject}/about {nodule}.sr": "{subject}/drawing of {nodule} - *.nii.gz"}
    sample = targets(spec_of(layout, {"instead": rule, "classes": ["x"]}), tmp_path)
    assert found(sample) == [(0, "a", "series", "data/a/about 1.sr")]
    assert sample.usable[0].path == "a/about 1.sr"
    assert [f.file for f in sample.findings] == ["data/b/about 1.sr", "data/b/notes.sr"]
    assert all("the file is ignored: reports" in f.detail for f in sample.findings)
    several = spec_of({**layout, "subject": "[a-z]"}, {"instead": {"{subject}/about *.sr": "*/drawing of *"}, "classes": ["x"]})
    assert "which of 2 files it stands for" in targets(several, tmp_path).findings[0].detail


def test_a_report_that_marks_objects_stands_for_the_image_it_marks(tmp_path: Path) -> None:
    layout = {**LAYOUT, "series": {"ct": "{subject}.png"}, "labels": {}, "ignore": {"reports/*": "boxes"}}
    touch(tmp_path, "a.png", "b.png", "reports/r, 1.sr")
    (tmp_path / "random.txt").write_text(f"0 {THERE}/data/reports/r, 1.sr\n")
    row = {"dataset": "made_up", "subject": "b", "scan": "0", "series": "ct", "source": "reports/r, 1.sr, measurement 2"}
    objects = frame(OBJECTS, [dict.fromkeys(OBJECTS) | row])
    plain = spec_of(layout, {"classes": ["x"]})
    assert plain.mds is not None
    sample = targets_of(plain, plain.mds, discover(plain, tmp_path), read_listing(plain.mds, tmp_path), {}, objects)
    assert found(sample) == [(0, "b", "series", "data/reports/r, 1.sr")]


@pytest.mark.parametrize(
    ("path", "after"),
    [
        ("/data4/chenxin/Med-Agent/g/BACH:_x/data/a  b, (1).tif", "data/a  b, (1).tif"),
        ("C:\\x\\g\\BACH:_x\\data\\a.tif", "data/a.tif"),
        ("data/a.tif", "data/a.tif"),
        ("/g/BACH:_x/data/g/BACH:_x/a.tif", "data/g/BACH:_x/a.tif"),
    ],
)
def test_paths_are_cut_behind_group_and_folder(path: str, after: str) -> None:
    assert after_folder(path, "g/BACH:_x") == after
