"""Zenodo: the files of a record, each with its size and MD5."""

from __future__ import annotations

import re
from typing import Any

from resources.download.errors import ByHandError, DownloadError
from resources.download.hosts.listing import Asker, field_of, only_for, optional_text
from resources.download.tokens import ZENODO
from resources.download.values import Published, RemoteFile, SourceRequest


def files(source: SourceRequest, asker: Asker) -> list[RemoteFile]:
    """The files of the record whose number is the source's id; a DOI or an address that ends in the number will do.

    Raises:
        DownloadError: There is no such record, or it cannot be listed.
        ByHandError: Its files are restricted.
    """
    number = re.search(r"(\d+)/?$", source.id)
    if number is None:
        raise DownloadError(f"{source.id!r} has no number of a Zenodo record at its end")
    record, _ = asker.json(f"{asker.endpoints.zenodo}/api/records/{number[1]}", ZENODO)
    name = f"Zenodo record {number[1]}"
    access = record.get("metadata", {}).get("access_right", "open") if isinstance(record, dict) else "open"
    listed = record.get("files") if isinstance(record, dict) else None
    if not listed:
        raise ByHandError(f"{name} shows no files (access: {access}); ask for access on its page and set {ZENODO.variable}")
    return [_file(entry, asker.endpoints.zenodo, name) for entry in listed]


def _file(entry: Any, host: str, source: str) -> RemoteFile:
    url = field_of(entry, "links", "self", source=source)
    kind, _, digits = (optional_text(entry, "checksum") or "").rpartition(":")
    return RemoteFile(
        name=field_of(entry, "key", source=source),
        url=url,
        published=Published(
            size_bytes=field_of(entry, "size", kind=int, source=source),
            md5=digits if kind == "md5" else None,
            sha256=digits if kind == "sha256" else None,
        ),
        token=only_for(host, ZENODO, url),
    )
