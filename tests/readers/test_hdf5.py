"""HDF5 against h5py, which wrote the files and is asked again."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from resources.findings import Code
from resources.readers.registry import list_arrays
from tests.readers.makers import codes, voxels
from tests.readers.pictures import collect, damaged, opened, read_or_refuse, refused, rows_columns


def write(path: Path, **arrays: Any) -> Path:
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name.replace("__", "/")] = array
    return path


def test_two_axes_are_rows_and_columns(tmp_path: Path) -> None:
    array = voxels((4, 7))
    path = write(tmp_path / "a.h5", image=array)
    image = opened(path)
    np.testing.assert_array_equal(rows_columns(image), array)
    assert (image.format, image.shape, image.space, image.third_axis) == ("HDF5", (7, 4, 1), "picture", "space")
    assert image.spacing_known == (False, False, False)
    assert codes(image) == set()
    assert image.sources[0].sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("axes", "order"),
    [
        ("zyx", (2, 1, 0, 3)),
        ("xyz", (0, 1, 2, 3)),
        ("yxz", (1, 0, 2, 3)),
        ("zxy", (1, 2, 0, 3)),
        ("cyx", (2, 1, 3, 0)),
        ("yxc", (1, 0, 3, 2)),
    ],
)
@pytest.mark.parametrize("stored", [{}, {"chunks": (2, 3, 2), "compression": "gzip"}])
def test_axes_are_what_the_spec_says(tmp_path: Path, axes: str, order: tuple[int, ...], stored: dict[str, Any]) -> None:
    array = voxels((5, 6, 7))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("deep/er", data=array, **stored)
    image = opened(tmp_path / "a.h5", axes=axes)
    np.testing.assert_array_equal(collect(image), array[..., None].transpose(order))
    assert image.n_channels == (array.shape[axes.index("c")] if "c" in axes else 1)
    assert image.fourth_axis == ("channel" if "c" in axes else "none")


def test_three_axes_need_a_declaration(tmp_path: Path) -> None:
    error = refused(write(tmp_path / "a.h5", image=voxels()))
    assert error.finding.code == Code.UNEXPECTED_DIMENSIONS
    assert "(5, 6, 7)" in str(error)
    assert "axes" in str(error)


def test_more_axes_than_an_image_has_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.h5", image=np.zeros((2, 3, 4, 5, 6)))
    assert refused(path, axes="tczyx").finding.code == Code.UNEXPECTED_DIMENSIONS
    assert refused(path, axes="zyx").finding.code == Code.UNEXPECTED_DIMENSIONS
    assert collect(opened(write(tmp_path / "b.h5", image=np.zeros((1, 3, 4, 5, 6))), axes="tczyx")).shape == (6, 5, 4, 3)


def test_a_film_with_colours(tmp_path: Path) -> None:
    array = voxels((4, 5, 6, 3), np.uint16)
    image = opened(write(tmp_path / "a.h5", film=array), axes="tyxc", spacing_mm=(0.5, 0.25), assume_orientation="LPS")
    np.testing.assert_array_equal(collect(image), array.transpose(2, 1, 0, 3))
    assert (image.space, image.third_axis, image.fourth_axis) == ("picture", "time", "channel")
    assert image.spacing_known == (True, True, False)
    np.testing.assert_array_equal(np.diag(image.affine_ras_mm), [0.5, 0.25, 1, 1])


def test_a_declared_volume_lies_in_the_patient(tmp_path: Path) -> None:
    array = voxels((5, 6, 7))
    path = write(tmp_path / "a.h5", knee__echo1=array)
    image = opened(path, key="/knee/echo1", axes="xyz", assume_orientation="SAL", spacing_mm=(0.3125, 0.4, 0.8))
    np.testing.assert_array_equal(collect(image)[..., 0], array)
    assert (image.space, image.third_axis) == ("patient", "space")
    assert image.spacing_known == (True, True, True)
    np.testing.assert_allclose(image.affine_ras_mm[:3, :3], [[0, 0, -0.8], [0, 0.4, 0], [0.3125, 0, 0]])
    np.testing.assert_array_equal(image.affine_ras_mm[:3, 3], 0)
    assert codes(image) == {Code.ORIENTATION_UNKNOWN, Code.ORIGIN_UNKNOWN}
    assert not image.orientation_known


def test_a_volume_without_orientation_is_a_stack_of_pictures(tmp_path: Path) -> None:
    image = opened(write(tmp_path / "a.h5", image=voxels()), axes="zyx", spacing_mm=(1, 2, 3))
    assert (image.space, image.third_axis) == ("picture", "space")
    assert codes(image) == {Code.ORIENTATION_UNKNOWN}


@pytest.mark.parametrize(
    ("stored", "read"),
    [("?", np.uint8), (">i2", np.int16), ("<f2", np.float32), (">f8", np.float64), ("u8", np.uint64), ("i1", np.int8)],
)
def test_types_become_native_numbers(tmp_path: Path, stored: str, read: type) -> None:
    array = np.arange(12).reshape(3, 4).astype(stored)
    image = opened(write(tmp_path / "a.h5", image=array))
    assert image.dtype == np.dtype(read)
    np.testing.assert_array_equal(rows_columns(image), array.astype(read))


@pytest.mark.parametrize("array", [np.zeros((2, 2), complex), np.zeros((2, 2), [("a", "i4")]), np.zeros((2, 2), "S3")])
def test_what_is_no_number_is_refused(tmp_path: Path, array: Any) -> None:
    assert refused(write(tmp_path / "a.h5", image=array), key="image").finding.code == Code.UNSUPPORTED_DATA


def test_the_key_chooses_and_the_message_lists(tmp_path: Path) -> None:
    path = write(tmp_path / "a.h5", image=voxels((3, 4)), seg__mask=np.ones((3, 4), np.uint8), scalar=3, text="words")
    error = refused(path)
    assert error.finding.code == Code.NO_SUCH_ARRAY
    assert "'image', 'seg/mask'" in str(error)
    assert "'seg/mask'" in str(refused(path, key="seg/musk"))
    assert "Group" in str(refused(path, key="seg"))
    np.testing.assert_array_equal(rows_columns(opened(path, key="seg/mask")), 1)
    assert {(info.name, info.shape, info.dtype) for info in list_arrays(path)} == {
        ("image", (3, 4), "int16"),
        ("seg/mask", (3, 4), "uint8"),
        ("scalar", (), "int64"),
        ("text", (), "object"),
    }


def test_links_out_of_the_file_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "secret.h5", image=voxels((3, 4)))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["link"] = h5py.ExternalLink("secret.h5", "image")
        layout = h5py.VirtualLayout((3, 4), "i2")
        layout[:] = h5py.VirtualSource("secret.h5", "image", (3, 4))
        file.create_virtual_dataset("virtual", layout)
        file.create_dataset("external", (3, 4), "i2", external=[("secret.h5", 0, 24)])
    for key in ("link", "virtual", "external"):
        assert refused(tmp_path / "a.h5", key=key).finding.code == Code.UNSUPPORTED_DATA


def test_chunks_that_were_never_written_are_told(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("image", (8, 8), "i2", chunks=(4, 4), fillvalue=-7)[:4] = 1
    image = opened(tmp_path / "a.h5")
    assert rows_columns(image)[7, 7] == -7
    assert codes(image) == {Code.UNWRITTEN_CHUNKS}
    assert "2 of 4" in image.findings[0].detail
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file.create_dataset("image", (8, 8), "i2")
    assert refused(tmp_path / "b.h5").finding.code == Code.TRUNCATED


def test_an_axis_order_that_the_file_states_is_taken(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("image", data=voxels((3, 5, 6))).attrs["dims"] = "CYX"
        labelled = file.create_dataset("labelled", data=voxels((5, 6, 3)))
        for axis, label in zip(labelled.dims, "yxc", strict=True):
            axis.label = label
    for key in ("image", "labelled"):
        image = opened(tmp_path / "a.h5", key=key)
        assert (image.shape, image.n_channels) == ((6, 5, 1), 3)


def test_bombs_are_refused_before_anything_is_allocated(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("image", (1 << 20, 1 << 20), "f8", chunks=(1 << 10, 1 << 10), compression="gzip")
        file.create_dataset("small", data=np.zeros((1000, 1000)), compression="gzip")
    assert refused(tmp_path / "a.h5", key="image").finding.code == Code.TOO_LARGE
    assert refused(tmp_path / "a.h5", key="image", max_bytes=1 << 50).finding.code == Code.TOO_LARGE
    assert refused(tmp_path / "a.h5", key="small", max_bytes=1 << 20).finding.code == Code.TOO_LARGE


def test_cut_files_are_truncated(tmp_path: Path) -> None:
    content = write(tmp_path / "a.h5", image=voxels((30, 40))).read_bytes()
    for size in (100, len(content) // 2, len(content) - 1):
        (tmp_path / "b.h5").write_bytes(content[:size])
        assert refused(tmp_path / "b.h5").finding.code == Code.TRUNCATED


@pytest.mark.parametrize("kind", [{"compression": "gzip"}, {"fletcher32": True}])
def test_damage_within_checked_chunks_is_found(tmp_path: Path, kind: dict[str, Any]) -> None:
    array = np.random.default_rng(1).integers(0, 1000, (40, 40), np.int16)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        chunk = file.create_dataset("image", data=array, chunks=(40, 40), **kind).id.get_chunk_info(0)
    content = bytearray((tmp_path / "a.h5").read_bytes())
    content[chunk.byte_offset + chunk.size // 2] ^= 0x40
    (tmp_path / "a.h5").write_bytes(content)
    assert refused(tmp_path / "a.h5").finding.code == Code.CHECKSUM_MISMATCH


def test_whatever_is_damaged_the_run_goes_on(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w", libver="latest") as file:
        file.create_dataset("g/image", data=voxels((8, 12)), compression="gzip", chunks=(2, 3), fletcher32=True, shuffle=True)
        file["mask"] = np.zeros((8, 12), np.uint8)
    content = (tmp_path / "a.h5").read_bytes()
    results = [read_or_refuse(tmp_path / "b.h5", one, key="g/image") for one in damaged(content, 150)]
    assert 0 < sum(results) < len(results)
