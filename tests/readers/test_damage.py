"""For every format of arrays and pictures: a file that is cut is never read, one with changed bytes is read or refused."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import h5py
import numpy as np
import polars as pl
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy.io import savemat

from tests.readers.pictures import read_or_refuse
from tests.readers.test_czi import write as write_czi
from tests.readers.test_medical_formats import write_mgh, write_minc1
from tests.readers.test_parquet import png
from tests.readers.test_video import smooth
from tests.readers.test_video import write as write_film

GREY = np.random.default_rng(17).integers(0, 256, (12, 15)).astype(np.uint8)
VOLUME = np.random.default_rng(18).integers(0, 256, (4, 5, 6)).astype(np.uint8)


def picture(path: Path) -> None:
    Image.fromarray(GREY).save(path)


def hdf5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("image", data=GREY, chunks=(4, 5), compression="gzip")


MAKERS: dict[str, Callable[[Path], object]] = {
    ".png": picture,
    ".jpg": picture,
    ".gif": picture,
    ".bmp": picture,
    ".pgm": picture,
    ".h5": hdf5,
    ".npy": lambda path: np.save(path, GREY),
    ".npz": lambda path: np.savez_compressed(path, image=GREY),
    ".mat": lambda path: savemat(path, {"image": GREY}),
    ".tif": lambda path: tifffile.imwrite(path, GREY, metadata=None, compression="zlib"),
    ".czi": lambda path: write_czi(path, [(GREY, {"Z": 0})], 5),
    ".avi": lambda path: write_film(path, smooth(3), "mjpeg", "yuvj420p", "rgb24"),
    ".mp4": lambda path: write_film(path, smooth(3), "mpeg4", "yuv420p", "rgb24"),
    ".parquet": lambda path: pl.DataFrame({"image": [png(GREY)]}).write_parquet(path),
    ".mgh": lambda path: write_mgh(path, VOLUME),
    ".mnc": lambda path: write_minc1(path, VOLUME),
}
PADDING = {".tif": 16, ".mgh": 20, ".mnc": 4, ".czi": 400}
"""Bytes at the end that hold no pixels and whose length nothing states: alignment, scan parameters, empty metadata."""


@cache
def content_of(ending: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{ending}"
        MAKERS[ending](path)
        return path.read_bytes()


@pytest.mark.parametrize("ending", MAKERS)
@settings(max_examples=20)
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_cut_file_is_never_read(ending: str, share: float) -> None:
    content = content_of(ending)
    size = max(1, int(share * (len(content) - PADDING.get(ending, 0))))
    with tempfile.TemporaryDirectory() as folder:
        assert not read_or_refuse(Path(folder) / f"a{ending}", content[:size])


@pytest.mark.parametrize("ending", MAKERS)
@settings(max_examples=20)
@given(changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=6))
def test_changed_bytes_are_read_or_refused(ending: str, changes: list[tuple[float, int]]) -> None:
    content = bytearray(content_of(ending))
    for share, value in changes:
        content[int(share * len(content))] = value
    with tempfile.TemporaryDirectory() as folder:
        read_or_refuse(Path(folder) / f"a{ending}", bytes(content))


@pytest.mark.parametrize("ending", MAKERS)
def test_the_whole_file_is_read(ending: str, tmp_path: Path) -> None:
    assert read_or_refuse(tmp_path / f"a{ending}", content_of(ending))
