"""What the `zarr.json` of a volume says: OME-Zarr 0.5 with RFC-4 anatomical orientation, and our own attributes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

ARRAY = "0"
DOCUMENT = "zarr.json"
CHECKSUM = "metadata_sha256"
ORIENTATION = {"z": "inferior-to-superior", "y": "posterior-to-anterior", "x": "left-to-right"}
"""The stored axes, in order, and the direction in which their index grows."""

_TYPES = {"t": "time", "c": "channel"}


@dataclass(frozen=True, slots=True)
class StoredAxes:
    """What the three stored axes are, beyond their order.

    Attributes:
        space: `patient` where the affine places the voxels in a patient, `picture` where it does not.
        third: Name of the first stored axis: `z`, `t` for a film, `c` for a picture in colour.
        spacing_known: For i, j and k, whether the spacing is a length the source states.
    """

    space: str = "patient"
    third: str = "z"
    spacing_known: tuple[bool, bool, bool] = (True, True, True)

    @property
    def names(self) -> tuple[str, str, str]:
        """The stored axes, in order."""
        return self.third, "y", "x"

    def described(self) -> list[dict[str, Any]]:
        """The axes as OME-Zarr has them; no unit where the spacing is not known, no orientation outside of a patient."""
        axes: list[dict[str, Any]] = []
        for name, known in zip(self.names, self.spacing_known[::-1], strict=True):
            axis: dict[str, Any] = {"name": name, "type": _TYPES.get(name, "space")}
            if known:
                axis["unit"] = "millimeter"
            if self.space == "patient":
                axis["orientation"] = {"type": "anatomical", "value": ORIENTATION[name]}
            axes.append(axis)
        return axes


PATIENT = StoredAxes()
"""A volume in a patient, all spacings known."""


def multiscale(name: str, spacing_mm: Sequence[float], origin_mm: Sequence[float], axes: StoredAxes = PATIENT) -> dict[str, Any]:
    """The `ome` attributes of a volume of one resolution; spacing along i, j, k and position x, y, z of the first voxel."""
    steps = [
        {"type": "scale", "scale": [float(v) for v in spacing_mm[::-1]]},
        {"type": "translation", "translation": [float(v) for v in origin_mm[::-1]]},
    ]
    datasets = [{"path": ARRAY, "coordinateTransformations": steps}]
    return {"multiscales": [{"name": name, "axes": axes.described(), "datasets": datasets}]}


def group_document(ome: Mapping[str, Any], attributes: Mapping[str, Any] | None) -> dict[str, Any]:
    """The `zarr.json` of a group; None where it has no attributes of ours."""
    content: dict[str, Any] = {"ome": {"version": "0.5", **ome}} if ome else {}
    if attributes is not None:
        content["medfoundry"] = dict(attributes)
    return {"zarr_format": 3, "node_type": "group", "attributes": content}


def metadata_checksum(group: Mapping[str, Any], array: Mapping[str, Any]) -> str:
    """SHA-256 of what a volume's two `zarr.json` say, its own checksum left out."""
    return sha256(json.dumps([group, array], sort_keys=True, separators=(",", ":")).encode()).hexdigest()
