"""Whatever stands in a header, a file is read, or refused by a `BadInputError`; nothing else comes out."""

from __future__ import annotations

import tempfile
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resources.findings import BadInputError
from resources.readers.registry import open_image
from resources.readers.source import ReadOptions
from tests.readers.makers import nifti_bytes, read_all, voxels
from tests.readers.test_itk import meta, nrrd

HEADERS = {
    "NIfTI-1": nifti_bytes(voxels()),
    "NIfTI-1, big-endian": nifti_bytes(voxels(), order=">"),
    "NIfTI-2": nifti_bytes(voxels(), version=2),
}
HEADER_TYPES = {1: nib.Nifti1Header.template_dtype, 2: nib.Nifti2Header.template_dtype}
CHANGES = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=6)
FIELDS = st.sampled_from(
    ["dim", "pixdim", "quatern_b", "quatern_c", "quatern_d", "srow_x", "srow_y", "srow_z", "scl_slope", "scl_inter", "vox_offset"]
)
NUMBERS = st.sampled_from([0.0, -0.0, 1e-320, 1e-40, 1e-9, -1.0, 1e9, 1e38, 1e200, 1e308, float("inf"), float("nan")])


def read_or_refuse(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.nii"
        path.write_bytes(content)
        try:
            image = open_image(path, options=ReadOptions("LPS", 1 << 20))
            read_all(image)
        except BadInputError:
            return
        assert np.isfinite(image.affine_ras_mm).all()
        assert abs(np.linalg.det(image.affine_ras_mm)) > 0


def mutated(content: bytes, changes: list[tuple[float, int]]) -> bytes:
    changed = bytearray(content)
    for place, value in changes:
        changed[int(place * len(content))] = value
    return bytes(changed)


@pytest.mark.parametrize("kind", HEADERS)
@settings(max_examples=150)
@given(changes=CHANGES)
def test_changed_bytes_of_a_nifti_header(kind: str, changes: list[tuple[float, int]]) -> None:
    header, body = HEADERS[kind]
    read_or_refuse(mutated(header, changes) + body)


@pytest.mark.parametrize("version", [1, 2])
@settings(max_examples=150)
@given(
    field=st.lists(FIELDS, min_size=1, max_size=4),
    value=NUMBERS,
    codes=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    unit=st.integers(0, 7),
)
def test_extreme_numbers_in_a_nifti_header(
    version: int, field: list[str], value: float, codes: tuple[int, int], unit: int
) -> None:
    header, body = nifti_bytes(voxels(), version=version, sform_code=codes[0], qform_code=codes[1], xyzt_units=unit)
    kind = np.dtype(HEADER_TYPES[version])
    record = np.frombuffer(header[: kind.itemsize], kind).copy()
    for name in field:
        with np.errstate(all="ignore"):
            if name == "dim":
                record[name][0, 1] = np.nan_to_num(np.float64(value), posinf=2**15 - 1).clip(-(2**15), 2**15 - 1)
            else:
                record[name] = np.float64(value).astype(record[name].dtype) if name != "vox_offset" or version == 1 else 7
    read_or_refuse(record.tobytes() + header[kind.itemsize :] + body)


@settings(max_examples=60, derandomize=True)  # C++ reads these: the same inputs every time
@given(changes=CHANGES)
def test_changed_bytes_of_text_headers(changes: list[tuple[float, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for path in (meta(Path(folder) / "a.mha"), nrrd(Path(folder) / "a.nrrd")):
            content = path.read_bytes()
            start = content.index(b"LOCAL\n") + 6 if path.suffix == ".mha" else content.index(b"\n\n") + 2
            read_or_refuse(mutated(content[:start], changes) + content[start:])
