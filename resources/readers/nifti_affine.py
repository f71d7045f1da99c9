"""Where a NIfTI file says its voxels lie: sform, qform, pixdim and units, and what to do when they disagree.

The order of trust: the sform, unless its columns are unit vectors while qform and pixdim agree on real spacings (then
the sform lost its scale and the qform counts); the qform where the sform is absent or unusable; nothing where both are
absent, because readers that guess then guess differently.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from nibabel.nifti1 import Nifti1Header
from nibabel.spatialimages import HeaderDataError

from resources.findings import BadInputError, Code, Finding, finding
from resources.geometry import FloatArray, grid_distance_voxels, spacing_mm
from resources.readers.grid import MAX_MM, assumed_affine, grid_findings, orientation_unknown, sane_affine
from resources.readers.nifti_header import NiftiHeader

FORMS_TOLERANCE_VOXELS = 1e-2
"""sform and qform that put every corner voxel this close together say the same; see also `_qform_rounding_rad`."""

SPACING_TOLERANCE = 1e-2
"""Relative difference up to which a spacing of pixdim and one of the sform are the same."""

_MM_PER_UNIT = {1: 1000.0, 2: 1.0, 3: 1e-3}
_UNIT_NAMES = {1: "metre", 3: "micron"}


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the voxels lie.

    Attributes:
        affine: (4, 4) stored voxel index -> RAS+ mm.
        known: Whether the file itself says so.
        findings: What was odd.
    """

    affine: FloatArray
    known: bool
    findings: tuple[Finding, ...]


def place(header: NiftiHeader, name: str, assume_orientation: str | None) -> Placement:
    """Decide on the affine of a header.

    Args:
        header: The checked header.
        name: How findings call the file.
        assume_orientation: What to take when the header says nothing; see `ReadOptions`.

    Raises:
        BadInputError: ORIENTATION_UNKNOWN, BAD_AFFINE or SHEAR.
    """
    forms = _Forms.read(header, name)
    scale, notes = _millimetres(header, name)
    if forms.sform_code <= 0 and forms.qform_code <= 0:
        affine, said = _without_forms(header, forms, assume_orientation)
        known = False
    else:
        affine, said = forms.choose(header.shape)
        known = True
    affine = np.array(affine)
    affine[:3] *= scale
    return Placement(affine, known, (*notes, *said, *grid_findings(affine, name)))


@dataclass(frozen=True, slots=True)
class _Forms:
    """The statements of one header, in its own unit; a form that is absent or unusable is `None` and says why."""

    name: str
    sform_code: int
    qform_code: int
    sform: FloatArray | None
    qform: FloatArray | None
    sform_trouble: str
    qform_trouble: str
    pixdim: FloatArray
    n_spatial: int
    rounding_rad: float

    @classmethod
    def read(cls, header: NiftiHeader, name: str) -> _Forms:
        pixdim = np.array(header.fields["pixdim"][1:4], np.float64)
        if header.flavour == "Analyze 7.5":  # its header holds other things where NIfTI has the forms
            return cls(name, 0, 0, None, None, "", "", pixdim, header.n_spatial, 0.0)
        flat = header.n_spatial == 2
        if flat and pixdim[2] == 0:
            pixdim[2] = 1.0
        codes = int(header.fields["sform_code"]), int(header.fields["qform_code"])
        sform, sform_trouble = _usable(lambda: _sform(header.fields, flat=flat)) if codes[0] > 0 else (None, "")
        qform, qform_trouble = _usable(lambda: _qform(header.fields, pixdim)) if codes[1] > 0 else (None, "")
        rounding = _qform_rounding_rad(header.fields)
        return cls(name, *codes, sform, qform, sform_trouble, qform_trouble, pixdim, header.n_spatial, rounding)

    def choose(self, shape: tuple[int, int, int]) -> tuple[FloatArray, list[Finding]]:
        """The form that counts and what there is to say about the others."""
        if self.sform is None:
            return self._qform_alone()
        if self.qform is None:
            said = (
                [self._disagree(f"the qform cannot be used ({self.qform_trouble}); the sform counts")]
                if self.qform_trouble
                else []
            )
            return self.sform, said or self._pixdim_oddities(self.sform)
        if _is_unit(spacing_mm(self.sform)) and not _is_unit(spacing_mm(self.qform)):
            detail = (
                f"the sform (code {self.sform_code}) has unit columns, qform (code {self.qform_code}) and pixdim say "
                f"{_numbers(self.pixdim)}: the sform lost its scale, the qform counts"
            )
            return self.qform, [self._disagree(detail)]
        apart = grid_distance_voxels(self.sform, self.qform, shape)
        if apart > self._tolerance_voxels(self.sform, self.qform, shape):
            detail = (
                f"sform (code {self.sform_code}, spacing {_numbers(spacing_mm(self.sform))}) and qform (code "
                f"{self.qform_code}, spacing {_numbers(spacing_mm(self.qform))}) put a corner voxel {apart:.3g} voxels "
                "apart; the sform counts"
            )
            return self.sform, [self._disagree(detail)]
        return self.sform, self._pixdim_oddities(self.sform)

    def _tolerance_voxels(self, sform: FloatArray, qform: FloatArray, shape: tuple[int, int, int]) -> float:
        """How far apart rounding may put the corner voxels; the first voxel is not turned, so it has no such excuse."""
        origin = np.abs(np.linalg.solve(sform, qform)[:3, 3]).max()
        if origin > FORMS_TOLERANCE_VOXELS:
            return FORMS_TOLERANCE_VOXELS
        spacing = spacing_mm(sform)
        diagonal = float(np.linalg.norm((np.array(shape) - 1) * spacing))
        return FORMS_TOLERANCE_VOXELS + self.rounding_rad * diagonal / float(spacing.min())

    def _qform_alone(self) -> tuple[FloatArray, list[Finding]]:
        if self.qform is None:
            troubles = [
                f"{form}: {trouble}"
                for form, trouble in (("sform", self.sform_trouble), ("qform", self.qform_trouble))
                if trouble
            ]
            raise BadInputError(Code.BAD_AFFINE, f"no usable affine ({'; '.join(troubles)})", file=self.name)
        if self.sform_trouble:
            return self.qform, [self._disagree(f"the sform cannot be used ({self.sform_trouble}); the qform counts")]
        return self.qform, []

    def _disagree(self, detail: str) -> Finding:
        return finding(Code.FORMS_DISAGREE, detail, file=self.name)

    def _pixdim_oddities(self, affine: FloatArray) -> list[Finding]:
        spacing, pixdim = spacing_mm(affine)[: self.n_spatial], self.pixdim[: self.n_spatial]
        good = np.isfinite(pixdim) & (pixdim > 0)
        if good.all() and (np.abs(pixdim - spacing) <= SPACING_TOLERANCE * spacing).all():
            return []
        detail = f"pixdim holds {_numbers(pixdim)}, the sform's columns say {_numbers(spacing)}; the sform counts"
        return [finding(Code.PIXDIM_IGNORED, detail, file=self.name)]


def _usable(read: Callable[[], Any]) -> tuple[FloatArray | None, str]:
    try:
        return sane_affine(read()), ""
    except (ValueError, HeaderDataError) as error:
        return None, str(error)


def _sform(fields: Nifti1Header, *, flat: bool) -> FloatArray:
    """The sform; a 2-D image whose third column is empty gets the unit normal of its plane."""
    affine = np.array(fields.get_sform(), np.float64)
    if flat and not affine[:3, 2].any():
        normal = np.cross(affine[:3, 0], affine[:3, 1])
        length = np.linalg.norm(normal)
        if length > 0:
            affine[:3, 2] = normal / length
    return affine


def _qform(fields: Nifti1Header, pixdim: FloatArray) -> FloatArray:
    """The qform from quaternion, offsets and `pixdim` (nifti1.h, method 2)."""
    if not ((pixdim > 0) & (pixdim <= MAX_MM)).all():
        raise ValueError(f"pixdim holds {_numbers(pixdim)}")
    copied = fields.copy()
    copied["pixdim"][0] = -1 if fields["pixdim"][0] < 0 else 1
    copied["pixdim"][1:4] = pixdim
    return np.asarray(copied.get_qform(), np.float64)


def _qform_rounding_rad(fields: Nifti1Header) -> float:
    """How far the stored quaternion may turn the image away from what was meant, in radians.

    A header holds b, c, d; a is the root of what they leave of 1. Near a half turn (a of 0, as in every image stored LPS)
    the root makes of the last digit of a float32 up to a thousandth of a radian.
    """
    stored = [fields[f"quatern_{letter}"] for letter in "bcd"]
    lost = 3 * float(np.finfo(stored[0].dtype).eps)
    a = float(np.sqrt(max(0.0, 1.0 - sum(float(q) * float(q) for q in stored))))
    return 2 * lost / max(a, float(np.sqrt(lost)))


def _without_forms(header: NiftiHeader, forms: _Forms, assumed: str | None) -> tuple[FloatArray, list[Finding]]:
    if header.flavour == "Analyze 7.5":
        reason = "an Analyze 7.5 header has no qform and no sform"
    else:
        reason = "sform and qform codes are both 0"
    said = [orientation_unknown(reason, assumed, forms.name)]
    if not ((np.abs(forms.pixdim) <= MAX_MM) & (forms.pixdim != 0)).all():
        raise BadInputError(
            Code.BAD_AFFINE,
            f"no sform, no qform, and pixdim holds {_numbers(forms.pixdim)}: no spacing",
            file=forms.name,
        )
    if (forms.pixdim < 0).any():
        detail = f"pixdim holds {_numbers(forms.pixdim)}; the signs say nothing and are dropped"
        said.append(finding(Code.PIXDIM_IGNORED, detail, file=forms.name))
    return assumed_affine(assumed or "", np.abs(forms.pixdim)), said


def _millimetres(header: NiftiHeader, name: str) -> tuple[float, list[Finding]]:
    """Millimetres per unit of the header, and what there is to say about the unit."""
    if header.flavour == "Analyze 7.5":
        return 1.0, []
    code = int(header.fields["xyzt_units"]) & 7
    if code == 2:
        return 1.0, []
    if code in _MM_PER_UNIT:
        scale = _MM_PER_UNIT[code]
        detail = f"the header's unit is the {_UNIT_NAMES[code]}; lengths are multiplied by {scale:g} to give mm"
        return scale, [finding(Code.UNITS_CONVERTED, detail, file=name)]
    said = "names no unit of length" if code == 0 else f"has {code} for a unit of length, which means nothing"
    return 1.0, [finding(Code.UNITS_UNKNOWN, f"the header {said}; taken as mm", file=name)]


def _is_unit(spacing: FloatArray) -> bool:
    return bool((np.abs(spacing - 1) <= 1e-3).all())


def _numbers(values: FloatArray) -> str:
    return " x ".join(f"{value:g}" for value in values)
