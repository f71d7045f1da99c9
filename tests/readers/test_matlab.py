"""MAT files of both versions: one declaration reads the same array from either."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt
import pytest
from scipy.io import savemat

from resources.findings import Code
from resources.readers.registry import list_arrays, list_names
from tests.readers.conftest import CaseKind
from tests.readers.makers import codes, voxels
from tests.readers.pictures import collect, damaged, opened, read_or_refuse, refused, rows_columns

Array = npt.NDArray[Any]


def write_v73(path: Path, arrays: dict[str, Array]) -> Path:
    """As MATLAB writes: a text of its own in front, and every array with its axes reversed."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array.T)
        file.create_dataset("#refs#/a", data=np.zeros((5, 5)))
    with path.open("r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file, by hand".ljust(116) + b"\0" * 8 + b"\0\2IM")
    return path


@pytest.fixture(params=["5", "5 compressed", "7.3"])
def both(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    volume, mask = voxels((4, 5, 6)), voxels((4, 5)) > 7
    path = tmp_path / "a.mat"
    if request.param == "7.3":
        return write_v73(path, {"cjdata/image": volume, "cjdata/inner/mask": mask, "flat": volume[..., 0].astype(float)})
    flat = volume[..., 0].astype(float)
    content = {"cjdata": {"image": volume, "inner": {"mask": mask}}, "flat": flat, "words": "some text"}
    savemat(path, content, do_compression="compressed" in request.param)
    return path


def test_one_declaration_reads_the_same_from_either_version(both: Path) -> None:
    image = opened(both, key="cjdata/image", axes="yxz", assume_orientation="LPS", spacing_mm=(0.5, 0.6, 2))
    np.testing.assert_array_equal(collect(image)[..., 0], voxels((4, 5, 6)).transpose(1, 0, 2))
    assert (image.dtype, image.slab_axis) == (np.int16, 2)
    np.testing.assert_array_equal(np.diag(image.affine_ras_mm), [-0.5, -0.6, 2, 1])
    mask = opened(both, key="cjdata/inner/mask")
    np.testing.assert_array_equal(rows_columns(mask), voxels((4, 5)) > 7)
    assert mask.dtype == np.uint8
    flat = opened(both, key="flat")
    assert flat.dtype == np.float64
    np.testing.assert_array_equal(rows_columns(flat), voxels((4, 5, 6))[..., 0])
    assert codes(flat) == set()


def test_arrays_are_listed_in_the_order_in_which_matlab_indexes_them(both: Path) -> None:
    there = {info.name: info.shape for info in list_arrays(both)}
    assert there == {"cjdata/image": (4, 5, 6), "cjdata/inner/mask": (4, 5), "flat": (4, 5)}
    error = refused(both)
    assert error.finding.code == Code.NO_SUCH_ARRAY
    assert "3 arrays" in str(error)
    assert "'flat'" in str(refused(both, key="cjdata/picture"))


def test_names_of_texts_are_listed_too(tmp_path: Path) -> None:
    savemat(tmp_path / "a.mat", {"s": {"im": voxels((4, 5)), "PID": "100360"}, "who": "somebody"}, do_compression=True)
    assert set(list_names(tmp_path / "a.mat")) == {"s/im", "s/PID", "who"}
    assert [info.name for info in list_arrays(tmp_path / "a.mat")] == ["s/im"]
    np.savez(tmp_path / "a.npz", im=voxels((4, 5)), who="somebody")
    assert set(list_names(tmp_path / "a.npz")) == {"im", "who"}


def test_a_single_array_needs_no_key(tmp_path: Path) -> None:
    savemat(tmp_path / "a.mat", {"im": voxels((4, 5)), "label": 2, "PID": "100360"})
    np.testing.assert_array_equal(rows_columns(opened(tmp_path / "a.mat")), voxels((4, 5)))


@pytest.mark.parametrize("array", [np.full((2, 3), 1 + 2j), np.array([["a", "bc"]], dtype=object)])
def test_what_is_no_real_array_is_refused(tmp_path: Path, array: Array) -> None:
    savemat(tmp_path / "a.mat", {"a": array, "s": {"a": array}})
    for key in ("a", "s/a"):
        assert refused(tmp_path / "a.mat", key=key).finding.code in {Code.UNSUPPORTED_DATA, Code.NO_SUCH_ARRAY}


@pytest.mark.parametrize("compressed", [False, True])
def test_a_cut_file_is_truncated(tmp_path: Path, compressed: bool) -> None:
    noise = np.random.default_rng(1).integers(0, 99, (30, 40))
    savemat(tmp_path / "a.mat", {"im": noise}, do_compression=compressed)
    content = (tmp_path / "a.mat").read_bytes()
    for size in (132, 200, len(content) // 2, len(content) - 1):
        (tmp_path / "b.mat").write_bytes(content[:size])
        assert refused(tmp_path / "b.mat").finding.code == Code.TRUNCATED
    if compressed:
        changed = bytearray(content)
        changed[len(content) // 2] ^= 4
        (tmp_path / "b.mat").write_bytes(changed)
        assert refused(tmp_path / "b.mat").finding.code in {Code.CHECKSUM_MISMATCH, Code.TRUNCATED}


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    savemat(tmp_path / "a.mat", {"im": np.zeros((1000, 1000))}, do_compression=True)
    assert refused(tmp_path / "a.mat", max_bytes=1 << 20).finding.code == Code.TOO_LARGE


def test_whatever_is_damaged_the_run_goes_on(tmp_path: Path) -> None:
    savemat(tmp_path / "a.mat", {"im": voxels((4, 5)), "s": {"t": voxels((3, 3))}})
    content = (tmp_path / "a.mat").read_bytes()
    results = [read_or_refuse(tmp_path / "b.mat", one, key="im") for one in damaged(content, 150)]
    assert not all(results)


def check_brain(path: Path, keys: tuple[str, str], expect: dict[str, Any]) -> None:
    image, mask = (rows_columns(opened(path, key=key)) for key in keys)
    assert list(image.shape) == expect["shape_rows_cols"]
    row, col = np.indices(image.shape)
    np.testing.assert_array_equal(image, 100 * row + col)
    rows, cols = np.nonzero(mask)
    assert [rows.min(), rows.max()] == expect["mask_box_rows"]
    assert [cols.min(), cols.max()] == expect["mask_box_cols"]
    assert len(rows) == expect["mask_pixels"]


def test_the_shared_cases(case_kind: CaseKind) -> None:
    folder, cases = case_kind("mat_h5_axes")
    check_brain(folder / cases["mat_v5"]["inputs"]["file"], ("image", "mask"), cases["mat_v5"]["expect"])
    check_brain(folder / cases["mat_v73"]["inputs"]["file"], ("cjdata/image", "cjdata/tumorMask"), cases["mat_v73"]["expect"])


def test_the_shared_cases_of_channels(case_kind: CaseKind) -> None:
    folder, cases = case_kind("mat_h5_axes")
    expect = cases["h5_channels_last"]["expect"]
    path = folder / cases["h5_channels_last"]["inputs"]["file"]
    image = rows_columns(opened(path, key="image", axes="yxc"))
    row, col, c = np.indices(image.shape)
    np.testing.assert_array_equal(image, 100 * row + col + 1000 * c)
    mask = rows_columns(opened(path, key="mask", axes="yxc"))
    assert dict(zip(("NCR", "ED", "ET"), mask.sum(axis=(0, 1)).tolist(), strict=True)) == expect["pixels_per_class"]
    assert int((mask.sum(axis=2) > 1).sum()) == expect["overlap_pixels"]
    first = opened(folder / cases["h5_channels_first"]["inputs"]["file"])
    assert [first.n_channels, *first.shape[1::-1]] == cases["h5_channels_first"]["expect"]["shape_channels_rows_cols"]
    np.testing.assert_array_equal(rows_columns(first), image)
