"""PNG, JPEG, GIF, BMP and PNM, written by Pillow, imagecodecs or by hand, against the values that went in."""

from __future__ import annotations

import gzip
import io
import struct
import zlib
from pathlib import Path
from typing import Any

import imagecodecs
import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from resources.findings import Code
from resources.geometry import closest_ras
from tests.readers.makers import codes
from tests.readers.pictures import collect, damaged, opened, read_or_refuse, refused, rows_columns

Array = npt.NDArray[Any]
DICE = np.random.default_rng(7)


def noise(shape: tuple[int, ...], most: int = 256, dtype: npt.DTypeLike = np.uint8) -> Array:
    return DICE.integers(0, most, shape).astype(dtype)


def saved(path: Path, array: Array, mode: str | None = None, palette: list[int] | None = None, **more: Any) -> Path:
    image = Image.fromarray(array) if mode is None else Image.frombytes(mode, array.shape[1::-1], array.tobytes())
    if palette is not None:
        image.putpalette(palette)
    image.save(path, **more)
    return path


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_of_bits(array: Array, depth: int) -> bytes:
    """A grey PNG of 1, 2 or 4 bits, made by hand."""
    height, width = array.shape
    bits = np.unpackbits(array[..., None].astype(np.uint8), axis=2)[:, :, 8 - depth :].reshape(height, -1)
    rows = b"".join(b"\0" + row.tobytes() for row in np.packbits(bits, axis=1))
    header = struct.pack(">IIBBBBB", width, height, depth, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def bmp_of(array: Array, bits: int, palette: list[int], *, upward: bool = True, used: int = 0) -> bytes:
    """A BMP of grey palette indices, made by hand."""
    height, width = array.shape
    stored = np.unpackbits(array[..., None].astype(np.uint8), axis=2)[:, :, 8 - bits :].reshape(height, -1)
    rows = [row.tobytes() + b"\0" * (-len(row.tobytes()) % 4) for row in np.packbits(stored, axis=1)]
    body = b"".join(rows[::-1] if upward else rows)
    start = 54 + 4 * len(palette)
    header = struct.pack("<IHHI", start + len(body), 0, 0, start)
    info = struct.pack("<IiiHHIIiiII", 40, width, height if upward else -height, 1, bits, 0, len(body), 2835, 2835, used, 0)
    return b"BM" + header + info + b"".join(bytes((grey, grey, grey, 0)) for grey in palette) + body


@pytest.mark.parametrize("ending", [".png", ".bmp", ".ppm", ".tga.png"])
def test_colours_are_channels(tmp_path: Path, ending: str) -> None:
    array = noise((7, 10, 3))
    image = opened(saved(tmp_path / f"a{ending}", array))
    np.testing.assert_array_equal(rows_columns(image), array)
    assert (image.shape, image.n_channels, image.fourth_axis) == ((10, 7, 1), 3, "channel")
    assert (image.space, image.spacing_known, image.orientation_known) == ("picture", (False, False, False), False)
    assert codes(image) == set()


@pytest.mark.parametrize("ending", [".png", ".bmp", ".pgm", ".gif"])
def test_grey_has_one_channel(tmp_path: Path, ending: str) -> None:
    array = noise((7, 10))
    image = opened(saved(tmp_path / f"a{ending}", array))
    np.testing.assert_array_equal(rows_columns(image), array)
    assert (image.n_channels, image.fourth_axis) == (1, "none")


@pytest.mark.parametrize("ending", [".png", ".pgm"])
def test_sixteen_bits_stay(tmp_path: Path, ending: str) -> None:
    array = noise((7, 10), 1 << 16, np.uint16)
    np.testing.assert_array_equal(rows_columns(opened(saved(tmp_path / f"a{ending}", array))), array)


@pytest.mark.parametrize("samples", [3, 4, 2])
def test_sixteen_bits_a_colour_stay(tmp_path: Path, samples: int) -> None:
    array = noise((7, 10, samples), 1 << 16, np.uint16)
    (tmp_path / "a.png").write_bytes(imagecodecs.png_encode(array))
    np.testing.assert_array_equal(rows_columns(opened(tmp_path / "a.png")), array)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_grey_of_few_bits_is_not_stretched(tmp_path: Path, depth: int) -> None:
    array = noise((7, 10), 1 << depth)
    (tmp_path / "a.png").write_bytes(png_of_bits(array, depth))
    np.testing.assert_array_equal(rows_columns(opened(tmp_path / "a.png")), array)


@pytest.mark.parametrize("ending", [".png", ".gif", ".bmp"])
def test_a_palette_is_its_colours_or_its_indices(tmp_path: Path, ending: str) -> None:
    array = noise((7, 10), 5)
    palette = [9, 8, 7, 255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30]
    path = saved(tmp_path / f"a{ending}", array, "P", palette)
    np.testing.assert_array_equal(rows_columns(opened(path)), np.reshape(palette, (5, 3))[array])
    np.testing.assert_array_equal(rows_columns(opened(path, key="index")), array)
    assert refused(path, key="labels").finding.code == Code.NO_SUCH_ARRAY


@pytest.mark.parametrize("ending", [".png", ".gif", ".bmp"])
def test_a_grey_palette_is_grey(tmp_path: Path, ending: str) -> None:
    array = noise((7, 10), 2)
    path = saved(tmp_path / f"a{ending}", array, "P", [0, 0, 0, 255, 255, 255])
    image = opened(path)
    assert image.n_channels == 1
    np.testing.assert_array_equal(rows_columns(image), array * 255)
    np.testing.assert_array_equal(rows_columns(opened(path, key="index")), array)


@pytest.mark.parametrize(
    ("bits", "palette", "used"),
    [(8, [0, 255], 2), (8, [0, 255], 0), (4, list(range(16)), 16), (1, [0, 255], 0), (1, [255, 0], 2), (8, list(range(256)), 0)],
)
@pytest.mark.parametrize("upward", [True, False])
def test_bitmaps_of_few_colours(tmp_path: Path, bits: int, palette: list[int], used: int, upward: bool) -> None:
    array = noise((5, 11), min(len(palette), 1 << bits))
    (tmp_path / "a.bmp").write_bytes(bmp_of(array, bits, palette, upward=upward, used=used))
    np.testing.assert_array_equal(rows_columns(opened(tmp_path / "a.bmp")), np.array(palette)[array])
    np.testing.assert_array_equal(rows_columns(opened(tmp_path / "a.bmp", key="index")), array)


def test_a_bitmap_with_run_lengths(tmp_path: Path) -> None:
    rows = b"".join(bytes((5, value, 2, value + 1, 0, 0)) for value in (3, 2, 1))
    head = struct.pack("<IHHI", 54 + 1024 + len(rows) + 2, 0, 0, 54 + 1024)
    info = struct.pack("<IiiHHIIiiII", 40, 7, 3, 1, 8, 1, len(rows) + 2, 0, 0, 0, 0)
    palette = b"".join(bytes((number, 0, 0, 0)) for number in range(256))
    (tmp_path / "a.bmp").write_bytes(b"BM" + head + info + palette + rows + b"\0\1")
    expected = [[value] * 5 + [value + 1] * 2 for value in (1, 2, 3)]
    np.testing.assert_array_equal(rows_columns(opened(tmp_path / "a.bmp", key="index")), expected)


@pytest.mark.parametrize("most", [1, 15, 255, 300, 4095, 65535])
@pytest.mark.parametrize("kind", [2, 3, 5, 6])
def test_portable_numbers_are_not_stretched(tmp_path: Path, most: int, kind: int) -> None:
    array = noise((4, 5, 3) if kind % 3 == 0 else (4, 5), most + 1, np.uint16)
    head = f"P{kind}\n# made by hand\n5 4 # size\n{most}\n".encode()
    text = " ".join(str(value) for value in array.ravel()).encode() + b"\n"
    body = text if kind < 4 else array.astype(">u2" if most > 255 else "u1").tobytes()
    (tmp_path / "a.pgm").write_bytes(head + body)
    np.testing.assert_array_equal(rows_columns(opened(tmp_path / "a.pgm")), array)


@pytest.mark.parametrize("kind", [1, 4])
def test_portable_bits_are_one_for_ink(tmp_path: Path, kind: int) -> None:
    array = noise((4, 11), 2)
    text = "\n".join("".join(map(str, row)) for row in array).encode()
    (tmp_path / "a.pbm").write_bytes(f"P{kind} 11 4\n".encode() + (text if kind == 1 else np.packbits(array, axis=1).tobytes()))
    np.testing.assert_array_equal(rows_columns(opened(tmp_path / "a.pbm")), array)


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_an_opaque_alpha_is_dropped_and_another_is_told(tmp_path: Path, mode: str) -> None:
    array = noise((7, 10, len(mode)))
    array[..., -1] = 255
    image = opened(saved(tmp_path / "a.png", array, mode))
    np.testing.assert_array_equal(rows_columns(image), array[..., :-1] if mode == "RGBA" else array[..., 0])
    assert codes(image) == set()
    array[2, 3, -1] = 254
    image = opened(saved(tmp_path / "a.png", array, mode))
    np.testing.assert_array_equal(rows_columns(image), array)
    assert codes(image) == {Code.TRANSPARENCY}
    assert "1 of 70 pixels" in image.findings[0].detail


def test_a_transparent_colour_is_a_colour(tmp_path: Path) -> None:
    array = noise((7, 10), 3)
    for ending in (".gif", ".png"):
        image = opened(saved(tmp_path / f"a{ending}", array, "P", [0, 0, 0, 9, 9, 9, 50, 50, 50], transparency=1))
        np.testing.assert_array_equal(rows_columns(image), np.array([0, 9, 50])[array])
        assert codes(image) == {Code.TRANSPARENCY}


@pytest.mark.parametrize(("mode", "channels"), [("L", 1), ("RGB", 3)])
def test_a_jpeg_is_what_libjpeg_makes_of_it(tmp_path: Path, mode: str, channels: int) -> None:
    smooth = np.add.outer(np.arange(37) * 3, np.arange(50) * 2).astype(np.uint8)
    array = smooth if channels == 1 else np.stack([smooth, smooth[::-1], 255 - smooth], axis=2)
    path = saved(tmp_path / "a.jpg", np.ascontiguousarray(array), mode, quality=90)
    image = opened(path)
    values = rows_columns(image)
    np.testing.assert_array_equal(values, imagecodecs.jpeg_decode(path.read_bytes()))
    assert np.abs(values.astype(int) - array).max() < 30
    assert image.n_channels == channels


@pytest.mark.parametrize("progressive", [False, True])
def test_a_jpeg_with_restarts_and_a_turn(tmp_path: Path, progressive: bool) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    path = saved(tmp_path / "a.jpg", noise((40, 50)), exif=exif, progressive=progressive, restart_marker_rows=1)
    image = opened(path)
    np.testing.assert_array_equal(rows_columns(image), imagecodecs.jpeg_decode(path.read_bytes()))
    assert codes(image) == {Code.EXIF_ORIENTATION}
    assert "orientation 6" in image.findings[0].detail


def test_other_kinds_of_jpeg_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(imagecodecs.jpeg8_encode(noise((16, 16), 4096, np.uint16), bitspersample=12))
    assert "12 bits" in str(refused(tmp_path / "a.jpg"))
    assert "4 components" in str(refused(saved(tmp_path / "b.jpg", noise((16, 16, 4)), "CMYK")))


def test_a_gif_of_many_pictures_is_a_film(tmp_path: Path) -> None:
    frames = [Image.fromarray(np.full((6, 8), value, np.uint8)) for value in (10, 90, 200)]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    image = opened(tmp_path / "a.gif")
    assert (image.shape, image.n_channels, image.third_axis) == ((8, 6, 3), 3, "time")
    values = collect(image)
    assert [int(values[0, 0, frame, 1]) for frame in range(3)] == [10, 90, 200]
    assert opened(tmp_path / "a.gif", axes="zyxc").third_axis == "space"


def test_a_declared_cephalogram_is_a_slice_in_the_patient(tmp_path: Path) -> None:
    array = noise((24, 19))
    image = opened(saved(tmp_path / "a.bmp", array), assume_orientation="AIR", spacing_mm=(0.1, 0.1))
    np.testing.assert_array_equal(rows_columns(image), array)
    assert (image.space, image.third_axis, image.spacing_known) == ("patient", "space", (True, True, False))
    np.testing.assert_allclose(image.affine_ras_mm, [[0, 0, 1, 0], [0.1, 0, 0, 0], [0, -0.1, 0, 0], [0, 0, 0, 1]])
    assert closest_ras(image.affine_ras_mm).code() == "AIR"
    assert codes(image) == {Code.ORIENTATION_UNKNOWN, Code.ORIGIN_UNKNOWN}


def test_dots_per_inch_are_no_millimetres(tmp_path: Path) -> None:
    assert opened(saved(tmp_path / "a.png", noise((4, 5)), dpi=(254, 254))).spacing_known == (False, False, False)


def test_content_decides_and_gzip_is_unpacked(tmp_path: Path) -> None:
    array = noise((7, 10))
    png = saved(tmp_path / "a.png", array)
    (tmp_path / "a.jpg").write_bytes(png.read_bytes())
    (tmp_path / "a.png.gz").write_bytes(gzip.compress(png.read_bytes()))
    assert codes(opened(tmp_path / "a.jpg")) == {Code.WRONG_EXTENSION}
    np.testing.assert_array_equal(rows_columns(opened(tmp_path / "a.png.gz")), array)


def test_gzip_around_a_picture_inflates_to_so_much_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = io.BytesIO()
    Image.new("L", (20, 10)).save(picture, "PNG")
    path = tmp_path / "a.png.gz"
    path.write_bytes(gzip.compress(picture.getvalue() + bytes(3 << 20)))
    monkeypatch.setattr("resources.readers.content.MAX_UNPACKED", 1 << 20)
    error = refused(path)
    assert error.finding.code is Code.TOO_LARGE
    assert "unpack it" in error.finding.detail


def test_what_follows_the_picture_is_told(tmp_path: Path) -> None:
    array = noise((7, 10))
    for ending in (".png", ".jpg", ".gif", ".bmp", ".pgm"):
        path = saved(tmp_path / f"a{ending}", array)
        path.write_bytes(path.read_bytes() + b"tail")
        image = opened(path)
        assert collect(image).shape == (10, 7, 1, 1)
        assert codes(image) == {Code.TRAILING_BYTES}


@pytest.mark.parametrize("ending", [".png", ".jpg", ".gif", ".bmp", ".pgm"])
def test_a_cut_file_is_truncated_wherever_it_is_cut(tmp_path: Path, ending: str) -> None:
    content = saved(tmp_path / f"a{ending}", noise((17, 20))).read_bytes()
    path = tmp_path / f"b{ending}"
    for size in {len(content) - 1, len(content) - 2, len(content) * 3 // 4, len(content) // 2}:
        path.write_bytes(content[:size])
        assert refused(path).finding.code == Code.TRUNCATED


def test_every_changed_byte_of_a_png_is_found(tmp_path: Path) -> None:
    content = saved(tmp_path / "a.png", noise((5, 6))).read_bytes()
    for place in range(8, len(content)):
        changed = bytearray(content)
        changed[place] ^= 0x20
        (tmp_path / "b.png").write_bytes(changed)
        assert refused(tmp_path / "b.png").finding.code in {Code.CHECKSUM_MISMATCH, Code.TRUNCATED, Code.BAD_HEADER}


def test_large_pictures_open_and_bombs_do_not(tmp_path: Path) -> None:
    height, width = 10_000, 20_000
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    packed = zlib.compressobj(1)
    rows = b"".join(packed.compress(b"\0" * (width + 1)) for _ in range(height)) + packed.flush()
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b""))
    image = opened(tmp_path / "a.png")
    assert image.shape == (width, height, 1)
    slab = next(iter(image.slabs([(0, 100), (100, height)])))
    assert slab.voxels.shape == (width, 100, 1)
    assert refused(tmp_path / "a.png", max_bytes=100_000_000).finding.code == Code.TOO_LARGE


def test_false_sizes_are_refused_before_anything_is_allocated(tmp_path: Path) -> None:
    sizes = {".jpg": b"\xff\xff\xff\xff", ".png": b"\0\1\0\0\0\1\0\0", ".gif": b"\xff\xff\xff\xff"}
    for ending, size in sizes.items():
        content = bytearray(saved(tmp_path / f"a{ending}", noise((8, 8))).read_bytes())
        start = {".jpg": content.find(b"\xff\xc0") + 5, ".png": 16, ".gif": 6}[ending]
        content[start : start + len(size)] = size
        if ending == ".png":
            content[29:33] = struct.pack(">I", zlib.crc32(content[12:29]))
        (tmp_path / f"b{ending}").write_bytes(content)
        assert refused(tmp_path / f"b{ending}").finding.code == Code.TOO_LARGE


@pytest.mark.parametrize("ending", [".png", ".jpg", ".gif", ".bmp", ".pgm", ".ppm"])
def test_whatever_is_damaged_the_run_goes_on(tmp_path: Path, ending: str) -> None:
    array = noise((12, 15, 3)) if ending == ".ppm" else noise((12, 15), 7)
    content = saved(tmp_path / f"a{ending}", array).read_bytes()
    results = [read_or_refuse(tmp_path / f"b{ending}", one) for one in damaged(content, 150)]
    assert not all(results)


def test_real_blood_cells_and_vessel_masks(shared_data: Path) -> None:
    for pattern, ending in (("layouts/BCCD", "jpg"), ("layouts/DRIVE", "gif"), ("layouts/Ceph-Bio-400", "jpg")):
        paths = sorted((shared_data / pattern).rglob(f"*.{ending}"))[:6]
        assert paths
        for path in paths:
            with Image.open(io.BytesIO(path.read_bytes())) as known:
                expected = np.asarray(known)
                grey_palette = known.mode == "P"
            values = rows_columns(opened(path))
            np.testing.assert_array_equal(values, expected * 255 if grey_palette and expected.max() == 1 else expected)
