"""Stems: what is left of a path or a name when the public evaluator compares sources.

A stem is the last part of a path without its extension, in lower case, with the house rules of a few datasets.
"""

from __future__ import annotations

import re

MAX_SOURCE_CHARACTERS = 4096
"""What is longer is no path of any file system."""

_EXTENSIONS = (
    ".ome.tiff", ".ome.tif", ".nii.gz", ".avi", ".bmp", ".czi", ".dcm", ".dicom", ".gif", ".h5", ".hdf5", ".img", ".jpeg",
    ".jpg", ".json", ".mat", ".mha", ".mov", ".mp4", ".nii", ".npy", ".npz", ".pdf", ".pgm", ".png", ".ppm", ".svs", ".tif",
    ".tiff", ".txt", ".vsi", ".webm", ".webp",
)  # fmt: skip
"""Compound ones first. `.mhd`, `.nrrd`, `.csv` and `.parquet` are not among them: they stay in the stem, without their dot."""

_SUFFIXES = ("_flair", "_t1ce", "_t1", "_t2", "_seg", "_mask")
_RADIAL = re.compile(r"radial_\d+_\d+", re.IGNORECASE)
_RADIAL_ID = re.compile(r"(.+?)_(radial_\d+_\d+)_(?:spokes)?(\d+)", re.IGNORECASE)
_FRAME = re.compile(r"(dynamicnuclearnet)[/_](test_\d+)[/_](frame[_-]?\d+)", re.IGNORECASE)
_TEST = re.compile(r"test_\d+", re.IGNORECASE)
_FRAME_NUMBER = re.compile(r"frame[_-]?\d+", re.IGNORECASE)
_NOT_STEM = re.compile(r"[^a-z0-9_]+")
_PERSON = re.compile(r"(?:sub_)?([pk])0*(\d+)(_dti)?")


def stem(value: object) -> str:
    """The stem of a path or name; empty when there is none."""
    raw = str(value).strip().strip("'\"").replace("\\", "/") if value else ""
    if not raw or len(raw) > MAX_SOURCE_CHARACTERS:
        return ""
    composed = _composed_stem(raw)
    if composed:
        return _plain(composed)
    last = raw.rsplit("/", 1)[-1]
    if test_number(last) and not frame_number(last):
        return test_number(last)
    name = _plain(_without_extension(last))
    if re.fullmatch(r"brain_p\d+_0000", name):
        name = name.removesuffix("_0000")
    suffix = next((suffix for suffix in _SUFFIXES if name.endswith(suffix)), "")
    return name.removesuffix(suffix)


def _composed_stem(raw: str) -> str:
    """Stems that need more than the last part of a path: two datasets whose files repeat their names in every folder."""
    parts = raw.split("/")
    if len(parts) >= 3 and parts[-2].isdigit() and _RADIAL.search(parts[-3]) and parts[-1]:
        found = _RADIAL.findall(parts[-3])
        return f"{found[-1]}_{parts[-2]}_{parts[-1].split('.', 1)[0]}"
    named = _RADIAL_ID.fullmatch(raw)
    if named:
        return f"{named[2]}_{named[3]}_{named[1]}"
    return film_frame(raw)


def film_frame(path: str) -> str:
    """Film, sequence and frame of the one dataset that keeps films as single frames; empty for any other path."""
    match = _FRAME.search(path)
    return f"{match[1]}_{match[2]}_{match[3].replace('-', '_')}" if match else ""


def test_number(name: str) -> str:
    """`test_<n>` in a name, in lower case; empty when there is none."""
    match = _TEST.search(name)
    return match.group().lower() if match else ""


def frame_number(name: str) -> str:
    """`frame_<n>` in a name, in lower case with an underscore; empty when there is none."""
    match = _FRAME_NUMBER.search(name)
    return match.group().lower().replace("-", "_") if match else ""


def _plain(name: str) -> str:
    return _NOT_STEM.sub("", name.strip().lower().replace("-", "_").replace(" ", "_"))


def _without_extension(name: str) -> str:
    lower = name.lower()
    return next((name[: -len(extension)] for extension in _EXTENSIONS if lower.endswith(extension)), name)


def aliases(value: object) -> frozenset[str]:
    """Stems that count as the same: the stem, and for subjects such as `p07` their spellings with and without `sub_`, `_dti`."""
    base = stem(value)
    if not base:
        return frozenset()
    person = _PERSON.fullmatch(base)
    if not person or (person[3] and not base.startswith("sub_")):
        return frozenset({base})
    numbers = {str(int(person[2])), f"{int(person[2]):02d}"} if len(person[2]) < 19 else {person[2]}
    short = {f"{person[1]}{number}" for number in numbers}
    return frozenset({base} | short | {f"sub_{name}{tail}" for name in short for tail in ("", "_dti")})
