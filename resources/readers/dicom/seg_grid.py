"""Where the frames of a segmentation lie: on its own grid, on that of its image, or on a flat picture of tiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resources.findings import Code, Finding
from resources.geometry import FloatArray
from resources.readers.dicom.elements import Elements
from resources.readers.dicom.enhanced import Groups, frame_groups, group_plane, has_groups
from resources.readers.dicom.layout import PixelLayout
from resources.readers.dicom.planes import Placement, Plane
from resources.readers.dicom.stacking import MAX_UNEVENNESS, SAME_DIRECTION
from resources.readers.grid import grid_findings
from resources.readers.image import Space
from resources.readers.source import ReadOptions

MAX_PICTURE_BYTES = 1 << 30
"""Largest flat picture put together from tiles; it is held as a whole."""

_LPS_TO_RAS = np.diag([-1.0, -1.0, 1.0, 1.0])
_ON_VOXEL = 0.05
"""A frame may lie this fraction of a voxel beside the voxels of the grid it is placed on."""


@dataclass(frozen=True)
class Grid:
    """The grid of an image.

    Attributes:
        affine_ras_mm: (4, 4) voxel index -> RAS+ mm; columns, rows, slices as the image's reader stores them.
        shape: Voxel counts along its axes.
    """

    affine_ras_mm: FloatArray
    shape: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Spot:
    """Where one stored frame lies.

    Attributes:
        frame: Its index in the file.
        segment: The segment it shows; 0 in a label map, which shows all.
        column: Column of the canvas on which its first column lies.
        row: Row likewise.
        k: Slice of the canvas.
    """

    frame: int
    segment: int
    column: int
    row: int
    k: int


@dataclass(frozen=True)
class Canvas:
    """A grid, and the frames on it.

    Attributes:
        shape: Columns, rows, slices.
        affine: (4, 4) index -> RAS+ mm; the spacing alone for a picture.
        space: Whether it lies in a patient.
        spacing_known: For every axis, whether its spacing is a stated length.
        spots: The frames, by rising slice.
        findings: What was odd.
    """

    shape: tuple[int, int, int]
    affine: FloatArray
    space: Space
    spacing_known: tuple[bool, bool, bool]
    spots: tuple[Spot, ...]
    findings: tuple[Finding, ...] = ()


def place_segments(elements: Elements, layout: PixelLayout, labelmap: bool, options: ReadOptions, onto: Grid | None) -> Canvas:  # noqa: FBT001
    """Place all frames.

    Args:
        elements: The data set.
        layout: What a frame looks like.
        labelmap: Whether frames show all segments at once.
        options: What the dataset's spec says.
        onto: Grid to place them on; their own when not given.

    Raises:
        BadInputError: BAD_HEADER, MIXED_SERIES, UNEVEN_SPACING, DUPLICATE_SLICE, TOO_LARGE or GRID_MISMATCH.
    """
    canvas = _placed(elements, layout, labelmap, options, onto)
    spots = [(spot.segment, spot.column, spot.row, spot.k) for spot in canvas.spots]
    if len(set(spots)) < len(spots):
        raise elements.bad("several frames show one segment at one place; which of them counts is not said", Code.DUPLICATE_SLICE)
    return canvas


def _placed(elements: Elements, layout: PixelLayout, labelmap: bool, options: ReadOptions, onto: Grid | None) -> Canvas:  # noqa: FBT001
    if elements.text("DimensionOrganizationType") == "TILED_FULL" or elements.has("TotalPixelMatrixRows"):
        return _tiled(elements, layout, labelmap)
    groups = frame_groups(elements, layout.frames) if has_groups(elements) else []
    planes = [group_plane(group, frame, 0, {}) for frame, group in enumerate(groups)]
    numbers = [0 if labelmap else _segment(group) for group in groups]
    placements = [plane.placement for plane in planes if plane.placement is not None]
    if not placements:
        return _flat(elements, layout, numbers)
    if len(placements) < len(planes):
        raise elements.bad(f"{len(planes) - len(placements)} of {len(planes)} frames have no position", Code.MIXED_SERIES)
    _check_parallel(elements, placements)
    canvas = _own(elements, layout, planes, placements, numbers)
    if onto is not None:
        return _onto(elements, layout, canvas, placements, numbers, onto)
    if math.prod(canvas.shape) > options.max_bytes:
        raise elements.bad(f"its grid would have {canvas.shape} voxels", Code.TOO_LARGE)
    return canvas


def _own(
    elements: Elements, layout: PixelLayout, planes: Sequence[Plane], placements: Sequence[Placement], numbers: Sequence[int]
) -> Canvas:
    first = placements[0]
    normal = np.cross(first.along_row, first.along_column)
    positions = np.array([placement.position for placement in placements])
    heights = positions @ normal
    aside = np.linalg.norm(positions - positions[0] - np.outer(heights - heights[0], normal), axis=1).max()
    if aside > _ON_VOXEL * min(first.spacing):
        raise elements.bad(f"the frames do not lie above one another: they are up to {aside:.3f} mm aside", Code.MIXED_SERIES)
    step, known = _step(elements, heights, planes[0])
    k = (heights - heights.min()) / step
    off = float(np.abs(k - k.round()).max())
    if off > MAX_UNEVENNESS:
        raise elements.bad(
            f"uneven spacing: the frames do not lie a whole number of steps of {step:.6g} mm apart (off by {off * step:.3g} mm)",
            Code.UNEVEN_SPACING,
        )
    lowest = positions[int(np.argmin(heights))]
    affine = np.eye(4)
    affine[:3, 0] = np.multiply(first.along_row, first.spacing[0])
    affine[:3, 1] = np.multiply(first.along_column, first.spacing[1])
    affine[:3, 2] = normal * step
    affine[:3, 3] = lowest
    affine = _LPS_TO_RAS @ affine + 0.0
    spots = [Spot(frame, number, 0, 0, int(place)) for frame, (number, place) in enumerate(zip(numbers, k.round(), strict=True))]
    shape = (layout.columns, layout.rows, int(k.round().max()) + 1)
    found = grid_findings(affine, elements.file)
    return Canvas(shape, affine, "patient", (True, True, known), _ordered(spots), found)


def _step(elements: Elements, heights: FloatArray, plane: Plane) -> tuple[float, bool]:
    """The distance of slices in mm: as stated where the positions are multiples of it, else the smallest that is met."""
    stated = abs(plane.between or 0.0)
    places = np.unique(heights.round(4))
    if len(places) == 1:
        return stated or plane.thickness or 1.0, bool(stated or plane.thickness)
    steps = np.diff(places)
    smallest = float(steps.min())
    multiples = steps / stated if stated else np.zeros(1)
    if stated and multiples.min() > 0.5 and np.abs(multiples - multiples.round()).max() <= MAX_UNEVENNESS:
        return float(steps.sum() / multiples.round().sum()), True
    if stated and steps.max() > smallest * (1 + MAX_UNEVENNESS):
        raise elements.bad(
            f"uneven spacing: the frames lie {smallest:.6g} to {steps.max():.6g} mm apart, where slices "
            f"are stated to lie {stated:g} mm apart",
            Code.UNEVEN_SPACING,
        )
    return smallest, True


def _onto(
    elements: Elements,
    layout: PixelLayout,
    own: Canvas,
    placements: Sequence[Placement],
    numbers: Sequence[int],
    grid: Grid,
) -> Canvas:
    """Place the frames on the voxels of another grid, where every pixel falls on a voxel."""
    relative = np.linalg.solve(grid.affine_ras_mm, own.affine)
    turned = np.abs(relative[:3, :2] - np.eye(3)[:, :2]).max() * max(layout.columns, layout.rows)
    world = np.array([(*placement.position, 1.0) for placement in placements]) @ _LPS_TO_RAS
    places = np.linalg.solve(grid.affine_ras_mm, world.T).T[:, :3]
    whole = places.round().astype(int)
    off = float(np.abs(places - whole).max())
    low, high = whole.min(axis=0), whole.max(axis=0) + np.array([layout.columns - 1, layout.rows - 1, 0])
    inside = (low >= 0).all() and (high < grid.shape).all()
    if turned > 2 * _ON_VOXEL or off > _ON_VOXEL or not inside:
        raise elements.bad(
            f"the segmentation does not lie on the voxels of its image: its axes are off by {turned:.3f} voxels over its width, "
            f"its frames by {off:.3f}, and they reach from {low.tolist()} to {high.tolist()} in a grid of {list(grid.shape)}",
            Code.GRID_MISMATCH,
        )
    spots = [Spot(frame, number, *map(int, place)) for frame, (number, place) in enumerate(zip(numbers, whole, strict=True))]
    return Canvas(grid.shape, np.array(grid.affine_ras_mm), "patient", (True, True, True), _ordered(spots), own.findings)


def _flat(elements: Elements, layout: PixelLayout, numbers: Sequence[int]) -> Canvas:
    """A segmentation of one picture that has no place in a patient, such as a mammogram."""
    numbers = list(numbers) or [1] * layout.frames
    if len(set(numbers)) < len(numbers):
        raise elements.bad("several frames of one segment, and none has a position", Code.NOT_A_VOLUME)
    spots = [Spot(frame, number, 0, 0, 0) for frame, number in enumerate(numbers)]
    spacing = elements.numbers("PixelSpacing", 2)
    shared = elements.item("SharedFunctionalGroupsSequence")
    measures = shared.item("PixelMeasuresSequence") if shared else None
    spacing = spacing or (measures.numbers("PixelSpacing", 2) if measures else None)
    return _picture(layout.columns, layout.rows, spacing, spots)


def _tiled(elements: Elements, layout: PixelLayout, labelmap: bool) -> Canvas:  # noqa: FBT001
    """A segmentation of a slide: tiles of one large picture (PS3.3 C.7.6.17)."""
    columns, rows = elements.whole("TotalPixelMatrixColumns"), elements.whole("TotalPixelMatrixRows")
    if not columns or not rows:
        raise elements.bad("a tiled segmentation without the size of its picture (TotalPixelMatrixColumns and -Rows)")
    if columns * rows > MAX_PICTURE_BYTES:
        raise elements.bad(f"the picture has {columns} x {rows} pixels; at most {MAX_PICTURE_BYTES} are taken", Code.TOO_LARGE)
    shared = elements.item("SharedFunctionalGroupsSequence")
    measures = shared.item("PixelMeasuresSequence") if shared else None
    spacing = measures.numbers("PixelSpacing", 2) if measures else None
    if has_groups(elements):
        spots = [_tile(groups, frame, labelmap) for frame, groups in enumerate(frame_groups(elements, layout.frames))]
    else:
        segments = [item.whole("SegmentNumber") or 0 for item in elements.items("SegmentSequence")]
        spots = _full_tiles(elements, layout, columns, rows, [0] if labelmap else segments)
    if any(not (0 <= spot.column < columns and 0 <= spot.row < rows) for spot in spots):
        raise elements.bad(f"tiles lie outside of the picture of {columns} x {rows} pixels")
    return _picture(columns, rows, spacing, spots)


def _tile(groups: Groups, frame: int, labelmap: bool) -> Spot:  # noqa: FBT001
    place = groups.get("PlanePositionSlideSequence")
    column, row = place.whole("ColumnPositionInTotalImagePixelMatrix"), place.whole("RowPositionInTotalImagePixelMatrix")
    if column is None or row is None:
        raise place.bad(f"frame {frame} does not say where in the picture it lies")
    return Spot(frame, 0 if labelmap else _segment(groups), column - 1, row - 1, 0)


def _full_tiles(elements: Elements, layout: PixelLayout, columns: int, rows: int, segments: Sequence[int]) -> list[Spot]:
    """All tiles of all segments, from left to right and top to bottom, segment after segment."""
    across, down = math.ceil(columns / layout.columns), math.ceil(rows / layout.rows)
    if across * down * len(segments) != layout.frames:
        raise elements.bad(f"{layout.frames} frames where {len(segments)} segments of {across} x {down} tiles are described")
    return [
        Spot(frame, segments[frame // (across * down)], frame % across * layout.columns, frame // across % down * layout.rows, 0)
        for frame in range(layout.frames)
    ]


def _picture(columns: int, rows: int, spacing: tuple[float, ...] | None, spots: list[Spot]) -> Canvas:
    known = spacing is not None
    down, across = spacing or (1.0, 1.0)
    return Canvas((columns, rows, 1), np.diag([across, down, 1.0, 1.0]), "picture", (known, known, False), _ordered(spots))


def _ordered(spots: list[Spot]) -> tuple[Spot, ...]:
    return tuple(sorted(spots, key=lambda spot: (spot.k, spot.segment, spot.frame)))


def _check_parallel(elements: Elements, placements: Sequence[Placement]) -> None:
    first = placements[0]
    for placement in placements:
        axes = np.subtract((*placement.along_row, *placement.along_column), (*first.along_row, *first.along_column))
        if np.abs(axes).max() > SAME_DIRECTION or np.abs(np.divide(placement.spacing, first.spacing) - 1).max() > SAME_DIRECTION:
            raise elements.bad("the frames of the segmentation differ in direction or pixel spacing", Code.MIXED_SERIES)


def _segment(groups: Groups) -> int:
    number = groups.get("SegmentIdentificationSequence").whole("ReferencedSegmentNumber")
    if number is None:
        raise groups.empty.bad("a frame does not say which segment it shows (ReferencedSegmentNumber)")
    return number
