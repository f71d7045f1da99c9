"""From a dataset's spec to what `resources.download` fetches: patterns compiled, folders named."""

from __future__ import annotations

from collections.abc import Mapping

from assets.patterns import compile_pattern
from assets.raw.claims import Claims
from assets.spec import DatasetSpec
from assets.spec_sources import Source, SourceFile
from resources.download.folders import Folders
from resources.download.values import DatasetRequest, Placement, Published, Rule, SourceRequest
from resources.layout import Layout


def request_for(spec: DatasetSpec) -> DatasetRequest:
    """What there is to fetch of a dataset.

    Raises:
        ValueError: A pattern of its sources names a field that the layout does not define.
    """
    fields = Claims(spec).fields
    return DatasetRequest(
        slug=spec.slug,
        name=spec.name,
        version=spec.version,
        licence=spec.licence,
        access=spec.access,
        homepage=spec.homepage,
        citation=spec.citation,
        sources=tuple(_source(source, fields) for source in spec.sources),
    )


def folders_for(spec: DatasetSpec, layout: Layout) -> Folders:
    """Where the files of a dataset go; datasets that share a raw folder share their downloads."""
    return Folders(downloads=layout.root / "downloads" / spec.raw_name, raw=layout.raw(spec.raw_name))


def _source(source: Source, fields: Mapping[str, str]) -> SourceRequest:
    return SourceRequest(
        kind=source.kind,
        id=source.id,
        note=source.note,
        revision=source.revision,
        mirror=source.mirror,
        rules=tuple(_rule(file, fields) for file in source.files),
        placements=tuple(Placement(compile_pattern(pattern, fields).regex, target) for pattern, target in source.place.items()),
        published=Published(source.size_bytes, source.md5, source.sha256),
    )


def _rule(file: SourceFile, fields: Mapping[str, str]) -> Rule:
    return Rule(
        name=file.name,
        regex=compile_pattern(file.name, fields).regex,
        url=file.url,
        published=Published(file.size_bytes, file.md5, file.sha256),
        extract=file.extract,
        into=file.into,
        strip=file.strip,
        members=tuple(compile_pattern(pattern, fields).regex for pattern in file.members),
        nested=file.nested,
        replace=file.replace,
        unpacked_bytes=file.unpacked_bytes,
    )
