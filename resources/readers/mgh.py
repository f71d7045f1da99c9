"""Reads FreeSurfer's MGH and MGZ: the header through nibabel, the voxels in one pass, proven by the gzip's checksum."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from nibabel.freesurfer.mghformat import MGHHeader

from resources.findings import Code
from resources.readers.arrays import check_promise
from resources.readers.bytestream import EXPANSION
from resources.readers.grid import assumed_affine, grid_findings, orientation_unknown
from resources.readers.image import RawImage, SourceFile
from resources.readers.slabs import FortranVoxels
from resources.readers.source import RawFile, ReadOptions

HEADER_BYTES = 284

_TYPES = {0: ">u1", 1: ">i4", 3: ">f4", 4: ">i2", 10: ">u2"}


def open_mgh(file: RawFile, options: ReadOptions) -> RawImage:
    """Open a volume; raises `BadInputError` as every reader does."""
    if len(file.head) < HEADER_BYTES:
        raise file.bad(Code.TRUNCATED, f"truncated: an MGH header has {HEADER_BYTES} bytes, {len(file.head)} are there")
    header = MGHHeader(file.head[:HEADER_BYTES], check=False)
    nx, ny, nz, frames = (int(n) for n in header["dims"])
    kind = int(header["type"])
    if kind not in _TYPES:
        raise file.bad(Code.UNSUPPORTED_DATA, f"the MGH type is {kind}; known are {sorted(_TYPES)}")
    stored: np.dtype[Any] = np.dtype(_TYPES[kind])
    n_bytes = HEADER_BYTES + math.prod((nx, ny, nz, frames)) * stored.itemsize
    check_promise(file, n_bytes, options, expansion=EXPANSION if file.compressed else 1)
    # Where the header says that its geometry is not set, nibabel fills in a default and forgets that.
    known = int.from_bytes(file.head[28:30], "big") > 0
    if known:
        with np.errstate(all="ignore"):  # what comes of damaged numbers is refused below
            affine = np.asarray(header.get_affine(), np.float64)
        notes = grid_findings(affine, file.name)
    else:
        reason = "the MGH header says that neither orientation nor spacing is set"
        notes = (orientation_unknown(reason, options.assume_orientation, file.name),)
        affine = assumed_affine(options.assume_orientation or "", np.ones(3))
    sources: list[SourceFile] = []
    # Scan parameters and tags follow the voxels, so what follows them is not told.
    voxels = FortranVoxels(file, HEADER_BYTES, (nx, ny, nz), frames, stored, None, (), sources, [])
    return RawImage(
        path=file.path,
        format="MGH",
        shape=(nx, ny, nz),
        dtype=voxels.dtype,
        affine_ras_mm=affine,
        slab_axis=2,
        n_channels=frames,
        fourth_axis="none" if frames == 1 else "channel",
        orientation_known=known,
        findings=notes,
        stream=voxels,
        sources=sources,
        spacing_known=(known, known, known),
    )
