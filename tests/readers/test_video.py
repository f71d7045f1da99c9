"""Films written by PyAV: lossless ones against the values that went in, lossy ones against OpenCV's decoder."""

from __future__ import annotations

import struct
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import numpy.typing as npt
import pytest

from resources.findings import Code
from resources.readers import video
from resources.readers.source import ReadOptions, examine
from tests.readers.makers import codes
from tests.readers.pictures import collect, damaged, opened, read_or_refuse, refused

Array = npt.NDArray[Any]
DICE = np.random.default_rng(3)


def noise(shape: tuple[int, ...], dtype: npt.DTypeLike = np.uint8) -> Array:
    return DICE.integers(0, np.iinfo(dtype).max, shape).astype(dtype)


def smooth(frames: int, height: int = 48, width: int = 64) -> Array:
    """Something that moves and compresses well."""
    t, y, x = np.ogrid[:frames, :height, :width]
    red, green, blue = np.broadcast_arrays((3 * x + 5 * t) % 256, 4 * y + 0 * t + 0 * x, 128 + 0 * t + x - y)
    return np.stack([red, green, blue], axis=3).astype(np.uint8)


def write(path: Path, film: Array, codec: str, pixels: str, given: str, **options: str) -> Path:
    """A film of `[t, y, x]` or `[t, y, x, c]` values in FFmpeg's format `given`, stored as `pixels`."""
    with av.open(path, "w") as container:
        stream: Any = container.add_stream(codec, rate=Fraction(25), options=options)
        stream.height, stream.width, stream.pix_fmt = film.shape[1], film.shape[2], pixels
        for values in film:
            frame = av.VideoFrame.from_ndarray(values, format=given)
            for packet in stream.encode(frame):
                container.mux(packet)
        for packet in stream.encode(None):
            container.mux(packet)
    return path


@pytest.mark.parametrize("ending", [".avi", ".mkv"])
def test_a_grey_film_has_one_channel(tmp_path: Path, ending: str) -> None:
    film = noise((5, 16, 20))
    image = opened(write(tmp_path / f"a{ending}", film, "ffv1", "gray", "gray"))
    np.testing.assert_array_equal(collect(image)[..., 0], film.transpose(2, 1, 0))
    assert (image.format, image.space, image.third_axis, image.n_channels) == ("video", "picture", "time", 1)
    assert image.spacing_known == (False, False, False)
    assert codes(image) == set()


def test_sixteen_bits_stay(tmp_path: Path) -> None:
    film = noise((3, 16, 20), np.uint16)
    image = opened(write(tmp_path / "a.mkv", film, "ffv1", "gray16le", "gray16le"))
    np.testing.assert_array_equal(collect(image)[..., 0], film.transpose(2, 1, 0))


@pytest.mark.parametrize(
    ("ending", "codec", "pixels"), [(".avi", "ffv1", "bgr0"), (".avi", "rawvideo", "bgr24"), (".mov", "qtrle", "rgb24")]
)
def test_a_lossless_film_in_colour(tmp_path: Path, ending: str, codec: str, pixels: str) -> None:
    film = noise((4, 16, 20, 3))
    image = opened(write(tmp_path / f"a{ending}", film, codec, pixels, "rgb24"))
    np.testing.assert_array_equal(collect(image), film.transpose(2, 1, 0, 3))
    assert (image.n_channels, image.fourth_axis) == (3, "channel")


@pytest.mark.parametrize(
    ("ending", "codec", "pixels"), [(".avi", "mjpeg", "yuvj420p"), (".avi", "mpeg4", "yuv420p"), (".mp4", "mpeg4", "yuv420p")]
)
def test_a_lossy_film_is_near_what_went_in_and_what_opencv_reads(tmp_path: Path, ending: str, codec: str, pixels: str) -> None:
    film = smooth(7)
    path = write(tmp_path / f"a{ending}", film, codec, pixels, "rgb24")
    values = collect(opened(path)).transpose(2, 1, 0, 3)
    assert values.shape == film.shape
    reader = cv2.VideoCapture(str(path))
    for frame in values:
        there, known = reader.read()
        assert there
        assert np.abs(known[..., ::-1].astype(int) - frame).mean() < 1.5
    assert not reader.read()[0]
    reader.release()
    assert np.abs(values.astype(int) - film).mean() < 25


def test_a_declared_spacing_holds_for_rows_and_columns(tmp_path: Path) -> None:
    image = opened(write(tmp_path / "a.avi", noise((3, 16, 20)), "ffv1", "gray", "gray"), spacing_mm=(0.3, 0.4))
    np.testing.assert_array_equal(np.diag(image.affine_ras_mm), [0.3, 0.4, 1, 1])
    assert image.spacing_known == (True, True, False)


def test_a_container_that_states_another_number_of_frames(tmp_path: Path) -> None:
    path = write(tmp_path / "a.avi", noise((5, 16, 20)), "ffv1", "gray", "gray")
    content = bytearray(path.read_bytes())
    at = content.index(b"strh") + 8 + 32
    assert struct.unpack_from("<I", content, at) == (5,)
    struct.pack_into("<I", content, at, 9)
    path.write_bytes(content)
    image = opened(path)
    assert image.shape[2] == 5
    assert codes(image) == {Code.FRAME_COUNT}
    assert "9" in image.findings[0].detail


def test_large_films_are_decoded_by_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    film = noise((7, 16, 20, 3))
    path = write(tmp_path / "a.avi", film, "ffv1", "bgr0", "rgb24")
    monkeypatch.setattr(video, "IN_MEMORY", 1000)
    monkeypatch.setattr("resources.readers.arrays.IN_MEMORY", 1000)
    image = video.open_video(examine(path, "a.avi"), ReadOptions())
    np.testing.assert_array_equal(collect(image, 2), film.transpose(2, 1, 0, 3))


@pytest.mark.parametrize(("ending", "codec", "pixels"), [(".avi", "mjpeg", "yuvj420p"), (".mp4", "mpeg4", "yuv420p")])
def test_a_cut_film_is_truncated(tmp_path: Path, ending: str, codec: str, pixels: str) -> None:
    content = write(tmp_path / f"a{ending}", smooth(7), codec, pixels, "rgb24").read_bytes()
    for size in (100, len(content) // 2, len(content) - 1):
        (tmp_path / f"b{ending}").write_bytes(content[:size])
        assert refused(tmp_path / f"b{ending}").finding.code == Code.TRUNCATED


def test_a_damaged_frame_is_not_mended(tmp_path: Path) -> None:
    path = write(tmp_path / "a.avi", noise((5, 64, 64)), "ffv1", "gray", "gray", level="3", slicecrc="1")
    content = bytearray(path.read_bytes())
    at = content.index(b"00dc", len(content) // 2)
    content[at + 500 : at + 520] = b"\xff" * 20
    path.write_bytes(content)
    assert refused(path).finding.code == Code.CHECKSUM_MISMATCH


def test_too_many_frames_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.avi", noise((5, 16, 20)), "ffv1", "gray", "gray")
    assert refused(path, max_bytes=1000).finding.code == Code.TOO_LARGE


@pytest.mark.parametrize(
    ("ending", "codec", "pixels"),
    [(".avi", "mjpeg", "yuvj420p"), (".mp4", "mpeg4", "yuv420p"), (".webm", "libvpx-vp9", "yuv420p")],
)
def test_whatever_is_damaged_the_run_goes_on(tmp_path: Path, ending: str, codec: str, pixels: str) -> None:
    content = write(tmp_path / f"a{ending}", smooth(4), codec, pixels, "rgb24").read_bytes()
    results = [read_or_refuse(tmp_path / f"b{ending}", one) for one in damaged(content, 40)]
    assert not all(results)
