"""DICOM structure sets (RTSTRUCT): the contours of every structure, in RAS millimetres, and their voxels on a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from resources.findings import Code, Finding, finding
from resources.geometry import FloatArray
from resources.readers.dicom.contours import fill_polygon
from resources.readers.dicom.elements import Elements, quiet
from resources.readers.dicom.files import identified
from resources.readers.dicom.headers import read_header
from resources.readers.dicom.identity import structure_set_series
from resources.readers.dicom.seg_grid import Grid
from resources.readers.source import examine

MAX_POINTS = 20_000_000
"""Points all contours of a file may have together."""

ON_SLICE = 0.5
"""A contour belongs to the nearest slice, up to this fraction of a slice away."""

FLAT = 0.1
"""A contour may leave its slice by this fraction of a slice and still be drawn in it."""

_LPS_TO_RAS = np.array([-1.0, -1.0, 1.0])
_CLOSED = frozenset({"CLOSED_PLANAR", "CLOSEDPLANAR_XOR"})


@dataclass(frozen=True)
class Contour:
    """One contour.

    Attributes:
        kind: `CLOSED_PLANAR` surrounds an area; `POINT`, `OPEN_PLANAR` and `OPEN_NONPLANAR` do not.
        points_ras_mm: (n, 3) points in RAS+ mm.
        image_uid: SOPInstanceUID of the slice it was drawn on, where the file says so.
    """

    kind: str
    points_ras_mm: FloatArray
    image_uid: str


@dataclass(frozen=True)
class Roi:
    """One structure.

    Attributes:
        number: Its number in the file.
        name: What its author called it.
        kind: Interpreted type, e.g. ORGAN, GTV, EXTERNAL; empty when none is stated.
        colour: Red, green and blue, 0 to 255, if stated.
        frame_of_reference: UID of the coordinate system of its points.
        contours: Its contours; none for a structure that was named and never drawn.
    """

    number: int
    name: str
    kind: str
    colour: tuple[int, int, int] | None
    frame_of_reference: str
    contours: tuple[Contour, ...]


@dataclass(frozen=True)
class StructureSet:
    """All structures of a file.

    Attributes:
        name: How findings call the file.
        rois: In the order of the file.
        series_uids: Series of the images they were drawn on.
        findings: Structures without contours, contours that are none.
    """

    name: str
    rois: tuple[Roi, ...]
    series_uids: tuple[str, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class RoiMask:
    """The voxels of a structure.

    Attributes:
        voxels: [i, j, k] on the grid that was asked for.
        findings: Contours that gave no voxel, and why; slices between contours that have none.
    """

    voxels: npt.NDArray[np.bool_]
    findings: tuple[Finding, ...]


def read_rtstruct(path: Path, *, name: str | None = None) -> StructureSet:
    """Read all contours of a structure set.

    Raises:
        BadInputError: It is no structure set, or damaged.
    """
    source = examine(path, name or path.name)
    with quiet():
        header = read_header(source)
        kind = identified(header).kind
        if kind != "structure set":
            raise source.bad(Code.NOT_A_VOLUME, f"a DICOM {kind}, no structure set")
        elements = header.elements
        drawn = {item.whole("ReferencedROINumber"): item for item in elements.items("ROIContourSequence")}
        kinds = {
            item.whole("ReferencedROINumber"): item.text("RTROIInterpretedType")
            for item in elements.items("RTROIObservationsSequence")
        }
        notes: list[Finding] = []
        rois = []
        left = MAX_POINTS
        for item in elements.items("StructureSetROISequence"):
            number = item.whole("ROINumber")
            if number is None:
                raise elements.bad("a structure has no ROINumber")
            roi = _roi(item, number, drawn.get(number), kinds.get(number, ""), left, notes)
            left -= sum(len(contour.points_ras_mm) for contour in roi.contours)
            rois.append(roi)
        return StructureSet(source.name, tuple(rois), structure_set_series(elements), tuple(notes))


def rasterise(structures: StructureSet, roi: Roi, grid: Grid) -> RoiMask:
    """The voxels of one structure on a grid.

    Args:
        structures: The set it is in.
        roi: The structure.
        grid: The grid of its image; contours must be parallel to its slices (the third axis).
    """
    mask = np.zeros(grid.shape, np.bool_)
    notes: list[str] = []
    to_voxel = np.linalg.inv(grid.affine_ras_mm)
    filled: set[int] = set()
    for number, contour in enumerate(roi.contours):
        if contour.kind not in _CLOSED:
            notes.append(f"contour {number} is {contour.kind}, which surrounds no area")
            continue
        voxels = contour.points_ras_mm @ to_voxel[:3, :3].T + to_voxel[:3, 3]
        problem, k = _slice_of(voxels, grid.shape)
        if problem:
            notes.append(f"contour {number} {problem}")
            continue
        filled.add(k)
        if fill_polygon(mask[:, :, k], voxels[:, :2]) == 0:
            notes.append(
                f"contour {number} in slice {k} surrounds no voxel centre: it is smaller than a voxel, or outside of the image"
            )
    notes += _skipped_slices(filled)
    details = [f"structure {roi.name!r}: {note}" for note in _summed_up(notes)]
    return RoiMask(mask, tuple(finding(Code.CONTOUR_SKIPPED, detail, file=structures.name) for detail in details))


def _roi(item: Elements, number: int, drawn: Elements | None, kind: str, left: int, notes: list[Finding]) -> Roi:
    title = item.text("ROIName")
    contours: list[Contour] = []
    for index, part in enumerate(drawn.items("ContourSequence") if drawn else []):
        contour = _contour(part)
        if contour is None:
            detail = f"structure {title!r}: contour {index} has no points"
            notes.append(finding(Code.CONTOUR_SKIPPED, detail, file=item.file))
            continue
        left -= len(contour.points_ras_mm)
        if left < 0:
            raise item.bad(f"the contours have more than {MAX_POINTS} points", Code.TOO_LARGE)
        contours.append(contour)
    if not contours:
        notes.append(
            finding(Code.CONTOUR_SKIPPED, f"structure {title!r} has no contours: it was named and not drawn", file=item.file)
        )
    colour = drawn.numbers("ROIDisplayColor") if drawn else None
    rgb = (int(colour[0]), int(colour[1]), int(colour[2])) if colour and len(colour) == 3 else None
    return Roi(number, title, kind, rgb, item.text("ReferencedFrameOfReferenceUID"), tuple(contours))


def _contour(item: Elements) -> Contour | None:
    points = item.long_numbers("ContourData")
    if len(points) == 0:
        return None
    if len(points) % 3:
        raise item.bad(f"ContourData holds {len(points)} numbers, no whole number of points")
    image = item.item("ContourImageSequence")
    return Contour(
        item.text("ContourGeometricType"),
        points.reshape(-1, 3) * _LPS_TO_RAS,
        image.text("ReferencedSOPInstanceUID") if image else "",
    )


def _slice_of(voxels: FloatArray, shape: tuple[int, int, int]) -> tuple[str, int]:
    """What is wrong with a contour, and the slice it lies in."""
    heights = voxels[:, 2]
    middle = float(heights.mean())
    if np.abs(heights - middle).max() > FLAT:
        return f"is not parallel to the slices: it reaches from slice {heights.min():.2f} to {heights.max():.2f}", 0
    k = round(middle)
    if abs(middle - k) > ON_SLICE or not 0 <= k < shape[2]:
        return f"lies at slice {middle:.2f}, outside of the {shape[2]} slices", 0
    if len(voxels) < 3:
        return f"has {len(voxels)} points and surrounds nothing", 0
    return "", k


def _skipped_slices(filled: set[int]) -> list[str]:
    """Slices between the first and the last contour that have none."""
    if not filled:
        return []
    empty = sorted(set(range(min(filled), max(filled) + 1)) - filled)
    return [f"{len(empty)} slices between its contours have none, the first is {empty[0]}; they are left empty"] if empty else []


def _summed_up(notes: Sequence[str], most: int = 5) -> list[str]:
    return [*notes[:most], f"and {len(notes) - most} more"] if len(notes) > most else list(notes)
