"""Where a raw folder lies and what it is called: without what MDS-Bench adds to it, so that no ground truth is ever looked at."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath

LISTING, ANSWERS, DATA = "random.txt", "VLM", "data"
"""MDS-Bench's own: its list of targets, the folder of ground truths and models' answers, and the folder of the data."""

_MOST_LINES = 200


class PlaceError(Exception):
    """A folder that cannot be standardized; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Place:
    """A raw folder.

    Attributes:
        raw: The folder that is looked at.
        name: What the dataset is called, for want of anything better.
        folder: What stands before its paths in MDS-Bench's list of targets, `<group>/<folder>`.
    """

    raw: Path
    name: str
    folder: str


def place_of(folder: Path) -> Place:
    """The raw folder that a user means: `data/` in a dataset's folder of MDS-Bench's public copy, else the folder itself.

    Raises:
        PlaceError: There is no such folder, it is empty, or ground truths lie among its data.
    """
    whole = folder.resolve()
    try:
        names = {entry.name for entry in whole.iterdir()}
    except (FileNotFoundError, NotADirectoryError):
        raise PlaceError(f"{folder} is no folder; give the folder that holds the dataset") from None
    except OSError as error:
        raise PlaceError(f"{folder} cannot be listed: {error.strerror}") from error
    if not names:
        raise PlaceError(f"{folder} is empty; give the folder that holds the dataset")
    if names & {LISTING, ANSWERS} and (whole / DATA).is_dir():
        return _placed(whole / DATA)
    if ANSWERS in names:
        raise PlaceError(f"{folder} holds {ANSWERS}/, where ground truths lie, among its data; move it out of the folder first")
    return _placed(whole)


def _placed(raw: Path) -> Place:
    own = raw.parent if raw.name == DATA else raw
    return Place(raw, own.name or "dataset", _listed_folder(raw) or "/".join(own.parts[-2:]).lstrip("/") or own.name)


def _listed_folder(raw: Path) -> str:
    """What stands in the list of targets before the part of a path that is there; empty where nothing does."""
    listing = raw / LISTING if (raw / LISTING).is_file() else raw.parent / LISTING
    if not listing.is_file() or (listing.parent != raw and raw.name != DATA):
        return ""
    try:
        with listing.open(encoding="utf-8-sig", errors="replace") as lines:
            paths = [line.replace("\\", "/").partition("/")[2].strip() for line in islice(lines, _MOST_LINES)]
    except OSError:
        return ""
    for path in paths:
        parts = PurePosixPath(path).parts
        for start in range(len(parts)):
            if _is_there(raw, parts[start:]):
                return "/".join(parts[max(0, start - 2) : start])
    return ""


def _is_there(raw: Path, parts: tuple[str, ...]) -> bool:
    if ".." in parts:
        return False
    inside = parts[1:] if raw.name == DATA and parts[0] == DATA and len(parts) > 1 else parts
    try:
        return raw.joinpath(*inside).is_file()
    except OSError:
        return False
