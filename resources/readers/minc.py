"""Reads MINC 1 (NetCDF) and MINC 2 (HDF5) through nibabel: real values in world space, which is RAS+.

Stored numbers become real ones slice by slice, from the valid range to the range that image-min and image-max state, as the
MINC programmer's guide says; so integers become float64.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from nibabel.externals.netcdf import netcdf_file
from nibabel.minc1 import Minc1File, MincError
from nibabel.minc2 import Minc2File

from resources.findings import BadInputError, Code, Finding
from resources.readers import declared
from resources.readers.arrays import StoredArray, array_image, check_promise, in_patient, value_type
from resources.readers.content import content_size, opened
from resources.readers.hdf5 import MINC, check_dataset, session, unwritten
from resources.readers.image import RawImage
from resources.readers.layout import Layout
from resources.readers.source import RawFile, ReadOptions

_FAULTS = (
    OSError, ValueError, TypeError, IndexError, KeyError, AttributeError, RuntimeError, ArithmeticError, AssertionError, EOFError,
    MemoryError, UserWarning, MincError, struct.error,
)  # fmt: skip


def open_minc1(file: RawFile, options: ReadOptions) -> RawImage:
    """Open a MINC 1 volume; raises `BadInputError` as every reader does."""

    @contextmanager
    def scaled() -> Iterator[Any]:
        with opened(file, options) as content, _faults(file), netcdf_file(content, mode="r", mmap=False) as container:
            yield Minc1File(container)

    with opened(file, options) as content:
        size = content_size(content)
    with scaled() as volume:
        names = [str(name) for name in volume._image.dimensions]  # nibabel names them nowhere else
        stored = np.dtype(volume.get_data_dtype())
        check_promise(file, math.prod(volume.get_data_shape()) * stored.itemsize, options, size=size)
        return _image(volume, "MINC 1", names, scaled, file, [])


def open_minc2(file: RawFile, options: ReadOptions) -> RawImage:
    """Open a MINC 2 volume; raises `BadInputError` as every reader does."""

    @contextmanager
    def scaled() -> Iterator[Any]:
        with session(file) as container, _faults(file):
            yield Minc2File(container)

    with session(file) as container, _faults(file):
        dataset = container[MINC]["image"]["0"]["image"]
        check_dataset(dataset, "image", file, options)
        notes = unwritten(dataset, "image", file)
        names = dataset.attrs["dimorder"].decode("latin-1").split(",")[: len(dataset.shape)]
    with scaled() as volume:
        image = _image(volume, "MINC 2", names, scaled, file, notes)
    return image if options.axes is None else declared.with_axes(image, file, options.axes)


@dataclass(frozen=True, slots=True)
class _Scaled:
    """The real values of a volume."""

    volume: Any
    file: RawFile

    def __getitem__(self, index: tuple[int | slice, ...], /) -> npt.NDArray[Any]:
        with _faults(self.file):
            return np.asarray(self.volume.get_scaled_data(index))


@contextmanager
def _faults(file: RawFile) -> Iterator[None]:
    try:
        yield
    except _FAULTS as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise file.bad(Code.BAD_HEADER, f"nibabel cannot read the MINC file: {said}") from error


def _image(volume: Any, name: str, names: list[str], scaled: Any, file: RawFile, notes: list[Finding]) -> RawImage:
    shape = [int(n) for n in volume.get_data_shape()]
    stored = np.dtype(volume.get_data_dtype())
    value_type(stored, file)
    layout = Layout.of(_axes(names, file), shape, file)

    @contextmanager
    def array() -> Iterator[_Scaled]:
        with scaled() as again:
            yield _Scaled(again, file)

    real = stored if stored.kind == "f" else np.dtype(np.float64)
    image = array_image(StoredArray(file, real, layout, array), name, findings=notes)
    return in_patient(image, volume.get_affine(), file)


def _axes(names: list[str], file: RawFile) -> str:
    """Our letters for the dimensions of a volume: those of space are i, j, k in the order in which they are stored."""
    spatial = iter("xyz")
    axes = "".join(next(spatial, "?") if name.endswith("space") else {"time": "t"}.get(name, "?") for name in names)
    if len(names) - ("t" in axes) != 3 or "?" in axes:
        raise _unexpected(names, file)
    return axes


def _unexpected(names: list[str], file: RawFile) -> BadInputError:
    return file.bad(Code.UNEXPECTED_DIMENSIONS, f"the MINC file has {names}; three axes of space, and time, are taken")
