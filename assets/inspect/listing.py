"""The names below a folder, a bounded number of them."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from resources.findings import BadInputError, Code
from resources.readers.source import examine

PER_FOLDER, IN_ALL, DEEPEST = 2000, 20_000, 40


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

    Raises:
        NotADirectoryError: There is no such folder.
    """
    _require_folder(root)
    left_out: list[str] = []
    paths: list[str] = []
    for path in _files(root, per_folder, left_out):
        if len(paths) == in_all:
            left_out.append(f"more than {in_all} files: only the first were looked at")
            break
        paths.append(path)
    return Listing(root, tuple(sorted(paths)), tuple(left_out))


def _require_folder(root: Path) -> None:
    if not root.is_dir():
        raise NotADirectoryError(f"{root} is no folder; give the folder that holds the dataset")


def nothing_in(root: Path) -> str:
    """Why no file below a folder can be looked at; empty when there is one that holds something and can be read.

    Raises:
        NotADirectoryError: There is no such folder.
    """
    _require_folder(root)
    left_out: list[str] = []
    count = 0
    for path in islice(_files(root, PER_FOLDER, left_out), IN_ALL):
        count += 1
        try:
            examine(root / path, path)
        except BadInputError as error:
            if error.finding.code in (Code.EMPTY_FILE, Code.UNREADABLE):
                continue
        return ""
    told = f"the {count} files that were looked at are empty or cannot be read" if count else "it holds no files"
    return f"nothing could be looked at in {root}: {'; '.join([told, *left_out[:5]])}"


def _files(root: Path, per_folder: int, left_out: list[str]) -> Iterator[str]:
    waiting = [("", 0)]
    while waiting:
        folder, depth = waiting.pop()
        try:
            with os.scandir(root / folder) as entries:
                first = heapq.nsmallest(per_folder + 1, ((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries))
        except OSError as error:
            left_out.append(f"{folder or '.'} cannot be listed: {error.strerror}")
            continue
        if len(first) > per_folder:
            left_out.append(f"{folder or '.'} holds more than {per_folder} entries: only the first were looked at")
        inner = []
        for name, is_folder in first[:per_folder]:
            path = f"{folder}/{name}" if folder else name
            if not name.isprintable():
                left_out.append(f"{path!r} has a name that cannot be written down")
            elif not is_folder:
                yield path
            elif depth < DEEPEST:
                inner.append((path, depth + 1))
            else:
                left_out.append(f"{path} lies deeper than {DEEPEST} folders")
        waiting += reversed(inner)
