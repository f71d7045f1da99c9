"""What every reader asks of the voxel grid a header describes, whatever the format."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from resources.findings import BadInputError, Code, Finding, Severity, finding
from resources.geometry import FloatArray, as_affine, shear_deg, spacing_mm

MAX_SHEAR_DEG = 1.0
"""Voxel axes further from right angles than this are a real shear (gantry tilt, a registration): lengths and angles
measured along them would be wrong, so the image is refused."""

ROUNDING_SHEAR_DEG = 0.1
"""Up to here a deviation from right angles is rounding of the header's numbers: lengths taken from the spacings alone are
right to one part in a thousand. Between here and `MAX_SHEAR_DEG` the image is used with a warning."""

_LPS_IDENTITY = np.diag([-1.0, -1.0, 1.0, 1.0])
"""What ITK writes for an array that was never told its geometry."""

MAX_MM = 1e9
"""No voxel lies further from the origin, and no two voxels lie further apart; larger numbers are damage."""

MIN_SPACING_MM = 1e-9
"""Finer than any microscope."""

_DIRECTION = {"R": (0, 1.0), "L": (0, -1.0), "A": (1, 1.0), "P": (1, -1.0), "S": (2, 1.0), "I": (2, -1.0)}


def sane_affine(matrix: npt.ArrayLike) -> FloatArray:
    """A checked (4, 4) float64 copy of an affine.

    Raises:
        ValueError: As `as_affine`; or its numbers are beyond what a grid can have.
    """
    affine = np.array(matrix, np.float64)
    if np.isfinite(affine).all() and (np.abs(affine) > MAX_MM).any():
        raise ValueError(f"the affine holds absurdly large numbers: {affine.tolist()}")
    affine = as_affine(affine)
    if (spacing_mm(affine) < MIN_SPACING_MM).any():
        raise ValueError(f"the affine holds an absurdly small spacing: {spacing_mm(affine).tolist()}")
    return affine


def grid_findings(affine: FloatArray, name: str) -> tuple[Finding, ...]:
    """What is odd about a grid.

    Args:
        affine: (4, 4) voxel index -> RAS+ mm.
        name: How findings call the file.

    Raises:
        BadInputError: SHEAR, when the voxel axes are further than `MAX_SHEAR_DEG` from right angles; BAD_AFFINE, when the
            numbers are beyond what a grid can have.
    """
    found: list[Finding] = []
    try:
        sane_affine(affine)
    except ValueError as error:
        raise BadInputError(Code.BAD_AFFINE, str(error), file=name) from error
    shear = shear_deg(affine)
    if shear > MAX_SHEAR_DEG:
        raise BadInputError(
            Code.SHEAR,
            f"the voxel axes are not orthogonal: {shear:.3f} degrees of shear, at most {MAX_SHEAR_DEG:g} is taken; "
            "resample the image to a right-angled grid (gantry tilt?)",
            file=name,
        )
    if shear > ROUNDING_SHEAR_DEG:
        detail = f"the voxel axes are {shear:.3f} degrees from orthogonal, a shear of rounding size; taken as they are"
        found.append(finding(Code.SHEAR, detail, file=name, severity=Severity.WARNING))
    if np.array_equal(affine, np.eye(4)) or np.array_equal(affine, _LPS_IDENTITY):
        detail = "the affine is the identity (1 mm, origin 0): often a sign that spacing and position were lost"
        found.append(finding(Code.IDENTITY_AFFINE, detail, file=name))
    return tuple(found)


def assumed_affine(orientation: str, spacing: FloatArray) -> FloatArray:
    """The affine of an image whose file knows its spacing only.

    Args:
        orientation: Direction in which each stored index grows, e.g. `LPS`.
        spacing: (3,) mm along the stored axes.

    Returns:
        (4, 4) voxel index -> RAS+ mm with voxel (0, 0, 0) at the origin.
    """
    affine = np.eye(4)
    affine[:3, :3] = 0
    for axis, letter in enumerate(orientation):
        world, sign = _DIRECTION[letter]
        affine[world, axis] = sign * spacing[axis]
    return affine


def orientation_unknown(reason: str, assumed: str | None, name: str) -> Finding:
    """The warning that an orientation was assumed.

    Raises:
        BadInputError: ORIENTATION_UNKNOWN, when none is to be assumed.
    """
    if assumed is None:
        raise BadInputError(
            Code.ORIENTATION_UNKNOWN,
            f"orientation unknown: {reason}; left and right cannot be told (the spec can state which to assume)",
            file=name,
        )
    detail = f"orientation unknown: {reason}; taken as {assumed} because the dataset's spec says so"
    return finding(Code.ORIENTATION_UNKNOWN, detail, file=name, severity=Severity.WARNING)
