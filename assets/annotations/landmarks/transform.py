"""Affine transforms in ITK's text form (`.txt`, `.tfm`), as matrices.

ITK moves points in LPS millimetres: a resampling filter takes each point of its output through the transform to find where in
the input to look. The text is taken apart here and only sound numbers are handed to SimpleITK, because ITK's own reader of
this form ends the whole process on a file with damaged numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from resources.findings import BadInputError, Code
from resources.geometry import FloatArray, as_affine

_MAKERS: Mapping[str, Callable[[Any], Any]] = {
    "AffineTransform": lambda sitk: sitk.AffineTransform(3),
    "MatrixOffsetTransformBase": lambda sitk: sitk.AffineTransform(3),
    "Euler3DTransform": lambda sitk: sitk.Euler3DTransform(),
    "VersorTransform": lambda sitk: sitk.VersorTransform(),
    "VersorRigid3DTransform": lambda sitk: sitk.VersorRigid3DTransform(),
    "Similarity3DTransform": lambda sitk: sitk.Similarity3DTransform(),
    "ScaleTransform": lambda sitk: sitk.ScaleTransform(3),
    "ScaleVersor3DTransform": lambda sitk: sitk.ScaleVersor3DTransform(),
    "ScaleSkewVersor3DTransform": lambda sitk: sitk.ScaleSkewVersor3DTransform(),
    "ComposeScaleSkewVersor3DTransform": lambda sitk: sitk.ComposeScaleSkewVersor3DTransform(),
    "TranslationTransform": lambda sitk: sitk.TranslationTransform(3),
    "IdentityTransform": lambda sitk: sitk.Transform(3, sitk.sitkIdentity),
}
"""ITK's name -> what makes an identity of that kind out of the module SimpleITK; all of them are affine."""

_COMPOSITE = "CompositeTransform"
_NAME = re.compile(r"(?P<kind>\w+)_(?:double|float)_(?P<dimensions>\d+_\d+)")
_LPS = np.diag([-1.0, -1.0, 1.0, 1.0])


@dataclass
class _Entry:
    """One transform of the text."""

    kind: str
    numbers: dict[str, list[float]] = field(default_factory=dict)


def itk_affine_ras(text: str, file: str) -> FloatArray:
    """The transform as a (4, 4) matrix from RAS+ mm to RAS+ mm, in the direction in which ITK moves points.

    Args:
        text: Content of the file.
        file: What errors call it.

    Raises:
        BadInputError: BAD_HEADER for a text that is no such file or has not the numbers its kind needs; UNSUPPORTED_DATA for
            a kind that is not affine or not 3-D; BAD_AFFINE where it squeezes space flat.
    """
    entries = _entries(text, file)
    is_composite = bool(entries) and entries[0].kind == _COMPOSITE
    parts = [_made(entry, file) for entry in entries[is_composite:]]
    if len(parts) != 1 and not is_composite:
        raise BadInputError(Code.BAD_HEADER, f"it holds {len(parts)} transforms, not one and no composite", file=file)
    whole = _sitk().CompositeTransform(3)
    for part in parts:
        whole.AddTransform(part)
    origin = np.array(whole.TransformPoint((0.0, 0.0, 0.0)))
    matrix = np.eye(4)
    matrix[:3, 3] = origin
    for axis in range(3):
        matrix[:3, axis] = np.array(whole.TransformPoint(tuple(np.eye(3)[axis]))) - origin
    try:
        return as_affine(_LPS @ matrix @ _LPS)
    except ValueError as error:
        raise BadInputError(Code.BAD_AFFINE, f"the transform cannot be used: {error}", file=file) from error


def _sitk() -> Any:
    """SimpleITK, which takes most of a second to import, when there is a transform."""
    import SimpleITK as module  # noqa: N813, PLC0415

    return module


def _entries(text: str, file: str) -> list[_Entry]:
    entries: list[_Entry] = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        tag, colon, value = line.partition(":")
        if tag == "Transform" and colon:
            entries.append(_Entry(_kind(value.strip(), file)))
        elif tag in {"Parameters", "FixedParameters"} and colon and entries:
            entries[-1].numbers[tag] = _numbers(value, file)
        else:
            raise BadInputError(Code.BAD_HEADER, f"not a line of an ITK transform: {line[:60]!r}", file=file)
    return entries


def _kind(name: str, file: str) -> str:
    match = _NAME.fullmatch(name)
    if match is None or match["dimensions"] != "3_3" or match["kind"] not in {*_MAKERS, _COMPOSITE}:
        known = ", ".join(_MAKERS)
        detail = f"transforms of kind {name!r} are not supported, 3-D affine ones are: {known}, or composites of them"
        raise BadInputError(Code.UNSUPPORTED_DATA, detail, file=file)
    return match["kind"]


def _numbers(text: str, file: str) -> list[float]:
    try:
        numbers = [float(word) for word in text.split()]
    except ValueError as error:
        raise BadInputError(Code.BAD_HEADER, f"the transform's parameters are no numbers: {error}", file=file) from error
    if not all(map(math.isfinite, numbers)):
        raise BadInputError(Code.BAD_HEADER, f"the transform's parameters are not finite: {text.strip()[:80]!r}", file=file)
    return numbers


def _made(entry: _Entry, file: str) -> Any:
    if entry.kind == _COMPOSITE:
        raise BadInputError(Code.UNSUPPORTED_DATA, "a composite transform stands inside of another", file=file)
    transform = _MAKERS[entry.kind](_sitk())
    wanted = {"FixedParameters": transform.GetNumberOfFixedParameters(), "Parameters": transform.GetNumberOfParameters()}
    fixed, moving = entry.numbers.get("FixedParameters", []), entry.numbers.get("Parameters", [])
    if not fixed:
        fixed = [0.0] * wanted["FixedParameters"]
    if entry.kind == "Euler3DTransform" and len(fixed) == 3:
        fixed = [*fixed, 0.0]  # written before the order of the turns could be chosen
    for tag, numbers in (("FixedParameters", fixed), ("Parameters", moving)):
        if len(numbers) != wanted[tag]:
            detail = f"a {entry.kind} has {wanted[tag]} {tag}, not {len(numbers)}; the file is damaged"
            raise BadInputError(Code.BAD_HEADER, detail, file=file)
    transform.SetFixedParameters(fixed)
    transform.SetParameters(moving)
    return transform
