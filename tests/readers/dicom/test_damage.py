"""Untrusted files: whatever is in them, they cost bounded memory and time and end in a picture or a finding."""

from __future__ import annotations

import functools
import re
import resource
import struct
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from pydicom.encaps import encapsulate
from pydicom.uid import UID, DeflatedExplicitVRLittleEndian, ExplicitVRLittleEndian, JPEG2000Lossless, RLELossless

from resources.findings import BadInputError, Code
from resources.readers import process
from resources.readers.dicom import bounded, guard
from resources.readers.dicom.guard import DEFAULT, DecoderError, decompress
from resources.readers.dicom.series import open_series
from resources.readers.process import Limits
from resources.readers.registry import open_image
from resources.readers.source import ReadOptions
from resources.readers.wire import Call
from tests.readers.dicom.makers import file_bytes, only, packed, ramp, scan, series_refusal, slice_of, write, write_stack
from tests.readers.makers import read_all, refusal

MIB = 1 << 20


def deflated(header: bytes, inflated: int) -> bytes:
    """A deflated file whose data set is `header` and then `inflated` zero bytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(header) + packer.flush(zlib.Z_FULL_FLUSH) + zeros(inflated)


@functools.cache
def zeros(count: int) -> bytes:
    """A deflated run of zero bytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return b"".join([*(packer.compress(bytes(MIB)) for _ in range(count // MIB)), packer.flush()])


def deflated_file(path: Path, pixel_length: int, inflated: int, *, private: bool = False, **elements: Any) -> Path:
    """A file whose pixels (or a private element before them) are said to be, and are, as long as one likes."""
    ds = slice_of(ramp(), **elements)
    del ds.PixelData
    plain = file_bytes(ds, ExplicitVRLittleEndian, preamble=False)
    tag = (0x0009, 0x1010) if private else (0x7FE0, 0x0010)
    giant = struct.pack("<HH2sHI", *tag, b"OB" if private else b"OW", 0, pixel_length)
    start = plain.index(b"\x10\x00\x10\x00PN") if private else len(plain)
    meta = file_bytes(slice_of(ramp()), DeflatedExplicitVRLittleEndian)
    meta = meta[: 132 + 12 + struct.unpack_from("<I", meta, 140)[0]]
    path.write_bytes(meta + deflated(plain[:start] + giant, inflated))
    return path


def measured(work: Any) -> tuple[Any, int]:
    """The result of some work, and the most memory Python held during it."""
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("private", [False, True])
def test_a_deflated_bomb_is_refused_by_its_size(tmp_path: Path, private: bool) -> None:
    path = deflated_file(tmp_path / "bomb", 512 * MIB, 512 * MIB, private=private)
    assert path.stat().st_size < 530_000
    error, peak = measured(lambda: refusal(path))
    assert error.finding.code in {Code.TOO_LARGE, Code.TRUNCATED, Code.BAD_HEADER}
    assert peak < 80 * MIB


@pytest.mark.slow
def test_a_deflated_bomb_behind_the_pixels_is_not_inflated(tmp_path: Path) -> None:
    path = deflated_file(tmp_path / "bomb", 40, 512 * MIB)
    values, peak = measured(lambda: read_all(open_image(path)))
    assert not values.any()
    assert peak < 80 * MIB


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"Rows": 65535, "Columns": 65535}, Code.TRUNCATED),
        ({"Rows": 0}, Code.BAD_HEADER),
        ({"Columns": None}, Code.BAD_HEADER),
        ({"Rows": None}, Code.BAD_HEADER),
        ({"BitsAllocated": None}, Code.BAD_HEADER),
        ({"BitsAllocated": 12, "BitsStored": 12, "HighBit": 11}, Code.UNSUPPORTED_DATA),
        ({"BitsStored": 17, "HighBit": 16}, Code.BAD_HEADER),
        ({"NumberOfFrames": 2_000_000_000}, Code.TRUNCATED),
        ({"NumberOfFrames": -1}, Code.BAD_HEADER),
        ({"NumberOfFrames": 0}, Code.BAD_HEADER),
        ({"PhotometricInterpretation": "CMYK", "SamplesPerPixel": 4}, Code.UNSUPPORTED_DATA),
        ({"SamplesPerPixel": 3}, Code.BAD_HEADER),
        ({"PhotometricInterpretation": "PALETTE COLOR"}, Code.BAD_HEADER),
        ({"PixelSpacing": [0.5, 0.0]}, Code.BAD_HEADER),
        ({"PixelSpacing": [0.5, -1.0]}, Code.BAD_HEADER),
        ({"PixelSpacing": [0.5]}, Code.BAD_HEADER),
        ({"ImageOrientationPatient": [1, 0, 0, 1, 0, 0]}, Code.BAD_HEADER),
        ({"ImageOrientationPatient": [1, 0, 0, 0, 2, 0]}, Code.BAD_HEADER),
        ({"ImageOrientationPatient": [0, 0, 0, 0, 0, 0]}, Code.BAD_HEADER),
        ({"ImagePositionPatient": [0, 0, 1e12]}, Code.BAD_AFFINE),
        ({"RescaleSlope": 0}, Code.BAD_HEADER),
    ],
)
def test_absurd_headers_are_refused(tmp_path: Path, change: dict[str, Any], code: Code) -> None:
    write(tmp_path / "s", slice_of(ramp(), **change))
    finding = series_refusal(tmp_path)
    assert (finding.code, finding.file) == (code, "s")


def test_no_memory_is_promised_to_a_header(tmp_path: Path) -> None:
    frame = slice_of(ramp(), None, Rows=60000, Columns=60000, NumberOfFrames=1000)
    frame.PixelData = encapsulate([b"\xff\x4f\xff\x51" + b"\0" * 200])
    frame["PixelData"].VR, frame["PixelData"].is_undefined_length = "OB", True
    path = write(tmp_path / "s", frame, JPEG2000Lossless)
    error, peak = measured(lambda: refusal(path))
    assert error.finding.code == Code.TOO_LARGE
    assert peak < 10 * MIB


def test_the_limit_of_the_spec_holds(tmp_path: Path) -> None:
    series = only(write_stack(tmp_path, [0, 2, 4]))
    assert open_series(series, options=ReadOptions(max_bytes=120)).shape == (5, 4, 3)
    with pytest.raises(BadInputError) as caught:
        open_series(series, options=ReadOptions(max_bytes=119))
    assert caught.value.finding.code == Code.TOO_LARGE


@pytest.mark.parametrize("cut", [1, 17, 40])
def test_cut_pixels_are_refused_in_the_header(tmp_path: Path, cut: int) -> None:
    write_stack(tmp_path, [0, 2, 4])
    content = (tmp_path / "s001.dcm").read_bytes()
    (tmp_path / "s001.dcm").write_bytes(content[:-cut])
    series = only(tmp_path)
    assert series.refusal is not None
    assert (series.refusal.code, series.refusal.file) == (Code.TRUNCATED, "s001.dcm")


def test_every_cut_of_a_file_is_noticed(tmp_path: Path) -> None:
    content = file_bytes(slice_of(ramp()))
    for size in range(len(content)):
        (tmp_path / "s").write_bytes(content[:size])
        for series in scan(tmp_path):
            if series.kind == "image":
                with pytest.raises(BadInputError):
                    open_series(series)
            else:
                assert series.kind in {"unreadable", "other"}


def test_cut_compressed_pixels_are_refused(tmp_path: Path) -> None:
    content = file_bytes(packed(slice_of(ramp())), RLELossless)
    for size in range(content.index(b"\xfe\xff\x00\xe0"), len(content)):
        (tmp_path / "s").write_bytes(content[:size])
        assert refusal(tmp_path / "s").finding.code == Code.TRUNCATED


@pytest.mark.parametrize("explicit", [True, False])
def test_a_header_of_a_million_pieces_is_given_up(tmp_path: Path, explicit: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "MAX_READS", 20_000)
    monkeypatch.setattr(bounded.Budget.__init__, "__defaults__", (20_000, bounded.MAX_HEADER_BYTES))
    item = struct.pack("<HHI", 0xFFFE, 0xE000, 0)
    items = item * 30_000
    length = len(items) if explicit else 0xFFFFFFFF
    end = b"" if explicit else struct.pack("<HHI", 0xFFFE, 0xE0DD, 0)
    bomb = struct.pack("<HH2sHI", 0x5200, 0x9230, b"SQ", 0, length) + items + end
    content = file_bytes(slice_of(ramp()))
    (tmp_path / "s").write_bytes(content.replace(b"\xe0\x7f\x10\x00OW", bomb + b"\xe0\x7f\x10\x00OW"))
    finding = refusal(tmp_path / "s").finding
    assert finding.code == Code.TOO_LARGE
    assert "pieces" in finding.detail


def test_a_header_nested_without_end_is_refused(tmp_path: Path) -> None:
    level = struct.pack("<HH2sHI", 0x0040, 0xA730, b"SQ", 0, 0xFFFFFFFF) + struct.pack("<HHI", 0xFFFE, 0xE000, 0xFFFFFFFF)
    content = file_bytes(slice_of(ramp()))
    (tmp_path / "s").write_bytes(content.replace(b"\xe0\x7f\x10\x00OW", level * 5000 + b"\xe0\x7f\x10\x00OW"))
    assert refusal(tmp_path / "s").finding.code == Code.BAD_HEADER


def test_a_giant_private_element_is_passed_over(tmp_path: Path) -> None:
    giant = struct.pack("<HH2sHI", 0x0009, 0x1010, b"OB", 0, 300 * MIB)
    content = file_bytes(slice_of(ramp()))
    place = content.index(b"\x10\x00\x10\x00PN")
    with (tmp_path / "s").open("wb") as file:
        file.write(content[:place] + giant)
        file.seek(300 * MIB, 1)
        file.write(content[place:])
    (image, peak) = measured(lambda: open_image(tmp_path / "s"))
    assert image.shape == (5, 4, 1)
    assert peak < 20 * MIB


# Decoders


def job(**options: Any) -> dict[str, Any]:
    return {
        "rows": 4, "columns": 5, "number_of_frames": 1, "samples_per_pixel": 1, "photometric_interpretation": "MONOCHROME2",
        "bits_allocated": 16, "bits_stored": 16, "pixel_representation": 0, "pixel_keyword": "PixelData", **options,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("crash", "broke down (SIGSEGV)"),
        ("abort", "broke down (SIGABRT)"),
        ("exit", "exit status 3"),
        ("kill", "stopped from outside (SIGKILL)"),
        ("hang", "silent for 3 s"),
        ("memory", "more than the 2048 MiB"),
        ("long", "gives 3145728 bytes where 40 are promised"),
        ("objects", "an array of objects"),
        ("fault", "BufferError"),
        ("nothing", "KeyError: 'nothing'"),
    ],
)
def test_a_decoder_that_misbehaves_costs_its_frame_only(how: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "START_SECONDS", 60.0 if how != "hang" else 0.0)
    calm = Limits(2 << 30, 30.0)
    assert guard.ask(misdecoding("noise"), 40, calm).tolist() == [[1] * 4] * 5
    with pytest.raises(DecoderError, match=re.escape(reason)) as met:
        guard.ask(misdecoding(how), 40, Limits(2 << 30, 3.0) if how == "hang" else calm)
    assert met.value.passing == (how == "kill")
    monkeypatch.undo()
    assert guard.ask(misdecoding("noise"), 40, calm).tolist() == [[1] * 4] * 5


def misdecoding(how: str) -> Call:
    return Call("tests.readers.misbehaviour", "decode", (how,))


@pytest.mark.parametrize(("how", "code"), [("crash", Code.DECODER_FAILED), ("kill", Code.UNREADABLE)])
def test_a_crash_is_a_finding_and_the_next_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, code: Code
) -> None:
    for name in "ab":
        write(tmp_path / name, packed(slice_of(ramp())), RLELossless)
    with monkeypatch.context() as patch:
        patch.setattr(guard, "Call", lambda *_: misdecoding(how))
        error = refusal(tmp_path / "a")
    assert (error.finding.code, error.finding.file) == (code, "a")
    assert "frame 0 cannot be decompressed" in str(error)
    np.testing.assert_array_equal(read_all(open_image(tmp_path / "b"))[..., 0].T, ramp())


def test_the_memory_of_a_decoder_is_limited() -> None:
    with process.borrowed() as helper:
        helper.send(misdecoding("noise"), Limits(1 << 30, 60.0))
        helper.answer(40)
        try:
            told = Path(f"/proc/{helper.process.pid}/limits").read_text(encoding="ascii")
            taken = int(Path(f"/proc/{helper.process.pid}/statm").read_text(encoding="ascii").split()[0])
        except FileNotFoundError:
            pytest.skip("needs /proc to look at another process")
    (limit,) = re.findall(r"Max address space +(\d+)", told)
    assert abs(int(limit) - (1 << 30) - taken * resource.getpagesize()) < 128 * MIB
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY


@pytest.mark.parametrize("syntax", ["1.2.840.10008.1.2.4.103", "1.2.840.113619.5.2", "1.2.3.4"])
def test_syntaxes_without_a_decoder_are_named(tmp_path: Path, syntax: str) -> None:
    ds = slice_of(ramp())
    ds.PixelData = encapsulate([b"\0" * 40])
    ds["PixelData"].VR, ds["PixelData"].is_undefined_length = "OB", True
    known = UID(syntax) if len(syntax) > len(JPEG2000Lossless) else JPEG2000Lossless
    old = known.encode()
    (tmp_path / "s").write_bytes(file_bytes(ds, known).replace(old, syntax.encode().ljust(len(old), b"\0")))
    finding = refusal(tmp_path / "s").finding
    assert finding.code in {Code.UNSUPPORTED_DATA, Code.DECODER_FAILED}
    assert syntax in finding.detail or UID(syntax).name in finding.detail


def test_plain_pixels_under_a_compressed_syntax_are_refused(tmp_path: Path) -> None:
    content = file_bytes(slice_of(ramp()), ExplicitVRLittleEndian)
    old, new = b"1.2.840.10008.1.2.1\0", b"1.2.840.10008.1.2.5\0"
    (tmp_path / "s").write_bytes(content.replace(old, new))
    finding = refusal(tmp_path / "s").finding
    assert finding.code == Code.BAD_HEADER
    assert "RLE" in finding.detail


def test_a_picture_of_another_size_than_promised_is_refused(tmp_path: Path, shared_data: Path) -> None:
    source = pydicom.dcmread(shared_data / "dicom/dicom2nifti/generic/compressed/001/IM-0001-0001-0001.dcm")
    source.Rows = 255
    source.save_as(tmp_path / "s")
    assert refusal(tmp_path / "s").finding.code == Code.DECODER_FAILED


def test_damaged_frames_are_refused_not_guessed(shared_data: Path) -> None:
    """Noise for a frame: an answer of the promised size, or an error; never a crash of this process."""
    random = np.random.default_rng(5)
    for syntax in ("1.2.840.10008.1.2.5", "1.2.840.10008.1.2.4.70", "1.2.840.10008.1.2.4.90", "1.2.840.10008.1.2.4.80"):
        for _ in range(6):
            try:
                found = decompress(random.bytes(200), syntax, job(), 40, Limits(DEFAULT.memory_bytes, 10.0))
                assert found.nbytes <= 40
            except DecoderError as error:
                assert str(error)  # noqa: PT017  # either is right
