"""Siemens mosaics: one MR frame that holds all slices of a volume as tiles.

The header places the mosaic as if it were one slice; where the tiles lie follows from the private CSA header (the direction
in which slices were counted) and the size of the mosaic. Sources: the layout of the CSA header as nibabel's documentation
describes it; checked against dcm2niix.
"""

from __future__ import annotations

import math
import struct
from dataclasses import replace

from resources.findings import Code
from resources.readers.dicom.elements import Elements
from resources.readers.dicom.layout import PixelLayout
from resources.readers.dicom.planes import Placement, Plane, Vector, classic_plane

_MAX_TAGS = 1024
_MAX_ITEMS = 4096


def is_mosaic(elements: Elements) -> bool:
    """Whether a file's one frame is a mosaic."""
    return "MOSAIC" in elements.texts("ImageType")


def mosaic_planes(elements: Elements, layout: PixelLayout) -> tuple[PixelLayout, list[Plane]]:
    """The tiles of a mosaic: how one of them looks, and all of them in the order of their slices.

    Raises:
        BadInputError: UNSUPPORTED_DATA where the private header that tells them apart is missing, BAD_HEADER where it
            contradicts the picture.
    """
    csa = read_csa(elements.private(0x0029, "SIEMENS CSA HEADER", 0x10))
    count, normal = _count(elements, csa), csa.get("SliceNormalVector", ())
    whole = classic_plane(elements)
    if count is None or len(normal) != 3 or whole.placement is None or not whole.between:
        raise elements.bad(
            "a Siemens mosaic whose number of slices, slice direction or spacing was removed from its header: its tiles cannot "
            "be placed; get the files with their private elements (0019,100A) and (0029,1010)",
            Code.UNSUPPORTED_DATA,
        )
    per_side = math.ceil(math.sqrt(count))
    if layout.rows % per_side or layout.columns % per_side or layout.frames != 1:
        raise elements.bad(
            f"a mosaic of {count} tiles cannot be {layout.columns} x {layout.rows} pixels in {layout.frames} frames"
        )
    tile = replace(layout, rows=layout.rows // per_side, columns=layout.columns // per_side)
    first = _first_tile(whole.placement, layout, tile)
    planes = [
        replace(
            whole,
            tile=divmod(index, per_side),
            placement=replace(first, position=_moved(first.position, tuple(normal), abs(whole.between) * index)),
        )
        for index in range(count)
    ]
    return tile, planes


def read_csa(content: bytes) -> dict[str, tuple[float, ...]]:
    """The numeric fields of a CSA header that are wanted here; empty when it cannot be understood."""
    wanted = {"NumberOfImagesInMosaic", "SliceNormalVector"}
    place = 8 if content[:4] == b"SV10" else 0
    found: dict[str, tuple[float, ...]] = {}
    try:
        (n_tags,) = struct.unpack_from("<I", content, place)
        place += 8
        for _ in range(min(n_tags, _MAX_TAGS)):
            label, _, _, _, n_items, _ = struct.unpack_from("<64si4siii", content, place)
            place += 84
            name = label.split(b"\0")[0].decode("latin-1")
            texts, place = _csa_items(content, place, n_items)
            if name in wanted:
                found[name] = tuple(float(text) for text in texts)
    except (struct.error, ValueError):
        return {}
    return found


def _csa_items(content: bytes, place: int, n_items: int) -> tuple[list[str], int]:
    """The texts of one field, and where the next one begins."""
    texts = []
    for _ in range(min(max(n_items, 0), _MAX_ITEMS)):
        _, length, _, _ = struct.unpack_from("<4i", content, place)
        place += 16
        if not 0 <= length <= len(content) - place:
            raise ValueError("a field of the CSA header is longer than the header")
        text = content[place : place + length].split(b"\0")[0].decode("latin-1").strip()
        if text:
            texts.append(text)
        place += (length + 3) // 4 * 4
    return texts, place


def _count(elements: Elements, csa: dict[str, tuple[float, ...]]) -> int | None:
    stored = elements.private_words(0x0019, "SIEMENS MR HEADER", 0x0A)
    count = stored[0] if stored else int((csa.get("NumberOfImagesInMosaic") or (0,))[0])
    return count if 1 <= count <= 4096 else None


def _first_tile(placement: Placement, mosaic: PixelLayout, tile: PixelLayout) -> Placement:
    """Undo the shift of a mosaic: its position is that of a slice as large as the whole, with the same centre."""
    across, down = placement.spacing
    position = _moved(placement.position, placement.along_row, across * (mosaic.columns - tile.columns) / 2)
    position = _moved(position, placement.along_column, down * (mosaic.rows - tile.rows) / 2)
    return replace(placement, position=position)


def _moved(position: Vector, direction: Vector, distance: float) -> Vector:
    return tuple(start + distance * part for start, part in zip(position, direction, strict=True))
