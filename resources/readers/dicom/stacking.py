"""Orders the planes of a series by where they lie, proves that they fill a regular grid, and gives its affine.

Nothing else is believed: not the names of the files, not instance numbers, not slice thickness, not the nominal gantry tilt.
Planes are sorted by the projection of their positions on the normal of the image plane; k grows along the normal
(row direction x column direction), so the stored axes are always right-handed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resources.findings import BadInputError, Code, Finding, Severity, finding
from resources.geometry import FloatArray
from resources.readers.dicom.planes import Placement, Plane
from resources.readers.dicom.volumes import Volumes, split_volumes
from resources.readers.grid import MAX_SHEAR_DEG

SAME_DIRECTION = 1e-3
"""Largest difference between direction cosines of two planes of one stack; localizers differ by far more."""

SAME_PLACE = 0.05
"""Two planes are at one place when they lie closer than this fraction of a pixel (at most 0.05 mm): the positions of
repeated volumes are rounded differently."""

SILENT_UNEVENNESS = 0.01
"""Positions may leave the regular grid by this fraction of a step without a word: rounding does that. Where a step is thin,
by 0.01 mm, but never by more than five times the fraction."""

MAX_UNEVENNESS = 0.05
"""Up to this fraction of a step they are taken with a warning (0.05 mm for thin steps, at most a fifth of a step, because
some scanners round positions to 0.1 mm); beyond, the stack is refused."""

_WHOLE_STEPS = 0.1
_LPS_TO_RAS = np.diag([-1.0, -1.0, 1.0, 1.0])


@dataclass(frozen=True, slots=True)
class Stack:
    """Planes in order.

    Attributes:
        volumes: For each volume its planes, k ascending.
        axis: What the volumes are to one another.
        affine: (4, 4) column, row and slice index -> RAS+ mm.
        spacing_known: Whether the distance between slices is stated or measured; not for a single slice without either.
        findings: What was odd.
    """

    volumes: tuple[tuple[Plane, ...], ...]
    axis: Volumes
    affine: FloatArray
    spacing_known: bool
    findings: tuple[Finding, ...]


def stack(planes: Sequence[Plane], name: str) -> Stack:
    """Stack planes that all have a placement.

    Args:
        planes: In any order.
        name: How findings call the series.

    Raises:
        BadInputError: MIXED_SERIES, DUPLICATE_SLICE, MISSING_SLICE, UNEVEN_SPACING, GANTRY_TILT or BAD_AFFINE.
    """
    placements = [placement for plane in planes if (placement := plane.placement) is not None]
    _check_alike(placements, planes, name)
    first = placements[0]
    normal = np.cross(first.along_row, first.along_column)
    positions = np.array([placement.position for placement in placements])
    heights = positions @ normal
    places = _places(heights, positions, first, planes, name)
    volumes = split_volumes(
        [[planes[index] for index in place] for place in places], [float(heights[p[0]]) for p in places], name
    )
    centres = np.array([positions[place].mean(axis=0) for place in places])
    step, notes = _step(centres, normal, planes[0], [planes[p[0]].file for p in places], name)
    affine = np.eye(4)
    affine[:3, 0] = np.multiply(first.along_row, first.spacing[0])
    affine[:3, 1] = np.multiply(first.along_column, first.spacing[1])
    affine[:3, 2] = step
    affine[:3, 3] = _origin(centres, step)
    known = len(places) > 1 or bool(planes[0].between or planes[0].thickness)
    return Stack(volumes.planes, volumes, _LPS_TO_RAS @ affine + 0.0, known, tuple(notes))


def _check_alike(placements: Sequence[Placement], planes: Sequence[Plane], name: str) -> None:
    """Refuse planes of different directions or pixel sizes."""
    axes = np.array([(*placement.along_row, *placement.along_column) for placement in placements])
    turned = np.abs(axes - axes[0]).max(axis=1) > SAME_DIRECTION
    if turned.any():
        other = int(np.argmax(turned))
        count = len({tuple(row) for row in axes.round(3).tolist()})
        raise BadInputError(
            Code.MIXED_SERIES,
            f"orientations differ: {count} directions among {len(axes)} planes (a localizer, or several series in one): "
            f"{planes[0].file} has {axes[0].round(3).tolist()}, {planes[other].file} has {axes[other].round(3).tolist()}",
            file=name,
        )
    sizes = np.array([placement.spacing for placement in placements])
    unequal = np.abs(sizes / sizes[0] - 1).max(axis=1) > SAME_DIRECTION
    if unequal.any():
        other = int(np.argmax(unequal))
        raise BadInputError(
            Code.MIXED_SERIES,
            f"pixel spacings differ: {planes[0].file} has {sizes[0].tolist()} mm, {planes[other].file} {sizes[other].tolist()}",
            file=name,
        )


def _places(heights: FloatArray, positions: FloatArray, first: Placement, planes: Sequence[Plane], name: str) -> list[list[int]]:
    """Indices of the planes at each place, from the lowest to the highest along the normal."""
    limit = SAME_PLACE * min(*first.spacing, 1.0)
    order = np.argsort(heights, kind="stable")
    groups: list[list[int]] = []
    for index in order.tolist():
        if groups and heights[index] - heights[groups[-1][0]] <= limit:
            groups[-1].append(index)
        else:
            groups.append([index])
    for group in groups:
        apart = np.linalg.norm(positions[group] - positions[group[0]], axis=1)
        if (apart > limit).any():
            other = group[int(np.argmax(apart))]
            raise BadInputError(
                Code.MIXED_SERIES,
                f"{planes[group[0]].file} and {planes[other].file} lie in one plane, {apart.max():.3f} mm apart: no single stack",
                file=name,
            )
    return groups


def _step(
    centres: FloatArray, normal: FloatArray, plane: Plane, files: Sequence[str], name: str
) -> tuple[FloatArray, list[Finding]]:
    """The vector from one slice to the next, in LPS mm."""
    if len(centres) == 1:
        return normal * abs(plane.between or plane.thickness or 1.0), []
    index = np.arange(len(centres)) - (len(centres) - 1) / 2
    step = index @ centres / (index @ index)
    notes = _check_even(centres, step, normal, files, name)
    length = float(np.linalg.norm(step))
    tilt = float(np.degrees(np.arccos(min(1.0, float(step @ normal) / length))))
    if tilt > MAX_SHEAR_DEG:
        raise BadInputError(
            Code.GANTRY_TILT,
            f"the slices are tilted by {tilt:.2f} degrees against the direction in which they follow one another (gantry tilt): "
            "the voxel axes are not orthogonal; resample the series to a right-angled grid",
            file=name,
        )
    if plane.between is not None and abs(abs(plane.between) - length) > SILENT_UNEVENNESS * length:
        detail = (
            f"SpacingBetweenSlices is {abs(plane.between):g} mm, the positions lie {length:.6g} mm apart; the positions count"
        )
        notes.append(finding(Code.SPACING_IGNORED, detail, file=name))
    return step, notes


def _origin(centres: FloatArray, step: FloatArray) -> FloatArray:
    return np.asarray(centres.mean(axis=0) - step * (len(centres) - 1) / 2)


def _check_even(centres: FloatArray, step: FloatArray, normal: FloatArray, files: Sequence[str], name: str) -> list[Finding]:
    """Refuse places that do not follow one another in equal steps on one line."""
    heights = centres @ normal
    steps = np.diff(heights)
    length = float(np.median(steps))
    fitted = _origin(centres, step) + np.arange(len(centres))[:, None] * step
    off = float(max(np.abs(steps - length).max() / 2, np.linalg.norm(centres - fitted, axis=1).max()))
    if off <= max(SILENT_UNEVENNESS * length, min(0.01, 5 * SILENT_UNEVENNESS * length)):
        return []
    if off <= max(MAX_UNEVENNESS * length, min(0.05, 4 * MAX_UNEVENNESS * length)):
        detail = f"the positions of the slices leave equal steps of {length:.6g} mm by up to {off:.3g} mm; taken as equal"
        return [finding(Code.UNEVEN_SPACING, detail, file=name, severity=Severity.WARNING)]
    raise _uneven(heights, steps, files, name)


def _uneven(heights: FloatArray, steps: FloatArray, files: Sequence[str], name: str) -> BadInputError:
    smallest = float(steps.min())
    multiples = steps / smallest
    gaps = np.flatnonzero(multiples.round() > 1)
    if np.abs(multiples - multiples.round()).max() < _WHOLE_STEPS and len(gaps) > 0 and 2 * len(gaps) < max(len(steps), 3):
        missing = int(multiples.round().sum()) - len(steps)
        where = int(gaps[0])
        return BadInputError(
            Code.MISSING_SLICE,
            f"{missing} of {len(heights) + missing} slices missing: the first gap lies between {heights[where]:.6g} and "
            f"{heights[where + 1]:.6g} mm along the normal ({files[where]} and {files[where + 1]}), where the spacing is "
            f"{smallest:.6g} mm; download the series again",
            file=name,
        )
    around = np.flatnonzero(np.abs(steps - np.median(steps)) > SILENT_UNEVENNESS * np.median(steps))
    where = int(around[0]) if len(around) else 0
    return BadInputError(
        Code.UNEVEN_SPACING,
        f"uneven spacing: the slices lie {steps.min():.6g} to {steps.max():.6g} mm apart (not equal first between {files[where]} "
        f"and {files[where + 1]}) or leave a straight line; resample the series to equal steps",
        file=name,
    )
