from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest

from resources.findings import Code
from resources.readers.registry import open_image
from resources.readers.source import ReadOptions
from tests.readers.makers import codes, nifti_bytes, read_all, refusal, voxels, write_nifti


def bomb(dims: list[int], datatype: int, bits: int) -> bytes:
    header = nib.Nifti1Header()
    header["dim"][: len(dims)] = dims
    header["datatype"], header["bitpix"] = datatype, bits
    header["vox_offset"], header["magic"] = 352, b"n+1"
    header["sform_code"] = 1
    header["srow_x"], header["srow_y"], header["srow_z"] = np.eye(4)[:3]
    return bytes(header.binaryblock) + bytes(4)


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
def test_header_bomb_costs_nothing(tmp_path: Path, name: str) -> None:
    content = bomb([3, 30000, 30000, 30000], 64, 64)
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    open_image(write_nifti(tmp_path / "warm.nii", voxels()))
    tracemalloc.start()
    error = refusal(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert error.finding.code == Code.TOO_LARGE
    assert str(30000**3 * 8 + 352) in str(error)
    assert peak < 1 << 20


def test_gzip_cannot_hold_more_than_deflate_can_expand(tmp_path: Path) -> None:
    path = tmp_path / "a.nii.gz"
    path.write_bytes(gzip.compress(bomb([3, 2000, 2000, 2000], 2, 8)))
    error = refusal(path)
    assert error.finding.code == Code.TOO_LARGE
    assert "truncated" in str(error)


def test_a_legal_mask_of_zeros_is_no_bomb(tmp_path: Path) -> None:
    array = np.zeros((400, 400, 100), np.uint8)
    path = write_nifti(tmp_path / "a.nii.gz", array)
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()), 9))
    assert not read_all(open_image(path), 50).any()


def test_size_limit_is_the_callers(tmp_path: Path) -> None:
    path = write_nifti(tmp_path / "a.nii", voxels())
    size = path.stat().st_size
    open_image(path, options=ReadOptions(max_bytes=size))
    assert refusal(path, max_bytes=size - 1).finding.code == Code.TOO_LARGE


@pytest.mark.parametrize(
    ("fields", "code", "word"),
    [
        ({"dim": [3, 5, -6, 7, 1, 1, 1, 1]}, Code.BAD_HEADER, "dim"),
        ({"dim": [3, 5, 0, 7, 1, 1, 1, 1]}, Code.BAD_HEADER, "dim"),
        ({"dim": [0, 5, 6, 7, 1, 1, 1, 1]}, Code.BAD_HEADER, "dim"),
        ({"dim": [8, 5, 6, 7, 1, 1, 1, 1]}, Code.BAD_HEADER, "dim"),
        ({"dim": [-3, 5, 6, 7, 1, 1, 1, 1]}, Code.BAD_HEADER, "dim"),
        ({"dim": [1, 210, 1, 1, 1, 1, 1, 1]}, Code.UNEXPECTED_DIMENSIONS, "dim"),
        ({"dim": [5, 5, 6, 1, 1, 7, 1, 1]}, Code.UNEXPECTED_DIMENSIONS, "dim"),
        ({"dim": [3, 5, 6, 8, 1, 1, 1, 1]}, Code.TRUNCATED, "truncated"),
        ({"datatype": 32, "bitpix": 64}, Code.UNSUPPORTED_DATA, "complex64"),
        ({"datatype": 1536, "bitpix": 128}, Code.UNSUPPORTED_DATA, "float128"),
        ({"datatype": 2304, "bitpix": 32}, Code.UNSUPPORTED_DATA, "RGBA32"),
        ({"datatype": 1, "bitpix": 1}, Code.UNSUPPORTED_DATA, "binary"),
        ({"datatype": 77, "bitpix": 16}, Code.UNSUPPORTED_DATA, "datatype is 77"),
        ({"bitpix": 8}, Code.BAD_HEADER, "bitpix"),
        ({"vox_offset": 0}, Code.BAD_HEADER, "vox_offset"),
        ({"vox_offset": 352.5}, Code.BAD_HEADER, "vox_offset"),
        ({"vox_offset": float("nan")}, Code.BAD_HEADER, "vox_offset"),
        ({"vox_offset": float("inf")}, Code.BAD_HEADER, "vox_offset"),
        ({"vox_offset": -352}, Code.BAD_HEADER, "vox_offset"),
        ({"vox_offset": 400}, Code.TRUNCATED, "truncated"),
        ({"sizeof_hdr": 347}, Code.BAD_HEADER, "347"),
        ({"magic": b"n+3"}, Code.WRONG_MAGIC, "magic"),
        ({"scl_slope": 2, "scl_inter": float("nan")}, Code.BAD_HEADER, "scl_inter"),
    ],
)
def test_impossible_headers_are_refused(tmp_path: Path, fields: dict[str, Any], code: Code, word: str) -> None:
    error = refusal(write_nifti(tmp_path / "a.nii", voxels(), **fields))
    assert error.finding.code == code
    assert word in str(error)


def test_byte_order_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    header, body = nifti_bytes(voxels(), order=">")
    path = tmp_path / "a.nii"
    path.write_bytes((348).to_bytes(4, "little") + header[4:] + body)
    assert refusal(path).finding.code == Code.BAD_HEADER


def test_header_extensions_are_passed_over(tmp_path: Path) -> None:
    header, body = nifti_bytes(voxels(), vox_offset=352 + 64)
    path = tmp_path / "a.nii"
    path.write_bytes(header[:348] + b"\1\0\0\0" + bytes(64) + body)
    np.testing.assert_array_equal(read_all(open_image(path)), voxels())


def test_voxels_of_a_pair_may_start_later(tmp_path: Path) -> None:
    header, body = nifti_bytes(voxels(), pair=True, vox_offset=16)
    (tmp_path / "a.hdr").write_bytes(header)
    (tmp_path / "a.img").write_bytes(bytes(16) + body)
    np.testing.assert_array_equal(read_all(open_image(tmp_path / "a.hdr")), voxels())


def test_pair_without_its_voxel_file_is_refused(tmp_path: Path) -> None:
    header, body = nifti_bytes(voxels(), pair=True)
    (tmp_path / "a.hdr").write_bytes(header)
    error = refusal(tmp_path / "a.hdr")
    assert error.finding.code == Code.MISSING_IMAGE
    (tmp_path / "a.img").write_bytes(body[:-3])
    error = refusal(tmp_path / "a.hdr", name="s1/a.hdr")
    assert (error.finding.code, error.finding.file) == (Code.TRUNCATED, "s1/a.img")


@pytest.mark.parametrize(
    ("fields", "axis"),
    [
        ({}, "channel"),
        ({"pixdim": [1, 0.8, 1.5, 3, 2.0, 0, 0, 0]}, "time"),
        ({"pixdim": [1, 0.8, 1.5, 3, 2.0, 0, 0, 0], "xyzt_units": 2}, "channel"),
        ({"pixdim": [1, 0.8, 1.5, 3, 2.0, 0, 0, 0], "xyzt_units": 2 + 32}, "channel"),
        ({"pixdim": [1, 0.8, 1.5, 3, 2.0, 0, 0, 0], "intent_code": 1007}, "channel"),
        ({"slice_code": 1}, "time"),
        ({"intent_code": 2001}, "time"),
    ],
)
def test_fourth_axis_is_told_as_far_as_the_header_does(tmp_path: Path, fields: dict[str, Any], axis: str) -> None:
    path = write_nifti(tmp_path / "a.nii", voxels((2, 3, 4, 5)), **fields)
    image = open_image(path)
    assert (image.n_channels, image.fourth_axis) == (5, axis)
    np.testing.assert_array_equal(read_all(image), voxels((2, 3, 4, 5)))


def test_slabs_come_channel_by_channel_in_at_most_two_buffers(tmp_path: Path) -> None:
    image = open_image(write_nifti(tmp_path / "a.nii.gz", voxels((2, 3, 8, 2))))
    order, places = [], set()
    for slab in image.slabs([(0, 2), (2, 4), (4, 6), (6, 8)]):
        order.append((slab.channel, slab.start))
        places.add(slab.voxels.__array_interface__["data"][0])
        assert slab.voxels.flags.f_contiguous
    assert order == [(channel, start) for channel in (0, 1) for start in (0, 2, 4, 6)]
    assert len(places) <= 2


@pytest.mark.parametrize("bounds", [[], [(0, 3)], [(0, 3), (4, 7)], [(3, 7), (0, 3)], [(0, 0), (0, 7)], [(0, 8)]])
def test_bounds_that_do_not_cover_the_axis_are_refused(tmp_path: Path, bounds: list[tuple[int, int]]) -> None:
    image = open_image(write_nifti(tmp_path / "a.nii", voxels((5, 6, 7))))
    with pytest.raises(ValueError, match="slabs"):
        list(image.slabs(bounds))


def test_sound_file_says_nothing(tmp_path: Path) -> None:
    image = open_image(write_nifti(tmp_path / "a.nii", voxels()))
    read_all(image)
    assert codes(image) == set()
    assert (image.format, image.slab_axis, image.n_channels, image.fourth_axis) == ("NIfTI-1", 2, 1, "none")
