"""ENVI, in every interleave, laid out by hand."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from resources.findings import Code
from resources.readers import envi
from resources.readers.registry import companions, open_image
from tests.readers.makers import codes, voxels
from tests.readers.pictures import collect, opened, refusal, rows_columns

Array = npt.NDArray[Any]
PLACES = {"bsq": (2, 0, 1), "bil": (0, 2, 1), "bip": (0, 1, 2)}
CODES = {"u1": 1, "i2": 2, "i4": 3, "f4": 4, "f8": 5, "u2": 12, "u4": 13, "i8": 14, "u8": 15}


def write(path: Path, array: Array, interleave: str = "bsq", *, skip: int = 0, **fields: object) -> Path:
    """The header and numbers of `[line, sample, band]` values; `path` is that of the numbers."""
    lines, samples, bands = array.shape
    entries: dict[str, object] = {
        "description": "{made by hand,\n over two lines = one entry}",
        "samples": samples,
        "lines": lines,
        "bands": bands,
        "header offset": skip,
        "data type": CODES[array.dtype.str[1:]],
        "interleave": interleave.upper(),
        "byte order": 1 if array.dtype.str.startswith(">") else 0,
        "wavelength": "{ 400.0,\n 500.0}",
        "file type": "ENVI Standard",
        **{name.replace("_", " "): value for name, value in fields.items()},
    }
    text = "ENVI\n" + "\n".join(f"{name} = {value}" for name, value in entries.items()) + "\n"
    path.with_suffix(".hdr").write_text(text)
    path.write_bytes(b"\1" * skip + array.transpose(PLACES[interleave]).tobytes())
    return path


@pytest.mark.parametrize("interleave", ["bsq", "bil", "bip"])
@pytest.mark.parametrize("dtype", ["u1", ">i2", "<u2", ">f4", "f8"])
def test_bands_are_channels(tmp_path: Path, interleave: str, dtype: str) -> None:
    array = voxels((5, 6, 7)).astype(dtype)
    image = opened(write(tmp_path / "a.dat", array, interleave, skip=13))
    np.testing.assert_array_equal(rows_columns(image), array)
    assert (image.format, image.shape, image.n_channels, image.fourth_axis) == ("ENVI", (6, 5, 1), 7, "channel")
    assert (image.space, image.spacing_known) == ("picture", (False, False, False))
    assert {source.path.suffix for source in image.sources} == {".hdr", ".dat"}
    assert codes(image) == set()


@pytest.mark.parametrize("name", ["P001.dat", "P001.img", "P001", "P001.bsq", "P 1, a.raw"])
def test_either_file_opens_the_picture(tmp_path: Path, name: str) -> None:
    array = voxels((4, 5, 3))
    path = write(tmp_path / name, array)
    header = path.with_suffix(".hdr")
    for asked in (path, header):
        np.testing.assert_array_equal(rows_columns(opened(asked)), array)
    assert companions(header) == (path,)
    if path.suffix:
        assert companions(path) == (header,)


def test_a_header_named_after_the_whole_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.dat", voxels((4, 5, 3)))
    path.with_suffix(".hdr").rename(tmp_path / "a.dat.hdr")
    assert open_image(path).n_channels == 3


def test_one_band_is_grey_and_axes_can_be_declared(tmp_path: Path) -> None:
    array = voxels((4, 5, 1))
    np.testing.assert_array_equal(rows_columns(opened(write(tmp_path / "a.dat", array))), array[..., 0])
    film = opened(write(tmp_path / "b.dat", voxels((4, 5, 3)), "bil"), axes="yxt")
    np.testing.assert_array_equal(collect(film)[..., 0], voxels((4, 5, 3)).transpose(1, 0, 2))
    assert film.third_axis == "time"
    assert refused_header(tmp_path / "b.dat", axes="yxtc") == Code.UNEXPECTED_DIMENSIONS


def refused_header(path: Path, **options: Any) -> Code:
    error = refusal(path.with_suffix(".hdr"), **options)
    assert error is not None
    return error.finding.code


def test_what_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.dat", voxels((4, 5, 3)))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(Exception, match="truncated"):
        open_image(path)
    path.unlink()
    assert refused_header(path) == Code.MISSING_IMAGE
    write(tmp_path / "a.dat", voxels((4, 5, 3)))
    write(tmp_path / "a.raw", voxels((4, 5, 3)))
    assert refused_header(path) == Code.AMBIGUOUS_FILE
    for number, (field, code) in enumerate(
        [
            ({"data_type": 6}, Code.UNSUPPORTED_DATA),
            ({"file_type": "x\ninterleave = bif"}, Code.BAD_HEADER),
            ({"lines": "many"}, Code.BAD_HEADER),
            ({"bands": 0}, Code.BAD_HEADER),
            ({"lines": 999_999_999, "samples": 999_999}, Code.TOO_LARGE),
        ]
    ):
        assert refused_header(write(tmp_path / f"{number}.dat", voxels((4, 5, 3)), **field)) == code


def test_numbers_in_gzip(tmp_path: Path) -> None:
    array = voxels((4, 5, 3))
    path = write(tmp_path / "a.dat", array)
    path.write_bytes(gzip.compress(path.read_bytes()))
    np.testing.assert_array_equal(rows_columns(opened(path)), array)


def test_large_pictures_are_read_by_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resources.readers.arrays.IN_MEMORY", 10)
    for interleave in PLACES:
        array = voxels((9, 6, 4))
        np.testing.assert_array_equal(rows_columns(opened(write(tmp_path / f"{interleave}.dat", array, interleave))), array)
    assert envi.header_path(tmp_path / "nothing.dat") == tmp_path / "nothing.dat"
