"""The overlay picture of a subject: the axial slice with most labelled pixels, labels drawn over the image."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from PIL import Image

from assets.annotations.planes import LabelMap
from assets.measure import Plane
from resources.ome_zarr import open_volume

LONGEST_SIDE_PX = 256
"""Pictures live in Dagster's event log too, so they are small."""

MOST_PIXELS = 1 << 24
"""Of larger slices every second pixel along both sides is shown, or every third, and so on."""

_COLOURS = np.array(
    [(230, 75, 53), (77, 187, 213), (0, 160, 135), (243, 155, 127), (132, 145, 180), (145, 209, 194), (220, 160, 0)],
    np.float64,
)
_OPACITY = 0.45


def overlay_png(products: Path, volumes: pl.DataFrame, label_maps: Sequence[LabelMap]) -> bytes:
    """Draw the first image of a subject with its labels.

    Of a volume the axial slice, or what plane it has, in radiological view: the patient's right (or front) on the left, front
    (or head) up. A picture is drawn as it is.

    Args:
        products: Folder that the paths of `volumes` are relative to.
        volumes: The subject's `volumes` rows.
        label_maps: Its label maps.

    Returns:
        A PNG; grey where nothing is labelled. Empty when the subject has no image.
    """
    images = volumes.filter(kind="image")
    if images.is_empty():
        return b""
    labels = label_maps[0] if label_maps else None
    row = images.filter(series=labels.series).row(0, named=True) if labels else images.row(0, named=True)
    plane = _drawn_plane(row["shape_ijk"])
    index = _busiest_slice(labels, plane) if labels else row["shape_ijk"][plane.axis] // 2
    volume = open_volume(products / row["path"])
    step = _step(row["shape_ijk"], plane)
    if row["third_axis"] == "colour":
        shown = _windowed(volume.voxels(step)[:, :, [0, 1 % volume.shape_ijk[2], 2 % volume.shape_ijk[2]]])
    else:
        shown = _windowed(volume.slice(plane.axis, index, step))[:, :, None]
    coloured = np.broadcast_to(np.rint(shown).astype(np.uint8), (*shown.shape[:2], 3)).copy()
    if labels is not None:
        _paint(coloured, shown, labels, plane, index, step)
    view = coloured.transpose(1, 0, 2)
    across_mm, down_mm = (row["spacing_mm"][axis] or 1.0 for axis in plane.in_plane)
    return _png(np.flip(view, (0, 1)) if row["space"] == "patient" else view, across_mm, down_mm)


def _drawn_plane(shape_ijk: Sequence[int]) -> Plane:
    """The axial plane, or that of an image of one slice."""
    return next((p for p in (Plane.AXIAL, Plane.CORONAL) if min(shape_ijk[a] for a in p.in_plane) > 1), Plane.SAGITTAL)


def _step(shape_ijk: Sequence[int], plane: Plane) -> int:
    """Stored pixels to one that is shown, along both sides."""
    return math.isqrt((math.prod(shape_ijk[axis] for axis in plane.in_plane) - 1) // MOST_PIXELS) + 1


def _busiest_slice(labels: LabelMap, plane: Plane) -> int:
    if not labels.crop.size:
        return labels.shape_ijk[plane.axis] // 2
    if (found := labels.components.get(plane)) is None:
        return labels.offset_ijk[plane.axis] + int(np.argmax((labels.crop > 0).sum(plane.in_plane)))
    # The annotations need the components anyway; counting the voxels again would cost ten times as much.
    return int(np.argmax(np.bincount(found.slice_index, found.pixel_count)))


def _windowed(pixels: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Grey values from the 1st to the 99th percentile of the slice."""
    finite = np.nan_to_num(pixels.astype(np.float64)) if pixels.dtype.kind == "f" else pixels
    low, high = np.percentile(finite, (1, 99))
    return np.asarray(np.clip((finite - low) / max(high - low, 1e-9), 0, 1) * 255)


def _paint(
    coloured: npt.NDArray[np.uint8], shown: npt.NDArray[np.float64], labels: LabelMap, plane: Plane, index: int, step: int
) -> None:
    """Colour the labelled pixels of a picture `[., ., 3]` that shows the grey or coloured values `[., ., 1 or 3]`."""
    inside = index - labels.offset_ijk[plane.axis]
    if not 0 <= inside < labels.crop.shape[plane.axis]:
        return
    offsets = [labels.offset_ijk[axis] for axis in plane.in_plane]
    drawn = plane.slices(labels.crop)[inside][tuple(slice(-offset % step, None, step) for offset in offsets)]
    starts = [-(-offset // step) for offset in offsets]
    place = tuple(slice(start, start + extent) for start, extent in zip(starts, drawn.shape, strict=True))
    marked = drawn > 0
    colour = _COLOURS[(drawn[marked].astype(int) - 1) % len(_COLOURS)]
    coloured[place][marked] = np.rint((1 - _OPACITY) * shown[place][marked] + _OPACITY * colour)


def _png(view: npt.NDArray[np.uint8], across_mm: float, down_mm: float) -> bytes:
    height, width = view.shape[0] * down_mm, view.shape[1] * across_mm
    scale = LONGEST_SIDE_PX / max(height, width)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    picture = Image.fromarray(np.ascontiguousarray(view)).resize(size, Image.Resampling.BILINEAR)
    buffer = io.BytesIO()
    picture.quantize(128, Image.Quantize.FASTOCTREE).save(buffer, "PNG")
    return buffer.getvalue()
