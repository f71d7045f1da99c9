"""DICOMDIR: the list of files on a DICOM medium, which says what should be there.

Its files are found by looking at the folder (`scan_folder`); the list serves to notice the ones that are missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from resources.findings import Code, Finding, finding
from resources.readers.dicom.elements import quiet
from resources.readers.dicom.files import identified
from resources.readers.dicom.headers import read_header
from resources.readers.source import examine


@dataclass(frozen=True, slots=True)
class ListedFile:
    """One file a DICOMDIR lists.

    Attributes:
        name: Its path under the folder of the DICOMDIR, with forward slashes.
        kind: Type of its record, e.g. IMAGE.
        sop_class: UID of the kind of object.
        sop_uid: UID of the object.
        syntax: UID of its transfer syntax.
    """

    name: str
    kind: str
    sop_class: str
    sop_uid: str
    syntax: str


def read_dicomdir(path: Path, *, name: str | None = None) -> tuple[ListedFile, ...]:
    """The files that a DICOMDIR lists.

    Raises:
        BadInputError: It is no DICOMDIR, damaged, or lists files outside of its folder.
    """
    source = examine(path, name or path.name)
    with quiet():
        header = read_header(source)
        kind = identified(header).kind
        if kind != "directory":
            raise source.bad(Code.NOT_A_VOLUME, f"a DICOM {kind}, no DICOMDIR")
        found = []
        for item in header.elements.items("DirectoryRecordSequence"):
            parts = item.texts("ReferencedFileID")
            if not parts:
                continue
            if any(part in {"", ".", ".."} or any(sign in part for sign in "/\\\0:") for part in parts):
                raise source.bad(Code.BAD_HEADER, f"the DICOMDIR lists {'/'.join(parts)!r}, which is no path below its folder")
            found.append(
                ListedFile(
                    "/".join(parts),
                    item.text("DirectoryRecordType"),
                    item.text("ReferencedSOPClassUIDInFile"),
                    item.text("ReferencedSOPInstanceUIDInFile"),
                    item.text("ReferencedTransferSyntaxUIDInFile"),
                )
            )
        return tuple(found)


def absent_files(listed: Iterable[ListedFile], names: Iterable[str], directory: str) -> tuple[Finding, ...]:
    """A warning for every listed file that is not there.

    Args:
        listed: What the DICOMDIR lists.
        names: The files that are there, under the same root as `directory`.
        directory: How findings call the DICOMDIR; the listed names are relative to its folder. Case does not count: many
            media were copied by systems that change it.
    """
    there = {name.lower() for name in names}
    folder = PurePosixPath(directory).parent
    return tuple(
        finding(Code.LISTED_BUT_ABSENT, f"the DICOMDIR lists {file.name} ({file.kind}), which is not there", file=directory)
        for file in listed
        if str(folder / file.name).lower() not in there
    )
