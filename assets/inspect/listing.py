"""The names below a folder, a bounded number of them."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from resources.findings import BadInputError, Code
from resources.readers.source import examine

PER_FOLDER, IN_ALL, DEEPEST = 2000, 20_000, 40
_AT_LEAST = 500
"""Files that a folder may give although its fair share is less: some folders whole say more than all of them in part."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What was listed.

    Attributes:
        root: The folder.
        paths: Files below it, with forward slashes, in order of their paths.
        left_out: What was not listed, and why.
    """

    root: Path
    paths: tuple[str, ...]
    left_out: tuple[str, ...]


def list_folder(root: Path, *, per_folder: int = PER_FOLDER, in_all: int = IN_ALL) -> Listing:
    """The first names of every folder; links are not followed, as they may lead anywhere.

    Where there are too many, folders that lie in one folder share what it may give, so that the first class does not take the
    place of the others.

    Raises:
        NotADirectoryError: There is no such folder.
    """
    _require_folder(root)
    walk = _Walk(root, per_folder, in_all)
    paths = sorted(walk.files("", in_all, 0))
    if walk.cut:
        more = f"{len(walk.cut)} folders were not looked into to the end, such as {walk.cut[0]}"
        walk.left_out.append(f"more than {in_all} files or folders: {more}")
    return Listing(root, tuple(paths), tuple(walk.left_out))


def _require_folder(root: Path) -> None:
    if not root.is_dir():
        raise NotADirectoryError(f"{root} is no folder; give the folder that holds the dataset")


def nothing_in(root: Path) -> str:
    """Why no file below a folder can be looked at; empty when there is one that holds something and can be read.

    Raises:
        NotADirectoryError: There is no such folder.
    """
    _require_folder(root)
    walk = _Walk(root, PER_FOLDER, IN_ALL)
    count = 0
    for path in walk.files("", IN_ALL, 0):
        count += 1
        try:
            examine(root / path, path)
        except BadInputError as error:
            if error.finding.code in (Code.EMPTY_FILE, Code.UNREADABLE):
                continue
        return ""
    told = f"the {count} files that were looked at are empty or cannot be read" if count else "it holds no files"
    return f"nothing could be looked at in {root}: {'; '.join([told, *walk.left_out[:5]])}"


class _Walk:
    """A walk through a folder that gives so many files at most."""

    def __init__(self, root: Path, per_folder: int, most_folders: int) -> None:
        self.root, self.per_folder, self.folders_left = root, per_folder, most_folders
        self.left_out: list[str] = []
        self.cut: list[str] = []
        """Folders that were not looked into to the end, as there are too many files."""

    def files(self, folder: str, most: int, depth: int) -> Iterator[str]:
        """So many files below a folder at most: its own, and then those of the folders in it."""
        self.folders_left -= 1
        names, inner = self._entries(folder, depth)
        yield from names[:most]
        left = most - len(names)
        if left < 0 or (inner and not left):
            self.cut.append(folder or ".")
            return
        for number, path in enumerate(inner):
            if left <= 0 or self.folders_left <= 0:
                self.cut.append(path)
                continue
            share = min(left, max(_AT_LEAST, left // (len(inner) - number)))
            for found in self.files(path, share, depth + 1):
                left -= 1
                yield found

    def _entries(self, folder: str, depth: int) -> tuple[list[str], list[str]]:
        """The first files and folders in a folder."""
        try:
            with os.scandir(self.root / folder) as entries:
                every = ((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
                first = heapq.nsmallest(self.per_folder + 1, every)
        except OSError as error:
            self.left_out.append(f"{folder or '.'} cannot be listed: {error.strerror}")
            return [], []
        if len(first) > self.per_folder:
            self.left_out.append(f"{folder or '.'} holds more than {self.per_folder} entries: only the first were looked at")
        files, inner = [], []
        for name, is_folder in first[: self.per_folder]:
            path = f"{folder}/{name}" if folder else name
            if not name.isprintable():
                self.left_out.append(f"{path!r} has a name that cannot be written down")
            elif not is_folder:
                files.append(path)
            elif depth < DEEPEST:
                inner.append(path)
            else:
                self.left_out.append(f"{path} lies deeper than {DEEPEST} folders")
        return files, inner
