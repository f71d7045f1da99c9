"""The frames of multi-frame files without functional groups: dose grids, nuclear medicine, films and page by page scans."""

from __future__ import annotations

from dataclasses import replace

from resources.readers.dicom.elements import Elements
from resources.readers.dicom.planes import Placement, Plane, Vector, classic_plane, read_placement
from resources.readers.dicom.rescale import Rescale

_RT_DOSE = "1.2.840.10008.5.1.4.1.1.481.2"
_NUCLEAR = "1.2.840.10008.5.1.4.1.1.20"
_FRAME_TIMES = {0x00181063, 0x00181065}
_FILMED = frozenset({"US", "IVUS", "XA", "RF", "ES", "GM", "XC", "OP"})


def plain_planes(elements: Elements, n_frames: int) -> list[Plane]:
    """The frames of a file, in the order in which they are stored.

    Raises:
        BadInputError: BAD_HEADER.
    """
    whole = classic_plane(elements)
    kind = elements.text("SOPClassUID")
    if kind == _RT_DOSE:
        return _dose(elements, whole, n_frames)
    if n_frames > 1 and kind == _NUCLEAR:
        return _nuclear(elements, whole, n_frames)
    placement = whole.placement if n_frames == 1 else None
    return [replace(whole, frame=frame, placement=placement, number=(whole.number[0], frame)) for frame in range(n_frames)]


def is_film(elements: Elements) -> bool:
    """Whether the frames of a file follow one another in time."""
    timed = not _FRAME_TIMES.isdisjoint(elements.tags("FrameIncrementPointer"))
    return timed or elements.has("FrameTime") or elements.has("FrameTimeVector") or elements.text("Modality") in _FILMED


def _dose(elements: Elements, whole: Plane, n_frames: int) -> list[Plane]:
    """A dose grid: offsets along the normal, relative to the position or (when the first is not 0) absolute along z."""
    scaling = elements.number("DoseGridScaling")
    rescale = Rescale(scaling, 0.0, stated=True) if scaling else whole.rescale
    offsets = elements.numbers("GridFrameOffsetVector") or (0.0,)
    if len(offsets) != n_frames:
        raise elements.bad(f"GridFrameOffsetVector holds {len(offsets)} offsets for {n_frames} frames")
    place = whole.placement
    planes = []
    for frame, offset in enumerate(offsets):
        if place is not None and offsets[0] != 0:
            position: Vector = (*place.position[:2], offset)
            moved: Placement | None = replace(place, position=position)
        else:
            moved = _along_normal(place, offset)
        planes.append(replace(whole, frame=frame, placement=moved, rescale=rescale, number=(whole.number[0], frame)))
    return planes


def _nuclear(elements: Elements, whole: Plane, n_frames: int) -> list[Plane]:
    """Reconstructed tomography: slices counted along the normal, against it where their spacing is negative (PS3.3 C.8.4.15)."""
    detector = elements.item("DetectorInformationSequence")
    if "TOMO" not in "/".join(elements.texts("ImageType")[2:]) or detector is None or not whole.between:
        return [replace(whole, frame=frame, placement=None, number=(whole.number[0], frame)) for frame in range(n_frames)]
    first = read_placement(detector, detector, elements)
    slices = elements.numbers("SliceVector") or tuple(range(1, n_frames + 1))
    times = elements.numbers("TimeSlotVector") or (1.0,) * n_frames
    if len(slices) != n_frames or len(times) != n_frames:
        raise elements.bad(f"{n_frames} frames, but {len(slices)} slice numbers and {len(times)} time slots")
    return [
        replace(
            whole,
            frame=frame,
            placement=_along_normal(first, (slices[frame] - 1) * whole.between),
            number=(whole.number[0], frame),
            marks=dict(whole.marks) | {"temporal position": times[frame]},
        )
        for frame in range(n_frames)
    ]


def _along_normal(placement: Placement | None, distance: float) -> Placement | None:
    if placement is None:
        return None
    (a, b, c), (d, e, f) = placement.along_row, placement.along_column
    normal = (b * f - c * e, c * d - a * f, a * e - b * d)
    position = tuple(start + distance * part for start, part in zip(placement.position, normal, strict=True))
    return replace(placement, position=position)
