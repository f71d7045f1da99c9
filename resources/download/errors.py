"""What can go wrong with a download. Every message says what was met and what to do, and holds no secret."""

from __future__ import annotations

from resources.download.tokens import redact


class DownloadError(Exception):
    """A file, a listing or an archive that cannot be had this way; trying again will not help."""

    def __init__(self, message: str) -> None:
        super().__init__(redact(message))


class PassingError(DownloadError):
    """A failure that may pass: the connection broke, the host is busy.

    Attributes:
        wait_s: How long the host asks to wait, in seconds; None when it does not say.
    """

    def __init__(self, message: str, *, wait_s: float | None = None) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class ContentError(DownloadError):
    """The bytes are not those that were published."""


class ByHandError(DownloadError):
    """The host wants a person first: an account, accepted terms, a token."""


class NotThereError(ByHandError):
    """A file that a person fetches has not been put in its place yet."""


class DiskError(DownloadError):
    """The disk does not take what is written: full, read-only, over quota."""


class ArchiveError(DownloadError):
    """An archive that is damaged, is not what its name says, or holds what must not be written."""


class DamagedError(ArchiveError):
    """An archive whose bytes are not those of an archive: cut off, changed, or of another kind."""


class StoppedError(DownloadError):
    """Somebody asked to stop; what was fetched is kept."""
