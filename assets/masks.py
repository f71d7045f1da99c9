"""One binary mask per structure, put together to a label map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from assets.label_maps import RasLabels
from assets.spec import DatasetSpec
from resources.findings import BadInputError, Code, Finding, Severity, finding

Overlap = Literal["error", "lower id wins", "higher id wins"]


def as_mask(labels: RasLabels, label_id: int, file: str) -> RasLabels:
    """A binary mask as a map of one label id; any one value stands for inside.

    Raises:
        BadInputError: The mask holds more than one value beside 0.
    """
    if len(labels.counts) > 1:
        shown = ", ".join(f"{value} ({count} voxels)" for value, count in list(labels.counts.items())[:5])
        raise BadInputError(Code.UNKNOWN_LABEL, f"a mask holds 0 and one other value, not {shown}", file=file)
    dtype = np.uint8 if label_id < 256 else np.uint16
    crop = np.where(labels.crop > 0, dtype(label_id), dtype(0))
    return RasLabels(crop, labels.offset_ijk, labels.shape_ijk, {label_id: sum(labels.counts.values())})


def merged(spec: DatasetSpec, masks: Sequence[RasLabels], overlap: Overlap, file: str) -> tuple[RasLabels, list[Finding]]:
    """Lay the masks of one grid over one another.

    Args:
        spec: Names the labels.
        masks: Maps of one label id each, as `as_mask` makes them, all of one shape.
        overlap: What holds where they meet.
        file: What a finding about them names.

    Returns:
        The label map, and a finding that counts the voxels of more than one mask.

    Raises:
        BadInputError: Masks meet, and the spec says that they must not.
    """
    shape = masks[0].shape_ijk
    filled = [m for m in masks if m.crop.size]
    if not filled:
        return RasLabels(np.zeros((0, 0, 0), np.uint8), (0, 0, 0), shape, {}), []
    low = np.min([m.offset_ijk for m in filled], axis=0)
    high = np.max([np.add(m.offset_ijk, m.crop.shape) for m in filled], axis=0)
    whole = np.zeros(high - low, np.uint8 if max(spec.labels) < 256 else np.uint16)
    n_shared = 0
    ordered = sorted(filled, key=lambda m: next(iter(m.counts)), reverse=overlap == "higher id wins")
    for mask in ordered:
        start = np.subtract(mask.offset_ijk, low)
        part = whole[tuple(slice(a, a + n) for a, n in zip(start, mask.crop.shape, strict=True))]
        inside, free = mask.crop > 0, part == 0
        n_shared += int((inside & ~free).sum())
        part[inside & free] = mask.crop[inside & free]
    findings = []
    if n_shared:
        detail = f"{n_shared} voxels belong to more than one mask; {overlap}"
        if overlap == "error":
            raise BadInputError(Code.OVERLAPPING_MASKS, f"{n_shared} voxels belong to more than one mask", file=file)
        findings.append(finding(Code.OVERLAPPING_MASKS, detail, file=file, severity=Severity.INFO))
    ids, counts = np.unique(whole[whole > 0], return_counts=True)
    offset = (int(low[0]), int(low[1]), int(low[2]))
    return RasLabels(whole, offset, shape, dict(zip(ids.tolist(), counts.tolist(), strict=True))), findings
