"""Cutting the voxels of a file into slabs of whole planes, in two buffers: one is read while the other is used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from resources import memory
from resources.findings import Finding
from resources.readers.bytestream import PIECE, ByteStream, fingerprint
from resources.readers.image import Slab, SourceFile
from resources.readers.scaling import Scaling
from resources.readers.source import RawFile


def check_bounds(bounds: Sequence[tuple[int, int]], n_planes: int) -> None:
    """Refuse slab bounds that do not cover planes 0 to `n_planes` once, in order.

    Raises:
        ValueError: They do not.
    """
    expected = 0
    for start, stop in bounds:
        if start != expected or stop <= start:
            raise ValueError(f"slabs follow one another without gaps; {(start, stop)} cannot come at plane {expected}")
        expected = stop
    if expected != n_planes:
        raise ValueError(f"slabs cover the whole axis: they end at plane {expected} of {n_planes}")


@dataclass(frozen=True, slots=True)
class FortranVoxels:
    """Voxels that lie in a file with the first axis fastest and the channels outermost; serves as a `SlabStream`.

    Attributes:
        file: The file that holds the voxels.
        offset: (Inflated) bytes before the first voxel.
        shape: Voxel counts along the three stored axes; slabs are cut along the last.
        n_channels: How many such arrays follow one another.
        stored: Type of the stored numbers, with their byte order.
        scaling: How they become true values; `None` when they are.
        headers: Files of their own that belong to the image and were read for its header.
        sources: Filled at the end of the pass.
        findings: Filled at the end of the pass.
    """

    file: RawFile
    offset: int
    shape: tuple[int, int, int]
    n_channels: int
    stored: np.dtype[Any]
    scaling: Scaling | None
    headers: tuple[RawFile, ...]
    sources: list[SourceFile]
    findings: list[Finding]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the true values, native byte order."""
        return self.scaling.dtype if self.scaling else self.stored.newbyteorder("=")

    def __call__(self, bounds: Sequence[tuple[int, int]]) -> Iterator[Slab]:
        """Yield the slabs; see `SlabStream`."""
        check_bounds(bounds, self.shape[2])
        self.sources.clear()
        self.findings.clear()
        nx, ny, nz = self.shape
        promised = self.offset + nx * ny * nz * self.n_channels * self.stored.itemsize
        steps = [(channel, start, stop) for channel in range(self.n_channels) for start, stop in bounds]
        size = nx * ny * max(stop - start for start, stop in bounds) * self.dtype.itemsize
        with (
            memory.slabs.lend(len(steps[:2]), size) as lent,
            ByteStream(self.file, promised) as stream,
            ThreadPoolExecutor(1, thread_name_prefix="read-ahead") as ahead,
        ):
            buffers = [stretch.view(self.dtype) for stretch in lent]
            stream.skip(self.offset)

            def read(number: int) -> Slab:
                channel, start, stop = steps[number]
                flat = buffers[number % 2][: nx * ny * (stop - start)]
                self._fill(stream, flat)
                if stream.position == promised:
                    self._end(stream)
                return Slab(channel, start, flat.reshape((nx, ny, stop - start), order="F"))

            slab = read(0)
            for number in range(1, len(steps)):
                following = ahead.submit(read, number)
                yield slab
                slab = following.result()
            yield slab

    def _fill(self, stream: ByteStream, flat: npt.NDArray[Any]) -> None:
        if self.scaling is None:
            stream.fill(flat.data.cast("B"))
            if not self.stored.isnative:
                flat.byteswap(inplace=True)
            return
        step = PIECE // self.stored.itemsize
        piece = np.empty(min(step, len(flat)), self.stored)
        for begin in range(0, len(flat), step):
            part = piece[: len(flat) - begin]
            stream.fill(part.view(np.uint8).data)
            self.scaling.apply(part, flat[begin : begin + len(part)])

    def _end(self, stream: ByteStream) -> None:
        ending = stream.finish()
        self.sources.extend((*(fingerprint(header) for header in self.headers), ending.source))
        self.findings.extend(ending.findings)
