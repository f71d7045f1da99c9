"""Pixel spacing of pictures that have no place in a patient: X-ray, ultrasound, photographs, screen copies.

A length is only taken where the file states one for the body. What lies behind a detector spacing is larger than life, so
without the magnification no millimetre is claimed; with it the spacing is an estimate, and said to be one.
"""

from __future__ import annotations

from dataclasses import dataclass

from resources.findings import Code, Finding, finding
from resources.readers.dicom.elements import Elements

_PROJECTIONS = frozenset({"CR", "DX", "MG", "XA", "RF", "RG", "PX", "IO"})
_CENTIMETRES = 3


@dataclass(frozen=True, slots=True)
class Pitch:
    """Spacing of the pixels of a picture.

    Attributes:
        columns: mm between neighbouring columns.
        rows: mm between neighbouring rows.
        known: Whether that is a length in the body that may be measured with.
        note: What to say about it; empty when it is plainly stated.
    """

    columns: float
    rows: float
    known: bool
    note: str = ""

    def findings(self, file: str) -> tuple[Finding, ...]:
        """The warning that goes with an estimate, if it is one."""
        return (finding(Code.SPACING_ESTIMATED, self.note, file=file),) if self.note else ()


UNKNOWN = Pitch(1.0, 1.0, known=False, note="the file states no pixel spacing (not calibrated): nothing can be measured in mm")


def read_pitch(elements: Elements) -> Pitch:
    """The spacing of a picture's pixels.

    Raises:
        BadInputError: BAD_HEADER for a spacing that is no number or not positive.
    """
    plain = _pair(elements, "PixelSpacing")
    imager = _pair(elements, "ImagerPixelSpacing")
    if plain is not None and not (_is_detector_plane(elements, plain, imager)):
        return Pitch(plain[1], plain[0], known=True)
    detector = imager or plain
    if detector is not None:
        return _at_detector(elements, detector)
    nominal = _pair(elements, "NominalScannedPixelSpacing")
    if nominal is not None:
        note = (
            "the spacing is that of a scanner of film (NominalScannedPixelSpacing): detector plane, nothing may be measured in mm"
        )
        return Pitch(nominal[1], nominal[0], known=False, note=note)
    return _ultrasound(elements) or UNKNOWN


def _is_detector_plane(elements: Elements, plain: tuple[float, ...], imager: tuple[float, ...] | None) -> bool:
    """PS3.3 10.7: in projections PixelSpacing is that of the detector where it equals it and nothing says it was calibrated."""
    projected = elements.text("Modality") in _PROJECTIONS
    return projected and plain == imager and not elements.has("PixelSpacingCalibrationType")


def _at_detector(elements: Elements, spacing: tuple[float, ...]) -> Pitch:
    factor = elements.number("EstimatedRadiographicMagnificationFactor")
    if factor is not None and factor > 0:
        note = (
            f"the pixel spacing is estimated: {spacing[0]:g} x {spacing[1]:g} mm in the detector plane, divided by the estimated "
            f"magnification {factor:g}"
        )
        return Pitch(spacing[1] / factor, spacing[0] / factor, known=True, note=note)
    note = (
        f"the pixel spacing {spacing[0]:g} x {spacing[1]:g} mm is that of the detector plane, and the magnification is not "
        "stated (not calibrated): nothing may be measured in mm"
    )
    return Pitch(spacing[1], spacing[0], known=False, note=note)


def _ultrasound(elements: Elements) -> Pitch | None:
    """The scale of the regions of an ultrasound picture, when it is one and the same for all that have one in cm."""
    scales = set()
    for region in elements.items("SequenceOfUltrasoundRegions"):
        units = region.whole("PhysicalUnitsXDirection"), region.whole("PhysicalUnitsYDirection")
        deltas = region.number("PhysicalDeltaX"), region.number("PhysicalDeltaY")
        if units == (_CENTIMETRES, _CENTIMETRES) and all(deltas):
            scales.add((abs(deltas[0] or 0) * 10, abs(deltas[1] or 0) * 10))
    if len(scales) != 1:
        return None
    columns, rows = scales.pop()
    return Pitch(columns, rows, known=True)


def _pair(elements: Elements, keyword: str) -> tuple[float, ...] | None:
    found = elements.numbers(keyword, 2)
    if found is not None and min(found) <= 0:
        raise elements.bad(f"{keyword} is {found}; a spacing is positive")
    return found
