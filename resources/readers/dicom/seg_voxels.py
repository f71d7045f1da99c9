"""Streams the voxels of a segmentation, as a label map or as layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from resources.findings import Code
from resources.readers.dicom.files import DicomFile
from resources.readers.dicom.pixels import FrameReader, open_frames
from resources.readers.dicom.seg_grid import Canvas, Spot
from resources.readers.image import Slab, SourceFile
from resources.readers.process import Limits
from resources.readers.slabs import check_bounds


@dataclass(frozen=True, slots=True)
class SegVoxels:
    """The voxels of a segmentation; serves as a `SlabStream`.

    Attributes:
        file: The file.
        canvas: Its grid and frames.
        numbers: Its segments.
        dtype: Type of the voxels.
        storage: How they are stored.
        fraction_of: Stored number that stands for a share of 1.
        layered: Whether each segment is a channel; else one channel holds their numbers.
        limits: What the decompression of a frame may cost.
        sources: Filled in the pass.
    """

    file: DicomFile
    canvas: Canvas
    numbers: tuple[int, ...]
    dtype: np.dtype[Any]
    storage: str
    fraction_of: int
    layered: bool
    limits: Limits
    sources: list[SourceFile]

    def __call__(self, bounds: Sequence[tuple[int, int]]) -> Iterator[Slab]:
        """Yield the slabs; see `SlabStream`."""
        columns, rows, n_planes = self.canvas.shape
        check_bounds(bounds, n_planes)
        self.sources.clear()
        by_slice: dict[int, list[Spot]] = {}
        for spot in self.canvas.spots:
            by_slice.setdefault(spot.k, []).append(spot)
        buffer = np.empty((columns, rows, max(stop - start for start, stop in bounds)), self.dtype, order="F")
        channels = self.numbers if self.layered else (None,)
        with open_frames(self.file, self.limits) as reader:
            self.sources.append(reader.source)
            for channel, number in enumerate(channels):
                for start, stop in bounds:
                    slab = buffer[:, :, : stop - start]
                    slab[...] = 0
                    for k in range(start, stop):
                        self._fill(reader, by_slice.get(k, []), number, slab[:, :, k - start].T)
                    yield Slab(channel, start, slab)

    def _fill(self, reader: FrameReader, spots: Sequence[Spot], number: int | None, target: npt.NDArray[Any]) -> None:
        """Write one slice, rows x columns: all segments (`number` is `None`) or one."""
        for spot in spots:
            if number is not None and self.storage != "labelmap" and spot.segment != number:
                continue
            frame = reader.frame(spot.frame)
            part = target[spot.row : spot.row + frame.shape[0], spot.column : spot.column + frame.shape[1]]
            frame = frame[: part.shape[0], : part.shape[1]]
            if self.storage == "labelmap":
                part[...] = frame if number is None else frame == number
            elif number is None:
                self._paint(part, frame, spot)
            else:
                part[...] = frame / self.fraction_of if self.storage == "fractional" else frame != 0

    def _paint(self, part: npt.NDArray[Any], frame: npt.NDArray[Any], spot: Spot) -> None:
        if self.storage == "fractional" and not np.isin(frame, (0, self.fraction_of)).all():
            raise self.file.source.bad(
                Code.NOT_WHOLE_LABELS,
                f"segment {spot.segment} holds shares between 0 and {self.fraction_of}: no label map can; read its layers",
            )
        mask = frame != 0
        taken = part[mask]
        if taken.any():
            others = sorted({int(other) for other in np.unique(taken)} - {0})
            raise self.file.source.bad(
                Code.SEGMENTS_OVERLAP,
                f"segment {spot.segment} shares {np.count_nonzero(taken)} voxels of slice {spot.k} with segment {others}: no "
                "label map can hold both; read the segments as layers",
            )
        part[mask] = spot.segment
