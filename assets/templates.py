"""Templates of a spec: text with fields of the layout in braces."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

FIELD = re.compile(r"\{([a-z_]+)\}")
"""A field in a template."""

ALWAYS_THERE = frozenset({"subject", "scan", "path", "name", "stem", "folder", "joined"})
"""Fields that every file has."""

_DOUBLE_ENDINGS = (".nii.gz", ".seg.nrrd", ".ome.tif", ".ome.tiff", ".tar.gz")


class UnknownFieldError(Exception):
    """A template names a field that the file does not have; the message names both."""


def stem(name: str) -> str:
    """A file name without its ending; endings of two parts count as one."""
    lower = name.lower()
    ending = next((e for e in _DOUBLE_ENDINGS if lower.endswith(e)), PurePosixPath(name).suffix)
    return name[: len(name) - len(ending)] if ending and len(name) > len(ending) else name


def fields_of(path: str, subject: str, scan: str, own: Mapping[str, str]) -> dict[str, str]:
    """Every field a template may name, for one file.

    Args:
        path: The file, relative to the raw folder.
        subject: Whose it is.
        scan: Of which scan.
        own: What the layout's own fields read.
    """
    file = PurePosixPath(path)
    return {
        **own,
        "subject": subject,
        "scan": scan,
        "path": path,
        "name": file.name,
        "stem": stem(file.name),
        "folder": file.parent.name,
        "joined": "_".join((*file.parent.parts[1:], stem(file.name))),
    }


def fill(template: str, fields: Mapping[str, str]) -> str:
    """The text with every field put in.

    Raises:
        UnknownFieldError: The template names a field that is not there.
    """
    unknown = sorted(set(FIELD.findall(template)) - set(fields))
    if unknown:
        raise UnknownFieldError(f"{template!r} names {unknown}; there are {sorted(fields)}")
    return FIELD.sub(lambda m: fields[m.group(1)], template)
