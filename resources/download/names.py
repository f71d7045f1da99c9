"""Which names from outside become paths here, and which must not.

A name is kept as it is or refused, never bent into another one: what lies in the raw folder is what was published. The one
exception is the backslash that some Windows programs write between folders.
"""

from __future__ import annotations

import re
import unicodedata

_LONGEST_PART = 255
_LONGEST_PATH = 1024
_DEEPEST = 64
_FORBIDDEN = {"Cc": "a control character", "Cf": "an invisible character", "Cs": "bytes that are not UTF-8"}
_SEPARATORS = {"Zl": "a line separator", "Zp": "a paragraph separator"}
_DRIVE = re.compile(r"[A-Za-z]:")


class UnsafeNameError(ValueError):
    """A name that must not become a path; the message says why."""


def safe_path(name: str) -> str:
    """The relative path, with forward slashes, that a name from outside stands for; empty for the folder itself.

    Raises:
        UnsafeNameError: It is absolute, leads out of its folder, names a drive, holds characters that hide what it is, or is too
            long for common file systems.
    """
    for letter in name:
        if why := (_FORBIDDEN | _SEPARATORS).get(unicodedata.category(letter)):
            raise UnsafeNameError(f"the name {name[:200]!r} holds {why}")
    path = name.replace("\\", "/")
    if path.startswith("/"):
        raise UnsafeNameError(f"the name {name[:200]!r} is absolute")
    parts = [part for part in path.split("/") if part not in {"", "."}]
    for part in parts:
        _check_part(part, name)
    whole = "/".join(parts)
    if len(parts) > _DEEPEST or len(whole.encode()) > _LONGEST_PATH:
        raise UnsafeNameError(f"the name {name[:200]!r} is {len(parts)} folders deep and {len(whole.encode())} bytes long")
    return whole


def _check_part(part: str, name: str) -> None:
    if part == "..":
        raise UnsafeNameError(f"the name {name[:200]!r} leads out of its folder")
    if _DRIVE.match(part):
        raise UnsafeNameError(f"the name {name[:200]!r} names a drive")
    if len(part.encode()) > _LONGEST_PART:
        raise UnsafeNameError(f"the name {name[:200]!r} has a part of {len(part.encode())} bytes")


class Names:
    """Paths that share one folder, none of which may be another's on a disk that ignores case or composes accents."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, bool]] = {}

    def add_file(self, path: str) -> None:
        """Take in a file and the folders it lies in.

        Raises:
            UnsafeNameError: It is there already, is another name on some disks, or is a folder too.
        """
        self._add_parents(path)
        if not self._add(path, folder=False):
            raise UnsafeNameError(f"two files are called {path[:200]!r}")

    def add_folder(self, path: str) -> None:
        """Take in a folder, which may have been named before.

        Raises:
            UnsafeNameError: It is another name on some disks, or a file too.
        """
        self._add_parents(path)
        self._add(path, folder=True)

    def _add_parents(self, path: str) -> None:
        end = path.find("/")
        while end >= 0:
            self._add(path[:end], folder=True)
            end = path.find("/", end + 1)

    def _add(self, path: str, *, folder: bool) -> bool:
        """Whether it is new."""
        before = len(self._known)
        spelled, is_folder = self._known.setdefault(_folded(path), (path, folder))
        if spelled != path:
            raise UnsafeNameError(f"{spelled[:200]!r} and {path[:200]!r} are one name on some disks")
        if is_folder != folder:
            raise UnsafeNameError(f"{path[:200]!r} is both a file and a folder")
        return len(self._known) > before


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
