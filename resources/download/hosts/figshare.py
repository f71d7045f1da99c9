"""figshare: the files of an article, each with its size and MD5."""

from __future__ import annotations

import re
from typing import Any

from resources.download.errors import DownloadError
from resources.download.hosts.listing import Asker, field_of, only_for, optional_text
from resources.download.tokens import FIGSHARE
from resources.download.values import Published, RemoteFile, SourceRequest

_PAGE = 100


def files(source: SourceRequest, asker: Asker) -> list[RemoteFile]:
    """The files of the article whose number is the source's id.

    Raises:
        DownloadError: There is no such article, or it cannot be listed.
    """
    number = re.search(r"(\d+)(?:\.v\d+|/\d{1,2})?/?$", source.id)
    if number is None:
        raise DownloadError(f"{source.id!r} has no number of a figshare article at its end")
    found: list[RemoteFile] = []
    page = 1
    while True:
        address = f"{asker.endpoints.figshare}/v2/articles/{number[1]}/files?page={page}&page_size={_PAGE}"
        entries, _ = asker.json(address, FIGSHARE)
        found += [_file(entry, asker.endpoints.figshare, f"figshare {number[1]}") for entry in entries]
        if len(entries) < _PAGE:
            return found
        page += 1


def _file(entry: Any, host: str, source: str) -> RemoteFile:
    published = Published(
        size_bytes=field_of(entry, "size", kind=int, source=source),
        md5=optional_text(entry, "computed_md5") or optional_text(entry, "supplied_md5"),
    )
    url = field_of(entry, "download_url", source=source)
    return RemoteFile(field_of(entry, "name", source=source), url, published, only_for(host, FIGSHARE, url))
