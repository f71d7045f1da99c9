"""Whole DICOM series in a spec: what is chosen, what is said of the rest, and what need not be read again."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest

from assets.dataset import Dataset, survey
from assets.raw import RawTree
from assets.raw.identities import CACHE_NAME
from assets.spec import DatasetSpec
from assets.volumes import SubjectVolumes, build_volumes
from resources.findings import Code
from resources.layout import Layout
from tests.chain.dicom import dicom_spec
from tests.chain.dicom_subject import BOXES, ct, cuboids, segmentation, structure_set, write_patient
from tests.readers.dicom.makers import ramp, slice_of, uid, write, write_stack

NAMES = {1: "liver", 2: "tumour", 3: "left heart"}
ANY = "{subject}/**"


def spec(labels: dict[str, Any] | None = None, **series: Any) -> DatasetSpec:
    maps = {name: {"dicom": ANY, "of": ["ct"], **source} for name, source in (labels or {}).items()}
    return dicom_spec("toy", series or {"ct": {"where": {"Modality": "CT"}}}, NAMES, labels=maps)


def dataset(root: Path, declared: DatasetSpec) -> Dataset:
    return Dataset(declared, Layout(root))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "raw/toy/p1"


def looked(folder: Path, declared: DatasetSpec) -> RawTree:
    return dataset(folder.parents[2], declared).discover()


def built(folder: Path, declared: DatasetSpec) -> SubjectVolumes:
    tree = looked(folder, declared)
    out = Path(mkdtemp(dir=folder.parents[2]))
    return build_volumes(declared, tree.root, tree.subjects["p1"], out, synthetic=False)


def said(made: SubjectVolumes) -> list[tuple[Code, str]]:
    return [(f.code, str(f.severity)) for f in made.findings]


def test_globs_take_only_stars_and_question_marks_for_signs(folder: Path) -> None:
    write_stack(folder, [0, 2], series=1, prefix="a", SeriesDescription="T1 [ax] +C")
    write_stack(folder, [0, 2], series=2, prefix="b", SeriesDescription="T1 ax")
    tree = looked(folder, spec(ct={"where": {"SeriesDescription": "T? [ax] +*", "SeriesNumber": 1}}))
    assert tree.subjects["p1"].scans[0].series_files == {"ct": ("p1/a000.dcm", "p1/a001.dcm")}
    assert {f.reason for f in tree.files if f.state == "ignored"} == {"series 2, T1 ax (CT), is not asked for"}


def test_of_several_that_fit_the_first_or_last_counts_when_the_spec_says_so(folder: Path) -> None:
    for number in (9, 10):
        write_stack(folder, [0, 2], series=number, prefix=f"s{number}")
    tree = looked(folder, spec())
    assert [f.code for f in tree.subjects["p1"].findings] == [Code.AMBIGUOUS_FILE]
    assert len(tree.subjects["p1"].files) == 4
    for which, name in (("lowest", "s9"), ("highest", "s10")):
        tree = looked(folder, spec(ct={"several": f"{which} series number"}))
        assert tree.subjects["p1"].findings == ()
        assert tree.subjects["p1"].scans[0].series == {"ct": f"p1/{name}000.dcm"}
        (reason,) = {f.reason for f in tree.files if f.state == "ignored"}
        assert reason.endswith(f"(CT) fits ct too: of several, the {which} series number is taken")


def test_a_series_of_which_only_some_files_fit_is_told(folder: Path) -> None:
    write_stack(folder, [0, 2, 4], prefix="a", EchoTime=10)
    write(folder / "b.dcm", slice_of(ramp(3), (1, 2, 6), number=9, EchoTime=20))
    tree = looked(folder, spec(ct={"where": {"EchoTime": "10*"}}))
    (finding,) = tree.subjects["p1"].findings
    assert (finding.code, finding.severity, finding.file) == (Code.MIXED_SERIES, "warning", "p1/b.dcm")
    both = {name: {"where": {"EchoTime": f"{time}*"}} for name, time in (("first", 10), ("second", 20))}
    assert looked(folder, spec(**both)).subjects["p1"].findings == ()


@pytest.mark.parametrize(
    ("content", "cut", "code"),
    [
        (b"", 0, Code.EMPTY_FILE),
        (b"\0" * 4000, 0, Code.WRONG_MAGIC),
        *((b"", cut, Code.TRUNCATED) for cut in (55, 150, 300, 560)),
    ],
)
def test_a_file_that_cannot_be_read_may_be_of_any_series(folder: Path, content: bytes, cut: int, code: Code) -> None:
    write_stack(folder, [0, 2, 4])
    last = folder / "s002.dcm"
    last.write_bytes(last.read_bytes()[:-cut] if cut else content)
    (subject,) = looked(folder, spec()).subjects.values()
    assert [(f.code, f.file) for f in subject.findings] == [(code, "p1/s002.dcm")]
    assert [f.path for f in subject.files] == [f"p1/s00{k}.dcm" for k in range(3)]


def test_a_subject_of_which_nothing_fits_stays_listed(folder: Path) -> None:
    write_stack(folder, [0, 2])
    (subject,) = looked(folder, spec(ct={"where": {"Modality": "MR"}})).subjects.values()
    (finding,) = subject.findings
    assert finding.code is Code.MISSING_IMAGE
    assert finding.detail == "the image ct is missing: not found at p1/** with Modality MR"
    assert len(subject.files) == 2


def test_a_spec_may_still_ignore_files_that_the_pattern_covers(folder: Path) -> None:
    write_stack(folder, [0, 2])
    (folder / "broken.dcm").write_bytes(b"no DICOM")
    content = spec().model_dump(exclude_defaults=True)
    content["layout"]["ignore"] = {"**/broken.dcm": "known to be broken"}
    tree = looked(folder, DatasetSpec.model_validate(content))
    assert tree.subjects["p1"].findings == ()
    assert {f.path: f.reason for f in tree.files if f.state == "ignored"} == {"p1/broken.dcm": "known to be broken"}


def test_headers_are_read_once(folder: Path) -> None:
    write_stack(folder, [0, 2, 4])
    (folder / "notes.txt").write_text("no DICOM")
    cache = folder.parents[2] / "products/toy" / CACHE_NAME

    def read(declared: DatasetSpec) -> int:
        tree = looked(folder, declared)
        assert tree.identities is not None
        number = tree.identities.read
        tree.keep_headers()
        assert len(tree.subjects["p1"].files) == 3
        return number

    assert [read(spec()) for _ in range(2)] == [4, 0]
    os.utime(folder / "s001.dcm", ns=(1, 1))
    assert [read(spec()) for _ in range(2)] == [1, 0]
    (folder / "s001.dcm").rename(folder / "aside")
    (folder / "aside").rename(folder / "s001.dcm")
    assert [read(spec()) for _ in range(2)] == [1, 0]
    # Another question is answered by the files again, and so is one to a cache that is damaged or gone.
    assert [read(spec(ct={"where": {"SeriesNumber": 1}})) for _ in range(2)] == [4, 0]
    cache.write_bytes(b"damaged" * 100)
    assert read(spec()) == 4
    cache.unlink()
    assert read(spec()) == 4


def test_what_is_kept_reads_as_what_was_found(folder: Path) -> None:
    write_patient(folder, segmentation(ct()), structure_set("Left_Heart"))
    (folder / "empty.dcm").write_bytes(b"")
    declared = spec({"seg": {"kind": "seg"}, "rois": {"kind": "rtstruct"}})
    first = looked(folder, declared)
    first.keep_headers()
    second = looked(folder, declared)
    assert second.identities is not None
    assert second.identities.read == 0
    assert second == first


def test_a_change_in_one_file_of_a_series_makes_the_subject_stale(folder: Path) -> None:
    write_stack(folder, [0, 2, 4])
    work = dataset(folder.parents[2], spec())
    before = {f.path for f in survey(work).tree.subjects["p1"].files}
    write(folder / "new.dcm", slice_of(ramp(3), (1, 2, 6), number=9))
    write_stack(folder / "other", [0, 2], series=5, Modality="MR")
    assert {f.path for f in survey(work).tree.subjects["p1"].files} == before | {"p1/new.dcm"}


def test_segments_are_known_by_their_names(folder: Path) -> None:
    write_patient(folder, segmentation(ct(), {"Liver": BOXES["Liver"], "Mass": BOXES["Tumour"]}))
    made = built(folder, spec({"seg": {"kind": "seg"}}))
    assert said(made) == [(Code.UNKNOWN_LABEL, "error")]
    assert "'Mass'" in made.findings[0].detail
    made = built(folder, spec({"seg": {"kind": "seg", "others": "leave"}}))
    assert said(made) == [(Code.UNKNOWN_LABEL, "info")]
    assert made.rows[-1]["label_ids"] == [1]
    made = built(folder, spec({"seg": {"kind": "seg", "structures": {"Mass": 2}}}))
    assert said(made) == []
    assert made.rows[-1]["label_ids"] == [1, 2]
    made = built(folder, spec({"seg": {"kind": "seg", "nonzero_is": 3}}))
    assert made.rows[-1]["label_voxels"] == [int(cuboids(BOXES).sum())]


@pytest.mark.parametrize(("rule", "kept"), [("lower id wins", 27), ("higher id wins", 0), ("error", None)])
def test_overlap_of_structures_follows_the_rule_of_the_spec(folder: Path, rule: str, kept: int | None) -> None:
    cube, inner = ((2, 4), (2, 4), (2, 4)), ((1, 5), (1, 5), (1, 5))
    write_patient(folder, segmentation(ct(), {"Liver": cube, "Tumour": inner}))
    made = built(folder, spec({"seg": {"kind": "seg", "overlap": rule}}))
    assert said(made) == [(Code.OVERLAPPING_MASKS, "info" if kept is not None else "error")]
    assert made.findings[0].detail.startswith("27 voxels")
    if kept is not None:
        voxels = dict(zip(made.rows[-1]["label_ids"], made.rows[-1]["label_voxels"], strict=True))
        assert voxels == ({1: 27, 2: 98} if kept else {2: 125})


def test_shares_need_a_threshold(folder: Path) -> None:
    write_patient(folder, segmentation(ct(), share=0.5))
    assert said(built(folder, spec({"seg": {"kind": "seg"}}))) == [(Code.NOT_WHOLE_LABELS, "error")]
    made = built(folder, spec({"seg": {"kind": "seg", "at_least": 0.4}}))
    assert said(made) == []
    assert made.rows[-1]["label_voxels"] == [int(n) for n in cuboids(BOXES).sum((0, 1, 2))]


def test_a_segmentation_between_the_voxels_of_its_series_is_refused(folder: Path) -> None:
    shifted = ct()
    for ds in shifted:
        x, y, z = ds.ImagePositionPatient
        ds.ImagePositionPatient = [x + 0.25, y, z]
    write_patient(folder, segmentation(shifted))
    assert said(built(folder, spec({"seg": {"kind": "seg"}}))) == [(Code.GRID_MISMATCH, "error")]


def test_contours_beside_the_image_are_refused(folder: Path) -> None:
    write_patient(folder, structure_set("Left_Heart", shift=500))
    made = built(folder, spec({"rois": {"kind": "rtstruct"}}))
    assert (Code.GRID_MISMATCH, "error") in said(made)
    assert {code for code, _ in said(made)} == {Code.GRID_MISMATCH}


def test_of_several_annotations_the_one_drawn_on_the_series_is_taken(folder: Path) -> None:
    other = ct(series=11, SeriesDescription="late")
    write_patient(folder, segmentation(ct()), segmentation(other, {"Liver": BOXES["Tumour"]}, series=13))
    write_patient(folder / "late", images=other)
    declared = spec({"seg": {"kind": "seg"}}, ct={"where": {"SeriesDescription": "late"}})
    tree = looked(folder, declared)
    assert tree.subjects["p1"].findings == ()
    assert tree.subjects["p1"].scans[0].labels["seg"][0].path == "p1/disc/x1"
    (reason,) = {f.reason for f in tree.files if f.path == "p1/disc/x0"}
    assert reason == "series 3, cuboids (SEG): a DICOM segmentation that is not asked for"
    assert said(built(folder, declared)) == []


def test_a_missing_annotation_is_missed_unless_it_may_be(folder: Path) -> None:
    write_patient(folder)
    (finding,) = looked(folder, spec({"seg": {"kind": "seg"}})).subjects["p1"].findings
    assert (finding.code, finding.detail) == (
        Code.MISSING_LABELS,
        "the label map seg is missing: not found at p1/** with kind seg",
    )
    assert looked(folder, spec({"seg": {"kind": "seg", "required": False}})).subjects["p1"].findings == ()


def test_a_damaged_slice_is_found_when_it_is_read(folder: Path) -> None:
    write_stack(folder, [0, 2, 4])
    path = folder / "s001.dcm"
    path.write_bytes(path.read_bytes()[:-20])
    made = built(folder, spec())
    assert [(f.code, f.file) for f in made.findings] == [(Code.TRUNCATED, "p1/s001.dcm")]


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ({"series": {"ct": {"path": "{subject}/a", "where": {"Modality": "CT"}}}}, "`where` and `several` choose among"),
        ({"series": {"ct": {"dicom": ANY, "path": "{subject}/a"}}}, "or by `dicom` and `where`"),
        ({"labels": {"seg": {"dicom": ANY, "of": ["ct"]}}}, "says which `kind` it is"),
        ({"labels": {"seg": {"dicom": ANY, "kind": "seg"}}}, "and `of` which series"),
        ({"labels": {"seg": {"path": "{subject}/s", "kind": "seg"}}}, "go with `dicom`"),
        ({"labels": {"seg": {"dicom": ANY, "kind": "seg", "of": ["ct"], "one_hot": True}}}, "do not go with `dicom`"),
    ],
)
def test_keys_that_do_not_go_together_are_refused(layout: dict[str, Any], message: str) -> None:
    content = spec().model_dump(exclude_defaults=True)
    content["layout"] = {"subject": "p1", "series": {"ct": {"dicom": ANY}}, **layout}
    with pytest.raises(ValueError, match=message):
        DatasetSpec.model_validate(content)


def test_uids_of_the_files_do_not_matter_to_the_voxels(folder: Path) -> None:
    write_patient(folder)
    made = built(folder, spec())
    (row,) = made.rows
    assert len(row["source_paths"]) == len(ct())
    assert set(row["source_paths"]) == set(made.sources)
    assert all(source.sha256 for source in made.sources.values())
    assert row["max"] == float(np.max([ramp(len(ct()) - 1, 24, 20)]))
    assert uid(1) not in str(row)
