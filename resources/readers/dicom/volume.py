"""Streams the voxels of an assembled DICOM image slice by slice: the `RawImage` of this format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from resources.findings import Code, Finding
from resources.readers.dicom.assembly import Assembly, assemble
from resources.readers.dicom.files import DicomFile, read_file
from resources.readers.dicom.guard import DEFAULT
from resources.readers.dicom.pixels import FrameReader, open_frames
from resources.readers.dicom.planes import Plane
from resources.readers.dicom.rescale import apply_rescale
from resources.readers.dicom.seg import open_seg
from resources.readers.image import RawImage, Slab, SourceFile
from resources.readers.process import Limits
from resources.readers.slabs import check_bounds
from resources.readers.source import RawFile, ReadOptions

COLOUR_CACHE_BYTES = 256 << 20
"""Colours are asked for one after another; so many decoded bytes are kept for the second and third."""


@dataclass(slots=True)
class _Reading:
    """One pass over the planes: the open file, its last frame, and colours kept for later."""

    assembly: Assembly
    limits: Limits
    found: dict[str, SourceFile] = field(default_factory=dict)
    _files: dict[str, DicomFile] = field(default_factory=dict)
    _open: ExitStack = field(default_factory=ExitStack)
    _reader: FrameReader | None = None
    _last: tuple[str, int] | None = None
    _frame: npt.NDArray[Any] | None = None
    _kept: dict[tuple[str, int], npt.NDArray[Any]] = field(default_factory=dict)
    _kept_bytes: int = 0

    def __post_init__(self) -> None:
        self._files = {file.source.name: file for file in self.assembly.files}

    def plane(self, plane: Plane, colour: int) -> npt.NDArray[Any]:
        """Stored numbers of one plane, rows x columns."""
        frame = self._decoded(plane)
        if plane.tile is not None:
            rows, columns = self.assembly.layout.rows, self.assembly.layout.columns
            down, across = plane.tile
            frame = frame[down * rows : (down + 1) * rows, across * columns : (across + 1) * columns]
        return frame[..., colour] if frame.ndim == 3 else frame

    def close(self) -> None:
        """Close the open file."""
        self._open.close()

    def _decoded(self, plane: Plane) -> npt.NDArray[Any]:
        key = plane.file, plane.frame
        if key == self._last and self._frame is not None:
            return self._frame
        if key in self._kept:
            return self._kept[key]
        frame = self._opened(plane.file).frame(plane.frame)
        self._last, self._frame = key, frame
        if self.assembly.colours > 1 and self._kept_bytes + frame.nbytes <= COLOUR_CACHE_BYTES:
            self._kept[key] = frame
            self._kept_bytes += frame.nbytes
        return frame

    def _opened(self, name: str) -> FrameReader:
        if self._reader is None or self._reader.file.source.name != name:
            self._open.close()
            self._open = ExitStack()
            self._reader = self._open.enter_context(open_frames(self._files[name], self.limits))
            self.found[name] = self._reader.source
        return self._reader


@dataclass(frozen=True, slots=True)
class DicomVoxels:
    """The voxels of an assembled image; serves as a `SlabStream`.

    Attributes:
        assembly: The image.
        sources: Filled in the pass.
        limits: What the decompression of a frame may cost.
    """

    assembly: Assembly
    sources: list[SourceFile]
    limits: Limits = DEFAULT

    def __call__(self, bounds: Sequence[tuple[int, int]]) -> Iterator[Slab]:
        """Yield the slabs; see `SlabStream`."""
        columns, rows, n_planes = self.assembly.shape
        check_bounds(bounds, n_planes)
        self.sources.clear()
        thickest = max(stop - start for start, stop in bounds)
        buffer = np.empty((columns, rows, thickest), self.assembly.dtype, order="F")
        reading = _Reading(self.assembly, self.limits)
        last = (self.assembly.n_channels - 1, n_planes)
        try:
            for channel in range(self.assembly.n_channels):
                for start, stop in bounds:
                    slab = buffer[:, :, : stop - start]
                    for k in range(start, stop):
                        self._fill(reading, channel, k, slab[:, :, k - start])
                    if (channel, stop) == last:
                        self._finish(reading)
                    yield Slab(channel, start, slab)
        finally:
            reading.close()

    def _fill(self, reading: _Reading, channel: int, k: int, target: npt.NDArray[Any]) -> None:
        colour, volume = (channel, 0) if self.assembly.colours > 1 else (0, channel)
        plane = self.assembly.planes[volume][k]
        stored, target = reading.plane(plane, colour), target.T
        table = self.assembly.files[0].table
        if table is not None:
            target[...] = table.apply(stored)
        elif self.assembly.colours > 1:
            target[...] = stored
        else:
            apply_rescale(stored, plane.rescale, target)

    def _finish(self, reading: _Reading) -> None:
        reading.close()
        self.sources.extend(reading.found[file.source.name] for file in self.assembly.files)


def open_files(files: Sequence[DicomFile], path: Path, name: str, options: ReadOptions, limits: Limits = DEFAULT) -> RawImage:
    """The image that some files make up.

    Args:
        files: Their headers.
        path: The file, or the folder of the series.
        name: How findings call it.
        options: What the dataset's spec says.
        limits: What the decompression of a frame may cost.

    Raises:
        BadInputError: They are no image, or not one.
    """
    assembly = assemble(files, name, options)
    sources: list[SourceFile] = []
    later: list[Finding] = []
    return RawImage(
        path=path,
        format="DICOM",
        shape=assembly.shape,
        dtype=assembly.dtype,
        affine_ras_mm=assembly.affine,
        slab_axis=2,
        n_channels=assembly.n_channels,
        fourth_axis=assembly.fourth_axis,
        orientation_known=assembly.space == "patient",
        findings=assembly.findings,
        stream=DicomVoxels(assembly, sources, limits),
        sources=sources,
        stream_findings=later,
        space=assembly.space,
        third_axis=assembly.third_axis,
        spacing_known=assembly.spacing_known,
    )


def open_dicom(file: RawFile, options: ReadOptions) -> RawImage:
    """Open one DICOM file: a multi-frame volume, a mosaic, a film, a single picture, or a segmentation as a map of its segments.

    Raises:
        BadInputError: It is no image, or cannot be used.
    """
    found = read_file(file)
    if found.kind == "segmentation":
        return open_seg(file.path, name=file.name, options=options).label_map()
    if found.kind != "image":
        advice = {"structure set": "read_rtstruct", "report": "read_sr_measurements"}
        how = f"; it is read by {advice[found.kind]}" if found.kind in advice else ""
        raise file.bad(Code.NOT_A_VOLUME, f"a DICOM {found.kind} ({found.key.modality or 'no modality'}), no image{how}")
    return open_files([found], file.path, file.name, options)
