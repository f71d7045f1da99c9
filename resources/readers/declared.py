"""What a dataset's spec declares about a file of any format: axes, spacing, and how a picture lies in the patient.

The order of trust between a declared spacing and the file's own: the file's, unless the file says nothing, or says 1 along
all the declared axes, which is what tools write that do not know. Where both speak and differ there is a finding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from resources.findings import Code, Finding, Severity, finding
from resources.geometry import spacing_mm
from resources.readers.arrays import picture_affine
from resources.readers.grid import assumed_affine, orientation_unknown
from resources.readers.image import RawImage, Slab
from resources.readers.layout import Layout, check_letters
from resources.readers.slabs import check_bounds
from resources.readers.source import RawFile, ReadOptions

SAME_SPACING = 1e-3
"""Relative difference up to which a declared spacing and a file's are the same."""

_OF_NO_PATIENT = frozenset({Code.ORIENTATION_UNKNOWN, Code.IDENTITY_AFFINE})


def check(options: ReadOptions) -> None:
    """Refuse options that no file can meet.

    Raises:
        ValueError: Axes or spacing that mean nothing.
    """
    if options.axes is not None:
        check_letters(options.axes)
    spacing = options.spacing_mm
    if spacing is not None and not (len(spacing) in {2, 3} and all(math.isfinite(step) and step > 0 for step in spacing)):
        raise ValueError(f"a spacing is 2 or 3 positive lengths in mm, along x, y and perhaps z; not {spacing}")


def for_reader(options: ReadOptions) -> ReadOptions:
    """The options for a reader of volumes: a file declared to be pictures needs no orientation, so it is not asked for."""
    if options.axes is None or "z" in options.axes:
        return options
    return replace(options, assume_orientation=options.assume_orientation or "RAS")


def with_axes(image: RawImage, file: RawFile, axes: str) -> RawImage:
    """An image whose stored axes are what the spec says, whatever its format says.

    Args:
        image: As its reader gave it.
        file: The file that complaints are about.
        axes: A letter for each of i, j, k and the fourth axis, as far as the image has them.

    Raises:
        BadInputError: UNEXPECTED_DIMENSIONS, when the image has not so many axes.
    """
    extents = (*image.shape, image.n_channels)
    if math.prod(extents[len(axes) :]) != 1:
        met = " x ".join(str(n) for n in extents)
        raise file.bad(Code.UNEXPECTED_DIMENSIONS, f"axes are declared as {axes!r}, but the image has the extents {met}")
    layout = Layout.of(axes, extents[: len(axes)], file)
    spatial = (layout.x, layout.y, *(() if layout.third is None else (layout.third,)))
    streamed = set(spatial) == {0, 1, 2} and layout.channel in {None, 3}
    voxels = _Relaid(image, layout, spatial) if streamed else _Collected(image, layout)
    return replace(
        image,
        **_frame(image, layout, spatial),
        shape=layout.shape,
        slab_axis=spatial.index(image.slab_axis) if streamed else layout.slab_axis("F"),
        n_channels=layout.n_channels,
        fourth_axis=layout.fourth_axis,
        stream=voxels,
    )


def placed(image: RawImage, file: RawFile, options: ReadOptions) -> RawImage:
    """An image with the declared spacing and, where its axes are of space, the declared place in the patient.

    Raises:
        BadInputError: UNEXPECTED_DIMENSIONS, when an orientation is declared for a file of pages.
    """
    if options.spacing_mm is not None:
        image = _spaced(image, file, options.spacing_mm)
    if image.space == "patient" or image.third_axis == "time":
        return image
    orientation = options.assume_orientation
    if orientation is None:
        return _unplaced(image, file, options)
    if image.third_axis == "page" and image.shape[2] > 1:
        raise file.bad(
            Code.UNEXPECTED_DIMENSIONS,
            f"the spec states an orientation ({orientation}) for a file of {image.shape[2]} pages; where they are slices of a "
            "volume, say so (`axes`, such as zyx)",
        )
    said = orientation_unknown(f"a {image.format} file does not state how its axes lie", orientation, file.name)
    nowhere = "the file does not say where the image lies; its first voxel is put at 0, 0, 0"
    return replace(
        image,
        affine_ras_mm=assumed_affine(orientation, spacing_mm(image.affine_ras_mm)),
        space="patient",
        third_axis="space",
        findings=(*image.findings, said, finding(Code.ORIGIN_UNKNOWN, nowhere, file=file.name)),
    )


@dataclass(frozen=True, slots=True)
class _Relaid:
    """The slabs of an image with i, j, k in another order; serves as a `SlabStream`."""

    image: RawImage
    layout: Layout
    spatial: tuple[int, ...]

    def __call__(self, bounds: Sequence[tuple[int, int]]) -> Iterator[Slab]:
        for slab in self.image.stream(bounds):
            yield replace(slab, voxels=slab.voxels.transpose(self.spatial))


@dataclass(frozen=True, slots=True)
class _Collected:
    """The slabs of an image whose channels and planes change places; serves as a `SlabStream`, with all voxels in memory."""

    image: RawImage
    layout: Layout

    def __call__(self, bounds: Sequence[tuple[int, int]]) -> Iterator[Slab]:
        axis = self.layout.slab_axis("F")
        check_bounds(bounds, self.layout.shape[axis])
        array = self._array()
        for channel in range(self.layout.n_channels):
            for bound in bounds:
                yield Slab(channel, bound[0], np.asfortranarray(self.layout.cut(array, channel, axis, bound)))

    def _array(self) -> npt.NDArray[Any]:
        """All voxels, with the axes that the declaration names."""
        image = self.image
        whole = np.empty((*image.shape, image.n_channels), image.dtype, order="F")
        planes = [(plane, plane + 1) for plane in range(image.shape[image.slab_axis])]
        for slab in image.stream(planes):
            target = np.moveaxis(whole[..., slab.channel], image.slab_axis, 0)
            target[slab.start] = np.moveaxis(slab.voxels, image.slab_axis, 0)[0]
        return whole.reshape(self.layout.extents, order="F")


def _frame(image: RawImage, layout: Layout, spatial: tuple[int, ...]) -> dict[str, Any]:
    """Geometry and kind of an image whose axes are declared; i, j and k are the old axes `spatial`."""
    if image.space == "patient" and layout.third_axis == "space" and len(spatial) == 3 and max(spatial) < 3:
        return {
            "affine_ras_mm": image.affine_ras_mm[:, (*spatial, 3)],
            "spacing_known": tuple(image.spacing_known[axis] for axis in spatial),
        }
    steps = spacing_mm(image.affine_ras_mm)
    of_space = spatial if layout.third_axis == "space" else spatial[:2]
    along = [float(steps[axis]) if axis < 3 and image.spacing_known[axis] else None for axis in of_space]
    along = [*along, None][:3]
    return {
        "affine_ras_mm": picture_affine(along),
        "spacing_known": tuple(step is not None for step in along),
        "third_axis": layout.third_axis,
        "space": "picture",
        "orientation_known": False,
        "findings": tuple(said for said in image.findings if said.code not in _OF_NO_PATIENT),
    }


def _spaced(image: RawImage, file: RawFile, declared: tuple[float, ...]) -> RawImage:
    own = spacing_mm(image.affine_ras_mm)
    axes = [axis for axis in range(len(declared)) if axis < 2 or image.third_axis == "space"]
    spoken = [axis for axis in axes if image.spacing_known[axis]]
    differs = any(abs(own[axis] - declared[axis]) > SAME_SPACING * declared[axis] for axis in spoken)
    filler = all(own[axis] == 1 for axis in spoken)
    steps, known = own.copy(), list(image.spacing_known)
    for axis in axes:
        if axis not in spoken or (differs and filler):
            steps[axis], known[axis] = declared[axis], True
    affine = image.affine_ras_mm.copy()
    affine[:, :3] *= steps / own
    findings = image.findings
    if differs:
        findings = (*findings, _disagreement([float(own[axis]) for axis in spoken], declared, filler, file))
    return replace(image, affine_ras_mm=affine, spacing_known=(known[0], known[1], known[2]), findings=findings)


def _disagreement(own: list[float], declared: tuple[float, ...], filler: bool, file: RawFile) -> Finding:  # noqa: FBT001  # private
    met = f"the file's spacing is {own} mm, the spec declares {list(declared)}"
    verdict = "the file's 1 mm is what tools write that do not know, so the spec's is taken" if filler else "the file's is taken"
    return finding(Code.SPACING_DISAGREES, f"{met}; {verdict}", file=file.name)


def _unplaced(image: RawImage, file: RawFile, options: ReadOptions) -> RawImage:
    """A picture, with a warning when the spec speaks of a third axis of space but not of its direction."""
    if options.axes is None or "z" not in options.axes:
        return image
    detail = (
        "the spec says that the third axis is one of space, but not how the axes lie in the patient: taken as a stack of "
        "pictures; state `assume_orientation` to place it"
    )
    said = finding(Code.ORIENTATION_UNKNOWN, detail, file=file.name, severity=Severity.WARNING)
    return replace(image, findings=(*image.findings, said))
