from __future__ import annotations

import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.raw import LabelFile, RawDataMissingError, RawTree, discover
from assets.spec import DatasetSpec, load_catalog
from resources.findings import Code, Severity

KITS = load_catalog()["kits23"]
NOBODY = 65534


def put(root: Path, *paths: str, content: bytes = b"x") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)


def put_case(root: Path, number: int) -> None:
    put(root, f"dataset/case_{number:05d}/imaging.nii.gz", f"dataset/case_{number:05d}/segmentation.nii.gz")


def states(tree: RawTree) -> dict[str, str]:
    return {f.path: f.state for f in tree.files}


def codes(tree: RawTree) -> list[tuple[Code, str]]:
    return [(f.code, f.file) for f in tree.findings]


def spec_of(layout: dict[str, Any]) -> DatasetSpec:
    return DatasetSpec.model_validate({**KITS.model_dump(exclude_defaults=True), "layout": layout, "mds": None})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    put_case(tmp_path, 2)
    put_case(tmp_path, 10)
    return tmp_path


def test_subjects_come_in_natural_order_with_their_files(root: Path) -> None:
    tree = discover(KITS, root)
    assert list(tree.subjects) == ["case_00002", "case_00010"]
    (scan,) = tree.subjects["case_00002"].scans
    assert scan.series == {"ct": "dataset/case_00002/imaging.nii.gz"}
    assert scan.labels == {"masses": (LabelFile("dataset/case_00002/segmentation.nii.gz"),)}
    assert [(f.role, f.size) for f in tree.subjects["case_00002"].files] == [("image", 1), ("labels", 1)]
    assert tree.findings == ()
    assert not tree.synthetic


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("dataset/case_00002/.DS_Store", "macOS folder settings"),
        ("Thumbs.db", "Windows thumbnails"),
        ("dataset/._case_00002", "macOS resource fork"),
        ("dataset/case_00002/._imaging.nii.gz", "macOS resource fork"),
        ("__MACOSX/dataset/case_00002/imaging.nii.gz", "macOS resource fork"),
        ("README.md", "text for readers"),
        ("LICENSE", "text for readers"),
        (".git/objects/aa/bb", "version control"),
        ("dataset/case_00002/instances/kidney_instance-1_annotation-1.nii.gz", "one mask per instance"),
    ],
)
def test_junk_is_set_aside_with_a_reason(root: Path, path: str, reason: str) -> None:
    put(root, path)
    tree = discover(KITS, root)
    (entry,) = [f for f in tree.files if f.path == path]
    assert entry.state == "ignored"
    assert reason in entry.reason
    assert list(tree.subjects) == ["case_00002", "case_00010"]
    assert tree.findings == ()


def test_a_file_that_no_pattern_claims_is_a_warning_by_name(root: Path) -> None:
    put(root, "dataset/case_00002/notes.bin", "dataset/case_2/imaging.nii.gz")
    tree = discover(KITS, root)
    assert [p for p, state in states(tree).items() if state == "unclaimed"] == [
        "dataset/case_00002/notes.bin",
        "dataset/case_2/imaging.nii.gz",
    ]
    assert codes(tree) == [
        (Code.UNCLAIMED_FILE, "dataset/case_00002/notes.bin"),
        (Code.UNCLAIMED_FILE, "dataset/case_2/imaging.nii.gz"),
    ]


@pytest.mark.parametrize("ending", [".part", ".crdownload", ".aria2", ".tmp", ".incomplete"])
def test_an_unfinished_download_is_a_warning_and_the_image_is_missing(root: Path, ending: str) -> None:
    whole = root / "dataset/case_00002/imaging.nii.gz"
    whole.rename(whole.with_name(whole.name + ending))
    tree = discover(KITS, root)
    assert codes(tree) == [(Code.INCOMPLETE_DOWNLOAD, f"dataset/case_00002/imaging.nii.gz{ending}")]
    assert [f.code for f in tree.subjects["case_00002"].findings] == [Code.MISSING_IMAGE]


@pytest.mark.parametrize("name", ["imaging (1).nii.gz", "imaging - Copy.nii.gz", "imaging copy.nii.gz", "imaging copy 2.nii.gz"])
@pytest.mark.parametrize("same", [True, False])
def test_a_copy_is_told_apart_by_its_content(root: Path, name: str, *, same: bool) -> None:
    put(root, f"dataset/case_00002/{name}", content=b"x" if same else b"y")
    tree = discover(KITS, root)
    code = Code.EXACT_COPY if same else Code.ALTERED_COPY
    assert codes(tree) == [(code, f"dataset/case_00002/{name}")]
    assert states(tree)[f"dataset/case_00002/{name}"] == "ignored"
    assert tree.subjects["case_00002"].findings == ()


def test_missing_labels_and_images_are_errors_of_their_subject_with_the_expected_path(root: Path) -> None:
    (root / "dataset/case_00002/segmentation.nii.gz").unlink()
    (root / "dataset/case_00010/imaging.nii.gz").unlink()
    tree = discover(KITS, root)
    (no_labels,) = tree.subjects["case_00002"].findings
    (no_image,) = tree.subjects["case_00010"].findings
    assert (no_labels.code, no_labels.severity) == (Code.MISSING_LABELS, Severity.ERROR)
    assert no_labels.file == "dataset/case_00002/segmentation.nii.gz"
    assert (no_image.code, no_image.file) == (Code.MISSING_IMAGE, "dataset/case_00010/imaging.nii.gz")


def test_a_file_that_two_patterns_of_one_series_read_alike_is_one_file(tmp_path: Path) -> None:
    spec = spec_of({"subject": r"s\d", "series": {"ct": ["{subject}_ct.nii", "{subject}_*.nii"]}})
    put(tmp_path, "s1_ct.nii", "s2_ct.nii")
    tree = discover(spec, tmp_path)
    assert [subject.findings for subject in tree.subjects.values()] == [(), ()]
    assert tree.subjects["s1"].scans[0].series == {"ct": "s1_ct.nii"}


def test_two_files_for_one_place_are_an_error_that_names_both(tmp_path: Path) -> None:
    spec = spec_of({"subject": r"s\d", "series": {"ct": "{subject}*.nii"}})
    put(tmp_path, "s1_a.nii", "s1_b.nii", "s2.nii")
    tree = discover(spec, tmp_path)
    (found,) = tree.subjects["s1"].findings
    assert found.code is Code.AMBIGUOUS_FILE
    assert found.severity is Severity.ERROR
    assert "s1_a.nii" in found.detail
    assert "s1_b.nii" in found.detail
    assert tree.subjects["s2"].findings == ()
    assert states(tree) == dict.fromkeys(["s1_a.nii", "s1_b.nii", "s2.nii"], "used")


def test_the_second_file_of_a_pair_belongs_to_the_subject(tmp_path: Path) -> None:
    spec = spec_of({"subject": r"s\d", "series": {"ct": "{subject}.hdr"}})
    put(tmp_path, "s1.hdr", "s1.img")
    tree = discover(spec, tmp_path)
    assert [(f.path, f.role) for f in tree.subjects["s1"].files] == [("s1.hdr", "image"), ("s1.img", "companion")]
    assert tree.findings == ()


def test_several_scans_of_a_subject_are_kept_apart(tmp_path: Path) -> None:
    spec = spec_of({"subject": r"s\d+", "scan": r"v\d+", "series": {"ct": "{subject}/{scan}.nii"}})
    put(tmp_path, "s1/v10.nii", "s1/v2.nii", "s2/v1.nii")
    tree = discover(spec, tmp_path)
    assert [scan.scan for scan in tree.subjects["s1"].scans] == ["v2", "v10"]
    assert [scan.series for scan in tree.subjects["s1"].scans] == [{"ct": "s1/v2.nii"}, {"ct": "s1/v10.nii"}]


def test_linked_files_and_folders_are_followed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("disk")
    put_case(elsewhere, 7)
    (root / "dataset/case_00007").symlink_to(elsewhere / "dataset/case_00007")
    tree = discover(KITS, root)
    assert "case_00007" in tree.subjects
    assert tree.subjects["case_00007"].findings == ()


@pytest.mark.timeout(30)
def test_links_that_lead_back_are_not_followed(root: Path) -> None:
    (root / "dataset/case_00002/up").symlink_to(root / "dataset")
    (root / "dataset/case_00002/self").symlink_to(root / "dataset/case_00002")
    (root / "top").symlink_to(root)
    (root / "above").symlink_to(root.parent)
    tree = discover(KITS, root)
    assert list(tree.subjects) == ["case_00002", "case_00010"]
    assert len(tree.files) == 8


@pytest.mark.timeout(30)
@pytest.mark.parametrize("target", ["..", ".", "../.."])
def test_a_link_that_leads_back_is_in_the_ledger_with_the_reason(root: Path, target: str) -> None:
    (root / "dataset/loop").symlink_to(target)
    tree = discover(KITS, root)
    (link,) = [f for f in tree.files if "loop" in f.path]
    assert (link.path, link.state) == ("dataset/loop", "ignored")
    assert "a link to a folder that it lies in" in link.reason
    assert tree.findings == ()


@pytest.mark.timeout(30)
def test_folders_that_are_linked_into_each_other_end(root: Path) -> None:
    put(root, "a/one.bin", "b/two.bin")
    (root / "a/to_b").symlink_to(root / "b")
    (root / "b/to_a").symlink_to(root / "a")
    tree = discover(KITS, root)
    assert list(tree.subjects) == ["case_00002", "case_00010"]
    assert len(tree.files) < 20


def test_a_broken_link_and_a_link_to_itself_are_unreadable_files_of_their_subject(root: Path) -> None:
    for number, target in ((2, "nowhere"), (10, "imaging.nii.gz")):
        image = root / f"dataset/case_{number:05d}/imaging.nii.gz"
        image.unlink()
        image.symlink_to(target)
    tree = discover(KITS, root)
    for subject in ("case_00002", "case_00010"):
        (found,) = tree.subjects[subject].findings
        assert found.code is Code.UNREADABLE
        assert found.file == f"dataset/{subject}/imaging.nii.gz"
    assert states(tree)["dataset/case_00002/imaging.nii.gz"] == "used"


def test_a_broken_link_to_a_file_of_a_subject_says_where_it_leads_and_its_siblings_go_on(root: Path) -> None:
    image = root / "dataset/case_00002/imaging.nii.gz"
    image.unlink()
    image.symlink_to("/mnt/usbdisk/imaging.nii.gz")
    tree = discover(KITS, root)
    (found,) = tree.subjects["case_00002"].findings
    assert (found.code, found.severity) == (Code.UNREADABLE, Severity.ERROR)
    assert "a link to /mnt/usbdisk/imaging.nii.gz: No such file" in found.detail
    assert tree.subjects["case_00010"].findings == ()


@pytest.mark.parametrize("name", ["dataset/case_00007", "dataset/case_00007/more", "dangling", "extra/imaging (1).nii.gz"])
def test_a_link_that_leads_nowhere_is_unreadable_and_in_the_ledger(root: Path, name: str) -> None:
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).symlink_to("/mnt/usbdisk/lost")
    tree = discover(KITS, root)
    (found,) = tree.findings
    assert (found.code, found.file) == (Code.UNREADABLE, name)
    assert "a link to /mnt/usbdisk/lost: No such file" in found.detail
    assert "no subject is taken for removed" in found.detail
    assert states(tree)[name] == "unclaimed"
    assert len(tree.files) == 5


def test_a_subject_folder_that_links_to_itself_is_unreadable(root: Path) -> None:
    (root / "dataset/case_00007").symlink_to("case_00007")
    assert codes(discover(KITS, root)) == [(Code.UNREADABLE, "dataset/case_00007")]


def test_many_links_that_lead_nowhere_are_counted_by_folder(root: Path) -> None:
    for number in range(20, 50):
        (root / f"dataset/case_{number:05d}").symlink_to("/mnt/usbdisk")
    tree = discover(KITS, root)
    (found,) = tree.findings
    assert (found.code, found.file) == (Code.UNREADABLE, "dataset")
    assert found.detail.startswith("30 files, such as case_00020, case_00021, case_00022: cannot be looked at")
    assert len(tree.files) == 34


@pytest.mark.parametrize("name", ["notes", "test", "test/a.nii", "a/list.csv", "README.md", ".DS_Store", "__MACOSX", ".git"])
def test_a_link_that_leads_nowhere_where_the_spec_or_anyone_ignores_it_is_no_finding(tmp_path: Path, name: str) -> None:
    ignore = {"test/**": "no labels", "notes": "of the authors", "**/*.csv": "lists"}
    put(tmp_path, "train/s1/ct.nii")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).symlink_to("/mnt/usbdisk/lost")
    tree = discover(spec_of({"subject": r"[^/]+", "series": {"ct": "train/{subject}/ct.nii"}, "ignore": ignore}), tmp_path)
    assert tree.findings == ()
    assert states(tree)[name] == "ignored"


def test_a_spec_that_ignores_all_the_rest_does_not_ignore_the_folder_of_a_subject(tmp_path: Path) -> None:
    put(tmp_path, "train/s1/ct.nii")
    for name in ("train/s2", "other"):
        (tmp_path / name).symlink_to("/mnt/usbdisk/lost")
    layout = {"subject": r"s\d", "series": {"ct": "train/{subject}/ct.nii"}, "ignore": {"**": "all the rest"}}
    assert codes(discover(spec_of(layout), tmp_path)) == [(Code.UNREADABLE, "train/s2")]


def test_where_every_subject_lies_behind_a_link_that_leads_nowhere_the_refusal_names_it(tmp_path: Path) -> None:
    (tmp_path / "dataset").symlink_to("/mnt/usbdisk/dataset")
    with pytest.raises(RawDataMissingError, match=r"dataset: cannot be looked at: it is a link to /mnt/usbdisk/dataset"):
        discover(KITS, tmp_path)
    with pytest.raises(RawDataMissingError, match="is a link to /mnt/usbdisk/dataset, which is not there"):
        discover(KITS, tmp_path / "dataset")


def test_names_that_are_no_text_are_files_too(root: Path) -> None:
    path = os.fsencode(root) + b"/caf\xe9.bin"
    try:
        Path(os.fsdecode(path)).write_bytes(b"x")
    except OSError:
        pytest.skip("this file system takes only UTF-8 names")
    tree = discover(KITS, root)
    assert len(tree.files) == 5
    assert len([f for f in tree.files if f.state == "unclaimed"]) == 1


@contextmanager
def as_nobody() -> Iterator[None]:
    """Permissions bind this process meanwhile, even where it is root's."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def shared_root() -> Iterator[Path]:
    """A raw folder that other users can reach, which pytest's own folders are not."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        path.chmod(0o755)
        put_case(path, 2)
        put_case(path, 10)
        yield path
        for entry in path.rglob("*"):
            entry.chmod(0o755)


def test_an_unreadable_copy_is_reported_and_stops_nothing(shared_root: Path) -> None:
    put(shared_root, "dataset/case_00002/imaging (1).nii.gz")
    (shared_root / "dataset/case_00002/imaging (1).nii.gz").chmod(0)
    with as_nobody():
        tree = discover(KITS, shared_root)
    assert [subject.findings for subject in tree.subjects.values()] == [(), ()]
    assert codes(tree) == [(Code.UNREADABLE, "dataset/case_00002/imaging (1).nii.gz")]


def test_an_unreadable_folder_is_reported_and_stops_nothing(shared_root: Path) -> None:
    (shared_root / "dataset/case_00002").chmod(0)
    with as_nobody():
        tree = discover(KITS, shared_root)
    assert list(tree.subjects) == ["case_00010"]
    assert codes(tree) == [(Code.UNREADABLE, "dataset/case_00002")]


def test_an_unreadable_list_is_reported_and_stops_nothing(shared_root: Path) -> None:
    put(shared_root, "dataset/kits23.json", content=b"[]")
    (shared_root / "dataset/kits23.json").chmod(0)
    with as_nobody():
        tree = discover(KITS, shared_root)
    assert list(tree.subjects) == ["case_00002", "case_00010"]
    assert codes(tree) == [(Code.UNREADABLE, "dataset/kits23.json")]


def test_listed_subjects_that_are_absent_are_counted_and_named(root: Path) -> None:
    names = ["case_00002", "case_00010", "case_00011", "case_00003"]
    put(root, "dataset/kits23.json", content=json.dumps([{"case_id": n} for n in names]).encode())
    tree = discover(KITS, root)
    (found,) = tree.findings
    assert found.code is Code.LISTED_BUT_ABSENT
    assert found.detail == "2 of 4 listed subjects are not in the folder: case_00003, case_00011"


def test_a_list_of_paths_is_searched_for_the_subject(tmp_path: Path) -> None:
    spec = load_catalog()["msd_hippocampus"]
    task = "Task04_Hippocampus"
    put(tmp_path, f"{task}/imagesTr/hippocampus_001.nii.gz", f"{task}/labelsTr/hippocampus_001.nii.gz")
    training = [{"image": f"./imagesTr/hippocampus_{n:03d}.nii.gz"} for n in (1, 4)]
    put(tmp_path, f"{task}/dataset.json", content=json.dumps({"training": training}).encode())
    (found,) = discover(spec, tmp_path).findings
    assert "1 of 2 listed subjects are not in the folder: hippocampus_004" in found.detail


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"{}", b"null", b"\xff\xfe", b'[{"case": "x"}]', b"[" * 100_000])
def test_a_list_that_cannot_be_understood_is_reported_and_stops_nothing(root: Path, content: bytes) -> None:
    put(root, "dataset/kits23.json", content=content)
    tree = discover(KITS, root)
    assert list(tree.subjects) == ["case_00002", "case_00010"]
    assert [f.file for f in tree.findings] == ["dataset/kits23.json"]


def test_a_marked_folder_is_synthetic_and_says_so(root: Path) -> None:
    put(root, "SYNTHETIC.json")
    tree = discover(KITS, root)
    assert tree.synthetic
    assert [f.code for f in tree.findings] == [Code.SYNTHETIC]


def test_a_missing_empty_or_foreign_folder_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(RawDataMissingError, match=r"neheller/KiTS-Challenge-Imaging.*make demo"):
        discover(KITS, tmp_path / "kits23")
    with pytest.raises(RawDataMissingError, match="missing or empty"):
        discover(KITS, tmp_path)
    put(tmp_path, "something/else.txt")
    with pytest.raises(RawDataMissingError, match=r"holds 1 files, but none matches.*dataset/\{subject\}/imaging"):
        discover(KITS, tmp_path)


@pytest.mark.parametrize("inside", ["kits23-main", "downloads/kits23-main"])
def test_a_download_that_lies_too_deep_is_found_and_named(tmp_path: Path, inside: str) -> None:
    put_case(tmp_path / inside, 1)
    put_case(tmp_path / inside, 2)
    expected = re.escape(f"It would fit what {tmp_path / inside} holds (2 subjects): move that up into {tmp_path}")
    with pytest.raises(RawDataMissingError, match=expected):
        discover(KITS, tmp_path)


SEGMENT = st.sampled_from(
    ["dataset", "case_00001", "case_00002", "imaging.nii.gz", "imaging (1).nii.gz", "segmentation.nii.gz", "instances",
     "kits23.json", ".DS_Store", "._x", "README.md", "x.part", "x.tmp", "SYNTHETIC.json", "é.bin", "a b"]
)  # fmt: skip
PATHS = st.lists(st.lists(SEGMENT, min_size=1, max_size=4).map("/".join), max_size=12)


@given(PATHS)
@settings(max_examples=60)
def test_every_file_is_in_exactly_one_state_with_a_reason_unless_used(paths: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        put_case(root, 1)
        for path in paths:
            if not any(p.is_file() for p in (root / path).parents if p != root) and not (root / path).is_dir():
                put(root, path)
        there = sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file())
        tree = discover(KITS, root)
        assert [f.path for f in tree.files] == there
        assert all((f.state == "used") == bool(f.subject) for f in tree.files)
        assert all(f.reason for f in tree.files if f.state != "used")
        owners = Counter(f.path for subject in tree.subjects.values() for f in subject.files)
        assert owners == Counter(f.path for f in tree.files if f.state == "used")


def test_a_name_that_is_no_utf8_is_written_down_escaped_and_stops_nothing(root: Path) -> None:
    folder = os.fsencode(root / "dataset") + b"/case_\xff\xfe"
    os.mkdir(folder)  # noqa: PTH102 - a Path cannot hold these bytes
    with open(folder + b"/imaging.nii.gz", "wb") as file:  # noqa: PTH123
        file.write(b"x")
    tree = discover(KITS, root)
    assert list(tree.subjects) == ["case_00002", "case_00010"]
    assert states(tree)[r"dataset/case_\xff\xfe/imaging.nii.gz"] == "unclaimed"
    assert (Code.UNCLAIMED_FILE, r"dataset/case_\xff\xfe/imaging.nii.gz") in codes(tree)


def test_a_subject_whose_name_is_no_utf8_is_unreadable_not_lost(root: Path) -> None:
    spec = spec_of({"subject": r"[^/]+", "series": {"ct": "dataset/{subject}/imaging.nii.gz"}})
    folder = os.fsencode(root / "dataset") + b"/\xff"
    os.mkdir(folder)  # noqa: PTH102
    with open(folder + b"/imaging.nii.gz", "wb") as file:  # noqa: PTH123
        file.write(b"x")
    (found,) = discover(spec, root).subjects[r"\xff"].findings
    assert found.code is Code.UNREADABLE
    assert "UTF-8" in found.detail


def test_series_come_in_the_order_of_the_spec(tmp_path: Path) -> None:
    spec = spec_of({"subject": r"s\d", "series": {"dwi": "{subject}_dwi.nii", "adc": "{subject}_adc.nii"}})
    put(tmp_path, "s1_adc.nii", "s1_dwi.nii")
    (scan,) = discover(spec, tmp_path).subjects["s1"].scans
    assert list(scan.series) == ["dwi", "adc"]


def test_what_is_wrong_with_files_outside_the_roots_is_told_too(tmp_path: Path) -> None:
    layout = {"subject": r"s\d", "roots": ["a", "b"], "series": {"ct": "{root}/{subject}.nii", "pet": "{subject}*.nii"}}
    put(tmp_path, "a/s1.nii", "s1_x.nii", "s1_y.nii")
    (found,) = discover(spec_of(layout), tmp_path).subjects["s1"].findings
    assert (found.code, found.file) == (Code.AMBIGUOUS_FILE, "s1_y.nii")


def test_a_subject_is_found_in_a_list_of_longer_file_names(tmp_path: Path) -> None:
    layout = {
        "subject": "(?:fdg|psma)_[0-9a-f]+",
        "series": {"ct": "{subject}_*.nii"},
        "listing": {"file": "list.json", "each": "[]"},
    }
    put(tmp_path, "fdg_01ab_x.nii", "fdg_02_y.nii")
    names = ["fdg_01ab_06-03-2005 a  b", "psma_95_2018-04-16", "fdg_02"]
    put(tmp_path, "list.json", content=json.dumps(names).encode())
    (found,) = discover(spec_of(layout), tmp_path).findings
    assert found.detail == "1 of 3 listed subjects are not in the folder: psma_95"


def test_many_unclaimed_files_are_counted_by_folder_and_none_leaves_the_ledger(root: Path) -> None:
    put(root, *(f"extra/{n}.txt" for n in range(200)), *(f"odd/{n}/x.txt" for n in range(100)), "one.txt")
    tree = discover(KITS, root)
    said = [f for f in tree.findings if f.code is Code.UNCLAIMED_FILE]
    assert len(said) == 41
    assert next(f for f in said if f.file == "extra").detail.startswith("200 files, such as 0.txt, 1.txt, 10.txt: ")
    assert sum(state == "unclaimed" for state in states(tree).values()) == 301


def reasons(tree: RawTree) -> dict[str, str]:
    return {f.path: f.reason for f in tree.files if f.state == "ignored"}


def test_every_file_of_a_scan_that_is_given_again_is_superseded(tmp_path: Path) -> None:
    spec = spec_of({"roots": ["old", "new"], "subject": r"s\d", "series": {"ct": "{root}/{subject}*.hdr"}})
    put(tmp_path, "old/s1_a.hdr", "old/s1_a.img", "old/s1_b.hdr", "new/s1.hdr", "new/s1.img")
    tree = discover(spec, tmp_path)
    assert [f.code for f in tree.subjects["s1"].findings] == [Code.SUPERSEDED]
    assert sorted(reasons(tree)) == ["old/s1_a.hdr", "old/s1_a.img", "old/s1_b.hdr"]
    assert all(reason.startswith("superseded: ") for reason in reasons(tree).values())
    assert [f.path for f in tree.subjects["s1"].files] == ["new/s1.hdr", "new/s1.img"]
