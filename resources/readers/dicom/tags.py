"""A few values of a DICOM header, as text, without reading the rest of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from resources.findings import BadInputError
from resources.readers.dicom.elements import Elements, quiet
from resources.readers.dicom.headers import read_elements
from resources.readers.source import examine


def read_tag(path: Path, keyword: str) -> str | None:
    """The value of a data element; None where the file is no DICOM file or does not have it.

    Args:
        path: The file.
        keyword: DICOM's keyword of the element, e.g. `Modality`.
    """
    return (read_tags(path, [keyword]) or {}).get(keyword)


def read_tags(path: Path, keywords: Iterable[str]) -> dict[str, str] | None:
    """Keyword -> value of the elements that the file has and that are not empty; None for a file that is no DICOM file.

    Several values of one element are parted by a backslash, as DICOM writes them.

    Raises:
        ValueError: There is no such keyword.
    """
    wanted = tuple(keywords)
    try:
        with quiet():
            return said(read_elements(examine(path, path.name), wanted), wanted)
    except BadInputError:
        return None


def said(elements: Elements, keywords: Iterable[str]) -> dict[str, str]:
    """Keyword -> value of the elements that are there and not empty."""
    values: Mapping[str, str] = {keyword: "\\".join(elements.texts(keyword)).strip() for keyword in keywords}
    return {keyword: value for keyword, value in values.items() if value.strip("\\")}
