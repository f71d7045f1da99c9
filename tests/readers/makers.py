"""Small files and whole arrays for the readers' tests."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any, Literal

import nibabel as nib
import numpy as np
import numpy.typing as npt

from resources.findings import BadInputError, Code
from resources.readers.image import RawImage
from resources.readers.registry import open_image
from resources.readers.source import ReadOptions

AFFINE = np.array([[-0.8, 0, 0, 10], [0, 1.5, 0, -20], [0, 0, 3, -30], [0, 0, 0, 1]], np.float64)
"""LAS, anisotropic, away from the origin."""


def voxels(shape: tuple[int, ...] = (5, 6, 7), dtype: npt.DTypeLike = np.int16) -> npt.NDArray[Any]:
    """Every voxel different."""
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


def nifti_bytes(
    array: npt.NDArray[Any],
    affine: npt.NDArray[np.float64] | None = AFFINE,
    *,
    version: int = 1,
    order: Literal["<", ">"] = "<",
    pair: bool = False,
    **fields: object,
) -> tuple[bytes, bytes]:
    """Header and voxel bytes of a NIfTI file, with any header field overwritten."""
    kind = nib.Nifti1Header if version == 1 else nib.Nifti2Header
    header = kind(endianness=order)
    header.set_data_dtype(array.dtype)
    header.set_data_shape(array.shape)
    if affine is not None:
        header.set_qform(affine, code=1)
        header.set_sform(affine, code=1)
    header.set_xyzt_units("mm", "sec")
    header["scl_slope"], header["scl_inter"] = 1, 0
    header["vox_offset"] = 0 if pair else header.single_vox_offset
    header["magic"] = header.pair_magic if pair else header.single_magic
    for name, value in fields.items():
        header[name] = value
    body = np.asarray(array, array.dtype.newbyteorder(order)).tobytes(order="F")
    return header.binaryblock + b"\0\0\0\0", body


def write_nifti(path: Path, array: npt.NDArray[Any], affine: npt.NDArray[np.float64] | None = AFFINE, **more: Any) -> Path:
    """A NIfTI file; gzip when its name says so."""
    content = b"".join(nifti_bytes(array, affine, **more))
    path.write_bytes(gzip.compress(content, 6, mtime=0) if path.suffix == ".gz" else content)
    return path


def bounds(n_planes: int, step: int) -> list[tuple[int, int]]:
    """Slabs of `step` planes, the last one with what is left."""
    return [(start, min(start + step, n_planes)) for start in range(0, n_planes, step)]


def read_all(image: RawImage, step: int = 3) -> npt.NDArray[Any]:
    """`[i, j, k]`, or `[i, j, k, channel]` when there are several channels, through the slabs."""
    whole = np.empty((*image.shape, image.n_channels), image.dtype)
    for slab in image.slabs(bounds(image.shape[image.slab_axis], step)):
        assert slab.voxels.dtype == image.dtype
        whole[:, :, slab.start : slab.start + slab.voxels.shape[2], slab.channel] = slab.voxels
    return whole if image.n_channels > 1 else whole[..., 0]


def refusal(path: Path, *, name: str | None = None, **options: Any) -> BadInputError:
    """The error with which a file is refused, at the latest when its last byte was read."""
    try:
        read_all(open_image(path, name=name, options=ReadOptions(**options)))
    except BadInputError as error:
        return error
    raise AssertionError(f"{path} was accepted")


def codes(image: RawImage) -> set[Code]:
    """What was said about an image, header and stream."""
    return {finding.code for finding in (*image.findings, *image.stream_findings)}
