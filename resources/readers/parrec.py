"""Reads Philips PAR/REC through nibabel: display values, as rescale slope and intercept of each slice give them."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from nibabel.fileholders import FileHolder
from nibabel.parrec import PARRECError, PARRECImage

from resources.findings import BadInputError, Code
from resources.readers.arrays import StoredArray, array_image, check_promise, in_patient
from resources.readers.content import opened
from resources.readers.image import RawImage
from resources.readers.layout import Layout
from resources.readers.source import RawFile, ReadOptions

_MOST_TEXT = 64 << 20
_FAULTS = (
    OSError, ValueError, TypeError, IndexError, KeyError, AttributeError, RuntimeError, ArithmeticError, AssertionError, EOFError,
    MemoryError, UserWarning, PARRECError, struct.error,
)  # fmt: skip


def partner(path: Path) -> Path | None:
    """The other file of a pair: the REC of a PAR or the reverse, if there is one."""
    other = {".par": ".rec", ".rec": ".par"}.get(path.suffix.lower(), "")
    found = (path.with_suffix(ending) for ending in (other, other.upper(), other.capitalize()) if ending)
    return next((candidate for candidate in found if candidate.is_file()), None)


def header_path(path: Path) -> Path:
    """The PAR of a REC, if there is one, otherwise the path itself."""
    return (partner(path) or path) if path.suffix.lower() == ".rec" else path


def companions(path: Path) -> tuple[Path, ...]:
    """The other file of a pair, when there is one."""
    found = partner(path)
    return (found,) if found else ()


def open_parrec(file: RawFile, options: ReadOptions) -> RawImage:
    """Open a PAR/REC volume or series; raises `BadInputError` as every reader does."""
    if file.mark.size > _MOST_TEXT:
        raise file.bad(Code.TOO_LARGE, f"the PAR file has {file.mark.size} bytes; at most {_MOST_TEXT} are taken")
    path = partner(file.path)
    if path is None:
        raise file.bad(Code.MISSING_IMAGE, "the REC file with the voxels is not beside the PAR file")
    holder = file.sibling(path)
    with _session(file, holder, options) as image:
        definitions = image.header.image_defs
        sizes = np.prod(definitions["recon resolution"], axis=1, dtype=np.int64) * definitions["image pixel size"]
        check_promise(holder, int(sizes.sum()) // 8, options)
        shape = [int(n) for n in image.shape]
        labels = image.header.get_volume_labels()
        affine = np.asarray(image.affine, np.float64)
    check_promise(holder, int(np.prod(shape, dtype=np.int64)) * 8, options, expansion=None)
    axes = "xyz" if len(shape) == 3 else "xyzt" if list(labels) == ["dynamic scan number"] else "xyzc"
    layout = Layout.of(axes, shape, file)

    @contextmanager
    def array() -> Iterator[_Scaled]:
        with _session(file, holder, options) as again:
            yield _Scaled(again.dataobj, file)

    stored = StoredArray(file, np.dtype(np.float64), layout, array, order="F", others=(holder,))
    return in_patient(array_image(stored, "PAR/REC"), affine, file)


@dataclass(frozen=True, slots=True)
class _Scaled:
    """The display values."""

    values: Any
    file: RawFile

    def __getitem__(self, index: tuple[int | slice, ...], /) -> npt.NDArray[Any]:
        try:
            return np.asarray(self.values[index])
        except _FAULTS as error:
            raise _explained(error, self.file) from error


@contextmanager
def _session(file: RawFile, holder: RawFile, options: ReadOptions) -> Iterator[Any]:
    with opened(file, options) as text, opened(holder, options) as numbers:
        lines = io.TextIOWrapper(text, encoding="latin-1")
        try:
            yield PARRECImage.from_file_map(
                {"header": FileHolder(fileobj=lines), "image": FileHolder(fileobj=numbers)}, mmap=False
            )
        except _FAULTS as error:
            raise _explained(error, file) from error


def _explained(error: Exception, file: RawFile) -> BadInputError:
    said = " ".join(str(error).split()) or type(error).__name__
    code = Code.TRUNCATED if "truncated" in said.lower() else Code.BAD_HEADER
    return file.bad(code, f"nibabel cannot read the PAR file: {said}")
