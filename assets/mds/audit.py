"""Reads records back as anybody would, and says of each what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from assets.benchmark.mdsbench.files import PICTURE_ERRORS, open_picture
from assets.benchmark.mdsbench.schema import record_violations
from assets.mds.table import RECORDS_TABLE
from assets.tables import frame

Json = dict[str, Any]

_MASK_LISTS = ("coco_2d", "mask_3d", "video_coco")
_BOX_LISTS = ("boxes2d", "boxes3d", "frame_boxes2d")


def audit(folder: Path) -> pl.DataFrame:
    """The table of the records in a folder, in order of their index."""
    files = sorted((folder / "standardized_annotations").glob("*.json"), key=lambda path: int(path.stem))
    return frame(RECORDS_TABLE, [_row(folder, path) for path in files])


def _row(folder: Path, path: Path) -> dict[str, Any]:
    record = json.loads(path.read_bytes())
    violations = record_violations(record)
    image = record["record"]["image_path"]
    pixels, problem = _picture(folder / image)
    height, width = pixels.shape[:2]
    if not problem:
        problem = _size_problem(record, width, height)
    masks = list(_masks(record["tasks"]["segmentation"]))
    boxes = list(_boxes(record["tasks"]["detection"]))
    return {
        "index": int(path.stem),
        "image": image,
        "violations": "; ".join(violations),
        "picture_problem": problem,
        "width": width,
        "height": height,
        "n_colours": _colours(pixels),
        "n_masks": len(masks),
        "bad_masks": "; ".join(_mask_problems(masks, width, height)),
        "n_boxes": len(boxes),
        "bad_boxes": "; ".join(_box_problems(boxes, width, height)),
    }


def _picture(path: Path) -> tuple[npt.NDArray[np.uint8], str]:
    """(height, width, 3) of a picture that opens, or nothing and what was met."""
    nothing = np.zeros((0, 0, 3), np.uint8)
    try:
        with open_picture(path) as picture:
            if picture.mode != "RGB":
                return nothing, f"the picture is {picture.mode}, not RGB"
            return np.asarray(picture, np.uint8), ""
    except PICTURE_ERRORS as error:
        return nothing, f"the picture does not open: {error}"


def _colours(pixels: npt.NDArray[np.uint8]) -> int:
    """How many different colours there are; sorting millions of pixels would take seconds."""
    met = np.zeros(1 << 24, np.bool_)
    met[pixels.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)] = True
    return int(np.count_nonzero(met))


def _size_problem(record: Json, width: int, height: int) -> str:
    stated = next((block["picture"]["size_px"] for block in record["media_geometry"]["spatial"].values() if block), None)
    return "" if stated == [width, height] else f"the record states {stated}, the picture is {width} x {height}"


def _masks(branch: Json) -> Iterator[Json]:
    for key in _MASK_LISTS:
        yield from (branch.get(key) or {}).get("annotations", ())


def _boxes(branch: Json) -> Iterator[list[float]]:
    for key in _BOX_LISTS:
        yield from (box["bbox_xyxy_px"] for box in branch.get(key) or () if "bbox_xyxy_px" in box)


def _mask_problems(masks: list[Json], width: int, height: int) -> Iterator[str]:
    for mask in masks:
        who = f"mask of label {mask.get('label_id')}"
        runs = mask["segmentation"]
        if runs["size"] != [height, width] or min(runs["counts"]) < 0 or sum(runs["counts"]) != width * height:
            yield f"{who}: its runs are of {runs['size']}, the picture has {height} rows of {width}"
            continue
        flat = np.repeat(np.arange(len(runs["counts"])) % 2 == 1, runs["counts"])
        if (problem := _extent_problem(mask, flat.reshape(width, height).T)) is not None:
            yield f"{who}: {problem}"


def _extent_problem(mask: Mapping[str, Any], pixels: npt.NDArray[np.bool_]) -> str | None:
    rows, columns = np.nonzero(pixels)
    if not rows.size:
        return "it is empty"
    left, top = int(columns.min()), int(rows.min())
    box = [left, top, int(columns.max()) - left + 1, int(rows.max()) - top + 1]
    if (mask["bbox_xywh"], mask["area_px"]) != (box, rows.size):
        return f"box {mask['bbox_xywh']} and area {mask['area_px']} are stated, its pixels have {box} and {rows.size}"
    return None


def _box_problems(boxes: list[list[float]], width: int, height: int) -> Iterator[str]:
    for box in boxes:
        left, top, right, bottom = box
        if not (0 <= left < right <= width and 0 <= top < bottom <= height):
            yield f"box {box} does not lie in {width} x {height} pixels"
