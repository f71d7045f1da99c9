"""NPY and NPZ, as NumPy writes them."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib import format as npy_format

from resources.findings import Code
from resources.readers.registry import list_arrays
from tests.readers.makers import codes, voxels
from tests.readers.pictures import collect, damaged, opened, read_or_refuse, refused, rows_columns


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("axes", ["zyx", "xyz", "yxz", "cyx", "yxc", "tyx"])
@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_every_order_of_axes_and_memory(tmp_path: Path, order: Any, axes: str, ending: str) -> None:
    array = np.array(voxels((5, 6, 7)), order=order)
    if ending == "npy":
        np.save(tmp_path / "a.npy", array)
    else:
        np.savez_compressed(tmp_path / "a.npz", image=array, other=np.zeros(3))
    image = opened(tmp_path / f"a.{ending}", axes=axes)
    letters = [axes.replace("t", "z").find(letter) for letter in "xyzc"]
    whole = np.expand_dims(array, 3)
    expected = whole.transpose([place if place >= 0 else 3 for place in letters])
    np.testing.assert_array_equal(collect(image, 2), expected)
    assert codes(image) == ({Code.ORIENTATION_UNKNOWN} if "z" in axes else set())
    assert image.sources[0].sha256 == hashlib.sha256(image.path.read_bytes()).hexdigest()


def test_slabs_are_cut_where_the_file_is_slowest(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", voxels((5, 6, 7)))
    assert opened(tmp_path / "a.npy", axes="zyx").slab_axis == 2
    assert opened(tmp_path / "a.npy", axes="xyz").slab_axis == 0
    np.save(tmp_path / "a.npy", voxels((5, 6)))
    assert opened(tmp_path / "a.npy").slab_axis == 1


@pytest.mark.parametrize("dtype", ["?", "u1", ">i2", "<u8", "<f2", ">f4"])
def test_types(tmp_path: Path, dtype: str) -> None:
    array = np.arange(12).reshape(3, 4).astype(dtype)
    np.save(tmp_path / "a.npy", array)
    np.testing.assert_array_equal(rows_columns(opened(tmp_path / "a.npy")), array)


def test_pickles_are_never_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([[{}, 1]], dtype=object), allow_pickle=True)
    assert refused(tmp_path / "a.npy").finding.code == Code.UNSUPPORTED_DATA
    np.savez(tmp_path / "a.npz", image=np.array([[{}, 1]], dtype=object), allow_pickle=True)
    assert refused(tmp_path / "a.npz", key="image").finding.code == Code.UNSUPPORTED_DATA


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_all_versions_and_the_long_numbers_of_python_2(tmp_path: Path, version: tuple[int, int]) -> None:
    array = voxels((3, 4))
    with (tmp_path / "a.npy").open("wb") as file:
        npy_format.write_array(file, array, version)
    np.testing.assert_array_equal(rows_columns(opened(tmp_path / "a.npy")), array)
    content = (tmp_path / "a.npy").read_bytes().replace(b"(3, 4), }  ", b"(3L, 4L), }")
    (tmp_path / "a.npy").write_bytes(content)
    np.testing.assert_array_equal(rows_columns(opened(tmp_path / "a.npy")), array)


def test_the_key_chooses_and_the_arrays_are_listed(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", vol=voxels((3, 4)), seg=np.ones((3, 4), np.uint8), id=7)
    error = refused(tmp_path / "a.npz")
    assert error.finding.code == Code.NO_SUCH_ARRAY
    assert "'vol', 'seg'" in str(error)
    assert "'vol', 'seg', 'id'" in str(refused(tmp_path / "a.npz", key="image"))
    np.testing.assert_array_equal(rows_columns(opened(tmp_path / "a.npz", key="seg")), 1)
    assert [(info.name, info.shape, info.dtype) for info in list_arrays(tmp_path / "a.npz")] == [
        ("vol", (3, 4), "int16"),
        ("seg", (3, 4), "uint8"),
        ("id", (), "int64"),
    ]
    np.save(tmp_path / "a.npy", voxels())
    assert list_arrays(tmp_path / "a.npy")[0].shape == (5, 6, 7)
    assert refused(tmp_path / "a.npy", key="vol").finding.code == Code.NO_SUCH_ARRAY


def test_a_header_that_promises_more_than_there_is(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", voxels((30, 40)))
    content = (tmp_path / "a.npy").read_bytes()
    for size in (5, 60, 130, len(content) - 1):
        (tmp_path / "b.npy").write_bytes(content[:size])
        assert refused(tmp_path / "b.npy").finding.code in ({Code.TRUNCATED} if size > 8 else {Code.WRONG_MAGIC})
    (tmp_path / "b.npy").write_bytes(content.replace(b"(30, 40), }    ", b"(3000, 40000),}"))
    assert refused(tmp_path / "b.npy").finding.code == Code.TRUNCATED
    assert refused(tmp_path / "b.npy", max_bytes=1000).finding.code == Code.TOO_LARGE


def test_an_archive_is_proven(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", image=np.random.default_rng(1).integers(0, 99, (30, 40)))
    content = (tmp_path / "a.npz").read_bytes()
    for size in (200, len(content) // 2, len(content) - 1):
        (tmp_path / "b.npz").write_bytes(content[:size])
        assert refused(tmp_path / "b.npz").finding.code == Code.TRUNCATED
    changed = bytearray(content)
    changed[3000] ^= 4
    (tmp_path / "b.npz").write_bytes(changed)
    assert refused(tmp_path / "b.npz").finding.code == Code.CHECKSUM_MISMATCH
    np.savez_compressed(tmp_path / "c.npz", image=np.random.default_rng(1).integers(0, 99, (30, 40)))
    changed = bytearray((tmp_path / "c.npz").read_bytes())
    changed[700] ^= 4
    (tmp_path / "c.npz").write_bytes(changed)
    assert refused(tmp_path / "c.npz").finding.code == Code.CHECKSUM_MISMATCH


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    header = io.BytesIO()
    npy_format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": (1 << 30, 1 << 10)})
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("image.npy", header.getvalue() + b"\0" * (1 << 20))
    assert refused(tmp_path / "a.npz").finding.code == Code.TOO_LARGE
    np.savez_compressed(tmp_path / "b.npz", image=np.zeros((1000, 1000)))
    assert refused(tmp_path / "b.npz", max_bytes=1 << 20).finding.code == Code.TOO_LARGE


@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_whatever_is_damaged_the_run_goes_on(tmp_path: Path, ending: str) -> None:
    if ending == "npy":
        np.save(tmp_path / "a.npy", voxels((4, 5)))
    else:
        np.savez_compressed(tmp_path / "a.npz", image=voxels((4, 5)))
    content = (tmp_path / f"a.{ending}").read_bytes()
    results = [read_or_refuse(tmp_path / f"b.{ending}", one) for one in damaged(content, 300)]
    assert not all(results)


def test_a_real_scan_with_its_segmentation(shared_data: Path) -> None:
    path = shared_data / "arrays" / "voxelmorph_test_scan.npz"
    names = {info.name: info.shape for info in list_arrays(path)}
    with np.load(path) as known:
        assert names == {name: known[name].shape for name in known.files}
        for name in known.files:
            image = opened(path, key=name, axes="xyz", assume_orientation="LIA", spacing_mm=(1, 1, 1))
            np.testing.assert_array_equal(collect(image, 32)[..., 0], known[name])
            assert image.space == "patient"
