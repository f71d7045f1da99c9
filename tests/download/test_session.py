from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from resources.download.folders import source_folder
from resources.download.session import LicenceNotAcceptedError, foreign_todos
from resources.download.values import DatasetRequest, Placement, Published, Rule, SourceRequest
from tests.download.common import files_below
from tests.download.desk import NOISE, A, B, Desk, http, named, sha256, states
from tests.download.packing import pack
from tests.download.site import Site, replies, whole


def test_nothing_is_fetched_before_the_terms_are_accepted_once(desk: Desk, site: Site) -> None:
    source = http(site.put("/a.nii.gz", whole(A)))
    with pytest.raises(LicenceNotAcceptedError, match=r"Licence: CC-BY-4\.0"):
        desk.download(source, accept=False)
    assert not site.requests
    assert states(desk.download(source)) == {"a.nii.gz": "fetched"}
    assert states(desk.download(source, accept=False)) == {"a.nii.gz": "here"}
    accepted = [line for line in map(json.loads, desk.folders.journal.read_text().splitlines()) if line["did"] == "accepted"]
    assert len(accepted) == 1
    assert accepted[0]["shown"] == "Dataset 1\nLicence: CC-BY-4.0\nAccess: open (open to everyone)"
    assert accepted[0]["at"].endswith("+00:00")


def test_other_terms_are_asked_for_again(desk: Desk, site: Site) -> None:
    source = http(site.put("/a.nii.gz", whole(A)))
    desk.download(source)
    session = desk.session(source)
    session.dataset = DatasetRequest("d", "Dataset", "1", "CC-BY-NC-4.0", "open", sources=(source,))
    with session.alone(), pytest.raises(LicenceNotAcceptedError, match=r"CC-BY-NC-4\.0"):
        session.run(session.plan(), accept=False)


def test_files_lie_in_the_raw_folder_and_nothing_else_does(desk: Desk, site: Site) -> None:
    for name in ("a.nii.gz", "b.nii.gz", "c.csv"):
        site.put(f"/{name}", whole(A))
    rules = [named("a.nii.gz", A), named("b.nii.gz", A, into="more/b"), named("c.csv", A)]
    outcomes = desk.download(http(site.url("/"), *rules))
    assert states(outcomes) == {"a.nii.gz": "fetched", "b.nii.gz": "fetched", "c.csv": "fetched"}
    assert desk.raw() == {"a.nii.gz": A, "more/b/b.nii.gz": A, "c.csv": A}
    assert set(files_below(desk.folders.downloads)) == {".lock", "journal.jsonl"}
    asked = len(site.requests)
    assert set(states(desk.download(http(site.url("/"), *rules))).values()) == {"here"}
    assert len(site.requests) == asked


def test_files_go_where_the_spec_places_them_and_others_are_left(desk: Desk, site: Site) -> None:
    hub = {"images/case_00001.nii.gz": A, "labels/case_00001.nii.gz": B, "README.md": b"x"}
    site.put("/api/datasets/o/n/revision/main", replies(200, b'{"sha": "c0ffee"}'))
    tree = [
        {"type": "file", "path": p, "size": len(c), "oid": "", "lfs": {"oid": sha256(c), "size": len(c)}} for p, c in hub.items()
    ]
    site.put("/api/datasets/o/n/tree/c0ffee", replies(200, json.dumps(tree).encode()))
    for path, content in hub.items():
        site.put(f"/datasets/o/n/resolve/c0ffee/{path}", whole(content))
    place = Placement(re.compile(r"images/(?P<subject>case_\d{5})\.nii\.gz"), "dataset/{subject}/imaging.nii.gz")
    desk.download(SourceRequest("huggingface", "o/n", placements=(place,)))
    assert desk.raw() == {"dataset/case_00001/imaging.nii.gz": A}
    desk.download(SourceRequest("huggingface", "o/n"))
    assert set(desk.raw()) == {"dataset/case_00001/imaging.nii.gz", *hub}


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/../../evil", "C:evil"])
def test_a_host_cannot_name_a_file_out_of_its_folder(desk: Desk, site: Site, name: str) -> None:
    entry = {"key": name, "size": 1, "links": {"self": site.put("/evil", whole(b"1"))}}
    site.put("/api/records/1", replies(200, json.dumps({"files": [entry]}).encode()))
    session = desk.session(SourceRequest("zenodo", "1"))
    plan = session.plan()
    assert not plan.items
    assert "must not be a path" in plan.failures[0]


def test_a_placement_cannot_lead_out_either(desk: Desk, site: Site) -> None:
    place = Placement(re.compile(r"(?P<any>.*)"), "x/../../{any}")
    plan = desk.session(http(site.put("/a", whole(A)), placements=(place,))).plan()
    assert "leads out of its folder" in plan.failures[0]


def test_a_wanted_file_that_is_not_there_is_said(desk: Desk, site: Site) -> None:
    entry = {"key": "a.zip", "size": 1, "links": {"self": "x"}}
    site.put("/api/records/1", replies(200, json.dumps({"files": [entry]}).encode()))
    plan = desk.session(SourceRequest("zenodo", "1", rules=(named("b.zip"),))).plan()
    assert plan.failures == ["zenodo 1: there is no b.zip; the source holds 1 files: a.zip"]


def test_facts_of_host_and_spec_must_agree_and_complete_one_another(desk: Desk, site: Site) -> None:
    entry = {"key": "a", "size": 5000, "checksum": f"md5:{'0' * 32}", "links": {"self": site.put("/a", whole(A))}}
    site.put("/api/records/1", replies(200, json.dumps({"files": [entry]}).encode()))
    (item,) = desk.session(SourceRequest("zenodo", "1", rules=(named("a", A),))).plan().items
    assert item.pieces[0].remote.published == Published(5000, md5="0" * 32, sha256=sha256(A))
    wrong = Rule("a", re.compile("a"), published=Published(md5="1" * 32))
    plan = desk.session(SourceRequest("zenodo", "1", rules=(wrong,))).plan()
    assert "the host gives md5 0000" in plan.failures[0]


def test_two_files_never_share_a_place(desk: Desk, site: Site) -> None:
    rules = (named("a/x.csv"), named("b/x.csv"))
    place = Placement(re.compile(r"./(?P<any>.*)"), "{any}")
    plan = desk.session(SourceRequest("http", site.url("/"), rules=rules, placements=(place,))).plan()
    assert [item.name for item in plan.items] == ["a/x.csv"]
    assert "another file is kept at x.csv already" in plan.failures[0]


def test_archives_are_unpacked_by_their_rules(desk: Desk, site: Site, tmp_path: Path) -> None:
    first = pack(tmp_path / "RawData.zip", {"RawData/img/1.nii.gz": A}).read_bytes()
    second = pack(tmp_path / "Cervix.tar.gz", {"RawData/img/1.nii.gz": B, "RawData/skip": b""}).read_bytes()
    site.put("/RawData.zip", whole(first))
    site.put("/Cervix.tar.gz", whole(second))
    rules = (
        named("RawData.zip", first, into="abdomen"),
        named("Cervix.tar.gz", second, into="cervix", strip=1, members=(re.compile(".*gz"),)),
    )
    assert set(states(desk.download(http(site.url("/"), *rules))).values()) == {"unpacked"}
    assert desk.raw() == {"abdomen/RawData/img/1.nii.gz": A, "cervix/img/1.nii.gz": B}
    asked = len(site.requests)
    assert set(states(desk.download(http(site.url("/"), *rules))).values()) == {"here"}
    assert len(site.requests) == asked


def test_a_member_that_was_lost_comes_back_and_no_other_is_written(desk: Desk, site: Site, tmp_path: Path) -> None:
    content = pack(tmp_path / "a.zip", {f"{n}.bin": NOISE.randbytes(50) for n in range(9)}).read_bytes()
    source = http(site.put("/a.zip", whole(content)))
    desk.download(source)
    before = {path: path.stat().st_mtime_ns for path in desk.folders.raw.iterdir()}
    lost = desk.folders.raw / "4.bin"
    lost.unlink()
    assert states(desk.download(source)) == {"a.zip": "unpacked"}
    after = {path: path.stat().st_mtime_ns for path in desk.folders.raw.iterdir()}
    assert set(after) == set(before)
    assert {path for path in before if after[path] != before[path]} == {lost}
    assert len(site.requests) == 1


def test_archives_may_be_removed_and_are_not_fetched_again(desk: Desk, site: Site, tmp_path: Path) -> None:
    content = pack(tmp_path / "a.zip", {"x": A}).read_bytes()
    source = http(site.put("/a.zip", whole(content)))
    desk.download(source, remove_archives=True)
    assert not (desk.folders.downloads / source_folder(source) / "a.zip").exists()
    assert states(desk.download(source)) == {"a.zip": "here"}
    assert len(site.requests) == 1
    (desk.folders.raw / "x").unlink()
    assert states(desk.download(source)) == {"a.zip": "unpacked"}
    assert desk.raw() == {"x": A}


def test_another_rule_unpacks_again(desk: Desk, site: Site, tmp_path: Path) -> None:
    content = pack(tmp_path / "a.zip", {"x/y": A}).read_bytes()
    url = site.put("/a.zip", whole(content))
    desk.download(http(url, named("a.zip")))
    desk.download(http(url, named("a.zip", into="z", strip=1)))
    assert desk.raw() == {"x/y": A, "z/y": A}
    assert len(site.requests) == 1


def test_archives_that_share_folders_are_merged(desk: Desk, site: Site, tmp_path: Path) -> None:
    for n, extra in ((1, "same"), (2, "same"), (3, "other")):
        site.put(
            f"/{n}.zip", whole(pack(tmp_path / f"{n}.zip", {f"images/{n}": b"%d" % n, "README": extra.encode()}).read_bytes())
        )
    rules = tuple(named(f"{n}.zip") for n in (1, 2))
    assert set(states(desk.download(http(site.url("/"), *rules))).values()) == {"unpacked"}
    assert desk.raw() == {"images/1": b"1", "images/2": b"2", "README": b"same"}
    outcomes = desk.download(http(site.url("/"), *rules, named("3.zip")))
    assert states(outcomes) == {"1.zip": "here", "2.zip": "here", "3.zip": "failed"}
    assert "README lies where 5 bytes of this archive belong, and differs" in outcomes[-1].detail
    assert "images/3" not in desk.raw()


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_corrected_files_take_the_place_of_broken_ones(desk: Desk, site: Site, tmp_path: Path, order: tuple[int, int]) -> None:
    first = pack(tmp_path / "1.zip", {"x": b"broken", "y": b"fine"}).read_bytes()
    second = pack(tmp_path / "2.zip", {"x": b"corrected"}).read_bytes()
    site.put("/1.zip", replies(404) if order == (2, 1) else whole(first), whole(first))
    site.put("/2.zip", whole(second))
    rules = (named("1.zip"), named("2.zip", replace=True))
    desk.download(http(site.url("/"), *rules))
    desk.download(http(site.url("/"), *rules))
    assert desk.raw() == {"x": b"corrected", "y": b"fine"}
    assert set(states(desk.download(http(site.url("/"), *rules))).values()) == {"here"}


def test_an_archive_in_parts_is_fetched_and_joined(desk: Desk, site: Site, tmp_path: Path) -> None:
    content = pack(tmp_path / "a.7z", {"x": A, "y": B}).read_bytes()
    for n in range(3):
        site.put(f"/a.7z.00{n + 1}", whole(content[n * 5000 : (n + 1) * 5000]))
    rules = tuple(named(f"a.7z.00{n + 1}") for n in range(3))
    assert states(desk.download(http(site.url("/"), *rules))) == {"a.7z": "unpacked"}
    assert desk.raw() == {"x": A, "y": B}
    plan = desk.session(http(site.url("/"), rules[0], rules[2])).plan()
    assert "comes in parts, of which only these are here: 0001, 0003" in plan.failures[0]


def test_git_comes_as_an_archive_without_its_own_folder(desk: Desk, site: Site, tmp_path: Path) -> None:
    tree = {"kits23-abc/dataset/case_00000/segmentation.nii.gz": A, "kits23-abc/setup.py": b"x"}
    content = pack(tmp_path / "a.tar.gz", tree).read_bytes()
    site.put("/neheller/kits23/tar.gz/HEAD", replies(200, content, length=-1))
    rule = Rule("dataset/**", re.compile(r"dataset/.*"))
    assert states(desk.download(SourceRequest("git", "neheller/kits23", rules=(rule,)))) == {"kits23-HEAD.tar.gz": "unpacked"}
    assert desk.raw() == {"dataset/case_00000/segmentation.nii.gz": A}


def test_what_a_person_must_fetch_is_waited_for_then_taken(desk: Desk, site: Site, tmp_path: Path) -> None:
    content = pack(tmp_path / "a.zip", {"x": A}).read_bytes()
    source = SourceRequest("google_drive", "abc", note="two files", rules=(named("a.zip", content, into="in"), named("b.csv")))
    session = desk.session(source)
    with session.alone():
        plan = session.plan()
        outcomes = session.run(plan, accept=True)
    assert states(outcomes) == {"a.zip": "by hand", "b.csv": "by hand"}
    (todo,) = session.todo(plan, [(o.source, o.detail) for o in outcomes], "go on")
    text = "\n".join(todo.steps)
    assert "https://drive.google.com/open?id=abc" in text
    assert f"Put a.zip, b.csv into {desk.folders.downloads / 'google_drive-abc'}" in text
    assert "Note: two files" in text
    assert text.endswith("go on")
    desk.put("google_drive-abc/a.zip", content)
    assert states(desk.download(source)) == {"a.zip": "unpacked", "b.csv": "by hand"}
    desk.put("google_drive-abc/b.csv", B)
    assert states(desk.download(source, remove_archives=True)) == {"a.zip": "here", "b.csv": "fetched"}
    assert desk.raw() == {"in/x": A, "b.csv": B}
    session = desk.session(source)
    plan = session.plan()
    assert {entry.done for entry in session.pending(plan)} == {True}
    assert not session.todo(plan, [], "go on")


def test_whatever_a_person_puts_there_is_taken_where_no_names_are_known(desk: Desk, tmp_path: Path) -> None:
    content = pack(tmp_path / "a.zip", {"x": A}).read_bytes()
    source = SourceRequest("synapse", "syn1", rules=(Rule("*.zip", re.compile(r"[^/]*\.zip"), into="in"),))
    session = desk.session(source)
    assert not session.plan().items
    assert len(session.todo(session.plan(), [], "go on")) == 1
    desk.put("synapse-syn1/Whatever.zip", content)
    desk.put("synapse-syn1/Half.zip.crdownload", content)
    assert states(desk.download(source)) == {"Whatever.zip": "unpacked"}
    assert desk.raw() == {"in/x": A}
    assert not session.todo(session.plan(), [], "go on")


def test_a_wrong_file_from_a_person_is_refused(desk: Desk) -> None:
    source = SourceRequest("kaggle", "o/n", rules=(named("a.csv", A),))
    desk.put("kaggle-o-n/a.csv", B)
    (outcome,) = desk.download(source)
    assert outcome.state == "failed"
    assert "is not the published file: 7,000 bytes instead of 5,000" in outcome.detail
    assert not desk.raw()


def test_an_archive_of_a_foreign_kind_is_left_to_a_person(desk: Desk, site: Site) -> None:
    source = http(site.put("/a.rar", whole(A)), named("a.rar", A, into="a"))
    (outcome,) = desk.download(source)
    assert outcome.state == "by hand"
    (todo,) = foreign_todos([outcome], "go on")
    assert f"Unpack it into {desk.folders.raw / 'a'}" in todo.steps[1]
    (desk.folders.raw / "a").mkdir(parents=True)
    (desk.folders.raw / "a" / "x").write_bytes(A)
    assert states(desk.download(source)) == {"a.rar": "here"}


def test_a_gated_source_is_asked_once_and_the_others_go_on(desk: Desk, site: Site) -> None:
    for name in ("a", "b", "c"):
        site.put(f"/gated/{name}", replies(403))
    gated = http(site.url("/gated/"), named("a"), named("b"), named("c"))
    outcomes = desk.download(gated, http(site.put("/open", whole(A))), jobs=1)
    assert states(outcomes) == {"a": "by hand", "b": "by hand", "c": "by hand", "open": "fetched"}
    assert len(site.asked("/gated/a") + site.asked("/gated/b") + site.asked("/gated/c")) == 1


def test_one_file_that_fails_does_not_hinder_the_others(desk: Desk, site: Site) -> None:
    site.put("/a", whole(A))
    site.put("/c", whole(B))
    outcomes = desk.download(http(site.url("/"), named("a"), named("b"), named("c")))
    assert states(outcomes) == {"a": "fetched", "b": "failed", "c": "fetched"}
    site.put("/b", whole(A))
    assert states(desk.download(http(site.url("/"), named("a"), named("b"), named("c")))) == {
        "a": "here",
        "b": "fetched",
        "c": "here",
    }


def test_one_source_that_cannot_be_listed_does_not_hinder_the_others(desk: Desk, site: Site) -> None:
    session = desk.session(SourceRequest("zenodo", "1"), http(site.put("/a", whole(A))))
    plan = session.plan()
    assert [item.name for item in plan.items] == ["a"]
    assert plan.failures[0].startswith("zenodo 1: ")


def test_mirrors_are_fetched_when_they_are_asked_for(desk: Desk, site: Site) -> None:
    first, second = http(site.put("/a", whole(A))), http(site.put("/b", whole(B)), mirror=True)
    assert states(desk.download(first, second)) == {"a": "fetched"}
    assert states(desk.download(first, second, sources=(2,))) == {"b": "fetched"}
    with pytest.raises(ValueError, match="has 2 sources, none with the number 3"):
        _ = desk.session(first, second, sources=(3,)).sources
