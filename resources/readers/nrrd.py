"""The text header of NRRD (`.nrrd`, and `.nhdr` with its data file): enough of it to find and prove the voxels."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from resources.findings import Code
from resources.readers.body import Body, detached, sibling_path, text_header
from resources.readers.source import RawFile

SUFFIXES = frozenset({".nrrd", ".nhdr"})

_CODINGS: dict[str, Literal["plain", "gzip"]] = {"raw": "plain", "gzip": "gzip", "gz": "gzip"}
_SPACES = frozenset({
    "left-posterior-superior", "lps", "right-anterior-superior", "ras", "left-anterior-superior", "las",
})  # fmt: skip


def sniff(head: bytes) -> bool:
    """Whether a file begins like a NRRD header."""
    return head.startswith(b"NRRD000")


def locate(file: RawFile) -> tuple[Body, dict[str, str]]:
    """Where the voxels are, and the fields of the header.

    Raises:
        BadInputError: BAD_HEADER, UNSUPPORTED_DATA, MISSING_IMAGE or what examining the data file finds.
    """
    fields, end = parse(text_header(file))
    encoding = fields.get("encoding", "").lower()
    if encoding not in _CODINGS:
        raise file.bad(Code.UNSUPPORTED_DATA, f"the NRRD encoding is {encoding!r}; raw and gzip are taken")
    skips = {key: fields.get(key, "0") for key in ("lineskip", "byteskip")}
    coding = _CODINGS[encoding]
    if skips["lineskip"] != "0" or (skips["byteskip"] != "0" and coding == "gzip") or not skips["byteskip"].lstrip("-").isdigit():
        raise file.bad(
            Code.UNSUPPORTED_DATA,
            f"the NRRD header skips parts of its data ({skips}); only byte skip in raw data is taken",
        )
    skip = int(skips["byteskip"])
    if "datafile" in fields:
        return Body(file, detached(file, fields["datafile"]), skip, coding), fields
    return Body(file, file, end + skip if skip >= 0 else skip, coding), fields


def parse(head: bytes) -> tuple[dict[str, str], int]:
    """The fields, by name in lower case without blanks, up to the empty line that ends a header; and their bytes."""
    fields: dict[str, str] = {}
    end = 0
    for line in head.split(b"\n"):
        end += len(line) + 1
        text = line.decode("utf-8", "replace").rstrip("\r")
        if not text:
            break
        key, colon, value = text.partition(": ")
        if colon and not text.startswith("#"):
            fields[key.lower().replace(" ", "")] = value.strip()
    return fields, min(end, len(head))


def companions(path: Path) -> tuple[Path, ...]:
    """The data file that a header names, when it is there."""
    if path.suffix.lower() != ".nhdr" or not path.is_file():
        return ()
    with path.open("rb") as file:
        name = parse(file.read(1 << 16))[0].get("datafile", "")
    data = sibling_path(path, name) if name else None
    return (data,) if data is not None and data.is_file() else ()


def knows_orientation(fields: dict[str, str]) -> bool:
    """Whether the header says how the axes lie in the patient."""
    return fields.get("space", "").lower() in _SPACES and "spacedirections" in fields


def knows_spacing(fields: dict[str, str]) -> bool:
    """Whether the header holds a spacing."""
    return "spacedirections" in fields or "spacings" in fields


def unit(fields: dict[str, str]) -> str:
    """The unit of length the header names; empty when it names none or several."""
    names = set(fields.get("spaceunits", "").replace('"', " ").split())
    return names.pop() if len(names) == 1 else ""
