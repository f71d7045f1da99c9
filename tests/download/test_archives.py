from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import os
import re
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from resources.download.errors import ArchiveError
from resources.download.joined import archive_kind, is_foreign, missing_parts, open_joined, part_name, stem, unpacked_by_default
from resources.download.members import MemberRecord
from tests.download import packing
from tests.download.boxes import FILES, Box, refuses
from tests.download.packing import KINDS, pack, regular, special, tar_of


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_archive_gives_its_files(box: Box, tmp_path: Path, kind: str) -> None:
    assert box.unpack(pack(tmp_path / kind, FILES)) == FILES
    assert {f.path: (f.size, f.sha256) for f in box.record.files.values()} == {
        path: (len(content), hashlib.sha256(content).hexdigest()) for path, content in FILES.items()
    }
    assert MemberRecord(box.record_path, box.record._identity).complete


@pytest.mark.parametrize(
    "options", [["-cf"], ["-czf"], ["--format=pax", "-cf"], ["--format=v7", "-cf"], ["--format=ustar", "-cf"]]
)
def test_archives_of_the_tar_command_are_read(box: Box, tmp_path: Path, options: list[str]) -> None:
    files = {name: content for name, content in FILES.items() if name.isascii()}
    for name, content in files.items():
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).write_bytes(content)
    subprocess.run(["tar", *options, str(tmp_path / "a.tar"), "-C", str(tmp_path / "tree"), "."], check=True)
    assert box.unpack(tmp_path / "a.tar") == files


@pytest.mark.parametrize(
    ("name", "packer"), [("a.txt.gz", gzip.compress), ("a.txt.bz2", bz2.compress), ("a.txt.xz", lzma.compress)]
)
def test_a_compressed_file_is_unpacked_when_it_is_asked_for(box: Box, tmp_path: Path, name: str, packer: Any) -> None:
    (tmp_path / name).write_bytes(packer(FILES["imagesTr/case_001.nii.gz"]))
    assert box.unpack(tmp_path / name) == {"a.txt": FILES["imagesTr/case_001.nii.gz"]}


def test_windows_own_compression_is_read(box: Box, tmp_path: Path) -> None:
    content = b"".join(b"%d " % n for n in range(60_000))
    assert box.unpack(packing.deflate64_zip(tmp_path / "a.zip", "a.txt", content)) == {"a.txt": content}
    refuses(Box(tmp_path / "b"), packing.deflate64_zip(tmp_path / "b.zip", "a.txt", content, crc=1), "Bad CRC")


def test_folders_are_dropped_and_members_chosen(box: Box, tmp_path: Path) -> None:
    path = pack(tmp_path / "a.tar.gz", {f"repo-1.0/{name}": content for name, content in FILES.items()})
    wanted = (re.compile(r"[^/]+/imagesTr/.*"), re.compile(r"repo-1.0/dataset\.json"))
    assert set(box.unpack(path, strip=1, members=wanted)) == {
        "imagesTr/case_001.nii.gz", "imagesTr/case_002.nii.gz", "dataset.json",
    }  # fmt: skip


def test_a_link_that_is_not_wanted_does_no_harm(box: Box, tmp_path: Path) -> None:
    path = tar_of(tmp_path / "a.tar", [special("x/link", tarfile.SYMTYPE, "/etc/passwd"), regular("x/data/a", b"1")])
    assert box.unpack(path, members=(re.compile(r"x/data/.*"),)) == {"x/data/a": b"1"}


@pytest.mark.parametrize("size", [1, 1000, 65_536, 299_999])
@pytest.mark.parametrize("kind", ["a.zip", "a.tar.gz", "a.7z"])
def test_an_archive_in_parts_is_read_as_one(box: Box, tmp_path: Path, kind: str, size: int) -> None:
    whole = pack(tmp_path / kind, FILES if size > 1 else {"a.txt": b"1"}).read_bytes()
    parts = [tmp_path / f"{kind}.{n:03}" for n in range(1, -(-len(whole) // size) + 1)]
    for n, part in enumerate(parts):
        part.write_bytes(whole[n * size : (n + 1) * size])
    assert len(parts) < 500
    assert box.unpack(*parts, name=kind) == (FILES if size > 1 else {"a.txt": b"1"})


def test_a_missing_last_part_is_found_out(box: Box, tmp_path: Path) -> None:
    whole = pack(tmp_path / "a.zip", FILES).read_bytes()
    (tmp_path / "a.zip.001").write_bytes(whole[:200_000])
    with pytest.raises(ArchiveError, match="damaged, or not what its name says"):
        box.unpack(tmp_path / "a.zip.001", name="a.zip")


@given(
    content=st.binary(max_size=300),
    cuts=st.lists(st.integers(0, 300), max_size=6),
    reads=st.lists(st.tuples(st.integers(0, 320), st.integers(0, 99))),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_parts_read_as_one_are_their_bytes(tmp_path: Path, content: bytes, cuts: list[int], reads: list[tuple[int, int]]) -> None:
    bounds = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
    paths = [tmp_path / str(n) for n in range(len(bounds) - 1)]
    for n, path in enumerate(paths):
        path.write_bytes(content[bounds[n] : bounds[n + 1]])
    with open_joined(paths) as file:
        assert file.read() == content
        for start, count in reads:
            file.seek(start)
            assert file.read(count) == content[start : start + count]
        assert file.seek(0, os.SEEK_END) == len(content)


def test_remains_of_another_archive_are_removed(box: Box, tmp_path: Path) -> None:
    box.unpack(pack(tmp_path / "a.zip", FILES))
    assert box.unpack(pack(tmp_path / "a.zip", {"new": b"1"})) == {"new": b"1"}


@pytest.mark.parametrize(
    ("name", "base", "order"),
    [
        ("a.zip.001", "a.zip", "0001"), ("a.7z.012", "a.7z", "0012"), ("a.tar.gz.part3", "a.tar.gz", "0003"),
        ("a.zip.part01", "a.zip", "0001"), ("a.tar.ab", "a.tar", "ab"), ("dir/a.tgz.0", "dir/a.tgz", "0000"),
    ],
)  # fmt: skip
def test_names_of_parts_are_known(name: str, base: str, order: str) -> None:
    found = part_name(name)
    assert found is not None
    assert (found.base, found.order) == (base, order)


@pytest.mark.parametrize(
    "name", ["a.nii.gz", "a.zip", "a.tar.gz", "a.tar.xz", "a.tgz", "scan.001", "a.nii.gz.001", "a.part1.rar", "volume.7z"]
)
def test_other_names_are_no_parts(name: str) -> None:
    assert part_name(name) is None


@pytest.mark.parametrize(
    ("orders", "missing"),
    [
        (["0001"], False), (["0001", "0002"], False), (["0000", "0001"], False), (["0002", "0003"], True),
        (["0001", "0003"], True),
        (["aa", "ab", "ac"], False), (["aa", "ac"], True), (["ab"], True),
    ],
)  # fmt: skip
def test_missing_parts_are_noticed(orders: list[str], *, missing: bool) -> None:
    assert missing_parts(orders) == missing


def test_images_are_no_archives() -> None:
    unpacked = [
        name for name in ("a.nii.gz", "a.mha", "a.csv.gz", "a.zip", "A.ZIP", "a.TGZ", "a.7z.001") if unpacked_by_default(name)
    ]
    assert unpacked == ["a.zip", "A.ZIP", "a.TGZ", "a.7z.001"]
    assert archive_kind("a.nii.gz") == "single"
    assert [name for name in ("a.rar", "a.part1.rar", "a.z01", "a.tar.zst", "a.nii.gz") if is_foreign(name)] == [
        "a.rar", "a.part1.rar", "a.z01", "a.tar.zst",
    ]  # fmt: skip
    assert [stem(name) for name in ("x/a.tar.gz", "a.zip", "a.nii.gz", "a")] == ["x/a", "a", "a.nii", "a"]
