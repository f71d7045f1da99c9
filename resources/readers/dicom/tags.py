"""A few values of a DICOM header, as text, without reading the rest of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydicom.datadict import tag_for_keyword
from pydicom.filereader import read_partial
from pydicom.tag import BaseTag

from resources.readers.dicom.elements import PARSER_ERRORS, quiet


def read_tag(path: Path, keyword: str) -> str | None:
    """The value of a data element; None where the file is no DICOM file or does not have it.

    Args:
        path: The file.
        keyword: DICOM's keyword of the element, e.g. `Modality`.
    """
    return (read_tags(path, [keyword]) or {}).get(keyword)


def read_tags(path: Path, keywords: Iterable[str]) -> dict[str, str] | None:
    """Keyword -> value of the elements that the file has and that are not empty; None for a file that is no DICOM file.

    Raises:
        ValueError: There is no such keyword.
    """
    tags = {keyword: _tag(keyword) for keyword in keywords}
    last = max(tags.values())

    def is_behind(tag: BaseTag, _vr: str | None, _length: int) -> bool:
        return int(tag) > last

    try:
        with path.open("rb") as file, quiet():
            header = read_partial(file, stop_when=is_behind, specific_tags=list(tags.values()))
            values = {keyword: str(header[tag].value).strip() for keyword, tag in tags.items() if tag in header}
    except PARSER_ERRORS:
        return None
    return {keyword: value for keyword, value in values.items() if value not in {"", "None"}}


def _tag(keyword: str) -> int:
    tag = tag_for_keyword(keyword)
    if tag is None:
        raise ValueError(f"DICOM has no keyword {keyword}")
    return tag
