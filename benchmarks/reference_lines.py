"""What `references.py` is made of: a file as we and as others read it, how the two are compared, and a line of the table."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import numpy.typing as npt
import pydicom
import SimpleITK
from pydicom.pixels.processing import apply_color_lut

from resources.findings import BadInputError, Code
from resources.readers.dicom.seg import open_seg
from resources.readers.dicom.series import DicomSeries, open_series
from resources.readers.registry import open_image
from tests.readers.dicom.makers import in_ras
from tests.readers.makers import read_all
from tests.readers.pictures import collect, opened

Array = npt.NDArray[Any]
Affine = npt.NDArray[np.float64]

AFFINE_LIMIT_MM = 1e-3
_LPS_TO_RAS = np.diag([-1.0, -1.0, 1.0, 1.0])


@dataclass(frozen=True)
class Seen:
    """What one program gives of a file.

    Attributes:
        values: `[i, j, k]` or `[i, j, k, channel]`.
        affine_ras_mm: (4, 4), voxel index -> RAS+ mm; None where places are not compared.
    """

    values: Array
    affine_ras_mm: Affine | None = None


def ours_in_ras(series: DicomSeries) -> Seen:
    """A series as we read it, turned to RAS+."""
    return Seen(*in_ras(open_series(series)))


def ours_as_stored(path: Path, **options: Any) -> Seen:
    """Any image as we read it, with these reading options."""
    image = opened(path, **options)
    return Seen(collect(image, 64), image.affine_ras_mm)


def our_frames(path: Path) -> Seen:
    """The pixels of one DICOM file as we read them, `[frame, row, column, colour]`."""
    return Seen(frames_first(read_all(open_image(path))))


def our_label_map(path: Path) -> Seen:
    """A DICOM segmentation as we read it, turned to RAS+."""
    return Seen(*in_ras(open_seg(path).label_map()))


def our_layers(path: Path) -> Seen:
    """Its segments apart."""
    return Seen(*in_ras(open_seg(path).layers()))


def pydicoms_frames(ds: pydicom.Dataset) -> Array:
    """The pixel_array of pydicom, `[frame, row, column, colour]`, scaled as the file says."""
    values = ds.pixel_array
    if ds.PhotometricInterpretation == "PALETTE COLOR":
        values = apply_color_lut(values, ds) >> 8
    values = values if int(ds.get("NumberOfFrames", 1) or 1) > 1 else values[None]
    values = values if values.ndim == 4 else values[..., None]
    slope, intercept = float(ds.get("RescaleSlope", ds.get("DoseGridScaling", 1))), float(ds.get("RescaleIntercept", 0))
    return np.asarray(values if (slope, intercept) == (1, 0) else values.astype(np.float64) * slope + intercept)


def contours(path: Path) -> Iterator[Array]:
    """The contours of a structure set as pydicom reads them, `[point, x y z]` in RAS+ mm."""
    for roi in pydicom.dcmread(path, force=True).ROIContourSequence:
        for contour in roi.get("ContourSequence", ()):
            yield np.array(contour.ContourData, np.float64).reshape(-1, 3) * [-1, -1, 1]


def area(corners: Array) -> float:
    """Of a polygon."""
    x, y = corners[:, 0], corners[:, 1]
    return abs(float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)) / 2))


def canonical(seen: Seen) -> Seen:
    """Turned to the closest RAS+ by nibabel."""
    orientation = nib.io_orientation(seen.affine_ras_mm)
    turned = nib.apply_orientation(seen.values, orientation)
    back = nib.orientations.inv_ornt_aff(orientation, seen.values.shape[:3])
    return Seen(np.asarray(turned), np.asarray(seen.affine_ras_mm @ back, np.float64))


def by_nibabel(path: Path) -> Seen:
    """As stored."""
    image = nib.load(path, mmap=False)
    return Seen(np.asarray(image.dataobj), np.asarray(image.affine, np.float64))


def by_simpleitk(path: Path) -> Seen:
    """As stored; colours are channels, the axes i, j, k."""
    image = SimpleITK.ReadImage(str(path))
    values = SimpleITK.GetArrayFromImage(image)
    coloured = image.GetNumberOfComponentsPerPixel() > 1
    axes = range(values.ndim - coloured)
    values = values.transpose([*reversed(axes), *range(len(axes), values.ndim)])
    if image.GetDimension() != 3:
        return Seen(values)
    affine = np.eye(4)
    affine[:3, :3] = np.reshape(image.GetDirection(), (3, 3)) * image.GetSpacing()
    affine[:3, 3] = image.GetOrigin()
    return Seen(values, _LPS_TO_RAS @ affine)


def four(values: Array) -> Array:
    """`[i, j, k, channel]`: the axes that are left out have one element."""
    return values.reshape(values.shape + (1,) * (4 - values.ndim))


def frames_first(values: Array) -> Array:
    """`[frame, row, column, colour]` of `[column, row, frame, colour]`."""
    return np.moveaxis(four(values), (0, 1, 2), (2, 1, 0))


def difference(ours: Array, theirs: Array) -> str:
    """What tells two arrays apart, in words; empty when they are equal to the last bit of their values."""
    if ours.shape != theirs.shape:
        return f"shape {ours.shape}, the reference has {theirs.shape}"
    if np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == "f" and theirs.dtype.kind == "f"):
        return ""
    apart = np.abs(ours.astype(np.float64) - theirs.astype(np.float64))
    return f"{np.count_nonzero(apart)} of {apart.size} values differ, by {np.nanmax(apart):g} at most"


def apart_mm(ours: Affine, theirs: Affine, shape: Sequence[int]) -> float:
    """The farthest that two affines place a voxel of an array apart; that is at one of its corners."""
    corners = np.array([[*corner, 1] for corner in itertools.product(*((0, extent - 1) for extent in shape[:3]))])
    return float(np.linalg.norm((corners @ (ours - theirs).T)[:, :3], axis=1).max())


@dataclass
class Line:
    """One family of files against one reference.

    Attributes:
        family: The files.
        reference: Who made the other reading.
        how: What is compared, and how closely.
        equal: How many are equal.
        near: How many are equal up to what `how` says.
        read: How many are read, with nothing to compare with.
        refused: How many are refused as expected, by code.
        odd: What is neither, each with a reason.
        off_mm: The farthest that a voxel lies from where the reference has it.
        rounded: Those of `near` that equal the reference's double precision in our single precision.
        remarks: What else was met.
    """

    family: str
    reference: str
    how: str = "voxels exactly"
    equal: int = 0
    near: int = 0
    read: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    odd: list[str] = field(default_factory=list)
    off_mm: float | None = None
    rounded: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def looked(self) -> int:
        """How many were looked at."""
        return self.equal + self.near + self.read + self.refused.total() + len(self.odd)

    def attempt(self, name: str, ours: Callable[[], Seen], refused: Code | None = None) -> Seen | None:
        """Our reading; None where there is none, which is then kept.

        Args:
            name: Of the file or series.
            ours: Reads it.
            refused: The code with which it should be refused.
        """
        try:
            seen = ours()
        except BadInputError as error:
            code = error.finding.code
            if code is refused:
                self.refused[code.value] += 1
            else:
                self.odd.append(f"{name}: refused as {code.value}")
            return None
        if refused is not None:
            self.odd.append(f"{name}: read, where {refused.value} was expected")
            return None
        return seen

    def judge(self, name: str, trouble: str) -> None:
        """Equal when there is no trouble."""
        if trouble:
            self.odd.append(f"{name}: {trouble}")
        else:
            self.equal += 1

    def compare(self, name: str, ours: Callable[[], Seen], theirs: Seen, refused: Code | None = None) -> None:
        """Voxels, and where both are known affines."""
        seen = self.attempt(name, ours, refused)
        if seen is None:
            return
        values, expected = four(seen.values), four(theirs.values)
        trouble = difference(values, expected)
        rounded = bool(trouble) and not difference(values, np.asarray(expected, values.dtype)) and values.dtype == np.float32
        trouble = "" if rounded else trouble
        trouble = trouble or self.place(seen.affine_ras_mm, theirs.affine_ras_mm, values.shape)
        if rounded and not trouble:
            self.near += 1
            self.rounded.append(name)
        else:
            self.judge(name, trouble)

    def place(self, ours: Affine | None, theirs: Affine | None, shape: Sequence[int], rounding: float = 0.0) -> str:
        """What tells two affines apart, in words; nothing where one is not known.

        Args:
            ours: Of our reading.
            theirs: Of the reference.
            shape: Of the array.
            rounding: By how much each number of the reference's affine can be off.
        """
        if ours is None or theirs is None:
            return ""
        off = apart_mm(ours, theirs, shape)
        self.off_mm = max(off, self.off_mm or 0.0)
        # Each coordinate is a sum of three rounded numbers times indices, and a fourth.
        limit = AFFINE_LIMIT_MM + rounding * math.sqrt(3) * (sum(shape[:3]) - 2)
        return f"a voxel lies {off:g} mm away" if off > limit else ""

    def cells(self) -> tuple[str, ...]:
        """As the table has them."""
        codes = ", ".join(f"{count} {code}" for code, count in sorted(self.refused.items()))
        place = "" if self.off_mm is None else f", places within {AFFINE_LIMIT_MM:g} mm (most: {self.off_mm:.1e})"
        unchecked = [f"{self.read} read, with nothing to compare with"] if self.read else []
        rounded = [f"as stated: rounded from double to single precision ({', '.join(self.rounded)})"] if self.rounded else []
        how = "; ".join([self.how + place, *rounded, *self.remarks, *unchecked])
        counts = [self.looked, self.equal, self.near]
        return self.family, *(str(count) for count in counts), codes or "0", str(len(self.odd)), self.reference, how


HEADS = ("files or series", "looked at", "equal", "equal as stated", "refused as expected", "else", "reference", "how close")


def table(lines: Sequence[Line], *, markdown: bool) -> Iterator[str]:
    """The lines of text; what is neither equal nor refused as expected comes behind it."""
    rows = [HEADS, *(line.cells() for line in lines)]
    if markdown:
        yield from (f"| {' | '.join(row)} |" for row in [rows[0], ["---"] * len(HEADS), *rows[1:]])
    else:
        widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS) - 1)] + [0]
        yield from ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    yield ""
    total = [sum(getattr(line, name) for line in lines) for name in ("looked", "equal", "near", "read")]
    refused, odd = sum(line.refused.total() for line in lines), sum(len(line.odd) for line in lines)
    yield (
        f"{total[0]} comparisons: {total[1]} equal, {total[2]} equal up to what is stated, {refused} refused as expected, "
        f"{total[3]} read with nothing to compare with, {odd} else"
    )
    for line in lines:
        yield from (f"{line.family}: {trouble}" for trouble in line.odd)
