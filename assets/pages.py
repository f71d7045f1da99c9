"""Binary masks that are the pages of one TIFF file, each named in a tag of its page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from assets.chosen import one_plane
from assets.opened import open_source
from assets.raw import LabelFile
from assets.spec import DatasetSpec
from assets.spec_layout import LabelsSource
from resources.findings import BadInputError, Code
from resources.readers.image import RawImage
from resources.readers.registry import tagged_pages


def open_pages(spec: DatasetSpec, raw_root: Path, path: str, source: LabelsSource) -> Iterator[tuple[LabelFile, RawImage]]:
    """The masks of a file, in order of its pages; findings about the file come with the first.

    Args:
        spec: Names the labels.
        raw_root: The raw folder.
        path: The file, relative to it.
        source: What the spec says of the file; it has a `page_tag`.

    Raises:
        BadInputError: The file cannot be used; MISSING_LABELS when no page has the tag, UNKNOWN_LABEL when one names no label.
    """
    tag = source.page_tag or 0
    pages = tagged_pages(raw_root / path, tag, name=path)
    if not pages:
        raise BadInputError(Code.MISSING_LABELS, f"no page of the file has the tag {tag}, which names labels", file=path)
    known = {text.casefold(): n for n, label in spec.labels.items() for text in (label.name, label.file_name)}
    strangers = sorted({page.text for page in pages if page.text.casefold() not in known})
    if strangers:
        labels = ", ".join(label.file_name for label in spec.labels.values())
        detail = f"pages are named {', '.join(map(repr, strangers[:8]))}; the labels of the spec are {labels}"
        raise BadInputError(Code.UNKNOWN_LABEL, detail, file=path)
    images = {key: open_source(raw_root, path, source.model_copy(update={"key": key})) for key in {p.series for p in pages}}
    for page in pages:
        yield LabelFile(path, known[page.text.casefold()]), one_plane(images[page.series], page.place, path)
        images[page.series] = replace(images[page.series], findings=())
