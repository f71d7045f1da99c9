"""What the `zarr.json` of a volume says: OME-Zarr 0.5 with RFC-4 anatomical orientation, and our own attributes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

ARRAY = "0"
DOCUMENT = "zarr.json"
CHECKSUM = "metadata_sha256"
ORIENTATION = {"z": "inferior-to-superior", "y": "posterior-to-anterior", "x": "left-to-right"}
"""The stored axes, in order, and the direction in which their index grows."""


def multiscale(name: str, spacing_mm: Sequence[float], origin_mm: Sequence[float]) -> dict[str, Any]:
    """The `ome` attributes of a volume of one resolution; spacing along i, j, k and position x, y, z of the first voxel."""
    axes = [
        {"name": n, "type": "space", "unit": "millimeter", "orientation": {"type": "anatomical", "value": value}}
        for n, value in ORIENTATION.items()
    ]
    steps = [
        {"type": "scale", "scale": [float(v) for v in spacing_mm[::-1]]},
        {"type": "translation", "translation": [float(v) for v in origin_mm[::-1]]},
    ]
    scales = [{"name": name, "axes": axes, "datasets": [{"path": ARRAY, "coordinateTransformations": steps}]}]
    return {"multiscales": scales}


def group_document(ome: Mapping[str, Any], attributes: Mapping[str, Any] | None) -> dict[str, Any]:
    """The `zarr.json` of a group; None where it has no attributes of ours."""
    content: dict[str, Any] = {"ome": {"version": "0.5", **ome}} if ome else {}
    if attributes is not None:
        content["medfoundry"] = dict(attributes)
    return {"zarr_format": 3, "node_type": "group", "attributes": content}


def metadata_checksum(group: Mapping[str, Any], array: Mapping[str, Any]) -> str:
    """SHA-256 of what a volume's two `zarr.json` say, its own checksum left out."""
    return sha256(json.dumps([group, array], sort_keys=True, separators=(",", ":")).encode()).hexdigest()
