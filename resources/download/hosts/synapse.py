"""Synapse: the files of a project, a folder or a file entity, each with its size and MD5; every one needs a token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from resources.download.errors import ByHandError, DownloadError
from resources.download.hosts.listing import Asker, field_of, optional_text
from resources.download.tokens import SYNAPSE
from resources.download.values import Published, RemoteFile, SourceRequest

_FILE = "org.sagebionetworks.repo.model.FileEntity"
_DEEPEST = 20


def files(source: SourceRequest, asker: Asker) -> list[RemoteFile]:
    """The file entity of the source's id, or every file below that folder or project, named by its path there.

    Raises:
        ByHandError: No token is set, or it does not open the files.
        DownloadError: There is no such entity, or it cannot be listed.
    """
    if not SYNAPSE.is_set:
        raise ByHandError(f"Synapse gives files to accounts only; put a personal access token into {SYNAPSE.variable}")
    api = f"{asker.endpoints.synapse}/repo/v1"
    entity, _ = asker.json(f"{api}/entity/{source.id}", SYNAPSE)
    if field_of(entity, "concreteType", source=source.id) == _FILE:
        return [_file(source.id, "", api, asker, source.revision)]
    return [_file(child, folder, api, asker, None) for child, folder in _below(source.id, "", api, asker, 0)]


def _below(parent: str, folder: str, api: str, asker: Asker, depth: int) -> Iterator[tuple[str, str]]:
    if depth > _DEEPEST:
        raise DownloadError(f"{parent}: folders more than {_DEEPEST} deep")
    following: str | None = None
    while True:
        body = {"parentId": parent, "includeTypes": ["file", "folder"], "nextPageToken": following}
        listed, _ = asker.json(f"{api}/entity/children", SYNAPSE, body)
        for child in field_of(listed, "page", kind=list, source=parent):
            name = field_of(child, "id", source=parent)
            if field_of(child, "type", source=parent) == _FILE:
                yield name, folder
            else:
                yield from _below(name, f"{folder}{field_of(child, 'name', source=parent)}/", api, asker, depth + 1)
        following = listed.get("nextPageToken")
        if not following:
            return


def _file(entity: str, folder: str, api: str, asker: Asker, version: str | None) -> RemoteFile:
    address = f"{api}/entity/{entity}" + (f"/version/{version}" if version else "")
    handles, _ = asker.json(f"{address}/filehandles", SYNAPSE)
    listed: list[Any] = field_of(handles, "list", kind=list, source=entity)
    handle = next((h for h in listed if not h.get("isPreview") and "Preview" not in h.get("concreteType", "")), None)
    published = Published(
        size_bytes=field_of(handle, "contentSize", kind=int, source=entity),
        md5=optional_text(handle, "contentMd5"),
    )
    return RemoteFile(folder + field_of(handle, "fileName", source=entity), f"{address}/file", published, SYNAPSE)
