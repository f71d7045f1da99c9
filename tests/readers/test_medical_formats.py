"""MGH, MINC and PAR/REC against nibabel, on real files and on files made for the purpose."""

from __future__ import annotations

import gc
import gzip
import struct
from pathlib import Path
from typing import Any

import h5py
import nibabel as nib
import numpy as np
import numpy.typing as npt
import pytest
from nibabel.externals.netcdf import netcdf_file

from resources.findings import BadInputError, Code
from resources.readers.registry import companions
from tests.readers.makers import AFFINE, codes, voxels
from tests.readers.pictures import collect, damaged, opened, read_or_refuse, refused

Array = npt.NDArray[Any]


def write_mgh(path: Path, array: Array, affine: Array = AFFINE) -> Path:
    nib.save(nib.freesurfer.MGHImage(array, affine), path)
    return path


def write_minc1(path: Path, array: Array, low: float = -2.0, high: float = 7.0) -> Path:
    """A volume of bytes, `[z, y, x]`, each slice from `low` to `high` times its number."""
    with netcdf_file(path, "w") as file:
        for name, extent in zip(("zspace", "yspace", "xspace"), array.shape, strict=True):
            file.createDimension(name, extent)
            axis = file.createVariable(name, "i4", ())
            axis.spacing = b"regular__"
            axis.step, axis.start = {"z": (3.0, 5.0), "y": (-1.5, 6.0), "x": (0.8, 7.0)}[name[0]]
        image = file.createVariable("image", "b", ("zspace", "yspace", "xspace"))
        image.signtype, image.valid_range = b"unsigned", np.array([0.0, 255.0])
        image[:] = array.view(np.int8)
        for name, end in (("image-max", high), ("image-min", low)):
            ends = file.createVariable(name, "d", ("zspace",))
            ends[:] = end * (1 + np.arange(array.shape[0]))
    return path


def write_minc2(path: Path, array: Array) -> Path:
    with h5py.File(path, "w") as file:
        group = file.create_group("minc-2.0/image/0")
        image = group.create_dataset("image", data=array, chunks=array.shape, compression="gzip")
        image.attrs["dimorder"] = np.bytes_(b"zspace,yspace,xspace")
        for name, end in (("image-max", 3.0), ("image-min", 1.0)):
            group[name] = end
        for name, step in (("zspace", 3.0), ("yspace", 1.5), ("xspace", 0.8)):
            axis = file.create_dataset(f"minc-2.0/dimensions/{name}", data=0)
            axis.attrs["step"], axis.attrs["start"] = step, 4.0
    return path


@pytest.mark.parametrize("ending", [".mgh", ".mgz"])
@pytest.mark.parametrize("dtype", ["u1", "i2", "i4", "f4"])
def test_mgh_is_what_nibabel_wrote(tmp_path: Path, ending: str, dtype: str) -> None:
    array = voxels((5, 6, 7), dtype)
    path = write_mgh(tmp_path / f"a{ending}", array)
    image = opened(path)
    np.testing.assert_array_equal(collect(image)[..., 0], array)
    np.testing.assert_allclose(image.affine_ras_mm, AFFINE, atol=1e-5)
    assert (image.dtype, image.space, image.spacing_known) == (np.dtype(dtype), "patient", (True, True, True))
    assert image.orientation_known
    assert codes(image) == set()


def test_mgh_frames_are_channels(tmp_path: Path) -> None:
    array = voxels((5, 6, 7, 3), "f4")
    image = opened(write_mgh(tmp_path / "a.mgz", array))
    np.testing.assert_array_equal(collect(image), array)
    assert (image.n_channels, image.fourth_axis) == (3, "channel")


def test_mgh_without_orientation_is_refused_unless_one_is_stated(tmp_path: Path) -> None:
    content = bytearray(write_mgh(tmp_path / "a.mgh", voxels((5, 6, 7), "f4")).read_bytes())
    content[28:30] = b"\0\0"
    (tmp_path / "a.mgh").write_bytes(content)
    assert refused(tmp_path / "a.mgh").finding.code == Code.ORIENTATION_UNKNOWN
    image = opened(tmp_path / "a.mgh", assume_orientation="LPS")
    assert codes(image) == {Code.ORIENTATION_UNKNOWN}
    assert image.spacing_known == (False, False, False)
    image = opened(tmp_path / "a.mgh", assume_orientation="LPS", spacing_mm=(0.5, 0.6, 0.7))
    np.testing.assert_allclose(np.diag(image.affine_ras_mm), [-0.5, -0.6, 0.7, 1])
    assert image.spacing_known == (True, True, True)


def test_mgh_is_proven(tmp_path: Path) -> None:
    array = np.random.default_rng(1).integers(0, 99, (10, 10, 10)).astype("i4")
    plain = write_mgh(tmp_path / "a.mgh", array).read_bytes()
    packed = gzip.compress(plain)
    for content, code in (
        (plain[:200], Code.TRUNCATED),
        (plain[:3000], Code.TRUNCATED),
        (packed[: len(packed) // 2], Code.TRUNCATED),
        (packed[:-6] + b"\0\0" + packed[-4:], Code.CHECKSUM_MISMATCH),
        (plain[:20] + struct.pack(">i", 5) + plain[24:], Code.UNSUPPORTED_DATA),
        (plain[:4] + struct.pack(">i", 1 << 23) + plain[8:], Code.TRUNCATED),
    ):
        (tmp_path / "b.mgz").write_bytes(content)
        assert refused(tmp_path / "b.mgz").finding.code == code


def check_against_nibabel(path: Path) -> None:
    known = nib.load(path, mmap=False)
    image = opened(path)
    values = collect(image)
    expected = np.asarray(known.dataobj)
    np.testing.assert_array_equal(values if expected.ndim == 4 else values[..., 0], expected)
    np.testing.assert_allclose(image.affine_ras_mm, known.affine, atol=1e-6)
    assert (image.space, image.orientation_known) == ("patient", True)


@pytest.mark.parametrize("name", ["minc1_1_scale.mnc", "minc2_1_scale.mnc", "small.mnc"])
def test_real_volumes_are_what_nibabel_reads(shared_data: Path, name: str) -> None:
    check_against_nibabel(shared_data / "volumes" / "nibabel" / name)


def test_an_mgz_with_axes_far_from_right_angles_is_refused(shared_data: Path) -> None:
    assert refused(shared_data / "volumes" / "nibabel" / "test.mgz").finding.code == Code.SHEAR


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # nibabel leaves the REC open
def test_a_real_par_rec_is_what_nibabel_reads(shared_data: Path) -> None:
    folder = shared_data / "volumes" / "nibabel"
    par = folder / "phantom_EPI_asc_CLEAR_2_1.PAR"
    check_against_nibabel(par)
    gc.collect()
    image = opened(par.with_suffix(".REC"))
    assert (image.path, image.n_channels, image.fourth_axis) == (par, 3, "time")
    collect(image)
    assert {source.path.suffix for source in image.sources} == {".PAR", ".REC"}
    assert companions(par) == (par.with_suffix(".REC"),)


def test_the_two_minc_versions_of_one_volume_are_equal(shared_data: Path) -> None:
    folder = shared_data / "volumes" / "nibabel"
    one, two = (opened(folder / f"minc{version}_1_scale.mnc") for version in (1, 2))
    np.testing.assert_allclose(collect(one), collect(two))
    np.testing.assert_array_equal(one.affine_ras_mm, two.affine_ras_mm)


def test_minc_slices_have_their_own_scale_and_place(tmp_path: Path) -> None:
    array = np.random.default_rng(2).integers(0, 256, (4, 5, 6), np.uint8)
    image = opened(write_minc1(tmp_path / "a.mnc", array))
    number = 1 + np.arange(4)[:, None, None]
    np.testing.assert_allclose(collect(image, 2)[..., 0], number * (array / 255 * 9 - 2), atol=1e-12)
    np.testing.assert_allclose(image.affine_ras_mm, [[0, 0, 0.8, 7], [0, -1.5, 0, 6], [3, 0, 0, 5], [0, 0, 0, 1]])
    assert (image.dtype, image.slab_axis) == (np.float64, 0)


def test_minc_2_is_told_from_other_hdf5(tmp_path: Path) -> None:
    array = voxels((4, 5, 6), "u1")
    image = opened(write_minc2(tmp_path / "a.mnc", array))
    assert image.format == "MINC 2"
    np.testing.assert_allclose(collect(image)[..., 0], 1 + array / 255 * 2)
    np.testing.assert_allclose(image.affine_ras_mm[:3, :3], [[0, 0, 0.8], [0, 1.5, 0], [3, 0, 0]])


def test_cut_and_damaged_minc(tmp_path: Path) -> None:
    content = write_minc1(tmp_path / "a.mnc", voxels((4, 5, 6), "u1")).read_bytes()
    for size in (len(content) // 2, len(content) - 100):
        (tmp_path / "b.mnc").write_bytes(content[:size])
        assert refused(tmp_path / "b.mnc").finding.code in {Code.TRUNCATED, Code.BAD_HEADER}
    for one in damaged(content, 60):
        read_or_refuse(tmp_path / "b.mnc", one)
    content = write_minc2(tmp_path / "a.mnc", voxels((4, 5, 6), "u1")).read_bytes()
    for one in damaged(content, 40):
        read_or_refuse(tmp_path / "b.mnc", one)


def test_cut_and_damaged_par_rec(shared_data: Path, tmp_path: Path) -> None:
    par = shared_data / "volumes" / "nibabel" / "phantom_EPI_asc_CLEAR_2_1.PAR"
    text, numbers = par.read_bytes(), par.with_suffix(".REC").read_bytes()
    (tmp_path / "a.PAR").write_bytes(text)
    assert refused(tmp_path / "a.PAR").finding.code == Code.MISSING_IMAGE
    (tmp_path / "a.REC").write_bytes(numbers[:-1])
    error = opened_error(tmp_path / "a.PAR")
    assert (error.code, error.file) == (Code.TRUNCATED, "a.REC")
    (tmp_path / "a.REC").write_bytes(numbers)
    for one in damaged(text, 40):
        (tmp_path / "a.PAR").write_bytes(one)
        opened_error(tmp_path / "a.PAR")


def opened_error(path: Path) -> Any:
    try:
        collect(opened(path))
    except BadInputError as error:
        return error.finding
    return None
