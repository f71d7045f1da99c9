from __future__ import annotations

import errno
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from resources import durable
from resources.download.budget import Limits
from resources.download.errors import DiskError, DownloadError, StoppedError
from resources.download.folders import source_folder
from resources.download.values import SourceRequest
from tests.download.boxes import Killed
from tests.download.common import Heard
from tests.download.desk import A, B, Desk, http, named, states
from tests.download.packing import pack
from tests.download.site import Site, breaks, whole


def test_files_that_lay_there_before_are_taken_when_they_are_proven(desk: Desk, site: Site) -> None:
    desk.folders.raw.mkdir(parents=True)
    (desk.folders.raw / "a").write_bytes(A)
    source = http(site.put("/a", whole(A)), named("a", A))
    assert states(desk.download(source)) == {"a": "here"}
    assert not site.requests
    assert states(desk.download(source)) == {"a": "here"}


def test_a_file_that_lay_there_before_is_never_overwritten(desk: Desk, site: Site) -> None:
    desk.folders.raw.mkdir(parents=True)
    (desk.folders.raw / "a").write_bytes(B)
    (outcome,) = desk.download(http(site.put("/a", whole(A)), named("a", A)))
    assert (outcome.state, desk.raw()) == ("failed", {"a": B})
    assert "move it away and run again" in outcome.detail
    assert not site.requests
    (outcome,) = desk.download(http(site.url("/a")))  # nothing published: only fetching it can tell
    assert (outcome.state, desk.raw()) == ("failed", {"a": B})
    (desk.folders.raw / "a").write_bytes(A)
    assert states(desk.download(http(site.url("/a")))) == {"a": "fetched"}
    assert states(desk.download(http(site.url("/a")))) == {"a": "here"}


def test_a_newer_version_takes_the_place_of_what_was_fetched(desk: Desk, site: Site) -> None:
    desk.download(http(site.put("/a", whole(A)), named("a", A)))
    assert states(desk.download(http(site.put("/a", whole(B)), named("a", B)))) == {"a": "fetched"}
    assert desk.raw() == {"a": B}


def test_too_little_room_for_everything_is_said_before_anything_is_fetched(
    desk: Desk, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = http(site.url("/"), named("a", A), named("b", B))
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=11_999))
    with pytest.raises(DiskError, match="what is still to be fetched needs 12,000 bytes more, but only 11,999"):
        desk.download(source)
    assert not site.requests


def test_only_one_process_downloads_a_dataset(desk: Desk, site: Site) -> None:
    with desk.session().alone(), pytest.raises(DownloadError, match="another process is downloading"):
        desk.download(http(site.put("/a", whole(A))))


def test_stopping_ends_everything_and_the_next_run_goes_on(desk: Desk, site: Site) -> None:
    for n in range(8):
        site.put(f"/{n}", site.stalls(A, after=2000) if n % 2 else whole(A))
    rules = [named(str(n), A) for n in range(8)]
    session = desk.session(http(site.url("/"), *rules))
    threading.Timer(0.2, session.network.halt).start()
    with session.alone(), pytest.raises(StoppedError):
        session.run(session.plan(), accept=True)
    for n in range(8):
        site.put(f"/{n}", whole(A))
    outcomes = desk.download(http(site.url("/"), *rules))
    assert {outcome.state for outcome in outcomes} <= {"fetched", "here"}
    assert desk.raw() == {str(n): A for n in range(8)}


def test_what_is_begun_is_shown(desk: Desk, site: Site) -> None:
    source = http(site.put("/a", breaks(A, after=2000), breaks(A, after=0)), named("a", A))
    desk.download(source)
    (pending,) = desk.session(source).pending(desk.session(source).plan())
    assert (pending.done, pending.begun, pending.size) == (False, 2000, 5000)


def killing(monkeypatch: pytest.MonkeyPatch, point: int) -> Callable[[], int]:
    calls = 0
    lock = threading.Lock()

    def observe(_operation: str, _path: Path) -> None:
        nonlocal calls
        with lock:
            calls += 1
            if calls >= point:
                raise Killed

    monkeypatch.setattr(durable, "observe", observe)
    return lambda: calls


@pytest.mark.slow
def test_wherever_it_is_killed_every_raw_file_is_whole_and_the_next_run_finishes(
    tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = pack(tmp_path / "a.tar.gz", {"images/1": A, "images/2": B, "labels/1": b"1"}).read_bytes()
    more = pack(tmp_path / "b.zip", {"images/3": B[:99], "labels/1": b"1"}).read_bytes()
    urls = [site.put("/p.csv", whole(A)), site.put("/a.tar.gz", whole(archive)), site.put("/b.zip", whole(more))]
    sources = [http(url) for url in urls]
    expected = {"p.csv": A, "images/1": A, "images/2": B, "labels/1": b"1", "images/3": B[:99]}
    for point in range(1, 400):
        desk = Desk(tmp_path / str(point), site)
        with monkeypatch.context() as patch:
            killing(patch, point)
            try:
                desk.download(*sources, jobs=1, remove_archives=bool(point % 2))
            except Killed:
                pass
            else:
                break
        assert desk.raw().items() <= expected.items(), point
        outcomes = desk.download(*sources, jobs=1)
        assert {outcome.state for outcome in outcomes} <= {"here", "fetched", "unpacked"}, (point, outcomes)
        assert desk.raw() == expected, point
    assert 50 < point < 399


def test_moving_across_disks_never_shows_half_a_file(
    desk: Desk, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = durable.rename

    def other_disk(source: Path, target: Path) -> None:
        if source.is_relative_to(desk.folders.downloads) and target.is_relative_to(desk.folders.raw):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        rename(source, target)

    monkeypatch.setattr(durable, "rename", other_disk)
    content = pack(tmp_path / "a.zip", {"x/1": A, "x/2": B, "y": b""}).read_bytes()
    desk.download(http(site.put("/a.zip", whole(content))), http(site.put("/p", whole(A))))
    assert desk.raw() == {"x/1": A, "x/2": B, "y": b"", "p": A}


def test_a_hostile_archive_leaves_nothing_in_the_raw_folder(desk: Desk, site: Site, tmp_path: Path) -> None:
    content = pack(tmp_path / "a.zip", {"fine": A, "../../evil": B}).read_bytes()
    (outcome,) = desk.download(http(site.put("/a.zip", whole(content))), limits=Limits())
    assert outcome.state == "failed"
    assert "leads out of its folder" in outcome.detail
    assert not desk.raw()
    assert not list(desk.folders.downloads.parent.parent.rglob("*evil*"))


def test_a_damaged_archive_that_nothing_proves_is_fetched_anew_the_next_time(desk: Desk, site: Site, tmp_path: Path) -> None:
    good = pack(tmp_path / "good.zip", {"a": A}).read_bytes()
    url = site.put("/a.zip", whole(good[: len(good) // 2]))
    for _ in range(2):
        (outcome,) = desk.download(http(url))
        assert outcome.state == "failed"
        assert "damaged" in outcome.detail
        assert "removed: the next run fetches it anew" in outcome.detail
    site.put("/a.zip", whole(good))
    assert states(desk.download(http(url))) == {"a.zip": "unpacked"}
    assert desk.raw() == {"a": A}


def test_a_damaged_archive_that_is_the_published_one_is_kept(desk: Desk, site: Site) -> None:
    source = http(site.put("/a.zip", whole(A)), named("a.zip", A))
    (outcome,) = desk.download(source)
    assert "Its checksum is the published one" in outcome.detail
    asked = len(site.requests)
    (outcome,) = desk.download(source)
    assert outcome.state == "failed"
    assert len(site.requests) == asked


def test_a_damaged_archive_that_a_person_brought_is_left_to_the_person(desk: Desk) -> None:
    source = SourceRequest("other", "somewhere", rules=(named("a.zip"),))
    place = f"{source_folder(source)}/a.zip"
    desk.put(place, A)
    (outcome,) = desk.download(source)
    assert outcome.state == "failed"
    assert f"Put another copy in its place: {desk.folders.here(place)}" in outcome.detail
    assert desk.folders.here(place).read_bytes() == A


def test_what_is_unpacked_is_shown_under_the_name_of_the_archive(desk: Desk, site: Site, tmp_path: Path) -> None:
    heard = Heard()
    session = desk.session(http(site.put("/a.zip", whole(pack(tmp_path / "a.zip", {"a": A}).read_bytes()))), heard=heard)
    with session.alone():
        session.run(session.plan(), accept=True)
    assert ("a.zip", "unpacking") in [(name, doing) for name, doing, _ in heard.begun]
