"""TIFF, written by tifffile and Pillow, against the values that went in."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tifffile
from PIL import Image

from resources.findings import BadInputError, Code
from resources.readers import tiff
from resources.readers.registry import tagged_pages
from resources.readers.source import ReadOptions, examine
from resources.readers.tiff_structure import TaggedPage
from tests.readers.makers import bounds, codes, voxels
from tests.readers.pictures import collect, damaged, opened, read_or_refuse, refused, rows_columns

Array = npt.NDArray[Any]
DICE = np.random.default_rng(11)


def noise(shape: tuple[int, ...], most: int = 256, dtype: npt.DTypeLike = np.uint8) -> Array:
    return DICE.integers(0, most, shape).astype(dtype)


def write(path: Path, array: Array, **more: Any) -> Path:
    tifffile.imwrite(path, array, **more)
    return path


@pytest.mark.parametrize("dtype", ["u1", "u2", "i2", "i4", "u4", "f4", "f8", "f2", "?", ">u2"])
def test_types_stay(tmp_path: Path, dtype: str) -> None:
    array = noise((20, 30), 2 if dtype == "?" else 200).astype(dtype)
    order = {"byteorder": ">"} if dtype.startswith(">") else {}
    image = opened(write(tmp_path / "a.tif", array, photometric="minisblack", **order))
    np.testing.assert_array_equal(rows_columns(image), array)
    assert (image.format, image.space, image.spacing_known, image.n_channels) == ("TIFF", "picture", (False,) * 3, 1)
    assert codes(image) == set()


@pytest.mark.parametrize("compression", [None, "zlib", "lzw", "packbits", "zstd", "lzma", "jpeg2000"])
@pytest.mark.parametrize("way", [{}, {"rowsperstrip": 7}, {"tile": (16, 16)}, {"bigtiff": True}])
def test_every_packing(tmp_path: Path, compression: str | None, way: dict[str, Any]) -> None:
    array = noise((20, 30, 3))
    image = opened(write(tmp_path / "a.tif", array, photometric="rgb", compression=compression, **way))
    np.testing.assert_array_equal(rows_columns(image), array)
    assert (image.n_channels, image.fourth_axis) == (3, "channel")


def test_planes_are_channels(tmp_path: Path) -> None:
    array = noise((3, 20, 30))
    image = opened(write(tmp_path / "a.tif", array, photometric="rgb", planarconfig="separate"))
    np.testing.assert_array_equal(rows_columns(image), array.transpose(1, 2, 0))


@pytest.mark.parametrize("metadata", [None, {}])
def test_pages_are_a_third_axis(tmp_path: Path, metadata: dict[str, Any] | None) -> None:
    array = noise((5, 20, 30), 1000, np.uint16)
    path = write(tmp_path / "a.tif", array, photometric="minisblack", metadata=metadata)
    image = opened(path)
    np.testing.assert_array_equal(collect(image)[..., 0], array.transpose(2, 1, 0))
    assert (image.third_axis, image.slab_axis) == ("page", 2)
    volume = opened(path, axes="zyx", assume_orientation="LPS", spacing_mm=(0.5, 0.5, 3))
    np.testing.assert_array_equal(np.diag(volume.affine_ras_mm), [-0.5, -0.5, 3, 1])
    assert (volume.space, volume.third_axis) == ("patient", "space")
    assert refused(path, assume_orientation="LPS").finding.code == Code.UNEXPECTED_DIMENSIONS
    assert opened(path, axes="tyx").third_axis == "time"


def test_pages_in_colour(tmp_path: Path) -> None:
    array = noise((5, 20, 30, 3))
    image = opened(write(tmp_path / "a.tif", array, photometric="rgb", metadata=None))
    np.testing.assert_array_equal(collect(image), array.transpose(2, 1, 0, 3))
    assert (image.third_axis, image.n_channels) == ("page", 3)


def test_a_palette_is_its_colours_or_its_indices(tmp_path: Path) -> None:
    array = noise((20, 30), 5)
    table = np.zeros((3, 256), np.uint16)
    table[:, :5] = noise((3, 5), 256, np.uint16) * 257
    path = write(tmp_path / "a.tif", array, photometric="palette", colormap=table)
    np.testing.assert_array_equal(rows_columns(opened(path)), (table.T >> 8)[array])
    np.testing.assert_array_equal(rows_columns(opened(path, key="index")), array)
    table[1:] = table[0]
    path = write(tmp_path / "b.tif", array, photometric="palette", colormap=table)
    np.testing.assert_array_equal(rows_columns(opened(path)), (table[0] >> 8)[array])


def test_an_opaque_alpha_is_dropped_and_another_is_told(tmp_path: Path) -> None:
    array = noise((20, 30, 4))
    array[..., 3] = 255
    image = opened(write(tmp_path / "a.tif", array, photometric="rgb", extrasamples=["unassalpha"]))
    np.testing.assert_array_equal(rows_columns(image), array[..., :3])
    array[3, 4, 3] = 7
    image = opened(write(tmp_path / "a.tif", array, photometric="rgb", extrasamples=["unassalpha"]))
    np.testing.assert_array_equal(rows_columns(image), array)
    assert codes(image) == {Code.TRANSPARENCY}


def test_min_is_white_is_told_and_not_inverted(tmp_path: Path) -> None:
    array = noise((20, 30))
    image = opened(write(tmp_path / "a.tif", array, photometric="miniswhite"))
    np.testing.assert_array_equal(rows_columns(image), array)
    assert codes(image) == {Code.MIN_IS_WHITE}


def test_a_jpeg_in_it_becomes_rgb(tmp_path: Path) -> None:
    smooth = np.add.outer(np.arange(32) * 3, np.arange(48) * 2).astype(np.uint8)
    array = np.stack([smooth, smooth[::-1], 255 - smooth], axis=2)
    path = write(tmp_path / "a.tif", array, photometric="rgb", compression="jpeg", tile=(16, 16))
    values = rows_columns(opened(path))
    with Image.open(path) as known:
        assert np.abs(values.astype(int) - np.asarray(known.convert("RGB"))).max() <= 2
    assert np.abs(values.astype(int) - array).max() < 40


def test_several_series_need_a_key(tmp_path: Path) -> None:
    large, small, other = noise((20, 30)), noise((10, 15)), noise((20, 30), 999, np.uint16)
    with tifffile.TiffWriter(tmp_path / "a.tif") as file:
        file.write(large, metadata=None)
        file.write(small, metadata=None, subfiletype=1)
    np.testing.assert_array_equal(rows_columns(opened(tmp_path / "a.tif")), large)
    with tifffile.TiffWriter(tmp_path / "b.tif") as file:
        file.write(large, metadata=None)
        file.write(other, metadata=None)
    error = refused(tmp_path / "b.tif")
    assert error.finding.code == Code.NO_SUCH_ARRAY
    assert "(20, 30)" in str(error)
    np.testing.assert_array_equal(rows_columns(opened(tmp_path / "b.tif", key="1")), other)
    assert refused(tmp_path / "b.tif", key="7").finding.code == Code.NO_SUCH_ARRAY


@pytest.mark.parametrize("told", [True, False])
def test_pages_of_one_kind_are_one_stack_whatever_the_file_says(tmp_path: Path, told: bool) -> None:
    preview, bands = noise((20, 30, 3)), noise((4, 20, 30))
    path = tmp_path / "a.tif"
    with tifffile.TiffWriter(path) as file:
        for page, kind in [(preview, "rgb"), *((band, "minisblack") for band in bands)]:
            file.write(page, photometric=kind, metadata={} if told else None)
    np.testing.assert_array_equal(rows_columns(opened(path, key="pages/0")), preview)
    stack = opened(path, key="pages/1", axes="cyx")
    assert (stack.shape, stack.n_channels) == ((30, 20, 1), 4)
    np.testing.assert_array_equal(rows_columns(stack), np.moveaxis(bands, 0, -1))
    assert (opened(path, key="1").n_channels, opened(path, key="1").shape) == (1, (30, 20, 1 if told else 4))
    assert refused(path, key="pages/7").finding.code == Code.NO_SUCH_ARRAY


def test_pages_with_a_tag_are_found_by_their_place(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    with tifffile.TiffWriter(path) as file:
        file.write(noise((20, 30, 3)), photometric="rgb")
        file.write(noise((20, 30)))
        for text in ("vein", "r\u00e9d".encode()):
            file.write(noise((20, 30)), contiguous=False, extratags=[(65001, 1 if isinstance(text, bytes) else 2, 0, text, True)])
    assert tagged_pages(path, 65001) == (TaggedPage("pages/1", 1, "vein"), TaggedPage("pages/1", 2, "r\u00e9d"))
    assert tagged_pages(path, 65002) == ()
    Image.fromarray(noise((20, 30))).save(tmp_path / "a.png")
    with pytest.raises(BadInputError, match="only TIFF files"):
        tagged_pages(tmp_path / "a.png", 65001)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(BadInputError) as told:
        tagged_pages(path, 65001)
    assert told.value.finding.code in {Code.TRUNCATED, Code.BAD_HEADER}


def test_a_pyramid_is_its_largest_level(tmp_path: Path) -> None:
    array = noise((64, 96, 3))
    with tifffile.TiffWriter(tmp_path / "a.tif") as file:
        file.write(array, subifds=1, tile=(16, 16), photometric="rgb")
        file.write(array[::2, ::2], subfiletype=1, tile=(16, 16), photometric="rgb")
    np.testing.assert_array_equal(rows_columns(opened(tmp_path / "a.tif")), array)


def test_a_file_of_one_page_may_be_declared_as_those_of_several(tmp_path: Path) -> None:
    pages = noise((3, 20, 30))
    several = write(tmp_path / "several.tif", pages, photometric="minisblack")
    one = write(tmp_path / "one.tif", pages[0])
    for axes in ("tyx", "zyx", "cyx"):
        image = opened(one, axes=axes)
        assert (image.shape, image.n_channels) == ((30, 20, 1), 1)
        np.testing.assert_array_equal(rows_columns(image), pages[0])
    assert opened(several, axes="tyx").shape == (30, 20, 3)
    with pytest.raises(BadInputError, match="axes are declared as 'tzyx'"):
        opened(one, axes="tzyx")


def test_ome_states_axes_and_spacing(tmp_path: Path) -> None:
    array = noise((2, 4, 20, 30), 999, np.uint16)
    metadata = {
        "axes": "CZYX",
        "PhysicalSizeX": 325.0,
        "PhysicalSizeXUnit": "nm",
        "PhysicalSizeY": 0.65,
        "PhysicalSizeZ": 0.002,
        "PhysicalSizeZUnit": "mm",
    }
    image = opened(write(tmp_path / "a.ome.tif", array, ome=True, metadata=metadata))
    np.testing.assert_array_equal(collect(image), array.transpose(3, 2, 1, 0))
    assert (image.space, image.third_axis, image.fourth_axis) == ("picture", "space", "channel")
    np.testing.assert_allclose(np.diag(image.affine_ras_mm)[:3], [325e-6, 650e-6, 0.002])
    assert image.spacing_known == (True, True, True)


def test_ome_pages_that_lie_elsewhere_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.ome.tif", noise((2, 20, 30)), ome=True, metadata={"axes": "CYX"})
    content = path.read_bytes()
    path.write_bytes(content.replace(b'SizeC="2"', b'SizeC="4"'))
    assert refused(path).finding.code in {Code.UNSUPPORTED_DATA, Code.BAD_HEADER}


@pytest.mark.parametrize(
    ("unit", "known"), [("um", True), ("micron", True), ("\\u00B5m", True), ("pixel", False), ("inch", False)]
)
def test_imagej_states_a_unit_for_all_axes(tmp_path: Path, unit: str, known: bool) -> None:
    array = noise((4, 20, 30))
    metadata = {"axes": "ZYX", "unit": unit, "spacing": 1.5}
    image = opened(write(tmp_path / "a.tif", array, imagej=True, resolution=(2, 4), metadata=metadata))
    np.testing.assert_array_equal(collect(image)[..., 0], array.transpose(2, 1, 0))
    assert image.spacing_known == (known,) * 3
    np.testing.assert_allclose(np.diag(image.affine_ras_mm)[:3], [0.0005, 0.00025, 0.0015] if known else [1, 1, 1])


def test_aperio_states_microns_per_pixel(tmp_path: Path) -> None:
    description = "Aperio Image Library v1\r\n64x48 |AppMag = 40|MPP = 0.2500|Left = 1"
    path = write(tmp_path / "a.svs", noise((48, 64, 3)), photometric="rgb", tile=(16, 16), description=description, metadata=None)
    image = opened(path)
    np.testing.assert_allclose(np.diag(image.affine_ras_mm)[:2], 0.00025)
    assert image.spacing_known == (True, True, False)


def test_dots_per_inch_are_no_millimetres(tmp_path: Path) -> None:
    for unit in ("INCH", "CENTIMETER"):
        image = opened(write(tmp_path / "a.tif", noise((4, 5)), resolution=(300, 300), resolutionunit=unit))
        assert image.spacing_known == (False, False, False)


def test_a_film_of_pictures_in_z_and_t_is_more_than_an_image(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tif", noise((2, 3, 4, 20, 30)), imagej=True, metadata={"axes": "TZCYX"})
    error = refused(path)
    assert error.finding.code == Code.UNEXPECTED_DIMENSIONS
    assert "z 3, t 2, c 4" in str(error)


@pytest.mark.parametrize(
    "way",
    [
        {},
        {"metadata": None},
        {"compression": "zlib", "rowsperstrip": 5},
        {"compression": "lzw", "rowsperstrip": 5},
        {"bigtiff": True},
        {"tile": (16, 16)},
        {"imagej": True},
        {"ome": True},
    ],
)
def test_a_cut_file_is_truncated_wherever_it_is_cut(tmp_path: Path, way: dict[str, Any]) -> None:
    content = write(tmp_path / "a.tif", noise((3, 20, 30)), photometric="minisblack", **way).read_bytes()
    for size in (9, 100, len(content) // 2, len(content) * 3 // 4, len(content) - 300, len(content) - 40):
        (tmp_path / "b.tif").write_bytes(content[:size])
        assert refused(tmp_path / "b.tif").finding.code == Code.TRUNCATED


def test_damage_within_deflate_is_found(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tif", noise((40, 50)), compression="zlib", metadata=None)
    with tifffile.TiffFile(path) as file:
        start = file.pages.first.dataoffsets[0]
    content = bytearray(path.read_bytes())
    content[start + 900] ^= 4
    path.write_bytes(content)
    assert refused(path).finding.code == Code.CHECKSUM_MISMATCH


def test_strips_that_were_never_written_are_told(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tif", noise((40, 50)), tile=(16, 16), compression="zlib", metadata=None)
    with tifffile.TiffFile(path, mode="r+") as file:
        tags = file.pages.first.tags
        for name in ("TileByteCounts", "TileOffsets"):
            tags[name].overwrite((*tags[name].value[:-1], 0))
    image = opened(path)
    assert rows_columns(image)[39, 49] == 0
    assert codes(image) == {Code.UNWRITTEN_CHUNKS}


def test_bombs_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tif", np.zeros((1000, 1000), np.uint8), compression="zlib", metadata=None)
    assert refused(path, max_bytes=10_000).finding.code == Code.TOO_LARGE
    with tifffile.TiffFile(path, mode="r+") as file:
        for name in ("ImageWidth", "ImageLength", "RowsPerStrip"):
            file.pages.first.tags[name].overwrite(1_000_000, dtype="I")
    assert refused(path, max_bytes=1 << 45).finding.code == Code.TOO_LARGE


def test_large_files_are_decoded_by_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    array = noise((3, 64, 96), 999, np.uint16)
    path = write(tmp_path / "a.tif", array, tile=(16, 16), compression="zlib", photometric="minisblack")
    monkeypatch.setattr(tiff, "IN_MEMORY", 1000)
    monkeypatch.setattr("resources.readers.arrays.IN_MEMORY", 1000)
    image = tiff.open_tiff(examine(path, "a.tif"), ReadOptions())
    np.testing.assert_array_equal(collect(image, 2)[..., 0], array.transpose(2, 1, 0))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)
    image = tiff.open_tiff(examine(path, "a.tif"), ReadOptions())
    with pytest.raises(Exception, match="damaged compressed data"):
        list(image.slabs(bounds(3, 1)))


def test_gzip_is_unpacked(tmp_path: Path) -> None:
    array = noise((20, 30))
    path = write(tmp_path / "a.tif", array)
    (tmp_path / "a.tif.gz").write_bytes(gzip.compress(path.read_bytes()))
    np.testing.assert_array_equal(rows_columns(opened(tmp_path / "a.tif.gz")), array)


def test_other_colours_are_refused_by_name(tmp_path: Path) -> None:
    Image.fromarray(noise((20, 30, 4)), "CMYK").save(tmp_path / "a.tif")
    assert "SEPARATED" in str(refused(tmp_path / "a.tif"))


@pytest.mark.parametrize("way", [{"metadata": None}, {"compression": "zlib", "ome": True}, {"compression": "lzw"}])
def test_whatever_is_damaged_the_run_goes_on(tmp_path: Path, way: dict[str, Any]) -> None:
    content = write(tmp_path / "a.tif", voxels((3, 12, 15)), photometric="minisblack", **way).read_bytes()
    results = [read_or_refuse(tmp_path / "b.tif", one) for one in damaged(content, 60)]
    assert not all(results)


def test_real_fundus_pictures(shared_data: Path) -> None:
    paths = sorted((shared_data / "layouts" / "DRIVE").rglob("*.tif"))
    assert paths
    for path in paths:
        with Image.open(path) as known:
            np.testing.assert_array_equal(rows_columns(opened(path)), np.asarray(known))
