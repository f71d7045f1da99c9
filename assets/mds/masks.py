"""Masks on the pixels of a picture, in COCO's form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Json = dict[str, Any]


@dataclass(frozen=True)
class MapOnPicture:
    """One label map of a target.

    Attributes:
        name: Its name.
        path: Its Zarr group, relative to the products folder.
        voxels: Label id -> voxels in the whole label map.
        ids: (height, width) label ids on the pixels of the picture.
    """

    name: str
    path: str
    voxels: Mapping[int, int]
    ids: Array


def on_picture(maps: Sequence[MapOnPicture], class_of: Mapping[int, int]) -> list[Json]:
    """One annotation per label that the picture shows, in order of the classes.

    Args:
        maps: The label maps; a label is taken from the first that has it anywhere.
        class_of: Label id -> id of its class; labels that are not there are left out.
    """
    ids = {label: label_map.ids for label, label_map in _owners(maps, class_of).items()}
    shown = (label for label in sorted(ids, key=lambda n: class_of[n]) if (ids[label] == label).any())
    return [{"category_id": class_of[label], "label_id": label, **annotation(ids[label] == label)} for label in shown]


def annotation(mask: npt.NDArray[np.bool_]) -> Json:
    """A mask that is not empty: the box around its pixels, how many there are, and its run lengths."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    left, top = int(columns[0]), int(rows[0])
    return {
        "bbox_xywh": [left, top, int(columns[-1]) - left + 1, int(rows[-1]) - top + 1],
        "area_px": int(mask.sum()),
        "segmentation": {"size": [int(n) for n in mask.shape], "counts": run_lengths(mask)},
    }


def run_lengths(mask: npt.NDArray[np.bool_]) -> list[int]:
    """COCO's uncompressed run lengths: column by column, the first run is one of zeros, of length 0 if need be."""
    flat = np.concatenate([[False], mask.T.ravel()])
    changes = np.flatnonzero(flat[1:] != flat[:-1])
    return [int(n) for n in np.diff(np.concatenate([[0], changes, [mask.size]]))]


def whole(maps: Sequence[MapOnPicture], class_of: Mapping[int, int]) -> Json:
    """Where the whole label maps lie beside the records, and how many voxels each label has."""
    owners = _owners(maps, class_of)
    return {
        "zarr": {label_map.name: f"../{label_map.path}" for label_map in maps},
        "label_values": sorted(owners),
        "category_ids": {str(label): class_of[label] for label in sorted(owners)},
        "voxel_counts": {str(label): owners[label].voxels[label] for label in sorted(owners)},
    }


def _owners(maps: Sequence[MapOnPicture], class_of: Mapping[int, int]) -> dict[int, MapOnPicture]:
    """Label id -> the label map that tells where it is."""
    found: dict[int, MapOnPicture] = {}
    for label_map in maps:
        for label in label_map.voxels:
            if label in class_of:
                found.setdefault(label, label_map)
    return found
