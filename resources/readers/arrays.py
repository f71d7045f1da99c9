"""An array that a library reads out of a file, as the one value object all readers return.

The file is hashed from end to end, then the array is read: at once when it is small, slab by slab when it is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from resources.findings import Code, Finding
from resources.geometry import FloatArray
from resources.readers.content import whole
from resources.readers.grid import grid_findings
from resources.readers.image import RawImage, Slab, SourceFile
from resources.readers.layout import Layout, Order, Sliceable
from resources.readers.slabs import check_bounds
from resources.readers.source import RawFile, ReadOptions

IN_MEMORY = 1 << 29
"""Bytes up to which an array is read at once: cheaper than slab by slab where slabs cut through compressed blocks."""


@dataclass(frozen=True, slots=True)
class ArrayInfo:
    """An array in a container, without its elements.

    Attributes:
        name: What `ReadOptions.key` calls it.
        shape: In the order in which `ReadOptions.axes` names the axes.
        dtype: Name of its type.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class StoredArray:
    """An array in a file.

    Attributes:
        file: The file that complaints are about, and whose path is the image's.
        stored: Type of its elements; see `value_type`.
        layout: What its axes are.
        opened: Gives the array for reading; all that is wrong with the file comes as `BadInputError`.
        order: Whether its first or its last axis varies slowest.
        others: Further files that belong to it.
    """

    file: RawFile
    stored: np.dtype[Any]
    layout: Layout
    opened: Callable[[], AbstractContextManager[Sliceable]]
    order: Order = "C"
    others: tuple[RawFile, ...] = ()

    @property
    def n_bytes(self) -> int:
        """Bytes of its elements."""
        return math.prod(self.layout.extents) * self.stored.itemsize


@dataclass(frozen=True, slots=True)
class ArrayVoxels:
    """The voxels of a `StoredArray`; serves as a `SlabStream`.

    Attributes:
        array: Where they are.
        slab_axis: Slabs are cut along this stored axis.
        dtype: Type of the values.
        sources: Filled in the pass.
    """

    array: StoredArray
    slab_axis: int
    dtype: np.dtype[Any]
    sources: list[SourceFile]

    def __call__(self, bounds: Sequence[tuple[int, int]]) -> Iterator[Slab]:
        """Yield the slabs; see `SlabStream`."""
        layout = self.array.layout
        check_bounds(bounds, layout.shape[self.slab_axis])
        files = (self.array.file, *self.array.others)
        self.sources.clear()
        proven = [whole(file) for file in files]
        steps = [(channel, bound) for channel in range(layout.n_channels) for bound in bounds]
        with self.array.opened() as opened:
            array = opened
            if self.array.n_bytes <= IN_MEMORY:
                array = np.asarray(opened[(slice(None),) * len(layout.extents)])
            for channel, bound in steps:
                voxels = np.asfortranarray(layout.cut(array, channel, self.slab_axis, bound), self.dtype)
                if (channel, bound) == steps[-1]:
                    for file in files:
                        file.check_unchanged()
                    self.sources.extend(proven)
                yield Slab(channel, bound[0], voxels)


def array_image(
    array: StoredArray,
    format_name: str,
    *,
    findings: Sequence[Finding] = (),
    spacing: tuple[float | None, float | None, float | None] = (None, None, None),
) -> RawImage:
    """The image of an array, in picture space.

    Args:
        array: The array.
        format_name: Name of the format.
        findings: What was odd about it.
        spacing: mm along i, j, k; `None` where the file does not say.

    Raises:
        BadInputError: UNSUPPORTED_DATA, when its elements are no real numbers.
    """
    dtype = value_type(array.stored, array.file)
    slab_axis = array.layout.slab_axis(array.order)
    sources: list[SourceFile] = []
    return RawImage(
        path=array.file.path,
        format=format_name,
        shape=array.layout.shape,
        dtype=dtype,
        affine_ras_mm=picture_affine(spacing),
        slab_axis=slab_axis,
        n_channels=array.layout.n_channels,
        fourth_axis=array.layout.fourth_axis,
        orientation_known=False,
        findings=tuple(findings),
        stream=ArrayVoxels(array, slab_axis, dtype, sources),
        sources=sources,
        space="picture",
        third_axis=array.layout.third_axis,
        spacing_known=(spacing[0] is not None, spacing[1] is not None, spacing[2] is not None),
    )


def in_patient(image: RawImage, affine: FloatArray, file: RawFile) -> RawImage:
    """The same image where its file says that it lies.

    Args:
        image: In picture space.
        affine: (4, 4) i, j, k -> RAS+ mm.
        file: The file that complaints are about.

    Raises:
        BadInputError: BAD_AFFINE or SHEAR.
    """
    return replace(
        image,
        affine_ras_mm=np.array(affine, np.float64),
        space="patient",
        third_axis="space",
        orientation_known=True,
        spacing_known=(True, True, True),
        findings=(*image.findings, *grid_findings(affine, file.name)),
    )


def picture_affine(spacing: Sequence[float | None]) -> FloatArray:
    """(4, 4) with the spacing on its diagonal, 1 where there is none."""
    affine: FloatArray = np.diag([1.0 if step is None else float(step) for step in (*spacing, 1.0)])
    return affine


def value_type(stored: np.dtype[Any], file: RawFile) -> np.dtype[Any]:
    """Type of the values of stored elements: native byte order, 0 and 1 for truth values, float32 for half floats.

    Raises:
        BadInputError: UNSUPPORTED_DATA, when they are no real numbers of at most 8 bytes.
    """
    if stored.kind == "b":
        return np.dtype(np.uint8)
    if stored == np.float16:
        return np.dtype(np.float32)
    if stored.kind not in "iuf" or stored.itemsize > 8:
        raise file.bad(Code.UNSUPPORTED_DATA, f"the elements are of type {stored}; a voxel must hold one real number")
    return stored.newbyteorder("=")


def check_promise(
    file: RawFile, n_bytes: int, options: ReadOptions, *, size: int | None = None, expansion: int | None = 1
) -> None:
    """Compare the bytes an array takes with the file, before anything is allocated.

    Args:
        file: The file.
        n_bytes: What its header promises.
        options: With the most that is taken.
        size: Bytes that hold the array; the whole file when not given.
        expansion: How much longer the array can be than its bytes in the file: 1 where they are not compressed,
            `bytestream.EXPANSION` for deflate, `None` where there is no limit.

    Raises:
        BadInputError: TOO_LARGE or TRUNCATED.
    """
    size = file.mark.size if size is None else size
    if n_bytes > options.max_bytes:
        raise file.bad(
            Code.TOO_LARGE, f"{n_bytes} bytes of voxels are promised in a file of {size}; at most {options.max_bytes} are taken"
        )
    if expansion == 1 and n_bytes > size:
        raise file.bad(
            Code.TRUNCATED, f"truncated: {n_bytes} bytes of voxels are promised, the file holds {size}; download it again"
        )
    if expansion is not None and n_bytes > expansion * size:
        raise file.bad(
            Code.TOO_LARGE, f"{n_bytes} bytes of voxels are promised, more than {size} bytes can inflate to: truncated, or false"
        )


def listed(names: Sequence[str]) -> str:
    """Some names for a message."""
    shown = ", ".join(repr(name) for name in names[:8])
    return f"{shown} and {len(names) - 8} more" if len(names) > 8 else shown or "none"


def declared_axes(axes: str | None, extents: Sequence[int], name: str, file: RawFile) -> str:
    """What the axes of an array are: as the spec says, or rows and columns when there are two.

    Raises:
        BadInputError: UNEXPECTED_DIMENSIONS, when nobody says.
    """
    if axes is not None:
        return axes
    if len(extents) == 2:
        return "yx"
    raise file.bad(
        Code.UNEXPECTED_DIMENSIONS,
        f"the array {name!r} has the shape {tuple(extents)}, and nothing says what its axes are; name them in the spec "
        "(`axes`), one letter of x, y, z, t, c for each, such as yxc or zyx",
    )
