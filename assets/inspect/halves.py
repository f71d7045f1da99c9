"""Images whose header and data lie in two files: which of the two an image is called by, and which one lies beside it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from assets.junk import junk_reason
from resources.readers.envi import is_header as is_envi_header
from resources.readers.registry import companions

_HEADERS = frozenset((".hdr", ".mhd", ".nhdr", ".par"))


def without_halves(root: Path, paths: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """The paths with one for every image in two files instead of both, and that one -> the other file.

    The image is called by the file that the catalog's specs name: the numbers of an ENVI header, as these bear the picture's
    name in lists of targets; of all other pairs the header, which is the file that is opened. A header whose data are
    missing, ambiguous or elsewhere stays as it is, and so do the data of no header.

    Args:
        root: The folder.
        paths: Files below it, with forward slashes.
    """
    listed = list(paths)
    known = set(listed)
    named: dict[str, str] = {}
    halves: set[str] = set()
    for header in listed:
        first, second = _pair(root, header) or ("", "")
        if first != second and {first, second} <= known and not halves & {first, second}:
            named[first] = second
            halves.add(second)
    return [path for path in listed if path not in halves], named


def _pair(root: Path, header: str) -> tuple[str, str] | None:
    """The file that an image is called by and the other one; None when this is no header or has not one file of data."""
    ending = PurePosixPath(header.lower().removesuffix(".gz")).suffix
    if ending not in _HEADERS or junk_reason(header):
        return None
    try:
        found = companions(root / header)
        by_data = is_envi_header(root / header)
    except OSError:
        return None
    if len(found) != 1:
        return None
    data = found[0].relative_to(root).as_posix()
    return (data, header) if by_data else (header, data)
