"""Annotations with named structures (DICOM SEG and RTSTRUCT) as label maps: which structure is which label, and their voxels."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from assets.chosen import at_least
from assets.spec import DatasetSpec
from assets.spec_layout import LabelsSource
from resources.findings import BadInputError, Code, Finding, Severity, finding
from resources.readers.dicom.rtstruct import StructureSet, rasterise, read_rtstruct
from resources.readers.dicom.seg import open_seg
from resources.readers.dicom.seg_grid import Grid
from resources.readers.image import RawImage, Slab, SourceFile
from resources.readers.source import Mark, open_regular

Volume = npt.NDArray[Any]
Masks = Iterator[tuple[int, npt.NDArray[np.bool_]]]
"""Label id and voxels, one structure after another."""


def open_segments(spec: DatasetSpec, source: LabelsSource, path: Path, name: str, grid: Grid) -> RawImage:
    """A segmentation as a label map of the spec's ids.

    Args:
        spec: The dataset.
        source: What the spec says of the file.
        path: The file.
        name: How findings call it.
        grid: Grid of its image.

    Raises:
        BadInputError: It cannot be used, does not fit the grid, or has structures that are no label's. The stream raises
            OVERLAPPING_MASKS, and NOT_WHOLE_LABELS for shares without a threshold.
    """
    seg = open_seg(path, name=name, onto=grid)
    ids, findings = _label_ids(spec, source, [segment.label for segment in seg.segments], name)
    layers = seg.layers()
    if source.at_least is not None:
        layers = at_least(layers, source.at_least, name)
    sources = layers.sources
    voxels = _LabelVoxels(lambda: _layers(layers, ids, name), source, grid.shape, _dtype(spec), name, layers.stream_findings)
    return _label_map(path, "DICOM SEG", grid, _dtype(spec), (*seg.findings, *findings), voxels, sources)


def open_contours(spec: DatasetSpec, source: LabelsSource, path: Path, name: str, grid: Grid) -> RawImage:
    """The contours of a structure set, filled, as a label map of the spec's ids; arguments and errors as `open_segments`."""
    before = _fingerprint(path, name)
    structures = read_rtstruct(path, name=name)
    ids, findings = _label_ids(spec, source, [roi.name for roi in structures.rois], name)
    sources: list[SourceFile] = []
    said: list[Finding] = []

    def filled() -> Masks:
        sources[:] = [before]
        yield from _contours(structures, ids, grid, said)
        if _fingerprint(path, name) != before:
            raise BadInputError(Code.FILE_CHANGED, "the file changed while it was read; run again", file=name)

    voxels = _LabelVoxels(filled, source, grid.shape, _dtype(spec), name, said)
    told = (*structures.findings, *findings)
    return _label_map(path, "DICOM RTSTRUCT", grid, _dtype(spec), told, voxels, sources)


def _dtype(spec: DatasetSpec) -> np.dtype[Any]:
    return np.dtype(np.uint8 if max(spec.labels, default=0) < 256 else np.uint16)


def _label_ids(
    spec: DatasetSpec, source: LabelsSource, titles: Sequence[str], file: str
) -> tuple[list[int | None], list[Finding]]:
    """The label id of every structure, by its name; None for one that is left.

    Raises:
        BadInputError: UNKNOWN_LABEL, for structures that stand for no label, unless the spec leaves them.
    """
    known = {_plain(text): n for n, label in spec.labels.items() for text in (label.name, label.file_name)}
    known |= {_plain(text): n for text, n in source.structures.items()}
    ids = [known.get(_plain(title)) if source.nonzero_is is None else source.nonzero_is for title in titles]
    strangers = [title for title, label_id in zip(titles, ids, strict=True) if label_id is None]
    if not strangers:
        return ids, []
    shown = ", ".join(map(repr, strangers[:8])) + (", ..." if len(strangers) > 8 else "")
    if source.others == "error":
        labels = ", ".join(label.name for label in spec.labels.values())
        detail = (
            f"structures that are no label of the spec: {shown}; it knows {labels}. Name them in `structures`, or leave `others`"
        )
        raise BadInputError(Code.UNKNOWN_LABEL, detail, file=file)
    detail = f"{len(strangers)} structures that stand for no label are left out: {shown}"
    return ids, [finding(Code.UNKNOWN_LABEL, detail, file=file, severity=Severity.INFO)]


def _plain(name: str) -> str:
    return " ".join(name.replace("_", " ").split()).casefold()


def _layers(layers: RawImage, ids: Sequence[int | None], file: str) -> Masks:
    """The segments of a segmentation, one after another."""
    mask = np.zeros(layers.shape, np.bool_, order="F")
    planes = layers.shape[2]
    for slab in layers.slabs([(start, start + 1) for start in range(planes)]):
        values = slab.voxels
        if values.dtype.kind == "f" and ((values != 0) & (values != 1)).any():
            detail = f"segment {slab.channel + 1} holds shares between 0 and 1; say with `at_least` which count as inside"
            raise BadInputError(Code.NOT_WHOLE_LABELS, detail, file=file)
        mask[:, :, slab.start : slab.start + values.shape[2]] = values != 0
        label_id = ids[slab.channel]
        if slab.start + values.shape[2] == planes and label_id is not None:
            yield label_id, mask


def _contours(structures: StructureSet, ids: Sequence[int | None], grid: Grid, said: list[Finding]) -> Masks:
    """The filled contours of the structures, one after another.

    Raises:
        BadInputError: GRID_MISMATCH when contours that surround an area are there, and none reaches a voxel.
    """
    areas, reached = 0, False
    for roi, label_id in zip(structures.rois, ids, strict=True):
        if label_id is None:
            continue
        filled = rasterise(structures, roi, grid)
        said += filled.findings
        areas += sum(contour.kind.startswith("CLOSED") for contour in roi.contours)
        reached |= bool(filled.voxels.any())
        yield label_id, filled.voxels
    if areas and not reached:
        detail = f"none of its {areas} contours surrounds a voxel of its image: they were drawn on another grid"
        raise BadInputError(Code.GRID_MISMATCH, detail, file=structures.name)


@dataclass(frozen=True)
class _LabelVoxels:
    """Lays structures over one another by the rule of the spec, then yields the slabs; serves as a `SlabStream`."""

    masks: Callable[[], Masks]
    source: LabelsSource
    shape: tuple[int, int, int]
    dtype: np.dtype[Any]
    file: str
    said: list[Finding]

    def __call__(self, bounds: Sequence[tuple[int, int]]) -> Iterator[Slab]:
        whole, n_shared = np.zeros(self.shape, self.dtype, order="F"), 0
        for label_id, mask in self.masks():
            taken = mask & (whole != 0) & (whole != label_id)
            n_shared += int(taken.sum())
            over = mask & ~taken
            if self.source.overlap == "higher id wins":
                over |= taken & (whole < label_id)
            elif self.source.overlap == "lower id wins":
                over |= taken & (whole > label_id)
            whole[over] = label_id
        if n_shared:
            if self.source.overlap == "error":
                detail = f"{n_shared} voxels belong to more than one structure; say with `overlap` which counts"
                raise BadInputError(Code.OVERLAPPING_MASKS, detail, file=self.file)
            detail = f"{n_shared} voxels belong to more than one structure; {self.source.overlap}"
            self.said.append(finding(Code.OVERLAPPING_MASKS, detail, file=self.file, severity=Severity.INFO))
        for start, stop in bounds:
            yield Slab(0, start, whole[:, :, start:stop])


def _label_map(
    path: Path,
    kind: str,
    grid: Grid,
    dtype: np.dtype[Any],
    findings: tuple[Finding, ...],
    voxels: _LabelVoxels,
    sources: list[SourceFile],
) -> RawImage:
    return RawImage(
        path=path,
        format=kind,
        shape=grid.shape,
        dtype=dtype,
        affine_ras_mm=grid.affine_ras_mm,
        slab_axis=2,
        n_channels=1,
        fourth_axis="none",
        orientation_known=True,
        findings=findings,
        stream=voxels,
        sources=sources,
        stream_findings=voxels.said,
    )


def _fingerprint(path: Path, name: str) -> SourceFile:
    """Hash of a file that is small enough to be read twice."""
    raw, mark = open_regular(path, name)
    digest = hashlib.sha256()
    with raw:
        while piece := raw.read(1 << 20):
            digest.update(piece)
    if Mark.of(path.stat()) != mark:
        raise BadInputError(Code.FILE_CHANGED, "the file changed while it was read; run again", file=name)
    return SourceFile(path, mark.size, mark.mtime_ns, digest.hexdigest())
