"""What a dataset has of everything its spec gives a published number of."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from assets.annotations.boxes import sample_rule
from assets.spec import DatasetSpec

TOTAL = "total"
"""The key of a count over all planes, and of what has no planes."""

_BOX_RULES = {"boxes": pl.lit(value=True), "boxes_sample": sample_rule()}
_OF_VOLUMES = ("scans", "images", "label_maps")
KNOWN = (*_BOX_RULES, *_OF_VOLUMES)
"""The names of counts: all boxes, those under MedVision's sample rule, scans, stored images, stored label maps."""


@dataclass(frozen=True, slots=True)
class Count:
    """A published number and the present one.

    Attributes:
        name: What is counted, one of `KNOWN`.
        key: A plane, or `total`.
        expected: As published for the whole release.
        present: In the tables.
    """

    name: str
    key: str
    expected: int
    present: int


def counts(spec: DatasetSpec, volumes: pl.DataFrame, boxes: pl.DataFrame) -> list[Count]:
    """Count what the spec expects a number of.

    Args:
        spec: The dataset.
        volumes: Its `volumes`.
        boxes: Its `boxes`.

    Raises:
        ValueError: The spec counts something that is not known here.
    """
    unknown = sorted(set(spec.expect.counts) - set(KNOWN))
    if unknown:
        raise ValueError(f"{spec.slug} expects counts of {unknown}; known are {sorted(KNOWN)}")
    return [
        Count(name, key, expected, _present(name, key, volumes, boxes))
        for name, keys in spec.expect.counts.items()
        for key, expected in keys.items()
    ]


def _present(name: str, key: str, volumes: pl.DataFrame, boxes: pl.DataFrame) -> int:
    if name in _BOX_RULES:
        in_plane = pl.lit(value=True) if key == TOTAL else pl.col("plane") == key
        return boxes.filter(_BOX_RULES[name] & in_plane).height
    kind = "labels" if name == "label_maps" else "image"
    rows = volumes.filter(pl.col("kind") == kind)
    return rows.select("subject", "scan").unique().height if name == "scans" else rows.height
