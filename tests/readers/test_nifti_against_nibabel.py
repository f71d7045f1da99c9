"""What we read is what nibabel reads, on random headers and on real files."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from typing import Any, Literal

import nibabel as nib
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resources.findings import Code
from resources.readers.nifti_header import VOXEL_TYPES
from resources.readers.registry import companions, open_image
from resources.readers.source import ReadOptions
from tests.readers.makers import codes, nifti_bytes, read_all

SLOPES = st.sampled_from(
    [(1.0, 0.0), (0.0, 0.0), (2.0, -1024.0), (1.0, -1024.0), (0.5, 3.0), (-1.0, 0.25), (0.1, 0.0), (1e-3, 7.5)]
)
REAL_FILES = (
    "volumes/nibabel/anatomical.nii",
    "volumes/nibabel/example4d.nii.gz",
    "volumes/nibabel/example_nifti2.nii.gz",
    "volumes/nibabel/standard.nii.gz",
    "volumes/mricron/aal.nii.gz",
    "volumes/itksnap/X39.nii.gz",
    "volumes/itksnap/img4d_11f.nii.gz",
    "volumes/itksnap/t1_chunk.nii.gz",
    "volumes/itksnap/t2_chunk.nii.gz",
    "volumes/itksnap/tensor_fa.nii.gz",
    "volumes/itksnap/tdigest_test.nii.gz",
    "dicom/dcm_qa_enh/Ref/Philips_WIP_B0_NS_801_e2_fieldmaphz.nii",
)


@st.composite
def affines(draw: st.DrawFn) -> npt.NDArray[np.float64]:
    """Any of the 48 orientations, unequal spacings, an oblique turn, any origin."""
    axes = draw(st.permutations(range(3)))
    signs = draw(st.tuples(*[st.sampled_from([-1.0, 1.0])] * 3))
    spacing = np.array(draw(st.tuples(*[st.floats(0.2, 8)] * 3)))
    a, b = draw(st.tuples(st.floats(-0.5, 0.5), st.floats(-0.5, 0.5)))
    about_z = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    about_x = np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]])
    affine = np.eye(4)
    affine[:3, :3] = about_z @ about_x @ (np.eye(3)[:, axes] * signs) * spacing
    affine[:3, 3] = draw(st.tuples(*[st.floats(-300, 300)] * 3))
    return affine


@st.composite
def arrays(draw: st.DrawFn) -> npt.NDArray[Any]:
    dtype = draw(st.sampled_from(list(VOXEL_TYPES.values())))
    shape = draw(st.sampled_from([(3, 4), (2, 3, 4), (5, 1, 3), (1, 2, 3, 2), (3, 2, 2, 1), (2, 2, 2, 3)]))
    dice = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if dtype.kind == "f":
        return dice.normal(0, 1000, shape).astype(dtype)
    limits = np.iinfo(dtype)
    return dice.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def save(folder: Path, header: bytes, body: bytes, *, pair: bool, packed: bool) -> Path:
    end = ".gz" if packed else ""
    pack = gzip.compress if packed else bytes
    if not pair:
        path = folder / f"a.nii{end}"
        path.write_bytes(pack(header + body))
        return path
    (folder / f"a.img{end}").write_bytes(pack(body))
    path = folder / f"a.hdr{end}"
    path.write_bytes(pack(header))
    return path


@settings(deadline=None, max_examples=120)
@given(
    array=arrays(),
    affine=affines(),
    scaling=SLOPES,
    version=st.sampled_from([1, 2]),
    order=st.sampled_from(["<", ">"]),
    pair=st.booleans(),
    packed=st.booleans(),
    step=st.integers(1, 4),
)
def test_voxels_and_affine_are_those_of_nibabel(
    array: npt.NDArray[Any],
    affine: npt.NDArray[np.float64],
    scaling: tuple[float, float],
    version: int,
    order: Literal["<", ">"],
    pair: bool,
    packed: bool,
    step: int,
) -> None:
    slope, inter = scaling
    header, body = nifti_bytes(array, affine, version=version, order=order, pair=pair, scl_slope=slope, scl_inter=inter)
    with tempfile.TemporaryDirectory() as folder:
        path = save(Path(folder), header, body, pair=pair, packed=packed)
        image = open_image(path)
        ours = read_all(image, step)
        theirs = nib.load(path)
        assert isinstance(theirs, nib.Nifti1Pair)
        np.testing.assert_allclose(image.affine_ras_mm, theirs.affine, atol=1e-5, rtol=1e-6)
        if slope in {0.0, 1.0} and inter == 0:
            np.testing.assert_array_equal(ours, np.asarray(theirs.dataobj).reshape(ours.shape))
            assert ours.dtype == array.dtype
        else:
            exact = np.float64(np.float32(slope) if version == 1 else slope) * array.astype(np.float64) + inter
            np.testing.assert_array_equal(ours, exact.astype(ours.dtype).reshape(ours.shape))
            width = float(np.finfo(np.float32).eps) if ours.dtype == np.float32 else 1e-12
            np.testing.assert_allclose(ours, theirs.get_fdata().reshape(ours.shape), rtol=width, atol=width)
        assert codes(image) == set()
        assert len(image.sources) == 1 + pair


@pytest.mark.parametrize("file", REAL_FILES)
def test_real_files_are_read_as_nibabel_reads_them(shared_data: Path, file: str) -> None:
    path = shared_data / file
    if not path.is_file():
        pytest.skip(f"the shared data has no {file}")
    image = open_image(path)
    theirs = nib.load(path)
    assert isinstance(theirs, nib.Nifti1Image)
    np.testing.assert_allclose(image.affine_ras_mm, theirs.affine, atol=1e-5)
    ours = read_all(image)
    np.testing.assert_array_equal(ours, theirs.get_fdata().astype(ours.dtype).reshape(ours.shape))


def test_plain_real_datasets_are_quiet(shared_data: Path) -> None:
    """MSD and KiTS files raise nothing but what they really carry: no unit in KiTS, an identity affine in some of MSD."""
    files = sorted((shared_data / "layouts").glob("MSD/Task04_Hippocampus/*Tr/hippocampus_0*.nii.gz"))
    files += sorted((shared_data / "layouts/KiTS23").rglob("*.nii.gz"))
    if not files:
        pytest.skip("the shared data has neither MSD nor KiTS23")
    for path in files:
        image = open_image(path)
        identity = np.array_equal(np.asarray(nib.load(path).affine), np.eye(4))
        allowed = {Code.UNITS_UNKNOWN} if "KiTS23" in path.parts else ({Code.IDENTITY_AFFINE} if identity else set())
        assert codes(image) == allowed, path


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("slope", [0.0, 2.0])
def test_analyze_is_read_when_the_spec_states_its_orientation(tmp_path: Path, order: str, slope: float) -> None:
    array = np.arange(60, dtype=np.int16).reshape(3, 4, 5)
    header = nib.Spm99AnalyzeHeader(endianness=order)
    header.set_data_dtype(np.int16)
    header.set_data_shape(array.shape)
    header.set_zooms((0.5, 1.5, 4.0))
    header["scl_slope"] = slope
    (tmp_path / "a.hdr").write_bytes(header.binaryblock)
    (tmp_path / "a.img").write_bytes(np.asarray(array, f"{order}i2").tobytes(order="F"))
    image = open_image(tmp_path / "a.img", options=ReadOptions("LPS"))
    theirs = nib.load(tmp_path / "a.hdr")
    assert isinstance(theirs, nib.Spm2AnalyzeImage)
    np.testing.assert_array_equal(read_all(image), theirs.get_fdata())
    np.testing.assert_array_equal(image.affine_ras_mm, np.diag([-0.5, -1.5, 4.0, 1]))
    assert (image.format, image.orientation_known) == ("Analyze 7.5", False)
    assert codes(image) == {Code.ORIENTATION_UNKNOWN}
    assert companions(tmp_path / "a.hdr") == (tmp_path / "a.img",)
