"""Files of Zeiss microscopes, laid out by hand after "ZISRAW (CZI) File Format", Zeiss, 2016; czifile reads them."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy.typing as npt

_KINDS = {("u1", 1): 0, ("u2", 1): 1, ("u1", 3): 3}
"""Type and samples of a pixel -> what the format calls it; colours are stored blue first."""

_METADATA = (
    "<ImageDocument><Metadata><Scaling><Items>"
    "<Distance Id='X'><Value>{0:e}</Value></Distance><Distance Id='Y'><Value>{0:e}</Value></Distance>"
    "</Items></Scaling></Metadata></ImageDocument>"
)


def write_czi(path: Path, planes: list[npt.NDArray[Any]], *, pixel_um: float = 0.5) -> None:
    """Write one uncompressed picture: `[row, column, colour]` alone, or `[row, column]` for each channel."""
    body, entries, at = b"", [], 544
    for channel, plane in enumerate(planes):
        rows, columns = plane.shape[:2]
        data = (plane[..., ::-1] if plane.ndim == 3 else plane).tobytes()
        extents = {"X": (0, columns), "Y": (0, rows), "C": (channel, 1)}
        sizes = b"".join(struct.pack("<4siifi", axis.encode(), first, n, 0.0, n) for axis, (first, n) in extents.items())
        kind = _KINDS[plane.dtype.str[1:], plane.shape[2] if plane.ndim == 3 else 1]
        entry = struct.pack("<2siqiiB5si", b"DV", kind, at, 0, 0, 0, b"", len(extents)) + sizes
        block = _segment(b"ZISRAWSUBBLOCK", (struct.pack("<iiq", 0, 0, len(data)) + entry).ljust(256, b"\0") + data)
        entries.append(entry)
        body += block
        at += len(block)
    directory = _segment(b"ZISRAWDIRECTORY", struct.pack("<i124x", len(entries)) + b"".join(entries))
    xml = _METADATA.format(pixel_um * 1e-6).encode()
    metadata = _segment(b"ZISRAWMETADATA", struct.pack("<ii248x", len(xml), 0) + xml)
    head = struct.pack("<iiii16s16siqqiq", 1, 0, 0, 0, b"\1" * 16, b"\1" * 16, 0, at, at + len(directory), 0, 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_segment(b"ZISRAWFILE", head.ljust(512, b"\0")) + body + directory + metadata)


def _segment(name: bytes, data: bytes) -> bytes:
    size = -(-len(data) // 32) * 32
    return struct.pack("<16sqq", name, size, len(data)) + data.ljust(size, b"\0")
