"""The repairs a spec may declare: each says in a finding what it changed in which file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from assets.opened import Opened
from assets.spec import DatasetSpec, Repair
from resources.findings import Code, finding
from resources.geometry import GRID_TOLERANCE_VOXELS, grid_distance_voxels
from resources.readers.image import RawImage, Slab

WHOLE = 1e-6
"""Values this close to a whole number are that number without any repair."""

Change = Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]


def repaired(spec: DatasetSpec, labels: str, opened: Opened, series: Mapping[str, Opened]) -> Opened:
    """A label map's file with the spec's repairs applied, those that have something to do.

    Args:
        spec: The dataset.
        labels: Name of the label map.
        opened: Its file.
        series: The opened series of the scan.
    """
    for repair in spec.repairs:
        if repair.labels != labels:
            continue
        if repair.kind == "copy_header":
            opened = _copy_header(repair, opened, series)
        else:
            opened = Opened.of(opened.path, _change_values(repair, opened))
    return opened


def _copy_header(repair: Repair, opened: Opened, series: Mapping[str, Opened]) -> Opened:
    source, image = series.get(repair.series), opened.image
    if source is None or source.image.shape != image.shape:
        return opened
    apart = grid_distance_voxels(source.image.affine_ras_mm, image.affine_ras_mm, image.shape)
    same_space = source.image.space == image.space
    if same_space and apart <= GRID_TOLERANCE_VOXELS:
        return opened
    where = f", up to {apart:.4g} voxels away," if same_space else f" in {image.space} space"
    detail = f"its geometry{where} was replaced by that of {source.path}: {repair.reason}"
    said = (*image.findings, finding(Code.REPAIRED, detail, file=opened.path))
    geometry = {
        name: getattr(source.image, name)
        for name in ("affine_ras_mm", "space", "third_axis", "spacing_known", "orientation_known")
    }
    return Opened.of(opened.path, replace(image, **geometry, findings=said))


def _change_values(repair: Repair, opened: Opened) -> RawImage:
    image = opened.image
    if image.dtype.kind in "iub":
        return image
    values = _Values(repair, image, opened.path)
    return replace(image, stream=values.stream, dtype=np.dtype(np.float64))


@dataclass
class _Values:
    """Streams a label map whose values that are no whole numbers are brought to whole numbers where the repair allows it."""

    repair: Repair
    image: RawImage
    path: str
    n_changed: int = 0

    def stream(self, bounds: Sequence[tuple[int, int]]) -> Iterator[Slab]:
        for slab in self.image.stream(bounds):
            yield replace(slab, voxels=self._change(slab.voxels.astype(np.float64)))
        if self.n_changed:
            done = {
                "scale_labels": f"multiplied by {self.repair.factor:g}",
                "round_labels": f"rounded, each within {self.repair.tolerance:g} of a whole number",
            }
            detail = f"{self.n_changed} voxels that are no whole numbers were {done[self.repair.kind]}: {self.repair.reason}"
            self.image.stream_findings.append(finding(Code.REPAIRED, detail, file=self.path))

    def _change(self, values: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
        factor = self.repair.factor if self.repair.kind == "scale_labels" else 1.0
        with np.errstate(invalid="ignore"):
            broken = np.isfinite(values) & (np.abs(values - np.rint(values)) > WHOLE)
            broken |= (values != 0) & (np.abs(values) < WHOLE * 100) & (factor != 1)
        changed = values[broken] * factor
        mended = np.abs(changed - np.rint(changed)) <= self.repair.tolerance
        self.n_changed += int(mended.sum())
        values[broken] = np.where(mended, np.rint(changed), values[broken])
        return values
