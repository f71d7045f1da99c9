"""Reads arrays out of HDF5 files, those that MATLAB writes as version 7.3 among them, through h5py.

HDF5 keeps checksums only where the writer asked for them; compressed chunks carry those of their compression. Chunks that
were never written read as a fill value without a word, so they are counted here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from resources.findings import BadInputError, Code, Finding, finding
from resources.readers.arrays import ArrayInfo, StoredArray, array_image, check_promise, declared_axes, listed, value_type
from resources.readers.bytestream import EXPANSION
from resources.readers.content import refuse_gzip
from resources.readers.image import RawImage
from resources.readers.layout import Layout, are_axes
from resources.readers.source import RawFile, ReadOptions

MATLAB_TEXT = b"MATLAB 7.3 MAT-file"
MINC = "minc-2.0"
"""The group in which a MINC 2 file keeps everything."""

_FAULTS = (OSError, RuntimeError, KeyError, ValueError, TypeError, NotImplementedError, OverflowError, UnicodeDecodeError)
"""What h5py raises for damaged files."""

_CHECKSUM_WORDS = ("checksum", "inflate", "filter returned failure", "decompress", "lzf", "szip", "deflate")
_CACHE_BYTES = 64 << 20
_AXIS_ATTRIBUTES = ("axes", "dims", "DIMENSION_LABELS")


def open_hdf5(file: RawFile, options: ReadOptions) -> RawImage:
    """Open the array that `options.key` names, or the only one; raises `BadInputError` as every reader does."""
    matlab = is_matlab(file)
    with session(file) as container:
        if MINC in container:
            return _minc(file, options)
        name = _chosen(container, file, options.key, matlab=matlab)
        dataset = _dataset(container, name, file)
        check_dataset(dataset, name, file, options)
        axes = options.axes or (None if matlab else _own_axes(dataset))
        extents = dataset.shape[::-1] if matlab else dataset.shape
        axes = declared_axes(axes, extents, name, file)
        Layout.of(axes, extents, file)
        layout = Layout.of(axes[::-1] if matlab else axes, dataset.shape, file)
        stored, notes = dataset.dtype, unwritten(dataset, name, file)

    @contextmanager
    def opened() -> Iterator[_Guarded]:
        with session(file) as again:
            yield _Guarded(_dataset(again, name, file), file)

    array = StoredArray(file, stored, layout, opened)
    return array_image(array, "MATLAB 7.3" if matlab else "HDF5", findings=notes)


def list_hdf5(file: RawFile) -> tuple[ArrayInfo, ...]:
    """The arrays of a file; raises `BadInputError` when it cannot be read."""
    matlab = is_matlab(file)
    with session(file) as container:
        return tuple(
            ArrayInfo(name, tuple(shape[::-1] if matlab else shape), str(dtype))
            for name, (shape, dtype) in _datasets(container, file).items()
        )


def is_matlab(file: RawFile) -> bool:
    """Whether MATLAB wrote the file: its axes are reversed then."""
    return file.head.startswith(MATLAB_TEXT)


def _minc(file: RawFile, options: ReadOptions) -> RawImage:
    from resources.readers.minc import open_minc2  # noqa: PLC0415  # it stands on this module

    return open_minc2(file, options)


@dataclass(frozen=True, slots=True)
class _Guarded:
    """A dataset whose damage comes as `BadInputError`."""

    dataset: h5py.Dataset
    file: RawFile

    def __getitem__(self, index: tuple[int | slice, ...], /) -> npt.NDArray[Any]:
        try:
            return np.asarray(self.dataset[index])
        except _FAULTS as error:
            raise _explained(error, self.file) from error


@contextmanager
def session(file: RawFile) -> Iterator[h5py.File]:
    """The open file; what h5py raises meanwhile comes as `BadInputError`."""
    refuse_gzip(file)
    file.check_unchanged()
    try:
        with h5py.File(file.path, "r", locking=False, rdcc_nbytes=_CACHE_BYTES) as container:
            yield container
    except _FAULTS as error:
        raise _explained(error, file) from error


def _explained(error: Exception, file: RawFile) -> BadInputError:
    said = " ".join(str(error).split())
    if "truncated" in said:
        return file.bad(Code.TRUNCATED, f"truncated: h5py says {said!r}; download it again")
    if "required filter" in said or "filter is not" in said:
        return file.bad(Code.UNSUPPORTED_DATA, f"the array is compressed in a way that is not supported: {said}")
    if any(word in said.lower() for word in _CHECKSUM_WORDS):
        return file.bad(Code.CHECKSUM_MISMATCH, f"damaged compressed data: h5py says {said!r}; download it again")
    return file.bad(Code.BAD_HEADER, f"h5py cannot read the file: {said or type(error).__name__}")


def _datasets(container: h5py.File, file: RawFile) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
    """Shape and type of every dataset that lies in the file itself, by name."""
    found: dict[str, tuple[tuple[int, ...], np.dtype[Any]]] = {}

    def visit(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset) and item.shape is not None and not name.startswith("#"):
            found[name] = (item.shape, item.dtype)

    container.visititems(visit)
    file.check_unchanged()
    return found


def _chosen(container: h5py.File, file: RawFile, key: str | None, *, matlab: bool) -> str:
    if key is not None:
        return key.strip("/")
    sized = {
        name: sum(n > 1 for n in shape) for name, (shape, dtype) in _datasets(container, file).items() if dtype.kind in "biuf"
    }
    names = [name for name, long_axes in sized.items() if long_axes >= 2]
    if len(names) != 1:
        kind = "MAT" if matlab else "HDF5"
        raise file.bad(
            Code.NO_SUCH_ARRAY, f"the {kind} file holds {len(names)} arrays ({listed(names)}); name one in the spec (`key`)"
        )
    return names[0]


def _dataset(container: h5py.File, name: str, file: RawFile) -> h5py.Dataset:
    """The dataset of this name; links that lead out of the file are not followed."""
    item: Any = container
    for part in name.split("/"):
        link = item.get(part, getlink=True) if isinstance(item, h5py.Group) and part in item.keys() else None  # noqa: SIM118  # h5py's `in` follows links
        if link is None:
            names = list(_datasets(container, file))
            raise file.bad(Code.NO_SUCH_ARRAY, f"there is no array {name!r} in the file; it holds {listed(names)}")
        if not isinstance(link, h5py.HardLink):
            raise file.bad(Code.UNSUPPORTED_DATA, f"{name!r} is a link to another place; name the array where it lies")
        item = item[part]
    if not isinstance(item, h5py.Dataset) or item.shape is None:
        names = list(_datasets(container, file))
        raise file.bad(Code.NO_SUCH_ARRAY, f"{name!r} is no array but a {type(item).__name__}; there are {listed(names)}")
    return item


def check_dataset(dataset: h5py.Dataset, name: str, file: RawFile, options: ReadOptions) -> None:
    """Refuse an array that is none of numbers, lies in other files, or is not there as a whole; raises `BadInputError`."""
    if dataset.is_virtual or dataset.external:
        raise file.bad(Code.UNSUPPORTED_DATA, f"the elements of {name!r} lie in other files")
    value_type(dataset.dtype, file)
    n_bytes = math.prod(dataset.shape) * dataset.dtype.itemsize
    packed = dataset.chunks is not None
    check_promise(file, n_bytes, options, expansion=EXPANSION if packed else 1)
    if not packed and dataset.id.get_storage_size() < n_bytes:
        raise file.bad(Code.TRUNCATED, f"truncated: the elements of {name!r} were never written")


def unwritten(dataset: h5py.Dataset, name: str, file: RawFile) -> list[Finding]:
    """A warning when chunks of an array were never written."""
    if dataset.chunks is None:
        return []
    expected = math.prod(-(-extent // chunk) for extent, chunk in zip(dataset.shape, dataset.chunks, strict=True))
    missing = expected - dataset.id.get_num_chunks()
    if missing <= 0:
        return []
    detail = f"{missing} of {expected} chunks of {name!r} were never written; they read as {dataset.fillvalue}"
    return [finding(Code.UNWRITTEN_CHUNKS, detail, file=file.name)]


def _own_axes(dataset: h5py.Dataset) -> str | None:
    """What the file says its axes are, in an attribute or in labels; `None` when it says nothing that is understood."""
    for name in _AXIS_ATTRIBUTES:
        value = dataset.attrs.get(name)
        axes = "".join(_text(part) for part in np.atleast_1d(value)).lower() if value is not None else ""
        if len(axes) == len(dataset.shape) and are_axes(axes):
            return axes
    return None


def _text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
