"""Landmarks as a label map in which each value stands in two voxels, the two ends of a length.

The map may lie in a space of its own, with a transform to that of the series. The ends are told apart, and their distance is
taken, in the space of the map: there its authors set them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from assets.annotations.landmarks.grid import SeriesGrid
from assets.annotations.landmarks.points import Points, no_points
from assets.measure.labels import NO_OFFENDERS, Offenders, compact_labels
from assets.spec_layout import LandmarkPair
from resources.findings import BadInputError, Code, Finding, Severity, finding
from resources.geometry import GRID_TOLERANCE_VOXELS, FloatArray, closest_ras, grid_distance_voxels
from resources.readers.image import RawImage

_SLAB_PLANES = 32
_MOST_VOXELS = 1000
"""A map of point pairs has a few dozen labelled voxels; one with more is another kind of label map."""

_DIRECTIONS = {"R": (0, 1), "L": (0, -1), "A": (1, 1), "P": (1, -1), "S": (2, 1), "I": (2, -1)}
"""Letter -> the world axis it lies along, and whether coordinates grow that way."""

Voxels = Mapping[int, FloatArray]


@dataclass(frozen=True)
class PairMap:
    """What a label map of point pairs holds.

    Attributes:
        voxels: Value -> (n, 3) stored indices of its voxels, in the order of reading.
        affine_ras_mm: (4, 4) of the stored voxels.
        shape: Extents along the stored axes.
    """

    voxels: Voxels
    affine_ras_mm: FloatArray
    shape: tuple[int, int, int]


def read_pair_map(image: RawImage, file: str, pairs: Mapping[int, LandmarkPair]) -> PairMap:
    """Read the map to its end.

    Raises:
        BadInputError: The file is not whole; it has no place in the patient; its values are not whole numbers, or not those of
            the pairs; it holds so many labelled voxels that it cannot be a map of points.
    """
    if image.space != "patient" or not all(image.spacing_known):
        raise BadInputError(Code.ORIENTATION_UNKNOWN, "the map of landmarks does not say where its voxels lie", file=file)
    if image.n_channels != 1:
        detail = f"the map of landmarks has {image.n_channels} channels along its fourth axis; one is expected"
        raise BadInputError(Code.UNEXPECTED_DIMENSIONS, detail, file=file)
    found: defaultdict[int, list[FloatArray]] = defaultdict(list)
    extent, n_voxels, offenders = image.shape[image.slab_axis], 0, NO_OFFENDERS
    for slab in image.slabs([(start, min(start + _SLAB_PLANES, extent)) for start in range(0, extent, _SLAB_PLANES)]):
        labels, offenders = compact_labels(slab.voxels, offenders)
        places = np.argwhere(labels)
        n_voxels += len(places)
        for place in places if n_voxels <= _MOST_VOXELS else ():
            value = int(labels[tuple(place)])
            place[image.slab_axis] += slab.start
            found[value].append(place.astype(np.float64))
    _refuse_values(offenders, file)
    if n_voxels > _MOST_VOXELS:
        detail = f"{n_voxels} voxels are labelled; a map of landmarks has two for each of {len(pairs)} values"
        raise BadInputError(Code.BAD_LANDMARKS, detail, file=file)
    _refuse_unknown({value: len(voxels) for value, voxels in found.items()}, pairs, file)
    return PairMap({value: np.array(voxels) for value, voxels in found.items()}, image.affine_ras_mm, image.shape)


def _refuse_values(offenders: Offenders, file: str) -> None:
    if offenders:
        shown = ", ".join(f"{value:g} ({count} voxels)" for value, count in offenders.examples)
        code = Code.NOT_WHOLE_LABELS if offenders.n_not_whole else Code.UNKNOWN_LABEL
        raise BadInputError(code, f"a map of landmarks holds whole numbers from 0 to 65535, not {shown}", file=file)


def _refuse_unknown(counts: Mapping[int, int], pairs: Mapping[int, LandmarkPair], file: str) -> None:
    unknown = {value: count for value, count in sorted(counts.items()) if value not in pairs}
    if unknown:
        shown = ", ".join(f"{value} ({count} voxels)" for value, count in list(unknown.items())[:5])
        detail = f"unexpected values {shown}; the spec's pairs are {', '.join(map(str, pairs))}"
        raise BadInputError(Code.UNKNOWN_LABEL, detail, file=file)


def points_of_pair_map(
    pair_map: PairMap, file: str, pairs: Mapping[int, LandmarkPair], grid: SeriesGrid, to_series: FloatArray | None
) -> tuple[Points, list[Finding]]:
    """The landmarks of a map, and what is wrong with the pairs that are left out.

    Args:
        pair_map: What the map holds.
        file: What findings call it.
        pairs: Value -> the two landmarks.
        grid: The series.
        to_series: (4, 4) from the space of the map to that of the series, RAS+ mm; None where they are the same.
    """
    findings = list(_grid_findings(pair_map, file, grid)) if to_series is not None else []
    names: list[str] = []
    together: list[int] = []
    places: list[FloatArray] = []
    where: list[str] = []
    for value, pair in pairs.items():
        voxels = pair_map.voxels.get(value, np.empty((0, 3)))
        ras = voxels @ pair_map.affine_ras_mm[:3, :3].T + pair_map.affine_ras_mm[:3, 3]
        if (problem := _problem(value, pair, ras)) is not None:
            findings.append(finding(problem[0], problem[1], file=file, severity=Severity.WARNING))
            continue
        axis, sign = _DIRECTIONS[pair.along]
        order = np.argsort(-sign * ras[:, axis])
        names += pair.points
        together += [value, value]
        places += list(ras[order])
        where += [f"voxel ({', '.join(f'{c:g}' for c in voxel)}) of value {value}" for voxel in voxels[order]]
    if not names:
        return no_points(), findings
    source = np.array(places)
    ras = source if to_series is None else source @ to_series[:3, :3].T + to_series[:3, 3]
    return Points(tuple(names), source, grid.ijk_of_ras(ras), ras, tuple(together), tuple(where)), findings


def _problem(value: int, pair: LandmarkPair, ras: FloatArray) -> tuple[Code, str] | None:
    """Why a pair cannot be used."""
    first, second = pair.points
    if len(ras) == 0:
        return Code.MISSING_LANDMARKS, f"value {value} ({first}, {second}) is not in the map"
    if len(ras) != 2:
        detail = f"value {value} ({first}, {second}) stands in {len(ras)} voxels, not in two; the pair is left out"
        return Code.BAD_LANDMARKS, detail
    axis, _ = _DIRECTIONS[pair.along]
    if abs(ras[0, axis] - ras[1, axis]) < 1e-6:
        detail = (
            f"the two voxels of value {value} are equally far to {pair.along}, so that {first} and {second} cannot be told "
            "apart; the pair is left out"
        )
        return Code.BAD_LANDMARKS, detail
    return None


def _grid_findings(pair_map: PairMap, file: str, grid: SeriesGrid) -> Iterator[Finding]:
    """A map that has a transform lies on the grid of the series, resampled through it, unless its header went wrong."""
    reorientation = closest_ras(pair_map.affine_ras_mm)
    shape = reorientation.shape(pair_map.shape)
    if shape == grid.shape_ijk:
        affine = reorientation.affine(pair_map.affine_ras_mm, pair_map.shape)
        apart = grid_distance_voxels(grid.affine_ras_mm, affine, shape)
        if apart <= GRID_TOLERANCE_VOXELS:
            return
        met = f"its corners lie up to {apart:.4g} voxels from those of {grid.series}"
    else:
        met = f"its shape is {shape} (RAS+), that of {grid.series} {grid.shape_ijk}"
    detail = f"the map is not on the grid of the series it was set on ({met}): check its header; taken as it is"
    yield finding(Code.GRID_MISMATCH, detail, file=file, severity=Severity.WARNING)
