"""What the modules of this package share: the addresses they ask, and reading a listing that may be of any shape."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from resources.download.errors import DownloadError
from resources.download.network import Network, origin
from resources.download.patience import persist
from resources.download.tokens import Token
from resources.download.values import RemoteFile, SourceRequest
from resources.download.watch import Watch


def _hugging_face() -> str:
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or "https://huggingface.co"


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where the hosts are asked; no slash at the end. Hugging Face's follows `HF_ENDPOINT`, as its own library does."""

    zenodo: str = "https://zenodo.org"
    hugging_face: str = field(default_factory=_hugging_face)
    figshare: str = "https://api.figshare.com"
    synapse: str = "https://repo-prod.prod.sagebase.org"
    github: str = "https://codeload.github.com"


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks a host for its listings, patiently."""

    network: Network
    watch: Watch
    endpoints: Endpoints

    def json(self, url: str, token: Token | None = None, body: object = None) -> tuple[Any, str | None]:
        """A document, and the address of its next page.

        Raises:
            DownloadError: It cannot be had.
        """
        return persist(lambda: self.network.json(url, token, body), self.network, self.watch)


def only_for(host: str, token: Token, url: str) -> Token | None:
    """The token, where an address that a listing gave is on the host that gave it; else None, so that no other host sees it."""
    return token if origin(host) == origin(url) else None


Lister = Callable[[SourceRequest, Asker], list[RemoteFile]]


def field_of(record: Any, *path: str, kind: type = str, source: str) -> Any:
    """A value inside a listing.

    Raises:
        DownloadError: The listing has no such value of this kind.
    """
    value = record
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    if not isinstance(value, kind):
        raise DownloadError(f"{source}: its listing has no {'.'.join(path)}; the host's interface may have changed")
    return value


def optional_text(record: Any, name: str) -> str | None:
    """A text inside a listing, in lower case, or None."""
    value = record.get(name) if isinstance(record, dict) else None
    return value.lower() if isinstance(value, str) and value else None
