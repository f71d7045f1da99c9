"""CZI against libCZI's own reading (hashes taken once with pylibCZIrw 5) and against files laid out by hand."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

import czifile
import imagecodecs
import numpy as np
import numpy.typing as npt
import pytest

from resources.findings import Code
from tests.readers.makers import codes
from tests.readers.pictures import collect, damaged, opened, read_or_refuse, refused, rows_columns

Array = npt.NDArray[np.generic]
PIXEL_TYPES = {("u1", 1): 0, ("u2", 1): 1, ("f4", 1): 2, ("u1", 3): 3, ("u2", 3): 4}
STEPS = (("X", "3E-7"), ("Y", "4e-07"), ("Z", "1E-6"))
DICE = np.random.default_rng(5)

LIBCZI = {
    ("100x100.czi", "T=0,Z=0,C=0"): "bce0aff19cf5aa6a",
    ("CellDivision_T3_Z5_CH2_X240_Y170_comp1.czi", "T=0,Z=0,C=0"): "fba09face880eb33",
    ("CellDivision_T3_Z5_CH2_X240_Y170_comp1.czi", "T=0,Z=0,C=1"): "742ab15e3786cf66",
    ("CellDivision_T3_Z5_CH2_X240_Y170_comp1.czi", "T=0,Z=1,C=0"): "64f95d32359ef60c",
    ("DAPI_GFP.czi", "C=0"): "d498ff570f685959",
    ("DAPI_GFP.czi", "C=1"): "8518dd5601d5a67c",
    ("FOV7_HV110_P0500510000.czi", "S=0"): "2e6cfad2f71cae91",
    ("newCZI_compressed.czi", ""): "752880e941df37cd",
    ("nuc_small_new_red.czi", ""): "addf2e4d44da50ae",
}


def noise(shape: tuple[int, ...], most: int = 256, dtype: str = "u1") -> Array:
    return DICE.integers(0, most, shape).astype(dtype)


def segment(name: bytes, data: bytes) -> bytes:
    size = -(-len(data) // 32) * 32
    return struct.pack("<16sqq", name, size, len(data)) + data.ljust(size, b"\0")


def entry_of(pixels: Array, place: dict[str, int], position: int, method: int) -> bytes:
    """A directory entry: x and y first, which is how the elements lie."""
    height, width = pixels.shape[:2]
    samples = pixels.shape[2] if pixels.ndim == 3 else 1
    sizes = {"X": width, "Y": height}
    dimensions = b"".join(
        struct.pack("<4siifi", axis.encode(), place.get(axis, 0), sizes.get(axis, 1), 0.0, sizes.get(axis, 0))
        for axis in ("X", "Y", *(axis for axis in place if axis not in "XY"))
    )
    kind = PIXEL_TYPES[pixels.dtype.str[1:], samples]
    return struct.pack("<2siqiiB5si", b"DV", kind, position, 0, method, 0, b"", len(dimensions) // 20) + dimensions


def write(path: Path, tiles: list[tuple[Array, dict[str, int]]], method: int = 0, xml: str = "<ImageDocument/>") -> Path:
    """A file of uncompressed or Zstandard tiles, as the published description lays it out."""
    body, entries, at = b"", [], 544
    for pixels, place in tiles:
        stored = pixels[..., ::-1] if pixels.ndim == 3 else pixels
        data = stored.tobytes()
        if method == 5:
            data = bytes(imagecodecs.zstd_encode(data))
        if method == 6:
            halves = np.frombuffer(data, np.uint8).reshape(-1, pixels.itemsize).T.tobytes()
            data = b"\3\1\1" + imagecodecs.zstd_encode(halves)
        entry = entry_of(pixels, place, at, method)
        entries.append(entry)
        block = segment(b"ZISRAWSUBBLOCK", (struct.pack("<iiq", 0, 0, len(data)) + entry).ljust(256, b"\0") + data)
        body += block
        at += len(block)
    directory = segment(b"ZISRAWDIRECTORY", struct.pack("<i124x", len(entries)) + b"".join(entries))
    metadata = segment(b"ZISRAWMETADATA", struct.pack("<ii248x", len(xml), 0) + xml.encode())
    head = struct.pack("<iiii16s16siqqiq", 1, 0, 0, 0, b"\1" * 16, b"\1" * 16, 0, at, at + len(directory), 0, 0)
    path.write_bytes(segment(b"ZISRAWFILE", head.ljust(512, b"\0")) + body + directory + metadata)
    return path


@pytest.mark.parametrize(("name", "key"), LIBCZI)
def test_real_planes_are_what_libczi_reads(shared_data: Path, name: str, key: str) -> None:
    plane = rows_columns(opened(shared_data / "images2d" / "czi" / name, key=key or None))
    assert hashlib.sha256(np.ascontiguousarray(plane).tobytes()).hexdigest()[:16] == LIBCZI[name, key]


def test_real_files_have_their_axes_and_scale(shared_data: Path) -> None:
    folder = shared_data / "images2d" / "czi"
    image = opened(folder / "CellDivision_T3_Z5_CH2_X240_Y170_comp1.czi", key="T=1")
    assert (image.shape, image.n_channels, image.third_axis, image.fourth_axis) == ((240, 170, 5), 2, "space", "channel")
    image = opened(folder / "CellDivision_T3_Z5_CH2_X240_Y170_comp1.czi", key="C=1,Z=2")
    assert (image.shape, image.third_axis, image.n_channels) == ((240, 170, 3), "time", 1)
    error = refused(folder / "CellDivision_T3_Z5_CH2_X240_Y170_comp1.czi")
    assert "z 5, t 3, c 2" in str(error)
    image = opened(folder / "nuc_small_new_red.czi")
    np.testing.assert_allclose(np.diag(image.affine_ras_mm)[:2], 1e-4)
    assert (image.space, image.spacing_known) == ("picture", (True, True, False))


@pytest.mark.parametrize("method", [0, 5, 6])
def test_our_layout_is_what_czifile_reads(tmp_path: Path, method: int) -> None:
    planes = [noise((20, 30), 60000, "u2") for _ in range(6)]
    tiles = [(plane, {"C": number % 2, "Z": number // 2}) for number, plane in enumerate(planes)]
    path = write(tmp_path / "a.czi", tiles, method)
    values = collect(opened(path))
    np.testing.assert_array_equal(values, np.reshape(planes, (3, 2, 20, 30)).transpose(3, 2, 0, 1))
    if method == 0:
        with czifile.CziFile(str(path)) as known:
            assert known.axes == "ZCYX0"
            np.testing.assert_array_equal(values, known.asarray()[..., 0].transpose(3, 2, 0, 1))


def test_colours_are_stored_blue_first(tmp_path: Path) -> None:
    pixels = noise((20, 30, 3))
    path = write(tmp_path / "a.czi", [(pixels, {"C": 0})])
    np.testing.assert_array_equal(rows_columns(opened(path)), pixels)


def test_scenes_are_chosen_and_mosaics_put_together(tmp_path: Path) -> None:
    left, right, other = noise((20, 30)), noise((20, 30)), noise((7, 9))
    path = write(
        tmp_path / "a.czi",
        [
            (left, {"X": 100, "Y": 50, "S": 0, "M": 0}),
            (right, {"X": 125, "Y": 50, "S": 0, "M": 1}),
            (other, {"X": 900, "Y": -20, "S": 1, "M": 0}),
        ],
    )
    error = refused(path)
    assert error.finding.code == Code.NO_SUCH_ARRAY
    assert "S 0 to 1" in str(error)
    scene = opened(path, key="S=0")
    np.testing.assert_array_equal(rows_columns(scene), np.hstack([left[:, :25], right]))
    assert codes(scene) == set()
    np.testing.assert_array_equal(rows_columns(opened(path, key="S=1")), other)
    assert refused(path, key="S=2").finding.code == Code.NO_SUCH_ARRAY
    assert refused(path, key="scene one").finding.code == Code.NO_SUCH_ARRAY


def test_holes_are_told(tmp_path: Path) -> None:
    tiles = [(noise((20, 30)), {"X": 0, "Y": 0, "M": 0}), (noise((20, 30)), {"X": 40, "Y": 0, "M": 1})]
    image = opened(write(tmp_path / "a.czi", tiles))
    assert codes(image) == {Code.UNWRITTEN_CHUNKS}
    assert "200 of 1400" in image.findings[0].detail
    np.testing.assert_array_equal(rows_columns(image)[:, 30:40], 0)
    image = opened(write(tmp_path / "b.czi", [(noise((20, 30)), {"C": 0, "Z": 0}), (noise((20, 30)), {"C": 1, "Z": 1})]))
    assert "1200 of 2400" in image.findings[0].detail


def test_scale_is_metres(tmp_path: Path) -> None:
    items = "".join(f'<Distance Id="{axis}"><Value>{step}</Value></Distance>' for axis, step in STEPS)
    xml = f"<ImageDocument><Metadata><Scaling><Items>{items}</Items></Scaling></Metadata></ImageDocument>"
    planes = [(noise((20, 30)), {"Z": number}) for number in range(2)]
    image = opened(write(tmp_path / "a.czi", planes, xml=xml))
    np.testing.assert_allclose(np.diag(image.affine_ras_mm)[:3], [3e-4, 4e-4, 1e-3])
    assert image.spacing_known == (True, True, True)


@pytest.mark.parametrize("method", [0, 5])
def test_a_cut_file_is_truncated(tmp_path: Path, method: int) -> None:
    content = write(tmp_path / "a.czi", [(noise((20, 30)), {"Z": number}) for number in range(3)], method).read_bytes()
    for size in (20, 600, len(content) // 2, len(content) - 700):
        (tmp_path / "b.czi").write_bytes(content[:size])
        assert refused(tmp_path / "b.czi").finding.code == Code.TRUNCATED


def test_a_tile_behind_the_end_is_truncated(tmp_path: Path) -> None:
    content = write(tmp_path / "a.czi", [(noise((20, 30)), {})]).read_bytes()
    (tmp_path / "a.czi").write_bytes(content.replace(struct.pack("<q", 600), struct.pack("<q", 600_000)))
    assert refused(tmp_path / "a.czi").finding.code == Code.TRUNCATED


def test_damage_within_zstandard_is_found(tmp_path: Path) -> None:
    path = write(tmp_path / "a.czi", [(np.zeros((40, 50), np.uint8), {})], 5)
    content = bytearray(path.read_bytes())
    content[544 + 32 + 256] ^= 0xFF
    path.write_bytes(content)
    assert refused(path).finding.code == Code.CHECKSUM_MISMATCH


def test_whatever_is_damaged_the_run_goes_on(tmp_path: Path) -> None:
    content = write(tmp_path / "a.czi", [(noise((20, 30)), {"Z": number}) for number in range(2)], 5).read_bytes()
    results = [read_or_refuse(tmp_path / "b.czi", one) for one in damaged(content, 100)]
    assert not all(results)
