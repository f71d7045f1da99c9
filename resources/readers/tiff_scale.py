"""The size of a pixel in mm as microscopes and their software state it in TIFF files.

The resolution tags alone are not believed: scanners and drawing programs write dots per inch there. What is believed names a
unit of length itself: OME's PhysicalSize, ImageJ's unit, LSM's voxel size, and Aperio's microns per pixel.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

if TYPE_CHECKING:
    from tifffile import TiffFile

Scale = tuple[float | None, float | None, float | None]
UNKNOWN: Scale = (None, None, None)

MM_PER_UNIT = {
    "m": 1e3, "cm": 10.0, "centimeter": 10.0, "mm": 1.0, "millimeter": 1.0, "um": 1e-3, "micron": 1e-3, "microns": 1e-3,
    "micrometer": 1e-3, "nm": 1e-6, "nanometer": 1e-6, "pm": 1e-9, "å": 1e-7, "a": 1e-7,
}  # fmt: skip

_MPP = re.compile(r"\bMPP\s*=\s*([0-9.]+)")


def scale_of(tif: TiffFile, series: int) -> Scale:
    """Mm along x, y and z of a series; `None` where nothing that is believed states it."""
    if tif.is_ome and tif.ome_metadata:
        return _ome(tif.ome_metadata, series)
    if tif.is_imagej and tif.imagej_metadata:
        return _imagej(tif)
    if tif.is_lsm and tif.lsm_metadata:
        steps = [_length(tif.lsm_metadata.get(f"VoxelSize{axis}"), "m") for axis in "XYZ"]
        return (steps[0], steps[1], steps[2])
    if tif.is_svs:
        found = _MPP.search(tif.pages.first.description)
        step = _length(found[1] if found else None, "um")
        return (step, step, None)
    return UNKNOWN


def _ome(text: str, series: int) -> Scale:
    try:
        root: Element = fromstring(text)
    except (ParseError, DefusedXmlException, ValueError):
        return UNKNOWN
    pixels = [element for element in root.iter() if element.tag.rpartition("}")[2] == "Pixels"]
    if series >= len(pixels):
        return UNKNOWN
    said = pixels[series].attrib
    steps = [_length(said.get(f"PhysicalSize{axis}"), said.get(f"PhysicalSize{axis}Unit", "um")) for axis in "XYZ"]
    return (steps[0], steps[1], steps[2])


def _imagej(tif: TiffFile) -> Scale:
    said = tif.imagej_metadata or {}
    unit = str(said.get("unit", ""))
    across = tif.pages.first.resolution
    x, y = (_length(1 / per_unit if per_unit else None, unit) for per_unit in across)
    units = [str(said.get(f"{axis}unit") or unit) for axis in "yz"]
    return (x, y if units[0] == unit else None, _length(said.get("spacing"), units[1]))


def _length(value: object, unit: str) -> float | None:
    """A length in mm; `None` when it is none, or its unit is not known."""
    per_unit = MM_PER_UNIT.get(unit.strip().lower().replace("\\u00b5", "u").replace("µ", "u").replace("μ", "u"))
    try:
        number = float(str(value)) if value is not None else 0.0
    except ValueError:
        return None
    if per_unit is None or not math.isfinite(number) or number <= 0:
        return None
    return number * per_unit
