"""Hugging Face: the files of a repository at one commit, large ones with SHA-256, small ones with git's blob id."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from resources.download.hosts.listing import Asker, field_of, only_for
from resources.download.tokens import HUGGING_FACE
from resources.download.values import Published, RemoteFile, SourceRequest

_TYPES = ("datasets", "models", "spaces")


def files(source: SourceRequest, asker: Asker) -> list[RemoteFile]:
    """The files of `owner/name`, a dataset; `models/owner/name` is a model. A branch is resolved to its commit first.

    Raises:
        DownloadError: There is no such repository or revision, or it cannot be listed.
        ByHandError: It is gated.
    """
    kind, name = _repository(source.id)
    here = asker.endpoints.hugging_face
    api = f"{here}/api/{kind}/{name}"
    shown = f"Hugging Face {source.id}"
    info, _ = asker.json(f"{api}/revision/{quote(source.revision or 'main', safe='')}", HUGGING_FACE)
    commit = field_of(info, "sha", source=shown)
    found: list[RemoteFile] = []
    page: str | None = f"{api}/tree/{commit}?recursive=true"
    web = name if kind == "models" else f"{kind}/{name}"
    while page:
        entries, page = asker.json(page, only_for(here, HUGGING_FACE, page))
        found += [_file(entry, f"{here}/{web}/resolve/{commit}", shown) for entry in entries if entry.get("type") == "file"]
    return found


def _repository(text: str) -> tuple[str, str]:
    first, _, rest = text.partition("/")
    return (first, rest) if first in _TYPES else ("datasets", text)


def _file(entry: Any, folder: str, source: str) -> RemoteFile:
    path = field_of(entry, "path", source=source)
    large = entry.get("lfs")
    size = field_of(large or entry, "size", kind=int, source=source)
    published = Published(
        size_bytes=size,
        sha256=field_of(large, "oid", source=source) if large else None,
        git_sha1=None if large else field_of(entry, "oid", source=source),
    )
    return RemoteFile(path, f"{folder}/{quote(path)}", published, HUGGING_FACE)
