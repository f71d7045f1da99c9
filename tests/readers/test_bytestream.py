from __future__ import annotations

import gzip
import hashlib
import os
import random
import threading
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest

from resources.findings import BadInputError, Code
from resources.readers.bytestream import MAX_SURPLUS, PIECE, ByteStream
from resources.readers.registry import open_image
from resources.readers.source import examine
from tests.readers.makers import AFFINE, bounds, codes, nifti_bytes, read_all, refusal, voxels, write_nifti

BODY = np.random.default_rng(5).integers(-1000, 1000, (40, 30, 20)).astype(np.int16)
REFUSALS = {Code.TRUNCATED, Code.CHECKSUM_MISMATCH, Code.EMPTY_FILE, Code.TOO_LARGE, Code.WRONG_MAGIC, Code.BAD_HEADER}


@pytest.fixture
def gzipped(tmp_path: Path) -> Path:
    return write_nifti(tmp_path / "a.nii.gz", BODY)


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    return write_nifti(tmp_path / "a.nii", BODY)


def test_fingerprint_is_that_of_the_stored_bytes(gzipped: Path, plain: Path) -> None:
    for path in (gzipped, plain):
        image = open_image(path)
        assert image.sources == []
        np.testing.assert_array_equal(read_all(image), BODY)
        (source,) = image.sources
        assert source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert (source.path, source.size, source.mtime_ns) == (path, path.stat().st_size, path.stat().st_mtime_ns)
        assert codes(image) == set()


def test_a_second_pass_gives_the_same(gzipped: Path) -> None:
    image = open_image(gzipped)
    first = read_all(image)
    np.testing.assert_array_equal(read_all(image), first)
    assert len(image.sources) == 1


def test_file_is_proven_before_the_last_slab_is_given(gzipped: Path) -> None:
    content = bytearray(gzipped.read_bytes())
    content[-6] ^= 1
    gzipped.write_bytes(content)
    slabs = open_image(gzipped).slabs([(0, 10), (10, 20)])
    next(slabs)
    with pytest.raises(BadInputError, match="CRC"):
        next(slabs)


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
def test_truncation_anywhere_is_refused(tmp_path: Path, name: str) -> None:
    path = write_nifti(tmp_path / name, BODY)
    content = path.read_bytes()
    points = [0, 1, 2, 9, 10, 11, 30, 347, 348, 352, *(len(content) * n // 10 for n in range(1, 10)), len(content) - 9]
    points += [len(content) - 8, len(content) - 4, len(content) - 1]
    for point in points:
        path.write_bytes(content[:point])
        error = refusal(path)
        assert error.finding.code in REFUSALS, point
        if point > 1000:
            assert error.finding.code == Code.TRUNCATED
            assert "truncat" in str(error)


def test_no_bit_flip_in_gzip_passes(gzipped: Path) -> None:
    content = gzipped.read_bytes()
    dice = random.Random(11)
    unprotected = 0
    for bit in dice.sample(range(len(content) * 8), 200):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        gzipped.write_bytes(damaged)
        try:
            values = read_all(open_image(gzipped))
        except BadInputError as error:
            assert error.finding.code in REFUSALS  # noqa: PT017  # some flips are allowed to pass, see below
            continue
        # Ten bytes of a gzip header hold a time and a system's number, which no checksum covers and nobody reads.
        assert bit // 8 < 10
        np.testing.assert_array_equal(values, BODY)
        unprotected += 1
    assert unprotected < 3


@pytest.mark.parametrize("place", range(10))
def test_flips_in_the_gzip_header_never_change_voxels(gzipped: Path, place: int) -> None:
    content = gzipped.read_bytes()
    for bit in range(8):
        damaged = bytearray(content)
        damaged[place] ^= 1 << bit
        gzipped.write_bytes(damaged)
        try:
            values = read_all(open_image(gzipped))
        except BadInputError:
            continue
        np.testing.assert_array_equal(values, BODY)


def test_wrong_length_in_the_trailer_is_refused(gzipped: Path) -> None:
    content = bytearray(gzipped.read_bytes())
    content[-1] ^= 1
    gzipped.write_bytes(content)
    error = refusal(gzipped)
    assert error.finding.code == Code.CHECKSUM_MISMATCH
    assert "length" in str(error)


def test_several_gzip_members_are_one_file(tmp_path: Path) -> None:
    content = b"".join(nifti_bytes(BODY))
    path = tmp_path / "a.nii.gz"
    path.write_bytes(
        gzip.compress(content[:5000], mtime=0) + gzip.compress(b"", mtime=0) + gzip.compress(content[5000:], mtime=0)
    )
    image = open_image(path)
    np.testing.assert_array_equal(read_all(image), BODY)
    assert codes(image) == set()


def test_damage_in_the_second_gzip_member_is_refused(tmp_path: Path) -> None:
    content = b"".join(nifti_bytes(BODY))
    first, second = gzip.compress(content[:5000], mtime=0), bytearray(gzip.compress(content[5000:], mtime=0))
    path = tmp_path / "a.nii.gz"
    path.write_bytes(first + second[:-20])
    assert refusal(path).finding.code == Code.TRUNCATED
    path.write_bytes(first)
    assert refusal(path).finding.code == Code.TRUNCATED
    path.write_bytes(first + b"what is this")
    assert refusal(path).finding.code == Code.TRUNCATED
    second[len(second) // 2] ^= 4
    path.write_bytes(first + second)
    assert refusal(path).finding.code == Code.CHECKSUM_MISMATCH


@pytest.mark.parametrize(
    "tail",
    [b"x", b"junk", b"a longer tail that is no gzip", b"\0\0\0then something", b"\x1f\x8b", gzip.compress(b"more", mtime=0)[:-3]],
)
def test_foreign_bytes_behind_sound_gzip_are_reported(gzipped: Path, tail: bytes) -> None:
    gzipped.write_bytes(gzipped.read_bytes() + tail)
    image = open_image(gzipped)
    np.testing.assert_array_equal(read_all(image), BODY)
    assert [finding.code for finding in image.stream_findings] == [Code.TRAILING_BYTES]
    assert image.sources[0].sha256 == hashlib.sha256(gzipped.read_bytes()).hexdigest()


def test_long_foreign_tail_is_hashed_to_its_end(gzipped: Path) -> None:
    gzipped.write_bytes(gzipped.read_bytes() + b"tail" * PIECE)
    image = open_image(gzipped)
    np.testing.assert_array_equal(read_all(image), BODY)
    assert codes(image) == {Code.TRAILING_BYTES}
    assert image.sources[0].sha256 == hashlib.sha256(gzipped.read_bytes()).hexdigest()


def test_zero_padding_behind_gzip_is_nothing(gzipped: Path) -> None:
    gzipped.write_bytes(gzipped.read_bytes() + bytes(1000))
    image = open_image(gzipped)
    np.testing.assert_array_equal(read_all(image), BODY)
    assert codes(image) == set()


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
def test_bytes_behind_the_promised_voxels_are_counted(tmp_path: Path, name: str) -> None:
    content = b"".join(nifti_bytes(BODY)) + bytes(77)
    path = tmp_path / name
    path.write_bytes(gzip.compress(content, mtime=0) if name.endswith("gz") else content)
    image = open_image(path)
    np.testing.assert_array_equal(read_all(image), BODY)
    assert codes(image) == {Code.TRAILING_BYTES}
    assert "77 bytes follow" in image.stream_findings[0].detail


def test_endless_surplus_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.nii.gz"
    path.write_bytes(gzip.compress(b"".join(nifti_bytes(BODY)) + bytes(MAX_SURPLUS + 10 * PIECE), 1, mtime=0))
    assert refusal(path).finding.code == Code.TOO_LARGE


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
def test_change_between_header_and_voxels_is_refused(tmp_path: Path, name: str) -> None:
    path = write_nifti(tmp_path / name, BODY)
    image = open_image(path)
    write_nifti(path, BODY + 1)
    os.utime(path, ns=(1, 1))
    with pytest.raises(BadInputError) as caught:
        read_all(image)
    assert caught.value.finding.code == Code.FILE_CHANGED


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
@pytest.mark.parametrize("change", ["cut", "grown", "touched", "replaced", "gone"])
def test_change_while_the_voxels_are_read_is_refused(tmp_path: Path, name: str, change: str) -> None:
    path = write_nifti(tmp_path / name, np.random.default_rng(1).integers(0, 30000, (128, 128, 200)).astype(np.int16))
    slabs = open_image(path).slabs(bounds(200, 20))
    next(slabs)
    content = path.read_bytes()
    if change == "cut":
        os.truncate(path, len(content) // 2)
    elif change == "grown":
        path.write_bytes(content + b"more")
    elif change == "touched":
        os.utime(path, ns=(1, 1))
    elif change == "replaced":
        (tmp_path / "new").write_bytes(content)
        (tmp_path / "new").replace(path)
    else:
        path.unlink()
    with pytest.raises(BadInputError) as caught:
        list(slabs)
    assert caught.value.finding.code == (Code.UNREADABLE if change == "gone" else Code.FILE_CHANGED)


def test_missing_file_and_folder_are_unreadable(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.nii").finding.code == Code.UNREADABLE
    assert refusal(tmp_path).finding.code == Code.UNREADABLE


def test_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.nii")
    assert refusal(tmp_path / "a.nii").finding.code == Code.UNREADABLE


def test_denied_file_is_unreadable(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(plain))

    monkeypatch.setattr(Path, "open", denied)  # root may read everything, so a mode of 0 proves nothing here
    error = refusal(plain)
    assert error.finding.code == Code.UNREADABLE
    assert "Permission denied" in str(error)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_file_without_permission_is_unreadable(plain: Path) -> None:
    plain.chmod(0)
    assert refusal(plain).finding.code == Code.UNREADABLE


def test_failing_storage_is_unreadable(gzipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = ByteStream(examine(gzipped, "a"), 10)

    def failing(*_: object) -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(type(stream._stored), "readinto", failing)
    with stream, pytest.raises(BadInputError, match="Input/output error") as caught:
        stream.finish()
    assert caught.value.finding.code == Code.UNREADABLE


@pytest.mark.parametrize(
    ("content", "code", "word"),
    [
        (b"", Code.EMPTY_FILE, "empty"),
        (gzip.compress(b"", mtime=0), Code.EMPTY_FILE, "empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", Code.GIT_LFS_POINTER, "pointer"),
        (b"\r\n  <!DOCTYPE html><html>sign in</html>", Code.HTML_PAGE, "HTML"),
        (b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>", Code.HTML_PAGE, "HTML"),
        (gzip.compress(b"<html>quota exceeded</html>", mtime=0), Code.HTML_PAGE, "HTML"),
        (b"\x50\x4b\x03\x04" + bytes(500), Code.WRONG_MAGIC, "PK"),
        (gzip.compress(gzip.compress(bytes(500), mtime=0), mtime=0), Code.WRONG_MAGIC, "inflates to"),
        (b"\x1f\x8b\x08\x00" + b"\xff" * 200, Code.CHECKSUM_MISMATCH, "damaged"),
        (bytes(600), Code.WRONG_MAGIC, "begins with"),
    ],
)
def test_what_stands_in_for_a_file_is_named(tmp_path: Path, content: bytes, code: Code, word: str) -> None:
    path = tmp_path / "a.nii.gz"
    path.write_bytes(content)
    error = refusal(path, name="sub/a.nii.gz")
    assert (error.finding.code, error.finding.file) == (code, "sub/a.nii.gz")
    assert word in error.finding.detail


def test_memory_stays_at_one_slab(tmp_path: Path) -> None:
    array = np.zeros((256, 256, 200), np.int16)
    path = write_nifti(tmp_path / "a.nii.gz", array)
    tracemalloc.start()
    for _ in open_image(path).slabs(bounds(200, 4)):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 256 * 256 * 4 * 2 + 6 * PIECE


def test_stored_bytes_before_the_start_are_hashed_but_not_delivered(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"header" + gzip.compress(b"content", mtime=0))
    with ByteStream(examine(path, "a"), 7, inflate=True, start=6) as stream:
        target = bytearray(7)
        stream.fill(memoryview(target))
        ending = stream.finish()
    assert target == b"content"
    assert ending.source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_stored_deflate_blocks_and_other_levels(tmp_path: Path) -> None:
    content = b"".join(nifti_bytes(voxels((20, 30, 40)), AFFINE))
    for level in (0, 1, 9):
        path = tmp_path / f"{level}.nii.gz"
        packer = zlib.compressobj(level, zlib.DEFLATED, 31)
        path.write_bytes(packer.compress(content) + packer.flush())
        np.testing.assert_array_equal(read_all(open_image(path)), voxels((20, 30, 40)))


@pytest.mark.parametrize("suffix", [".nii", ".nii.gz"])
def test_long_files_are_hashed_aside_as_they_are_read(tmp_path: Path, suffix: str) -> None:
    """Longer than the pieces that are read, with a last piece that is short and one that is not."""
    for shape in ((128, 1024, 20), (131, 1601, 20)):
        body = np.random.default_rng(shape[0]).integers(-30_000, 30_000, shape).astype(np.int16)
        path = write_nifti(tmp_path / f"{shape[0]}{suffix}", body)
        image = open_image(path)
        np.testing.assert_array_equal(read_all(image, 7), body)
        assert image.sources[0].sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_fault_further_on_is_told_when_its_slab_is_asked_for(tmp_path: Path) -> None:
    path = write_nifti(tmp_path / "a.nii", BODY)
    path.write_bytes(path.read_bytes()[: -BODY[:, :, 0].nbytes])
    with pytest.raises(BadInputError, match="truncated"):
        open_image(path)
    packed = gzip.compress(b"".join(nifti_bytes(BODY)), 0)
    (tmp_path / "b.nii.gz").write_bytes(packed[: len(packed) * 3 // 4])
    slabs = open_image(tmp_path / "b.nii.gz").slabs(bounds(20, 5))
    np.testing.assert_array_equal(next(slabs).voxels, BODY[:, :, :5])
    with pytest.raises(BadInputError, match="truncated"):
        list(slabs)


def test_who_stops_early_leaves_no_file_open_and_no_thread(gzipped: Path) -> None:
    slabs = open_image(gzipped).slabs(bounds(20, 5))
    next(slabs)
    handles = Path("/proc/self/fd")
    before = len(list(handles.iterdir())) if handles.exists() else 0
    slabs.close()  # type: ignore[attr-defined]  # a generator
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("read-ahead")]
    if handles.exists():
        assert len(list(handles.iterdir())) == before - 1
