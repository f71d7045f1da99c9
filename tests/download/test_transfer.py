from __future__ import annotations

import hashlib
import json
import random
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from resources.download.errors import ByHandError, ContentError, DiskError, DownloadError, PassingError, StoppedError
from resources.download.network import Network
from resources.download.policy import Policy
from resources.download.transfer import Fetched, fetch
from resources.download.values import Published, RemoteFile
from tests.download.common import QUICK, Heard
from tests.download.site import Site, breaks, redirects, replies, running_site, tag, whole, without_ranges

CONTENT = random.Random(7).randbytes(50_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
MD5 = hashlib.md5(CONTENT).hexdigest()  # noqa: S324
OTHER = random.Random(8).randbytes(50_000)


def get(url: str, path: Path, network: Network, watch: Heard, name: str = "scan.nii.gz", **published: Any) -> Fetched:
    return fetch(RemoteFile(name, url, Published(**published)), path, network, watch)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "scan.nii.gz.part"


def test_a_file_comes_whole_and_is_proven(site: Site, path: Path, network: Network, heard: Heard) -> None:
    url = site.put("/scan", whole(CONTENT))
    made = get(url, path, network, heard, size_bytes=len(CONTENT), md5=MD5, sha256=SHA256)
    assert path.read_bytes() == CONTENT
    assert made.size == len(CONTENT)
    assert made.checksums == {"sha256": SHA256, "md5": MD5}
    assert made.proof == ("sha256", "md5", "size")
    assert heard.reached[-1] == ("scan.nii.gz", len(CONTENT))
    assert heard.ended == ["scan.nii.gz"]


def test_an_empty_file_is_a_file(site: Site, path: Path, network: Network, heard: Heard) -> None:
    made = get(site.put("/empty", whole(b"")), path, network, heard, size_bytes=0)
    assert (made.size, path.read_bytes()) == (0, b"")


def test_gits_blob_id_proves_a_small_file(site: Site, path: Path, network: Network, heard: Heard) -> None:
    # `printf 'hello\n' | git hash-object --stdin`
    blob = "ce013625030ba8dba906f756967f9e9ca394464a"
    made = get(site.put("/hello", whole(b"hello\n")), path, network, heard, size_bytes=6, git_sha1=blob)
    assert made.proof == ("git_sha1", "size")
    with pytest.raises(ContentError, match="git_sha1 is ce0136"):
        get(site.url("/hello"), path, network, heard, size_bytes=6, git_sha1="0" * 40)


def test_a_connection_that_breaks_off_is_gone_on_with(site: Site, path: Path, network: Network, heard: Heard) -> None:
    url = site.put("/scan", *[breaks(CONTENT, after=9000)] * 5, whole(CONTENT))
    get(url, path, network, heard, sha256=SHA256)
    assert path.read_bytes() == CONTENT
    assert [r.first_byte for r in site.requests] == [0, 9000, 18_000, 27_000, 36_000, 45_000]
    assert {r.headers.get("If-Range") for r in site.requests[1:]} == {tag(CONTENT)}


def test_attempts_that_get_further_do_not_count_against_it(site: Site, path: Path, network: Network, heard: Heard) -> None:
    assert QUICK.attempts < 20
    get(site.put("/scan", *[breaks(CONTENT, after=2000)] * 20, whole(CONTENT)), path, network, heard, size_bytes=len(CONTENT))
    assert path.read_bytes() == CONTENT


def test_attempts_that_get_nowhere_end(site: Site, path: Path, network: Network, heard: Heard) -> None:
    url = site.put("/scan", breaks(CONTENT, after=9000), breaks(CONTENT, after=0))
    with pytest.raises(DownloadError, match=r"after 9,000 of 50,000 bytes.*Given up after 4 attempts; run the command again"):
        get(url, path, network, heard)
    assert path.read_bytes() == CONTENT[:9000]
    site.put("/scan", whole(CONTENT))
    get(url, path, network, heard)
    assert path.read_bytes() == CONTENT
    assert site.requests[-1].first_byte == 9000


def test_a_length_that_is_too_long_is_found_out(site: Site, path: Path, network: Network, heard: Heard) -> None:
    url = site.put("/scan", replies(200, CONTENT, length=len(CONTENT) + 5))
    with pytest.raises(DownloadError, match="after 50,000 of 50,005 bytes"):
        get(url, path, network, heard)


def test_a_length_that_is_not_the_published_one_is_refused_before_a_byte_is_kept(
    site: Site, path: Path, network: Network, heard: Heard
) -> None:
    with pytest.raises(ContentError, match=r"offers 50,000 bytes, but 49,999 are published"):
        get(site.put("/scan", whole(CONTENT)), path, network, heard, size_bytes=49_999)
    assert not path.exists()
    assert len(site.requests) == 1


def test_more_bytes_than_published_are_refused(site: Site, path: Path, network: Network, heard: Heard) -> None:
    with pytest.raises(ContentError, match="sends more than the 1,000 bytes"):
        get(site.put("/scan", replies(200, CONTENT, length=-1)), path, network, heard, size_bytes=1000)


def test_a_body_without_a_length_is_said_to_be_unproven(site: Site, path: Path, network: Network, heard: Heard) -> None:
    made = get(site.put("/scan", replies(200, CONTENT, length=-1)), path, network, heard)
    assert made.proof == ()
    assert "nothing proves it whole" in heard.said[-1]


def test_a_host_that_ignores_ranges_starts_over(site: Site, path: Path, network: Network, heard: Heard) -> None:
    url = site.put("/scan", without_ranges(CONTENT, sent=30_000, ETag='"a"'), without_ranges(CONTENT, ETag='"a"'))
    get(url, path, network, heard)
    assert path.read_bytes() == CONTENT
    assert site.requests[1].first_byte == 30_000


def test_a_file_that_changed_meanwhile_is_never_glued_to_its_old_beginning(
    site: Site, path: Path, network: Network, heard: Heard
) -> None:
    get(site.put("/scan", breaks(CONTENT, after=20_000), whole(OTHER)), path, network, heard)
    assert path.read_bytes() == OTHER


def test_a_changed_file_is_found_even_when_the_host_ignores_if_range(
    site: Site, path: Path, network: Network, heard: Heard
) -> None:
    url = site.put("/scan", breaks(CONTENT, after=20_000), breaks(OTHER, after=60_000), whole(OTHER))
    get(url, path, network, heard)
    assert path.read_bytes() == OTHER
    assert any("has changed since its first bytes came" in said for said in heard.said)


@pytest.mark.parametrize("said", ["bytes 0-49999/50000", "bytes 20001-49999/50000", "items 20000-49999/50000", ""])
def test_a_range_that_was_not_asked_for_is_not_taken(site: Site, path: Path, network: Network, heard: Heard, said: str) -> None:
    wrong = replies(206, CONTENT[20_000:], ETag=tag(CONTENT), Content_Range=said)
    get(site.put("/scan", breaks(CONTENT, after=20_000), wrong, whole(CONTENT)), path, network, heard)
    assert path.read_bytes() == CONTENT
    assert site.requests[-1].first_byte == 0


def test_bytes_of_a_file_without_a_version_are_not_gone_on_with_unless_a_checksum_will_tell(
    site: Site, path: Path, network: Network, heard: Heard
) -> None:
    broken = breaks(CONTENT, after=20_000, ETag="")
    get(site.put("/scan", broken, whole(CONTENT, ETag="")), path, network, heard)
    assert site.requests[-1].first_byte == 0
    get(site.put("/again", broken, whole(CONTENT, ETag="")), path.with_name("again.part"), network, heard, md5=MD5)
    assert site.requests[-1].first_byte == 20_000


def test_a_weak_tag_is_not_sent_as_a_condition(site: Site, path: Path, network: Network, heard: Heard) -> None:
    url = site.put("/scan", breaks(CONTENT, after=20_000, ETag='W/"a"'), whole(CONTENT, ETag='W/"a"'))
    get(url, path, network, heard, sha256=SHA256)
    assert site.requests[-1].first_byte == 20_000
    assert site.requests[-1].headers.get("If-Range") is None


def test_a_file_that_was_whole_before_the_end_is_not_fetched_again(
    site: Site, path: Path, network: Network, heard: Heard
) -> None:
    url = site.put("/scan", whole(CONTENT))
    get(url, path, network, heard, size_bytes=len(CONTENT), sha256=SHA256)
    get(url, path, network, heard, size_bytes=len(CONTENT), sha256=SHA256)
    assert len(site.requests) == 1
    get(url, path, network, heard)  # nothing published: the host says that there is no more
    assert [r.first_byte for r in site.requests] == [0, 50_000]


def test_a_wrong_checksum_is_tried_once_more_then_refused(site: Site, path: Path, network: Network, heard: Heard) -> None:
    url = site.put("/scan", whole(OTHER), whole(CONTENT))
    get(url, path, network, heard, sha256=SHA256)
    assert path.read_bytes() == CONTENT
    site.put("/scan", whole(OTHER))
    with pytest.raises(ContentError, match=rf"sha256 is \w+, published is {SHA256}, again"):
        get(url, path.with_name("b.part"), network, heard, sha256=SHA256)
    assert not path.with_name("b.part").exists()


def test_damage_in_the_bytes_that_are_here_is_found_and_mended(site: Site, path: Path, network: Network, heard: Heard) -> None:
    url = site.put("/scan", breaks(CONTENT, after=20_000), breaks(CONTENT, after=0))
    with pytest.raises(DownloadError):
        get(url, path, network, heard, sha256=SHA256)
    path.write_bytes(b"x" + path.read_bytes()[1:])
    site.put("/scan", whole(CONTENT))
    get(url, path, network, heard, sha256=SHA256)
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize("page", [b"<!DOCTYPE html><html>Log in</html>", b"\n<!-- x --><HTML><body>sorry</body></HTML>"])
@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "application/octet-stream"])
def test_a_web_page_is_not_a_file(site: Site, path: Path, network: Network, heard: Heard, page: bytes, kind: str) -> None:
    with pytest.raises(DownloadError, match=r"a web page came instead of scan\.nii\.gz"):
        get(site.put("/scan", replies(200, page, Content_Type=kind)), path, network, heard)
    assert len(site.requests) == 1


def test_a_web_page_is_a_file_where_one_is_asked_for(site: Site, path: Path, network: Network, heard: Heard) -> None:
    url = site.put("/a.html", replies(200, b"<html></html>", Content_Type="text/html"))
    assert get(url, path, network, heard, name="a.html").size == 13


def test_bytes_are_kept_as_they_are_sent(site: Site, path: Path, network: Network, heard: Heard) -> None:
    """Many servers call a .gz file 'gzip-encoded'; decoding it would store another file than the published one."""
    url = site.put("/scan", whole(CONTENT, Content_Encoding="x-gzip"))
    get(url, path, network, heard, sha256=SHA256)
    assert site.requests[0].headers["Accept-Encoding"] == "identity"
    with pytest.raises(DownloadError, match="compressed"):
        get(url, path.with_name("b"), network, heard, name="scan.mhd")


def test_a_host_that_falls_silent_is_left_and_asked_again(site: Site, path: Path, network: Network, heard: Heard) -> None:
    get(site.put("/scan", site.stalls(CONTENT, after=12_345), whole(CONTENT)), path, network, heard)
    assert path.read_bytes() == CONTENT
    assert site.requests[-1].first_byte == 12_345
    assert "nothing arrived for too long" in heard.said[0]


def test_a_host_that_drips_counts_as_stalled(site: Site, path: Path, heard: Heard) -> None:
    def drips(handler: Any, _request: Any) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "50000")
        handler.end_headers()
        for _ in range(200):
            handler.wfile.write(b"x")
            time.sleep(0.02)

    patient = Policy(attempts=1, slow_window_s=0.2, slow_bytes=1000, silence_s=5)
    with pytest.raises(DownloadError, match=r"only \d+ bytes in"):
        get(site.put("/scan", drips), path, Network(patient, threading.Event()), heard)


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_host_is_waited_for_as_long_as_it_asks(
    site: Site, path: Path, network: Network, heard: Heard, status: int
) -> None:
    begun = time.monotonic()
    get(site.put("/scan", replies(status, Retry_After="1"), whole(CONTENT)), path, network, heard)
    assert time.monotonic() - begun >= 1
    assert path.read_bytes() == CONTENT


def test_a_host_that_asks_for_too_much_patience_is_left(site: Site, path: Path, network: Network, heard: Heard) -> None:
    with pytest.raises(DownloadError, match="asks to come back in 3600 s"):
        get(site.put("/scan", replies(503, Retry_After="3600")), path, network, heard)
    assert len(site.requests) == 1


@pytest.mark.parametrize(("status", "asked"), [(404, 1), (410, 1), (400, 1), (500, 4), (502, 4)])
def test_only_what_may_pass_is_tried_again(
    site: Site, path: Path, network: Network, heard: Heard, status: int, asked: int
) -> None:
    with pytest.raises(DownloadError, match=str(status)):
        get(site.put("/scan", replies(status)), path, network, heard)
    assert len(site.requests) == asked


def test_a_host_that_is_not_there_is_said_to_be_so(path: Path, network: Network, heard: Heard) -> None:
    with running_site() as gone:
        url = gone.url("/scan")
    with pytest.raises(DownloadError, match=r"cannot be reached.*Given up after 4 attempts"):
        get(url, path, network, heard)


def test_a_refusal_is_for_a_person(site: Site, path: Path, network: Network, heard: Heard) -> None:
    with pytest.raises(ByHandError, match="refused with 403"):
        get(site.put("/scan", replies(403)), path, network, heard)


def test_a_link_that_expired_is_asked_for_again(site: Site, other_site: Site, path: Path, network: Network, heard: Heard) -> None:
    signed = other_site.put("/signed", breaks(CONTENT, after=9000), replies(403), whole(CONTENT))
    get(site.put("/scan", redirects(signed)), path, network, heard)
    assert path.read_bytes() == CONTENT
    assert len(site.requests) == 3


def test_stopping_keeps_what_is_here(site: Site, path: Path, network: Network, heard: Heard) -> None:
    url = site.put("/scan", site.stalls(CONTENT, after=30_000))
    threading.Timer(0.15, network.halt).start()
    with pytest.raises((StoppedError, DownloadError)):
        get(url, path, network, heard)
    site.put("/scan", whole(CONTENT))
    network.stop.clear()
    get(url, path, network, heard)
    assert path.read_bytes() == CONTENT
    assert site.requests[-1].first_byte == 30_000


def test_halting_ends_a_connection_at_once(site: Site, path: Path, heard: Heard) -> None:
    slow = Network(Policy(silence_s=30), threading.Event())
    threading.Timer(0.15, slow.halt).start()
    begun = time.monotonic()
    with pytest.raises(StoppedError):
        get(site.put("/scan", site.stalls(CONTENT, after=30_000)), path, slow, heard)
    assert time.monotonic() - begun < 5


def test_a_full_disk_is_said_and_what_is_here_is_kept(
    site: Site, small_disk: Path, network: Network, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = small_disk / "scan.part"
    hog = small_disk / "hog"
    hog.write_bytes(bytes(shutil.disk_usage(small_disk).free - 20_000))
    url = site.put("/scan", whole(CONTENT))
    with monkeypatch.context() as patch:
        usage = shutil.disk_usage(small_disk)
        patch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1 << 40))  # others fill it while we write
        with pytest.raises(DiskError, match=r"no room left.*make room and run again"):
            get(url, path, network, heard)
    assert path.exists()
    hog.unlink()
    get(url, path, network, heard)
    assert path.read_bytes() == CONTENT


def test_a_disk_that_is_too_small_is_said_before_anything_is_fetched(
    site: Site, path: Path, network: Network, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(path.anchor)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=49_000))
    with pytest.raises(DiskError, match="needs 50,000 bytes more, but only 49,000 are free"):
        get(site.put("/scan", whole(CONTENT)), path, network, heard)


def test_a_folder_that_cannot_be_written_to_is_said(site: Site, tmp_path: Path, network: Network, heard: Heard) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DiskError, match="cannot be written"):
        get(site.put("/scan", whole(CONTENT)), tmp_path / "file" / "scan.part", network, heard)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.binary(max_size=6000),
    cuts=st.lists(st.integers(0, 4000), max_size=5),
    published=st.booleans(),
    checkpoint=st.sampled_from([1, 700, 1 << 20]),
)
def test_wherever_it_is_cut_off_the_bytes_are_the_same(
    site: Site, tmp_path: Path, heard: Heard, content: bytes, cuts: list[int], *, published: bool, checkpoint: int
) -> None:
    """Each cut is a new process: nothing is left of the old one but its files."""
    folder = tmp_path / hashlib.sha256(repr((content, cuts, published, checkpoint)).encode()).hexdigest()
    path = folder / "a.part"
    facts = {"sha256": hashlib.sha256(content).hexdigest()} if published else {}
    policy = Policy(attempts=1, checkpoint_bytes=checkpoint, silence_s=5)
    for cut in cuts:
        url = site.put("/a", breaks(content, after=cut) if cut < len(content) else whole(content))
        try:
            get(url, path, Network(policy, threading.Event()), heard, **facts)
        except (DownloadError, PassingError):
            continue
    made = get(site.put("/a", whole(content)), path, Network(policy, threading.Event()), heard, **facts)
    assert path.read_bytes() == content
    assert made.checksums["sha256"] == hashlib.sha256(content).hexdigest()
    shutil.rmtree(folder)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kept=st.integers(0, 6000), written=st.integers(0, 6000), junk=st.booleans())
def test_bytes_beyond_what_is_safe_are_not_trusted(
    site: Site, tmp_path: Path, heard: Heard, kept: int, written: int, *, junk: bool
) -> None:
    """After a power cut a file may be longer than what reached the disk, and hold zeros there."""
    content = CONTENT[:5000]
    path = tmp_path / "a.part"
    kept, state = min(kept, 5000), {"etag": tag(content), "last_modified": "", "size": 5000}
    path.write_bytes((content[:kept] + (bytes(6000) if junk else content[kept:]))[: max(kept, written)])
    path.with_name("a.part.json").write_text(json.dumps({"version": state, "kept": kept}))
    get(site.put("/a", whole(content)), path, Network(QUICK, threading.Event()), heard)
    assert path.read_bytes() == content
