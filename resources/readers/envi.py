"""Reads ENVI: a text header beside a file of bare numbers, with many bands. Bands are channels.

Header after the ENVI manual ("ENVI Header Files"). Scale factors, gains and map coordinates are not applied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from resources.findings import Code
from resources.readers.arrays import StoredArray, array_image, check_promise
from resources.readers.content import content_size, opened
from resources.readers.flat import FlatArray
from resources.readers.image import RawImage
from resources.readers.layout import Layout
from resources.readers.source import RawFile, ReadOptions

DATA_SUFFIXES = ("", ".dat", ".img", ".raw", ".bsq", ".bil", ".bip", ".envi")
"""Endings under which the numbers lie beside a header."""

_MOST_TEXT = 16 << 20
_TYPES = {
    1: "u1", 2: "i2", 3: "i4", 4: "f4", 5: "f8", 12: "u2", 13: "u4", 14: "i8", 15: "u8",
}  # fmt: skip
_STORED = {"bsq": "cyx", "bil": "ycx", "bip": "yxc"}
_ENTRY = re.compile(r"^\s*([^={}\n]+?)\s*=\s*(\{[^}]*\}|[^\n]*)", re.MULTILINE)


def is_header(path: Path) -> bool:
    """Whether there is a file with this path that begins as an ENVI header."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"ENVI"


def header_path(path: Path) -> Path:
    """The header of a file of numbers, if there is one beside it, otherwise the path itself."""
    if path.suffix.lower() not in DATA_SUFFIXES:
        return path
    candidates = (path.with_suffix(ending) for ending in (".hdr", ".HDR")) if path.name.strip(".") else ()
    beside = (*candidates, path.with_name(path.name + ".hdr"), path.with_name(path.name + ".HDR"))
    return next((candidate for candidate in beside if is_header(candidate)), path)


def companions(path: Path) -> tuple[Path, ...]:
    """The numbers of a header, or the header of the numbers."""
    if path.suffix.lower() == ".hdr" and is_header(path):
        return tuple(_data_files(path))
    header = header_path(path)
    return () if header == path else (header,)


def open_envi(file: RawFile, options: ReadOptions) -> RawImage:
    """Open the picture of a header; raises `BadInputError` as every reader does."""
    fields = _fields(file)
    found = _data_files(file.path)
    if len(found) != 1:
        names = [path.name for path in found]
        code = Code.AMBIGUOUS_FILE if found else Code.MISSING_IMAGE
        raise file.bad(code, f"the numbers of an ENVI header lie beside it under its name; there are {names or 'none'}")
    holder = file.sibling(found[0])
    lines, samples, bands, start = (_whole(fields, name, file) for name in ("lines", "samples", "bands", "header offset"))
    stored = _stored(fields, file)
    interleave = fields.get("interleave", "bsq").lower()
    if interleave not in _STORED or min(lines, samples, bands) < 1:
        raise file.bad(Code.BAD_HEADER, f"the ENVI header says {lines} x {samples} x {bands}, interleave {interleave!r}")
    n_bytes = lines * samples * bands * stored.itemsize
    with opened(holder, options) as content:
        check_promise(holder, n_bytes, options, size=max(content_size(content) - start, 0))
    counts = {"y": lines, "x": samples, "c": bands}
    # A spec declares the axes in the order lines, samples, bands, as spectral libraries index them.
    renamed = dict(zip("yxc", options.axes or "yxc", strict=False))
    if len(renamed) < (2 if bands == 1 else 3) or len(options.axes or "yxc") > 3:
        raise file.bad(Code.UNEXPECTED_DIMENSIONS, f"axes are declared as {options.axes!r}, ENVI has lines, samples and bands")
    order = _STORED[interleave] if len(renamed) == 3 else "yx"
    layout = Layout.of("".join(renamed[axis] for axis in order), [counts[axis] for axis in order], file)

    @contextmanager
    def array() -> Iterator[FlatArray]:
        with opened(holder, options) as content:
            yield FlatArray(holder, content, start, layout.extents, stored)

    return array_image(StoredArray(file, stored, layout, array, others=(holder,)), "ENVI")


def _data_files(header: Path) -> list[Path]:
    stem = header.with_suffix("")
    names = {stem.name + ending for small in DATA_SUFFIXES for ending in (small, small.upper())}
    return sorted(path for path in (stem.with_name(name) for name in names) if path.is_file())


def _fields(file: RawFile) -> dict[str, str]:
    """The entries of a header, names in lower case."""
    if file.mark.size > _MOST_TEXT or file.compressed:
        raise file.bad(Code.TOO_LARGE, f"the ENVI header has {file.mark.size} bytes; plain text of {_MOST_TEXT} at most is taken")
    text = file.path.read_bytes().decode("utf-8", "replace")
    file.check_unchanged()
    return {name.lower(): value.strip() for name, value in _ENTRY.findall(text)}


def _whole(fields: dict[str, str], name: str, file: RawFile) -> int:
    text = fields.get(name, "0" if name == "header offset" else "")
    if not text.isdecimal() or len(text) > 12:
        raise file.bad(Code.BAD_HEADER, f"the ENVI header gives {name!r} as {text!r}, which is no whole number")
    return int(text)


def _stored(fields: dict[str, str], file: RawFile) -> np.dtype[Any]:
    code = _whole(fields, "data type", file)
    if code not in _TYPES:
        raise file.bad(Code.UNSUPPORTED_DATA, f"the ENVI data type is {code}; real numbers are taken: {sorted(_TYPES)}")
    return np.dtype(_TYPES[code]).newbyteorder(">" if fields.get("byte order", "0") == "1" else "<")
