"""Where a download keeps what."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from resources.download.members import RECORD
from resources.download.values import SourceRequest
from resources.layout import safe_name


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders of one dataset's download.

    Attributes:
        downloads: Archives, parts of files, the journal; nothing here is ever taken for raw data.
        raw: The raw folder.
    """

    downloads: Path
    raw: Path

    @property
    def journal(self) -> Path:
        """The journal."""
        return self.downloads / "journal.jsonl"

    def here(self, local: str) -> Path:
        """Where a file of the downloads folder lies."""
        return self.downloads / local

    def part(self, local: str) -> Path:
        """Where its bytes gather."""
        return self.downloads / f"{local}.part"

    def staging(self, archive: str) -> Path:
        """Where an archive is unpacked to, before its files are put in place."""
        return self.downloads / f"{archive}.unpacking"

    def members(self, archive: str) -> Path:
        """The record of what came out of an archive."""
        return self.downloads / f"{archive}{RECORD}"


OURS = (".part", ".part.json", RECORD)
"""Endings of files that a download leaves beside what it fetched."""


def source_folder(source: SourceRequest) -> str:
    """The folder of one source below the downloads folder."""
    identity = source.id
    if "://" in identity:
        identity = urlsplit(identity).hostname or identity
    return safe_name(f"{source.kind}-{identity}".replace("/", "-"))
