"""What a file is likely to be: by its ending, and where that says nothing, by its first bytes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from resources.findings import BadInputError
from resources.readers.registry import READERS, Reader
from resources.readers.source import examine

Family = Literal["volume", "picture", "dicom", "container", "video", "table", "text", "raw", "other"]

IMAGES = frozenset({"volume", "picture", "dicom", "container", "video"})
UNTOLD = frozenset({"raw", "other"})
"""Families of endings that say nothing of the content."""

_DIRECTORY = re.compile(rb"1\.2\.840\.10008\.1\.3\.10(?![.0-9])")
"""The class of a DICOMDIR (PS3.4 B.5), a list of files that is no image."""


def _of_reader(reader: Reader) -> Family:
    if reader.name == "DICOM":
        return "dicom"
    if reader.name == "video":
        return "video"
    if reader.arrays is not None:
        return "container"
    return "picture" if reader.knows_axes else "volume"


def _of_readers() -> dict[str, Family]:
    """Every ending that a reader has; of an ending of several formats it is a volume where that is one of them."""
    found: dict[str, Family] = {}
    for told, reader in sorted(((_of_reader(reader), reader) for reader in READERS), key=lambda pair: pair[0] != "volume"):
        for ending in reader.suffixes - {""}:
            found.setdefault(ending, told)
    return found


_FAMILIES: dict[str, Family] = {
    **_of_readers(),
    **dict.fromkeys((".nii.gz", ".seg.nrrd"), "volume"),
    **dict.fromkeys((".ome.tif", ".ome.tiff"), "picture"),
    **dict.fromkeys((".csv", ".tsv", ".xlsx", ".xls"), "table"),
    **dict.fromkeys((".txt", ".json", ".xml", ".yaml", ".yml", ".cfg", ".md"), "text"),
    # Numbers whose header lies elsewhere, and packed files: what the reader has them for is not the only thing they are.
    **dict.fromkeys((".raw", ".zraw", ".img", ".gz", ".dat", ".rec", ".bsq", ".bil", ".bip", ".envi"), "raw"),
}


def family(ending: str, half: str = "") -> Family:
    """The family of a file name's ending, whatever its case.

    Args:
        ending: The ending.
        half: The other file of an image in two files. Numbers that have a header beside them are a picture of many bands.
    """
    told = _FAMILIES.get(ending.lower(), "other")
    if not half or told in IMAGES:
        return told
    return "picture" if half.lower().endswith(".hdr") else "volume"


def family_inside(path: Path) -> Family:
    """The family of a file by its first bytes; `other` where no reader knows them or they cannot be read."""
    try:
        head = examine(path, path.name).head
    except BadInputError:
        return "other"
    reader = next((reader for reader in READERS if reader.sniff(head)), None)
    if reader is None or (reader.name == "DICOM" and _DIRECTORY.search(head)):
        return "other"
    return _of_reader(reader)
