"""The text header of MetaImage (`.mha`, and `.mhd` with its data file): enough of it to find and prove the voxels."""

from __future__ import annotations

from pathlib import Path

from resources.findings import Code
from resources.readers.body import Body, detached, sibling_path, text_header
from resources.readers.source import RawFile

SUFFIXES = frozenset({".mha", ".mhd"})

_ORIENTATION_KEYS = ("TransformMatrix", "Orientation", "Rotation")
_SPACING_KEYS = ("ElementSpacing", "ElementSize")
_DATA_KEY = "ElementDataFile"


def sniff(head: bytes) -> bool:
    """Whether a file begins like a MetaImage header."""
    key, equals, _ = head.partition(b"=")
    return bool(equals) and key.strip() in {b"ObjectType", b"NDims", b"Comment"} and b"NDims" in head


def locate(file: RawFile) -> tuple[Body, dict[str, str]]:
    """Where the voxels are, and the fields of the header.

    Raises:
        BadInputError: BAD_HEADER, UNSUPPORTED_DATA, MISSING_IMAGE or what examining the data file finds.
    """
    fields, end = parse(text_header(file))
    if _DATA_KEY not in fields:
        raise file.bad(Code.BAD_HEADER, f"the MetaImage header has no {_DATA_KEY}; the file is cut or no MetaImage")
    if _false(fields.get("BinaryData", "True")):
        raise file.bad(Code.UNSUPPORTED_DATA, "the voxels are stored as text (BinaryData = False)")
    compressed = not _false(fields.get("CompressedData", "False"))
    if fields[_DATA_KEY].upper() == "LOCAL":
        return Body(file, file, end, "zlib" if compressed else "plain"), fields
    holder = detached(file, fields[_DATA_KEY])
    try:
        start = int(fields.get("HeaderSize", "0"))
    except ValueError as error:
        raise file.bad(Code.BAD_HEADER, f"HeaderSize is {fields['HeaderSize']!r}, no number") from error
    return Body(file, holder, start, "zlib" if compressed else "plain"), fields


def parse(head: bytes) -> tuple[dict[str, str], int]:
    """The fields up to `ElementDataFile`, which ends a header, and the number of bytes they take."""
    fields: dict[str, str] = {}
    end = 0
    for line in head.splitlines(keepends=True):
        end += len(line)
        key, equals, value = line.decode("latin-1").partition("=")
        if not equals:
            break
        fields[key.strip()] = value.strip()
        if key.strip() == _DATA_KEY:
            break
    return fields, end


def companions(path: Path) -> tuple[Path, ...]:
    """The data file that a header names, when it is there."""
    if path.suffix.lower() != ".mhd" or not path.is_file():
        return ()
    with path.open("rb") as file:
        name = parse(file.read(1 << 16))[0].get(_DATA_KEY, "")
    data = sibling_path(path, name) if name and name.upper() != "LOCAL" else None
    return (data,) if data is not None and data.is_file() else ()


def knows_orientation(fields: dict[str, str]) -> bool:
    """Whether the header says how the axes lie."""
    return any(key in fields for key in _ORIENTATION_KEYS)


def knows_spacing(fields: dict[str, str]) -> bool:
    """Whether the header holds a spacing."""
    return any(key in fields for key in _SPACING_KEYS)


def _false(value: str) -> bool:
    return value[:1].upper() in {"F", "0", "N"}
