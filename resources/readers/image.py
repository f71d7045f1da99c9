"""The one value object every reader returns, whatever the raw format.

A reader opens a file, reads its header, and hands back a `RawImage`: what the header promises, the affine of the voxels as
they are stored, what was odd about it, and a way to stream the voxels once, slab by slab, proving the file whole on the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from resources.findings import Finding

FourthAxis = Literal["none", "channel", "time"]
Space = Literal["patient", "picture"]
ThirdAxis = Literal["space", "time", "page", "colour"]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """Fingerprint of one file that was read to its last byte.

    Attributes:
        path: The file.
        size: Its size in bytes.
        mtime_ns: Its modification time, taken before reading; a file that changed while it was read is refused.
        sha256: Hash of its bytes as stored, hexadecimal.
    """

    path: Path
    size: int
    mtime_ns: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Slab:
    """Some whole planes of one channel.

    Attributes:
        channel: Index along the fourth axis; 0 for a plain 3-D image.
        start: First plane along `RawImage.slab_axis`.
        voxels: `[i, j, k]` in stored voxel order, true values (rescaled), `RawImage.dtype`. The memory is reused: it is valid
            until the next slab is asked for.
    """

    channel: int
    start: int
    voxels: npt.NDArray[np.generic]


class SlabStream(Protocol):
    """Delivers the voxels of one file, once."""

    def __call__(self, bounds: Sequence[tuple[int, int]]) -> Iterator[Slab]:
        """Yield one slab per bound and channel; before the last is given, the file has been checked to its end."""
        ...


@dataclass(frozen=True)
class RawImage:
    """An image as its file describes it; voxels are streamed on demand.

    There are two kinds. In `patient` space the affine says where every voxel lies in the patient, and the image can be
    brought to RAS+. In `picture` space there is no patient: the stored axes are i = columns, rightward, j = rows, downward,
    and k = what `third_axis` says; colours are channels of the fourth axis.

    Attributes:
        path: The file that was opened.
        format: Name of the format, e.g. `NIfTI-1`.
        shape: Voxel counts along the three stored axes; a 2-D image has 1 as its last.
        dtype: Type of the true voxel values (after any rescale), native byte order.
        affine_ras_mm: (4, 4) float64, stored voxel index (i, j, k, 1) -> RAS+ millimetres of the voxel centre. In picture
            space it is diagonal and holds the spacing alone (1 where that is not known).
        slab_axis: The stored axis that varies slowest in the file: slabs are ranges of whole planes along it.
        n_channels: Extent of the fourth axis; 1 for a plain 3-D image.
        fourth_axis: What that axis is, as far as the file tells.
        orientation_known: False when the file says nothing about left and right.
        findings: What was odd about the header; an `error` among them has already been raised instead.
        stream: Yields the voxels; raises `BadInputError` when the file is not whole.
        sources: Fingerprints, complete once the stream has been driven to its end; all files that belong to the image.
        stream_findings: What only the pass over the voxels shows, such as bytes behind them; complete when `sources` is.
        space: Whether the affine places the voxels in a patient.
        third_axis: What the third stored axis is: space, the time of a film, the page of a file of many pictures, or
            colour.
        spacing_known: For every stored axis, whether its spacing is a length the source states; where it is not, nothing
            may be measured in mm along that axis.
    """

    path: Path
    format: str
    shape: tuple[int, int, int]
    dtype: np.dtype[np.generic]
    affine_ras_mm: npt.NDArray[np.float64]
    slab_axis: int
    n_channels: int
    fourth_axis: FourthAxis
    orientation_known: bool
    findings: tuple[Finding, ...]
    stream: SlabStream
    sources: list[SourceFile]
    stream_findings: list[Finding] = field(default_factory=list)
    space: Space = "patient"
    third_axis: ThirdAxis = "space"
    spacing_known: tuple[bool, bool, bool] = (True, True, True)

    def slabs(self, bounds: Sequence[tuple[int, int]]) -> Iterator[Slab]:
        """Yield the voxels channel by channel, `bounds` by `bounds`.

        Args:
            bounds: Half-open plane ranges along `slab_axis`, in rising order, without gaps, covering the whole axis.

        Raises:
            BadInputError: The file is truncated, fails its checksum, has another length than promised, or changed meanwhile.
        """
        return self.stream(bounds)
