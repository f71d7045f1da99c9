"""The most that one plane of an image may take.

A few megabytes of a compressed file can stand for gigabytes. Volumes and films are streamed plane by plane, so what one plane
takes is what a reader, a picture and a measurement hold of it; it is compared as soon as the header is known, before any pixel is
decoded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from resources.findings import BadInputError, Code
from resources.readers.image import RawImage

MAX_PLANE_BYTES = 1 << 30
"""32768 x 32768 pixels of one byte; the largest mammograms take 60 MiB."""

_MOST_COLOURS = 4
"""More channels, such as wavelengths or directions, are streamed one by one."""


def check_plane(shape: Sequence[int], voxel_bytes: int, colours: int, name: str) -> None:
    """Refuse an image one plane of which is too large.

    Args:
        shape: Extents along the stored axes. The plane is that of the first two that have more than one element.
        voxel_bytes: Bytes of one value.
        colours: Values of one pixel.
        name: How findings call the file.

    Raises:
        BadInputError: TOO_LARGE.
    """
    extents = [n for n in shape if n > 1][:2]
    n_bytes = math.prod(extents) * voxel_bytes * colours
    if n_bytes > MAX_PLANE_BYTES:
        size = " x ".join(map(str, extents))
        raise BadInputError(
            Code.TOO_LARGE,
            f"one plane of {size} pixels with {colours} values of {voxel_bytes} bytes takes {n_bytes} bytes; at most "
            f"{MAX_PLANE_BYTES} are taken: cut it into tiles, make it smaller, or store it as a volume of smaller planes",
            file=name,
        )


def checked(image: RawImage, name: str) -> RawImage:
    """The same image; raises as `check_plane`."""
    coloured = image.fourth_axis == "channel" and image.n_channels <= _MOST_COLOURS
    colours = image.n_channels if coloured else 1
    check_plane(image.shape, image.dtype.itemsize, colours, name)
    return image
