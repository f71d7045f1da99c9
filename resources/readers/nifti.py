"""Reads NIfTI-1, NIfTI-2 (one file or a `.hdr`/`.img` pair, plain or gzip, either byte order) and Analyze 7.5."""

from __future__ import annotations

import math
from pathlib import Path

from resources.findings import Code, Finding, finding
from resources.readers.image import RawImage, SourceFile
from resources.readers.nifti_affine import place
from resources.readers.nifti_header import NiftiHeader, check_promise, has_magic, header_size, parse_header
from resources.readers.scaling import Scaling
from resources.readers.slabs import FortranVoxels
from resources.readers.source import RawFile, ReadOptions

SUFFIXES = frozenset({".nii", ".hdr", ".img"})


def sniff(head: bytes) -> bool:
    """Whether a file that begins with `head` has the header of one of these formats."""
    return header_size(head) is not None or has_magic(head)


def open_nifti(file: RawFile, options: ReadOptions) -> RawImage:
    """Open an image whose header is at the beginning of `file`.

    Raises:
        BadInputError: The header cannot be right, promises more than the file can hold, or says nothing about
            orientation.
    """
    header = parse_header(file)
    holder = _voxel_file(file) if header.two_files else file
    check_promise(header, holder, options)
    placement = place(header, file.name, options.assume_orientation)
    scaling, notes = _scaling(header, file)
    sources: list[SourceFile] = []
    later: list[Finding] = []
    headers = (file,) if header.two_files else ()
    voxels = FortranVoxels(
        holder, header.offset, header.shape, header.n_channels, header.stored, scaling, headers, sources, later
    )
    return RawImage(
        path=file.path,
        format=header.flavour,
        shape=header.shape,
        dtype=voxels.dtype,
        affine_ras_mm=placement.affine,
        slab_axis=2,
        n_channels=header.n_channels,
        fourth_axis=header.fourth_axis,
        orientation_known=placement.known,
        findings=(*placement.findings, *notes),
        stream=voxels,
        sources=sources,
        stream_findings=later,
    )


def partner(path: Path) -> Path | None:
    """The other file of a pair, by name: the `.img` of a `.hdr` or the reverse, plain or `.gz`, if there is one."""
    name = path.name
    stem = name[: -len(".gz")] if name.lower().endswith(".gz") else name
    other = {".hdr": ".img", ".img": ".hdr"}.get(stem[-4:].lower())
    if other is None:
        return None
    endings = (other, other.upper()) if stem[-4:].islower() else (other.upper(), other)
    for ending in endings:
        for gz in ("", ".gz", ".GZ"):
            candidate = path.with_name(stem[:-4] + ending + gz)
            if candidate.is_file():
                return candidate
    return None


def header_path(path: Path) -> Path:
    """The file to open for the image at `path`: the `.hdr` of an `.img`, if there is one, otherwise `path` itself."""
    is_img = path.name.lower().removesuffix(".gz").endswith(".img")
    return (partner(path) or path) if is_img else path


def companions(path: Path) -> tuple[Path, ...]:
    """The other file of a `.hdr`/`.img` pair, when there is one."""
    found = partner(path)
    return (found,) if found else ()


def _voxel_file(header: RawFile) -> RawFile:
    found = partner(header.path)
    if found is None:
        raise header.bad(Code.MISSING_IMAGE, "the header says its voxels are in an .img file beside it, and there is none")
    return header.sibling(found)


def _scaling(header: NiftiHeader, file: RawFile) -> tuple[Scaling | None, list[Finding]]:
    """Slope and intercept after nifti1.h: with a slope of 0 there is no scaling, and the intercept does not count."""
    slope, intercept = float(header.fields["scl_slope"]), float(header.fields["scl_inter"])
    if header.flavour == "Analyze 7.5":  # SPM keeps a factor where NIfTI does, and no intercept
        intercept = 0.0
    if slope == 0 or not math.isfinite(slope):
        odd = math.isinf(slope) or (math.isfinite(intercept) and intercept != 0)
        detail = f"scl_slope is {slope:g} with scl_inter {intercept:g}: no scaling, the stored numbers are the values"
        return None, [finding(Code.SLOPE_IGNORED, detail, file=file.name)] if odd else []
    if not math.isfinite(intercept):
        raise file.bad(Code.BAD_HEADER, f"scl_slope is {slope:g} but scl_inter is {intercept:g}: the values cannot be told")
    return Scaling.of(header.stored, slope, intercept), []
