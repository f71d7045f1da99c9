"""Strict score: do the masks cover what those of the reference cover.

The benchmark leaves open what `coco_2d` and `mask_3d` hold. We read `mask_path` (a label image, PNG or NIfTI, beside the
records), COCO `annotations` (run lengths or polygons), and, where there is neither, `voxel_counts`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import nibabel as nib
import numpy as np
import numpy.typing as npt
from nibabel.filebasedimages import ImageFileError
from nibabel.spatialimages import HeaderDataError
from PIL import Image, ImageDraw

from assets.benchmark.mdsbench.files import PICTURE_ERRORS, Folder, open_picture
from assets.benchmark.mdsbench.scored import mean
from assets.benchmark.mdsbench.values import JsonObject, as_int, objects, shown

Mask = npt.NDArray[np.bool_]
Labels = npt.NDArray[np.integer[Any]]

MAX_VOXELS = 2**27
"""Masks with more are not decoded."""

MAX_DECODED_PIXELS = 2**30
"""So much is decoded of one record's run lengths and polygons together."""

MAX_CATEGORIES = 1024

_BACKGROUND = 0
_NIFTI_ERRORS = (*PICTURE_ERRORS, zlib.error, ImageFileError, HeaderDataError)


class UnusableMaskError(Exception):
    """A mask that cannot be compared; the message says why."""


@dataclass(frozen=True)
class MaskSet:
    """Masks by category.

    Attributes:
        shape: Of each of them.
        categories: Ids, without the background.
        mask: Gives the mask of an id; all false for an id it has not.
    """

    shape: tuple[int, ...]
    categories: frozenset[int]
    mask: Callable[[int], Mask]


Sizes = Mapping[int, float]


def mask_agreement(reference: Sizes | MaskSet, met: Sizes | MaskSet | None) -> tuple[float, str]:
    """Mean over categories of the intersection over union (of the ratio of sizes, where only sizes are stated)."""
    if isinstance(reference, MaskSet):
        return _overlap(reference, met) if isinstance(met, MaskSet) else (0.0, "the reference has masks, the record has none")
    if met is None or isinstance(met, MaskSet):
        return 0.0, "the reference states voxel_counts, the record does not"
    ratios = {key: _ratio(reference.get(key, 0), met.get(key, 0)) for key in sorted(reference.keys() | met.keys())}
    return (mean(ratios.values()) if ratios else 1.0), f"ratio of sizes by category: {_rounded(ratios)}"


def _ratio(first: float, second: float) -> float:
    larger = max(first, second)
    return min(first, second) / larger if larger > 0 else 1.0


def _rounded(values: Mapping[int, float]) -> str:
    return shown({key: round(value, 4) for key, value in values.items()}, 160)


def _overlap(reference: MaskSet, met: MaskSet) -> tuple[float, str]:
    if reference.shape != met.shape:
        return 0.0, f"the mask has shape {met.shape}, the reference {reference.shape}"
    ious = {}
    for category in sorted(reference.categories | met.categories):
        first, second = reference.mask(category), met.mask(category)
        union = np.count_nonzero(first | second)
        ious[category] = np.count_nonzero(first & second) / union if union else 1.0
    return (mean(ious.values()) if ious else 1.0), f"intersection over union by category: {_rounded(ious)}"


def read_masks(branch: JsonObject, folder: Folder, size: tuple[int, int] | None) -> Sizes | MaskSet | None:
    """The masks of a `tasks.segmentation` branch.

    Args:
        branch: The branch.
        folder: Where `mask_path` is looked for.
        size: Width and height of the record's picture, on which polygons are drawn.

    Returns:
        Masks, or stated sizes by category, or None when the branch holds neither.

    Raises:
        UnusableMaskError: It holds one that cannot be read.
    """
    for block in (objects(branch.get("coco_2d")), objects(branch.get("mask_3d"))):
        path, annotations, counts = block.get("mask_path"), block.get("annotations"), block.get("voxel_counts")
        if isinstance(path, str) and path:
            return _from_labels(_read_labels(path, folder))
        if isinstance(annotations, list):
            return _from_annotations(annotations, size)
        if isinstance(counts, dict) and counts:
            return _stated_sizes(counts)
    return None


def _stated_sizes(counts: JsonObject) -> dict[int, float]:
    sizes = {}
    for key, value in counts.items():
        category, number = as_int(key), as_int(value)
        if category is None or number is None or number < 0:
            raise UnusableMaskError(f"voxel_counts has {shown(key)}: {shown(value)}")
        if category != _BACKGROUND:
            sizes[category] = float(min(number, 2**63))
    return sizes


def _read_labels(name: str, folder: Folder) -> Labels:
    if len(name) > 1024 or "\0" in name or name.startswith("/") or ".." in name.split("/"):
        raise UnusableMaskError(f"mask_path {shown(name)} is not a path inside the folder of records")
    path, problem = folder.locate(*name.split("/"))
    if path is None:
        raise UnusableMaskError(problem or f"mask_path {shown(name)} names no file")
    try:
        if name.endswith((".nii", ".nii.gz")):
            return _whole(_nifti(str(path)))
        with open_picture(path) as picture:
            if picture.size[0] * picture.size[1] > MAX_VOXELS:
                raise UnusableMaskError(f"{name} has {picture.size} pixels, too many to compare")
            if picture.mode not in {"1", "L", "P", "I", "I;16"}:
                raise UnusableMaskError(f"{shown(name)} has mode {picture.mode}; a label image has one channel of whole numbers")
            return np.atleast_2d(np.asarray(picture)).astype(np.int32)
    except _NIFTI_ERRORS as error:
        raise UnusableMaskError(f"{shown(name)} does not open: {shown(str(error))}") from error


def _nifti(path: str) -> npt.NDArray[Any]:
    image = nib.load(path)
    if np.prod(image.shape, dtype=np.float64) > MAX_VOXELS:
        raise UnusableMaskError(f"the mask has shape {image.shape}, too many voxels to compare")
    return np.asanyarray(image.dataobj)


def _whole(values: npt.NDArray[Any]) -> Labels:
    if values.dtype.kind in "iu":
        return values
    if values.dtype.kind != "f":
        raise UnusableMaskError(f"the mask holds {values.dtype}, not numbers")
    if not np.isfinite(values).all() or np.abs(values).max(initial=0) >= 2**31 or (values != np.rint(values)).any():
        raise UnusableMaskError("the mask holds values that are no whole numbers")
    return values.astype(np.int32)


def _from_labels(labels: Labels) -> MaskSet:
    categories: set[int] = set()
    for plane in labels:
        categories.update(np.unique(plane).tolist())
        if len(categories) > MAX_CATEGORIES:
            raise UnusableMaskError(f"more than {MAX_CATEGORIES} different labels: this is no label image")
    return MaskSet(labels.shape, frozenset(categories) - {_BACKGROUND}, lambda category: labels == category)


def _from_annotations(annotations: list[Any], size: tuple[int, int] | None) -> MaskSet:
    shape = _canvas(annotations, size)
    if len(annotations) * shape[0] * shape[1] > MAX_DECODED_PIXELS:
        raise UnusableMaskError(f"{len(annotations)} annotations of {shape[0]} x {shape[1]} pixels are too many to decode")
    masks: dict[int, Mask] = {}
    for entry in annotations:
        category = objects(entry).get("category_id")
        if not isinstance(category, int):
            raise UnusableMaskError(f"an annotation has category_id {shown(category)}")
        mask = _one_mask(objects(entry).get("segmentation"), shape)
        masks[category] = masks[category] | mask if category in masks else mask
    if len(masks) > MAX_CATEGORIES:
        raise UnusableMaskError(f"{len(masks)} categories are more than {MAX_CATEGORIES}")
    return MaskSet(shape, frozenset(masks), lambda category: masks.get(category, np.zeros(shape, dtype=np.bool_)))


def _canvas(annotations: list[Any], size: tuple[int, int] | None) -> tuple[int, int]:
    """Height and width: what the run lengths say, else the picture's."""
    for entry in annotations:
        stated = objects(objects(entry).get("segmentation")).get("size")
        if isinstance(stated, list) and len(stated) == 2 and all(isinstance(n, int) and 0 < n <= MAX_VOXELS for n in stated):
            return (stated[0], stated[1])
    if size is None:
        raise UnusableMaskError("neither run lengths nor a picture say how large the mask is")
    return (size[1], size[0])


def _one_mask(segmentation: object, shape: tuple[int, int]) -> Mask:
    if isinstance(segmentation, dict):
        return _from_runs(segmentation, shape)
    if isinstance(segmentation, list):
        return _from_polygons(segmentation, shape)
    raise UnusableMaskError(f"an annotation has segmentation {shown(segmentation)}: neither run lengths nor polygons")


def _from_runs(segmentation: JsonObject, shape: tuple[int, int]) -> Mask:
    """COCO run lengths: column by column, beginning with a run of zeros."""
    counts = segmentation.get("counts")
    runs = _inflate(counts) if isinstance(counts, str) else counts
    if segmentation.get("size") != list(shape) or not isinstance(runs, list):
        raise UnusableMaskError(f"run lengths of size {shown(segmentation.get('size'))} on a mask of {list(shape)}")
    if not all(isinstance(run, int) and 0 <= run <= MAX_VOXELS for run in runs) or sum(runs) != shape[0] * shape[1]:
        raise UnusableMaskError(f"run lengths do not add up to {shape[0]} x {shape[1]} pixels")
    flat = np.repeat(np.arange(len(runs)) % 2 == 1, runs)
    return flat.reshape(shape[1], shape[0]).T


def _inflate(packed: str) -> list[int]:
    """COCO's compressed counts: groups of five bits from `0` upwards, signed, each a difference to the one before last."""
    runs: list[int] = []
    value, shift = 0, 0
    for sign in packed:
        bits = ord(sign) - 48
        if not 0 <= bits < 64 or shift > 60:
            raise UnusableMaskError(f"compressed run lengths hold {shown(sign)}")
        value |= (bits & 31) << shift
        shift += 5
        if bits & 32:
            continue
        if bits & 16:
            value -= 1 << shift
        runs.append(value + (runs[-2] if len(runs) > 2 else 0))
        value, shift = 0, 0
    return runs


def _from_polygons(polygons: list[Any], shape: tuple[int, int]) -> Mask:
    canvas = Image.new("1", (shape[1], shape[0]))
    draw = ImageDraw.Draw(canvas)
    for polygon in polygons:
        if not isinstance(polygon, list) or len(polygon) < 6 or len(polygon) % 2 or not all(_is_coordinate(x) for x in polygon):
            raise UnusableMaskError(f"a polygon is {shown(polygon)}: expected x, y, x, y, x, y or more in pixels")
        draw.polygon([float(x) for x in polygon], fill=1)
    return np.asarray(canvas, dtype=np.bool_)


def _is_coordinate(value: object) -> bool:
    return isinstance(value, int | float) and -1e6 <= value <= 1e6
