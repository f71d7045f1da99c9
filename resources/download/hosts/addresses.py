"""Files that have plain addresses: those a spec gives, and the archive GitHub makes of a repository."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from urllib.parse import quote, unquote, urljoin, urlsplit

from resources.download.errors import ByHandError, DownloadError
from resources.download.hosts.listing import Asker
from resources.download.tokens import GRAND_CHALLENGE, Token
from resources.download.values import RemoteFile, SourceRequest

_GITHUB = re.compile(r"(?:https://github\.com/)?(?P<owner>[\w.-]+)/(?P<name>[\w.-]+?)(?:\.git)?/?")


def http(source: SourceRequest, _asker: Asker) -> list[RemoteFile]:
    """The file at the source's address; with rules, a file for each, at its own address or below the source's.

    Raises:
        DownloadError: A rule is a pattern: addresses cannot be listed.
    """
    if not source.rules:
        return [RemoteFile(_last_part(source.id), source.id, source.published)]
    return [RemoteFile(rule.name, rule.url or _below(source.id, rule.name)) for rule in source.rules]


def given(source: SourceRequest, _asker: Asker) -> list[RemoteFile]:
    """The files of a source that cannot be listed, where its spec gives their addresses.

    Raises:
        ByHandError: It does not.
    """
    if not source.rules or not all(rule.url for rule in source.rules):
        raise ByHandError("this host is not asked by a program")
    token = GRAND_CHALLENGE if source.kind == "grand_challenge" else None
    return [RemoteFile(rule.name, rule.url, token=_only_for(token, rule.url)) for rule in source.rules]


def github(source: SourceRequest, asker: Asker) -> list[RemoteFile]:
    """The archive that GitHub makes of a revision, or of the default branch.

    Raises:
        ByHandError: The repository is elsewhere.
    """
    found = _GITHUB.fullmatch(source.id)
    if found is None:
        raise ByHandError("only repositories on GitHub come as archives")
    revision = quote(source.revision or "HEAD", safe="/")
    name = f"{found['name']}-{re.sub(r'[^A-Za-z0-9._-]+', '-', source.revision or 'HEAD')}.tar.gz"
    return [RemoteFile(name, f"{asker.endpoints.github}/{found['owner']}/{found['name']}/tar.gz/{revision}")]


def _only_for(token: Token | None, url: str) -> Token | None:
    host = urlsplit(url).hostname or ""
    return token if host == "grand-challenge.org" or host.endswith(".grand-challenge.org") else None


def _last_part(url: str) -> str:
    name = unquote(PurePosixPath(urlsplit(url).path).name)
    if not name:
        raise DownloadError(f"{url} names no file; name it under `files`")
    return name


def _below(url: str, name: str) -> str:
    if "*" in name or "?" in name:
        raise DownloadError(f"{name}: what lies at {url} cannot be listed, so each of its files must be named")
    if unquote(PurePosixPath(urlsplit(url).path).name) == name:
        return url
    return urljoin(url if url.endswith("/") else f"{url}/", quote(name))
