from __future__ import annotations

import gzip
import hashlib
import random
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import SimpleITK as sitk  # noqa: N813  # as its own manual does

from resources.findings import BadInputError, Code
from resources.geometry import closest_ras
from resources.readers.registry import companions, open_image
from resources.readers.source import ReadOptions
from tests.readers.makers import codes, read_all, refusal

SHAPE = (7, 6, 5)
ARRAY = np.random.default_rng(2).integers(-1000, 1000, SHAPE).astype(np.int16)
META = {
    "ObjectType": "Image",
    "NDims": "3",
    "BinaryData": "True",
    "BinaryDataByteOrderMSB": "False",
    "CompressedData": "False",
    "TransformMatrix": "1 0 0 0 1 0 0 0 1",
    "Offset": "1 2 3",
    "ElementSpacing": "0.5 1 2",
    "DimSize": "7 6 5",
    "ElementType": "MET_SHORT",
    "ElementDataFile": "LOCAL",
}
NRRD = {
    "type": "short",
    "dimension": "3",
    "space": "left-posterior-superior",
    "sizes": "7 6 5",
    "space directions": "(0.5,0,0) (0,1,0) (0,0,2)",
    "space origin": "(1,2,3)",
    "encoding": "raw",
    "endian": "little",
}
LPS_AFFINE = np.array([[-0.5, 0, 0, -1], [0, -1, 0, -2], [0, 0, 2, 3], [0, 0, 0, 1]])


def image_of(array: npt.NDArray[Any], *, vector: bool = False) -> sitk.Image:
    """An oblique image whose voxel [i, j, k] is `array[i, j, k]`."""
    image = sitk.GetImageFromArray(np.ascontiguousarray(np.moveaxis(array.T, 0, -1) if vector else array.T), isVector=vector)
    image.SetSpacing((0.5, 0.75, 2.0))
    image.SetOrigin((-11.0, 22.0, 33.0))
    turn = np.radians(20)
    image.SetDirection((np.cos(turn), -np.sin(turn), 0, np.sin(turn), np.cos(turn), 0, 0, 0, 1))
    return image


def world_ras(image: sitk.Image, index: tuple[int, int, int]) -> npt.NDArray[np.float64]:
    return np.array(image.TransformIndexToPhysicalPoint(index)) * [-1, -1, 1]


def meta(path: Path, content: bytes | None = None, **fields: str | None) -> Path:
    lines = [f"{key} = {value}\n" for key, value in {**META, **fields}.items() if value is not None]
    path.write_bytes("".join(lines).encode() + (ARRAY.tobytes(order="F") if content is None else content))
    return path


def nrrd(path: Path, content: bytes | None = None, **fields: str | None) -> Path:
    named = {**NRRD, **{key.replace("_", " "): value for key, value in fields.items()}}
    lines = [f"{key}: {value}\n" for key, value in named.items() if value is not None]
    head = "NRRD0005\n# made for a test\n" + "".join(lines) + "\n"
    path.write_bytes(head.encode() + (ARRAY.tobytes(order="F") if content is None else content))
    return path


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", ["a.mha", "a.mhd", "a.nrrd", "a.nhdr"])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint32", "int64", "float32", "float64"])
def test_what_simpleitk_writes_is_read(tmp_path: Path, name: str, packed: bool, dtype: str) -> None:
    array = ARRAY.astype(dtype)
    written = image_of(array)
    path = tmp_path / name
    sitk.WriteImage(written, str(path), packed)
    image = open_image(path)
    assert image.sources == []
    np.testing.assert_array_equal(read_all(image), array)
    for index in ((0, 0, 0), (6, 0, 0), (0, 5, 0), (0, 0, 4), (3, 2, 1)):
        np.testing.assert_allclose((image.affine_ras_mm @ [*index, 1])[:3], world_ras(written, index), atol=1e-5)
    files = [path, *companions(path)]
    assert set(tmp_path.iterdir()) == set(files)
    assert {s.path: s.sha256 for s in image.sources} == {f: hashlib.sha256(f.read_bytes()).hexdigest() for f in files}
    assert (codes(image), image.dtype, image.orientation_known) == (set(), np.dtype(dtype), True)


@pytest.mark.parametrize("name", ["a.mha", "a.nrrd"])
def test_vectors_come_channel_by_channel(tmp_path: Path, name: str) -> None:
    array = np.stack([ARRAY, ARRAY + 1, ARRAY + 2], axis=-1)
    sitk.WriteImage(image_of(array, vector=True), str(tmp_path / name), True)
    image = open_image(tmp_path / name)
    assert (image.n_channels, image.fourth_axis) == (3, "channel")
    np.testing.assert_array_equal(read_all(image), array)


def test_four_dimensions_are_channels(tmp_path: Path) -> None:
    array = np.stack([ARRAY, ARRAY + 1], axis=-1)
    written = sitk.JoinSeries([image_of(array[..., c]) for c in range(2)])
    sitk.WriteImage(written, str(tmp_path / "a.mha"))
    image = open_image(tmp_path / "a.mha")
    assert (image.shape, image.n_channels) == (SHAPE, 2)
    np.testing.assert_array_equal(read_all(image), array)
    np.testing.assert_allclose(image.affine_ras_mm[:3, 3], [11, -22, 33])


def test_flat_image_is_one_slice(tmp_path: Path) -> None:
    written = sitk.GetImageFromArray(np.ascontiguousarray(ARRAY[..., 0].T))
    written.SetSpacing((0.5, 0.75))
    sitk.WriteImage(written, str(tmp_path / "a.mha"))
    image = open_image(tmp_path / "a.mha")
    assert image.shape == (7, 6, 1)
    np.testing.assert_array_equal(read_all(image)[..., 0], ARRAY[..., 0])
    np.testing.assert_allclose(image.affine_ras_mm, np.diag([-0.5, -0.75, 1, 1]))


@pytest.mark.parametrize(("name", "packed"), [("a.mha", True), ("a.mha", False), ("a.nrrd", True), ("a.nrrd", False)])
def test_truncation_anywhere_is_refused(tmp_path: Path, name: str, packed: bool) -> None:
    path = tmp_path / name
    sitk.WriteImage(image_of(ARRAY), str(path), packed)
    content = path.read_bytes()
    for point in [*(len(content) * n // 20 for n in range(1, 20)), len(content) - 5, len(content) - 1]:
        path.write_bytes(content[:point])
        error = refusal(path)
        assert error.finding.code in {Code.TRUNCATED, Code.TOO_LARGE, Code.BAD_HEADER, Code.UNSUPPORTED_DATA, Code.WRONG_MAGIC}
        if point > 600:
            assert error.finding.code == Code.TRUNCATED
            assert "truncat" in str(error)


@pytest.mark.parametrize("name", ["a.mha", "a.nrrd"])
def test_no_bit_flip_in_compressed_voxels_passes(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    sitk.WriteImage(image_of(ARRAY), str(path), True)
    content = path.read_bytes()
    start = content.index(b"LOCAL\n") + 6 if name == "a.mha" else content.index(b"\n\n") + 2
    dice = random.Random(4)
    for bit in dice.sample(range(start * 8, len(content) * 8), 100):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        try:
            values = read_all(open_image(path))
        except BadInputError:
            continue
        assert bit // 8 < start + 10  # the unprotected bytes of a gzip header
        np.testing.assert_array_equal(values, ARRAY)


def test_bytes_behind_the_voxels_are_reported(tmp_path: Path) -> None:
    for path in (meta(tmp_path / "a.mha"), nrrd(tmp_path / "a.nrrd")):
        path.write_bytes(path.read_bytes() + bytes(9))
        image = open_image(path)
        np.testing.assert_array_equal(read_all(image), ARRAY)
        np.testing.assert_array_equal(image.affine_ras_mm, LPS_AFFINE)
        assert codes(image) == {Code.TRAILING_BYTES}


@pytest.mark.parametrize(
    ("space", "signs"),
    [
        ("left-posterior-superior", (-1, -1, 1)),
        ("LPS", (-1, -1, 1)),
        ("right-anterior-superior", (1, 1, 1)),
        ("RAS", (1, 1, 1)),
        ("left-anterior-superior", (-1, 1, 1)),
    ],
)
def test_space_of_nrrd_is_obeyed(tmp_path: Path, space: str, signs: tuple[int, int, int]) -> None:
    image = open_image(nrrd(tmp_path / "a.nrrd", space=space))
    expected = np.diag([*signs, 1]) @ np.array([[0.5, 0, 0, 1], [0, 1, 0, 2], [0, 0, 2, 3], [0, 0, 0, 1]])
    np.testing.assert_allclose(image.affine_ras_mm, expected)


@pytest.mark.parametrize(
    "fields",
    [{"space": "scanner-xyz"}, {"space": None, "space_directions": None, "space_origin": None, "spacings": "0.5 1 2"}],
)
def test_nrrd_without_an_anatomical_space_has_no_orientation(tmp_path: Path, fields: dict[str, Any]) -> None:
    path = nrrd(tmp_path / "a.nrrd", **fields)
    assert refusal(path).finding.code == Code.ORIENTATION_UNKNOWN
    image = open_image(path, options=ReadOptions("RAS"))
    np.testing.assert_array_equal(image.affine_ras_mm, np.diag([0.5, 1, 2, 1]))
    assert (codes(image), image.orientation_known) == ({Code.ORIENTATION_UNKNOWN}, False)


def test_metaimage_without_a_matrix_has_no_orientation(tmp_path: Path) -> None:
    path = meta(tmp_path / "a.mha", TransformMatrix=None)
    assert refusal(path).finding.code == Code.ORIENTATION_UNKNOWN
    assert closest_ras(open_image(path, options=ReadOptions("PIR")).affine_ras_mm).code() == "PIR"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"ElementSpacing": None}, Code.BAD_AFFINE),
        ({"ElementSpacing": "0.5 0 2"}, Code.BAD_AFFINE),
        ({"TransformMatrix": "1 0 0 0.3 1 0 0 0 1"}, Code.SHEAR),
        ({"BinaryData": "False"}, Code.UNSUPPORTED_DATA),
        ({"DimSize": "7 6 6"}, Code.TRUNCATED),
        ({"DimSize": "30000 30000 30000", "ElementType": "MET_DOUBLE"}, Code.TOO_LARGE),
        ({"DimSize": "3000 3000 3", "CompressedData": "True"}, Code.TOO_LARGE),
        ({"CompressedData": "True"}, Code.CHECKSUM_MISMATCH),
        ({"ElementDataFile": None}, Code.BAD_HEADER),
        ({"ElementDataFile": "../a.raw"}, Code.BAD_HEADER),
        ({"ElementDataFile": "/etc/passwd"}, Code.BAD_HEADER),
        ({"ElementDataFile": "LIST"}, Code.BAD_HEADER),
        ({"ElementDataFile": "slice%03d.raw 1 5 1"}, Code.BAD_HEADER),
        ({"ElementDataFile": "none.raw"}, Code.MISSING_IMAGE),
    ],
)
def test_impossible_metaimages_are_refused(tmp_path: Path, fields: dict[str, Any], code: Code) -> None:
    assert refusal(meta(tmp_path / "a.mha", **fields)).finding.code == code


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"encoding": "bzip2"}, Code.UNSUPPORTED_DATA),
        ({"encoding": "ascii"}, Code.UNSUPPORTED_DATA),
        ({"line_skip": "1"}, Code.UNSUPPORTED_DATA),
        ({"sizes": "7 6 6"}, Code.TRUNCATED),
        ({"sizes": "30000 30000 30000", "type": "double"}, Code.TOO_LARGE),
        ({"sizes": "0 6 5"}, Code.BAD_HEADER),
        ({"data_file": "../other"}, Code.BAD_HEADER),
        ({"data_file": "none.raw"}, Code.MISSING_IMAGE),
    ],
)
def test_impossible_nrrds_are_refused(tmp_path: Path, fields: dict[str, Any], code: Code) -> None:
    assert refusal(nrrd(tmp_path / "a.nrrd", **fields)).finding.code == code


@pytest.mark.parametrize(("unit", "factor"), [('"mm" "mm" "mm"', 1), ('"um" "um" "um"', 1e-3), ('"cm" "cm" "cm"', 10)])
def test_space_units_of_nrrd_become_millimetres(tmp_path: Path, unit: str, factor: float) -> None:
    image = open_image(nrrd(tmp_path / "a.nrrd", space_units=unit))
    np.testing.assert_allclose(image.affine_ras_mm[:3], LPS_AFFINE[:3] * factor)
    assert codes(image) == (set() if factor == 1 else {Code.UNITS_CONVERTED})


def test_byte_order_is_that_of_the_header(tmp_path: Path) -> None:
    body = ARRAY.astype(">i2").tobytes(order="F")
    for path in (meta(tmp_path / "a.mha", body, BinaryDataByteOrderMSB="True"), nrrd(tmp_path / "a.nrrd", body, endian="big")):
        np.testing.assert_array_equal(read_all(open_image(path)), ARRAY)


def test_content_decides_although_the_name_lies(tmp_path: Path) -> None:
    for make in (meta, nrrd):
        image = open_image(make(tmp_path / "a.nii.gz"))
        np.testing.assert_array_equal(read_all(image), ARRAY)
        assert codes(image) == {Code.WRONG_EXTENSION}


def test_change_between_header_and_voxels_is_refused(tmp_path: Path) -> None:
    image = open_image(meta(tmp_path / "a.mha"))
    meta(tmp_path / "a.mha", bytes(ARRAY.nbytes + 1))
    with pytest.raises(BadInputError) as caught:
        read_all(image)
    assert caught.value.finding.code == Code.FILE_CHANGED


@pytest.mark.parametrize("packed", [False, True])
def test_gipl_knows_no_orientation(tmp_path: Path, packed: bool) -> None:
    written = image_of(ARRAY)
    path = tmp_path / ("a.gipl.gz" if packed else "a.gipl")
    sitk.WriteImage(written, str(path))
    assert refusal(path).finding.code == Code.ORIENTATION_UNKNOWN
    image = open_image(path, options=ReadOptions("LPS"))
    np.testing.assert_array_equal(read_all(image), ARRAY)
    np.testing.assert_allclose(image.affine_ras_mm, np.diag([-0.5, -0.75, 2, 1]))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 6 // 10])
    assert refusal(path, assume_orientation="LPS").finding.code == Code.TRUNCATED


@pytest.mark.parametrize(
    "file",
    [
        "reference/picai_prep_expected/mha/ProstateX-0000_07-07-2011_hbv.mha",
        "reference/picai_prep_expected/mha/ProstateX-0000_07-07-2011_cor.mha",
        "volumes/pyradiomics/brain1_label.nrrd",
        "volumes/itksnap/MRIcrop-seg.gipl.gz",
    ],
)
def test_real_files_are_read_as_simpleitk_reads_them(shared_data: Path, file: str) -> None:
    path = shared_data / file
    if not path.is_file():
        pytest.skip(f"the shared data has no {file}")
    image, theirs = open_image(path, options=ReadOptions("LPS")), sitk.ReadImage(str(path))
    np.testing.assert_array_equal(read_all(image), sitk.GetArrayFromImage(theirs).T)
    np.testing.assert_allclose((image.affine_ras_mm @ [3, 2, 1, 1])[:3], world_ras(theirs, (3, 2, 1)), atol=1e-4)


def test_gzip_of_a_metaimage_is_named(tmp_path: Path) -> None:
    path = meta(tmp_path / "a.mha")
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert refusal(path).finding.code == Code.UNSUPPORTED_DATA
