from __future__ import annotations

import random
import re
import shutil
import stat
import struct
import subprocess
import tarfile
import zipfile
import zlib
from contextlib import nullcontext
from pathlib import Path

import py7zr
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from resources.download.budget import Limits
from resources.download.errors import ArchiveError, DiskError, DownloadError
from tests.download.boxes import FILES, NOISE, Box, refuses
from tests.download.packing import KINDS, pack, regular, special, tar_of, zip_member, zip_of


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/evil", "..\\evil", "C:\\evil", "a\nb", "gpj\u202e.nii", "x" * 300])
def test_names_that_lead_out_or_deceive_are_refused(tmp_path: Path, name: str) -> None:
    tar = tar_of(tmp_path / "a.tar", [regular("good", b"1"), regular(name, b"2")])
    refuses(Box(tmp_path / "t"), tar, "the name")
    zipped = zip_of(tmp_path / "a.zip", [(zip_member("good"), b"1"), (zip_member(name), b"2")])
    refuses(Box(tmp_path / "z"), zipped, "the name")
    assert not (tmp_path / "evil").exists()
    assert not (tmp_path.parent / "evil").exists()


def seven_with_name(path: Path, name: str) -> Path:
    """The library refuses to write such names, so that one of the same length is exchanged afterwards."""
    with py7zr.SevenZipFile(path, "w", filters=[{"id": py7zr.FILTER_COPY}]) as archive:
        archive.header_encryption = False
        archive.encoded_header_mode = False
        archive.writestr(b"1", "x" * len(name))
    content = bytearray(path.read_bytes())
    old, new = ("x" * len(name)).encode("utf-16le"), name.encode("utf-16le")
    assert content.count(old) == 1
    content[:] = content.replace(old, new)
    offset, size = struct.unpack_from("<QQ", content, 12)
    struct.pack_into("<I", content, 28, zlib.crc32(content[32 + offset : 32 + offset + size]))
    struct.pack_into("<I", content, 8, zlib.crc32(content[12:32]))
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/evil/evil", "..\\evil", "C:\\evil"])
def test_such_names_are_refused_in_7z_too(tmp_path: Path, name: str) -> None:
    refuses(Box(tmp_path / "s"), seven_with_name(tmp_path / "a.7z", name), "the name|damaged")
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (tarfile.SYMTYPE, "a link to '../../etc/passwd'"), (tarfile.LNKTYPE, "a link"), (tarfile.FIFOTYPE, "a device or pipe"),
        (tarfile.CHRTYPE, "a device or pipe"), (tarfile.BLKTYPE, "a device or pipe"),
    ],
)  # fmt: skip
def test_only_files_and_folders_come_out_of_a_tar(box: Box, tmp_path: Path, kind: bytes, why: str) -> None:
    path = tar_of(tmp_path / "a.tar", [regular("good", b"1"), special("bad", kind, "../../etc/passwd"), regular("bad/x", b"2")])
    refuses(box, path, re.escape(why))


@pytest.mark.parametrize(("mode", "why"), [(stat.S_IFLNK | 0o777, "a link"), (stat.S_IFIFO, "pipe"), (stat.S_IFCHR, "device")])
def test_only_files_and_folders_come_out_of_a_zip(box: Box, tmp_path: Path, mode: int, why: str) -> None:
    refuses(box, zip_of(tmp_path / "a.zip", [(zip_member("good"), b"1"), (zip_member("bad", mode=mode), b"/etc/passwd")]), why)


def test_links_do_not_come_out_of_a_7z(box: Box, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    with py7zr.SevenZipFile(tmp_path / "a.7z", "w") as archive:
        archive.write(tmp_path / "link", "link")
    (tmp_path / "link").unlink()
    refuses(box, tmp_path / "a.7z", "a link")


def test_files_with_holes_are_refused(box: Box, tmp_path: Path) -> None:
    with (tmp_path / "holes").open("wb") as file:
        file.truncate(1 << 30)
    subprocess.run(["tar", "--sparse", "-cf", str(tmp_path / "a.tar"), "-C", str(tmp_path), "holes"], check=True)
    (tmp_path / "holes").unlink()
    refuses(box, tmp_path / "a.tar", "a file with holes")


@pytest.mark.parametrize(("first", "second"), [("a", "a"), ("Scan", "scan"), ("é", "e\u0301"), ("a", "a/b"), ("A/x", "a/y")])
@pytest.mark.parametrize("kind", ["a.zip", "a.tar"])
def test_names_that_are_one_on_some_disks_are_refused(box: Box, tmp_path: Path, kind: str, first: str, second: str) -> None:
    path = tmp_path / kind
    if kind == "a.zip":
        with pytest.warns(UserWarning, match="Duplicate name") if first == second else nullcontext():
            zip_of(path, [(zip_member(first), b"1"), (zip_member(second), b"2")])
    else:
        tar_of(path, [regular(first, b"1"), regular(second, b"2")])
    refuses(box, path, "two files are called|one name on some disks|both a file and a folder")


@pytest.mark.parametrize("kind", KINDS)
def test_too_many_members_are_refused(tmp_path: Path, kind: str) -> None:
    path = pack(tmp_path / kind, {f"{n}.txt": b"" for n in range(101)})
    refuses(Box(tmp_path / "box", Limits(members=100)), path, "more than 100 members")
    assert len(Box(tmp_path / "more", Limits(members=101)).unpack(path)) == 101


def test_a_directory_of_a_million_is_refused_before_it_is_read(tmp_path: Path) -> None:
    one = zip_of(tmp_path / "one.zip", [(zip_member("a"), b"")]).read_bytes()
    local, rest = one[: one.index(b"PK\x01\x02")], one[one.index(b"PK\x01\x02") :]
    entry = rest[: rest.index(b"PK\x05\x06")]
    count = 1_200_000
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 0xFFFF, 0xFFFF, len(entry) * count, len(local), 0)
    (tmp_path / "a.zip").write_bytes(local + entry * count + end)
    refuses(Box(tmp_path / "box"), tmp_path / "a.zip", "more than 1,000,000 members")


def test_members_beyond_the_old_limits_of_zip_are_counted(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", ((zipfile.ZipInfo(str(n)), b"") for n in range(66_000)))
    refuses(Box(tmp_path / "box", Limits(members=65_999)), path, "more than 65,999 members")


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "a.tar"])
def test_what_unpacks_to_implausibly_much_is_refused(tmp_path: Path, kind: str) -> None:
    path = pack(tmp_path / kind, {"zeros": bytes(3_000_000)})
    assert path.stat().st_size * 200 < 3_000_000
    limits = Limits(ratio_floor=1_000_000)
    refuses(Box(tmp_path / "box", limits), path, "more than 1,000,000 bytes, over 200 times its size")
    assert Box(tmp_path / "said", limits).unpack(path, unpacked_bytes=3_000_000) == {"zeros": bytes(3_000_000)}
    assert len(Box(tmp_path / "small", Limits()).unpack(path)) == 1  # below the floor


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_disk_cannot_hold_is_said_before_it_is_written(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = pack(tmp_path / kind, FILES)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=(256 << 20) + 299_999))
    with pytest.raises(DiskError, match=r"may be used in .*make room and run again"):
        Box(tmp_path / "box").unpack(path)


def test_a_full_disk_keeps_what_is_there(small_disk: Path, tmp_path: Path) -> None:
    path = pack(tmp_path / "a.zip", {f"{n}.bin": NOISE.randbytes(60_000) for n in range(12)})
    box = Box(small_disk, Limits(reserve=-(1 << 30)))
    with pytest.raises(DiskError, match="no room left"):
        box.unpack(path)
    assert 3 < len(box.files()) < 12
    assert box.record_path.exists()


def test_members_that_share_bytes_are_refused(box: Box, tmp_path: Path) -> None:
    """The quoted-overlap bomb: one compressed kernel, listed many times."""
    content = zip_of(tmp_path / "a.zip", [(zip_member("a"), bytes(50)), (zip_member("b"), bytes(50))]).read_bytes()
    start = content.index(b"PK\x01\x02")
    second = content.index(b"PK\x01\x02", start + 4)
    patched = bytearray(content)
    struct.pack_into("<I", patched, second + 42, 0)
    (tmp_path / "a.zip").write_bytes(patched)
    refuses(box, tmp_path / "a.zip", "overlap")


def test_sizes_that_lie_are_found_out(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", b"abc" * 1000)
    honest = (tmp_path / "a.zip").read_bytes()
    for said in (10, 2999, 3001, 1 << 31):
        content = bytearray(honest)
        struct.pack_into("<I", content, content.index(b"PK\x01\x02") + 24, said)
        (tmp_path / "b.zip").write_bytes(content)
        refuses(Box(tmp_path / str(said)), tmp_path / "b.zip", "damaged|has 3,000 bytes|more than|larger than")


def test_encrypted_members_are_said_to_be_so(tmp_path: Path) -> None:
    content = bytearray(pack(tmp_path / "a.zip", {"a": b"1"}).read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + at] |= 1
    (tmp_path / "a.zip").write_bytes(content)
    refuses(Box(tmp_path / "z"), tmp_path / "a.zip", "is encrypted; get the password from the provider")
    for hidden in (False, True):
        with py7zr.SevenZipFile(tmp_path / "a.7z", "w", password="x", header_encryption=hidden) as archive:  # noqa: S106
            archive.writestr(b"1", "a")
        refuses(Box(tmp_path / f"s{hidden}"), tmp_path / "a.7z", "encrypted; get the password from the provider")


@pytest.mark.parametrize("size", [-512, -1, 1 << 60])
def test_sizes_that_lead_back_or_nowhere_are_refused(box: Box, tmp_path: Path, size: int) -> None:
    """A negative size makes the standard library read one header for ever."""
    block = bytearray(tar_of(tmp_path / "a.tar", [regular("a", b"1" * 600)]).read_bytes())
    block[124:136] = (b"\xff" if size < 0 else b"\x80") + size.to_bytes(11, "big", signed=True)
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block[:512])
    (tmp_path / "a.tar").write_bytes(block)
    with pytest.raises(DownloadError):
        box.unpack(tmp_path / "a.tar")
    assert not box.files()


def test_a_header_of_any_size_is_not_read(box: Box, tmp_path: Path) -> None:
    info = tarfile.TarInfo("a")
    info.pax_headers = {"comment": "x" * (1 << 20)}
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(info)
    refuses(box, tmp_path / "a.tar", "a header of")


@pytest.mark.parametrize("kind", KINDS)
def test_an_archive_cut_off_anywhere_is_refused(tmp_path: Path, kind: str) -> None:
    whole = pack(tmp_path / kind, FILES).read_bytes()
    points = {0, 1, 100, len(whole) - 1, *(len(whole) * n // 9 for n in range(1, 9))}
    if kind == "a.tar":  # the padding after the mark of its end holds nothing
        points = {point for point in points if point < len(whole.rstrip(b"\0")) + 512}
    for point in sorted(points):
        (tmp_path / "cut" / kind).parent.mkdir(exist_ok=True)
        (tmp_path / "cut" / kind).write_bytes(whole[:point])
        refuses(Box(tmp_path / str(point)), tmp_path / "cut" / kind, "damaged|cut off|not compressed")


@pytest.mark.parametrize("kind", ["a.tar.gz", "a.zip", "a.7z", "a.tar.xz", "a.tar.bz2"])
def test_a_flipped_bit_is_never_unpacked_as_something_else(tmp_path: Path, kind: str) -> None:
    whole = pack(tmp_path / kind, FILES).read_bytes()
    draw = random.Random(3)
    for n in range(40):
        damaged = bytearray(whole)
        at = draw.randrange(len(whole))
        damaged[at] ^= 1 << draw.randrange(8)
        (tmp_path / kind).write_bytes(damaged)
        box = Box(tmp_path / str(n))
        try:
            found = box.unpack(tmp_path / kind)
        except ArchiveError:
            assert not box.folder.exists()
            continue
        # A flip may change a name or a time, which no checksum covers; it never changes what a file holds.
        assert sorted(found.values()) == sorted(FILES.values()), at


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.sampled_from(["a.zip", "a.tar", "a.tar.gz", "a.7z"]), noise=st.binary(max_size=400), at=st.integers(0, 2000))
def test_no_bytes_make_it_fail_in_another_way(tmp_path: Path, kind: str, noise: bytes, at: int) -> None:
    folder = tmp_path / "one"
    shutil.rmtree(folder, ignore_errors=True)
    whole = bytearray(pack(folder / kind, {"a.txt": b"hello" * 50, "b/c.bin": bytes(3000)}).read_bytes())
    whole[at : at + len(noise)] = noise
    (folder / kind).write_bytes(whole)
    try:
        Box(folder / "box").unpack(folder / kind)
    except ArchiveError:
        assert not (folder / "box" / "staging").exists()


LETTERS = st.sampled_from([*"ab./\\:A\0\n", "..", "é", "e\u0301", "\u202e"])


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.lists(st.lists(LETTERS, min_size=1, max_size=8).map("".join), min_size=1, max_size=6),
    kind=st.sampled_from(["a.zip", "a.tar"]),
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_whatever_members_are_called_nothing_lands_outside(tmp_path: Path, names: list[str], kind: str) -> None:
    root = tmp_path / "world"
    shutil.rmtree(root, ignore_errors=True)
    (root / "in").mkdir(parents=True)
    if kind == "a.zip":
        zip_of(root / kind, [(zip_member(name), b"1") for name in names])
    else:
        tar_of(root / kind, [regular(name.replace("\0", ""), b"1") for name in names])
    box = Box(root / "in" / "deep")
    try:
        box.unpack(root / kind)
    except ArchiveError:
        assert not box.folder.exists()
    inside = {path for path in root.rglob("*") if path.is_file() and not path.is_relative_to(box.folder)}
    assert inside <= {root / kind, box.record_path}
    assert not (tmp_path / "evil").exists()
